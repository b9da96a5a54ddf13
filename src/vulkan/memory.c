/* SPDX-License-Identifier: MIT */
/* Importing a caller's VkDeviceMemory. */
#include "base/desc.h"
#include "vulkan/vk_resource.h"

#include <inttypes.h>

/* Vulkan fixes the size of a dedicated allocation that it exports. CUDA's memory, which Vulkan
 * imports as dedicated, has whole chunks: that is not imported here. */
static culv_result check_size(const culv_vk_device *vk, const culv_vk_memory_desc *d,
                              const char *what, const char *vuid, VkDeviceSize needed)
{
    if (d->dedicated == VK_FALSE || d->allocation_size == needed) return CULV_OK;
    return culvi_fail(
        &vk->base.device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "dedicated is set, and a dedicated allocation for this %s has exactly %" PRIu64
        " bytes (VkMemoryRequirements::size; VUID-VkMemoryDedicatedAllocateInfo-%s), but the allocation has %" PRIu64
        " (culv_vk_memory_desc.allocation_size); pass VkMemoryAllocateInfo::allocationSize, or leave dedicated 0 if the memory is not dedicated",
        what, needed, vuid, d->allocation_size);
}

static culv_result read_desc(culv_vk_device *vk, const culv_vk_memory_desc *desc, const void *out,
                             const char *call, culv_vk_memory_desc *d)
{
    CULVI_REQUIRE_IN(NULL, call, vk);
    const culvi_voice *voice = &vk->base.device->voice;
    CULVI_REQUIRE_IN(voice, call, desc);
    CULVI_REQUIRE_IN(voice, call, out);
    culv_result result = culvi_desc_read(voice, d, sizeof *d, desc, "culv_vk_memory_desc");
    if (result != CULV_OK) return result;
    if (d->memory == VK_NULL_HANDLE)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_memory_desc.memory is VK_NULL_HANDLE");
    if (d->allocation_size == 0)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
            "culv_vk_memory_desc.allocation_size is 0; it is VkMemoryAllocateInfo::allocationSize");
    result = culvi_graphics_check_shares(
        &vk->base, d->label, d->image != VK_NULL_HANDLE ? CULVI_SHARE_IMAGES : CULVI_SHARE_BUFFERS);
    if (result != CULV_OK) return result;
    culvi_vk_needs needs;
    if (d->buffer != VK_NULL_HANDLE) {
        culvi_vk_buffer_needs(vk, d->buffer, &needs);
        result = culvi_vk_check_binding(vk, d->label, "buffer", "culv_vk_memory_desc.buffer_offset",
                                        &needs, d->buffer_offset, d->allocation_size, d->dedicated);
        if (result == CULV_OK)
            result = check_size(vk, d, "buffer", "buffer-02965", needs.memory.size);
        if (result != CULV_OK) return result;
    }
    if (d->image != VK_NULL_HANDLE) {
        culvi_vk_image_needs(vk, d->image, 0, &needs);
        result = culvi_vk_check_binding(vk, d->label, "image", "culv_vk_memory_desc.image_offset",
                                        &needs, d->image_offset, d->allocation_size, d->dedicated);
        if (result == CULV_OK)
            result = check_size(vk, d, "image", "image-02964", needs.memory.size);
        if (result != CULV_OK) return result;
    }
    return CULV_OK;
}

static culvi_memory_ask ask_of(const culv_vk_memory_desc *d)
{
    return (culvi_memory_ask){.label = d->label,
                              .memory = (uint64_t)d->memory,
                              .size = d->allocation_size,
                              .dedicated = d->dedicated != VK_FALSE,
                              .callers_buffers =
                                  d->buffer != VK_NULL_HANDLE || d->image == VK_NULL_HANDLE,
                              .warning = culvi_vk_stale_warning(d->memory_properties)};
}

culv_result culv_vk_memory_import(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                  culv_memory **out)
{
    culv_vk_memory_desc d;
    culv_result result = read_desc(vk, desc, out, "culv_vk_memory_import", &d);
    if (result != CULV_OK) return result;
    culvi_memory_ask ask = ask_of(&d);
    return culvi_graphics_import(&vk->base, &ask, out);
}

culv_result culv_vk_memory_import_shared(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                         culv_memory **out)
{
    culv_vk_memory_desc d;
    culv_result result = read_desc(vk, desc, out, "culv_vk_memory_import_shared", &d);
    if (result != CULV_OK) return result;
    culvi_memory_ask ask = ask_of(&d);
    return culvi_graphics_acquire(&vk->base, &ask, out);
}
