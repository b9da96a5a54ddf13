/* SPDX-License-Identifier: MIT */
/* Fences of Direct3D 12 that Culvert makes. */
#include "d3d/d3d12_core.h"

culv_result culvi_d3d12_make_semaphore(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                       bool exportable, uint64_t *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    ID3D12Fence *fence = NULL;
    const HRESULT hr =
        ID3D12Device_CreateFence(culvi_d3d12_device(d3d), plan->initial_value,
                                 exportable ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
                                 &culvi_d3d12.fence_iid, (void **)&fence);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr, "ID3D12Device::CreateFence",
                              "a fence could not be made");
    *out = (uint64_t)(uintptr_t)fence;
    return CULV_OK;
}

culv_result culvi_d3d12_check_timelines(const culvi_graphics *graphics, const char *label,
                                        culvi_host_use use)
{
    (void)graphics, (void)label, (void)use;
    return CULV_OK; /* every fence has a value that the host reads, waits for and signals */
}

int culvi_d3d12_timeline_signal(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value)
{
    (void)graphics;
    const HRESULT hr = ID3D12Fence_Signal((ID3D12Fence *)culvi_d3d_object(semaphore), value);
    return FAILED(hr) ? (int)hr : 0;
}
