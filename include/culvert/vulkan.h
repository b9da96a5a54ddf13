/* SPDX-License-Identifier: MIT */
/* Culvert: includes every Vulkan header. If you have a Vulkan header of your own (vulkan.h or
 * volk.h), include it first.
 *
 * In your own Vulkan program, do this:
 *   1. Call vkCreateInstance with culv_vk_instance_layers().               vulkan_device.h
 *      culv_vk_merge_instance_layers() adds them to your own.               vulkan_device.h
 *   2. Simple: culv_vk_choose_physical_device() picks a device that CUDA can
 *      reach, and opens it. Your own choice: culv_vk_rank_physical_devices(),
 *      then culv_device_open_for_vk().
 *   3. Call vkCreateDevice with culv_vk_device_extensions() and the
 *      timelineSemaphore feature (for rings and ...barrier2 structs also
 *      synchronization2). culv_vk_merge_device_extensions() and
 *      culv_vk_merge_device_features() add them to your own.
 *      culv_vk_find_queue_family() finds a family.                          vulkan_device.h
 *   4. Call culv_vk_attach().
 *   5. Check whether a buffer or an image can be shared, and how.           vulkan_device.h
 *      Share memory and what is in it:                                      vulkan_memory.h
 *      let Culvert make it: culv_vk_buffer_create(), culv_vk_image_create();
 *      or import your own:  culv_vk_memory_import(), then culv_buffer_map()
 *                           or culv_vk_image_map().
 *   6. Share semaphores: culv_vk_semaphore_create() or
 *      culv_vk_semaphore_import().                                          vulkan_memory.h
 *      Pass handles to and from another process or API.                     vulkan_memory.h
 *   7. In each frame, call culv_semaphore_wait() and culv_semaphore_signal()
 *      on the stream, and record EXTERNAL barriers in the command buffers.  vulkan_barrier.h
 *      Or keep several frames in flight, which is several times faster.     vulkan_ring.h
 *      Bridge dma-bufs of compositors and cameras, by copies.         extra/vulkan_dma_buf.h
 *   8. Use CUDA's memory in Vulkan: VMM allocations and a growing vector.   vulkan_vmm.h
 *      Have one address for CUDA and Vulkan.                               vulkan_vmm.h
 *   9. Run CUDA kernels in command buffers, without a switch of contexts.   vulkan_kernel.h
 *      Record a captured CUDA graph into them.                              vulkan_kernel.h
 *      If nothing can be shared, ask for copies instead.                    vulkan_memory.h
 *
 * Culvert needs Vulkan 1.1 or later, and for timelines Vulkan 1.2 or VK_KHR_timeline_semaphore. It
 * calls only the Vulkan functions that docs/vulkan.md lists. The VkInstance and VkDevice must
 * outlive what you attach to them and what Culvert makes with them. */
#ifndef CULV_VULKAN_H_
#define CULV_VULKAN_H_

#include "vulkan_barrier.h"
#include "vulkan_device.h"
#include "vulkan_kernel.h"
#include "vulkan_memory.h"
#include "vulkan_ring.h"
#include "vulkan_vmm.h"

#endif
