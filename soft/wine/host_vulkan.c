/* SPDX-License-Identifier: MIT */
/* vulkan-1.dll between Wine's Direct3D 12 and Wine's Vulkan: on request, the next memory that
 * Direct3D allocates lies on pages that the process has already (VK_EXT_external_memory_host). So a
 * heap of Direct3D's can be a section's pages, which is what a shared handle of CUDA's means. A
 * program loads it by its path before it makes a device; Wine then finds it by its name. */
#include "host_vulkan.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT __declspec(dllexport)

typedef struct import {
    struct import *next;
    VkDeviceMemory memory;
    void *view;
} import;

static PFN_vkGetInstanceProcAddr real_instance_proc;
static PFN_vkGetDeviceProcAddr real_device_proc;
static PFN_vkCreateDevice real_create_device;
static PFN_vkAllocateMemory real_allocate;
static PFN_vkFreeMemory real_free;
static SRWLOCK lock = SRWLOCK_INIT;
static import *imports;
static __thread void *next_view, *next_pages;

EXPORT int host_vulkan_next(void *view, void *pages)
{
    const int waiting = next_pages != NULL;
    next_view = view;
    next_pages = pages;
    return waiting;
}

EXPORT unsigned host_vulkan_imports(void)
{
    unsigned count = 0;
    AcquireSRWLockShared(&lock);
    for (const import *i = imports; i != NULL; i = i->next)
        count++;
    ReleaseSRWLockShared(&lock);
    return count;
}

static VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                    const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    if (next_pages == NULL) return real_allocate(device, info, callbacks, out);
    VkMemoryAllocateInfo changed = *info;
    const VkImportMemoryHostPointerInfoEXT host = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .pNext = info->pNext,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = next_pages};
    import *made = calloc(1, sizeof *made);
    if (made == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
    changed.pNext = &host;
    const VkResult result = real_allocate(device, &changed, callbacks, out);
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    made->memory = *out;
    made->view = next_view;
    next_view = next_pages = NULL; /* taken */
    AcquireSRWLockExclusive(&lock);
    made->next = imports;
    imports = made;
    ReleaseSRWLockExclusive(&lock);
    return VK_SUCCESS;
}

static void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                   const VkAllocationCallbacks *callbacks)
{
    import *mine = NULL;
    AcquireSRWLockExclusive(&lock);
    for (import **link = &imports; *link != NULL && mine == NULL; link = &(*link)->next)
        if ((*link)->memory == memory) {
            mine = *link;
            *link = mine->next;
            break;
        }
    ReleaseSRWLockExclusive(&lock);
    real_free(device, memory, callbacks);
    if (mine == NULL) return;
    UnmapViewOfFile(mine->view);
    free(mine);
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    static const char *const more[] = {"VK_KHR_external_memory", "VK_EXT_external_memory_host"};
    enum { MORE = sizeof more / sizeof more[0] };
    VkDeviceCreateInfo changed = *info;
    const char **names = malloc((info->enabledExtensionCount + MORE) * sizeof *names);
    if (names == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
    uint32_t count = 0;
    for (; count < info->enabledExtensionCount; count++)
        names[count] = info->ppEnabledExtensionNames[count];
    for (size_t i = 0; i < MORE; i++)
        names[count++] = more[i];
    changed.enabledExtensionCount = count;
    changed.ppEnabledExtensionNames = names;
    const VkResult result = real_create_device(physical, &changed, callbacks, out);
    free(names);
    return result;
}

#define HOOK(name, wanted, function, real)                                                         \
    if (strcmp(name, wanted) == 0 && found != NULL) {                                              \
        memcpy(&real, &found, sizeof found);                                                       \
        return (PFN_vkVoidFunction)(function);                                                     \
    }

static PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    const PFN_vkVoidFunction found = real_device_proc(device, name);
    HOOK(name, "vkAllocateMemory", allocate, real_allocate)
    HOOK(name, "vkFreeMemory", free_memory, real_free)
    return found;
}

EXPORT PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    if (real_instance_proc == NULL) {
        const HMODULE vulkan = LoadLibraryExA("winevulkan.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
        const FARPROC proc =
            vulkan != NULL ? GetProcAddress(vulkan, "vkGetInstanceProcAddr") : NULL;
        memcpy(&real_instance_proc, &proc, sizeof proc);
        if (real_instance_proc == NULL) return NULL;
    }
    const PFN_vkVoidFunction found = real_instance_proc(instance, name);
    HOOK(name, "vkGetDeviceProcAddr", device_proc, real_device_proc)
    HOOK(name, "vkCreateDevice", create_device, real_create_device)
    return found;
}
