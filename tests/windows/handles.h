/* SPDX-License-Identifier: MIT */
/* What handles.c, fake_vulkan.c and vmm_vulkan.c share. */
#ifndef CULVERT_TESTS_WINDOWS_HANDLES_H_
#define CULVERT_TESTS_WINDOWS_HANDLES_H_

#ifndef WIN32_LEAN_AND_MEAN
#    define WIN32_LEAN_AND_MEAN
#endif
#ifndef VK_NO_PROTOTYPES
#    define VK_NO_PROTOTYPES
#endif
#include <windows.h>
/* After windows.h, whose types it wants. */
#include <vulkan/vulkan_core.h>
#include <vulkan/vulkan_win32.h>

#include <culvert/vulkan.h>

#include "scene.h"

/* A section that stands for an exported object. */
void *section_make(const wchar_t *name);
/* A device whose imports are of such sections, and whose memory maps nothing. */
culv_device *handles_device(void);

/* A device attached to the Vulkan of fake_vulkan.c, which says to be its GPU. `on_import` looks at
 * what vkAllocateMemory imports, before the handle is closed; NULL: nobody does. */
typedef struct attached {
    culv_device *device;
    culv_vk_device *vk;
} attached;
void fake_vulkan_attach(attached *a, culv_device *device,
                        void (*on_import)(const VkImportMemoryWin32HandleInfoKHR *import,
                                          VkDeviceSize size));

#endif
