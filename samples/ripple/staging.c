/* SPDX-License-Identifier: MIT */
/* ripple's staging memory. One set of pages serves both drivers, so that a transfer is one copy
 * down and one copy up, each by a copy engine. */
#include "staging.h"

#include <stdlib.h>
#include <string.h>

#include "../common/report.h"

#ifdef _WIN32
#    define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#    define aligned_free                   _aligned_free
#else
#    define aligned_free free
#endif

/* Pages of the program's own, which Vulkan takes as they are (VK_EXT_external_memory_host). */
static bool import_pages(const vulkan_setup *v, VkDeviceSize size, staging *s)
{
    const VkExternalMemoryHandleTypeFlagBits type =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = (VkExternalMemoryHandleTypeFlags)type};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .pNext = &external,
                                 .size = size,
                                 .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    if (!vk_ok(vkCreateBuffer(v->device, &buffer, NULL, &s->buffer), "vkCreateBuffer"))
        return false;
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(v->device, s->buffer, &needs);

    size_t alignment = (size_t)v->host_pointer_alignment;
    size_t bytes = ((size_t)needs.size + alignment - 1) / alignment * alignment;
    s->pages = aligned_alloc(alignment, bytes);
    if (!s->pages) {
        report("out of memory for staging %llu bytes", (unsigned long long)bytes);
        return false;
    }
    memset(s->pages, 0, bytes); /* pages that are not there yet cannot be pinned */
    s->host = s->pages;

    VkMemoryHostPointerPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    if (!vk_ok(vkGetMemoryHostPointerPropertiesEXT(v->device, type, s->pages, &properties),
               "vkGetMemoryHostPointerPropertiesEXT"))
        return false;
    VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = type,
        .pHostPointer = s->pages};
    VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &import,
        .allocationSize = bytes,
        .memoryTypeIndex = vulkan_memory_type(v, needs.memoryTypeBits & properties.memoryTypeBits,
                                              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                  VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                              VK_MEMORY_PROPERTY_HOST_CACHED_BIT)};
    if (allocation.memoryTypeIndex == UINT32_MAX) {
        report("%s has no memory type for host pages", v->candidate.name);
        return false;
    }
    return vk_ok(vkAllocateMemory(v->device, &allocation, NULL, &s->memory), "vkAllocateMemory") &&
           vk_ok(vkBindBufferMemory(v->device, s->buffer, s->memory, 0), "vkBindBufferMemory");
}

/* Vulkan's own host-visible memory, where it takes no others. */
static bool map_memory(const vulkan_setup *v, VkDeviceSize size, staging *s)
{
    vulkan_buffer own;
    bool made = vulkan_buffer_create(v, size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, true, &own);
    s->buffer = own.buffer;
    s->memory = own.memory;
    s->host = own.mapped;
    return made;
}

bool staging_create(const vulkan_setup *v, const culv_cuda_api *cu, VkDeviceSize size, staging *out)
{
    memset(out, 0, sizeof *out);
    bool made = v->host_pointer_alignment && import_pages(v, size, out);
    if (!made) {
        staging_destroy(v, cu, out);
        made = map_memory(v, size, out);
    }
    if (!made) return false;
    out->pinned = cu->cuMemHostRegister(out->host, (size_t)size, 0) == CUDA_SUCCESS;
    if (!out->pinned)
        report(
            "note: CUDA does not pin the staging memory; its driver copies to it by a detour of its own");
    return true;
}

void staging_destroy(const vulkan_setup *v, const culv_cuda_api *cu, staging *s)
{
    if (s->pinned) (void)cu->cuMemHostUnregister(s->host);
    vkDestroyBuffer(v->device, s->buffer, NULL);
    vkFreeMemory(v->device, s->memory, NULL);
    aligned_free(s->pages);
    memset(s, 0, sizeof *s);
}
