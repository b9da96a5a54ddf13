/* SPDX-License-Identifier: MIT */
/* Culvert: includes every Vulkan header. If your program includes vulkan.h or volk.h itself,
 * include that first.
 *
 * In your own Vulkan program, do this:
 *   1. Call vkCreateInstance with culv_vk_instance_layers().                vulkan_device.h
 *      culv_vk_merge_instance_layers() adds them to your own.               vulkan_device.h
 *   2. Let culv_vk_choose_physical_device() pick and open a device that CUDA
 *      can reach. To choose yourself, call culv_vk_rank_physical_devices() and
 *      then culv_device_open_for_vk().                                      vulkan_device.h
 *   3. Call vkCreateDevice with culv_vk_device_extensions() and the
 *      timelineSemaphore feature (rings and ...barrier2 structs also need
 *      synchronization2). culv_vk_merge_device_extensions() and
 *      culv_vk_merge_device_features() add them to your own.
 *      culv_vk_find_queue_family() finds a family.                          vulkan_device.h
 *   4. Call culv_vk_attach().                                               vulkan_device.h
 *   5. Check whether a buffer or an image can be shared, and how.           vulkan_device.h
 *      Let Culvert make it: culv_vk_buffer_create(), culv_vk_image_create().
 *      Or import your own: culv_vk_memory_import(), then culv_buffer_map()
 *      or culv_vk_image_map().                                              vulkan_memory.h
 *   6. Share semaphores: culv_vk_semaphore_create() or
 *      culv_vk_semaphore_import().                                          vulkan_memory.h
 *      Pass handles to and from another process or API.                     vulkan_memory.h
 *   7. In each frame, call culv_semaphore_wait() and culv_semaphore_signal()
 *      on the stream, and record EXTERNAL barriers in the command buffers.  vulkan_barrier.h
 *      A ring of frames is several times faster: both sides work at once.   vulkan_ring.h
 *      Copy to and from dma-bufs of compositors and cameras.           extra/vulkan_dma_buf.h
 *   8. Use CUDA's memory in Vulkan: VMM allocations and growing vectors.    vulkan_vmm.h
 *      Give memory the same address in CUDA and in Vulkan.                  vulkan_vmm.h
 *   9. Run CUDA kernels and captured CUDA graphs in command buffers, without
 *      a switch of contexts.                                                vulkan_kernel.h
 *      If nothing can be shared, ask for copies instead.                    vulkan_memory.h
 *
 * Culvert needs Vulkan 1.1 or later, and for timelines Vulkan 1.2 or VK_KHR_timeline_semaphore. It
 * calls only the Vulkan functions that docs/vulkan.md lists. Destroy the VkInstance and VkDevice
 * after the attachment and after everything that Culvert made with them. */
#ifndef CULV_VULKAN_H_
#define CULV_VULKAN_H_

#include "vulkan_barrier.h"
#include "vulkan_device.h"
#include "vulkan_kernel.h"
#include "vulkan_memory.h"
#include "vulkan_ring.h"
#include "vulkan_vmm.h"

#endif
