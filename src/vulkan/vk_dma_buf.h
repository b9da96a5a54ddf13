/* SPDX-License-Identifier: MIT */
/* The bridge to dma-bufs, inside. Its parts:
 *   drm_format.c            DRM's formats in Vulkan's terms
 *   dma_buf_check.c         the gate: what a device can bridge
 *   dma_buf_direct.c        the dma-buf in CUDA itself, where its driver takes one
 *   dma_buf_image.c         the dma-buf as a VkImage: imported, or made and exported
 *   dma_buf.c               the bridge: create, destroy, turns
 *   dma_buf_record.c        the copies and their barriers
 *   posix_dma_buf_fence.c   the fences that are kept in a dma-buf
 *   win32_dma_buf_fence.c   there are none */
#ifndef CULVI_VK_DMA_BUF_H_
#define CULVI_VK_DMA_BUF_H_

#include "cuda/format.h"
#include "culvert/vulkan_dma_buf.h"
#include "vulkan/vk.h"

/* drm_fourcc.h, which is not everywhere. */
#define CULVI_DRM_MOD_INVALID UINT64_C(0x00ffffffffffffff)

/* What the gate found out. */
typedef struct culvi_vk_dma_buf_plan {
    culv_vk_dma_buf_desc d;  /* read */
    const culvi_format *row; /* of the format */
    VkFormat format;
    bool imported;          /* the other side made it */
    culv_memory *direct;    /* CUDA has taken it; the caller destroys it after an error */
    uint32_t num_modifiers; /* without a handle: those of the caller's that will do */
    uint64_t *modifiers;    /* allocated */
} culvi_vk_dma_buf_plan;

struct culv_vk_dma_buf_bridge {
    culv_vk_device *vk; /* a reference */
    culv_vk_dma_buf_direction direction;
    uint32_t queue_family;
    culv_vk_dma_buf_info info;
    VkImage image;
    VkDeviceMemory memory;
    culv_handle handle;        /* the bridge's own fd of the dma-buf */
    culv_shared_image *target; /* one of the two */
    culv_shared_buffer *buffer;
    culv_memory *direct; /* or CUDA has the dma-buf itself, and the rest is not there */
    culv_buffer *rows;
    culv_shared_semaphore *timeline;
    _Atomic uint64_t turns;
    char label[64];
};

/* "XR24" for messages. */
typedef struct culvi_fourcc_text {
    char text[5];
} culvi_fourcc_text;
culvi_fourcc_text culvi_fourcc_name(uint32_t fourcc);

/* dma_buf_check.c. The caller frees plan->modifiers, also after an error. With `import` a direct
 * dma-buf is tried. */
culv_result culvi_vk_dma_buf_plan_make(culv_vk_device *vk, const culv_vk_dma_buf_desc *desc,
                                       bool import, culvi_vk_dma_buf_plan *out);
VkImageUsageFlags culvi_vk_dma_buf_usage(culv_vk_dma_buf_direction direction);

/* How many memory planes a modifier has. */
culv_result culvi_vk_dma_buf_planes(const culv_vk_device *vk, const char *label, VkFormat format,
                                    uint64_t modifier, uint32_t *out);

/* posix_dma_buf_fence.c: the bytes of a dma-buf; UINT64_MAX: nobody knows. */
uint64_t culvi_dma_buf_size(const culv_handle *handle, const culvi_handle_facts *facts);

/* dma_buf_direct.c: what `direct` must have. */
culv_result culvi_vk_dma_buf_check_direct(const culv_vk_device *vk,
                                          const culvi_vk_dma_buf_plan *plan);
/* Imports the dma-buf into CUDA. CULV_OK with plan->direct NULL: the driver takes none such. */
culv_result culvi_vk_dma_buf_try_direct(culv_vk_device *vk, culvi_vk_dma_buf_plan *plan);
/* Takes plan->direct and maps its rows. */
culv_result culvi_vk_dma_buf_map_direct(culv_vk_dma_buf_bridge *bridge,
                                        culvi_vk_dma_buf_plan *plan);
void culvi_vk_dma_buf_direct_drop(culv_vk_dma_buf_bridge *bridge);

/* dma_buf_image.c: sets image, memory, handle and the rest of info, all or nothing. */
culv_result culvi_vk_dma_buf_image_make(culv_vk_dma_buf_bridge *bridge,
                                        const culvi_vk_dma_buf_plan *plan);
void culvi_vk_dma_buf_image_drop(culv_vk_dma_buf_bridge *bridge);

#endif
