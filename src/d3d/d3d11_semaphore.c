/* SPDX-License-Identifier: MIT */
/* Fences of Direct3D 11 that Culvert makes. */
#include "d3d/d3d11_core.h"

culv_result culvi_d3d11_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HRESULT hr = ID3D11Device_QueryInterface(culvi_d3d11_device(d3d), &culvi_iid_d3d11_device5,
                                             (void **)&device);
    if (FAILED(hr))
        return culvi_fail_native(
            culvi_d3d_voice(d3d), plan->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE,
            CULV_NATIVE_D3D, (int64_t)(uint32_t)hr, "ID3D11Device::QueryInterface(ID3D11Device5)",
            "this ID3D11Device has no fences (%#lx), which came with Windows 10 1703; use a "
            "resource's keyed mutex",
            (unsigned long)hr);
    hr = ID3D11Device5_CreateFence(device, plan->initial_value,
                                   exportable ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                   &culvi_d3d11.fence_iid, (void **)&fence);
    ID3D11Device5_Release(device);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr, "ID3D11Device5::CreateFence",
                              "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

culv_result culvi_d3d11_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use)
{
    if (use != CULVI_HOST_SIGNALS) return CULV_OK;
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_NO_FORCE,
                      "the host cannot signal an ID3D11Fence: ID3D11DeviceContext4::Signal does "
                      "that, on the thread of the context");
}

int culvi_d3d11_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics, (void)semaphore, (void)value;
    return CULVI_D3D_NOT_IMPLEMENTED; /* check_timelines() refuses before */
}
