/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: asks Vulkan, opened at run time, for lavapipe's and SwiftShader's
 * devices. */
#include "partner.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GET(name) PFN_##name name = (PFN_##name)get(instance, #name)

static int read_devices(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                        struct soft_found_device *found, int capacity)
{
    GET(vkEnumeratePhysicalDevices);
    GET(vkGetPhysicalDeviceProperties2);
    if (vkEnumeratePhysicalDevices == NULL || vkGetPhysicalDeviceProperties2 == NULL) return 0;
    uint32_t total = 0;
    if (vkEnumeratePhysicalDevices(instance, &total, NULL) != VK_SUCCESS || total == 0) return 0;
    VkPhysicalDevice *devices = calloc(total, sizeof(VkPhysicalDevice));
    if (devices == NULL) return 0;
    int count = 0;
    if (vkEnumeratePhysicalDevices(instance, &total, devices) != VK_SUCCESS) total = 0;
    for (uint32_t i = 0; i < total && count < capacity; i++) {
        VkPhysicalDeviceProperties properties;
        VkPhysicalDeviceIDProperties id;
        const enum soft_partner partner =
            soft_partner_of(vkGetPhysicalDeviceProperties2, devices[i], &properties, &id);
        const char *differs = partner == SOFT_SWIFTSHADER
                                  ? soft_swiftshader_differs(instance, get, devices[i])
                                  : NULL;
        if (differs != NULL)
            fprintf(stderr,
                    "culvert software twin: %s is no device of it: the twin does not know its %s\n",
                    properties.deviceName, differs);
        if (partner == SOFT_NO_PARTNER || differs != NULL) continue;
        found[count].partner = partner;
        snprintf(found[count].name, sizeof(found[count].name), "%s", properties.deviceName);
        memcpy(found[count].uuid, id.deviceUUID, sizeof(found[count].uuid));
        count++;
    }
    free(devices);
    return count;
}

/* The loader unloads its drivers with the last instance, and NVIDIA's takes the thread's current
 * EGL context with it then (measured with 580). */
void soft_vulkan_keep_drivers(void)
{
    static const char *const names[] = {"libGLX_nvidia.so.0", "libEGL_nvidia.so.0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
        if (library != NULL) dlclose(library);
    }
}

VkInstance soft_vulkan_open(PFN_vkGetInstanceProcAddr *out)
{
    /* Never closed: drivers behind the loader do not all survive being unloaded. */
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get = NULL;
    VkInstance instance = VK_NULL_HANDLE;
    if (library == NULL) return instance;
    void *symbol = dlsym(library, "vkGetInstanceProcAddr");
    memcpy(&get, &symbol, sizeof(get));
    if (get == NULL) return instance;
    GET(vkCreateInstance);
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "culvert software twin",
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (vkCreateInstance == NULL || vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    soft_vulkan_keep_drivers();
    *out = get;
    return instance;
}

void soft_vulkan_close(VkInstance instance, PFN_vkGetInstanceProcAddr get)
{
    GET(vkDestroyInstance);
    if (vkDestroyInstance != NULL) vkDestroyInstance(instance, NULL);
}

VkDevice soft_vulkan_device(VkInstance instance, PFN_vkGetInstanceProcAddr get,
                            VkPhysicalDevice physical, const char *const *extensions,
                            uint32_t num_extensions, PFN_vkGetDeviceProcAddr *get_of_device)
{
    GET(vkCreateDevice);
    GET(vkGetDeviceProcAddr);
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue,
                                     .enabledExtensionCount = num_extensions,
                                     .ppEnabledExtensionNames = extensions};
    VkDevice device = VK_NULL_HANDLE;
    if (vkCreateDevice == NULL || vkGetDeviceProcAddr == NULL ||
        vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
        return VK_NULL_HANDLE;
    *get_of_device = vkGetDeviceProcAddr;
    return device;
}

void soft_vulkan_device_close(VkDevice device, PFN_vkGetDeviceProcAddr get_of_device)
{
    PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)get_of_device(device, "vkDestroyDevice");
    if (destroy != NULL) destroy(device, NULL);
}

int soft_vulkan_devices(struct soft_found_device *found, int capacity)
{
    PFN_vkGetInstanceProcAddr get;
    VkInstance instance = soft_vulkan_open(&get);
    if (instance == VK_NULL_HANDLE) return 0;
    const int count = read_devices(instance, get, found, capacity);
    soft_vulkan_close(instance, get);
    return count;
}
