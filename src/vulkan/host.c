/* SPDX-License-Identifier: MIT */
/* Buffers in host memory that Vulkan and CUDA both use in place (VK_EXT_external_memory_host). */
#include "vulkan/vk_resource.h"

static const VkExternalMemoryHandleTypeFlagBits host_pages =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

CULVI_GETTER(VkDeviceSize, culv_vk_host_import_alignment, culv_vk_device, self->host_alignment, 0)

culv_result culvi_vk_host_memory_type(const culv_vk_device *vk, const char *label,
                                      uint32_t type_bits, VkMemoryPropertyFlags wanted,
                                      uint32_t *out)
{
    const VkMemoryPropertyFlags coherent =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (wanted != 0) return culvi_vk_memory_type(vk, label, type_bits, wanted, out);
    /* Cached where it can be: the GPUs do not mind, the processor does. */
    const VkMemoryPropertyFlags cached = coherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    if (CULVI_ATTEMPT(culvi_vk_memory_type(vk, label, type_bits, cached, out)) == CULV_OK)
        return CULV_OK;
    return culvi_vk_memory_type(vk, label, type_bits, coherent, out);
}

const char *culvi_vk_stale_warning(VkMemoryPropertyFlags properties)
{
    return culvi_vk_is_stale(properties)
               ? "this is HOST_VISIBLE memory of Vulkan's. CUDA sees what the CPU writes there only after it has waited for a later submission to a queue (measured; docs/vulkan-sync.md, the CPU's view); what CUDA writes, the CPU sees. Let Culvert make the buffer (culv_vk_buffer_create_desc::host_memory), or register what vkMapMemory returned (cuMemHostRegister) in place of an import"
               : NULL;
}

static culv_result import(culv_vk_device *vk, const culvi_vk_plan *plan, uint32_t type_bits,
                          VkDeviceMemory *out)
{
    const char *label = plan->label;
    void *start = plan->pages->start;
    VkMemoryAllocateFlagsInfo address = {CULVI_STYPE(MEMORY_ALLOCATE_FLAGS_INFO),
                                         .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    bool has_address = (plan->buffer->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
    VkMemoryHostPointerPropertiesEXT properties = {CULVI_STYPE(MEMORY_HOST_POINTER_PROPERTIES_EXT)};
    VkResult r = CULVI_VK(vk, vkGetMemoryHostPointerPropertiesEXT,
                          (vk->vk_device, host_pages, start, &properties));
    if (r != VK_SUCCESS)
        return culvi_vk_failed(vk, label, r, "vkGetMemoryHostPointerPropertiesEXT",
                               "'%s' does not take the host memory at %p", vk->base.name, start);
    VkImportMemoryHostPointerInfoEXT pointer = {CULVI_STYPE(IMPORT_MEMORY_HOST_POINTER_INFO_EXT),
                                                .pNext = has_address ? &address : NULL,
                                                .handleType = host_pages, .pHostPointer = start};
    VkMemoryAllocateInfo info = {CULVI_STYPE(MEMORY_ALLOCATE_INFO), .pNext = &pointer,
                                 .allocationSize = plan->pages->size};
    CULVI_TRY(culvi_vk_host_memory_type(vk, label, type_bits & properties.memoryTypeBits,
                                        plan->memory_properties, &info.memoryTypeIndex));
    r = CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &info, vk->callbacks, out));
    if (r == VK_SUCCESS) return CULV_OK;
    *out = VK_NULL_HANDLE;
    return culvi_vk_failed(
        vk, label, r, "vkAllocateMemory",
        "%" PRIu64 " bytes of host memory at %p could not be imported (memory type %" PRIu32 ")",
        info.allocationSize, start, info.memoryTypeIndex);
}

culv_result culvi_vk_host_allocate(culv_vk_device *vk, const culvi_vk_plan *plan,
                                   const culvi_vk_needs *needs, culvi_native *made)
{
    culvi_vk_pages *pages = plan->pages;
    CULVI_UNSUPPORTED_IF(
        plan->dedicated || needs->requires_dedicated, vk->voice, plan->label, CULV_REASON_DEDICATED,
        "'%s' requires a dedicated allocation for this buffer, which host memory cannot be (VUID-VkMemoryAllocateInfo-pNext-02806)",
        vk->base.name);
    CULVI_REFUSE_IF(pages->start != NULL && needs->memory.size > pages->size, vk->voice,
                    plan->label, CULV_REASON_SIZE,
                    "the buffer needs %" PRIu64
                    " bytes (VkMemoryRequirements::size), and there are %" PRIu64
                    " at host_pointer (host_size)",
                    needs->memory.size, pages->size);
    if (pages->start == NULL) {
        VkDeviceSize count = needs->memory.size / vk->host_alignment +
                             (needs->memory.size % vk->host_alignment != 0);
        pages->size = count * vk->host_alignment;
        pages->start = culvi_alloc_pages(pages->size, vk->host_alignment, &pages->block);
        if (pages->start == NULL) return culvi_fail_host_memory(vk->voice, plan->label);
    }
    VkDeviceMemory memory = VK_NULL_HANDLE;
    culv_result result = import(vk, plan, needs->memory.memoryTypeBits, &memory);
    made->size = pages->size;
    made->memory = (uint64_t)memory;
    return result;
}

/* The caller's own memory, as far as its numbers can tell. */
static culv_result check_pointer(const culv_vk_device *vk, const culv_vk_buffer_create_desc *d,
                                 VkDeviceSize size)
{
    uintptr_t start = (uintptr_t)d->host_pointer;
    VkDeviceSize alignment = vk->host_alignment;
    CULVI_REFUSE_IF(
        start % alignment != 0, vk->voice, d->label, CULV_REASON_RANGE,
        "host_pointer %p is not a multiple of %" PRIu64
        ", as culv_vk_host_import_alignment() reports for '%s'; allocate it with aligned_alloc(), or leave it NULL",
        d->host_pointer, alignment, vk->base.name);
    CULVI_REFUSE_IF(size % alignment != 0, vk->voice, d->label, CULV_REASON_SIZE,
                    "host_size (0: VkBufferCreateInfo::size) is %" PRIu64
                    ", not a multiple of %" PRIu64
                    ", as culv_vk_host_import_alignment() reports for '%s'; whole pages are pinned",
                    size, alignment, vk->base.name);
    CULVI_REFUSE_IF(size > UINTPTR_MAX - start, vk->voice, d->label, CULV_REASON_RANGE,
                    "host_size %" PRIu64 " leaves the address space from host_pointer %p on", size,
                    d->host_pointer);
    return CULV_OK;
}

/* The import refers to pages that the buffer's memory owns: Vulkan's half is destroyed before
 * it. */
culv_result culvi_vk_buffer_share_host(culv_vk_device *vk, const culv_vk_buffer_create_desc *d,
                                       culvi_pair *pair)
{
    culvi_vk_verdict verdict;
    culvi_vk_ask ask = {.label = d->label, .origin = CULVI_VK_MADE_HERE, .host = true};
    culvi_vk_pages pages = {.start = d->host_pointer};
    culvi_plan map = {.label = d->label, .size = d->create_info->size};
    CULVI_TRY(culvi_vk_check_buffer(vk, &ask, d->create_info, &verdict));
    if (pages.start != NULL) {
        pages.size = d->host_size != 0 ? d->host_size : d->create_info->size;
        CULVI_TRY(check_pointer(vk, d, pages.size));
    }
    VkBufferCreateInfo info = *d->create_info;
    if (vk->kernels) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    culvi_vk_plan plan = {.label = d->label,
                          .buffer = &info,
                          .handle_types = (VkExternalMemoryHandleTypeFlags)verdict.vk_handle_type,
                          .dedicated = verdict.dedicated_only,
                          .memory_properties = d->memory_properties,
                          .pages = &pages};
    CULVI_TRY_OR(culvi_vk_resource_create(vk, &plan, &pair->native), culvi_free(pages.block));
    pair->import =
        culvi_memory_host(vk->base.device, pages.start, pages.size, pages.block, d->label);
    culv_result result = CULV_ERROR_OUT_OF_MEMORY;
    if (pair->import != NULL) {
        pages.block = NULL; /* the import's */
        pair->import->words = &culvi_vk_words;
        pair->graphics = &vk->base;
        result = culvi_pair_map(pair, &map);
        if (result == CULV_OK) return CULV_OK;
    }
    culvi_vk_unmake(&vk->base, &pair->native);
    culv_memory_destroy(&pair->import);
    culvi_free(pages.block);
    return result;
}

CULVI_GETTER(void *, culv_vk_buffer_host_pointer, culv_shared_buffer,
             (self->pair.import != NULL ? self->pair.import->host : NULL), NULL)
