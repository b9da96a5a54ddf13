/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: kernels in Vulkan's queue (shared/layer_calls.h). They belong to no
 * context. The Vulkan layer decides when they run. */
#include "array.h"

#include <stdlib.h>
#include <string.h>

struct culv_soft_queue_module {
    struct soft_image image;
    culv_soft_queue_kernel kernels[];
};

#define EXPORT __attribute__((visibility("default")))

EXPORT int culvSoftQueueLoad(const void *image, size_t size, culv_soft_queue_module **out)
{
    struct soft_image opened;
    CUresult result = soft_image_open_memory(image, size, &opened);
    if (result != CUDA_SUCCESS) return (int)result;
    const culv_soft_module_table *table = opened.table;
    culv_soft_queue_module *made =
        calloc(1, sizeof(*made) + table->num_kernels * sizeof(made->kernels[0]));
    if (made == NULL) {
        soft_image_close(&opened);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->image = opened;
    for (uint32_t i = 0; i < table->num_kernels; i++)
        made->kernels[i] =
            (culv_soft_queue_kernel){.kernel = &table->kernels[i],
                                     .static_shared = opened.shared[i],
                                     .meets = *table->meets || *table->kernels[i].meets};
    *out = made;
    return CUDA_SUCCESS;
}

EXPORT void culvSoftQueueUnload(culv_soft_queue_module *module)
{
    soft_image_close(&module->image);
    free(module);
}

EXPORT const culv_soft_queue_kernel *culvSoftQueueFind(const culv_soft_queue_module *module,
                                                       const char *name)
{
    for (uint32_t i = 0; i < module->image.table->num_kernels; i++)
        if (strcmp(module->kernels[i].kernel->name, name) == 0) return &module->kernels[i];
    return NULL;
}

EXPORT size_t culvSoftQueueOffset(const culv_soft_queue_kernel *kernel, uint32_t index)
{
    return index > kernel->kernel->num_params ? SIZE_MAX : soft_param_offset(kernel->kernel, index);
}

EXPORT int culvSoftQueueCheck(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid,
                              culv_soft_dim3 block, uint32_t shared_bytes)
{
    return soft_dimensions_valid(grid, block) &&
                   shared_bytes <= SOFT_MAX_SHARED_OPTIN - kernel->static_shared
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

EXPORT int culvSoftQueueRun(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid,
                            culv_soft_dim3 block, uint32_t shared_bytes, void *const *params)
{
    const struct soft_grid work = {.kernel = kernel->kernel,
                                   .meets = kernel->meets != 0,
                                   .grid = grid,
                                   .block = block,
                                   .shared_bytes = shared_bytes,
                                   .static_shared = kernel->static_shared,
                                   .params = params};
    /* Clusters are no part of such a launch: an H100 runs a kernel of fixed ones without them. */
    /* An H200 loses the VkDevice over more (measured). */
    const uint32_t most = SOFT_MAX_SHARED - SOFT_RESERVED_SHARED;
    if (shared_bytes > most || kernel->static_shared > most - shared_bytes)
        return soft_note_fault(), CUDA_ERROR_LAUNCH_FAILED;
    void *stack = soft_fault_thread_begin();
    CUresult result = soft_pool_run(&work);
    soft_fault_thread_end(stack);
    return (int)result;
}

static CUresult place(const culv_soft_queue_view *view, struct soft_layout *out)
{
    const bool layers = view->layers > 1 && view->depth == 0;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = view->width,
                                          .Height = view->height,
                                          .Depth = layers ? view->layers : view->depth,
                                          .Format = (CUarray_format)view->format,
                                          .NumChannels = view->channels,
                                          .Flags = layers ? CUDA_ARRAY3D_LAYERED : 0};
    if (view->num_levels == 0 || view->base_level >= view->levels ||
        view->num_levels > view->levels - view->base_level)
        return CUDA_ERROR_INVALID_VALUE;
    return soft_layout_of(&desc, view->levels, out);
}

EXPORT int culvSoftQueueSurface(const culv_soft_queue_view *view, culv_soft_surface *out)
{
    struct soft_layout layout;
    CUresult result = place(view, &layout);
    if (result != CUDA_SUCCESS) return (int)result;
    const struct soft_level *level = &layout.levels[view->base_level];
    const bool layers = view->layers > 1 && view->depth == 0;
    out->dimensions = view->dimensions;
    out->start = view->start + level->offset + view->base_layer * level->slice;
    out->pitch = level->pitch;
    out->slice = level->slice;
    out->width_bytes = (uint32_t)level->width_bytes;
    out->height = (uint32_t)level->rows;
    out->depth = layers ? view->num_layers : (uint32_t)level->slices;
    return CUDA_SUCCESS;
}

EXPORT int culvSoftQueueTexture(const culv_soft_queue_view *view, culv_soft_texture *out)
{
    struct soft_layout layout;
    CUresult result = place(view, &layout);
    if (result != CUDA_SUCCESS) return (int)result;
    const bool layers = view->layers > 1 && view->depth == 0;
    out->dimensions = view->dimensions;
    out->texel = view->texel;
    out->channels = (uint8_t)layout.element.channels;
    out->texel_bytes = (uint8_t)layout.element.bytes;
    out->num_levels = (uint8_t)view->num_levels;
    for (uint32_t i = 0; i < view->num_levels; i++) {
        const struct soft_level *level = &layout.levels[view->base_level + i];
        out->levels[i] = (culv_soft_texture_level){
            .start = view->start + level->offset + view->base_layer * level->slice,
            .pitch = level->pitch,
            .slice = level->slice,
            .width = (uint32_t)level->desc.Width,
            .height = level->desc.Height == 0 ? 1 : (uint32_t)level->desc.Height,
            .depth = layers ? view->num_layers : (uint32_t)level->slices};
    }
    return CUDA_SUCCESS;
}
