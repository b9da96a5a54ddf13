/* SPDX-License-Identifier: MIT */
/* The layer's entry points: the wrappers made from calls.h and the lookups that hand them out. */
#include "soft_vk.h"

#include "../shared/delay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An output is undefined after an error: what a failed vkCreate...() leaves there is no handle. */
static void spoil(const char *name, void *out)
{
    if (strncmp(name, "Create", 6) == 0 && strstr(name, "Pipelines") == NULL)
        memset(out, 0xa5, sizeof(uint64_t));
}
#define FOURTH(a, b, c, d, ...) ((void *)(uintptr_t)(d))
#define FOURTH_OF(...)          FOURTH(__VA_ARGS__, 0, 0, 0, 0)
#define FAIL(name, args)                                                                           \
    if (soft_vk_must_fail("vk" #name, &error)) {                                                   \
        spoil(#name, FOURTH_OF args);                                                              \
        return error;                                                                              \
    }
#define PASS(name, params, args)                                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        const soft_vk_device *device = soft_vk_device_find(handle);                                \
        VkResult error;                                                                            \
        if (device->soft) FAIL(name, args)                                                         \
        return device->next.name args;                                                             \
    }
#define OWN(name, work, params, args)                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        soft_vk_device *device = soft_vk_device_find(handle);                                      \
        VkResult error;                                                                            \
        if (!device->soft) return device->next.name args;                                          \
        FAIL(name, args)                                                                           \
        return soft_vk_##work(device, SOFT_VK_UNPACK args);                                        \
    }
SOFT_VK_DEVICE_CALLS(PASS, OWN)
#undef PASS
#undef OWN

#define PASS(name, params, args)                                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        VkResult error;                                                                            \
        if (soft_vk_must_fail("vk" #name, &error)) return error;                                   \
        return soft_vk_instance_find(handle)->next.name args;                                      \
    }
SOFT_VK_INSTANCE_CALLS(PASS)
#undef PASS

#define PASS(name, params, args)                                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        const soft_vk_instance *instance = soft_vk_instance_find(handle);                          \
        VkResult error;                                                                            \
        if (soft_vk_is_lavapipe(instance, handle, NULL) && soft_vk_must_fail("vk" #name, &error))  \
            return error;                                                                          \
        return instance->next.name args;                                                           \
    }
#define OWN(name, work, params, args)                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        soft_vk_instance *instance = soft_vk_instance_find(handle);                                \
        VkResult error;                                                                            \
        if (!soft_vk_is_lavapipe(instance, handle, NULL))                                          \
            return other_##name(instance, SOFT_VK_UNPACK args);                                    \
        if (soft_vk_must_fail("vk" #name, &error)) return error;                                   \
        return soft_vk_##work(instance, SOFT_VK_UNPACK args);                                      \
    }
/* Devices that are not lavapipe. They get a record all the same: a wrapper that an outer layer
 * found through vkGetInstanceProcAddr has to know the next function. */
static VkResult other_CreateDevice(soft_vk_instance *instance, VkPhysicalDevice handle,
                                   const VkDeviceCreateInfo *info,
                                   const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    return soft_vk_create_device(instance, false, handle, info, callbacks, out);
}

static VkResult other_GetPhysicalDeviceImageFormatProperties2(
    const soft_vk_instance *instance, VkPhysicalDevice handle,
    const VkPhysicalDeviceImageFormatInfo2 *info, VkImageFormatProperties2 *out)
{
    return instance->next.GetPhysicalDeviceImageFormatProperties2(handle, info, out);
}
#define other_GetPhysicalDeviceImageFormatProperties2KHR                                           \
    other_GetPhysicalDeviceImageFormatProperties2

SOFT_VK_PHYSICAL_DEVICE_CALLS(PASS, OWN)
#undef PASS
#undef OWN

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance handle,
                                                                  const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name);

typedef struct entry {
    const char *name;
    PFN_vkVoidFunction function;
} entry;

#define ENTRY(name, ...) {"vk" #name, (PFN_vkVoidFunction)call_##name},
static const entry instance_entries[] = {
    {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_proc},
    {"vkCreateInstance", (PFN_vkVoidFunction)soft_vk_create_instance},
    {"vkDestroyInstance", (PFN_vkVoidFunction)soft_vk_destroy_instance},
    {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)soft_vk_enumerate_extensions},
    {"vkGetPhysicalDeviceExternalSemaphoreProperties",
     (PFN_vkVoidFunction)soft_vk_external_semaphore_properties},
    {"vkGetPhysicalDeviceExternalSemaphorePropertiesKHR",
     (PFN_vkVoidFunction)soft_vk_external_semaphore_properties},
    {"vkGetPhysicalDeviceFormatProperties2", (PFN_vkVoidFunction)soft_vk_format_properties2},
    {"vkGetPhysicalDeviceFormatProperties2KHR", (PFN_vkVoidFunction)soft_vk_format_properties2},
    {"vkGetPhysicalDeviceFeatures", (PFN_vkVoidFunction)soft_vk_features},
    {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)soft_vk_features2},
    {"vkGetPhysicalDeviceFeatures2KHR", (PFN_vkVoidFunction)soft_vk_features2},
    {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)soft_vk_properties},
    {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)soft_vk_properties2},
    {"vkGetPhysicalDeviceProperties2KHR", (PFN_vkVoidFunction)soft_vk_properties2},
    {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)soft_vk_queue_families},
    {"vkGetPhysicalDeviceQueueFamilyProperties2", (PFN_vkVoidFunction)soft_vk_queue_families2},
    {"vkGetPhysicalDeviceQueueFamilyProperties2KHR", (PFN_vkVoidFunction)soft_vk_queue_families2},
    SOFT_VK_INSTANCE_CALLS(ENTRY) SOFT_VK_PHYSICAL_DEVICE_CALLS(ENTRY, ENTRY)};
static const entry device_entries[] = {
    {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc},
    {"vkDestroyDevice", (PFN_vkVoidFunction)soft_vk_destroy_device},
    {"vkDestroyBuffer", (PFN_vkVoidFunction)soft_vk_destroy_buffer},
    {"vkDestroyImage", (PFN_vkVoidFunction)soft_vk_destroy_image},
    {"vkDestroySemaphore", (PFN_vkVoidFunction)soft_vk_destroy_semaphore},
    {"vkFreeMemory", (PFN_vkVoidFunction)soft_vk_free_memory},
    {"vkGetBufferMemoryRequirements", (PFN_vkVoidFunction)soft_vk_buffer_needs},
    {"vkGetBufferMemoryRequirements2", (PFN_vkVoidFunction)soft_vk_buffer_needs2},
    {"vkGetBufferMemoryRequirements2KHR", (PFN_vkVoidFunction)soft_vk_buffer_needs2},
    {"vkGetImageMemoryRequirements", (PFN_vkVoidFunction)soft_vk_image_needs},
    {"vkGetImageMemoryRequirements2", (PFN_vkVoidFunction)soft_vk_image_needs2},
    {"vkGetImageMemoryRequirements2KHR", (PFN_vkVoidFunction)soft_vk_image_needs2},
    {"vkGetImageSubresourceLayout", (PFN_vkVoidFunction)soft_vk_subresource_layout},
    {"vkCmdCopyImage", (PFN_vkVoidFunction)soft_vk_cmd_copy_image},
    {"vkCmdCopyImageToBuffer", (PFN_vkVoidFunction)soft_vk_cmd_copy_image_to_buffer},
    {"vkCmdCopyBufferToImage", (PFN_vkVoidFunction)soft_vk_cmd_copy_buffer_to_image},
    {"vkGetDeviceBufferMemoryRequirements", (PFN_vkVoidFunction)soft_vk_planned_requirements},
    {"vkGetDeviceBufferMemoryRequirementsKHR", (PFN_vkVoidFunction)soft_vk_planned_requirements},
    {"vkGetBufferOpaqueCaptureAddress", (PFN_vkVoidFunction)soft_vk_capture_address},
    {"vkGetBufferOpaqueCaptureAddressKHR", (PFN_vkVoidFunction)soft_vk_capture_address},
    {"vkDestroyImageView", (PFN_vkVoidFunction)soft_vk_destroy_image_view},
    {"vkDestroySampler", (PFN_vkVoidFunction)soft_vk_destroy_sampler},
    {"vkGetImageViewHandleNVX", (PFN_vkVoidFunction)soft_vk_image_view_handle},
    {"vkGetImageViewHandle64NVX", (PFN_vkVoidFunction)soft_vk_image_view_handle_64},
    {"vkDestroyExternalComputeQueueNV", (PFN_vkVoidFunction)soft_vk_destroy_external_queue},
    {"vkGetExternalComputeQueueDataNV", (PFN_vkVoidFunction)soft_vk_external_queue_data},
    {"vkDestroyCuModuleNVX", (PFN_vkVoidFunction)soft_vk_destroy_cu_module},
    {"vkDestroyCuFunctionNVX", (PFN_vkVoidFunction)soft_vk_destroy_cu_function},
    {"vkCmdCuLaunchKernelNVX", (PFN_vkVoidFunction)soft_vk_cmd_launch},
    {"vkCmdExecuteCommands", (PFN_vkVoidFunction)soft_vk_cmd_execute},
    {"vkFreeCommandBuffers", (PFN_vkVoidFunction)soft_vk_free_commands},
    {"vkDestroyCommandPool", (PFN_vkVoidFunction)soft_vk_destroy_command_pool},
    SOFT_VK_DEVICE_CALLS(ENTRY, ENTRY)};
#undef ENTRY

static PFN_vkVoidFunction lookup(const entry *entries, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(entries[i].name, name) != 0)
        i++;
    return i < count ? entries[i].function : NULL;
}
#define LOOKUP(entries, name) lookup(entries, sizeof(entries) / sizeof(*(entries)), name)

bool soft_vk_can_fail(const char *name)
{
#define NAME(name, ...) "vk" #name,
    static const char *const names[] = {"vkCreateInstance", "vkEnumerateDeviceExtensionProperties",
                                        SOFT_VK_INSTANCE_CALLS(NAME)
                                            SOFT_VK_PHYSICAL_DEVICE_CALLS(NAME, NAME)
                                                SOFT_VK_DEVICE_CALLS(NAME, NAME)};
#undef NAME
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* The functions that the layer may offer where the driver has none. */
static soft_vk_lent lent_by(const char *name)
{
    static const struct {
        const char *name;
        soft_vk_lent lent;
    } functions[] = {
        {"vkGetSemaphoreFdKHR", SOFT_VK_LENT_FD},
        {"vkImportSemaphoreFdKHR", SOFT_VK_LENT_FD},
        {"vkCreateCuModuleNVX", SOFT_VK_LENT_KERNELS},
        {"vkCreateCuFunctionNVX", SOFT_VK_LENT_KERNELS},
        {"vkDestroyCuModuleNVX", SOFT_VK_LENT_KERNELS},
        {"vkDestroyCuFunctionNVX", SOFT_VK_LENT_KERNELS},
        {"vkCmdCuLaunchKernelNVX", SOFT_VK_LENT_KERNELS},
        {"vkGetImageViewHandleNVX", SOFT_VK_LENT_HANDLES},
        {"vkGetImageViewHandle64NVX", SOFT_VK_LENT_HANDLES},
        {"vkGetImageViewAddressNVX", SOFT_VK_LENT_HANDLES},
        {"vkGetImageDrmFormatModifierPropertiesEXT", SOFT_VK_LENT_MODIFIERS},
        {"vkCreateExternalComputeQueueNV", SOFT_VK_LENT_QUEUES},
        {"vkDestroyExternalComputeQueueNV", SOFT_VK_LENT_QUEUES},
        {"vkGetExternalComputeQueueDataNV", SOFT_VK_LENT_QUEUES},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(name, functions[i].name) == 0) return functions[i].lent;
    return SOFT_VK_LENT_COUNT;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance handle,
                                                                  const char *name)
{
    PFN_vkVoidFunction ours = LOOKUP(instance_entries, name);
    if (!handle) return ours;
    const soft_vk_instance *instance = soft_vk_instance_find(handle);
    if (!instance) return ours;
    if (!ours) ours = LOOKUP(device_entries, name);
    PFN_vkVoidFunction next = instance->get_proc(handle, name);
    return ours && (next || lent_by(name) != SOFT_VK_LENT_COUNT) ? ours : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name)
{
    const soft_vk_device *device = soft_vk_device_find(handle);
    if (!device) return NULL;
    PFN_vkVoidFunction ours = LOOKUP(device_entries, name);
    const soft_vk_lent lent = lent_by(name);
    if (device->soft && lent != SOFT_VK_LENT_COUNT) return device->enabled[lent] ? ours : NULL;
    PFN_vkVoidFunction next = device->get_proc(handle, name);
    /* Of other devices the layer sees nothing but the end. */
    bool lookup_or_end =
        strcmp(name, "vkGetDeviceProcAddr") == 0 || strcmp(name, "vkDestroyDevice") == 0;
    return ours && next && (device->soft || lookup_or_end) ? ours : next;
}

SOFT_VK_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiation)
{
    if (!negotiation || negotiation->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        negotiation->loaderLayerInterfaceVersion < CURRENT_LOADER_LAYER_INTERFACE_VERSION)
        return VK_ERROR_INITIALIZATION_FAILED;
    soft_vk_control_init();
    negotiation->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
    negotiation->pfnGetInstanceProcAddr = get_instance_proc;
    negotiation->pfnGetDeviceProcAddr = get_device_proc;
    /* The layer has no physical device function that the loader does not know. */
    negotiation->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}

/* The layer's counters and the call that fails on demand (control.h). */

_Atomic uint64_t soft_vk_instances, soft_vk_devices, soft_vk_semaphores, soft_vk_memories,
    soft_vk_fds, soft_vk_threads, soft_vk_all_semaphores, soft_vk_buffers, soft_vk_images,
    soft_vk_dedicated, soft_vk_modules, soft_vk_functions;

static _Atomic uint64_t calls;
static _Atomic uint64_t countdown; /* 0: nothing armed */
static _Atomic int armed_error;
static _Atomic(const char *) failed_call;
static _Atomic uint64_t
    wanted_by_environment;                 /* N of CULVERT_SOFT_FAIL_AT; 0: none, or armed anew */
static pid_t reader;                       /* who read it; a child of fork() tells nothing */
static _Atomic(const char *) call_to_fail; /* NULL: any call counts */

static struct soft_delays delays = SOFT_DELAYS_INIT;

static void arm(const char *call, uint64_t n, int error)
{
    atomic_store(&countdown, 0);
    atomic_store(&wanted_by_environment, 0);
    atomic_store(&call_to_fail, call);
    atomic_store(&failed_call, NULL);
    /* A failure that says success would leave the outputs unwritten. */
    atomic_store(&armed_error, error == VK_SUCCESS ? VK_ERROR_OUT_OF_HOST_MEMORY : error);
    atomic_store(&countdown, n);
}

static void read_environment(void)
{
    static const char prefix[] = "vulkan:";
    soft_delays_read(&delays, "vulkan", secure_getenv("CULVERT_SOFT_DELAY"));
    const char *text = secure_getenv("CULVERT_SOFT_FAIL_AT");
    if (!text || strncmp(text, prefix, sizeof(prefix) - 1)) return;
    static struct soft_fail_at at; /* its call's name is kept */
    long error = 0;
    bool good = soft_fail_at_parse(text + sizeof(prefix) - 1, &at);
    if (good && at.error) {
        char *end = NULL;
        errno = 0;
        error = strtol(at.error, &end, 10);
        good = !*end && !errno && error >= INT32_MIN && error <= INT32_MAX;
    }
    if (!good) {
        fprintf(stderr,
                "culvert: CULVERT_SOFT_FAIL_AT=%s is not vulkan:[CALL:]N[:ERROR], ignored\n", text);
        return;
    }
    if (at.call[0] && !soft_vk_can_fail(at.call)) {
        fprintf(stderr,
                "culvert: CULVERT_SOFT_FAIL_AT=%s: %s is no call of the layer's that can fail, "
                "ignored\n",
                text, at.call);
        return;
    }
    arm(at.call[0] ? at.call : NULL, at.n, (int)error);
    atomic_store(&wanted_by_environment, at.n);
    reader = getpid();
}

__attribute__((destructor)) static void tell_what_never_failed(void)
{
    const uint64_t left = atomic_load(&countdown), wanted = atomic_load(&wanted_by_environment);
    if (left > 0 && wanted > 0 && reader == getpid())
        soft_fail_at_tell_none("Vulkan", atomic_load(&call_to_fail), wanted - left, wanted);
}

void soft_vk_control_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

bool soft_vk_must_fail(const char *name, VkResult *error)
{
    atomic_fetch_add(&calls, 1);
    soft_delays_pass(&delays, name);
    const char *call = atomic_load(&call_to_fail);
    if (call && !soft_fail_at_counts(call, name)) return false;
    uint64_t left = atomic_load(&countdown);
    while (left && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
    }
    if (left != 1) return false;
    atomic_store(&failed_call, name);
    *error = (VkResult)atomic_load(&armed_error);
    const uint64_t wanted = atomic_load(&wanted_by_environment);
    if (wanted > 0) soft_fail_at_tell(name, wanted);
    return true;
}

SOFT_VK_EXPORT void culvSoftVkCounts(culv_soft_vk_counts *out)
{
    if (!out) return;
    culv_soft_vk_counts now = {
        .struct_size = out->struct_size,
        .instances = atomic_load(&soft_vk_instances),
        .devices = atomic_load(&soft_vk_devices),
        .semaphores = atomic_load(&soft_vk_semaphores),
        .memories = atomic_load(&soft_vk_memories),
        .fds = atomic_load(&soft_vk_fds),
        .threads = atomic_load(&soft_vk_threads),
        .calls = atomic_load(&calls),
        .all_semaphores = atomic_load(&soft_vk_all_semaphores),
        .buffers = atomic_load(&soft_vk_buffers),
        .images = atomic_load(&soft_vk_images),
        .dedicated = atomic_load(&soft_vk_dedicated),
        .modules = atomic_load(&soft_vk_modules),
        .functions = atomic_load(&soft_vk_functions),
    };
    memcpy(out, &now, now.struct_size < sizeof(now) ? now.struct_size : sizeof(now));
}

SOFT_VK_EXPORT void culvSoftVkFailAt(uint64_t n, int error)
{
    soft_vk_control_init();
    arm(NULL, n, error);
}

SOFT_VK_EXPORT const char *culvSoftVkFailedCall(void)
{
    return atomic_load(&failed_call);
}

SOFT_VK_EXPORT void culvSoftVkBefore(uint64_t n, void (*hook)(void *user, const char *call),
                                     void *user)
{
    soft_delays_before(&delays, n, hook, user);
}

/* The handle of a VkDeviceMemory that was freed is the next one's. A driver may give it out again
 * at any time, and a program that takes the number for the memory finds that out here. lavapipe's
 * handles are the addresses of its objects, so the objects come from here. */

enum { ALIGNMENT = 64 };

typedef union block {
    struct {
        union block *next;
        size_t size;
    } head;
    unsigned char room[ALIGNMENT]; /* the object begins behind it */
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *freed; /* the last one first */

static void *VKAPI_CALL allocate(void *user, size_t size, size_t alignment,
                                 VkSystemAllocationScope scope)
{
    (void)user;
    (void)scope;
    if (size == 0 || alignment > ALIGNMENT || size > SIZE_MAX / 2) return NULL;
    pthread_mutex_lock(&lock);
    block **link = &freed;
    while (*link && (*link)->head.size != size)
        link = &(*link)->head.next;
    block *found = *link;
    if (found) *link = found->head.next;
    pthread_mutex_unlock(&lock);
    if (!found)
        found = aligned_alloc(ALIGNMENT,
                              (sizeof(block) + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!found) return NULL;
    found->head.size = size;
    return found + 1;
}

static void VKAPI_CALL release(void *user, void *object)
{
    (void)user;
    if (!object) return;
    block *gone = (block *)object - 1;
    pthread_mutex_lock(&lock);
    gone->head.next = freed;
    freed = gone;
    pthread_mutex_unlock(&lock);
}

static void *VKAPI_CALL reallocate(void *user, void *object, size_t size, size_t alignment,
                                   VkSystemAllocationScope scope)
{
    void *grown = size > 0 ? allocate(user, size, alignment, scope) : NULL;
    if (object && grown) {
        const size_t before = ((block *)object - 1)->head.size;
        memcpy(grown, object, before < size ? before : size);
    }
    if (grown || size == 0) release(user, object);
    return grown;
}

const VkAllocationCallbacks *soft_vk_recycles(const VkAllocationCallbacks *theirs)
{
    static const VkAllocationCallbacks own = {
        .pfnAllocation = allocate, .pfnReallocation = reallocate, .pfnFree = release};
    return theirs ? theirs : &own;
}
