/* SPDX-License-Identifier: MIT */
/* The words for what came from no attachment: any graphics API may have made it. */
#include "core/words.h"

const culvi_words culvi_plain_words = {
    .api = CULV_NATIVE_NONE,
    .name = "graphics",
    .physical_device = "graphics device",
    .memory = "memory object",
    .semaphore = "semaphore",
    .size = "in Vulkan VkMemoryAllocateInfo::allocationSize",
    .dedicated = "in Vulkan VkMemoryDedicatedAllocateInfo",
    .buffer_offset = "in Vulkan memoryOffset of vkBindBufferMemory",
    .image_offset = "in Vulkan memoryOffset of vkBindImageMemory",
    .plane_offset =
        "in Vulkan memoryOffset of VkBindImagePlaneMemoryInfo's bind of a DISJOINT image",
    .map_rows = "in Vulkan a LINEAR one by culv_vk_image_map_pitched()",
    .read_call = "the counter's read",
    .wait_call = "the wait",
    .signal_call = "the signal",
    .attach_desc = "the attachment's descriptor",
    .open_call = "the graphics API's open call",
    .memory_desc = "culv_memory_desc",
    .memory_size = "size",
    /* What has an owner came from an attachment. */
};
