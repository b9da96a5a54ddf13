/* SPDX-License-Identifier: MIT */
/* CUDA in graphics: a context whose work runs within a graphics API's queue. cuda.h says how one is
 * made (cuCtxCreate, cigParams) and little of what it lacks: that was not measured. */
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

culv_result culvi_cig_make(const culv_device *device, const char *label,
                           CUdevice_attribute attribute, CUcigDataType type, void *data,
                           CUcontext *out)
{
    const culvi_voice *voice = &device->voice;
    CUctxCigParam param = {.sharedDataType = type, .sharedData = data};
    CUctxCreateParams params = {.cigParams = &param};
    CUcontext context = NULL, popped = NULL;
    int supported = 0;
    if (device->cuda->cuCtxCreate == NULL || device->cuda->cuCtxDestroy == NULL)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "the CUDA driver of '%s' makes no CIG contexts, which came with CUDA "
                          "12.5; use the primary context",
                          device->caps.name);
    CUresult r = CULVI_CU(device, cuDeviceGetAttribute, (&supported, attribute, device->ordinal));
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_cuda(device, label, r, "cuDeviceGetAttribute", CULV_REASON_DRIVER_REFUSED,
                               "the driver could not be asked whether '%s' has CIG contexts",
                               device->caps.name);
    if (r != CUDA_SUCCESS || !supported)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG,
                          "'%s' has no CUDA in graphics for this API (CUdevice_attribute %d is 0); "
                          "use the primary context",
                          device->caps.name, (int)attribute);
    r = CULVI_CU(device, cuCtxCreate, (&context, &params, 0, device->ordinal));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, label, r, "cuCtxCreate", CULV_REASON_CIG,
                               "no CIG context could be made");
    (void)CULVI_CU(device, cuCtxPopCurrent, (&popped)); /* it was made current */
    *out = context;
    return CULV_OK;
}

void culvi_cig_unmake(culv_device *device, CUcontext context)
{
    if (CULVI_CU(device, cuCtxDestroy, (context)) != CUDA_SUCCESS)
        (void)CULVI_CU(device, cuCtxDestroy, (context)); /* an earlier failure's code, perhaps */
}
