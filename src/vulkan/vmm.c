/* SPDX-License-Identifier: MIT */
/* VMM allocations under Vulkan's buffers and images. The drivers refuse little of what is wrong
 * here: memory of another GPU is imported and shows wrong data, and so do images that share an
 * allocation (docs/measured/nvidia-measured.md). */
#include "vulkan/vk_export.h"

static culv_result check_exportable(const culv_vk_device *vk, const char *label,
                                    const culv_vmm_allocation *a)
{
    const culv_handle_type type = (culv_handle_type)CULVI_HANDLE_OPAQUE;
    CULVI_REFUSE_IF(
        a->usage & CULV_VMM_USAGE_TILE_POOL, vk->voice, label, CULV_REASON_USAGE,
        "the VMM allocation is a tile pool, which backs sparse arrays and nothing else; allocate without CULV_VMM_USAGE_TILE_POOL");
    CULVI_REFUSE_IF(
        a->usage & CULV_VMM_USAGE_MULTICAST, vk->voice, label, CULV_REASON_USAGE,
        "the VMM allocation is a multicast object's, which no graphics API knows; share one of the allocations that are bound to it");
    CULVI_REFUSE_IF(
        a->imported && a->kept.type == CULV_HANDLE_NONE, vk->voice, label,
        CULV_REASON_NOT_EXPORTABLE,
        "the VMM allocation was imported, and CUDA does not export imports; hand a handle of the exporter's (culv_vmm_export_dup(), culv_handle_dup()) to culv_vk_memory_from_handle()");
    if (a->handle_types & UINT32_C(1) << type) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "the VMM allocation was not made to be exported as %s; set its bit in handle_types (%#" PRIx32
        ") of the descriptor that it is allocated with",
        culvi_handle_type_name(type), a->handle_types);
}

culv_result culvi_vk_vmm_check(const culv_vk_device *vk, const char *label,
                               const culv_vmm_allocation *a)
{
    culv_vk_memory_from_handle_desc whose = {.exporter = a->uuid, .label = label};
    /* Host memory was seen to be right with the GPU that allocated it. */
    if (a->kind != CULV_VMM_LOCATION_DEVICE) whose.exporter = a->device->caps.uuid;
    CULVI_TRY(culvi_vk_memory_check_exporter(vk, &whose));
    return check_exportable(vk, label, a);
}

/* A dedicated allocation is of the very size that its image needs
 * (VUID-VkMemoryDedicatedAllocateInfo-image-02964), and VMM sizes are rounded up: Vulkan is given
 * the beginning. NVIDIA's driver takes that for images, which must be dedicated. For buffers one
 * program saw it refused, so they have all of the allocation or are not dedicated. */
static void take_beginning(const culv_vk_device *vk, culv_vk_memory_from_handle_desc *d)
{
    culvi_vk_needs needs;
    if (!d->dedicated || d->image == VK_NULL_HANDLE || d->buffer != VK_NULL_HANDLE) return;
    culvi_vk_image_needs(vk, d->image, 0, &needs);
    if (needs.memory.size < d->size) d->size = needs.memory.size;
}

culv_result culvi_vk_vmm_import(culv_vk_device *vk, culv_vmm_allocation *a,
                                const culv_vk_memory_from_handle_desc *desc, VkDeviceMemory *out)
{
    culv_vk_memory_from_handle_desc d = *desc;
    uint32_t type = 0;
    d.size = a->size;
    d.exporter = a->uuid;
    take_beginning(vk, &d);
    CULVI_TRY(culvi_vk_memory_plan(vk, &d, "the VMM allocation", &type));
    CULVI_TRY(culv_vmm_export_dup(a, (culv_handle_type)CULVI_HANDLE_OPAQUE, &d.handle));
    culv_result result =
        culvi_vk_memory_import(vk, &d, culvi_import_known_facts(vk->base.device), type, out);
    culv_handle_close(&d.handle);
    return result;
}

/* NVIDIA's Vulkan writes into images compressed, which CUDA sees in memory that is compressible on
 * its side too, and in such as is dedicated the driver does without: else what Vulkan's copies
 * write reads wrong (measured, docs/measured/nvidia-measured.md). */
static culv_result check_image_memory(const culv_vk_device *vk, const char *label,
                                      const culv_vmm_allocation *a, bool dedicated)
{
    const culv_device *device = vk->base.device;
    CULVI_UNSUPPORTED_IF(
        (a->usage & CULV_VMM_USAGE_COMPRESSIBLE) && device->caps.multicast, &device->voice, label,
        CULV_REASON_VMM,
        "the VMM allocation is compressible, and '%s' is one of several GPUs behind NVSwitches: NVIDIA's driver crashes there when CUDA imports such memory, which an image needs (measured with 580.159.04). Give the image an allocation of its own that is not compressible, dedicated and from offset 0 on",
        device->caps.name);
    if (dedicated || (a->usage & CULV_VMM_USAGE_COMPRESSIBLE)) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
        "the image would share the VMM allocation with others, and CUDA would misread what Vulkan writes into it; give it an allocation of its own, dedicated and from offset 0 on, or a compressible one (CULV_VMM_USAGE_COMPRESSIBLE, where the device grants it)");
}

culv_result culv_vk_memory_from_vmm(culv_vk_device *vk, culv_vmm_allocation *allocation,
                                    const culv_vk_memory_from_handle_desc *desc,
                                    VkDeviceMemory *out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, allocation, out);
    CULVI_READ(vk->voice, culv_vk_memory_from_handle_desc, d, desc);
    const char *told = d.handle.type != CULV_HANDLE_NONE ? "handle"
                       : d.size != 0                     ? "size"
                       : culvi_uuid_given(&d.exporter)   ? "exporter"
                                                         : NULL;
    CULVI_REFUSE_IF(
        told != NULL, vk->voice, d.label, CULV_REASON_VALUE,
        "culv_vk_memory_from_vmm: culv_vk_memory_from_handle_desc.%s is given, but the allocation determines it; leave it out",
        told);
    if (d.label == NULL) d.label = allocation->label;
    CULVI_TRY(culvi_vk_vmm_check(vk, d.label, allocation));
    if (d.image != VK_NULL_HANDLE && d.buffer == VK_NULL_HANDLE)
        CULVI_TRY(check_image_memory(vk, d.label, allocation, d.dedicated));
    CULVI_TRY(culvi_vk_vmm_import(vk, allocation, &d, out));
    d.size = allocation->size;
    if (!(allocation->usage & CULV_VMM_USAGE_COMPRESSIBLE)) culvi_vk_memory_tell_kind(vk, &d);
    return CULV_OK;
}

/* Whether a resource fits in at `offset`. `whole`: where it must be dedicated, it is as large as
 * the allocation. */
static culv_result check_place(const culv_vk_device *vk, const char *label,
                               const culv_vmm_allocation *a, const char *what,
                               const culvi_vk_needs *needs, bool dedicated, bool whole,
                               VkDeviceSize offset)
{
    const VkMemoryRequirements *r = &needs->memory;
    CULVI_REFUSE_IF(offset > a->size || r->size > a->size - offset, vk->voice, label,
                    CULV_REASON_RANGE,
                    "the %s needs %" PRIu64 " bytes from offset %" PRIu64
                    " on in the VMM allocation, which has %" PRIu64,
                    what, r->size, offset, a->size);
    CULVI_REFUSE_IF(r->alignment != 0 && offset % r->alignment != 0, vk->voice, label,
                    CULV_REASON_VALUE,
                    "offset %" PRIu64 " is not a multiple of the %s's alignment, %" PRIu64
                    " (VkMemoryRequirements)",
                    offset, what, r->alignment);
    CULVI_REFUSE_IF(
        dedicated && offset == 0 && whole && r->size != a->size, vk->voice, label,
        CULV_REASON_DEDICATED,
        "the %s needs a dedicated allocation of exactly the size that it needs, %" PRIu64
        " bytes, but the VMM allocation has %" PRIu64 "; make the %s that large",
        what, r->size, a->size, what);
    if (!dedicated || offset == 0) return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                      "the %s needs a dedicated allocation, but was given offset %" PRIu64
                      " of the VMM allocation; give it one of its own, at offset 0",
                      what, offset);
}

/* Dedicated memory is given to Vulkan as a whole: NVIDIA's driver refuses a dedicated import of
 * less (measured), and a larger one must not be bound to a buffer that needs less of it
 * (VUID-VkMemoryDedicatedAllocateInfo-buffer-02965). */
static bool fills(const culv_vmm_allocation *a, const culvi_vk_needs *needs, VkDeviceSize offset)
{
    return offset == 0 && needs->memory.size == a->size;
}

/* Compressible memory was asked for. */
static void warn_of_plain(const culv_vk_device *vk, const char *label, const culv_vmm_allocation *a,
                          const culvi_vk_needs *needs, VkDeviceSize offset)
{
    if ((a->usage & CULV_VMM_USAGE_COMPRESSIBLE) || fills(a, needs, offset) ||
        !culvi_memory_kind_is_slow(CULV_MEMORY_KIND_PLAIN, needs->memory.size))
        return;
    culvi_log(
        vk->voice, CULV_LOG_WARNING,
        "VMM allocation '%s': a buffer that needs %" PRIu64 " bytes was bound at offset %" PRIu64
        " of its %" PRIu64
        " bytes, so its memory is not dedicated: Vulkan's random access to it can be six times as slow (measured). Make the buffer as large as the allocation, bind it at offset 0, and use ranges of it; or take a culv_vector",
        label != NULL ? label : "", needs->memory.size, offset, a->size);
}

/* Binds d's buffer or image to what is imported. */
static culv_result import_and_bind(culv_vk_device *vk, culv_vmm_allocation *a,
                                   const culv_vk_memory_from_handle_desc *d, VkDeviceSize offset,
                                   VkDeviceMemory *out)
{
    const bool image = d->image != VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    CULVI_TRY(culvi_vk_vmm_import(vk, a, d, &memory));
    VkResult r = image
                     ? CULVI_VK(vk, vkBindImageMemory, (vk->vk_device, d->image, memory, offset))
                     : CULVI_VK(vk, vkBindBufferMemory, (vk->vk_device, d->buffer, memory, offset));
    if (r == VK_SUCCESS) {
        *out = memory;
        return CULV_OK;
    }
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, memory, vk->callbacks));
    return culvi_vk_failed(vk, d->label, r, image ? "vkBindImageMemory" : "vkBindBufferMemory",
                           "the %s could not be bound to the VMM allocation at offset %" PRIu64,
                           image ? "image" : "buffer", offset);
}

static culv_result bind_buffer(culv_vk_device *vk, const char *label, VkBuffer buffer,
                               culv_vmm_allocation *a, VkDeviceSize offset,
                               VkMemoryAllocateFlags flags, VkDeviceMemory *out)
{
    culvi_vk_needs needs;
    culvi_vk_buffer_needs(vk, buffer, &needs);
    CULVI_TRY(check_place(vk, label, a, "buffer", &needs, needs.requires_dedicated, true, offset));
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.buffer = buffer;
    d.dedicated = fills(a, &needs, offset);
    d.allocate_flags = flags;
    d.label = label;
    CULVI_TRY(import_and_bind(vk, a, &d, offset, out));
    warn_of_plain(vk, label, a, &needs, offset);
    return CULV_OK;
}

culv_result culvi_vk_vmm_show(culv_vk_device *vk, const char *label, culv_vmm_allocation *a,
                              const VkBufferCreateInfo *info, const char *where, uint32_t type_bits,
                              VkBuffer *buffer, VkDeviceMemory *memory)
{
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.memory_type_bits = type_bits;
    d.allocate_flags = culvi_vk_allocate_flags(info->usage);
    d.label = label;
    if (info->flags != 0) return culvi_vk_vmm_import(vk, a, &d, memory);
    VkBuffer made = VK_NULL_HANDLE;
    CULVI_TRY(
        culvi_vk_create_buffer(vk, label, info, culvi_vk_opaque_bit(), "buffer", where, &made));
    CULVI_TRY_OR(bind_buffer(vk, label, made, a, 0, d.allocate_flags, memory),
                 CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, made, vk->callbacks)));
    *buffer = made;
    return CULV_OK;
}

culv_result culv_vk_buffer_bind_vmm(culv_vk_device *vk, VkBuffer buffer,
                                    culv_vmm_allocation *allocation, VkDeviceSize offset,
                                    VkDeviceMemory *out)
{
    CULVI_REQUIRE(NULL, vk);
    if (buffer == VK_NULL_HANDLE) return culvi_fail_null(vk->voice, __func__, "buffer");
    CULVI_REQUIRE2(vk->voice, allocation, out);
    CULVI_TRY(culvi_vk_vmm_check(vk, allocation->label, allocation));
    return bind_buffer(vk, allocation->label, buffer, allocation, offset, 0, out);
}

static culv_result check_image(culv_vk_device *vk, const char *label, VkImage image,
                               const VkImageCreateInfo *info, const culv_vmm_allocation *a,
                               VkDeviceSize offset, bool *dedicated)
{
    culvi_vk_verdict verdict;
    culvi_vk_needs needs;
    /* That no surface can be made of it is no reason against it here. */
    const culvi_vk_ask ask = {.label = label, .origin = CULVI_VK_THE_CALLERS, .no_surfaces = true};
    CULVI_TRY(culvi_vk_check_image(vk, &ask, info, &verdict));
    CULVI_UNSUPPORTED_IF(
        culvi_vk_disjoint_planes(info) > 0, vk->voice, label, CULV_REASON_USAGE,
        "VkImageCreateInfo::flags has DISJOINT, so each plane is bound by itself: make memory of a compressible allocation by culv_vk_memory_from_vmm() and call vkBindImageMemory2");
    culvi_vk_image_needs(vk, image, 0, &needs);
    CULVI_TRY(culvi_vk_check_same_image(vk, label, info, &verdict, &needs));
    *dedicated = offset == 0;
    CULVI_TRY(check_place(vk, label, a, "image", &needs,
                          needs.requires_dedicated || verdict.dedicated_only, false, offset));
    return check_image_memory(vk, label, a, *dedicated);
}

culv_result culv_vk_image_bind_vmm(culv_vk_device *vk, VkImage image,
                                   const VkImageCreateInfo *create_info,
                                   culv_vmm_allocation *allocation, VkDeviceSize offset,
                                   VkDeviceMemory *out)
{
    bool dedicated = false;
    CULVI_REQUIRE(NULL, vk);
    if (image == VK_NULL_HANDLE) return culvi_fail_null(vk->voice, __func__, "image");
    CULVI_REQUIRE3(vk->voice, create_info, allocation, out);
    const char *label = allocation->label;
    CULVI_TRY(culvi_vk_vmm_check(vk, label, allocation));
    CULVI_TRY(check_image(vk, label, image, create_info, allocation, offset, &dedicated));
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.image = image;
    d.dedicated = dedicated;
    d.label = label;
    return import_and_bind(vk, allocation, &d, offset, out);
}
