/* Importing a caller's VkDeviceMemory. SPDX-License-Identifier: MIT */
#include "base/desc.h"
#include "vulkan/vk.h"

#include <inttypes.h>

static culv_result read_desc(culv_vk *vk, const culv_vk_memory_desc *desc, const void *out, const char *call,
                             culv_vk_memory_desc *d)
{
    if (vk == NULL || desc == NULL || out == NULL)
        return culvi_fail(vk != NULL ? &vk->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL", call,
                          vk == NULL     ? "vk"
                          : desc == NULL ? "desc"
                                         : "out");
    const culvi_voice *voice = &vk->device->voice;
    culv_result result = culvi_desc_read(voice, d, sizeof *d, desc, "culv_vk_memory_desc");
    if (result != CULV_OK) return result;
    if (d->memory == VK_NULL_HANDLE)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_vk_memory_desc.memory is VK_NULL_HANDLE");
    if (d->allocation_size == 0)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
            "culv_vk_memory_desc.allocation_size is 0; it is VkMemoryAllocateInfo::allocationSize");
    result = culvi_vk_check_shares(vk, d->label, false);
    if (result != CULV_OK) return result;
    culvi_vk_needs needs;
    if (d->buffer != VK_NULL_HANDLE) {
        culvi_vk_buffer_needs(vk, d->buffer, &needs);
        result = culvi_vk_check_binding(vk, d->label, "buffer", &needs, d->buffer_offset, d->allocation_size,
                                        d->dedicated);
        if (result != CULV_OK) return result;
    }
    if (d->image != VK_NULL_HANDLE) {
        culvi_vk_image_needs(vk, d->image, 0, &needs);
        result = culvi_vk_check_binding(vk, d->label, "image", &needs, d->image_offset, d->allocation_size,
                                        d->dedicated);
        if (result != CULV_OK) return result;
    }
    return CULV_OK;
}

static culv_result import_memory(culv_vk *vk, const culv_vk_memory_desc *d, culv_memory **out)
{
    culv_memory_desc import = culv_memory_desc_init();
    culv_result result = culvi_vk_memory_export(vk, d->label, d->memory,
                                                (culv_handle_type)CULVI_HANDLE_OPAQUE, &import.handle);
    if (result != CULV_OK) return result;
    import.size = d->allocation_size;
    import.dedicated = d->dedicated != VK_FALSE;
    import.label = d->label;
    return culvi_memory_import_exported(vk->device, &import, out);
}

culv_result culv_vk_memory_import(culv_vk *vk, const culv_vk_memory_desc *desc, culv_memory **out)
{
    culv_vk_memory_desc d;
    culv_result result = read_desc(vk, desc, out, "culv_vk_memory_import", &d);
    return result == CULV_OK ? import_memory(vk, &d, out) : result;
}

/* An import that is found again must be what the caller says of it now. */
static culv_result check_again(const culv_vk *vk, const culv_vk_memory_desc *d, const culv_memory *found)
{
    const culvi_voice *voice = &vk->device->voice;
    if (found->size != d->allocation_size)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_vk_memory_desc.allocation_size is %" PRIu64
                          ", but this VkDeviceMemory was acquired with %" PRIu64
                          "; pass VkMemoryAllocateInfo::allocationSize, the same for every resource in it",
                          d->allocation_size, found->size);
    if (found->dedicated != (d->dedicated != VK_FALSE))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "culv_vk_memory_desc.dedicated is %u, but this VkDeviceMemory was acquired with %u",
                          (unsigned)d->dedicated, (unsigned)found->dedicated);
    return CULV_OK;
}

/* The import of this VkDeviceMemory that is held already; else `made`, if any, becomes it. */
static culv_memory *find_or_share(culv_vk *vk, VkDeviceMemory memory, culv_memory *made)
{
    culvi_mutex_lock(&vk->device->lock);
    culv_memory *found = culvi_memory_find_shared(vk->device, vk->id, (uint64_t)memory);
    if (found == NULL && made != NULL) culvi_memory_share(made, vk->id, (uint64_t)memory);
    culvi_mutex_unlock(&vk->device->lock);
    return found;
}

culv_result culv_vk_memory_acquire(culv_vk *vk, const culv_vk_memory_desc *desc, culv_memory **out)
{
    culv_vk_memory_desc d;
    culv_result result = read_desc(vk, desc, out, "culv_vk_memory_acquire", &d);
    if (result != CULV_OK) return result;
    culv_memory *found = find_or_share(vk, d.memory, NULL);
    if (found == NULL) {
        culv_memory *made = NULL;
        result = import_memory(vk, &d, &made);
        if (result != CULV_OK) return result;
        found = find_or_share(vk, d.memory, made);
        if (found == NULL) {
            *out = made;
            return CULV_OK;
        }
        culv_memory_destroy(&made); /* another thread was first */
    }
    result = check_again(vk, &d, found);
    if (result == CULV_OK)
        *out = found;
    else
        culv_memory_destroy(&found);
    return result;
}
