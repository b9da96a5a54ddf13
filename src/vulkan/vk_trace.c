/* SPDX-License-Identifier: MIT */
/* Vulkan calls in the log. */
#include "vulkan/vk_trace.h"

static void add_vk_memory(culvi_text *text, const culvi_value *value)
{
    const VkMemoryAllocateInfo *info = value->at.pointer;
    culvi_text_add(text, "{%llu bytes of type %u}", (unsigned long long)info->allocationSize,
                   info->memoryTypeIndex);
}

static void add_vk_buffer(culvi_text *text, const culvi_value *value)
{
    const VkBufferCreateInfo *info = value->at.pointer;
    culvi_text_add(text, "{%llu bytes, usage %#x, flags %#x}", (unsigned long long)info->size,
                   info->usage, info->flags);
}

static void add_vk_image(culvi_text *text, const culvi_value *value)
{
    const VkImageCreateInfo *info = value->at.pointer;
    culvi_text_add(text, "{%u x %u x %u, format %d, levels %u, layers %u, usage %#x, flags %#x}",
                   info->extent.width, info->extent.height, info->extent.depth, (int)info->format,
                   info->mipLevels, info->arrayLayers, info->usage, info->flags);
}

CULVI_VALUE_STRUCT(vk_memory, VkMemoryAllocateInfo)
CULVI_VALUE_STRUCT(vk_buffer, VkBufferCreateInfo)
CULVI_VALUE_STRUCT(vk_image, VkImageCreateInfo)

VkResult culvi_trace_vk(const culvi_voice *voice, const char *call, VkResult result,
                        const culvi_value *values, size_t count)
{
    culvi_trace(voice, call, culvi_vk_result_name(result), result >= 0, values, count);
    return result;
}
