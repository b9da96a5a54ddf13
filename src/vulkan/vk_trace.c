/* SPDX-License-Identifier: MIT */
/* Vulkan calls in the log. */
#include "vulkan/vk_trace.h"

static void add(culvi_text *text, unsigned kind, const void *pointer)
{
    const VkMemoryAllocateInfo *memory = pointer;
    const VkBufferCreateInfo *buffer = pointer;
    const VkImageCreateInfo *image = pointer;
    if (kind == CULVI_VALUE_vk_memory)
        culvi_text_add(text, "{%llu bytes of type %u}", (unsigned long long)memory->allocationSize,
                       memory->memoryTypeIndex);
    else if (kind == CULVI_VALUE_vk_buffer)
        culvi_text_add(text, "{%llu bytes, usage %#x, flags %#x}", (unsigned long long)buffer->size,
                       buffer->usage, buffer->flags);
    else
        culvi_text_add(
            text, "{%u x %u x %u, format %d, levels %u, layers %u, usage %#x, flags %#x}",
            image->extent.width, image->extent.height, image->extent.depth, (int)image->format,
            image->mipLevels, image->arrayLayers, image->usage, image->flags);
}

VkResult culvi_trace_vk(const culvi_voice *voice, const char *call, VkResult result, uint64_t kinds,
                        ...)
{
    va_list values;
    va_start(values, kinds);
    culvi_trace(voice, call, culvi_vk_result_name(result), result >= 0, add, kinds, values);
    va_end(values);
    return result;
}

void culvi_trace_vk_done(const culvi_voice *voice, const char *call, uint64_t kinds, ...)
{
    va_list values;
    va_start(values, kinds);
    culvi_trace(voice, call, NULL, true, add, kinds, values);
    va_end(values);
}
