/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: arrays, mipmapped arrays, and those mapped on imported memory.
 *
 * A mipmapped array and its levels are one allocation or one mapping; a level is an array that goes
 * when the mipmapped array does. Destroying waits for the context's work, as cuMemFree does. */
#include "array.h"

#include <stdlib.h>

struct soft_array *soft_array_find(CUarray handle)
{
    struct soft_array *array = soft_object_find(handle, SOFT_ARRAY);
    return array != NULL ? array : soft_object_find(handle, SOFT_LEVEL);
}

static void set_up(struct soft_array *array, const struct soft_layout *layout, unsigned level,
                   uint8_t *start)
{
    array->element = layout->element;
    array->level = layout->levels[level];
    array->start = start + array->level.offset;
}

static void publish_array(struct soft_array *array, enum soft_kind kind,
                          struct soft_context *context)
{
    soft_object_add(&array->object, kind, context);
}

static void withdraw_array(struct soft_array *array)
{
    soft_slots_forget(array);
    soft_object_remove(&array->object);
}

/* Arrays of video formats are for the encoder and decoder alone, and of two formats there are none
 * (measured of cuArray3DCreate). */
static bool video_refused(const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    return soft_format_is_video(desc->Format) &&
           (!(desc->Flags & SOFT_VIDEO_ENCODE_DECODE) || (int)desc->Format == SOFT_YUY2 ||
            (int)desc->Format == SOFT_Y410);
}

/* Unlocks in any case. */
static CUresult create_and_end(struct soft_context *context, CUarray *handle,
                               const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
    struct soft_layout layout;
    if (video_refused(desc)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    CUresult result = soft_layout_of(desc, 1, &layout);
    if (result != CUDA_SUCCESS) return soft_end(result);
    struct soft_array *array = calloc(1, sizeof(*array));
    if (array == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    uint8_t *start = soft_map_guarded((size_t)layout.size, &array->map, &array->map_size);
    if (start == NULL) {
        free(array);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    set_up(array, &layout, 0, start);
    result = soft_sparse_new(array, 1, true, &array->sparse);
    if (result != CUDA_SUCCESS) {
        soft_unmap(array->map, array->map_size);
        free(array);
        return soft_end(result);
    }
    publish_array(array, SOFT_ARRAY, context);
    *handle = (CUarray)(void *)array;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pHandle == NULL || pAllocateArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = pAllocateArray->Width,
                                          .Height = pAllocateArray->Height,
                                          .Format = pAllocateArray->Format,
                                          .NumChannels = pAllocateArray->NumChannels};
    return create_and_end(context, pHandle, &desc);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pHandle == NULL || pAllocateArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    return create_and_end(context, pHandle, pAllocateArray);
}

void soft_array_free(void *handle)
{
    struct soft_array *array = handle;
    withdraw_array(array);
    soft_sparse_free(array->sparse);
    soft_unmap(array->map, array->map_size);
    free(array);
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), context);
    struct soft_array *array =
        soft_object_find(hArray, SOFT_ARRAY); /* a level is its mipmapped array's */
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_context_wait(array->object.context);
    array = soft_object_find(hArray, SOFT_ARRAY);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = array->object.context->error; /* told, and freed all the same */
    soft_array_free(array);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                           CUarray hArray)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT), context);
    if (pArrayDescriptor == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_array *array = soft_array_find(hArray);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    *pArrayDescriptor = array->level.desc;
    if (array->faces_apart) pArrayDescriptor->Depth = 0;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT), context);
    if (pArrayDescriptor == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_array *array = soft_array_find(hArray);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    const CUDA_ARRAY3D_DESCRIPTOR *desc = &array->level.desc;
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = desc->Width,
                                                .Height = desc->Height,
                                                .Format = desc->Format,
                                                .NumChannels = desc->NumChannels};
    return soft_end(CUDA_SUCCESS);
}

/* Nothing of it is left on failure but what the caller brought. */
static CUresult publish(struct soft_mipmap *mipmap, const struct soft_layout *layout,
                        struct soft_context *context, CUmipmappedArray *handle)
{
    mipmap->num_levels = layout->num_levels;
    for (unsigned i = 0; i < layout->num_levels; i++)
        set_up(&mipmap->levels[i], layout, i, mipmap->start);
    SOFT_TRY(soft_sparse_new(mipmap->levels, mipmap->num_levels, false, &mipmap->sparse));
    soft_object_add(&mipmap->object, SOFT_MIPMAP, context);
    for (unsigned i = 0; i < layout->num_levels; i++)
        publish_array(&mipmap->levels[i], SOFT_LEVEL, context);
    *handle = (CUmipmappedArray)(void *)mipmap;
    return CUDA_SUCCESS;
}

CUresult soft_mipmap_new(struct soft_context *context, const CUDA_ARRAY3D_DESCRIPTOR *desc,
                         unsigned levels, struct soft_mipmap **out)
{
    struct soft_layout layout;
    CUmipmappedArray handle;
    SOFT_TRY(soft_layout_of(desc, levels, &layout));
    struct soft_mipmap *mipmap = calloc(1, sizeof(*mipmap));
    if (mipmap == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    mipmap->start =
        soft_map_guarded((size_t)layout.size, &mipmap->mapping.map, &mipmap->mapping.map_size);
    if (mipmap->start == NULL) {
        free(mipmap);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = publish(mipmap, &layout, context, &handle);
    if (result != CUDA_SUCCESS) {
        soft_unmap(mipmap->mapping.map, mipmap->mapping.map_size);
        free(mipmap);
        return result;
    }
    *out = mipmap;
    return CUDA_SUCCESS;
}

struct soft_array *soft_array_slice(const struct soft_array *level, unsigned index)
{
    struct soft_array *slice = calloc(1, sizeof(*slice));
    if (slice == NULL) return NULL;
    slice->element = level->element;
    slice->level = level->level;
    slice->level.slices = 1;
    slice->level.desc.Depth = 0;
    slice->level.desc.Flags &= ~(unsigned)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    slice->start = level->start + index * level->level.slice;
    publish_array(slice, SOFT_LEVEL, level->object.context);
    return slice;
}

void soft_array_slice_free(struct soft_array *slice)
{
    withdraw_array(slice);
    free(slice);
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                        const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct soft_mipmap *mipmap;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pHandle == NULL || pMipmappedArrayDesc == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (video_refused(pMipmappedArrayDesc)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* cuda.h: clamped to the range of 1 to the full chain. */
    unsigned levels = soft_full_chain(pMipmappedArrayDesc);
    if (numMipmapLevels < levels) levels = numMipmapLevels > 0 ? numMipmapLevels : 1;
    result = soft_mipmap_new(context, pMipmappedArrayDesc, levels, &mipmap);
    if (result == CUDA_SUCCESS) *pHandle = (CUmipmappedArray)(void *)mipmap;
    return soft_end(result);
}

/* The last row first: wrong, as on the GPU, though not in the same places. */
static void misread(struct soft_layout *layout)
{
    for (unsigned i = 0; i < layout->num_levels; i++) {
        struct soft_level *level = &layout->levels[i];
        level->offset += (level->rows - 1) * level->pitch;
        level->pitch = 0 - level->pitch; /* addresses wrap around */
    }
}

CUresult CUDAAPI
cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *mipmap, CUexternalMemory extMem,
                                        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *mipmapDesc)
{
    struct soft_context *context;
    struct soft_layout layout;
    /* Under a sticky error it succeeds, and is of no use (measured). */
    SOFT_TRY(soft_begin(__func__, SOFT_NEED_CONTEXT_TO_FREE, &context));
    if (mipmap == NULL || mipmapDesc == NULL || extMem == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_external_memory *memory = soft_object_find(extMem, SOFT_EXTERNAL_MEMORY);
    if (memory == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    for (size_t i = 0; i < sizeof(mipmapDesc->reserved) / sizeof(mipmapDesc->reserved[0]); i++)
        if (mipmapDesc->reserved[i] != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* Of every format (measured). */
    if (mipmapDesc->arrayDesc.Flags & CUDA_ARRAY3D_DEPTH_TEXTURE)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (mipmapDesc->arrayDesc.Flags & CUDA_ARRAY3D_SPARSE)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP((soft_external_memory_of_swiftshader(memory)
                   ? soft_layout_in_swiftshader
                   : soft_layout_of)(&mipmapDesc->arrayDesc, mipmapDesc->numLevels, &layout));
    if (mipmapDesc->offset % SOFT_IMAGE_ALIGNMENT != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);

    struct soft_mipmap *made = calloc(1, sizeof(*made));
    if (made == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    made->mapping.image = true;
    result = soft_external_memory_map(memory, mipmapDesc->offset, layout.size, &made->mapping);
    if (result != CUDA_SUCCESS) {
        free(made);
        return soft_end(result);
    }
    made->start = made->mapping.start;
    if (soft_external_memory_misread(memory, mipmapDesc->offset)) misread(&layout);
    result = publish(made, &layout, context, mipmap);
    if (result != CUDA_SUCCESS) {
        soft_external_memory_unmapped(memory);
        soft_unmap(made->mapping.map, made->mapping.map_size);
        free(made);
    }
    return soft_end(result);
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                          unsigned int level)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT), context);
    if (pLevelArray == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_mipmap *mipmap = soft_object_find(hMipmappedArray, SOFT_MIPMAP);
    if (mipmap == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (level >= mipmap->num_levels) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pLevelArray = (CUarray)(void *)&mipmap->levels[level];
    return soft_end(CUDA_SUCCESS);
}

void soft_mipmap_free(void *handle)
{
    struct soft_mipmap *mipmap = handle;
    for (unsigned i = 0; i < mipmap->num_levels; i++)
        withdraw_array(&mipmap->levels[i]);
    soft_slots_forget(mipmap);
    soft_sparse_free(mipmap->sparse);
    soft_object_remove(&mipmap->object);
    if (mipmap->mapping.external != NULL) soft_external_memory_unmapped(mipmap->mapping.external);
    soft_unmap(mipmap->mapping.map, mipmap->mapping.map_size);
    free(mipmap);
}

static void forget_external(void *handle, void *external)
{
    struct soft_mipmap *mipmap = handle;
    if (mipmap->mapping.external == external) mipmap->mapping.external = NULL;
}

void soft_mipmaps_forget_external(struct soft_external_memory *external)
{
    soft_objects_each(SOFT_MIPMAP, forget_external, external);
}

static void count_mapped(void *handle, void *count)
{
    const struct soft_mipmap *mipmap = handle;
    if (mipmap->mapping.image) ++*(uint64_t *)count;
}

uint64_t soft_mipmaps_mapped(void)
{
    uint64_t count = 0;
    soft_objects_each(SOFT_MIPMAP, count_mapped, &count);
    return count;
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), context);
    struct soft_mipmap *mipmap = soft_object_find(hMipmappedArray, SOFT_MIPMAP);
    if (mipmap == NULL || mipmap->of_graphics) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_context_wait(mipmap->object.context);
    mipmap = soft_object_find(hMipmappedArray, SOFT_MIPMAP);
    if (mipmap == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = mipmap->object.context->error; /* told, and freed all the same */
    soft_mipmap_free(mipmap);
    return soft_end((CUresult)error);
}
