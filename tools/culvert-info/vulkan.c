/* SPDX-License-Identifier: MIT */
/* culvert-info: the Vulkan loader, opened at run time, an instance as Culvert's users make it, and
 * its devices. */
#include "info.h"

#include <stdlib.h>
#include <string.h>

#define GET(vulkan, name)                                                                          \
    PFN_##name name = (PFN_##name)(vulkan)->get_proc((vulkan)->instance, #name)

/* The loader says in words why it finds no driver; vkCreateInstance only says that it finds
 * none. */
static VKAPI_ATTR VkBool32 VKAPI_CALL note_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                   void *user)
{
    struct vulkan_info *vulkan = user;
    (void)severity;
    (void)types;
    if (data->pMessage == NULL || vulkan->num_messages == MAX_LOADER_MESSAGES) return VK_FALSE;
    for (int i = 0; i < vulkan->num_messages;
         i++) /* both enumerations of the devices say the same */
        if (strncmp(vulkan->messages[i], data->pMessage, sizeof vulkan->messages[i] - 1) == 0)
            return VK_FALSE;
    char *message = vulkan->messages[vulkan->num_messages++];
    text_set(message, sizeof vulkan->messages[0], "%s", data->pMessage);
    return VK_FALSE;
}

static bool has_debug_utils(const struct vulkan_info *vulkan)
{
    GET(vulkan, vkEnumerateInstanceExtensionProperties);
    uint32_t count = 0;
    bool found = false;
    if (vkEnumerateInstanceExtensionProperties == NULL ||
        vkEnumerateInstanceExtensionProperties(NULL, &count, NULL) != VK_SUCCESS)
        return false;
    VkExtensionProperties *list = must_alloc(count, sizeof *list);
    if (vkEnumerateInstanceExtensionProperties(NULL, &count, list) >= VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found = found || strcmp(list[i].extensionName, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) == 0;
    free(list);
    return found;
}

static void say_no_driver(struct vulkan_info *vulkan, const char *call, VkResult result)
{
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        text_set(vulkan->why, sizeof vulkan->why, "the Vulkan loader finds no driver (%s: %s)",
                 call, "VK_ERROR_INCOMPATIBLE_DRIVER");
    else if (result == VK_ERROR_INITIALIZATION_FAILED)
        text_set(vulkan->why, sizeof vulkan->why, "no Vulkan driver finds a device (%s: %s)", call,
                 "VK_ERROR_INITIALIZATION_FAILED");
    else
        text_set(vulkan->why, sizeof vulkan->why, "%s failed (VkResult %d)", call, (int)result);
    if (vulkan->num_messages > 0)
        text_add(vulkan->why, sizeof vulkan->why, "; the loader says: %s", vulkan->messages[0]);
}

static void create_instance(struct vulkan_info *vulkan)
{
    GET(vulkan, vkCreateInstance);
    if (vkCreateInstance == NULL) {
        text_set(vulkan->why, sizeof vulkan->why, "%s has no vkCreateInstance", vulkan->path);
        return;
    }
    const char *extensions[16];
    const char *layers[16];
    uint32_t num_extensions = 0;
    uint32_t num_layers = culv_vk_instance_layers(vulkan->get_proc, 16, layers);
    if (num_layers > 16) num_layers = 16;
    VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
        .pfnUserCallback = note_message,
        .pUserData = vulkan};
    bool listen = has_debug_utils(vulkan);
    if (listen) extensions[num_extensions++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .pApplicationName = "culvert-info",
                                     .apiVersion = vulkan->version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pNext = listen ? &messenger : NULL,
                                 .pApplicationInfo = &application,
                                 .enabledLayerCount = num_layers,
                                 .ppEnabledLayerNames = layers,
                                 .enabledExtensionCount = num_extensions,
                                 .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &vulkan->instance);
    if (result != VK_SUCCESS) {
        vulkan->instance = VK_NULL_HANDLE;
        say_no_driver(vulkan, "vkCreateInstance", result);
        return;
    }
    vulkan->soft_layer = num_layers > 0;
}

void vulkan_open(struct vulkan_info *out)
{
    char why[512];
    void *loader = library_open(words.vulkan, why, sizeof why);
    if (loader == NULL) {
        text_set(out->why, sizeof out->why, "the Vulkan loader could not be loaded (%s)", why);
        return;
    }
    library_path(loader, out->path, sizeof out->path);
    void *symbol = library_symbol(loader, "vkGetInstanceProcAddr");
    memcpy(&out->get_proc, &symbol, sizeof out->get_proc);
    if (out->get_proc == NULL) {
        text_set(out->why, sizeof out->why, "%s has no vkGetInstanceProcAddr", out->path);
        return;
    }
    GET(out, vkEnumerateInstanceVersion);
    out->version = VK_API_VERSION_1_0;
    if (vkEnumerateInstanceVersion != NULL) (void)vkEnumerateInstanceVersion(&out->version);
    if (out->version < VK_API_VERSION_1_1) {
        text_set(out->why, sizeof out->why,
                 "the Vulkan loader %s has Vulkan 1.0; Culvert needs 1.1", out->path);
        return;
    }
    create_instance(out);
}

static int by_index(const VkPhysicalDevice *list, uint32_t count, VkPhysicalDevice device)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == device) return (int)i;
    return -1;
}

/* The candidates in the library's order, with each one's place in the instance's. */
static void read_candidates(struct report *report, const VkPhysicalDevice *devices, uint32_t count)
{
    struct vulkan_info *vulkan = &report->vulkan;
    GET(vulkan, vkGetPhysicalDeviceProperties);
    culv_vk_candidate *candidates = must_alloc(count, sizeof *candidates);
    for (uint32_t i = 0; i < count; i++)
        candidates[i] = culv_vk_candidate_init();
    uint32_t ranked = count;
    if (culv_vk_rank_physical_devices(vulkan->get_proc, vulkan->instance, NULL, candidates, ranked,
                                      &ranked) != CULV_OK) {
        text_set(vulkan->why, sizeof vulkan->why, "%s", culv_last_error_message());
        ranked = 0;
    }
    if (ranked > count) ranked = count; /* a device was plugged in meanwhile */
    report->graphics = must_alloc(ranked, sizeof *report->graphics);
    report->num_graphics = ranked;
    for (uint32_t i = 0; i < ranked; i++) {
        struct graphics_device *d = &report->graphics[i];
        VkPhysicalDeviceProperties properties = {0};
        int index = by_index(devices, count, candidates[i].physical_device);
        d->match = candidates[i];
        d->index = index >= 0 ? (uint32_t)index : i;
        if (vkGetPhysicalDeviceProperties != NULL)
            vkGetPhysicalDeviceProperties(d->match.physical_device, &properties);
        d->vendor_id = properties.vendorID;
        d->cuda = -1;
    }
    free(candidates);
}

void vulkan_devices(struct report *report)
{
    struct vulkan_info *vulkan = &report->vulkan;
    uint32_t count = 0;
    if (vulkan->instance == VK_NULL_HANDLE) return;
    GET(vulkan, vkEnumeratePhysicalDevices);
    if (vkEnumeratePhysicalDevices == NULL) {
        text_set(vulkan->why, sizeof vulkan->why, "the instance has no vkEnumeratePhysicalDevices");
        return;
    }
    VkResult result = vkEnumeratePhysicalDevices(vulkan->instance, &count, NULL);
    if (result != VK_SUCCESS) {
        say_no_driver(vulkan, "vkEnumeratePhysicalDevices", result);
        return;
    }
    if (count == 0) {
        text_set(vulkan->why, sizeof vulkan->why, "Vulkan lists no device");
        return;
    }
    VkPhysicalDevice *devices = must_alloc(count, sizeof(VkPhysicalDevice));
    result = vkEnumeratePhysicalDevices(vulkan->instance, &count, devices);
    if (result < VK_SUCCESS)
        say_no_driver(vulkan, "vkEnumeratePhysicalDevices", result);
    else
        read_candidates(report, devices, count);
    free(devices);
}

void vulkan_close(struct vulkan_info *vulkan)
{
    if (vulkan->instance == VK_NULL_HANDLE) return;
    GET(vulkan, vkDestroyInstance);
    if (vkDestroyInstance != NULL) vkDestroyInstance(vulkan->instance, NULL);
    vulkan->instance = VK_NULL_HANDLE;
}
