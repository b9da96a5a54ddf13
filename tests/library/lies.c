/* SPDX-License-Identifier: MIT */
/* A Vulkan loader that lies as lib_lying says, for what no machine at hand has: linked GPUs, Vulkan
 * 1.0, buffers that must be dedicated, exports that fail. Everything else goes to the real one. */
#include "library.h"

#include <fcntl.h>

lib_lies lib_lying;
bool lib_saw_dedicated, lib_saw_chain;
uint32_t lib_saw_type;
lib_seen lib_saw;

static VKAPI_ATTR VkResult VKAPI_CALL lying_groups(VkInstance instance, uint32_t *count,
                                                   VkPhysicalDeviceGroupProperties *groups)
{
    VkResult r = vkEnumeratePhysicalDeviceGroups(instance, count, groups);
    if (r != VK_SUCCESS || groups == NULL) return r;
    for (uint32_t i = 0; i < *count; i++) {
        /* A handle that is nobody's: it is compared, never used. */
        uintptr_t other = 0x10;
        for (uint32_t j = groups[i].physicalDeviceCount; j < lib_lying.group_size;
             j++, other += 0x10)
            memcpy(&groups[i].physicalDevices[j], &other, sizeof other);
        groups[i].physicalDeviceCount = lib_lying.group_size;
    }
    return r;
}

/* A handle that no driver made; every function that Culvert calls on it is below. */
VkPhysicalDevice lib_stranger(void)
{
    static char stranger;
    void *address = &stranger;
    VkPhysicalDevice handle;
    memcpy(&handle, &address, sizeof handle);
    return handle;
}

static VkPhysicalDevice real(VkPhysicalDevice device)
{
    return device == lib_stranger() ? lib_lying.stranger_like : device;
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_devices(VkInstance instance, uint32_t *count,
                                                    VkPhysicalDevice *devices)
{
    if (lib_lying.no_devices) {
        *count = 0;
        return VK_SUCCESS;
    }
    if (devices == NULL || *count == 0) {
        VkResult r = vkEnumeratePhysicalDevices(instance, count, NULL);
        ++*count;
        return r;
    }
    uint32_t rest = *count - 1;
    VkResult r = vkEnumeratePhysicalDevices(instance, &rest, devices + 1);
    devices[0] = lib_stranger();
    *count = rest + 1;
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_extensions(VkPhysicalDevice device, const char *layer,
                                                       uint32_t *count, VkExtensionProperties *out)
{
    if (!lib_lying.plays_dma_bufs) {
        VkResult r = vkEnumerateDeviceExtensionProperties(real(device), layer, count, out);
        for (uint32_t i = 0; out != NULL && lib_lying.hides != NULL && i < *count; i++)
            if (strcmp(out[i].extensionName, lib_lying.hides) == 0) out[i].extensionName[0] = '-';
        return r;
    }
    /* One more than there are. */
    uint32_t rest = out != NULL ? *count - 1 : 0;
    VkResult r = vkEnumerateDeviceExtensionProperties(real(device), layer, &rest, out);
    if (out != NULL)
        memcpy(out[rest].extensionName, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME,
               sizeof VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
    *count = rest + 1;
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_fd_properties(VkDevice device,
                                                          VkExternalMemoryHandleTypeFlagBits type,
                                                          int fd, VkMemoryFdPropertiesKHR *out)
{
    if (type != VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
        return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    out->memoryTypeBits = lib_lying.dma_buf_types;
    return lib_lying.dma_buf_result;
}

static VKAPI_ATTR void VKAPI_CALL lying_memory_types(VkPhysicalDevice device,
                                                     VkPhysicalDeviceMemoryProperties *out)
{
    vkGetPhysicalDeviceMemoryProperties(real(device), out);
    if (lib_lying.second_type == 0 || out->memoryTypeCount != 1) return;
    out->memoryTypes[1] = out->memoryTypes[0];
    out->memoryTypes[1].propertyFlags = lib_lying.second_type;
    out->memoryTypeCount = 2;
}

static VKAPI_ATTR void VKAPI_CALL lying_features(VkPhysicalDevice device,
                                                 VkPhysicalDeviceFeatures2 *out)
{
    vkGetPhysicalDeviceFeatures2(real(device), out);
    if (!lib_lying.no_timeline_feature) return;
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES)
            ((VkPhysicalDeviceTimelineSemaphoreFeatures *)(void *)s)->timelineSemaphore = VK_FALSE;
}

static void spoil_features(VkExternalMemoryProperties *properties)
{
    if (lib_lying.exports_nothing) properties->externalMemoryFeatures = 0;
    if (lib_lying.dedicated_only)
        properties->externalMemoryFeatures |= VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
}

static VKAPI_ATTR void VKAPI_CALL lying_buffer(VkPhysicalDevice device,
                                               const VkPhysicalDeviceExternalBufferInfo *info,
                                               VkExternalBufferProperties *out)
{
    bool pages = info->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    vkGetPhysicalDeviceExternalBufferProperties(real(device), info, out);
    if (!pages || !lib_lying.takes_pages) spoil_features(&out->externalMemoryProperties);
}

static VKAPI_ATTR VkResult VKAPI_CALL
lying_image_format(VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2 *info,
                   VkImageFormatProperties2 *out)
{
    VkPhysicalDeviceExternalImageFormatInfo opaque;
    VkPhysicalDeviceImageFormatInfo2 plain = *info;
    const VkPhysicalDeviceExternalImageFormatInfo *asked =
        info->pNext; /* Culvert's is the first of its chain */
    if (lib_lying.plays_dma_bufs && asked != NULL &&
        asked->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO &&
        asked->handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT) {
        opaque = *asked;
        opaque.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        plain.pNext = &opaque;
    }
    VkResult r = vkGetPhysicalDeviceImageFormatProperties2(device, &plain, out);
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext) {
        VkExternalImageFormatProperties *external = (VkExternalImageFormatProperties *)(void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES)
            spoil_features(&external->externalMemoryProperties);
    }
    return lib_lying.image_format_result != VK_SUCCESS ? lib_lying.image_format_result : r;
}

static VKAPI_ATTR void VKAPI_CALL lying_semaphore(VkPhysicalDevice device,
                                                  const VkPhysicalDeviceExternalSemaphoreInfo *info,
                                                  VkExternalSemaphoreProperties *out)
{
    vkGetPhysicalDeviceExternalSemaphoreProperties(real(device), info, out);
    const VkSemaphoreTypeCreateInfo *type = info->pNext; /* all that callers put there */
    const bool binary = type == NULL || type->semaphoreType == VK_SEMAPHORE_TYPE_BINARY;
    if (lib_lying.exports_no_semaphores ||
        (binary ? lib_lying.exports_no_binaries : lib_lying.exports_no_timelines))
        out->externalSemaphoreFeatures = 0;
    if (!lib_lying.plays_binaries) return;
    out->exportFromImportedHandleTypes = out->compatibleHandleTypes = info->handleType;
    out->externalSemaphoreFeatures = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

/* What is said to be exportable is made as what lavapipe can make. */
static VKAPI_ATTR VkResult VKAPI_CALL lying_create_semaphore(VkDevice device,
                                                             const VkSemaphoreCreateInfo *info,
                                                             const VkAllocationCallbacks *callbacks,
                                                             VkSemaphore *out)
{
    VkSemaphoreCreateInfo plain = *info;
    plain.pNext = NULL;
    return vkCreateSemaphore(device, &plain, callbacks, out);
}

static void spoil(VkPhysicalDeviceProperties *properties)
{
    if (lib_lying.api_version != 0) properties->apiVersion = lib_lying.api_version;
    if (lib_lying.says_type) properties->deviceType = lib_lying.type;
}

static VKAPI_ATTR void VKAPI_CALL lying_properties(VkPhysicalDevice device,
                                                   VkPhysicalDeviceProperties *out)
{
    vkGetPhysicalDeviceProperties(real(device), out);
    spoil(out);
}

static VKAPI_ATTR void VKAPI_CALL lying_properties2(VkPhysicalDevice device,
                                                    VkPhysicalDeviceProperties2 *out)
{
    vkGetPhysicalDeviceProperties2(real(device), out);
    spoil(&out->properties);
    uint8_t change = device == lib_stranger() ? 0xff : lib_lying.uuid_xor;
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext) {
        VkPhysicalDeviceIDProperties *id = (VkPhysicalDeviceIDProperties *)(void *)s;
        if (s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) continue;
        id->deviceUUID[3] ^= change;
        if (lib_lying.luid == NULL) continue;
        id->deviceLUIDValid = VK_TRUE;
        memcpy(id->deviceLUID, lib_lying.luid, VK_LUID_SIZE);
        id->deviceNodeMask = lib_lying.node_mask;
    }
}

static void require_dedicated(VkMemoryRequirements2 *out)
{
    for (VkBaseOutStructure *s = out->pNext; s != NULL; s = s->pNext) {
        VkMemoryDedicatedRequirements *dedicated = (VkMemoryDedicatedRequirements *)(void *)s;
        if (s->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) continue;
        if (lib_lying.requires_dedicated) dedicated->requiresDedicatedAllocation = VK_TRUE;
        if (lib_lying.prefers_dedicated) dedicated->prefersDedicatedAllocation = VK_TRUE;
    }
}

static VKAPI_ATTR void VKAPI_CALL lying_requirements(VkDevice device,
                                                     const VkBufferMemoryRequirementsInfo2 *info,
                                                     VkMemoryRequirements2 *out)
{
    vkGetBufferMemoryRequirements2(device, info, out);
    require_dedicated(out);
}

static VKAPI_ATTR void VKAPI_CALL lying_image_requirements(
    VkDevice device, const VkImageMemoryRequirementsInfo2 *info, VkMemoryRequirements2 *out)
{
    vkGetImageMemoryRequirements2(device, info, out);
    require_dedicated(out);
    if (lib_lying.no_memory) out->memoryRequirements.memoryTypeBits = 0;
}

static bool has(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return true;
    return false;
}

/* These remember what the caller's chain brought along. */
static VKAPI_ATTR VkResult VKAPI_CALL lying_create_buffer(VkDevice device,
                                                          const VkBufferCreateInfo *info,
                                                          const VkAllocationCallbacks *callbacks,
                                                          VkBuffer *out)
{
    lib_saw_chain = has(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO) &&
                    has(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    return vkCreateBuffer(device, info, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_create_image(VkDevice device,
                                                         const VkImageCreateInfo *info,
                                                         const VkAllocationCallbacks *callbacks,
                                                         VkImage *out)
{
    lib_saw_chain = has(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO) &&
                    has(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    return vkCreateImage(device, info, callbacks, out);
}

/* Remembers whether the allocation was a dedicated one. */
static VKAPI_ATTR VkResult VKAPI_CALL lying_allocate(VkDevice device,
                                                     const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *callbacks,
                                                     VkDeviceMemory *out)
{
    lib_saw_dedicated = has(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    lib_saw_type = info->memoryTypeIndex;
    if (!lib_lying.plays_dma_bufs) return vkAllocateMemory(device, info, callbacks, out);
    const VkImportMemoryFdInfoKHR *import = info->pNext; /* Culvert's is the first of its chain */
    if (import->sType != VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) return VK_ERROR_UNKNOWN;
    VkImportMemoryFdInfoKHR opaque = *import;
    VkMemoryAllocateInfo plain = *info;
    opaque.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    plain.pNext = &opaque;
    plain.memoryTypeIndex = 0;
    return vkAllocateMemory(device, &plain, callbacks, out);
}

/* These remember what is recorded. */
static VKAPI_ATTR void VKAPI_CALL seen_barrier(VkCommandBuffer commands, VkPipelineStageFlags src,
                                               VkPipelineStageFlags dst, VkDependencyFlags flags,
                                               uint32_t num_memory, const VkMemoryBarrier *memory,
                                               uint32_t num_buffers,
                                               const VkBufferMemoryBarrier *buffers,
                                               uint32_t num_images,
                                               const VkImageMemoryBarrier *images)
{
    const uint32_t at = lib_saw.barriers++;
    if (at < LIB_SEEN) {
        lib_saw.src[at] = src;
        lib_saw.dst[at] = dst;
        if (num_memory > 0) lib_saw.memory[at] = memory[0];
    }
    for (uint32_t i = 0; i < num_images; i++, lib_saw.images++)
        if (lib_saw.images < LIB_SEEN) lib_saw.image[lib_saw.images] = images[i];
    vkCmdPipelineBarrier(commands, src, dst, flags, num_memory, memory, num_buffers, buffers,
                         num_images, images);
}

static void see_copies(uint32_t count, const VkBufferImageCopy *regions)
{
    lib_saw.copies += count;
    for (uint32_t i = 0; i < count; i++)
        lib_saw.offset_bits |= regions[i].bufferOffset;
}

static VKAPI_ATTR void VKAPI_CALL seen_copy_to_image(VkCommandBuffer commands, VkBuffer from,
                                                     VkImage to, VkImageLayout layout,
                                                     uint32_t count,
                                                     const VkBufferImageCopy *regions)
{
    see_copies(count, regions);
    vkCmdCopyBufferToImage(commands, from, to, layout, count, regions);
}

static VKAPI_ATTR void VKAPI_CALL seen_copy_to_buffer(VkCommandBuffer commands, VkImage from,
                                                      VkImageLayout layout, VkBuffer to,
                                                      uint32_t count,
                                                      const VkBufferImageCopy *regions)
{
    see_copies(count, regions);
    vkCmdCopyImageToBuffer(commands, from, layout, to, count, regions);
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_memory_fd(VkDevice device,
                                                      const VkMemoryGetFdInfoKHR *info, int *fd)
{
    *fd = -1;
    return lib_lying.memory_fd_result;
}

static VKAPI_ATTR VkResult VKAPI_CALL lying_semaphore_fd(VkDevice device,
                                                         const VkSemaphoreGetFdInfoKHR *info,
                                                         int *fd)
{
    *fd = -1;
    if (lib_lying.semaphore_fd_fails) return lib_lying.semaphore_fd_result;
    *fd = fcntl(lib_lying.binary_fd, F_DUPFD_CLOEXEC, 0);
    return *fd >= 0 ? VK_SUCCESS : VK_ERROR_TOO_MANY_OBJECTS;
}

static bool wants_dedicated(void)
{
    return lib_lying.requires_dedicated || lib_lying.prefers_dedicated || lib_lying.no_memory;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL lying_device_proc(VkDevice device, const char *name)
{
    if (lib_lying.missing != NULL && strcmp(name, lib_lying.missing) == 0) return NULL;
    if (lib_lying.no_timelines && strncmp(name, "vkGetSemaphoreCounterValue", 26) == 0) return NULL;
    if (wants_dedicated() && strcmp(name, "vkGetBufferMemoryRequirements2") == 0)
        return (PFN_vkVoidFunction)lying_requirements;
    if (wants_dedicated() && strcmp(name, "vkGetImageMemoryRequirements2") == 0)
        return (PFN_vkVoidFunction)lying_image_requirements;
    if (strcmp(name, "vkCmdPipelineBarrier") == 0) return (PFN_vkVoidFunction)seen_barrier;
    if (strcmp(name, "vkCmdCopyBufferToImage") == 0) return (PFN_vkVoidFunction)seen_copy_to_image;
    if (strcmp(name, "vkCmdCopyImageToBuffer") == 0) return (PFN_vkVoidFunction)seen_copy_to_buffer;
    if (strcmp(name, "vkCreateBuffer") == 0) return (PFN_vkVoidFunction)lying_create_buffer;
    if (strcmp(name, "vkCreateImage") == 0) return (PFN_vkVoidFunction)lying_create_image;
    if (lib_lying.plays_dma_bufs && strcmp(name, "vkGetMemoryFdPropertiesKHR") == 0)
        return (PFN_vkVoidFunction)lying_fd_properties;
    if (strcmp(name, "vkAllocateMemory") == 0) return (PFN_vkVoidFunction)lying_allocate;
    if (lib_lying.memory_fd_fails && strcmp(name, "vkGetMemoryFdKHR") == 0)
        return (PFN_vkVoidFunction)lying_memory_fd;
    if ((lib_lying.semaphore_fd_fails || lib_lying.plays_binaries) &&
        strcmp(name, "vkGetSemaphoreFdKHR") == 0)
        return (PFN_vkVoidFunction)lying_semaphore_fd;
    if (lib_lying.plays_binaries && strcmp(name, "vkCreateSemaphore") == 0)
        return (PFN_vkVoidFunction)lying_create_semaphore;
    return vkGetDeviceProcAddr(device, name);
}

/* The next case is told the truth. */
static bool stop_lying(void)
{
    lib_lying = (lib_lies){.missing = NULL};
    return true;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL lib_lying_loader(VkInstance instance, const char *name)
{
    static const test_fixture fixture = {.clean = stop_lying};
    static bool kept;
    if (!kept) test_keep(&fixture);
    kept = true;
    if (lib_lying.missing != NULL && strcmp(name, lib_lying.missing) == 0) return NULL;
    if (lib_lying.group_size != 0 && strcmp(name, "vkEnumeratePhysicalDeviceGroups") == 0)
        return (PFN_vkVoidFunction)lying_groups;
    if ((lib_lying.plays_dma_bufs || lib_lying.hides != NULL) &&
        strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0)
        return (PFN_vkVoidFunction)lying_extensions;
    if (lib_lying.no_devices && strcmp(name, "vkEnumeratePhysicalDevices") == 0)
        return (PFN_vkVoidFunction)lying_devices;
    if (lib_lying.no_timeline_feature && strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0)
        return (PFN_vkVoidFunction)lying_features;
    if (lib_lying.second_type != 0 && strcmp(name, "vkGetPhysicalDeviceMemoryProperties") == 0)
        return (PFN_vkVoidFunction)lying_memory_types;
    if (lib_lying.stranger_like != VK_NULL_HANDLE) {
        if (strcmp(name, "vkEnumeratePhysicalDevices") == 0)
            return (PFN_vkVoidFunction)lying_devices;
        if (strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0)
            return (PFN_vkVoidFunction)lying_extensions;
        if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0)
            return (PFN_vkVoidFunction)lying_features;
        if (strcmp(name, "vkGetPhysicalDeviceExternalSemaphoreProperties") == 0)
            return (PFN_vkVoidFunction)lying_semaphore;
    }
    if ((lib_lying.plays_binaries || lib_lying.exports_no_semaphores ||
         lib_lying.exports_no_binaries || lib_lying.exports_no_timelines) &&
        strcmp(name, "vkGetPhysicalDeviceExternalSemaphoreProperties") == 0)
        return (PFN_vkVoidFunction)lying_semaphore;
    if (strcmp(name, "vkGetPhysicalDeviceExternalBufferProperties") == 0)
        return (PFN_vkVoidFunction)lying_buffer;
    if (strcmp(name, "vkGetPhysicalDeviceImageFormatProperties2") == 0)
        return (PFN_vkVoidFunction)lying_image_format;
    if (strcmp(name, "vkGetPhysicalDeviceProperties") == 0)
        return (PFN_vkVoidFunction)lying_properties;
    if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0)
        return (PFN_vkVoidFunction)lying_properties2;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)lying_device_proc;
    return vkGetInstanceProcAddr(instance, name);
}
