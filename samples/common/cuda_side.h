/* SPDX-License-Identifier: MIT */
/* Samples: a CUDA device that Culvert opened, whatever draws. Each function is false, with a
 * message, on failure. */
#ifndef CULVERT_SAMPLES_CUDA_SIDE_H_
#define CULVERT_SAMPLES_CUDA_SIDE_H_

#include "console.h"

/* The words of --device: auto, nvidia and soft, each at its culv_driver. */
extern const char *const interop_drivers[];
/* The software twin may be opened, unless NVIDIA's driver is asked for. */
bool interop_allow_twin(unsigned driver);
/* "NVIDIA's driver" or "the software twin". */
const char *interop_driver_title(culv_driver driver);

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
