/* SPDX-License-Identifier: MIT */
/* See interop.h. */
#include "interop.h"

#include "report.h"

bool interop_open_device(const vulkan_setup *v, culv_device **device, const culv_cuda_api **cu,
                         CUcontext *callers_context)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = v->candidate.driver;
    if (!culv_ok(culv_device_open_for_vk(vkGetInstanceProcAddr, v->instance, v->physical_device,
                                         &desc, device),
                 "culv_device_open_for_vk"))
        return false;
    return interop_enter_device(*device, cu, callers_context);
}

static bool attach(const vulkan_setup *v, culv_device *device, bool any, culv_vk_device **out)
{
    culv_vk_device_desc vk = culv_vk_device_desc_init();
    vk.get_instance_proc_addr = vkGetInstanceProcAddr;
    vk.instance = v->instance;
    vk.physical_device = v->physical_device;
    vk.device = v->device;
    vk.api_version = VK_API_VERSION_1_3;
    vk.num_physical_devices = 1;
    vk.kernels = v->kernels;
    vk.allow_other_gpu = any;
    return culv_ok(culv_vk_attach(device, &vk, out), "culv_vk_attach");
}

bool interop_attach(const vulkan_setup *v, culv_device *device, culv_vk_device **out)
{
    return attach(v, device, false, out);
}

bool interop_attach_any(const vulkan_setup *v, culv_device *device, culv_vk_device **out)
{
    return attach(v, device, true, out);
}

bool interop_timeline(culv_vk_device *attached, const char *label, culv_shared_semaphore **out)
{
    culv_vk_semaphore_create_desc desc = culv_vk_semaphore_create_desc_init();
    desc.label = label;
    return culv_ok(culv_vk_semaphore_create(attached, &desc, out), "culv_vk_semaphore_create");
}
