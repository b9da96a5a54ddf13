/* SPDX-License-Identifier: MIT */
/* The Vulkan of fake_vulkan.c, for programs that attach to it by themselves. */
#ifndef CULVERT_TESTS_WINDOWS_FAKE_VULKAN_H_
#define CULVERT_TESTS_WINDOWS_FAKE_VULKAN_H_

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

culv_vk_device_desc fake_vulkan_desc(void);
/* From here on it is the GPU of that UUID. `on_import` looks at what vkAllocateMemory imports,
 * before the handle is closed. */
void fake_vulkan_pose(const uint8_t uuid[VK_UUID_SIZE],
                      void (*on_import)(const VkImportMemoryWin32HandleInfoKHR *import,
                                        VkDeviceSize size));

#endif
