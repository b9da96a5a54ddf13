/* SPDX-License-Identifier: MIT */
/* The bridge to dma-bufs, inside. Its parts:
 *   drm_format.c       DRM's formats in Vulkan's terms
 *   dma_buf_check.c    the gate: what a device can bridge
 *   dma_buf_image.c    the dma-buf as a VkImage: imported, or made and exported
 *   dma_buf.c          the bridge: create, destroy, turns
 *   dma_buf_record.c   the copies and their barriers
 *   dma_buf_fence.c    the fences that are kept in a dma-buf */
#ifndef CULVI_X_DMA_BUF_H_
#define CULVI_X_DMA_BUF_H_

#include "culvert/extra/vulkan_dma_buf.h"

#include "vulkan.h"

#include <stdatomic.h>

struct culv_vk_dma_buf_bridge {
    culv_device *device;
    culv_vk_device *attachment;
    culvi_x_vk vk;
    culv_vk_dma_buf_desc d; /* its pointers are valid while the bridge is made */
    culv_format_info format;
    bool imported;          /* the other side made it */
    uint32_t num_modifiers; /* without a handle: those of the caller's that will do */
    uint64_t *modifiers;    /* allocated */
    culv_vk_dma_buf_info info;
    VkImage image;
    VkDeviceMemory memory;
    culv_shared_image *target; /* one of the two */
    culv_shared_buffer *buffer;
    culv_shared_semaphore *timeline;
    _Atomic uint64_t turns;
    char label[64];
};

#define CULVI_DMA_BUF_FAIL(b, result, reason, ...)                                                 \
    culvi_x_fail((b)->device, (b)->label, CULV_ERROR_##result, CULV_REASON_##reason, __VA_ARGS__)
#define CULVI_DMA_BUF_FAIL_IF(condition, b, result, reason, ...)                                   \
    do {                                                                                           \
        if (condition) return CULVI_DMA_BUF_FAIL(b, result, reason, __VA_ARGS__);                  \
    } while (0)

/* "XR24" for messages. */
typedef struct culvi_fourcc_text {
    char text[5];
} culvi_fourcc_text;
culvi_fourcc_text culvi_fourcc_name(uint32_t fourcc);

/* dma_buf_check.c: fills format, imported, modifiers and num_modifiers. */
culv_result culvi_dma_buf_check(culv_vk_dma_buf_bridge *b);
/* The device offers the extensions, and the VkDevice has the one that shows by a function. */
culv_result culvi_dma_buf_check_extensions(const culvi_x_vk *vk, const char *label);
/* The modifiers that the device has for a format at all: allocated. */
culv_result culvi_dma_buf_modifiers(const culvi_x_vk *vk, const char *label, VkFormat format,
                                    uint32_t *count, VkDrmFormatModifierPropertiesEXT **out);
const VkDrmFormatModifierPropertiesEXT *
culvi_dma_buf_find_modifier(const VkDrmFormatModifierPropertiesEXT *list, uint32_t count,
                            uint64_t modifier);
/* What Vulkan says of such images to copy: *out_features is 0 if it has none of them. */
culv_result culvi_dma_buf_ask(const culvi_x_vk *vk, const char *label, VkFormat format,
                              const VkDrmFormatModifierPropertiesEXT *modifier,
                              culv_vk_dma_buf_direction direction,
                              VkExternalMemoryFeatureFlags *out_features, VkExtent3D *out_most);
VkImageUsageFlags culvi_dma_buf_usage(culv_vk_dma_buf_direction direction);

/* dma_buf_fence.c: the bytes of a dma-buf; UINT64_MAX: nobody knows. */
uint64_t culvi_dma_buf_size(int fd);
/* Waits for the others. */
culv_result culvi_dma_buf_wait(const culv_vk_dma_buf_bridge *b, uint64_t timeout);

/* dma_buf_image.c: sets image, memory, the handle and the rest of info. The caller drops them also
 * after an error. */
culv_result culvi_dma_buf_image_make(culv_vk_dma_buf_bridge *b);
void culvi_dma_buf_image_drop(culv_vk_dma_buf_bridge *b);

#endif
