/* SPDX-License-Identifier: MIT */
/* Culvert: Vulkan. Include your own Vulkan header first (vulkan.h or volk.h) if you have one.
 *
 * The road, in the caller's own Vulkan program:
 *   1. vkCreateInstance with culv_vk_instance_extensions() and culv_vk_instance_layers()
 *   2. culv_vk_rank_physical_devices() picks one that CUDA can reach
 *   3. vkCreateDevice with culv_vk_device_extensions() and the timelineSemaphore feature
 *   4. culv_device_open_for_vulkan(), culv_vk_attach()                                  vulkan_device.h
 *   5. whether a buffer or an image can be shared, and how                      vulkan_check.h
 *      memory and what is in it                                                 vulkan_memory.h
 *      made by Culvert:    culv_vk_buffer_create(), culv_vk_image_create()
 *      made by the caller: culv_vk_memory_import(), then culv_buffer_map() or culv_vk_image_map()
 *   6. semaphores: culv_vk_semaphore_create() or culv_vk_semaphore_import()     vulkan_semaphore.h
 *      as handles, for another process or API, and back                         vulkan_export.h
 *   7. each frame: culv_semaphore_wait/signal on the stream, and the EXTERNAL
 *      barriers in the command buffers                                          vulkan_barrier.h
 *      or several frames on their way at once, which is several times faster    vulkan_ring.h
 *   8. CUDA's memory in Vulkan: VMM allocations, and a vector that grows            vulkan_vmm.h
 *   9. where nothing can be shared: copies instead, if asked for                vulkan_fallback.h
 *
 * Vulkan 1.1 or later; timelines by Vulkan 1.2 or VK_KHR_timeline_semaphore. Culvert calls only
 * what docs/vulkan.md lists. The VkInstance and VkDevice must outlive what was attached to them and
 * what Culvert made with them. */
#ifndef CULV_VULKAN_H_
#define CULV_VULKAN_H_

#include "vulkan_barrier.h"
#include "vulkan_check.h"
#include "vulkan_device.h"
#include "vulkan_export.h"
#include "vulkan_fallback.h"
#include "vulkan_memory.h"
#include "vulkan_ring.h"
#include "vulkan_semaphore.h"
#include "vulkan_texture.h"
#include "vulkan_vmm.h"

#endif
