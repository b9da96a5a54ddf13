/* SPDX-License-Identifier: MIT */
/* Whether a device's kernels reach another GPU's memory, as its driver says. */
#include "core/reach.h"

#include "cuda/context.h"

#include <string.h>

culv_result culvi_reach_ask(const culv_device *device, const culv_uuid *uuid, const char *label,
                            int *owner, bool *reaches)
{
    int count = 0, can = 0;
    CUdevice other = 0;
    bool found = false;
    const char *call = "cuDeviceGetCount";
    CUresult r = CULVI_CU(device, cuDeviceGetCount, (&count));
    for (int i = 0; i < count && r == CUDA_SUCCESS && !found; i++) {
        CUuuid theirs;
        culv_uuid one;
        call = "cuDeviceGet";
        r = CULVI_CU(device, cuDeviceGet, (&other, i));
        if (r != CUDA_SUCCESS) break;
        call = "cuDeviceGetUuid";
        r = CULVI_CU(device, cuDeviceGetUuid, (&theirs, other));
        if (r != CUDA_SUCCESS) break;
        memcpy(one.bytes, theirs.bytes, sizeof one.bytes);
        found = culvi_uuid_equal(&one, uuid);
    }
    if (r == CUDA_SUCCESS && found) {
        call = "cuDeviceCanAccessPeer";
        r = CULVI_CU(device, cuDeviceCanAccessPeer, (&can, (CUdevice)device->ordinal, other));
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked whether '%s' reaches memory of the "
                               "other GPU",
                               device->caps.name);
    *owner = found ? (int)other : -1;
    *reaches = can != 0;
    return CULV_OK;
}
