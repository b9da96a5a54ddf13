/* SPDX-License-Identifier: MIT */
/* Culvert: a CUDA-in-graphics context for a VkDevice (culvert/extra/cig.h), by
 * VK_NV_external_compute_queue. */
#ifndef CULV_EXTRA_VULKAN_CIG_H_
#define CULV_EXTRA_VULKAN_CIG_H_

#include "cig.h"

#include <culvert/vulkan_device.h>

CULV_EXTERN_C_BEGIN

/** Makes a CIG context for a queue of Vulkan. `vulkan` describes the VkDevice, as for
 * culv_vk_attach(); the VkDevice need not be attached. You must have created it with the extension
 * VK_NV_external_compute_queue and with a VkExternalComputeQueueDeviceCreateInfoNV whose
 * reservedExternalQueues is 1 or more. `queue` must support graphics commands; CUDA's work may run
 * at the same time as that queue's work. The label may be NULL; it is copied (up to 63 bytes). The
 * context is not current on the calling thread afterwards. The call also makes a
 * VkExternalComputeQueueNV. culv_cig_destroy() destroys it after the context.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; EXTENSION_MISSING: the VkDevice was created without
 * the extension; DEVICE_MISMATCH: it is another GPU), UNSUPPORTED (DRIVER_TOO_OLD; CIG: the device
 * has no CIG, or Vulkan has no external queues), DRIVER (CIG), ASYNC, OUT_OF_MEMORY.
 * Ownership: the VkDevice and its queue stay yours and must outlive *out. *out is yours, for
 * culv_cig_destroy().
 * Source: cuda.h, cuCtxCreate_v4, CIG_DATA_TYPE_NV_BLOB; vkGetExternalComputeQueueDataNV. */
CULV_EXTRA culv_result culv_vk_cig_create(culv_device *device, const culv_vk_device_desc *vulkan,
                                          VkQueue queue, const char *label, culv_cig **out);

CULV_EXTERN_C_END

#endif
