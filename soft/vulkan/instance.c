/* SPDX-License-Identifier: MIT */
/* Instances and what is asked of a physical device. */
#include <stdlib.h>
#include <string.h>

#include "soft_vk.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static soft_vk_instance *instances;

/* The loader puts one pointer first in every dispatchable object: the same for an instance and its
 * physical devices. */
soft_vk_instance *soft_vk_instance_find(const void *handle)
{
    const void *key;
    memcpy(&key, handle, sizeof(key));
    pthread_rwlock_rdlock(&lock);
    soft_vk_instance *instance = instances;
    while (instance && instance->key != key)
        instance = instance->link;
    pthread_rwlock_unlock(&lock);
    return instance;
}

static void resolve(soft_vk_instance *instance, VkInstance handle)
{
#define RESOLVE(name, ...)                                                                         \
    instance->next.name = (PFN_vk##name)instance->get_proc(handle, "vk" #name);
#define RESOLVE_OTHER(name) RESOLVE(name, )
    SOFT_VK_INSTANCE_CALLS(RESOLVE)
    SOFT_VK_PHYSICAL_DEVICE_CALLS(RESOLVE, RESOLVE)
    SOFT_VK_INSTANCE_OTHERS(RESOLVE_OTHER)
#undef RESOLVE
#undef RESOLVE_OTHER
    /* An application of Vulkan 1.0 has only the extensions' names. */
    soft_vk_instance_table *next = &instance->next;
    if (!next->GetPhysicalDeviceProperties2)
        next->GetPhysicalDeviceProperties2 = next->GetPhysicalDeviceProperties2KHR;
    if (!next->GetPhysicalDeviceFormatProperties2)
        next->GetPhysicalDeviceFormatProperties2 = next->GetPhysicalDeviceFormatProperties2KHR;
    if (!next->GetPhysicalDeviceImageFormatProperties2)
        next->GetPhysicalDeviceImageFormatProperties2 =
            next->GetPhysicalDeviceImageFormatProperties2KHR;
    if (!next->GetPhysicalDeviceFeatures2)
        next->GetPhysicalDeviceFeatures2 = next->GetPhysicalDeviceFeatures2KHR;
    if (!next->GetPhysicalDeviceQueueFamilyProperties2)
        next->GetPhysicalDeviceQueueFamilyProperties2 =
            next->GetPhysicalDeviceQueueFamilyProperties2KHR;
    if (!next->GetPhysicalDeviceExternalSemaphoreProperties)
        next->GetPhysicalDeviceExternalSemaphoreProperties =
            next->GetPhysicalDeviceExternalSemaphorePropertiesKHR;
}

static VkLayerInstanceCreateInfo *find_link(const VkInstanceCreateInfo *info)
{
    const VkLayerInstanceCreateInfo *item = info->pNext;
    while (item && !(item->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     item->function == VK_LAYER_LINK_INFO))
        item = item->pNext;
    return (VkLayerInstanceCreateInfo *)item; /* the loader's own, made to be advanced */
}

VkResult VKAPI_CALL soft_vk_create_instance(const VkInstanceCreateInfo *info,
                                            const VkAllocationCallbacks *callbacks, VkInstance *out)
{
    VkResult result;
    if (soft_vk_must_fail("vkCreateInstance", &result)) return result;
    VkLayerInstanceCreateInfo *link = find_link(info);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    soft_vk_instance *instance = calloc(1, sizeof(*instance));
    if (!instance) return VK_ERROR_OUT_OF_HOST_MEMORY;
    instance->get_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)instance->get_proc(VK_NULL_HANDLE, "vkCreateInstance");
    result = create ? create(info, callbacks, out) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS) {
        free(instance);
        return result;
    }
    memcpy(&instance->key, *out, sizeof(instance->key));
    resolve(instance, *out);
    pthread_rwlock_wrlock(&lock);
    instance->link = instances;
    instances = instance;
    pthread_rwlock_unlock(&lock);
    atomic_fetch_add(&soft_vk_instances, 1);
    return VK_SUCCESS;
}

void VKAPI_CALL soft_vk_destroy_instance(VkInstance handle, const VkAllocationCallbacks *callbacks)
{
    if (!handle) return;
    soft_vk_instance *instance = soft_vk_instance_find(handle);
    if (!instance) return;
    pthread_rwlock_wrlock(&lock);
    soft_vk_instance **link = &instances;
    while (*link != instance)
        link = &(*link)->link;
    *link = instance->link;
    pthread_rwlock_unlock(&lock);
    instance->next.DestroyInstance(handle, callbacks);
    free(instance);
    atomic_fetch_sub(&soft_vk_instances, 1);
}

bool soft_vk_is_lavapipe(const soft_vk_instance *instance, VkPhysicalDevice handle, uint8_t *uuid)
{
    if (!instance->next.GetPhysicalDeviceProperties2) return false;
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, .pNext = &id};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    instance->next.GetPhysicalDeviceProperties2(handle, &properties);
    if (uuid) memcpy(uuid, id.deviceUUID, sizeof(id.deviceUUID));
    return properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
           driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
}

const VkExtensionProperties soft_vk_lent_extensions[SOFT_VK_LENT_COUNT] = {
    {VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, VK_KHR_EXTERNAL_SEMAPHORE_FD_SPEC_VERSION},
    {VK_NVX_BINARY_IMPORT_EXTENSION_NAME, VK_NVX_BINARY_IMPORT_SPEC_VERSION},
    {VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME, 3}, /* which brought the 64-bit handles */
    {VK_NV_EXTERNAL_COMPUTE_QUEUE_EXTENSION_NAME, 1},
    {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_SPEC_VERSION},
    {VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
     VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_SPEC_VERSION},
    {VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME, VK_EXT_QUEUE_FAMILY_FOREIGN_SPEC_VERSION},
};

/* The driver's own list, with room for what is lent. */
static VkResult list_extensions(const soft_vk_instance *instance, VkPhysicalDevice handle,
                                uint32_t *count, VkExtensionProperties **out)
{
    VkResult result;
    do {
        uint32_t n = 0;
        result = instance->next.EnumerateDeviceExtensionProperties(handle, NULL, &n, NULL);
        if (result != VK_SUCCESS) return result;
        VkExtensionProperties *list = calloc((size_t)n + SOFT_VK_LENT_COUNT, sizeof(*list));
        if (!list) return VK_ERROR_OUT_OF_HOST_MEMORY;
        result = instance->next.EnumerateDeviceExtensionProperties(handle, NULL, &n, list);
        if (result == VK_SUCCESS) {
            *count = n;
            *out = list;
        } else {
            free(list);
        }
    } while (result == VK_INCOMPLETE);
    return result;
}

static bool has_extension(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(list[i].extensionName, name) != 0)
        i++;
    return i < count;
}

VkResult soft_vk_has_lent(const soft_vk_instance *instance, VkPhysicalDevice handle,
                          bool out[SOFT_VK_LENT_COUNT])
{
    VkExtensionProperties *list;
    uint32_t count;
    VkResult result = list_extensions(instance, handle, &count, &list);
    if (result != VK_SUCCESS) return result;
    for (int i = 0; i < SOFT_VK_LENT_COUNT; i++)
        /* Dma-bufs that are played are the layer's alone: Mesa 25 imports them, but makes none. */
        out[i] = (i < SOFT_VK_LENT_DMA_BUF || !soft_vk_dma_bufs_on()) &&
                 has_extension(list, count, soft_vk_lent_extensions[i].extensionName);
    free(list);
    return VK_SUCCESS;
}

VkResult VKAPI_CALL soft_vk_enumerate_extensions(VkPhysicalDevice handle, const char *layer,
                                                 uint32_t *count, VkExtensionProperties *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    bool lavapipe = soft_vk_is_lavapipe(instance, handle, NULL);
    VkResult result;
    if (lavapipe && soft_vk_must_fail("vkEnumerateDeviceExtensionProperties", &result)) {
        /* MESA_device_select 22.3 calls this for itself and goes by the count even after an
         * error. */
        if (!out) *count = 0;
        return result;
    }
    if (layer && strcmp(layer, SOFT_VK_LAYER_NAME) == 0) {
        *count = 0; /* extensions are lent to the device, none is the layer's own */
        return VK_SUCCESS;
    }
    if (layer || !lavapipe)
        return instance->next.EnumerateDeviceExtensionProperties(handle, layer, count, out);
    VkExtensionProperties *list;
    uint32_t total;
    result = list_extensions(instance, handle, &total, &list);
    if (result != VK_SUCCESS) return result;
    const int count_lent = soft_vk_dma_bufs_on() ? SOFT_VK_LENT_COUNT : SOFT_VK_LENT_DMA_BUF;
    for (int i = 0; i < count_lent; i++)
        if (!has_extension(list, total, soft_vk_lent_extensions[i].extensionName))
            list[total++] = soft_vk_lent_extensions[i];
    if (!out) {
        *count = total;
    } else {
        if (*count < total)
            result = VK_INCOMPLETE;
        else
            *count = total;
        memcpy(out, list, *count * sizeof(*list));
    }
    free(list);
    return result;
}

void VKAPI_CALL soft_vk_external_semaphore_properties(
    VkPhysicalDevice handle, const VkPhysicalDeviceExternalSemaphoreInfo *info,
    VkExternalSemaphoreProperties *out)
{
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    instance->next.GetPhysicalDeviceExternalSemaphoreProperties(handle, info, out);
    if (info->handleType != VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT ||
        !soft_vk_is_lavapipe(instance, handle, NULL))
        return;
    out->exportFromImportedHandleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    out->compatibleHandleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    out->externalSemaphoreFeatures =
        VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
}
