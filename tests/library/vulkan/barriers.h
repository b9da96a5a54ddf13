/* SPDX-License-Identifier: MIT */
/* What the barriers' tables share: Culvert's barriers of both kinds and forms as one struct, and
 * handles that are copied, never used. */
#ifndef CULVERT_TESTS_LIBRARY_BARRIERS_H_
#define CULVERT_TESTS_LIBRARY_BARRIERS_H_

#include "library.h"

typedef enum form { BARRIER2, OLD_FORM } form;

#define STAGE(name)  VK_PIPELINE_STAGE_2_##name##_BIT
#define ACCESS(name) VK_ACCESS_2_##name##_BIT
#define LAYOUT(name) VK_IMAGE_LAYOUT_##name

/* Both forms and kinds in one. */
typedef struct fields {
    VkStructureType type;
    const void *next;
    uint64_t src_stage, dst_stage, src_access, dst_access;
    uint32_t src_family, dst_family;
} fields;

VkBuffer some_buffer(void);
VkImage some_image(void);
culv_result buffer_barrier(const culv_vk_buffer_transfer *t, culv_vk_direction w, form f,
                           fields *out, VkBuffer *handle, VkDeviceSize *offset, VkDeviceSize *size);
culv_result image_barrier(const culv_vk_image_transfer *t, culv_vk_direction w, form f, fields *out,
                          VkImage *handle, VkImageLayout layouts[2],
                          VkImageSubresourceRange *range);

#endif
