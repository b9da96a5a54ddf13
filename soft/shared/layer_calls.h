/* SPDX-License-Identifier: MIT */
/* What the twin's Vulkan layer asks of its CUDA half, to play VK_NVX_binary_import and
 * VK_NVX_image_view_handle: kernels that run outside of any context, in Vulkan's queue. The layer
 * finds these functions by dlsym. None is a driver call, counted or made to fail. Results are
 * CUresults. */
#ifndef CULV_SOFT_LAYER_CALLS_H_
#define CULV_SOFT_LAYER_CALLS_H_

#include "module_abi.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct culv_soft_queue_module culv_soft_queue_module;

/* A kernel of such a module, whose memory it is. */
typedef struct culv_soft_queue_kernel {
    const culv_soft_kernel *kernel;
    unsigned static_shared; /* bytes */
    int meets;              /* its threads wait for one another */
} culv_soft_queue_kernel;

/* Loads the bytes of a .soft.so. */
int culvSoftQueueLoad(const void *image, size_t size, culv_soft_queue_module **out);
void culvSoftQueueUnload(culv_soft_queue_module *module);
/* NULL: it has no kernel of that name. */
const culv_soft_queue_kernel *culvSoftQueueFind(const culv_soft_queue_module *module,
                                                const char *name);
/* Where parameter `index` begins in a block of all of them; SIZE_MAX: there is no such one. With
 * num_params, it is the number of bytes of the block. */
size_t culvSoftQueueOffset(const culv_soft_queue_kernel *kernel, uint32_t index);
/* Whether a launch is within the device's limits. */
int culvSoftQueueCheck(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid,
                       culv_soft_dim3 block, uint32_t shared_bytes);
/* Runs it on the calling thread and the pool's, to its end. A fault is the result. */
int culvSoftQueueRun(const culv_soft_queue_kernel *kernel, culv_soft_dim3 grid,
                     culv_soft_dim3 block, uint32_t shared_bytes, void *const *params);

/* A view of an image of lavapipe's. */
typedef struct culv_soft_queue_view {
    unsigned char *start; /* of the image */
    int format;           /* a CUarray_format */
    unsigned channels;
    uint32_t width, height, depth; /* of level 0; height 0: one dimension, depth 0: two */
    uint32_t levels, layers;
    uint8_t dimensions; /* the view's, a culv_soft_dimensions */
    uint8_t texel;      /* a culv_soft_texel */
    uint32_t base_level, num_levels, base_layer, num_layers;
} culv_soft_queue_view;

/* Fills *out but for its turn; 0, or INVALID_VALUE where the twin knows no such image. */
int culvSoftQueueSurface(const culv_soft_queue_view *view, culv_soft_surface *out);
/* *out has the sampler's fields already. */
int culvSoftQueueTexture(const culv_soft_queue_view *view, culv_soft_texture *out);

#ifdef __cplusplus
}
#endif

/* Addresses at which the twin's Vulkan layer shows memory, as sparse buffers. The twin's CUDA
 * driver keeps the process's one address space, in which both reserve and map, and the layer finds
 * these calls in its library. On a GPU the two have page tables of their own; here what Vulkan
 * binds wins where both map other memory at an address. The calls return 0 or an errno. */

#ifdef __cplusplus
extern "C" {
#endif

/* Reserves addresses for Vulkan: those at `address`, also where they are within one reservation of
 * cuMemAddressReserve, and cuMemAddressReserve may have them later. 0: any, aligned to 2 MiB. */
int culvSoftShowReserve(uint64_t address, uint64_t size, uint64_t *out);
void culvSoftShowRelease(uint64_t address);
/* Shows `size` bytes of a file, from `offset` on, at an address within one of those reservations.
 * The fd stays the caller's. -1: nothing any more. */
int culvSoftShowBind(uint64_t address, uint64_t size, int fd, uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif
