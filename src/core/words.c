/* SPDX-License-Identifier: MIT */
/* The words for what came from no attachment: any graphics API may have made it. */
#include "core/words.h"

/* What has an owner came from an attachment. */
#define OF_NO_ATTACHMENT                                                                           \
    .api = CULV_NATIVE_NONE, .name = "graphics", .physical_device = "graphics device",             \
    .read_call = "the counter's read", .wait_call = "the wait", .signal_call = "the signal",       \
    .attach_desc = "the attachment's descriptor", .cross = "",                                     \
    .open_call = "the graphics API's open call", .memory_desc = "culv_memory_desc",                \
    .memory_size = "size"

const culvi_words culvi_plain_words = {
    OF_NO_ATTACHMENT,
    .memory = "memory object",
    .semaphore = "semaphore",
    .size = "in Vulkan VkMemoryAllocateInfo::allocationSize",
    .dedicated = "in Vulkan VkMemoryDedicatedAllocateInfo",
    .buffer_offset = "in Vulkan memoryOffset of vkBindBufferMemory",
    .image_offset = "in Vulkan memoryOffset of vkBindImageMemory",
    .plane_offset =
        "in Vulkan memoryOffset of VkBindImagePlaneMemoryInfo's bind of a DISJOINT image",
    .map_rows = "in Vulkan a LINEAR one by culv_vk_image_map_pitched()",
};

static const culvi_words direct_words = {
    OF_NO_ATTACHMENT,
    .memory = "heap or resource",
    .semaphore = "fence",
    .size = "in Direct3D 12 D3D12_HEAP_DESC::SizeInBytes or GetResourceAllocationInfo()",
    .dedicated = "in Direct3D 12 a committed resource, in Direct3D 11 every resource",
    .buffer_offset = "in Direct3D 12 HeapOffset of CreatePlacedResource",
    .image_offset = "in Direct3D 12 HeapOffset of CreatePlacedResource",
    .plane_offset = "which Direct3D has none of",
    .map_rows = "a buffer",
};

const culvi_words *culvi_words_of_handle(culv_handle_type type)
{
    switch (type) {
    case CULV_HANDLE_D3D12_HEAP:
    case CULV_HANDLE_D3D12_RESOURCE:
    case CULV_HANDLE_D3D11_RESOURCE:
    case CULV_HANDLE_D3D11_RESOURCE_KMT:
    case CULV_HANDLE_D3D12_FENCE:
    case CULV_HANDLE_D3D11_FENCE: return &direct_words;
    default: return &culvi_plain_words;
    }
}
