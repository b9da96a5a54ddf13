/* SPDX-License-Identifier: MIT */
/* See vulkan_setup.h. */
#include "vulkan_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dynamic rendering and synchronization2 are core in it. */
#define API_VERSION VK_API_VERSION_1_3
#define MAX_NAMES   16u

static const char validation_layer[] = "VK_LAYER_KHRONOS_validation";

/* What the layer says of itself: issue 5928 of Vulkan-ValidationLayers. */
static bool is_layers_own(const VkDebugUtilsMessengerCallbackDataEXT *data)
{
    return data->pMessageIdName &&
           strcmp(data->pMessageIdName, "UNASSIGNED-VkSemaphore-state-timeout") == 0;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity;
    (void)types;
    if (is_layers_own(data)) return VK_FALSE;
    report("validation: %s", data->pMessage);
    ++*(uint32_t *)user;
    return VK_FALSE;
}

static bool create_instance(vulkan_setup *v, const vulkan_wishes *wishes)
{
    bool validation = wishes->validation;
    if (!vk_ok(volkInitialize(), "loading the Vulkan loader (libvulkan.so.1)")) return false;
    if (vkEnumerateInstanceVersion == NULL) {
        report("the Vulkan loader is older than Vulkan 1.1");
        return false;
    }

    const char *layers[MAX_NAMES], *extensions[MAX_NAMES];
    uint32_t num_layers = 0, num_extensions = 0;
    if (validation) {
        layers[num_layers++] = validation_layer;
        extensions[num_extensions++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        extensions[num_extensions++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
    }
    /* What Culvert needs comes after validation. */
    num_layers +=
        culv_vk_instance_layers(vkGetInstanceProcAddr, MAX_NAMES - num_layers, layers + num_layers);

    const VkValidationFeatureEnableEXT enabled[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .enabledValidationFeatureCount = 1,
                                        .pEnabledValidationFeatures = enabled};
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .pNext = &features,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &v->num_messages};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = wishes->name,
                                     .pEngineName = "culvert",
                                     .engineVersion = CULV_VERSION,
                                     .apiVersion = API_VERSION};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = validation ? &messenger : NULL,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = num_layers,
                                 .ppEnabledLayerNames = layers,
                                 .enabledExtensionCount = num_extensions,
                                 .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &v->instance);
    if (result == VK_ERROR_LAYER_NOT_PRESENT && validation)
        report("--validation: %s is not installed (Debian: vulkan-validationlayers)",
               validation_layer);
    if (!vk_ok(result, "vkCreateInstance")) return false;
    volkLoadInstance(v->instance);
    if (!validation) return true;
    messenger.pNext = NULL;
    return vk_ok(vkCreateDebugUtilsMessengerEXT(v->instance, &messenger, NULL, &v->messenger),
                 "vkCreateDebugUtilsMessengerEXT");
}

/* The best one that CUDA reaches. */
static bool choose_device(vulkan_setup *v, unsigned driver)
{
    culv_vk_candidate *best = &v->candidate;
    culv_device_desc desc = culv_device_desc_init();
    uint32_t count = 0;
    desc.driver = (culv_driver)driver;
    *best = culv_vk_candidate_init();
    if (!culv_ok(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, v->instance, &desc, best, 1,
                                               &count),
                 "culv_vk_rank_physical_devices"))
        return false;
    const char *wrong = count == 0                        ? "Vulkan has no device on this machine "
                                                            "(Debian: mesa-vulkan-drivers)"
                        : !best->reachable                ? best->reason_text
                        : best->api_version < API_VERSION ? "this sample needs Vulkan 1.3"
                                                          : NULL;
    if (wrong) {
        report("%s%s%s", count > 0 ? best->name : "", count > 0 ? ": " : "", wrong);
        return false;
    }
    v->physical_device = best->physical_device;
    v->desc = culv_vk_device_desc_init();
    v->desc.get_instance_proc_addr = vkGetInstanceProcAddr;
    v->desc.instance = v->instance;
    v->desc.physical_device = v->physical_device;
    v->desc.api_version = API_VERSION;
    vkGetPhysicalDeviceProperties(v->physical_device, &v->properties);
    vkGetPhysicalDeviceMemoryProperties(v->physical_device, &v->memory);
    return true;
}

static bool choose_queues(vulkan_setup *v, const vulkan_wishes *wishes)
{
    VkQueueFamilyProperties families[MAX_NAMES];
    uint32_t num_families = MAX_NAMES;
    vkGetPhysicalDeviceQueueFamilyProperties(v->physical_device, &num_families, families);
    v->queue_family = v->compute_family = UINT32_MAX;
    for (uint32_t i = 0; i < num_families; i++) {
        VkQueueFlags flags = families[i].queueFlags;
        bool draws = flags & VK_QUEUE_GRAPHICS_BIT, computes = flags & VK_QUEUE_COMPUTE_BIT;
        if (draws && v->queue_family == UINT32_MAX) v->queue_family = i;
        if (computes && !draws && v->compute_family == UINT32_MAX) v->compute_family = i;
    }
    if (v->queue_family == UINT32_MAX) {
        report("%s has no graphics queue", v->candidate.name);
        return false;
    }
    if (!wishes->kernels || v->compute_family == UINT32_MAX) v->compute_family = v->queue_family;
    v->timestamp_bits = families[v->queue_family].timestampValidBits;
    return true;
}

static bool create_device(vulkan_setup *v, const vulkan_wishes *wishes)
{
    const char *extensions[MAX_NAMES];
    uint32_t num_extensions = culv_vk_device_extensions(API_VERSION, MAX_NAMES, extensions);
    if (wishes->kernels)
        num_extensions += culv_vk_kernel_extensions(API_VERSION, MAX_NAMES - num_extensions,
                                                    extensions + num_extensions);
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
        .dynamicRendering = VK_TRUE,
        .maintenance4 = VK_TRUE}; /* glslang writes LocalSizeId */
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .bufferDeviceAddress = wishes->addresses};
    /* Culvert adds its features to the program's, as the wishes are. */
    culv_vk_device_features more = culv_vk_device_features_init();
    const void *chain = NULL;
    more.one_address = wishes->one_address;
    v->desc.kernels = wishes->kernels;
    if ((wishes->kernels && !culv_ok(culv_vk_check_kernels(&v->desc), "culv_vk_check_kernels")) ||
        !culv_ok(culv_vk_merge_device_features(&v->desc, &features12, &more, &chain),
                 "culv_vk_merge_device_features"))
        return false;
    const float priority = 1.0f;
    const uint32_t families[] = {v->queue_family, v->compute_family};
    VkDeviceQueueCreateInfo queues[2];
    for (uint32_t i = 0; i < 2; i++) {
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = families[i],
                                              .queueCount = 1,
                                              .pQueuePriorities = &priority};
    }
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = chain,
                               .queueCreateInfoCount = families[0] == families[1] ? 1 : 2,
                               .pQueueCreateInfos = queues,
                               .enabledExtensionCount = num_extensions,
                               .ppEnabledExtensionNames = extensions};
    if (!VK_MADE(vkCreateDevice(v->physical_device, &info, NULL, &v->device), "vkCreateDevice",
                 &v->device))
        return false;
    v->desc.device = v->device;
    volkLoadDevice(v->device);
    vkGetDeviceQueue(v->device, v->queue_family, 0, &v->queue);
    vkGetDeviceQueue(v->device, v->compute_family, 0, &v->compute_queue);
    return true;
}

bool vulkan_setup_create(vulkan_setup *v, unsigned driver, const vulkan_wishes *wishes)
{
    memset(v, 0, sizeof *v);
    return interop_allow_twin(driver) && create_instance(v, wishes) && choose_device(v, driver) &&
           choose_queues(v, wishes) && create_device(v, wishes);
}

void vulkan_setup_destroy(vulkan_setup *v)
{
    if (v->device) vkDestroyDevice(v->device, NULL);
    if (v->messenger) vkDestroyDebugUtilsMessengerEXT(v->instance, v->messenger, NULL);
    if (v->instance) vkDestroyInstance(v->instance, NULL);
    v->device = VK_NULL_HANDLE;
    v->messenger = VK_NULL_HANDLE;
    v->instance = VK_NULL_HANDLE;
}

/* The CUDA device that is the Vulkan device. */

bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = v->candidate.driver;
    if (!culv_ok(culv_device_open_for_vk(vkGetInstanceProcAddr, v->instance, v->physical_device,
                                         &desc, device),
                 "culv_device_open_for_vk"))
        return false;
    return interop_enter_device(*device, cu, callers_context);
}

bool interop_attach(const vulkan_setup *v, culv_device *device, bool any_gpu, culv_vk_device **out)
{
    culv_vk_device_desc vk = v->desc;
    vk.allow_other_gpu = any_gpu;
    return culv_ok(culv_vk_attach(device, &vk, out), "culv_vk_attach");
}

bool interop_timeline(culv_vk_device *attached, const char *label, culv_shared_semaphore **out)
{
    culv_vk_semaphore_create_desc desc = culv_vk_semaphore_create_desc_init();
    desc.label = label;
    return culv_ok(culv_vk_semaphore_create(attached, &desc, out), "culv_vk_semaphore_create");
}
