/* SPDX-License-Identifier: MIT */
/* CUDA in graphics beside a queue of Direct3D 12. */
#include "d3d/d3d12_core.h"
/* after it */
#include "culvert/d3d12_cig.h"
#include "graphics/cig_source.h"

culv_result culv_d3d12_cig_create(culv_d3d_device *d3d, ID3D12CommandQueue *queue,
                                  const char *label, culv_cig **out)
{
    ID3D12Device *theirs = NULL;
    CULVI_REQUIRE(NULL, d3d);
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    CULVI_REQUIRE2(voice, queue, out);
    culv_result result = culvi_d3d_check_api(d3d, &culvi_d3d12, __func__);
    if (result != CULV_OK) return result;
    const HRESULT hr =
        ID3D12CommandQueue_GetDevice(queue, &culvi_d3d12.device_iid, (void **)&theirs);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, label, hr, "ID3D12CommandQueue::GetDevice",
                              "the queue does not say whose it is");
    ID3D12Device_Release(theirs); /* the queue holds it */
    if (theirs != culvi_d3d12_device(d3d))
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the queue is another ID3D12Device's than the attachment's; attach the "
                          "device that the queue was created with");
    const culvi_cig_source source = {.attribute = CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED,
                                     .type = CIG_DATA_TYPE_D3D12_COMMAND_QUEUE,
                                     .data = queue};
    return culvi_cig_create(&d3d->base, &source, label, out);
}
