/* SPDX-License-Identifier: MIT */
/* A Vulkan layer for Wine 8's Direct3D 12, which binds no descriptor tables, and so no textures,
 * where the driver lacks VK_EXT_descriptor_indexing: it looks for heaps in a list that it fills
 * only with the extension. lavapipe 22 lacks it. The layer adds the name to what the driver lists,
 * and takes it out of what the device is created with; the features stay the driver's, none of
 * them. scripts/wine_lib.sh compiles it with the host's compiler. */
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

static const char added[] = VK_EXT_DESCRIPTOR_INDEXING_EXTENSION_NAME;
static PFN_vkGetInstanceProcAddr next_instance_proc;
static PFN_vkGetDeviceProcAddr next_device_proc;
/* The last instance's, and what it calls: a process of the tests has one at a time. */
static VkInstance instance;
static PFN_vkEnumerateDeviceExtensionProperties next_list;

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *out)
{
    const VkLayerInstanceCreateInfo *link = info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO)
        link = link->pNext;
    VkLayerInstanceCreateInfo *mine = (VkLayerInstanceCreateInfo *)(uintptr_t)link;
    next_instance_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    mine->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)next_instance_proc(NULL, "vkCreateInstance");
    const VkResult result = create(info, allocator, out);
    if (result != VK_SUCCESS) return result;
    instance = *out;
    next_list = (PFN_vkEnumerateDeviceExtensionProperties)next_instance_proc(
        *out, "vkEnumerateDeviceExtensionProperties");
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char *layer,
                                                      uint32_t *count,
                                                      VkExtensionProperties *properties)
{
    uint32_t room = *count;
    if (properties == NULL || layer != NULL) {
        const VkResult result = next_list(device, layer, count, properties);
        if (layer == NULL) ++*count;
        return result;
    }
    VkResult result = next_list(device, layer, count, properties);
    if (result != VK_SUCCESS || *count == room) return VK_INCOMPLETE;
    VkExtensionProperties *own = &properties[(*count)++];
    memset(own, 0, sizeof *own);
    strcpy(own->extensionName, added);
    own->specVersion = VK_EXT_DESCRIPTOR_INDEXING_SPEC_VERSION;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *out)
{
    const VkLayerDeviceCreateInfo *link = info->pNext;
    while (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
           link->function != VK_LAYER_LINK_INFO)
        link = link->pNext;
    VkLayerDeviceCreateInfo *mine = (VkLayerDeviceCreateInfo *)(uintptr_t)link;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_device_proc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    mine->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const char **names = calloc(info->enabledExtensionCount + 1, sizeof *names);
    if (names == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkDeviceCreateInfo without = *info;
    without.enabledExtensionCount = 0;
    without.ppEnabledExtensionNames = names;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], added) != 0)
            names[without.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next(instance, "vkCreateDevice");
    const VkResult result = create(physical, &without, allocator, out);
    free(names);
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char *name)
{
    return next_device_proc(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance of, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } own[] = {{"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
               {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
               {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)list_extensions},
               {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc},
               {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_proc}};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(name, own[i].name) == 0) return own[i].function;
    return next_instance_proc != NULL ? next_instance_proc(of, name) : NULL;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version)
{
    if (version->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = get_instance_proc;
    version->pfnGetDeviceProcAddr = get_device_proc;
    version->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
