/* SPDX-License-Identifier: MIT */
/* Samples: the CUDA side of a Vulkan device, by Culvert. Each function is false, with a message, on
 * failure. */
#ifndef CULVERT_SAMPLES_INTEROP_H_
#define CULVERT_SAMPLES_INTEROP_H_

#include "cuda_side.h"
#include "vulkan_setup.h"

/* Opens the CUDA device that is the Vulkan device, and makes its context current on this thread. */
bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context);

/* Attaches the Vulkan device to it: what Culvert makes of the result, both have. */
bool interop_attach(const vulkan_setup *v, culv_device *device, culv_vk_device **out);
/* The same where the CUDA device may be another GPU. */
bool interop_attach_any(const vulkan_setup *v, culv_device *device, culv_vk_device **out);

/* A timeline semaphore of both sides, at 0. */
bool interop_timeline(culv_vk_device *attached, const char *label, culv_shared_semaphore **out);

#endif
