/* SPDX-License-Identifier: MIT */
/* See interop.h. */
#include "interop.h"

#include <stdio.h>

#include "files.h"
#include "report.h"

bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = v->candidate.driver;
    if (!culv_ok(culv_device_open_for_vulkan(vkGetInstanceProcAddr, v->instance, v->physical_device,
                                             &desc, device),
                 "culv_device_open_for_vulkan"))
        return false;
    *cu = CULV_CUDA(*device);
    /* A sample works in Culvert's context from one thread: current once is current for good. */
    return cuda_ok(*cu, (*cu)->cuCtxGetCurrent(callers_context), "cuCtxGetCurrent") &&
           cuda_ok(*cu, (*cu)->cuCtxSetCurrent(culv_device_context(*device)), "cuCtxSetCurrent");
}

void interop_close_device(culv_device **device, const culv_cuda_api *cu, CUcontext callers_context)
{
    if (*device && cu) (void)cu->cuCtxSetCurrent(callers_context);
    culv_device_close(device);
}

bool interop_attach(const vulkan_setup *v, culv_device *device, culv_vk_device **out)
{
    culv_vk_device_desc vk = culv_vk_device_desc_init();
    vk.get_instance_proc_addr = vkGetInstanceProcAddr;
    vk.instance = v->instance;
    vk.physical_device = v->physical_device;
    vk.device = v->device;
    vk.api_version = VK_API_VERSION_1_3;
    vk.num_physical_devices = 1;
    return culv_ok(culv_vk_attach(device, &vk, out), "culv_vk_attach");
}

bool interop_timeline(culv_vk_device *attached, const char *label, culv_vk_semaphore **out)
{
    culv_vk_semaphore_create_desc desc = culv_vk_semaphore_create_desc_init();
    desc.label = label;
    return culv_ok(culv_vk_semaphore_create(attached, &desc, out), "culv_vk_semaphore_create");
}

static bool read_caps(const culv_device *device, culv_device_caps *out)
{
    *out = culv_device_caps_init();
    return culv_ok(culv_device_get_caps(device, out), "culv_device_get_caps");
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
    culv_device_caps caps;
    if (!read_caps(device, &caps)) return false;
    snprintf(out, 64, "%s, CUDA %u.%u", caps.is_software ? "software twin" : "NVIDIA driver",
             caps.driver_version / 1000u, caps.driver_version % 1000u / 10u);
    return true;
}
