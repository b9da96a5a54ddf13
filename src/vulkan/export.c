/* SPDX-License-Identifier: MIT */
/* VkDeviceMemory and VkSemaphore as operating-system handles, and VkDeviceMemory made of one. What
 * differs by system is in posix_export.c and win32_export.c. */
#include "vmm/share.h"
#include "vulkan/vk_export.h"

/* A VkDevice that was attached for fallbacks may lack the extension, and with it the function. */
static culv_result check_enabled(const culv_vk_device *vk, const char *label, bool enabled,
                                 const char *extension, const char *what)
{
    if (enabled) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "the VkDevice of '%s' was created without the extension %s, which handles of %s need; enable what culv_vk_device_extensions() lists",
        vk->base.name, extension, what);
}

static culv_result check_memory_handles(const culv_vk_device *vk, const char *label)
{
    return check_enabled(vk, label, culvi_vk_exports_memory(vk), culvi_vk_memory_extension,
                         "memory");
}

/* Whether the device knows dma-bufs. That its extension was enabled cannot be asked: it brings no
 * function. */
static culv_result check_dma_buf(const culv_vk_device *vk, const char *label)
{
    static const char name[] = VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME;
    bool has = false;
    uint32_t n = 0;
    VkExtensionProperties *list = NULL;
    CULVI_TRY(culvi_vk_list_extensions(vk->voice, &vk->instance, vk->physical_device, label,
                                       vk->base.name, &n, &list));
    for (uint32_t i = 0; i < n; i++)
        has = has || strcmp(list[i].extensionName, name) == 0;
    culvi_free(list);
    if (has) return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_EXTENSION_MISSING,
        "'%s' has no %s, so it neither exports nor imports a dma-buf (NVIDIA's driver has it where there is a DRM node); share the memory as OPAQUE_FD",
        vk->base.name, name);
}

/* `call` was made for a handle of `what`. `advice` says how the caller should have made that. */
static culv_result check_handle(const culv_vk_device *vk, const char *label, VkResult r,
                                const char *call, const culv_handle *handle, culv_handle_type type,
                                const char *what, const char *advice)
{
    if (r == VK_SUCCESS && handle->type != CULV_HANDLE_NONE) return CULV_OK;
    culv_result left =
        r != VK_ERROR_DEVICE_LOST ? culvi_handle_check_left(vk->voice, label, call, what) : CULV_OK;
    if (left != CULV_OK) return left;
    if (r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        return culvi_fail_vk(vk->voice, label, r, call, CULV_REASON_NOT_EXPORTABLE,
                             "the %s could not be exported as %s", what,
                             culvi_handle_type_name(type));
    return culvi_fail_vk(vk->voice, label, r, call, CULV_REASON_NOT_EXPORTABLE,
                         "the %s could not be exported; %s, handleTypes %s", what, advice,
                         culvi_handle_type_name(type));
}

culv_result culvi_vk_memory_export(const culv_vk_device *vk, const char *label,
                                   VkDeviceMemory memory, culv_handle_type type, culv_handle *out)
{
    const char *call = NULL;
    VkResult r = culvi_vk_get_handle(vk, memory, VK_NULL_HANDLE, type, out, &call);
    return check_handle(vk, label, r, call, out, type, "memory",
                        "allocate it with VkExportMemoryAllocateInfo");
}

culv_result culvi_vk_semaphore_export(const culv_vk_device *vk, const char *label,
                                      VkSemaphore semaphore, culv_handle_type type,
                                      culv_handle *out)
{
    const char *call = NULL;
    VkResult r = culvi_vk_get_handle(vk, VK_NULL_HANDLE, semaphore, type, out, &call);
    return check_handle(vk, label, r, call, out, type, "semaphore",
                        "create it with VkExportSemaphoreCreateInfo");
}

static culv_result check_export(const culv_vk_device *vk, bool has_object, const char *object,
                                culv_handle_type type, culvi_handle_use use, const culv_handle *out,
                                const char *function)
{
    CULVI_REQUIRE_IN(NULL, function, vk);
    CULVI_REFUSE_IF(!has_object, vk->voice, NULL, CULV_REASON_NULL_ARGUMENT,
                    "%s: %s is VK_NULL_HANDLE", function, object);
    CULVI_REQUIRE_IN(vk->voice, function, out);
    return culvi_handle_use_check(vk->voice, vk->base.label, "type", type, use);
}

culv_result culv_vk_memory_export_dup(culv_vk_device *vk, VkDeviceMemory memory,
                                      culv_handle_type type, culv_handle *out)
{
    culv_handle handle;
    CULVI_TRY(check_export(vk, memory != VK_NULL_HANDLE, "memory", type, CULVI_USE_VK_MEMORY, out,
                           "culv_vk_memory_export_dup"));
    CULVI_TRY(check_memory_handles(vk, vk->base.label));
    if (type == CULV_HANDLE_DMA_BUF_FD) CULVI_TRY(check_dma_buf(vk, vk->base.label));
    CULVI_TRY(culvi_vk_memory_export(vk, vk->base.label, memory, type, &handle));
    *out = handle;
    return CULV_OK;
}

culv_result culv_vk_semaphore_export_dup(culv_vk_device *vk, VkSemaphore semaphore,
                                         culv_handle_type type, culv_handle *out)
{
    culv_handle handle;
    CULVI_TRY(check_export(vk, semaphore != VK_NULL_HANDLE, "semaphore", type,
                           CULVI_USE_VK_SEMAPHORE, out, "culv_vk_semaphore_export_dup"));
    CULVI_TRY(check_enabled(vk, vk->base.label, culvi_vk_exports_semaphores(vk),
                            culvi_vk_semaphore_extension, "semaphores"));
    CULVI_TRY(culvi_vk_semaphore_export(vk, vk->base.label, semaphore, type, &handle));
    *out = handle;
    return CULV_OK;
}

/* The memory that a handle of the descriptor can become: `bits` of memory types that what will be
 * bound allows. */
static culv_result check_resource(const culv_vk_device *vk,
                                  const culv_vk_memory_from_handle_desc *d, const char *size_is,
                                  uint32_t *bits)
{
    culvi_vk_needs needs = {
        .memory = {.memoryTypeBits = d->memory_type_bits != 0 ? d->memory_type_bits : UINT32_MAX}};
    bool given = d->buffer != VK_NULL_HANDLE || d->image != VK_NULL_HANDLE;
    CULVI_REFUSE_IF(
        d->buffer != VK_NULL_HANDLE && d->image != VK_NULL_HANDLE, vk->voice, d->label,
        CULV_REASON_VALUE,
        "culv_vk_memory_from_handle_desc.buffer and .image are both given; an allocation chosen for both takes the memory_type_bits that both allow");
    if (d->buffer != VK_NULL_HANDLE) culvi_vk_buffer_needs(vk, d->buffer, &needs);
    if (d->image != VK_NULL_HANDLE) culvi_vk_image_needs(vk, d->image, 0, &needs);
    CULVI_REFUSE_IF(given && d->memory_type_bits != 0, vk->voice, d->label, CULV_REASON_VALUE,
                    "culv_vk_memory_from_handle_desc.memory_type_bits is %#" PRIx32
                    ", but the %s determines them already; give one of them",
                    d->memory_type_bits, d->buffer != VK_NULL_HANDLE ? "buffer" : "image");
    CULVI_REFUSE_IF(
        !given && d->dedicated, vk->voice, d->label, CULV_REASON_VALUE,
        "culv_vk_memory_from_handle_desc.dedicated is set without the buffer or image that the memory is for");
    if (d->allocate_flags & ~(VkMemoryAllocateFlags)VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT)
        return culvi_fail(vk->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_vk_memory_from_handle_desc.allocate_flags is %#" PRIx32
                          "; imported memory may have only DEVICE_ADDRESS",
                          d->allocate_flags);
    CULVI_REFUSE_IF(d->size < needs.memory.size, vk->voice, d->label, CULV_REASON_SIZE,
                    "%s is %" PRIu64 " bytes, but the buffer or image needs %" PRIu64, size_is,
                    d->size, needs.memory.size);
    CULVI_REFUSE_IF(
        needs.requires_dedicated && !d->dedicated, vk->voice, d->label, CULV_REASON_DEDICATED,
        "Vulkan requires a dedicated allocation for the buffer or image; set culv_vk_memory_from_handle_desc.dedicated");
    /* VUID-VkMemoryDedicatedAllocateInfo-image-02964, -buffer-02965. CUDA allocates multiples of
     * its granularity. */
    CULVI_REFUSE_IF(
        d->dedicated && d->size != needs.memory.size, vk->voice, d->label, CULV_REASON_DEDICATED,
        "%s is %" PRIu64
        " bytes, but a dedicated allocation must have exactly the size that the %s needs, %" PRIu64
        "; %smake one that needs %" PRIu64,
        size_is, d->size, d->buffer != VK_NULL_HANDLE ? "buffer" : "image", needs.memory.size,
        needs.requires_dedicated ? "which Vulkan requires here: " : "leave dedicated 0, or ",
        d->size);
    *bits = needs.memory.memoryTypeBits;
    return CULV_OK;
}

/* An attachment may be to another one than the culv_device's. */
culv_result culvi_vk_memory_check_exporter(const culv_vk_device *vk,
                                           const culv_vk_memory_from_handle_desc *d)
{
    if (culvi_uuid_given(&d->exporter) &&
        culvi_uuid_equal(&d->exporter, &vk->base.device->caps.uuid))
        return culvi_graphics_check_shares(&vk->base, d->label, CULVI_SHARE_CUDAS);
    CULVI_TRY(check_memory_handles(vk, d->label));
    if (!culvi_uuid_given(&d->exporter) || culvi_uuid_equal(&d->exporter, &vk->base.uuid))
        return CULV_OK;
    CULVI_TEXT(text, 400);
    culvi_text_add_uuid(&text, &d->exporter);
    culvi_text_add(&text, "; this VkDevice is '%s' UUID ", vk->base.name);
    culvi_text_add_uuid(&text, &vk->base.uuid);
    return culvi_fail(
        vk->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the memory was exported by the device with UUID %s. Import it on the device that exported it: no driver carries it to another GPU",
        text.data);
}

/* Fills the exporter in where the driver tells it. */
static culv_result check_desc(const culv_vk_device *vk, culv_vk_memory_from_handle_desc *d,
                              culvi_handle_facts *facts)
{
    CULVI_REFUSE_IF(
        d->size == 0, vk->voice, d->label, CULV_REASON_SIZE,
        "culv_vk_memory_from_handle_desc.size is 0; it is the exported allocation's size in bytes");
    CULVI_TRY(culvi_handle_use_check(vk->voice, d->label,
                                     "culv_vk_memory_from_handle_desc.handle.type", d->handle.type,
                                     CULVI_USE_VK_MEMORY));
    CULVI_TRY(culvi_handle_check(vk->voice, d->label, "culv_vk_memory_from_handle_desc.handle",
                                 "cuMemExportToShareableHandle or culv_vk_memory_export_dup()",
                                 &d->handle, facts));
    if (!culvi_uuid_given(&d->exporter))
        CULVI_TRY(culvi_vmm_find_exporter(vk->base.device, d->label, &d->handle, &d->exporter));
    CULVI_TRY(culvi_vk_memory_check_exporter(vk, d));
    if (d->handle.type == CULV_HANDLE_DMA_BUF_FD) CULVI_TRY(check_dma_buf(vk, d->label));
    CULVI_REFUSE_IF(d->size > facts->size_limit, vk->voice, d->label, CULV_REASON_SIZE,
                    "culv_vk_memory_from_handle_desc.size is %" PRIu64
                    " bytes, but at most %" PRIu64 " are behind the handle",
                    d->size, facts->size_limit);
    return CULV_OK;
}

/* Returns the first device-local type in `bits`, or else the first one; -1: there is none. */
static int choose_type(const culv_vk_device *vk, uint32_t bits)
{
    const VkPhysicalDeviceMemoryProperties *memory = &vk->memory_types;
    int found = -1;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        if (!(bits & (UINT32_C(1) << i)) ||
            (flags & (VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT)))
            continue;
        if (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) return (int)i;
        if (found < 0) found = (int)i;
    }
    return found;
}

culv_result culvi_vk_memory_plan(const culv_vk_device *vk, const culv_vk_memory_from_handle_desc *d,
                                 const char *size_is, uint32_t *type)
{
    uint32_t bits = 0, allowed = UINT32_MAX;
    CULVI_TRY(check_resource(vk, d, size_is, &bits));
    /* An opaque handle's types cannot be asked for
     * (VUID-vkGetMemoryFdPropertiesKHR-handleType-00674). */
    if (d->handle.type == CULV_HANDLE_DMA_BUF_FD) {
        const char *call = NULL;
        VkResult r = culvi_vk_get_handle_types(vk, &d->handle, &allowed, &call);
        if (r != VK_SUCCESS)
            return culvi_fail_vk(vk->voice, d->label, r, call, CULV_REASON_HANDLE_REFUSED,
                                 "Vulkan does not recognize file descriptor %d as a dma-buf",
                                 d->handle.value.fd);
    }
    int found = choose_type(vk, bits & allowed);
    if (found < 0)
        return culvi_fail(vk->voice, d->label,
                          allowed == 0 ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID,
                          CULV_REASON_MEMORY_TYPE,
                          "no memory type of '%s' is left: what will be bound allows %#" PRIx32
                          ", the handle %#" PRIx32,
                          vk->base.name, bits, allowed);
    *type = (uint32_t)found;
    return CULV_OK;
}

culv_result culvi_vk_memory_import(const culv_vk_device *vk,
                                   const culv_vk_memory_from_handle_desc *d,
                                   const culvi_handle_facts *facts, uint32_t type,
                                   VkDeviceMemory *out)
{
    VkMemoryDedicatedAllocateInfo dedicated = {CULVI_STYPE(MEMORY_DEDICATED_ALLOCATE_INFO),
                                               .buffer = d->buffer, .image = d->image};
    VkMemoryAllocateFlagsInfo flags = {CULVI_STYPE(MEMORY_ALLOCATE_FLAGS_INFO),
                                       .pNext = d->dedicated ? &dedicated : NULL,
                                       .flags = d->allocate_flags};
    VkMemoryAllocateInfo info = {CULVI_STYPE(MEMORY_ALLOCATE_INFO),
                                 .pNext = d->allocate_flags != 0 ? &flags : flags.pNext,
                                 .allocationSize = d->size, .memoryTypeIndex = type};
    culvi_duplicate duplicate;
    CULVI_TRY(culvi_handle_lend_for(vk->voice, d->label, &d->handle, facts, &duplicate));
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkResult r = culvi_vk_allocate_from(vk, &duplicate.handle, &info, &memory);
    culvi_handle_lent_done(&duplicate, &d->handle, r == VK_SUCCESS);
    if (r != VK_SUCCESS)
        return culvi_fail_vk(
            vk->voice, d->label, r, "vkAllocateMemory", CULV_REASON_HANDLE_REFUSED,
            "no VkDeviceMemory could be made of the handle (%s, %" PRIu64
            " bytes, memory type %" PRIu32
            "%s); it must be memory of this same GPU, of an allocation of that size",
            culvi_handle_type_name(d->handle.type), d->size, info.memoryTypeIndex,
            d->dedicated ? ", dedicated" : "");
    *out = memory;
    return CULV_OK;
}

/* Without a buffer it may be meant for sparse binding, which is of the fast kind in any case. */
void culvi_vk_memory_tell_kind(const culv_vk_device *vk, const culv_vk_memory_from_handle_desc *d)
{
    const bool given = d->buffer != VK_NULL_HANDLE;
    culvi_vk_needs needs = {.memory = {.size = d->size}};
    if (d->dedicated || d->image != VK_NULL_HANDLE) return;
    if (given) culvi_vk_buffer_needs(vk, d->buffer, &needs);
    if (!culvi_memory_kind_is_slow(CULV_MEMORY_KIND_PLAIN, needs.memory.size)) return;
    culvi_log(
        vk->voice, given ? CULV_LOG_WARNING : CULV_LOG_INFO,
        "%s: a VkDeviceMemory of %" PRIu64
        " bytes was made of a handle and is not dedicated: Vulkan's random access to a buffer of %" PRIu64
        " bytes in it can be six times as slow (measured). Set culv_vk_memory_from_handle_desc.dedicated, with a buffer that needs all of the memory",
        culvi_named("memory", d->label != NULL ? d->label : "").text, d->size, needs.memory.size);
}

culv_result culv_vk_memory_from_handle(culv_vk_device *vk,
                                       const culv_vk_memory_from_handle_desc *desc,
                                       VkDeviceMemory *out)
{
    culvi_handle_facts facts;
    uint32_t type = 0;
    CULVI_REQUIRE_WITH2(vk, vk->voice, desc, out);
    CULVI_READ(vk->voice, culv_vk_memory_from_handle_desc, d, desc);
    CULVI_TRY(check_desc(vk, &d, &facts));
    CULVI_TRY(culvi_vk_memory_plan(vk, &d, "culv_vk_memory_from_handle_desc.size", &type));
    CULVI_TRY(culvi_vk_memory_import(vk, &d, &facts, type, out));
    culvi_vk_memory_tell_kind(vk, &d);
    return CULV_OK;
}
