/* SPDX-License-Identifier: MIT */
/* A Vulkan that no machine has: what it answers is the input's, what it is asked to make is held
 * against that, as the specification says and a driver need not. Fast, too. */
#ifndef CULVERT_TESTS_FUZZ_FAKE_VULKAN_H_
#define CULVERT_TESTS_FUZZ_FAKE_VULKAN_H_

#include "fuzz.h"

typedef struct fake_machine {
    uint32_t api_version;
    uint32_t families;
    VkPhysicalDeviceMemoryProperties memory;
    VkDeviceSize max_buffer_size; /* of maintenance4 */
    bool tells_needs;             /* has vkGetDevice...MemoryRequirements */
    VkExternalMemoryProperties buffers, images;
    VkResult image_result; /* of vkGetPhysicalDeviceImageFormatProperties2 */
    VkImageFormatProperties most;
    VkMemoryRequirements needs;
    VkBool32 requires_dedicated, prefers_dedicated;
    uint32_t fails;  /* 0: nothing; else which of the functions that make something */
    VkResult result; /* with which */
    /* vkGetImageSubresourceLayout: rowPitch, depthPitch, arrayPitch are multiplied by these */
    VkExtent3D lies;
} fake_machine;

extern fake_machine fake;

/* A machine as the input says; for the empty input one that shares everything. */
void fake_read(fuzz_reader *r);
/* What culv_vk_attach() takes. */
culv_vk_device_desc fake_desc(void);
/* An image of the caller's; never NULL. */
VkImage fake_image_create(const VkImageCreateInfo *info);
void fake_image_destroy(VkImage image);
/* Nothing that Culvert made is left. */
void fake_require_empty(void);

#endif
