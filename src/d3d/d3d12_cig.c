/* SPDX-License-Identifier: MIT */
/* CUDA in graphics beside a queue of Direct3D 12. */
#include "d3d/d3d12_core.h"
/* after it */
#include "culvert/d3d12_cig.h"
#include "graphics/cig_source.h"

static const GUID iid_device = {
    0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};

culv_result culv_d3d12_cig_create(culv_d3d12_device *d3d12, ID3D12CommandQueue *queue,
                                  const char *label, culv_cig **out)
{
    ID3D12Device *theirs = NULL;
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, queue, out);
    const HRESULT hr = ID3D12CommandQueue_GetDevice(queue, &iid_device, (void **)&theirs);
    if (FAILED(hr))
        return culvi_fail_d3d12(d3d12, label, hr, "ID3D12CommandQueue::GetDevice",
                                "the queue does not say whose it is");
    ID3D12Device_Release(theirs); /* the queue holds it */
    if (theirs != d3d12->device)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the queue is another ID3D12Device's than the attachment's; attach the "
                          "device that the queue was created with");
    const culvi_cig_source source = {.attribute = CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED,
                                     .type = CIG_DATA_TYPE_D3D12_COMMAND_QUEUE,
                                     .data = queue};
    return culvi_cig_create(&d3d12->base, &source, label, out);
}
