/* SPDX-License-Identifier: MIT */
/* Instances and what is asked of a physical device. */
#include "labels.h"
#include "soft_vk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Devices, and their memory, buffers and images, which are counted; one import is refused. */

static pthread_rwlock_t devices_lock = PTHREAD_RWLOCK_INITIALIZER;
static soft_vk_device *devices;

/* The loader puts one pointer first in every dispatchable object: the same for a device, its queues
 * and its command buffers. */
soft_vk_device *soft_vk_device_find(const void *handle)
{
    const void *key;
    memcpy(&key, handle, sizeof(key));
    pthread_rwlock_rdlock(&devices_lock);
    soft_vk_device *device = devices;
    while (device && device->key != key)
        device = device->link;
    pthread_rwlock_unlock(&devices_lock);
    return device;
}

SOFT_VK_EXPORT void culvSoftVkLoseDevices(int lost)
{
    pthread_rwlock_rdlock(&devices_lock);
    for (soft_vk_device *device = devices; device; device = device->link)
        if (device->soft) atomic_store(&device->lost, lost != 0);
    pthread_rwlock_unlock(&devices_lock);
}

static void resolve_device(soft_vk_device *device)
{
#define RESOLVE(name, ...)                                                                         \
    device->next.name = (PFN_vk##name)device->get_proc(device->handle, "vk" #name);
#define RESOLVE_OTHER(name) RESOLVE(name, )
    SOFT_VK_DEVICE_CALLS(RESOLVE, RESOLVE)
    SOFT_VK_DEVICE_OTHERS(RESOLVE_OTHER)
#undef RESOLVE
#undef RESOLVE_OTHER
    /* A device of Vulkan 1.1 has the extensions' names only; both go to the same function of
     * ours. */
    soft_vk_device_table *next = &device->next;
    if (!next->GetSemaphoreCounterValue)
        next->GetSemaphoreCounterValue = next->GetSemaphoreCounterValueKHR;
    if (!next->SignalSemaphore) next->SignalSemaphore = next->SignalSemaphoreKHR;
    if (!next->WaitSemaphores) next->WaitSemaphores = next->WaitSemaphoresKHR;
    if (!next->QueueSubmit2) next->QueueSubmit2 = next->QueueSubmit2KHR;
    if (!next->BindImageMemory2) next->BindImageMemory2 = next->BindImageMemory2KHR;
    if (!next->GetImageMemoryRequirements2)
        next->GetImageMemoryRequirements2 = next->GetImageMemoryRequirements2KHR;
    if (!next->GetBufferMemoryRequirements2)
        next->GetBufferMemoryRequirements2 = next->GetBufferMemoryRequirements2KHR;
    if (!next->GetDeviceBufferMemoryRequirements)
        next->GetDeviceBufferMemoryRequirements = next->GetDeviceBufferMemoryRequirementsKHR;
    if (!next->GetBufferOpaqueCaptureAddress)
        next->GetBufferOpaqueCaptureAddress = next->GetBufferOpaqueCaptureAddressKHR;
}

static VkLayerDeviceCreateInfo *find_device_link(const VkDeviceCreateInfo *info)
{
    const VkLayerDeviceCreateInfo *item = info->pNext;
    while (item && !(item->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     item->function == VK_LAYER_LINK_INFO))
        item = item->pNext;
    return (VkLayerDeviceCreateInfo *)item; /* the loader's own, made to be advanced */
}

static int lent_index(const char *name)
{
    for (int i = 0; i < SOFT_VK_LENT_COUNT; i++)
        if (strcmp(name, soft_vk_lent_extensions[i].extensionName) == 0) return i;
    return -1;
}

/* Copies the list of enabled extensions without those that the driver does not know. */
static const char **strip(const VkDeviceCreateInfo *info, const bool native[SOFT_VK_LENT_COUNT],
                          VkDeviceCreateInfo *copy)
{
    const char **names = malloc((info->enabledExtensionCount + (size_t)1) * sizeof(*names));
    uint32_t count = 0;
    if (!names) return NULL;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const int lent = lent_index(info->ppEnabledExtensionNames[i]);
        if (lent < 0 || native[lent]) names[count++] = info->ppEnabledExtensionNames[i];
    }
    copy->enabledExtensionCount = count;
    copy->ppEnabledExtensionNames = names;
    return names;
}

static bool find_enabled(const VkDeviceCreateInfo *info, bool enabled[SOFT_VK_LENT_COUNT])
{
    bool any = false;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const int lent = lent_index(info->ppEnabledExtensionNames[i]);
        if (lent >= 0) enabled[lent] = any = true;
    }
    return any;
}

VkResult soft_vk_create_device(soft_vk_instance *instance, bool soft, VkPhysicalDevice handle,
                               const VkDeviceCreateInfo *info,
                               const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    VkDeviceCreateInfo copy = *info;
    VkPhysicalDeviceFeatures features;
    soft_vk_asked asked;
    bool sparse = false;
    const char **names = NULL;
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    VkLayerDeviceCreateInfo *link = find_device_link(info);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    soft_vk_device *device = calloc(1, sizeof(*device));
    if (!device) return result;
    device->soft = soft;
    if (soft) (void)soft_vk_is_lavapipe(instance, handle, device->uuid);
    if (soft && find_enabled(info, device->enabled)) {
        bool native[SOFT_VK_LENT_COUNT];
        result = soft_vk_has_lent(instance, handle, native);
        if (result != VK_SUCCESS) goto free_device;
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
        names = strip(info, native, &copy);
        if (!names) goto free_device;
        device->dma_bufs = soft_vk_dma_bufs_on() && device->enabled[SOFT_VK_LENT_MODIFIERS] &&
                           !native[SOFT_VK_LENT_MODIFIERS];
    }
    device->get_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (soft) sparse = soft_vk_sparse_begin(instance, handle, info, &copy, &features, &asked);
    result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (sparse) {
        device->native_sparse = asked.native;
        device->sparse = soft_vk_sparse_make();
    }
    if (!sparse || device->sparse)
        result = instance->next.CreateDevice(handle, &copy, callbacks, out);
    if (soft) soft_vk_sparse_end(&asked);
    free(names);
    if (result != VK_SUCCESS) goto drop_sparse;

    device->handle = *out;
    memcpy(&device->key, *out, sizeof(device->key));
    pthread_mutex_init(&device->lock, NULL);
    resolve_device(device);
    if (device->enabled[SOFT_VK_LENT_KERNELS]) {
        result = soft_vk_kernels_begin(device);
        if (result != VK_SUCCESS) goto destroy_device;
    }
    pthread_rwlock_wrlock(&devices_lock);
    device->link = devices;
    devices = device;
    pthread_rwlock_unlock(&devices_lock);
    if (soft) atomic_fetch_add(&soft_vk_devices, 1);
    return VK_SUCCESS;

destroy_device:
    device->next.DestroyDevice(*out, callbacks);
    pthread_mutex_destroy(&device->lock);
drop_sparse:
    soft_vk_sparse_drop(device);
free_device:
    free(device);
    return result;
}

VkResult soft_vk_CreateDevice(soft_vk_instance *instance, VkPhysicalDevice handle,
                              const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    return soft_vk_create_device(instance, true, handle, info, callbacks, out);
}

/* VUID-vkDestroyDevice-device-05137. Whoever destroys one of them now calls a driver that has no
 * such device: that cannot be caught, but it can be foretold. */
static void name_what_is_left(const soft_vk_device *device)
{
    static const char *const kinds[SOFT_VK_KINDS] = {"VkBuffer", "VkImage", "VkDeviceMemory",
                                                     "VkSemaphore"};
    char text[160] = "";
    size_t length = 0;
    for (int i = 0; i < SOFT_VK_KINDS; i++) {
        const uint64_t live = atomic_load(&device->live[i]);
        if (live == 0) continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %llu",
                                   length == 0 ? "" : ", ", kinds[i], (unsigned long long)live);
    }
    if (length == 0) return;
    fprintf(stderr,
            "VK_LAYER_CULVERT_soft: vkDestroyDevice: objects of the VkDevice are still there (%s). "
            "A call for one of them may crash from now on. "
            "Destroy what Culvert made with the VkDevice, and yours, before it\n",
            text);
}

void VKAPI_CALL soft_vk_destroy_device(VkDevice handle, const VkAllocationCallbacks *callbacks)
{
    if (!handle) return;
    soft_vk_device *device = soft_vk_device_find(handle);
    if (!device) return;
    if (device->soft) name_what_is_left(device);
    soft_vk_semaphores_end(device);
    soft_vk_sparse_drop(device);
    soft_vk_kernels_end(device);
    soft_vk_views_end(device);
    soft_vk_dma_bufs_end(device);
    pthread_rwlock_wrlock(&devices_lock);
    soft_vk_device **link = &devices;
    while (*link != device)
        link = &(*link)->link;
    *link = device->link;
    pthread_rwlock_unlock(&devices_lock);
    device->next.DestroyDevice(handle, callbacks);
    if (device->soft) atomic_fetch_sub(&soft_vk_devices, 1);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

static const VkAllocationCallbacks *keep(const VkAllocationCallbacks *theirs)
{
    return theirs;
}

/* Count what the application makes and destroys. */
#define DESTROY(function, name, handle_type, count, kind, gone, with)                              \
    void VKAPI_CALL function(VkDevice handle, handle_type object,                                  \
                             const VkAllocationCallbacks *callbacks)                               \
    {                                                                                              \
        soft_vk_device *device = soft_vk_device_find(handle);                                      \
        if (device->soft && object != VK_NULL_HANDLE) gone(device, object);                        \
        device->next.name(handle, object, device->soft ? with(callbacks) : callbacks);             \
        if (device->soft && object != VK_NULL_HANDLE) {                                            \
            atomic_fetch_sub(&(count), 1);                                                         \
            atomic_fetch_sub(&device->live[kind], 1);                                              \
        }                                                                                          \
    }

/* A dedicated import of an allocation of cuMemCreate for a buffer has all of its bytes. One program
 * saw NVIDIA's driver refuse less, and no text promises that it is taken. The beginning is taken
 * for an image. */
static bool is_refused(const VkMemoryAllocateInfo *info)
{
    culv_soft_vmm_label label;
    const VkMemoryDedicatedAllocateInfo *dedicated =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    const VkImportMemoryFdInfoKHR *import =
        soft_vk_in_chain(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    if (!dedicated || dedicated->buffer == VK_NULL_HANDLE || !import || import->fd < 0)
        return false;
    return pread(import->fd, &label, sizeof(label), CULV_SOFT_VMM_LABEL_AT) ==
               (ssize_t)sizeof(label) &&
           memcmp(label.magic, CULV_SOFT_VMM_LABEL_MAGIC, sizeof(label.magic)) == 0 &&
           label.size != info->allocationSize;
}

VkResult soft_vk_AllocateMemory(soft_vk_device *device, VkDevice handle,
                                const VkMemoryAllocateInfo *info,
                                const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    if (is_refused(info)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const int fd = soft_vk_sparse_fd(device, info);
    VkResult result =
        soft_vk_dma_buf_is_memory(device, info)
            ? soft_vk_dma_buf_allocate(device, info, out)
            : device->next.AllocateMemory(handle, info, soft_vk_recycles(callbacks), out);
    if (result != VK_SUCCESS && fd >= 0) close(fd);
    if (result == VK_SUCCESS) {
        if (fd >= 0) soft_vk_sparse_memory_made(device, fd, info, *out);
        atomic_fetch_add(&soft_vk_memories, 1);
        atomic_fetch_add(&device->live[SOFT_VK_MEMORIES], 1);
        soft_vk_memory_made(device, info, *out);
        soft_vk_dedicated_made(device, info, *out);
    }
    return result;
}

static void memory_gone(soft_vk_device *device, VkDeviceMemory memory)
{
    soft_vk_memory_gone(device, memory);
    soft_vk_dedicated_gone(device, memory);
    soft_vk_sparse_memory_gone(device, memory);
    soft_vk_dma_buf_memory_gone(device, memory);
}

DESTROY(soft_vk_free_memory, FreeMemory, VkDeviceMemory, soft_vk_memories, SOFT_VK_MEMORIES,
        memory_gone, soft_vk_recycles)

VkResult soft_vk_CreateBuffer(soft_vk_device *device, VkDevice handle,
                              const VkBufferCreateInfo *info,
                              const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    VkResult result = soft_vk_sparse_plays(device, info)
                          ? soft_vk_sparse_create(device, info, out)
                          : device->next.CreateBuffer(handle, info, callbacks, out);
    if (result == VK_SUCCESS) {
        soft_vk_buffer_made(device, info, *out);
        atomic_fetch_add(&soft_vk_buffers, 1);
        atomic_fetch_add(&device->live[SOFT_VK_BUFFERS], 1);
    }
    return result;
}

void VKAPI_CALL soft_vk_destroy_buffer(VkDevice handle, VkBuffer buffer,
                                       const VkAllocationCallbacks *callbacks)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    VkDeviceMemory memory;
    uint64_t address;
    soft_vk_buffer_gone(device, buffer);
    soft_vk_sparse_buffer_gone(device, buffer, &memory, &address);
    device->next.DestroyBuffer(handle, buffer, address != 0 ? NULL : callbacks);
    if (memory != VK_NULL_HANDLE) device->next.FreeMemory(handle, memory, NULL);
    soft_vk_sparse_release(address);
    if (device->soft && buffer != VK_NULL_HANDLE) {
        atomic_fetch_sub(&soft_vk_buffers, 1);
        atomic_fetch_sub(&device->live[SOFT_VK_BUFFERS], 1);
    }
}

VkResult soft_vk_CreateImage(soft_vk_device *device, VkDevice handle, const VkImageCreateInfo *info,
                             const VkAllocationCallbacks *callbacks, VkImage *out)
{
    const bool played = soft_vk_dma_buf_plays(device, info);
    VkResult result = played ? soft_vk_dma_buf_create(device, info, out)
                             : device->next.CreateImage(handle, info, callbacks, out);
    if (result == VK_SUCCESS) {
        if (!played) soft_vk_image_made(device, info, *out);
        atomic_fetch_add(&soft_vk_images, 1);
        atomic_fetch_add(&device->live[SOFT_VK_IMAGES], 1);
    }
    return result;
}

DESTROY(soft_vk_destroy_image, DestroyImage, VkImage, soft_vk_images, SOFT_VK_IMAGES,
        soft_vk_image_gone, keep)
