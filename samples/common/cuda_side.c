/* SPDX-License-Identifier: MIT */
/* See cuda_side.h. */
#include "cuda_side.h"

#include <stdio.h>

#include "files.h"

const char *const interop_drivers[] = {[CULV_DRIVER_AUTO] = "auto",
                                       [CULV_DRIVER_NVIDIA] = "nvidia",
                                       [CULV_DRIVER_SOFT] = "soft",
                                       NULL};

bool interop_allow_twin(unsigned driver)
{
    if (driver == CULV_DRIVER_NVIDIA) return true;
    culv_result result = culv_soft_enable();
    return result == CULV_OK || driver != CULV_DRIVER_SOFT || culv_ok(result, "culv_soft_enable");
}

const char *interop_driver_title(culv_driver driver)
{
    return driver == CULV_DRIVER_SOFT ? "the software twin" : "NVIDIA's driver";
}

bool interop_enter_device(culv_device *device, const culv_cuda_api **cu, CUcontext *callers_context)
{
    *cu = CULV_CUDA(device);
    /* A sample works in Culvert's context from one thread: current once is current for good. */
    return cuda_ok(*cu, (*cu)->cuCtxGetCurrent(callers_context), "cuCtxGetCurrent") &&
           cuda_ok(*cu, (*cu)->cuCtxSetCurrent(culv_device_context(device)), "cuCtxSetCurrent");
}

void interop_close_device(culv_device **device, const culv_cuda_api *cu, CUcontext callers_context)
{
    if (*device && cu) (void)cu->cuCtxSetCurrent(callers_context);
    culv_device_close(device);
}

bool interop_load_kernels(culv_device *device, const char *name, culv_kernels **out)
{
    char directory[FILES_PATH_MAX];
    return files_share_path(directory, "") &&
           culv_ok(culv_kernels_load(device, directory, name, out), "culv_kernels_load");
}

bool interop_kernel(culv_kernels *kernels, const char *name, CUfunction *out)
{
    culv_kernel *kernel = NULL;
    if (!culv_ok(culv_kernels_get(kernels, name, &kernel), "culv_kernels_get")) return false;
    *out = culv_kernel_native_handle(kernel);
    return true;
}

bool interop_driver_name(const culv_device *device, char out[64])
{
    culv_device_caps caps = culv_device_caps_init();
    if (!culv_ok(culv_device_get_caps(device, &caps), "culv_device_get_caps")) return false;
    snprintf(out, 64, "%s, CUDA %u.%u", caps.is_software ? "software twin" : "NVIDIA driver",
             caps.driver_version / 1000u, caps.driver_version % 1000u / 10u);
    return true;
}
