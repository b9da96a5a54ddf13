/* SPDX-License-Identifier: MIT */
/* Samples: a CUDA device that Culvert opened, whatever draws. Each function is false, with a
 * message, on failure. */
#ifndef CULVERT_SAMPLES_CUDA_SIDE_H_
#define CULVERT_SAMPLES_CUDA_SIDE_H_

#include "console.h"

/* For a program's --device: the software twin may be opened unless `choice` is nvidia. */
bool interop_allow_twin(const char *choice);

/* Makes the device's context current on this thread. */
bool interop_enter_device(culv_device *device, const culv_cuda_api **cu,
                          CUcontext *callers_context);
/* Makes the caller's context current again. After a failure to open as well; *device may be
 * NULL. */
void interop_close_device(culv_device **device, const culv_cuda_api *cu, CUcontext callers_context);

/* The kernels share/culvert/<name>.fatbin or, on the software twin, <name>.soft.so. */
bool interop_load_kernels(culv_device *device, const char *name, culv_kernels **out);
/* One of them, until they are unloaded. */
bool interop_kernel(culv_kernels *kernels, const char *name, CUfunction *out);

/* "NVIDIA driver, CUDA 13.0". */
bool interop_driver_name(const culv_device *device, char out[64]);

#endif
