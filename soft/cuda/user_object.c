/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: user objects, which are freed once neither the program nor a graph, an
 * executable one or a launch refers to them any more. */
#include "graph.h"

#include <stdlib.h>

struct user_object {
    struct soft_object object;
    void *data;
    CUhostFn destroy;
    uint64_t refs;
};

struct reference {
    struct user_object *object;
    uint64_t count;
};

struct soft_users {
    unsigned owners;
    size_t num_references;
    struct reference *references;
};

/* On a thread of its own: the program's function may take the program's locks. */
static void *destroy(void *arg)
{
    struct user_object *object = arg;
    soft_forbid_calls(true);
    object->destroy(object->data);
    soft_forbid_calls(false);
    free(object);
    return NULL;
}

static void release(struct user_object *object, uint64_t count)
{
    object->refs -= count;
    if (object->refs > 0) return;
    soft_object_remove(&object->object);
    if (!soft_thread_start(destroy, object)) destroy(object);
}

struct soft_users *soft_users_share(struct soft_users *users)
{
    if (users != NULL) users->owners++;
    return users;
}

void soft_users_drop(struct soft_users *users)
{
    if (users == NULL || --users->owners > 0) return;
    for (size_t i = 0; i < users->num_references; i++)
        if (users->references[i].count > 0)
            release(users->references[i].object, users->references[i].count);
    free(users->references);
    free(users);
}

/* The object's reference in the list, a new one of count 0 if there is none; NULL: no memory. */
static struct reference *reference_to(struct soft_users **list, struct user_object *object)
{
    if (*list == NULL) {
        *list = calloc(1, sizeof(**list));
        if (*list == NULL) return NULL;
        (*list)->owners = 1;
    }
    struct soft_users *users = *list;
    for (size_t i = 0; i < users->num_references; i++)
        if (users->references[i].object == object && users->references[i].count > 0)
            return &users->references[i];
    struct reference *grown =
        realloc(users->references, (users->num_references + 1) * sizeof(*grown));
    if (grown == NULL) return NULL;
    users->references = grown;
    grown[users->num_references] = (struct reference){.object = object};
    return &grown[users->num_references++];
}

CUresult soft_users_copy(const struct soft_users *from, struct soft_users **to)
{
    struct soft_users *copy = NULL;
    for (size_t i = 0; from != NULL && i < from->num_references; i++) {
        const struct reference *reference = &from->references[i];
        if (reference->count == 0) continue;
        struct reference *made = reference_to(&copy, reference->object);
        if (made == NULL) {
            soft_users_drop(copy);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        made->count = reference->count;
        reference->object->refs += reference->count;
    }
    *to = copy;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy_fn,
                                    unsigned int initialRefcount, unsigned int flags)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (object_out == NULL || destroy_fn == NULL || initialRefcount == 0 ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct user_object *object = calloc(1, sizeof(*object));
    if (object == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    object->data = ptr;
    object->destroy = destroy_fn;
    object->refs = initialRefcount;
    soft_object_add(&object->object, SOFT_USER_OBJECT, NULL);
    *object_out = (CUuserObject)(void *)object;
    return soft_end(CUDA_SUCCESS);
}

/* Locked on success. */
static CUresult begin(const char *call, CUuserObject handle, unsigned count,
                      struct user_object **object)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    *object = soft_object_find(handle, SOFT_USER_OBJECT);
    return *object == NULL || count == 0 ? soft_end(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct user_object *these;
    CUresult result = begin(__func__, object, count, &these);
    if (result != CUDA_SUCCESS) return result;
    these->refs += count;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct user_object *these;
    CUresult result = begin(__func__, object, count, &these);
    if (result != CUDA_SUCCESS) return result;
    if (count > these->refs) return soft_end(CUDA_ERROR_INVALID_VALUE);
    release(these, count);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                         unsigned int flags)
{
    struct user_object *these;
    CUresult result = begin(__func__, object, count, &these);
    if (result != CUDA_SUCCESS) return result;
    struct soft_graph *owner = soft_graph_find(graph);
    const bool moves = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
    if (owner == NULL || (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) ||
        (moves && count > these->refs))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct reference *reference = reference_to(&owner->users, these);
    if (reference == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    reference->count += count;
    if (!moves) these->refs += count;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    struct user_object *these;
    CUresult result = begin(__func__, object, count, &these);
    if (result != CUDA_SUCCESS) return result;
    struct soft_graph *owner = soft_graph_find(graph);
    struct reference *reference = owner == NULL ? NULL : reference_to(&owner->users, these);
    if (reference == NULL || count > reference->count) return soft_end(CUDA_ERROR_INVALID_VALUE);
    reference->count -= count;
    release(these, count);
    return soft_end(CUDA_SUCCESS);
}
