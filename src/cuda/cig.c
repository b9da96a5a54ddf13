/* SPDX-License-Identifier: MIT */
/* CUDA in graphics: a context whose work runs within a graphics API's queue. culvert-extra makes
 * them. */
#include "cuda/cig.h"

#include "cuda/context.h"

culv_result culvi_cig_note(culv_device *device)
{
    culvi_scope scope;
    size_t value = 0;
    if (device->cuda->cuCtxGetLimit == NULL) return CULV_OK;
    culv_result result = culvi_enter(device, &scope, NULL);
    if (result != CULV_OK) return result;
    const CUresult r = CULVI_CU(device, cuCtxGetLimit, (&value, CU_LIMIT_CIG_ENABLED));
    culvi_leave(device, &scope);
    /* Drivers before CUDA 12.5 do not know the limit, and have no such contexts. */
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_UNSUPPORTED_LIMIT ||
        r == CUDA_ERROR_NOT_SUPPORTED)
        return CULV_OK;
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, NULL, r, "cuCtxGetLimit", CULV_REASON_DRIVER_REFUSED,
                               "culv_device_desc.context does not say whether it is a CIG context");
    device->caps.cig_context = value != 0;
    return CULV_OK;
}

culv_result culvi_cig_refuse(const culv_device *device, const char *label, const char *what,
                             const char *instead)
{
    if (!device->caps.cig_context) return CULV_OK;
    return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG,
                      "%s: culv_device_desc.context is a CUDA-in-graphics (CIG) context, which has "
                      "none of it; %s, or use a device with another context",
                      what, instead);
}
