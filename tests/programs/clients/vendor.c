/* SPDX-License-Identifier: MIT */
/* A Vulkan layer that says vendor 0x10de (NVIDIA) for every device and changes nothing else: FFmpeg
 * asks for that number before it shares memory with CUDA. One instance at a time. */
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr next_instance_proc;
static PFN_vkGetPhysicalDeviceProperties2 next_properties2;

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device,
                                              VkPhysicalDeviceProperties2 *out)
{
    next_properties2(device, out);
    out->properties.vendorID = 0x10de;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(void *)(size_t)info->pNext;
    while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                    link->function != VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)(void *)(size_t)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkResult result =
        ((PFN_vkCreateInstance)next_instance_proc(NULL, "vkCreateInstance"))(info, callbacks, out);
    if (result != VK_SUCCESS) return result;
    next_properties2 = (PFN_vkGetPhysicalDeviceProperties2)next_instance_proc(
        *out, "vkGetPhysicalDeviceProperties2");
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)instance_proc;
    if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
    if (!strncmp(name, "vkGetPhysicalDeviceProperties2", 30))
        return (PFN_vkVoidFunction)properties2;
    return next_instance_proc ? next_instance_proc(instance, name) : NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *out)
{
    out->loaderLayerInterfaceVersion = 2;
    out->pfnGetInstanceProcAddr = instance_proc;
    out->pfnGetDeviceProcAddr = NULL;
    out->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
