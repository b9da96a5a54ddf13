/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: graphs, their nodes and edges. What nodes do is in graph_nodes.c.
 *
 * A graph is nobody's: it outlives every context, and its nodes keep the semaphores that they name.
 * A handle that is none is INVALID_VALUE, as cuda.h lists no other error for graphs. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct soft_op *soft_work_share(struct soft_op *work)
{
    if (work != NULL) work->more_owners++;
    return work;
}

void soft_work_drop(struct soft_op *work)
{
    if (work != NULL) soft_op_drop(work);
}

struct soft_graph *soft_graph_find(CUgraph handle)
{
    return soft_object_find(handle, SOFT_GRAPH);
}

static struct soft_node *node_of(CUgraphNode handle)
{
    return soft_object_find(handle, SOFT_NODE);
}

static CUgraphNode handle_of(struct soft_node *node)
{
    return (CUgraphNode)(void *)node;
}

CUresult soft_graph_make(struct soft_graph **out)
{
    struct soft_graph *graph = calloc(1, sizeof(*graph));
    if (graph == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    soft_object_add(&graph->object, SOFT_GRAPH, NULL);
    *out = graph;
    return CUDA_SUCCESS;
}

static void free_node(struct soft_node *node)
{
    soft_object_remove(&node->object);
    soft_work_drop(node->work);
    for (size_t i = 0; i < node->num_bodies; i++)
        soft_graph_free(soft_graph_find(node->bodies[i]));
    free(node->bodies);
    free(node->before);
    free(node);
}

void soft_graph_free(struct soft_graph *graph)
{
    for (size_t i = 0; i < graph->num_nodes; i++)
        free_node(graph->nodes[i]);
    soft_users_drop(graph->users);
    soft_object_remove(&graph->object);
    free(graph->nodes);
    free(graph);
}

/* Different nodes of this graph. */
static bool nodes_valid(const struct soft_graph *graph, const CUgraphNode *nodes, size_t num_nodes)
{
    if (nodes == NULL) return num_nodes == 0;
    for (size_t i = 0; i < num_nodes; i++) {
        const struct soft_node *node = node_of(nodes[i]);
        if (node == NULL || node->graph != graph) return false;
        for (size_t j = 0; j < i; j++)
            if (nodes[j] == nodes[i]) return false;
    }
    return true;
}

CUresult soft_graph_add(struct soft_graph *graph, CUgraphNodeType type, struct soft_op *work,
                        const CUgraphNode *before, size_t num_before, struct soft_node **out)
{
    if (!nodes_valid(graph, before, num_before)) return CUDA_ERROR_INVALID_VALUE;
    if (graph->num_nodes == graph->capacity) {
        size_t more = graph->capacity == 0 ? 16 : graph->capacity * 2;
        struct soft_node **grown = realloc(graph->nodes, more * sizeof(struct soft_node *));
        if (grown == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
        graph->nodes = grown;
        graph->capacity = more;
    }
    struct soft_node *node = calloc(1, sizeof(*node));
    CUgraphNode *copy = calloc(num_before + 1, sizeof(*copy));
    if (node == NULL || copy == NULL) {
        free(node);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (num_before > 0) memcpy(copy, before, num_before * sizeof(*copy));
    node->id = ++soft.next_id;
    node->graph = graph;
    node->type = type;
    node->work = work;
    node->num_before = num_before;
    node->before = copy;
    soft_object_add(&node->object, SOFT_NODE, NULL);
    graph->nodes[graph->num_nodes++] = node;
    *out = node;
    return CUDA_SUCCESS;
}

void soft_graph_drop_last(struct soft_graph *graph)
{
    free_node(graph->nodes[--graph->num_nodes]);
}

/* Locked on success. */
static CUresult begin(const char *call, CUgraph handle, struct soft_graph **graph)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *graph = soft_graph_find(handle);
    return *graph == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    struct soft_graph *graph;
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (phGraph == NULL || flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_graph_make(&graph);
    if (result == CUDA_SUCCESS) *phGraph = (CUgraph)(void *)graph;
    return soft_end(result);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    struct soft_graph *graph;
    SOFT_TRY(begin(__func__, hGraph, &graph));
    if (graph->capturing || graph->is_body) /* it is the capture's, or the node's */
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_graph_free(graph);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    struct soft_graph *graph, *clone;
    SOFT_TRY(begin(__func__, originalGraph, &graph));
    if (phGraphClone == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (graph->is_body) return soft_end(CUDA_ERROR_NOT_SUPPORTED); /* measured on an H200 */
    for (size_t i = 0; i < graph->num_nodes; i++)
        if (graph->nodes[i]->num_bodies > 0) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    SOFT_STEP(soft_graph_make(&clone));
    for (size_t i = 0; i < graph->num_nodes; i++) {
        struct soft_node *node = graph->nodes[i], *made;
        node->mark = i;
        result = soft_graph_add(clone, node->type, node->work, NULL, 0, &made);
        if (result != CUDA_SUCCESS) goto free_clone;
        soft_work_share(node->work);
        made->original = node->id;
        CUgraphNode *before = calloc(node->num_before + 1, sizeof(*before));
        if (before == NULL) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
            goto free_clone;
        }
        free(made->before);
        made->before = before;
    }
    /* Edges may lead to nodes that were added later. */
    for (size_t i = 0; i < graph->num_nodes; i++) {
        const struct soft_node *node = graph->nodes[i];
        for (size_t j = 0; j < node->num_before; j++)
            clone->nodes[i]->before[j] = handle_of(clone->nodes[node_of(node->before[j])->mark]);
        clone->nodes[i]->num_before = node->num_before;
    }
    result = soft_users_copy(graph->users, &clone->users);
    if (result != CUDA_SUCCESS) goto free_clone;
    *phGraphClone = (CUgraph)(void *)clone;
    return soft_end(CUDA_SUCCESS);

free_clone:
    soft_graph_free(clone);
    return soft_end(result);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                        CUgraph hClonedGraph)
{
    struct soft_graph *graph;
    SOFT_TRY(begin(__func__, hClonedGraph, &graph));
    const struct soft_node *node = node_of(hOriginalNode);
    for (size_t i = 0; phNode != NULL && node != NULL && i < graph->num_nodes; i++) {
        if (graph->nodes[i]->original != node->id) continue;
        *phNode = handle_of(graph->nodes[i]);
        return soft_end(CUDA_SUCCESS);
    }
    return soft_end(CUDA_ERROR_INVALID_VALUE);
}

/* The way in which all the lists below are answered: NULL asks for the number; what is beyond it is
 * NULL. */
struct list {
    CUgraphNode *first, *second;
    size_t room, found;
};

static void list_add(struct list *list, CUgraphNode first, CUgraphNode second)
{
    if (list->first != NULL && list->found < list->room) {
        list->first[list->found] = first;
        if (list->second != NULL) list->second[list->found] = second;
    }
    list->found++;
}

static CUresult list_end(struct list *list, size_t *num)
{
    if (list->first == NULL) {
        *num = list->found;
        return soft_end(CUDA_SUCCESS);
    }
    for (size_t i = list->found; i < list->room; i++) {
        list->first[i] = NULL;
        if (list->second != NULL) list->second[i] = NULL;
    }
    *num = list->found < list->room ? list->found : list->room;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    struct soft_graph *graph;
    SOFT_TRY(begin(__func__, hGraph, &graph));
    if (numNodes == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct list list = {.first = nodes, .room = *numNodes};
    for (size_t i = 0; i < graph->num_nodes; i++)
        list_add(&list, handle_of(graph->nodes[i]), NULL);
    return list_end(&list, numNodes);
}

static CUresult list_edges(const char *call, CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                           size_t *num)
{
    struct soft_graph *graph;
    SOFT_TRY(begin(call, handle, &graph));
    if (num == NULL || (from == NULL) != (to == NULL)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct list list = {.first = from, .second = to, .room = *num};
    for (size_t i = 0; i < graph->num_nodes; i++)
        for (size_t j = 0; j < graph->nodes[i]->num_before; j++)
            list_add(&list, graph->nodes[i]->before[j], handle_of(graph->nodes[i]));
    return list_end(&list, num);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                 size_t *numEdges)
{
    return list_edges(__func__, hGraph, from, to, numEdges);
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                    CUgraphEdgeData *edgeData, size_t *numEdges)
{
    CUresult result = list_edges(__func__, hGraph, from, to, numEdges);
    if (result == CUDA_SUCCESS && from != NULL && edgeData != NULL && *numEdges > 0)
        memset(edgeData, 0, *numEdges * sizeof(*edgeData));
    return result;
}

static size_t position(const struct soft_node *node, CUgraphNode before)
{
    size_t at = 0;
    while (at < node->num_before && node->before[at] != before)
        at++;
    return at;
}

static void remove_edge(struct soft_node *node, CUgraphNode before)
{
    const size_t at = position(node, before);
    memmove(&node->before[at], &node->before[at + 1],
            (node->num_before - at - 1) * sizeof(*node->before));
    node->num_before--;
}

static CUresult add_edge(struct soft_node *node, CUgraphNode before)
{
    CUgraphNode *grown = realloc(node->before, (node->num_before + 1) * sizeof(*grown));
    if (grown == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    node->before = grown;
    grown[node->num_before++] = before;
    return CUDA_SUCCESS;
}

/* All or none of them. Cycles are found when the graph is instantiated. */
static CUresult add_edges(const char *call, CUgraph handle, const CUgraphNode *from,
                          const CUgraphNode *to, size_t num)
{
    struct soft_graph *graph;
    SOFT_TRY(begin(call, handle, &graph));
    if (num > 0 && (from == NULL || to == NULL)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    size_t done = 0;
    for (; done < num && result == CUDA_SUCCESS; done++) {
        struct soft_node *before = node_of(from[done]), *after = node_of(to[done]);
        if (before == NULL || after == NULL || before == after || before->graph != graph ||
            after->graph != graph || position(after, from[done]) < after->num_before)
            result = CUDA_ERROR_INVALID_VALUE;
        else
            result = add_edge(after, from[done]);
        if (result != CUDA_SUCCESS) break;
    }
    while (result != CUDA_SUCCESS && done-- > 0)
        remove_edge(node_of(to[done]), from[done]);
    return soft_end(result);
}

/* No node of the twin's has ports. */
static bool has_data(const CUgraphEdgeData *edges, size_t num)
{
    static const CUgraphEdgeData none;
    for (size_t i = 0; edges != NULL && i < num; i++)
        if (memcmp(&edges[i], &none, sizeof(none)) != 0) return true;
    return false;
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                        const CUgraphNode *to, size_t numDependencies)
{
    return add_edges(__func__, hGraph, from, to, numDependencies);
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    /* A graph that is none, so that the call is counted and refused as one. */
    if (has_data(edgeData, numDependencies)) hGraph = NULL;
    return add_edges(__func__, hGraph, from, to, numDependencies);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    const struct soft_node *node = node_of(hNode);
    if (node == NULL || type == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *type = node->type;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_node *node = node_of(hNode);
    if (node == NULL || node->graph->capturing) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_graph *graph = node->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->num_nodes; i++) {
        struct soft_node *other = graph->nodes[i];
        if (other == node) continue;
        if (position(other, hNode) < other->num_before) remove_edge(other, hNode);
        graph->nodes[kept++] = other;
    }
    graph->num_nodes = kept;
    free_node(node);
    return soft_end(CUDA_SUCCESS);
}

/* User objects, which are freed once neither the program nor a graph, an
 * executable one or a launch refers to them any more. */

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
    SOFT_BEGIN(SOFT_NEED_INIT);
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
static CUresult begin_user(const char *call, CUuserObject handle, unsigned count,
                           struct user_object **object)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *object = soft_object_find(handle, SOFT_USER_OBJECT);
    return *object == NULL || count == 0 ? soft_end(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct user_object *these;
    SOFT_TRY(begin_user(__func__, object, count, &these));
    if (count > these->refs) return soft_end(CUDA_ERROR_INVALID_VALUE);
    release(these, count);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                         unsigned int flags)
{
    struct user_object *these;
    SOFT_TRY(begin_user(__func__, object, count, &these));
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
    SOFT_TRY(begin_user(__func__, object, count, &these));
    struct soft_graph *owner = soft_graph_find(graph);
    struct reference *reference = owner == NULL ? NULL : reference_to(&owner->users, these);
    if (reference == NULL || count > reference->count) return soft_end(CUDA_ERROR_INVALID_VALUE);
    reference->count -= count;
    release(these, count);
    return soft_end(CUDA_SUCCESS);
}
