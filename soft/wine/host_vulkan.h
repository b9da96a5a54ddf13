/* SPDX-License-Identifier: MIT */
/* The functions of host/vulkan-1.dll (host_vulkan.c), which the overlay finds by their names. */
#ifndef CULVERT_SOFT_WINE_HOST_VULKAN_H_
#define CULVERT_SOFT_WINE_HOST_VULKAN_H_

#include <windows.h>
/* after it */
#include <vulkan/vulkan_core.h>

/* The pages of the next vkAllocateMemory() of this thread; `view` is unmapped when that memory is
 * freed. Returns whether the ones before still wait. */
int host_vulkan_next(void *view, void *pages);
/* Such memories that are alive. */
unsigned host_vulkan_imports(void);
PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name);

#endif
