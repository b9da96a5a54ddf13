/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: surface objects. */
#include "array.h"

#include <string.h>

static struct soft_slots surfaces = {.kind = SOFT_SURFACE,
                                     .shared_size = sizeof(culv_soft_surface),
                                     .slot_size = sizeof(struct soft_slot)};

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct soft_context *context;
    uint64_t handle;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pSurfObject == NULL || pResDesc == NULL || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY ||
        pResDesc->flags != 0 || pResDesc->res.array.hArray == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_array *array = soft_array_find(pResDesc->res.array.hArray);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    /* Of an image of several planes only the planes have texels to store. */
    if (!(array->level.desc.Flags & CUDA_ARRAY3D_SURFACE_LDST) || array->num_planes > 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_slot *slot = soft_slot_take(&surfaces, context, &handle);
    if (slot == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    culv_soft_surface *surface = slot->shared;
    surface->dimensions = (uint8_t)soft_dimensions_of(&array->level.desc);
    surface->start = array->start;
    surface->pitch = array->level.pitch;
    surface->slice = array->level.slice;
    surface->width_bytes = (uint32_t)array->level.width_bytes;
    surface->height = (uint32_t)array->level.rows;
    surface->depth = (uint32_t)array->level.slices;
    slot->array = array;
    slot->handle = pResDesc->res.array.hArray;
    *pSurfObject = handle;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT_TO_FREE, &context);
    if (result != CUDA_SUCCESS) return result;
    struct soft_slot *slot = soft_slot_find(&surfaces, surfObject);
    if (surfObject == 0) return soft_end(CUDA_SUCCESS); /* measured */
    if (slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    int error = slot->object.context->error; /* told, and freed all the same */
    soft_slot_free(slot);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_slot *slot = soft_slot_find(&surfaces, surfObject);
    if (pResDesc == NULL || slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    memset(pResDesc, 0, sizeof(*pResDesc));
    pResDesc->resType = CU_RESOURCE_TYPE_ARRAY;
    pResDesc->res.array.hArray = slot->handle;
    return soft_end(CUDA_SUCCESS);
}
