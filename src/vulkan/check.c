/* SPDX-License-Identifier: MIT */
/* The gate: its two calls, what buffers and images have in common, and buffers. */
#include "vulkan/vk_resource.h"

const void *culvi_vk_chain_find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return s;
    return NULL;
}

/* Host memory needs no handle: both APIs import the same pages. */
static culv_result check_host_type(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                   culvi_vk_verdict *out)
{
    CULVI_REFUSE_IF(ask->handle_type != CULV_HANDLE_NONE || out->access != CULV_VK_ACCESS_POINTER,
                    vk->voice, ask->label, CULV_REASON_VALUE,
                    "host_memory is set; it is for buffers, and needs no handle_type");
    CULVI_UNSUPPORTED_IF(
        vk->host_alignment == 0, vk->voice, ask->label, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without the extension %s, so it takes no host memory; it is one of culv_vk_optional_device_extensions()",
        vk->base.name, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    out->vk_handle_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    return CULV_OK;
}

culv_result culvi_vk_check_handle_type(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                       culvi_vk_verdict *out)
{
    if (ask->host) return check_host_type(vk, ask, out);
    culv_handle_type type = ask->handle_type != CULV_HANDLE_NONE
                                ? ask->handle_type
                                : (culv_handle_type)CULVI_HANDLE_OPAQUE;
    CULVI_TRY(
        culvi_handle_use_check(vk->voice, ask->label, "handle_type", type, CULVI_USE_VK_MEMORY));
    CULVI_UNSUPPORTED_IF(
        type == CULV_HANDLE_DMA_BUF_FD && out->access == CULV_VK_ACCESS_ARRAY, vk->voice,
        ask->label, CULV_REASON_HANDLE_TYPE,
        "handle_type is DMA_BUF_FD, and CUDA maps no arrays on a dma-buf (cuda.h, CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD); share the image as OPAQUE_FD, or make it LINEAR");
    /* CUDA has already accepted the type of memory that the caller imported. */
    CULVI_UNSUPPORTED_IF(
        ask->origin != CULVI_VK_THE_CALLERS &&
            !(vk->base.device->caps.memory_handle_types & (UINT32_C(1) << type)),
        vk->voice, ask->label, CULV_REASON_HANDLE_TYPE,
        "handle_type is %s; only an import shows whether CUDA imports that on '%s' (culv_memory_import(); cuda.h: dma-bufs on Tegra, from Thor on). Leave it 0 for %s",
        culvi_handle_type_name(type), vk->base.device->caps.name,
        culvi_handle_type_name((culv_handle_type)CULVI_HANDLE_OPAQUE));
    out->handle_type = type;
    out->vk_handle_type = culvi_vk_memory_handle_bit(type);
    return CULV_OK;
}

static const char *type_name(bool host, const culvi_vk_verdict *verdict)
{
    return host ? "HOST_ALLOCATION" : culvi_handle_type_name(verdict->handle_type);
}

culv_result culvi_vk_check_unique(const culv_vk_device *vk, const char *label, const char *what,
                                  const void *chain)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        CULVI_REFUSE_IF(
            culvi_vk_chain_find(s->pNext, s->sType) != NULL, vk->voice, label, CULV_REASON_VALUE,
            "the pNext chain of Vk%sCreateInfo has two structs of sType %d; each may come once (VUID-Vk%sCreateInfo-sType-unique)",
            what, (int)s->sType, what);
    return CULV_OK;
}

culv_result culvi_vk_check_external(const culv_vk_device *vk, const culvi_vk_ask *ask,
                                    const char *what, bool found,
                                    VkExternalMemoryHandleTypeFlags external,
                                    const culvi_vk_verdict *verdict)
{
    CULVI_REFUSE_IF(
        found && ask->origin == CULVI_VK_MADE_HERE, vk->voice, ask->label, CULV_REASON_VALUE,
        "the pNext chain of Vk%sCreateInfo has a VkExternalMemory%sCreateInfo; Culvert puts its own there, leave it out",
        what, what);
    if (!found && ask->origin != CULVI_VK_THE_CALLERS) return CULV_OK;
    if (external & (VkExternalMemoryHandleTypeFlags)verdict->vk_handle_type) return CULV_OK;
    return culvi_fail(
        vk->voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "the pNext chain of Vk%sCreateInfo has %s VkExternalMemory%sCreateInfo%s with %s in handleTypes; created so, its bytes may lie in a way that only its own driver reads",
        what, found ? "a" : "no", what, found ? ", but not one" : "",
        type_name(ask->host, verdict));
}

culv_result culvi_vk_check_compatible(const culv_vk_device *vk, const char *label, const char *what,
                                      VkExternalMemoryHandleTypeFlags external,
                                      const culvi_vk_verdict *verdict,
                                      const VkExternalMemoryProperties *properties)
{
    VkExternalMemoryHandleTypeFlags together =
        properties->compatibleHandleTypes |
        (VkExternalMemoryHandleTypeFlags)verdict->vk_handle_type;
    if (!(external & ~together)) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
        "VkExternalMemory%sCreateInfo::handleTypes is %#" PRIx32 ", but %#" PRIx32
        " of it is not compatible with %s on '%s' (VkExternalMemoryProperties::compatibleHandleTypes); leave it out",
        what, external, external & ~together,
        type_name(verdict->handle_type == CULV_HANDLE_NONE, verdict), vk->base.name);
}

culv_result culvi_vk_check_families(const culv_vk_device *vk, const char *label, const char *what,
                                    VkSharingMode mode, uint32_t count, const uint32_t *families)
{
    if (mode == VK_SHARING_MODE_EXCLUSIVE) return CULV_OK;
    CULVI_REFUSE_IF(mode != VK_SHARING_MODE_CONCURRENT, vk->voice, label, CULV_REASON_VALUE,
                    "Vk%sCreateInfo::sharingMode is %d; EXCLUSIVE is 0 and CONCURRENT 1", what,
                    (int)mode);
    CULVI_REFUSE_IF(
        count < 2 || families == NULL, vk->voice, label, CULV_REASON_VALUE,
        "Vk%sCreateInfo::sharingMode is CONCURRENT, but pQueueFamilyIndices names %" PRIu32
        " families; name two or more, or take EXCLUSIVE",
        what, families == NULL ? 0 : count);
    for (uint32_t i = 0; i < count; i++) {
        bool twice = false;
        for (uint32_t j = 0; j < i && j < vk->queue_families; j++)
            twice = twice || families[i] == families[j];
        if (!twice && families[i] < vk->queue_families) continue;
        return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "Vk%sCreateInfo::pQueueFamilyIndices[%" PRIu32 "] is %" PRIu32
                          "%s; name each of the %" PRIu32
                          " families of '%s' once at most (CUDA is not one of them)",
                          what, i, families[i], twice ? " once more" : "", vk->queue_families,
                          vk->base.name);
    }
    return CULV_OK;
}

/* Buffers -------------------------------------------------------------------------------------- */

/* Structs that would have the driver refuse the buffer, or bind it otherwise than Culvert does. */
static culv_result check_chain(const culv_vk_device *vk, const char *label,
                               const VkBufferCreateInfo *info)
{
    for (const VkBaseInStructure *s = info->pNext; s != NULL; s = s->pNext) {
        const void *item = s;
        const VkDedicatedAllocationBufferCreateInfoNV *dedicated = item;
        const VkBufferOpaqueCaptureAddressCreateInfo *address = item;
        const VkBufferDeviceAddressCreateInfoEXT *address_ext = item;
        CULVI_REFUSE_IF(
            s->sType == VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV &&
                dedicated->dedicatedAllocation != VK_FALSE,
            vk->voice, label, CULV_REASON_DEDICATED,
            "VkDedicatedAllocationBufferCreateInfoNV::dedicatedAllocation is set, which binds the buffer to memory of VkDedicatedAllocationMemoryAllocateInfoNV; leave it out and allocate with VkMemoryDedicatedAllocateInfo, which has replaced it and is what Culvert takes");
        CULVI_REFUSE_IF(
            (s->sType == VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO &&
             address->opaqueCaptureAddress != 0) ||
                (s->sType == VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT &&
                 address_ext->deviceAddress != 0) ||
                s->sType == VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT,
            vk->voice, label, CULV_REASON_USAGE,
            "the pNext chain has what a replay captured (sType %d), which is only for DEVICE_ADDRESS_CAPTURE_REPLAY or DESCRIPTOR_BUFFER_CAPTURE_REPLAY in flags (VUID-VkBufferCreateInfo-opaqueCaptureAddress-03337, -deviceAddress-02604, -pNext-08100), and addresses of shared memory are not replayed; leave it out",
            (int)s->sType);
    }
    return CULV_OK;
}

static culv_result check_fields(culv_vk_device *vk, const char *label,
                                const VkBufferCreateInfo *info)
{
    CULVI_REFUSE_IF(info->size == 0, vk->voice, label, CULV_REASON_SIZE,
                    "VkBufferCreateInfo::size is 0");
    CULVI_REFUSE_IF(info->size > vk->max_buffer_size, vk->voice, label, CULV_REASON_SIZE,
                    "VkBufferCreateInfo::size is %" PRIu64 "; '%s' has buffers of up to %" PRIu64
                    " bytes (VkPhysicalDeviceMaintenance4Properties::maxBufferSize)",
                    info->size, vk->base.name, vk->max_buffer_size);
    /* VkBufferUsageFlags2CreateInfo (Vulkan 1.4), which these headers may not have: it would
     * replace `usage`. */
    CULVI_REFUSE_IF(
        culvi_vk_chain_find(info->pNext, (VkStructureType)1000470006) != NULL, vk->voice, label,
        CULV_REASON_USAGE,
        "the pNext chain has a VkBufferUsageFlags2CreateInfo; set VkBufferCreateInfo::usage instead");
    CULVI_REFUSE_IF(
        info->usage == 0, vk->voice, label, CULV_REASON_USAGE,
        "VkBufferCreateInfo::usage is 0; say what Vulkan does with the buffer, TRANSFER_SRC for one");
    CULVI_TRY(culvi_vk_check_flags(vk, label, false, info->flags));
    CULVI_TRY(check_chain(vk, label, info));
    return culvi_vk_check_families(vk, label, "Buffer", info->sharingMode,
                                   info->queueFamilyIndexCount, info->pQueueFamilyIndices);
}

culv_result culvi_vk_check_buffer(culv_vk_device *vk, const culvi_vk_ask *ask,
                                  const VkBufferCreateInfo *info, culvi_vk_verdict *out)
{
    memset(out, 0, sizeof *out);
    CULVI_REFUSE_IF(info->sType != VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, vk->voice, ask->label,
                    CULV_REASON_VALUE,
                    "create_info->sType is %d, not VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO",
                    (int)info->sType);
    out->access = CULV_VK_ACCESS_POINTER;
    CULVI_TRY(culvi_vk_check_unique(vk, ask->label, "Buffer", info->pNext));
    CULVI_TRY(culvi_vk_check_handle_type(vk, ask, out));
    CULVI_TRY(check_fields(vk, ask->label, info));
    const VkExternalMemoryBufferCreateInfo *external =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    VkExternalMemoryHandleTypeFlags types = external != NULL ? external->handleTypes : 0;
    CULVI_TRY(culvi_vk_check_external(vk, ask, "Buffer", external != NULL, types, out));
    const VkExternalMemoryProperties properties =
        culvi_vk_buffer_sharing(&vk->instance, vk->physical_device, info, out->vk_handle_type);
    CULVI_UNSUPPORTED_IF(ask->host && !(properties.externalMemoryFeatures &
                                        VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT),
                         vk->voice, ask->label, CULV_REASON_USAGE,
                         "'%s' cannot use host memory for buffers with flags %#" PRIx32
                         " and usage %#" PRIx32
                         " (vkGetPhysicalDeviceExternalBufferProperties); try fewer usages",
                         vk->base.name, info->flags, info->usage);
    CULVI_UNSUPPORTED_IF(!ask->host && !(properties.externalMemoryFeatures &
                                         VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT),
                         vk->voice, ask->label, CULV_REASON_NOT_EXPORTABLE,
                         "'%s' cannot export buffers with flags %#" PRIx32 " and usage %#" PRIx32
                         " as %s (vkGetPhysicalDeviceExternalBufferProperties); try fewer usages",
                         vk->base.name, info->flags, info->usage,
                         culvi_handle_type_name(out->handle_type));
    out->dedicated_only =
        (properties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) != 0;
    return culvi_vk_check_compatible(vk, ask->label, "Buffer", types, out, &properties);
}

/* The calls ------------------------------------------------------------------------------------ */

typedef struct request {
    culv_vk_check_desc desc;
    culvi_vk_ask ask;
    culvi_vk_verdict verdict;
    culv_vk_sharing_info sharing;
} request;

static culv_result begin(const char *call, const culv_vk_device *vk, const void *create_info,
                         const culv_vk_check_desc *desc, const culv_vk_sharing_info *out,
                         culvi_share what, request *r)
{
    CULVI_REQUIRE_IN(NULL, call, vk);
    CULVI_REQUIRE_IN(vk->voice, call, create_info);
    CULVI_REQUIRE_IN(vk->voice, call, out);
    CULVI_TRY(culvi_desc_read(vk->voice, &r->desc, sizeof r->desc, desc, "culv_vk_check_desc"));
    CULVI_TRY(culvi_struct_check(vk->voice, out, "culv_vk_sharing_info"));
    if (!r->desc.host_memory)
        CULVI_TRY(culvi_graphics_check_shares(&vk->base, r->desc.label, what));
    r->ask = (culvi_vk_ask){.label = r->desc.label,
                            .origin = CULVI_VK_PLANNED,
                            .handle_type = r->desc.handle_type,
                            .texels = r->desc.texels,
                            .no_surfaces = r->desc.no_surfaces != VK_FALSE,
                            .host = r->desc.host_memory != VK_FALSE};
    r->sharing = culv_vk_sharing_info_init();
    return CULV_OK;
}

/* Each handle type by which such a resource can be shared; `buffer` or `image` is what it is asked
 * of. */
static culv_result find_handle_types(culv_vk_device *vk, const VkBufferCreateInfo *buffer,
                                     const VkImageCreateInfo *image, request *r)
{
    const uint32_t types = culvi_handle_types_of(CULVI_USE_VK_MEMORY);
    for (int i = 0; i < CULVI_HANDLE_END && !r->ask.host; i++) {
        const culv_handle_type type = (culv_handle_type)i;
        const uint32_t bit = UINT32_C(1) << i;
        culvi_vk_answer a = {.result = VK_SUCCESS};
        if (!(types & bit)) continue;
        if (type == r->verdict.handle_type) {
            r->sharing.handle_types |= bit;
            continue;
        }
        bool no_array = type == CULV_HANDLE_DMA_BUF_FD && r->verdict.access == CULV_VK_ACCESS_ARRAY;
        if (!(vk->base.device->caps.memory_handle_types & bit) || no_array) continue;
        if (buffer != NULL)
            a.external = culvi_vk_buffer_sharing(&vk->instance, vk->physical_device, buffer,
                                                 culvi_vk_memory_handle_bit(type));
        else
            CULVI_TRY(culvi_vk_ask_image_sharing(vk, r->ask.label, image,
                                                 culvi_vk_memory_handle_bit(type), &a));
        if (a.external.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)
            r->sharing.handle_types |= bit;
    }
    return CULV_OK;
}

/* Tells a buffer's kind of memory: what culv_vk_buffer_create() would make, or what a block of the
 * caller's is. */
static void tell_kind(request *r)
{
    const bool shares = r->desc.block_size != 0 && !r->sharing.dedicated_required;
    if (r->ask.host) return;
    r->sharing.memory_kind = shares ? CULV_MEMORY_KIND_COMPRESSIBLE : CULV_MEMORY_KIND_FAST;
    r->sharing.random_access_slow =
        culvi_memory_kind_is_slow(r->sharing.memory_kind, r->desc.block_size);
}

/* `needs`: NULL where they are not known yet. Then some type of the device must do. */
static culv_result finish(culv_vk_device *vk, const culvi_vk_needs *needs, request *r,
                          culv_vk_sharing_info *out)
{
    culv_vk_sharing_info *s = &r->sharing;
    uint32_t type = 0;
    uint32_t bits = needs != NULL ? needs->memory.memoryTypeBits : UINT32_MAX;
    CULVI_TRY(
        r->ask.host
            ? culvi_vk_host_memory_type(vk, r->ask.label, bits, r->desc.memory_properties, &type)
            : culvi_vk_memory_type(vk, r->ask.label, bits, r->desc.memory_properties, &type));
    if (needs != NULL) CULVI_TRY(culvi_vk_check_heap(vk, r->ask.label, type, needs->memory.size));
    s->access = r->verdict.access;
    s->handle_type = r->verdict.handle_type;
    s->dedicated_required = r->verdict.dedicated_only;
    s->memory_type_index = UINT32_MAX;
    if (needs != NULL) {
        bool disjoint =
            needs->planes > 0; /* never: VUID-VkMemoryDedicatedAllocateInfo-image-01797 */
        s->dedicated_required =
            r->verdict.dedicated_only || (needs->requires_dedicated && !disjoint);
        s->dedicated_preferred = needs->prefers_dedicated && !disjoint;
        s->requirements_known = 1;
        s->requirements = needs->memory;
        memcpy(s->plane_requirements, needs->plane, sizeof s->plane_requirements);
        if (!r->ask.host)
            s->memory_type_index = type; /* which types they can have depends on the pages */
    }
    if (s->access == CULV_VK_ACCESS_POINTER) tell_kind(r);
    if (s->access == CULV_VK_ACCESS_ARRAY) s->image = r->verdict.image;
    if (s->access == CULV_VK_ACCESS_ARRAY && needs != NULL)
        memcpy(s->image.plane_offsets, needs->offsets, sizeof s->image.plane_offsets);
    culvi_struct_write(out, s, sizeof *s);
    return CULV_OK;
}

/* Of one of the two. */
static culv_result check(const char *call, culv_vk_device *vk, const VkBufferCreateInfo *buffer,
                         const VkImageCreateInfo *image, culvi_share what,
                         const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
{
    request r;
    culvi_vk_needs needs;
    const bool is_image = what == CULVI_SHARE_IMAGES;
    CULVI_TRY(begin(call, vk, is_image ? (const void *)image : buffer, desc, out, what, &r));
    CULVI_TRY(is_image ? culvi_vk_check_image(vk, &r.ask, image, &r.verdict)
                       : culvi_vk_check_buffer(vk, &r.ask, buffer, &r.verdict));
    CULVI_TRY(find_handle_types(vk, buffer, image, &r));
    const VkExternalMemoryHandleTypeFlagBits type = r.verdict.vk_handle_type;
    const bool known = is_image ? culvi_vk_ask_image_needs(vk, image, type, &needs)
                                : culvi_vk_ask_buffer_needs(vk, buffer, type, &needs);
    return finish(vk, known ? &needs : NULL, &r, out);
}

culv_result culv_vk_check_buffer(culv_vk_device *vk, const VkBufferCreateInfo *create_info,
                                 const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
{
    return check(__func__, vk, create_info, NULL, CULVI_SHARE_BUFFERS, desc, out);
}

culv_result culv_vk_check_image(culv_vk_device *vk, const VkImageCreateInfo *create_info,
                                const culv_vk_check_desc *desc, culv_vk_sharing_info *out)
{
    return check(__func__, vk, NULL, create_info, CULVI_SHARE_IMAGES, desc, out);
}
