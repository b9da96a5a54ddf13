/* Streams: each must be of the device's context (R6). SPDX-License-Identifier: MIT */
#include "object.h"

static atomic_uintptr_t *slot_of(culv_device *device, CUstream stream)
{
    return &device->streams[((uintptr_t)stream >> 6) % CULVI_STREAM_SLOTS];
}

/* Whether a stream is of the device. In the device's context. */
static culv_result check_stream(culv_device *device, const char *object, CUstream stream)
{
    uintptr_t key = (uintptr_t)stream;
    /* The three default streams are those of the context that is current now. */
    if (key == 0 || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CULV_OK;
    atomic_uintptr_t *slot = slot_of(device, stream);
    if (atomic_load_explicit(slot, memory_order_relaxed) == key) return CULV_OK;
    CUdevice actual = -1;
    CUcontext context = NULL;
    const char *call = "cuStreamGetCtx";
    CUresult r = CULVI_CU(device, cuStreamGetCtx, (stream, &context));
    if (r == CUDA_SUCCESS && context != device->context) {
        CUcontext popped = NULL;
        call = "cuCtxPushCurrent";
        r = CULVI_CU(device, cuCtxPushCurrent, (context));
        if (r == CUDA_SUCCESS) {
            call = "cuCtxGetDevice";
            r = CULVI_CU(device, cuCtxGetDevice, (&actual));
            if (CULVI_CU(device, cuCtxPopCurrent, (&popped)) != CUDA_SUCCESS)
                (void)CULVI_CU(device, cuCtxPopCurrent, (&popped));
        }
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, object, r, call, CULV_REASON_STREAM_DEVICE,
                               "the stream %p could not be examined; was it destroyed?", (void *)stream);
    if (context != device->context)
        return culvi_fail(
            &device->voice, object, CULV_ERROR_INVALID, CULV_REASON_STREAM_DEVICE,
            "the stream %p belongs to a context of CUDA device %d, the object to the context "
            "culv_device_context() of device %d '%s', which the driver does not mix; use a stream made "
            "with that context current",
            (void *)stream, (int)actual, (int)device->ordinal, device->caps.name);
    atomic_store_explicit(slot, key, memory_order_relaxed);
    return CULV_OK;
}

culv_result culvi_enter_stream(culv_device *device, const char *object, CUstream stream, bool *pushed)
{
    const char *call = NULL;
    CUresult r = culvi_enter_frame(device, pushed, &call);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, object, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the device's context could not be made current");
    culv_result result = check_stream(device, object, stream);
    if (result != CULV_OK) culvi_leave_frame(device, *pushed);
    return result;
}

culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream)
{
    atomic_store_explicit(slot_of(device, stream), 0, memory_order_relaxed);
    return check_stream(device, object, stream);
}
