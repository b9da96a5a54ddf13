/* SPDX-License-Identifier: MIT */
/* Whether a device's kernels reach another GPU's memory, as its driver says. */
#include "core/reach.h"

#include "cuda/context.h"

culv_result culvi_reach_ask(const culv_device *device, const culv_uuid *uuid, const char *label,
                            int *owner, bool *reaches)
{
    int can = 0;
    const char *call;
    CUresult r = culvi_device_find(device, uuid, owner, &call);
    if (r == CUDA_SUCCESS && *owner >= 0) {
        call = "cuDeviceCanAccessPeer";
        r = CULVI_CU(device, cuDeviceCanAccessPeer,
                     (&can, (CUdevice)device->ordinal, (CUdevice)*owner));
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked whether '%s' reaches memory of the "
                               "other GPU",
                               device->caps.name);
    *reaches = can != 0;
    return CULV_OK;
}
