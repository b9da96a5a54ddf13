/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert makes: the gate (whether a path has one, and how CUDA maps it),
 * their making with memory of their own, and the calls. */
#include "vulkan/vk_resource.h"

/* The gate ------------------------------------------------------------------------------------- */

static culv_result plan_buffer(culv_vk_device *vk, culvi_plan *plan)
{
    const culv_vk_buffer_create_desc *d = plan->desc;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label, .origin = CULVI_VK_MADE_HERE};
    bool shared = plan->path == CULV_SHARING_SHARED;
    culv_result result = culvi_vk_check_buffer(vk, &ask, d->create_info, &verdict);
    /* What is wrong is so on any path; what cannot be shared may be copied. */
    if (result != CULV_OK && (shared || result != CULV_ERROR_UNSUPPORTED)) return result;
    plan->handle_types = shared ? (uint32_t)verdict.vk_handle_type : 0;
    plan->dedicated = shared && verdict.dedicated_only;
    plan->size = d->create_info->size;
    return CULV_OK;
}

/* What the gate may have left unasked when it refused to share the image. */
static culv_result check_unshared(culv_vk_device *vk, const char *label,
                                  const VkImageCreateInfo *info, const culvi_format *row)
{
    culvi_vk_answer a;
    CULVI_REFUSE_IF(
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) !=
            NULL,
        vk->voice, label, CULV_REASON_VALUE,
        "the pNext chain of VkImageCreateInfo has a VkExternalMemoryImageCreateInfo; leave it out: the image is not shared");
    const VkImageStencilUsageCreateInfo *stencil =
        culvi_vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);
    const VkImageUsageFlags copied =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    CULVI_REFUSE_IF(stencil != NULL && (stencil->stencilUsage & copied) != copied, vk->voice, label,
                    CULV_REASON_USAGE,
                    "VkImageStencilUsageCreateInfo::stencilUsage is %#" PRIx32
                    "; copies through the host need TRANSFER_SRC and TRANSFER_DST in it",
                    stencil->stencilUsage);
    CULVI_TRY(culvi_vk_check_chroma(vk, label, info, row));
    CULVI_TRY(
        culvi_vk_ask_image_sharing(vk, label, info, (VkExternalMemoryHandleTypeFlagBits)0, &a));
    if (a.result != VK_SUCCESS)
        return culvi_fail_native(
            vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, CULV_NATIVE_VULKAN,
            a.result, "vkGetPhysicalDeviceImageFormatProperties2",
            "'%s' cannot make %s images with flags %#" PRIx32
            " (DISJOINT takes a format that has VK_FORMAT_FEATURE_DISJOINT_BIT) and usage %#" PRIx32
            "; copies through the host need TRANSFER_SRC and TRANSFER_DST in it",
            vk->base.name, row->name, info->flags, info->usage);
    return culvi_vk_check_image_size(vk, label, info, row, &a.most);
}

/* Whether CUDA can have arrays of it; else its texels lie in linear memory, as they are stored. */
static culv_result has_arrays(culv_vk_device *vk, const culv_vk_image_create_desc *d,
                              const culvi_format *row, bool *out)
{
    bool stored = d->texels == CULV_TEXELS_STORED;
    CULVI_UNSUPPORTED_IF(
        !stored && !row->mapped, vk->voice, d->label, CULV_REASON_FORMAT,
        "no CUDA array has the format %s, and the linear memory that takes its place (HOST sharing) holds texels as they are stored: leave culv_vk_image_create_desc.texels at CULV_TEXELS_STORED",
        row->name);
    if (stored) culvi_attempt_begin(); /* else a refusal is the answer */
    culv_result result = culvi_format_supported(vk->base.device, row, d->texels, d->label);
    if (stored) (void)culvi_attempt_end(NULL, result);
    *out = result == CULV_OK;
    return stored && result == CULV_ERROR_UNSUPPORTED ? CULV_OK : result;
}

static culv_result plan_image(culv_vk_device *vk, culvi_plan *plan)
{
    const culv_vk_image_create_desc *d = plan->desc;
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label,
                        .origin = CULVI_VK_MADE_HERE,
                        .texels = d->texels,
                        .no_surfaces = d->no_surfaces};
    bool shared = plan->path == CULV_SHARING_SHARED;
    culv_result result = culvi_vk_check_image(vk, &ask, d->create_info, &verdict);
    if (result != CULV_OK && (shared || result != CULV_ERROR_UNSUPPORTED)) return result;
    if (shared) {
        plan->handle_types = (uint32_t)verdict.vk_handle_type;
        plan->dedicated = verdict.dedicated_only;
        plan->image = verdict.image;
        return CULV_OK;
    }
    VkImageCreateInfo info = *d->create_info;
    info.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    plan->handle_types = 0;
    plan->dedicated = false;
    plan->row = culvi_format_find((uint32_t)info.format);
    if (plan->row == NULL) return result;
    CULVI_TRY(check_unshared(vk, d->label, &info, plan->row));
    CULVI_TRY(has_arrays(vk, d, plan->row, &plan->arrays));
    plan->image = culvi_vk_describe_image(&info, &ask, plan->row);
    return CULV_OK;
}

culv_result culvi_vk_plan_native(culvi_graphics *graphics, culvi_plan *plan)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    return plan->is_image ? plan_image(vk, plan) : plan_buffer(vk, plan);
}

/* Making --------------------------------------------------------------------------------------- */

culv_result culvi_vk_create_buffer(const culv_vk_device *vk, const char *label,
                                   const VkBufferCreateInfo *buffer,
                                   VkExternalMemoryHandleTypeFlags types, const char *kind,
                                   const char *where, VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo external = {
        CULVI_STYPE(EXTERNAL_MEMORY_BUFFER_CREATE_INFO), .pNext = buffer->pNext,
        .handleTypes = types};
    VkBufferCreateInfo info = *buffer;
    VkBuffer made = VK_NULL_HANDLE;
    if (types != 0) info.pNext = &external;
    VkResult r = CULVI_VK(vk, vkCreateBuffer, (vk->vk_device, &info, vk->callbacks, &made));
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, label, r, "vkCreateBuffer",
                               "a %s of %" PRIu64 " bytes%s could not be made", kind, info.size,
                               where);
    *out = made;
    return CULV_OK;
}

static culv_result create_image(culv_vk_device *vk, const culvi_vk_plan *plan, culvi_native *made,
                                culvi_vk_needs *needs)
{
    VkImage image = VK_NULL_HANDLE;
    VkExternalMemoryImageCreateInfo external = {CULVI_STYPE(EXTERNAL_MEMORY_IMAGE_CREATE_INFO),
                                                .pNext = plan->image->pNext,
                                                .handleTypes = plan->handle_types};
    const culvi_format *format = culvi_format_find((uint32_t)plan->image->format);
    VkImageCreateInfo info = *plan->image;
    if (plan->handle_types != 0) info.pNext = &external;
    VkResult r = CULVI_VK(vk, vkCreateImage, (vk->vk_device, &info, vk->callbacks, &image));
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, plan->label, r, "vkCreateImage",
                               "the %s image of imageType %d, %" PRIu32 " x %" PRIu32 " x %" PRIu32
                               " texels, %" PRIu32 " layers, %" PRIu32 " levels, flags %#" PRIx32
                               " and usage %#" PRIx32 " could not be made",
                               format != NULL ? format->name : "unlisted", (int)info.imageType,
                               info.extent.width, info.extent.height, info.extent.depth,
                               info.arrayLayers, info.mipLevels, info.flags, info.usage);
    culvi_vk_image_needs(vk, image, culvi_vk_disjoint_planes(&info), needs);
    made->object = (uint64_t)image;
    return CULV_OK;
}

/* Memory with one resource in it loses nothing by being dedicated, and a buffer of GiBs has six
 * times the random access then (measured, docs/measured/memory-kinds.md). Images are as Vulkan
 * wishes. */
static bool is_dedicated(const culvi_vk_plan *plan, const culvi_vk_needs *needs)
{
    /* VUID-VkMemoryDedicatedAllocateInfo-image-01797: no DISJOINT image is. */
    if (needs->planes > 0) return false;
    if (plan->dedicated || needs->requires_dedicated) return true;
    return plan->buffer != NULL ? !plan->compressible : needs->prefers_dedicated;
}

static culv_result allocate(culv_vk_device *vk, const culvi_vk_plan *plan,
                            const culvi_vk_needs *needs, culvi_native *made)
{
    uint32_t type = 0;
    if (plan->pages != NULL) return culvi_vk_host_allocate(vk, plan, needs, made);
    CULVI_TRY(culvi_vk_memory_type(vk, plan->label, needs->memory.memoryTypeBits,
                                   plan->memory_properties, &type));
    CULVI_TRY(culvi_vk_check_heap(vk, plan->label, type, needs->memory.size));
    VkMemoryDedicatedAllocateInfo dedicated = {
        CULVI_STYPE(MEMORY_DEDICATED_ALLOCATE_INFO),
        .buffer = made->is_image ? VK_NULL_HANDLE : (VkBuffer)made->object,
        .image = made->is_image ? (VkImage)made->object : VK_NULL_HANDLE};
    VkMemoryAllocateFlagsInfo flags = {CULVI_STYPE(MEMORY_ALLOCATE_FLAGS_INFO),
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkExportMemoryAllocateInfo export_info = {CULVI_STYPE(EXPORT_MEMORY_ALLOCATE_INFO),
                                              .handleTypes = plan->handle_types};
    VkMemoryAllocateInfo info = {CULVI_STYPE(MEMORY_ALLOCATE_INFO),
                                 .allocationSize = needs->memory.size, .memoryTypeIndex = type};
    if (plan->handle_types != 0) info.pNext = &export_info;
    made->dedicated = is_dedicated(plan, needs);
    if (vk->base.across && !made->dedicated)
        info.allocationSize =
            (info.allocationSize + CULVI_PLACED_UNIT - 1) / CULVI_PLACED_UNIT * CULVI_PLACED_UNIT;
    if (made->dedicated) {
        dedicated.pNext = info.pNext;
        info.pNext = &dedicated;
    }
    if (plan->buffer != NULL && (plan->buffer->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)) {
        flags.pNext = info.pNext;
        info.pNext = &flags;
    }
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkResult r = CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &info, vk->callbacks, &memory));
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, plan->label, r, "vkAllocateMemory",
                               "%" PRIu64 " bytes of %smemory (type %" PRIu32
                               ", %s) could not be allocated",
                               info.allocationSize, plan->handle_types != 0 ? "exportable " : "",
                               type, made->dedicated ? "dedicated" : "not dedicated");
    made->memory = (uint64_t)memory;
    made->size = info.allocationSize;
    return CULV_OK;
}

static VkResult bind_planes(culv_vk_device *vk, const culvi_vk_needs *needs, culvi_native *made)
{
    VkBindImagePlaneMemoryInfo planes[CULVI_PLANES];
    VkBindImageMemoryInfo binds[CULVI_PLANES];
    for (uint32_t i = 0; i < needs->planes; i++) {
        planes[i] = (VkBindImagePlaneMemoryInfo){CULVI_STYPE(BIND_IMAGE_PLANE_MEMORY_INFO),
                                                 .planeAspect = culvi_vk_plane_aspect(i)};
        binds[i] = (VkBindImageMemoryInfo){CULVI_STYPE(BIND_IMAGE_MEMORY_INFO), .pNext = &planes[i],
                                           .image = (VkImage)made->object,
                                           .memory = (VkDeviceMemory)made->memory,
                                           .memoryOffset = needs->offsets[i]};
        made->plane_offsets[i] = needs->offsets[i];
    }
    return CULVI_VK(vk, vkBindImageMemory2, (vk->vk_device, needs->planes, binds));
}

static culv_result bind(culv_vk_device *vk, const char *label, const culvi_vk_needs *needs,
                        culvi_native *made)
{
    if (needs->planes > 0) {
        VkResult all = bind_planes(vk, needs, made);
        return all == VK_SUCCESS ? CULV_OK
                                 : culvi_vk_failed(vk, label, all, "vkBindImageMemory2",
                                                   "the memory could not be bound to the planes");
    }
    const VkDeviceMemory memory = (VkDeviceMemory)made->memory;
    const VkResult r =
        made->is_image
            ? CULVI_VK(vk, vkBindImageMemory, (vk->vk_device, (VkImage)made->object, memory, 0))
            : CULVI_VK(vk, vkBindBufferMemory, (vk->vk_device, (VkBuffer)made->object, memory, 0));
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_vk_failed(vk, label, r,
                           made->is_image ? "vkBindImageMemory" : "vkBindBufferMemory",
                           "the memory could not be bound");
}

culv_result culvi_vk_resource_create(culv_vk_device *vk, const culvi_vk_plan *plan,
                                     culvi_native *out)
{
    const bool is_image = plan->image != NULL;
    culvi_native made = {.usage = is_image ? plan->image->usage : plan->buffer->usage,
                         .is_image = is_image,
                         .concurrent =
                             (is_image ? plan->image->sharingMode : plan->buffer->sharingMode) ==
                             VK_SHARING_MODE_CONCURRENT};
    culvi_vk_needs needs;
    VkBuffer buffer = VK_NULL_HANDLE;
    if (is_image) {
        CULVI_TRY(create_image(vk, plan, &made, &needs));
    } else {
        CULVI_TRY(culvi_vk_create_buffer(vk, plan->label, plan->buffer, plan->handle_types,
                                         "buffer", "", &buffer));
        culvi_vk_buffer_needs(vk, buffer, &needs);
        made.object = (uint64_t)buffer;
    }
    CULVI_TRY_OR(allocate(vk, plan, &needs, &made), culvi_vk_unmake(&vk->base, &made));
    CULVI_TRY_OR(bind(vk, plan->label, &needs, &made), culvi_vk_unmake(&vk->base, &made));
    *out = made;
    return CULV_OK;
}

void culvi_vk_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    const culv_vk_device *vk = culvi_vk_of(graphics);
    if (native->is_image)
        CULVI_VK_DO(vk, vkDestroyImage, (vk->vk_device, (VkImage)native->object, vk->callbacks));
    else
        CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, (VkBuffer)native->object, vk->callbacks));
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, (VkDeviceMemory)native->memory, vk->callbacks));
}

culv_result culvi_vk_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    culvi_vk_plan native = {
        .label = plan->label, .handle_types = plan->handle_types, .dedicated = plan->dedicated};
    VkBufferCreateInfo buffer;
    VkImageCreateInfo image;
    bool copied = plan->path == CULV_SHARING_HOST;
    if (plan->is_image) {
        const culv_vk_image_create_desc *d = plan->desc;
        image = *d->create_info;
        if (copied)
            image.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        native.image = &image;
        native.memory_properties = d->memory_properties;
    } else {
        const culv_vk_buffer_create_desc *d = plan->desc;
        buffer = *d->create_info;
        if (copied)
            buffer.usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        if (culvi_vk_of(graphics)->kernels)
            buffer.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
        native.buffer = &buffer;
        native.compressible = d->memory_kind == CULV_MEMORY_KIND_COMPRESSIBLE;
        native.memory_properties = d->memory_properties;
    }
    return culvi_vk_resource_create(culvi_vk_of(graphics), &native, out);
}

/* The calls ------------------------------------------------------------------------------------ */

static culv_result check_kind(const culvi_voice *voice, const culv_vk_buffer_create_desc *d)
{
    const bool known = d->memory_kind == CULV_MEMORY_KIND_UNKNOWN ||
                       d->memory_kind == CULV_MEMORY_KIND_FAST ||
                       d->memory_kind == CULV_MEMORY_KIND_COMPRESSIBLE;
    if (known && (d->memory_kind == CULV_MEMORY_KIND_UNKNOWN || d->host_memory == 0))
        return CULV_OK;
    return culvi_fail(
        voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_vk_buffer_create_desc.memory_kind is %d; %s", (int)d->memory_kind,
        known ? "host memory has no kinds, leave it 0 with host_memory"
              : "set CULV_MEMORY_KIND_FAST or CULV_MEMORY_KIND_COMPRESSIBLE, or leave it 0");
}

static culv_result check_host(const culvi_voice *voice, const culv_vk_buffer_create_desc *d)
{
    const char *wrong = NULL;
    if (d->host_memory == 0 && (d->host_pointer != NULL || d->host_size != 0))
        wrong =
            "host_memory is not set, but host_pointer or host_size is; set it for a buffer in host memory";
    else if (d->host_pointer == NULL && d->host_size != 0)
        wrong = "host_size says how much is at host_pointer, but that is NULL; leave host_size 0";
    else if (d->host_memory != 0 && d->fallback != 0)
        wrong =
            "host_memory and fallback are both set; a buffer in host memory is used in place, not copied; set one of them";
    if (wrong == NULL) return CULV_OK;
    return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_vk_buffer_create_desc: %s", wrong);
}

static culv_result make_pair(culv_vk_device *vk, const culv_vk_buffer_create_desc *d,
                             culvi_pair *pair)
{
    culvi_plan plan = {.label = d->label,
                       .desc = d,
                       .desc_name = "culv_vk_buffer_create_desc",
                       .fallback = d->fallback};
    if (d->host_memory != 0) return culvi_vk_buffer_share_host(vk, d, pair);
    /* Vulkan's own host-visible memory is stale for CUDA (host.c). Pages of the host's are not. */
    if (culvi_vk_is_stale(d->memory_properties) && vk->host_alignment != 0) {
        culv_result result = CULVI_ATTEMPT(culvi_vk_buffer_share_host(vk, d, pair));
        if (result == CULV_OK || result == CULV_ERROR_OUT_OF_MEMORY || result == CULV_ERROR_ASYNC)
            return result;
        *pair = (culvi_pair){0};
    }
    culv_result result = culvi_pair_make(&vk->base, &plan, pair);
    const char *warning = culvi_vk_stale_warning(d->memory_properties);
    if (result == CULV_OK && warning != NULL)
        culvi_log(vk->voice, CULV_LOG_WARNING, "%s: %s", culvi_named("buffer", d->label).text,
                  warning);
    return result;
}

culv_result culv_vk_buffer_create(culv_vk_device *vk, const culv_vk_buffer_create_desc *desc,
                                  culv_shared_buffer **out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_buffer_create_desc, d, desc);
    CULVI_REQUIRE_FIELD(vk->voice, culv_vk_buffer_create_desc, d, create_info);
    CULVI_TRY(check_host(vk->voice, &d));
    CULVI_TRY(check_kind(vk->voice, &d));
    CULVI_NEW(culv_shared_buffer, buffer, vk->voice, d.label);
    CULVI_TRY_OR(make_pair(vk, &d, &buffer->pair), culvi_free(buffer));
    culvi_pair_made(&buffer->pair);
    *out = buffer;
    return CULV_OK;
}

VkBuffer culv_vk_buffer_handle(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    return half != NULL ? (VkBuffer)half->object : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_buffer_memory(const culv_shared_buffer *buffer, VkDeviceSize *size)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_vk_api);
    if (size != NULL) *size = half != NULL ? half->size : 0;
    return half != NULL ? (VkDeviceMemory)half->memory : VK_NULL_HANDLE;
}

culv_result culv_vk_image_create(culv_vk_device *vk, const culv_vk_image_create_desc *desc,
                                 culv_shared_image **out)
{
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_image_create_desc, d, desc);
    CULVI_REQUIRE_FIELD(vk->voice, culv_vk_image_create_desc, d, create_info);
    culvi_plan plan = {.label = d.label,
                       .desc = &d,
                       .desc_name = "culv_vk_image_create_desc",
                       .fallback = d.fallback};
    return culvi_shared_image_create(&vk->base, &plan, out);
}

VkImage culv_vk_image_handle(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_vk_api);
    return half != NULL ? (VkImage)half->object : VK_NULL_HANDLE;
}

VkDeviceMemory culv_vk_image_memory(const culv_shared_image *image, VkDeviceSize *size)
{
    const culvi_native *half = culvi_image_half(image, &culvi_vk_api);
    if (size != NULL) *size = half != NULL ? half->size : 0;
    return half != NULL ? (VkDeviceMemory)half->memory : VK_NULL_HANDLE;
}
