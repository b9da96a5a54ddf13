/* The words for what came from no attachment: any graphics API may have made it. SPDX-License-Identifier: MIT */
#include "core/words.h"

const culvi_words culvi_plain_words = {
    .api = CULV_API_NONE,
    .name = "the graphics API",
    .physical_device = "graphics device",
    .device = "graphics device",
    .memory = "graphics memory",
    .semaphore = "graphics semaphore",
    .size = "the whole allocation's size in bytes (in Vulkan VkMemoryAllocateInfo::allocationSize)",
    .dedicated = "a dedicated allocation (in Vulkan VkMemoryDedicatedAllocateInfo)",
    .buffer_offset = "offset that the graphics API bound the buffer at",
    .image_offset = "offset that the graphics API bound the image at",
    .plane_offset = "offset that the graphics API bound the plane at",
    .export_memory = "the graphics API's export call",
    .export_semaphore = "the graphics API's export call",
    .signal_call = "the graphics API's signal",
    .wait_call = "the graphics API's wait",
    .attach_desc = "the attachment's descriptor",
    .open_call = "the graphics API's culv_..._device_open",
    .memory_desc = "culv_memory_desc",
    .buffer_destroy = "the destroy call of the object that owns it",
    .image_destroy = "the destroy call of the object that owns it",
    .semaphore_destroy = "the destroy call of the object that owns it",
    .map_rows = "a call of the graphics API's that maps rows of bytes",
};
