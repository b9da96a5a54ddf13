/* SPDX-License-Identifier: MIT */
/* Importing a caller's VkDeviceMemory. */
#include "vmm/share.h"
#include "vulkan/vk_resource.h"

/* A buffer or an image of the caller's that is bound to the memory. Vulkan fixes the size of a
 * dedicated allocation that it exports. CUDA's memory, which Vulkan imports as dedicated, has whole
 * chunks: that is not imported here. */
static culv_result check_bound(const culv_vk_device *vk, const culv_vk_memory_desc *d, bool image,
                               const culvi_vk_needs *needs)
{
    const char *what = image ? "image" : "buffer";
    CULVI_TRY(culvi_vk_check_binding(
        vk, d->label, what,
        image ? "culv_vk_memory_desc.image_offset" : "culv_vk_memory_desc.buffer_offset", needs,
        image ? d->image_offset : d->buffer_offset, d->allocation_size, d->dedicated));
    if (!d->dedicated || d->allocation_size == needs->memory.size) return CULV_OK;
    return culvi_fail(
        vk->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "dedicated is set, and a dedicated allocation for this %s has exactly %" PRIu64
        " bytes (VkMemoryRequirements::size; VUID-VkMemoryDedicatedAllocateInfo-%s), but the allocation has %" PRIu64
        " (culv_vk_memory_desc.allocation_size); pass VkMemoryAllocateInfo::allocationSize, or leave dedicated 0 if the memory is not dedicated",
        what, needs->memory.size, image ? "image-02964" : "buffer-02965", d->allocation_size);
}

static culv_result read_desc(culv_vk_device *vk, const culv_vk_memory_desc *desc, const void *out,
                             const char *call, culv_vk_memory_desc *d)
{
    CULVI_REQUIRE_IN(NULL, call, vk);
    CULVI_REQUIRE_IN(vk->voice, call, desc);
    CULVI_REQUIRE_IN(vk->voice, call, out);
    CULVI_TRY(culvi_desc_read(vk->voice, d, sizeof *d, desc, "culv_vk_memory_desc"));
    CULVI_REFUSE_IF(d->memory == VK_NULL_HANDLE, vk->voice, d->label, CULV_REASON_NULL_ARGUMENT,
                    "culv_vk_memory_desc.memory is VK_NULL_HANDLE");
    CULVI_REFUSE_IF(
        d->allocation_size == 0, vk->voice, d->label, CULV_REASON_SIZE,
        "culv_vk_memory_desc.allocation_size is 0; it is VkMemoryAllocateInfo::allocationSize");
    CULVI_TRY(culvi_graphics_check_shares(&vk->base, d->label,
                                          d->image != VK_NULL_HANDLE ? CULVI_SHARE_IMAGES
                                                                     : CULVI_SHARE_BUFFERS));
    culvi_vk_needs needs;
    if (d->buffer != VK_NULL_HANDLE) {
        culvi_vk_buffer_needs(vk, d->buffer, &needs);
        CULVI_TRY(check_bound(vk, d, false, &needs));
    }
    if (d->image == VK_NULL_HANDLE) return CULV_OK;
    culvi_vk_image_needs(vk, d->image, 0, &needs);
    return check_bound(vk, d, true, &needs);
}

static culv_result import(culv_vk_device *vk, const culv_vk_memory_desc *desc, bool shared,
                          const char *call, culv_memory **out)
{
    culv_vk_memory_desc d;
    CULVI_TRY(read_desc(vk, desc, out, call, &d));
    const culvi_memory_ask ask = {.label = d.label,
                                  .memory = (uint64_t)d.memory,
                                  .size = d.allocation_size,
                                  .dedicated = d.dedicated != VK_FALSE,
                                  .callers_buffers =
                                      d.buffer != VK_NULL_HANDLE || d.image == VK_NULL_HANDLE,
                                  .warning = culvi_vk_stale_warning(d.memory_properties)};
    return shared ? culvi_graphics_acquire(&vk->base, &ask, out)
                  : culvi_graphics_import(&vk->base, &ask, out);
}

culv_result culv_vk_memory_import(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                  culv_memory **out)
{
    return import(vk, desc, false, __func__, out);
}

culv_result culv_vk_memory_import_shared(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                         culv_memory **out)
{
    return import(vk, desc, true, __func__, out);
}

/* What maps, and into how many bytes: whole memory alone, in whole units (measured). */
static culv_result vmm_size(const culv_vk_device *vk, const culv_vk_memory_desc *d, uint64_t *out)
{
    culv_device *device = vk->base.device;
    uint64_t unit;
    CULVI_TRY(culvi_vmm_check_device(device, "culv_vk_memory_import_vmm"));
    CULVI_TRY(culvi_vmm_least_granularity(device, CULV_VMM_LOCATION_DEVICE, 0, &unit));
    const uint64_t size = d->allocation_size, beyond = size % unit;
    *out = size;
    if (beyond == 0) return CULV_OK;
    if (d->dedicated && size > unit && size <= UINT64_MAX - unit) {
        *out = size + unit - beyond;
        return CULV_OK;
    }
    return culvi_fail(
        &device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "culv_vk_memory_desc.allocation_size is %" PRIu64
        ", and memory maps as VMM in multiples of %" PRIu64
        " bytes alone, or if it is dedicated and larger than that (measured); round VkMemoryAllocateInfo::allocationSize up",
        size, unit);
}

culv_result culv_vk_memory_import_vmm(culv_vk_device *vk, const culv_vk_memory_desc *desc,
                                      culv_vmm_allocation **out)
{
    culv_vk_memory_desc d;
    culv_vmm_import_desc import = culv_vmm_import_desc_init();
    CULVI_TRY(read_desc(vk, desc, out, "culv_vk_memory_import_vmm", &d));
    CULVI_REFUSE_IF(
        d.image != VK_NULL_HANDLE, vk->voice, d.label, CULV_REASON_USAGE,
        "culv_vk_memory_import_vmm: the memory is an image's, whose bytes lie in an order that only the driver knows; culv_vk_memory_import() and culv_vk_image_map() give arrays");
    CULVI_TRY(vmm_size(vk, &d, &import.size));
    CULVI_TRY(culvi_vk_memory_export(vk, d.label, d.memory, (culv_handle_type)CULVI_HANDLE_OPAQUE,
                                     &import.handle));
    import.exporter = vk->base.uuid;
    import.label = d.label;
    return culvi_vmm_import_exported(vk->base.device, &import, out);
}
