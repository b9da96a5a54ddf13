/* The twin's CUDA driver: surface objects.
 *
 * What a kernel needs to know of one lies in a slot that the kernel shim reads without asking
 * (shared/module_abi.h). Slots are never given back to the system, and a slot's turn is part of the handle: a
 * kernel that uses a surface, or whose array, is gone finds nothing there and faults.
 *
 * SPDX-License-Identifier: MIT */
#include "array.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_AT_ONCE 256u

struct slot {
    culv_soft_surface shared; /* aligned to 64: what the handle names */
    struct soft_object object;
    const struct soft_array *array;
    CUarray handle;
    struct slot *next_free;
};

static struct slot *first_free, **last_free = &first_free; /* a queue: each turn lasts as long as can be */

static CUsurfObject handle_of(const struct slot *slot)
{
    return (CUsurfObject)slot->shared.turn << CULV_SOFT_SURFACE_TURN_SHIFT | (uintptr_t)&slot->shared;
}

static void put_back(struct slot *slot)
{
    slot->next_free = NULL;
    *last_free = slot;
    last_free = &slot->next_free;
}

static struct slot *take(void)
{
    if (first_free == NULL) {
        void *memory;
        if (posix_memalign(&memory, 64, SLOTS_AT_ONCE * sizeof(struct slot)) != 0) return NULL;
        memset(memory, 0, SLOTS_AT_ONCE * sizeof(struct slot));
        struct slot *slots = memory;
        for (unsigned i = 0; i < SLOTS_AT_ONCE; i++)
            put_back(&slots[i]);
    }
    struct slot *slot = first_free;
    first_free = slot->next_free;
    if (first_free == NULL) last_free = &first_free;
    return slot;
}

static struct slot *find(CUsurfObject surface)
{
    const struct soft_object *place =
        (const struct soft_object *)(CULV_SOFT_SURFACE_ADDRESS(surface) + offsetof(struct slot, object));
    struct soft_object *object = soft_object_find(place, SOFT_SURFACE);
    if (object == NULL) return NULL;
    struct slot *slot = (struct slot *)(void *)((char *)object - offsetof(struct slot, object));
    return handle_of(slot) == surface ? slot : NULL;
}

/* Nothing can be reached through it any more. */
static void close_slot(struct slot *slot)
{
    const uint16_t turn = slot->shared.turn;
    memset(&slot->shared, 0, sizeof(slot->shared));
    slot->shared.turn = turn;
    slot->array = NULL;
}

void soft_surface_free(void *object)
{
    struct slot *slot = (struct slot *)(void *)((char *)object - offsetof(struct slot, object));
    close_slot(slot);
    slot->shared.turn++;
    soft_object_remove(&slot->object);
    put_back(slot);
}

static void forget(void *object, void *array)
{
    struct slot *slot = (struct slot *)(void *)((char *)object - offsetof(struct slot, object));
    if (slot->array == array) close_slot(slot);
}

void soft_surfaces_forget(struct soft_array *array)
{
    soft_objects_each(SOFT_SURFACE, forget, array);
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pSurfObject == NULL || pResDesc == NULL || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY ||
        pResDesc->flags != 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_array *array = soft_array_find(pResDesc->res.array.hArray);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (!(array->level.desc.Flags & CUDA_ARRAY3D_SURFACE_LDST)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct slot *slot = take();
    if (slot == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    slot->shared.start = array->start;
    slot->shared.pitch = array->level.pitch;
    slot->shared.slice = array->level.slice;
    slot->shared.width_bytes = (uint32_t)array->level.width_bytes;
    slot->shared.height = (uint32_t)array->level.rows;
    slot->shared.depth = (uint32_t)array->level.slices;
    slot->array = array;
    slot->handle = pResDesc->res.array.hArray;
    soft_object_add(&slot->object, SOFT_SURFACE, context);
    *pSurfObject = handle_of(slot);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT_TO_FREE, &context);
    if (result != CUDA_SUCCESS) return result;
    struct slot *slot = find(surfObject);
    if (slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    int error = slot->object.context->error; /* told, and freed all the same */
    soft_surface_free(&slot->object);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const struct slot *slot = find(surfObject);
    if (pResDesc == NULL || slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    memset(pResDesc, 0, sizeof(*pResDesc));
    pResDesc->resType = CU_RESOURCE_TYPE_ARRAY;
    pResDesc->res.array.hArray = slot->handle;
    return soft_end(CUDA_SUCCESS);
}
