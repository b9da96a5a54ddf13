/* SPDX-License-Identifier: MIT */
/* Samples: the CUDA side of a Vulkan device, by Culvert. Each function is false, with a message, on
 * failure. */
#ifndef CULVERT_SAMPLES_INTEROP_H_
#define CULVERT_SAMPLES_INTEROP_H_

#include "report.h"
#include "vulkan_setup.h"

/* Opens the CUDA device that is the Vulkan device, and makes its context current on this thread. */
bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context);
/* Makes the caller's context current again. After a failure to open as well; *device may be
 * NULL. */
void interop_close_device(culv_device **device, const culv_cuda_api *cu, CUcontext callers_context);

/* Attaches the Vulkan device to it: what Culvert makes of the result, both have. */
bool interop_attach(const vulkan_setup *v, culv_device *device, culv_vk_device **out);

/* A timeline semaphore of both sides, at 0. */
bool interop_timeline(culv_vk_device *attached, const char *label, culv_vk_semaphore **out);

/* The kernels share/culvert/<name>.fatbin or, on the software twin, <name>.soft.so. */
bool interop_load_kernels(culv_device *device, const char *name, culv_kernels **out);
/* One of them, until they are unloaded. */
bool interop_kernel(culv_kernels *kernels, const char *name, CUfunction *out);

/* "NVIDIA driver, CUDA 13.0". */
bool interop_driver_name(const culv_device *device, char out[64]);

#endif
