/* SPDX-License-Identifier: MIT */
/* See block.h. */
#include "block.h"

#include <string.h>

#include "../common/report.h"

bool block_create(const vulkan_setup *v, VkDeviceSize size, uint32_t type_bits, block *out)
{
    *out = (block){.size = size, .granularity = v->properties.limits.bufferImageGranularity};
    VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &export_info,
        .allocationSize = size,
        .memoryTypeIndex = vulkan_memory_type(v, type_bits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                              VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    if (info.memoryTypeIndex == UINT32_MAX) {
        report("%s has no device-local memory type that all of the resources can have",
               v->candidate.name);
        return false;
    }
    return vk_ok(vkAllocateMemory(v->device, &info, NULL, &out->memory), "vkAllocateMemory");
}

void block_destroy(const vulkan_setup *v, block *b)
{
    vkFreeMemory(v->device, b->memory, NULL);
    memset(b, 0, sizeof *b);
}

static VkDeviceSize align(VkDeviceSize offset, VkDeviceSize alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* A buffer and an OPTIMAL image must not share a page of this size (Vulkan, "Buffer-Image
 * Granularity"). */
static VkDeviceSize apart(const block *b, const block_range *a, bool is_image, VkDeviceSize offset)
{
    return a && a->is_image != is_image ? align(offset, b->granularity) : offset;
}

bool block_take(block *b, const VkMemoryRequirements *needs, bool is_image, VkDeviceSize *offset)
{
    if (b->num_ranges == BLOCK_MAX_RANGES) {
        report("the block has %d ranges already", (int)BLOCK_MAX_RANGES);
        return false;
    }
    for (uint32_t i = 0; i <= b->num_ranges; i++) {
        const block_range *before = i > 0 ? &b->ranges[i - 1] : NULL;
        const block_range *after = i < b->num_ranges ? &b->ranges[i] : NULL;
        VkDeviceSize start = apart(b, before, is_image, before ? before->offset + before->size : 0);
        start = align(start, needs->alignment);
        VkDeviceSize end = after ? after->offset : b->size;
        if (apart(b, after, is_image, start + needs->size) > end) continue;
        memmove(&b->ranges[i + 1], &b->ranges[i], (b->num_ranges - i) * sizeof b->ranges[0]);
        b->ranges[i] = (block_range){start, needs->size, is_image};
        b->num_ranges++;
        *offset = start;
        return true;
    }
    report("no gap of %llu bytes is left in the block", (unsigned long long)needs->size);
    return false;
}

void block_give_back(block *b, VkDeviceSize offset)
{
    for (uint32_t i = 0; i < b->num_ranges; i++) {
        if (b->ranges[i].offset != offset) continue;
        b->num_ranges--;
        memmove(&b->ranges[i], &b->ranges[i + 1], (b->num_ranges - i) * sizeof b->ranges[0]);
        return;
    }
}
