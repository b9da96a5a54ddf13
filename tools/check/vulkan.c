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

/* culvert-check as a Vulkan layer: CUDA's kernels in command buffers (VK_NVX_binary_import). What
 * they touch is known by their parameters: addresses of buffers. */

typedef struct addressed {
    struct addressed *next;
    const check_vk_device *device;
    uint64_t buffer, begin, end;
} addressed;
static addressed *all; /* under the model's lock */

VkDeviceAddress VKAPI_CALL check_vkGetBufferDeviceAddress(VkDevice handle,
                                                          const VkBufferDeviceAddressInfo *info)
{
    const check_vk_device *d = check_vk_find(handle);
    const VkDeviceAddress begin = d->next.GetBufferDeviceAddress(handle, info);
    check_model *m = begin != 0 && check_inside == 0 ? check_open() : NULL;
    if (m == NULL) return begin;
    const check_resource *r = check_get(CHECK_OF_VK_BUFFER, CHECK_KEY(info->buffer));
    const uint64_t end = begin + (r != NULL && r->size > 0 ? r->size : 1);
    for (addressed **link = &all; *link != NULL;) { /* what had the address is gone */
        addressed *at = *link;
        if (at->device == d && at->begin < end && begin < at->end) {
            *link = at->next;
            free(at);
        } else
            link = &at->next;
    }
    addressed *made = r != NULL ? calloc(1, sizeof *made) : NULL;
    if (made != NULL) {
        *made = (addressed){all, d, CHECK_KEY(info->buffer), begin, end};
        all = made;
    }
    check_close();
    return begin;
}

static void look_at(const check_vk_device *d, VkCommandBuffer commands, uint64_t word)
{
    for (const addressed *at = all; at != NULL; at = at->next) {
        if (at->device != d || word < at->begin || word >= at->end) continue;
        /* The byte pointed at is used, at least. */
        check_vk_use_buffer(commands, at->buffer, word - at->begin, 1, "vkCmdCuLaunchKernelNVX");
        return;
    }
}

void VKAPI_CALL check_vkCmdCuLaunchKernelNVX(VkCommandBuffer commands,
                                             const VkCuLaunchInfoNVX *info)
{
    const check_vk_device *d = check_vk_find(commands);
    check_model *m = check_inside == 0 ? check_open() : NULL;
    const unsigned char *block = NULL;
    size_t size = 0;
    if (m != NULL) check_vk_runs_code(commands);
    /* CU_LAUNCH_PARAM_BUFFER_POINTER is 1, ..._SIZE is 2. */
    for (const void *const *at = info->pExtras; m != NULL && at != NULL && *at != NULL; at += 2) {
        if ((uintptr_t)*at == 1) block = at[1];
        if ((uintptr_t)*at == 2) memcpy(&size, at[1], sizeof size);
    }
    uint64_t word;
    for (size_t i = 0; m != NULL && block != NULL && i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, block + i, sizeof word);
        look_at(d, commands, word);
    }
    /* How large each parameter is, nobody says. One that is an address is aligned as one, and eight
     * bytes that are aligned can be read. */
    for (size_t i = 0; m != NULL && block == NULL && info->pParams != NULL && i < info->paramCount;
         i++) {
        if (info->pParams[i] == NULL || (uintptr_t)info->pParams[i] % sizeof word != 0) continue;
        memcpy(&word, info->pParams[i], sizeof word);
        look_at(d, commands, word);
    }
    if (m != NULL) check_close();
    d->next.CmdCuLaunchKernelNVX(commands, info);
}

/* culvert-check as a Vulkan layer: which layouts barriers and render passes give to images. */

/* The layouts of a render pass's attachments, before and after it. */
typedef struct pass {
    unsigned count;
    struct {
        VkImageLayout from, to;
    } attachments[];
} pass;

static void pass_made(VkRenderPass handle, pass *made)
{
    check_model *m = made != NULL && check_inside == 0 ? check_open() : NULL;
    if (m == NULL) {
        free(made);
        return;
    }
    free(check_put(CHECK_OF_VK_PASS, CHECK_KEY(handle), made));
    check_close();
}

#define PASS(name, type)                                                                           \
    VkResult VKAPI_CALL check_vk##name(VkDevice handle, const type *info,                          \
                                       const VkAllocationCallbacks *callbacks, VkRenderPass *out)  \
    {                                                                                              \
        const VkResult result = check_vk_find(handle)->next.name(handle, info, callbacks, out);    \
        pass *made =                                                                               \
            result == VK_SUCCESS                                                                   \
                ? calloc(1, sizeof *made + info->attachmentCount * sizeof *made->attachments)      \
                : NULL;                                                                            \
        for (uint32_t i = 0; made != NULL && i < info->attachmentCount; i++) {                     \
            made->attachments[i].from = info->pAttachments[i].initialLayout;                       \
            made->attachments[i].to = info->pAttachments[i].finalLayout;                           \
            made->count++;                                                                         \
        }                                                                                          \
        if (made != NULL) pass_made(*out, made);                                                   \
        return result;                                                                             \
    }
PASS(CreateRenderPass, VkRenderPassCreateInfo)
PASS(CreateRenderPass2, VkRenderPassCreateInfo2)

void VKAPI_CALL check_vkDestroyRenderPass(VkDevice handle, VkRenderPass gone,
                                          const VkAllocationCallbacks *callbacks)
{
    check_model *m = gone != VK_NULL_HANDLE && check_inside == 0 ? check_open() : NULL;
    if (m != NULL) {
        free(check_put(CHECK_OF_VK_PASS, CHECK_KEY(gone), NULL));
        check_close();
    }
    check_vk_find(handle)->next.DestroyRenderPass(handle, gone, callbacks);
}

bool check_vk_is_whole(const check_resource *r, const VkImageSubresourceRange *part)
{
    return part->baseMipLevel == 0 && part->baseArrayLayer == 0 &&
           (part->levelCount == VK_REMAINING_MIP_LEVELS || part->levelCount == r->levels) &&
           (part->layerCount == VK_REMAINING_ARRAY_LAYERS || part->layerCount == r->layers);
}

static void add_change(check_commands *c, const check_resource *r, VkImageLayout from,
                       VkImageLayout to, bool whole, bool acquires, const char *how)
{
    if (c == NULL || r == NULL || r->payload == NULL || (from == to && !acquires)) return;
    const check_access a = {.payload = r->payload,
                            .begin = r->offset,
                            .end = r->offset + r->size,
                            .kind = CHECK_LAYOUT,
                            .how = how,
                            .image = r->image,
                            .layout = (uint32_t)to,
                            .from = (uint32_t)from,
                            .whole = whole,
                            .acquires = acquires};
    check_vk_add(c, &a);
}

void check_vk_change(check_commands *c, VkImage image, VkImageLayout from, VkImageLayout to,
                     const VkImageSubresourceRange *part, uint32_t owner, const char *how)
{
    const check_resource *r = check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(image));
    if (r != NULL)
        add_change(c, r, from, to, check_vk_is_whole(r, part),
                   owner == VK_QUEUE_FAMILY_EXTERNAL || owner == VK_QUEUE_FAMILY_FOREIGN_EXT, how);
}

void check_vk_pass_changes(check_commands *c, VkRenderPass handle, unsigned attachment,
                           uint64_t view, const char *how)
{
    const pass *p = check_get(CHECK_OF_VK_PASS, CHECK_KEY(handle));
    const check_resource *r =
        check_get(CHECK_OF_VK_IMAGE, CHECK_KEY(check_get(CHECK_OF_VK_VIEW, view)));
    if (p == NULL || attachment >= p->count) return;
    add_change(c, r, p->attachments[attachment].from, p->attachments[attachment].to,
               check_get(CHECK_OF_VK_PART, view) == NULL, false, how);
}
