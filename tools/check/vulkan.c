/* SPDX-License-Identifier: MIT */
/* culvert-check as a Vulkan layer: instances, devices, and which function stands for which. */
#include "vulkan.h"
#include "tree.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct instance {
    struct instance *link;
    const void *key;
    PFN_vkGetInstanceProcAddr get_proc;
    PFN_vkDestroyInstance DestroyInstance;
    PFN_vkCreateDevice CreateDevice;
    PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2;
} instance;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static instance *instances;
static check_vk_device *devices;

/* The loader puts one pointer first in every dispatchable object: the same for an instance and its
 * physical devices, and for a device, its queues and its command buffers. */
static const void *key_of(const void *handle)
{
    const void *key;
    memcpy(&key, handle, sizeof key);
    return key;
}

check_vk_device *check_vk_find(const void *handle)
{
    const void *key = key_of(handle);
    pthread_rwlock_rdlock(&lock);
    check_vk_device *d = devices;
    while (d != NULL && d->key != key)
        d = d->link;
    pthread_rwlock_unlock(&lock);
    return d;
}

static instance *find_instance(const void *handle)
{
    const void *key = key_of(handle);
    pthread_rwlock_rdlock(&lock);
    instance *i = instances;
    while (i != NULL && i->key != key)
        i = i->link;
    pthread_rwlock_unlock(&lock);
    return i;
}

/* In a child of fork() another thread of the parent may have had the lock. */
void check_vulkan_forget(void)
{
    pthread_rwlock_init(&lock, NULL);
}

const void *check_vk_in_chain(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *s = chain;
    while (s != NULL && s->sType != type)
        s = s->pNext;
    return s;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkInstance *out)
{
    const VkLayerInstanceCreateInfo *found = info->pNext;
    while (found != NULL && !(found->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                              found->function == VK_LAYER_LINK_INFO))
        found = found->pNext;
    if (found == NULL) return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(uintptr_t)found;
    PFN_vkGetInstanceProcAddr get_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext; /* the loader made it to be advanced */
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)get_proc(VK_NULL_HANDLE, "vkCreateInstance");
    instance *made = create != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) return VK_ERROR_INITIALIZATION_FAILED;
    const VkResult result = create(info, callbacks, out);
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    check_tree_saw(TREE_VULKAN);
    made->key = key_of(*out);
    made->get_proc = get_proc;
    made->DestroyInstance = (PFN_vkDestroyInstance)get_proc(*out, "vkDestroyInstance");
    made->CreateDevice = (PFN_vkCreateDevice)get_proc(*out, "vkCreateDevice");
    made->GetPhysicalDeviceProperties2 =
        (PFN_vkGetPhysicalDeviceProperties2)get_proc(*out, "vkGetPhysicalDeviceProperties2");
    if (made->GetPhysicalDeviceProperties2 == NULL)
        made->GetPhysicalDeviceProperties2 =
            (PFN_vkGetPhysicalDeviceProperties2)get_proc(*out, "vkGetPhysicalDeviceProperties2KHR");
    pthread_rwlock_wrlock(&lock);
    made->link = instances;
    instances = made;
    pthread_rwlock_unlock(&lock);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                                   const VkAllocationCallbacks *callbacks)
{
    instance *i = handle != NULL ? find_instance(handle) : NULL;
    if (i == NULL) return;
    pthread_rwlock_wrlock(&lock);
    instance **link = &instances;
    while (*link != i)
        link = &(*link)->link;
    *link = i->link;
    pthread_rwlock_unlock(&lock);
    i->DestroyInstance(handle, callbacks);
    free(i);
}

/* Drivers work without these features, and the calls that need them say nothing. */
static void find_features(check_vk_device *d, const void *chain)
{
    const VkPhysicalDeviceTimelineSemaphoreFeatures *timeline =
        check_vk_in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
    const VkPhysicalDeviceVulkan12Features *v12 =
        check_vk_in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceSynchronization2Features *sync2 =
        check_vk_in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES);
    const VkPhysicalDeviceVulkan13Features *v13 =
        check_vk_in_chain(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    d->timelines = (timeline != NULL && timeline->timelineSemaphore) ||
                   (v12 != NULL && v12->timelineSemaphore);
    d->synchronization2 =
        (sync2 != NULL && sync2->synchronization2) || (v13 != NULL && v13->synchronization2);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks,
                                                    VkDevice *out)
{
    const instance *i = find_instance(physical);
    const VkLayerDeviceCreateInfo *found = info->pNext;
    while (found != NULL && !(found->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                              found->function == VK_LAYER_LINK_INFO))
        found = found->pNext;
    if (found == NULL || i == NULL) return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)(uintptr_t)found;
    check_vk_device *d = calloc(1, sizeof *d);
    if (d == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
    d->get_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (i->GetPhysicalDeviceProperties2 != NULL) {
        VkPhysicalDeviceIDProperties id = {.sType =
                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
        i->GetPhysicalDeviceProperties2(physical, &properties);
        d->has_uuid = properties.properties.apiVersion >= VK_API_VERSION_1_1;
        memcpy(d->uuid, id.deviceUUID, CHECK_UUID);
    }
    check_inside++;
    const VkResult result = i->CreateDevice(physical, info, callbacks, out);
    check_inside--;
    if (result != VK_SUCCESS) {
        free(d);
        return result;
    }
    d->handle = *out;
    d->key = key_of(*out);
#define RESOLVE(name) d->next.name = (PFN_vk##name)d->get_proc(*out, "vk" #name);
#define RESOLVE_OTHER(name, core)                                                                  \
    RESOLVE(name)                                                                                  \
    if (d->next.core == NULL) d->next.core = d->next.name;
    CHECK_VK_DEVICE_CALLS(RESOLVE, RESOLVE_OTHER)
    RESOLVE(DestroyDevice)
    RESOLVE(GetImageMemoryRequirements)
#undef RESOLVE
#undef RESOLVE_OTHER
    find_features(d, info->pNext);
    pthread_rwlock_wrlock(&lock);
    d->link = devices;
    devices = d;
    pthread_rwlock_unlock(&lock);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle,
                                                 const VkAllocationCallbacks *callbacks)
{
    check_vk_device *d = handle != NULL ? check_vk_find(handle) : NULL;
    if (d == NULL) return;
    pthread_rwlock_wrlock(&lock);
    check_vk_device **link = &devices;
    while (*link != d)
        link = &(*link)->link;
    *link = d->link;
    pthread_rwlock_unlock(&lock);
    check_inside++;
    d->next.DestroyDevice(handle, callbacks);
    check_inside--;
    check_vk_queues_end(d);
    free(d);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance handle,
                                                                  const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name);

typedef struct entry {
    const char *name;
    PFN_vkVoidFunction function;
} entry;

static const entry instance_entries[] = {
    {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_proc},
    {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
    {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
    {"vkCreateDevice", (PFN_vkVoidFunction)create_device}};
#define ENTRY(name)       {"vk" #name, (PFN_vkVoidFunction)check_vk##name},
#define OTHER(name, core) {"vk" #name, (PFN_vkVoidFunction)check_vk##core},
static const entry device_entries[] = {{"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc},
                                       {"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device},
                                       CHECK_VK_DEVICE_CALLS(ENTRY, OTHER)};
#undef ENTRY
#undef OTHER

static PFN_vkVoidFunction find(const entry *entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0) return entries[i].function;
    return NULL;
}
#define FIND(entries, name) find(entries, sizeof(entries) / sizeof(*(entries)), name)

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance handle,
                                                                  const char *name)
{
    PFN_vkVoidFunction ours = FIND(instance_entries, name);
    const instance *i = handle != NULL ? find_instance(handle) : NULL;
    if (i == NULL) return ours;
    if (ours == NULL) ours = FIND(device_entries, name);
    PFN_vkVoidFunction next = i->get_proc(handle, name);
    return ours != NULL && next != NULL ? ours : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name)
{
    const check_vk_device *d = check_vk_find(handle);
    if (d == NULL) return NULL;
    PFN_vkVoidFunction ours = FIND(device_entries, name);
    PFN_vkVoidFunction next = d->get_proc(handle, name);
    return ours != NULL && next != NULL ? ours : next;
}

CHECK_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
culvert_check_negotiate(VkNegotiateLayerInterface *negotiation);

VkResult VKAPI_CALL culvert_check_negotiate(VkNegotiateLayerInterface *negotiation)
{
    if (negotiation == NULL || negotiation->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        negotiation->loaderLayerInterfaceVersion < CURRENT_LOADER_LAYER_INTERFACE_VERSION)
        return VK_ERROR_INITIALIZATION_FAILED;
    negotiation->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
    negotiation->pfnGetInstanceProcAddr = get_instance_proc;
    negotiation->pfnGetDeviceProcAddr = get_device_proc;
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}

/* Where there are two installations, the loader may find the other one's manifest. Both sides must
 * be seen by one copy of this library: the preloaded one, which is the first of the process. */
CHECK_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation)
{
    VkResult(VKAPI_CALL * negotiate)(VkNegotiateLayerInterface *);
    /* Not RTLD_DEFAULT: of a library that is linked with -Bsymbolic, that begins with itself. */
    void *global = dlopen(NULL, RTLD_NOW);
    void *found = global != NULL ? check_find_symbol(global, "culvert_check_negotiate") : NULL;
    if (global != NULL) (void)dlclose(global);
    if (found == NULL) return culvert_check_negotiate(negotiation);
    memcpy(&negotiate, &found, sizeof negotiate);
    return negotiate(negotiation);
}
