/* SPDX-License-Identifier: MIT */
/* The machine of fake_vulkan.h, and what it answers. */
#include "fake_objects.h"

#include <stdlib.h>

fake_machine fake;

static bool one_bit(uint32_t bits)
{
    return bits != 0 && (bits & (bits - 1)) == 0;
}

static void *chain_find(void *chain, VkStructureType type)
{
    return (void *)(uintptr_t)fuzz_chain_find(chain, type);
}

/* Queries -------------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL devices(VkInstance instance, uint32_t *count,
                                              VkPhysicalDevice *out)
{
    (void)instance;
    if (out != NULL && *count > 0) out[0] = fake_desc().physical_device;
    *count = 1;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL groups(VkInstance instance, uint32_t *count,
                                             VkPhysicalDeviceGroupProperties *out)
{
    (void)instance;
    if (out != NULL && *count > 0) {
        out[0].physicalDeviceCount = 1;
        out[0].physicalDevices[0] = fake_desc().physical_device;
    }
    *count = 1;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device,
                                             VkPhysicalDeviceProperties *out)
{
    (void)device;
    memset(out, 0, sizeof *out);
    out->apiVersion = fake.api_version;
    out->deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    strcpy(out->deviceName, "fake");
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device,
                                              VkPhysicalDeviceProperties2 *out)
{
    properties(device, &out->properties);
    VkPhysicalDeviceIDProperties *id =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    if (id != NULL) memcpy(id->deviceUUID, fuzz.caps.uuid.bytes, VK_UUID_SIZE);
    VkPhysicalDeviceMaintenance4Properties *maintenance4 =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    if (maintenance4 != NULL) maintenance4->maxBufferSize = fake.max_buffer_size;
}

static VKAPI_ATTR void VKAPI_CALL features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out)
{
    (void)device;
    VkPhysicalDeviceTimelineSemaphoreFeatures *timeline =
        chain_find(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    if (timeline != NULL) timeline->timelineSemaphore = VK_TRUE;
}

static VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice device,
                                                    VkPhysicalDeviceMemoryProperties *out)
{
    (void)device;
    *out = fake.memory;
}

static VKAPI_ATTR void VKAPI_CALL queue_families(VkPhysicalDevice device, uint32_t *count,
                                                 VkQueueFamilyProperties *out)
{
    (void)device;
    for (uint32_t i = 0; out != NULL && i < *count && i < fake.families; i++)
        out[i] = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_GRAPHICS_BIT, .queueCount = 1};
    if (out == NULL || *count > fake.families) *count = fake.families;
}

static VKAPI_ATTR void VKAPI_CALL format_properties(VkPhysicalDevice device, VkFormat format,
                                                    VkFormatProperties *out)
{
    (void)device;
    FUZZ_REQUIRE(fuzz_planes(format) > 1, "format %d has one plane", (int)format);
    out->linearTilingFeatures = out->optimalTilingFeatures = VK_FORMAT_FEATURE_DISJOINT_BIT;
}

/* Mesa 22.3 follows a NULL pointer where one of the two structs is there without the other. */
static VKAPI_ATTR VkResult VKAPI_CALL image_format(VkPhysicalDevice device,
                                                   const VkPhysicalDeviceImageFormatInfo2 *info,
                                                   VkImageFormatProperties2 *out)
{
    (void)device;
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        fuzz_chain_find(info, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    VkExternalImageFormatProperties *shared =
        chain_find(out, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    FUZZ_REQUIRE((external != NULL) == (shared != NULL), "half of a question");
    FUZZ_REQUIRE(info->usage != 0, "VUID-VkPhysicalDeviceImageFormatInfo2-usage-requiredbitmask");
    FUZZ_REQUIRE(info->format != VK_FORMAT_UNDEFINED,
                 "VUID-VkPhysicalDeviceImageFormatInfo2-format-parameter");
    FUZZ_REQUIRE((uint32_t)info->type <= VK_IMAGE_TYPE_3D &&
                     (uint32_t)info->tiling <= VK_IMAGE_TILING_LINEAR,
                 "type %d, tiling %d", (int)info->type, (int)info->tiling);
    FUZZ_REQUIRE(external == NULL || one_bit(external->handleType), "handle type %#x",
                 external->handleType);
    if (shared != NULL) shared->externalMemoryProperties = fake.images;
    out->imageFormatProperties = fake.most;
    return fake.image_result;
}

static VKAPI_ATTR void VKAPI_CALL external_buffer(VkPhysicalDevice device,
                                                  const VkPhysicalDeviceExternalBufferInfo *info,
                                                  VkExternalBufferProperties *out)
{
    (void)device;
    FUZZ_REQUIRE(info->usage != 0, "VUID-VkPhysicalDeviceExternalBufferInfo-usage-requiredbitmask");
    FUZZ_REQUIRE(one_bit(info->handleType), "handle type %#x", info->handleType);
    out->externalMemoryProperties = fake.buffers;
}

static VKAPI_ATTR void VKAPI_CALL
external_semaphore(VkPhysicalDevice device, const VkPhysicalDeviceExternalSemaphoreInfo *info,
                   VkExternalSemaphoreProperties *out)
{
    (void)device;
    (void)info;
    out->externalSemaphoreFeatures = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

static VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice device, const char *layer,
                                                 uint32_t *count, VkExtensionProperties *out)
{
    static const char *const names[] = {
        VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
        VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME};
    (void)device;
    (void)layer;
    for (uint32_t i = 0; out != NULL && i < *count && i < 4; i++)
        strcpy(out[i].extensionName, names[i]);
    if (out == NULL || *count > 4) *count = 4;
    return VK_SUCCESS;
}

/* The machine ---------------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    PFN_vkVoidFunction function;
} row;

static PFN_vkVoidFunction VKAPI_PTR find_device(VkDevice device, const char *name);

/* Without a fallback there is nothing to copy. */
static VKAPI_ATTR void VKAPI_CALL never(void)
{
    FUZZ_REQUIRE(false, "a function of fallbacks");
}

/* By name, for bsearch(). */
#define ROW(name, function)                                                                        \
    {                                                                                              \
#        name, (PFN_vkVoidFunction)(function)                                                      \
    }
static const row rows[] = {
    ROW(vkAllocateCommandBuffers, never),
    ROW(vkAllocateMemory, fake_allocate),
    ROW(vkBeginCommandBuffer, never),
    ROW(vkBindBufferMemory, fake_bind_buffer),
    ROW(vkBindImageMemory, fake_bind_image),
    ROW(vkBindImageMemory2, fake_bind_images),
    ROW(vkCmdCopyBuffer, never),
    ROW(vkCmdCopyBufferToImage, never),
    ROW(vkCmdCopyImageToBuffer, never),
    ROW(vkCmdFillBuffer, never),
    ROW(vkCmdPipelineBarrier, never),
    ROW(vkCmdPipelineBarrier2, never),
    ROW(vkCreateBuffer, fake_create_buffer),
    ROW(vkCreateCommandPool, never),
    ROW(vkCreateFence, never),
    ROW(vkCreateImage, fake_create_image),
    ROW(vkCreateSemaphore, fake_create_semaphore),
    ROW(vkDestroyBuffer, fake_destroy_buffer),
    ROW(vkDestroyCommandPool, never),
    ROW(vkDestroyFence, never),
    ROW(vkDestroyImage, fake_destroy_image),
    ROW(vkDestroySemaphore, fake_destroy_semaphore),
    ROW(vkEndCommandBuffer, never),
    ROW(vkEnumerateDeviceExtensionProperties, extensions),
    ROW(vkEnumeratePhysicalDeviceGroups, groups),
    ROW(vkEnumeratePhysicalDevices, devices),
    ROW(vkFreeMemory, fake_free_memory),
    ROW(vkGetBufferMemoryRequirements2, fake_buffer_needs),
    ROW(vkGetDeviceBufferMemoryRequirements, fake_device_buffer_needs),
    ROW(vkGetDeviceBufferMemoryRequirementsKHR, fake_device_buffer_needs),
    ROW(vkGetDeviceImageMemoryRequirements, fake_device_image_needs),
    ROW(vkGetDeviceImageMemoryRequirementsKHR, fake_device_image_needs),
    ROW(vkGetDeviceProcAddr, find_device),
    ROW(vkGetImageMemoryRequirements2, fake_image_needs),
    ROW(vkGetImageSubresourceLayout, fake_subresource_layout),
    ROW(vkGetMemoryFdKHR, fake_memory_fd),
    ROW(vkGetPhysicalDeviceExternalBufferProperties, external_buffer),
    ROW(vkGetPhysicalDeviceExternalSemaphoreProperties, external_semaphore),
    ROW(vkGetPhysicalDeviceFeatures2, features2),
    ROW(vkGetPhysicalDeviceFormatProperties, format_properties),
    ROW(vkGetPhysicalDeviceImageFormatProperties2, image_format),
    ROW(vkGetPhysicalDeviceMemoryProperties, memory_properties),
    ROW(vkGetPhysicalDeviceProperties, properties),
    ROW(vkGetPhysicalDeviceProperties2, properties2),
    ROW(vkGetPhysicalDeviceQueueFamilyProperties, queue_families),
    ROW(vkGetSemaphoreCounterValue, fake_counter),
    ROW(vkGetSemaphoreCounterValueKHR, fake_counter),
    ROW(vkGetSemaphoreFdKHR, fake_semaphore_fd),
    ROW(vkMapMemory, never),
    ROW(vkQueueSubmit, never),
    ROW(vkWaitForFences, never),
};
#undef ROW

static int compare(const void *name, const void *row_)
{
    return strcmp(name, ((const row *)row_)->name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL find(VkInstance instance, const char *name)
{
    (void)instance;
    const row *found = bsearch(name, rows, sizeof rows / sizeof rows[0], sizeof rows[0], compare);
    bool needs =
        strncmp(name, "vkGetDevice", 11) == 0 && strstr(name, "MemoryRequirements") != NULL;
    return found == NULL || (needs && !fake.tells_needs) ? NULL : found->function;
}

static PFN_vkVoidFunction VKAPI_PTR find_device(VkDevice device, const char *name)
{
    (void)device;
    return find(NULL, name);
}

culv_vk_device_desc fake_desc(void)
{
    static int instance, physical_device, device;
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = find;
    d.instance = (VkInstance)(void *)&instance;
    d.physical_device = (VkPhysicalDevice)(void *)&physical_device;
    d.device = (VkDevice)(void *)&device;
    d.api_version = VK_API_VERSION_1_3;
    return d;
}

static VkExternalMemoryProperties read_sharing(fuzz_reader *r)
{
    VkExternalMemoryProperties p = {
        .externalMemoryFeatures =
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
        .exportFromImportedHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
        .compatibleHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    uint8_t how = fuzz_u8(r);
    if (how < 192) return p;
    p.externalMemoryFeatures = how & 7;
    p.compatibleHandleTypes = fuzz_bits(r, p.compatibleHandleTypes);
    return p;
}

static void read_memory(fuzz_reader *r)
{
    VkPhysicalDeviceMemoryProperties *m = &fake.memory;
    m->memoryHeapCount = 1;
    m->memoryHeaps[0] =
        (VkMemoryHeap){.size = UINT64_C(1) << 32, .flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    m->memoryTypeCount = 1;
    m->memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (fuzz_rarely(r, 8)) {
        m->memoryTypeCount = fuzz_u8(r) % (VK_MAX_MEMORY_TYPES + 1u);
        for (uint32_t i = 0; i < m->memoryTypeCount; i++)
            m->memoryTypes[i].propertyFlags = fuzz_u8(r);
    }
    fake.needs.size = fuzz_value(r, 65536);
    fake.needs.alignment = UINT64_C(1) << (fuzz_rarely(r, 8) ? fuzz_u8(r) & 31 : 6);
    fake.needs.memoryTypeBits = fuzz_bits(r, UINT32_MAX);
    uint8_t dedicated = fuzz_u8(r);
    fake.requires_dedicated = dedicated >= 192;
    fake.prefers_dedicated = (dedicated & 1) != 0;
}

void fake_read(fuzz_reader *r)
{
    static const VkResult results[] = {VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                       VK_ERROR_OUT_OF_HOST_MEMORY,
                                       VK_ERROR_TOO_MANY_OBJECTS,
                                       VK_ERROR_DEVICE_LOST,
                                       VK_ERROR_UNKNOWN,
                                       VK_ERROR_INVALID_EXTERNAL_HANDLE};
    static const uint32_t versions[] = {VK_API_VERSION_1_3, VK_API_VERSION_1_3, VK_API_VERSION_1_3,
                                        VK_API_VERSION_1_2, VK_API_VERSION_1_1};
    memset(&fake, 0, sizeof fake);
    fake.api_version = versions[fuzz_pick(r, 5)];
    fake.families = 1 + fuzz_pick(r, 4);
    fake.max_buffer_size = fuzz_value(r, UINT64_C(1) << 31);
    if (fake.max_buffer_size == 0) fake.max_buffer_size = 1;
    fake.tells_needs = !fuzz_rarely(r, 4);
    fake.buffers = read_sharing(r);
    fake.images = read_sharing(r);
    fake.most.maxExtent.width = fuzz_value32(r, 16384);
    fake.most.maxExtent.height = fuzz_value32(r, 16384);
    fake.most.maxExtent.depth = fuzz_value32(r, 2048);
    fake.most.maxMipLevels = fuzz_value32(r, 15);
    fake.most.maxArrayLayers = fuzz_value32(r, 2048);
    fake.most.sampleCounts = fuzz_bits(r, VK_SAMPLE_COUNT_1_BIT);
    fake.most.maxResourceSize = fuzz_value(r, UINT64_C(1) << 31);
    if (fuzz_rarely(r, 16)) {
        fake.image_result = fuzz_flag(r) ? VK_ERROR_FORMAT_NOT_SUPPORTED : results[fuzz_pick(r, 6)];
        if (fuzz_flag(r)) memset(&fake.most, 0, sizeof fake.most);
    }
    read_memory(r);
    if (fuzz_rarely(r, 4)) {
        fake.fails = 1 + fuzz_pick(r, FAKE_FAILURES - 1);
        fake.result = results[fuzz_pick(r, 6)];
    }
    fake.lies = (VkExtent3D){fuzz_value32(r, 1), fuzz_value32(r, 1), fuzz_value32(r, 1)};
}
