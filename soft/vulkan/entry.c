/* SPDX-License-Identifier: MIT */
/* The layer's entry points: the wrappers made from calls.h and the lookups that hand them out. */
#include <string.h>

#include "soft_vk.h"

#define PASS(name, params, args)                                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        const soft_vk_device *device = soft_vk_device_find(handle);                                \
        VkResult error;                                                                            \
        if (device->soft && soft_vk_must_fail("vk" #name, &error)) return error;                   \
        return device->next.name args;                                                             \
    }
#define OWN(name, work, params, args)                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL call_##name params                                       \
    {                                                                                              \
        soft_vk_device *device = soft_vk_device_find(handle);                                      \
        VkResult error;                                                                            \
        if (!device->soft) return device->next.name args;                                          \
        if (soft_vk_must_fail("vk" #name, &error)) return error;                                   \
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
