/* SPDX-License-Identifier: MIT */
/* Streams: each must be of the device's context (R6). */
#include "cuda/context.h"

#include <stdio.h>

static bool is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

void culvi_stream_name(CUstream stream, char out[40])
{
    if (stream == CU_STREAM_PER_THREAD)
        snprintf(out, 40, "the per-thread default stream");
    else if (is_default(stream))
        snprintf(out, 40, "the legacy default stream");
    else
        snprintf(out, 40, "stream %p", (void *)stream);
}

/* The first of the slots that a stream may be in. Fibonacci hashing: handles are aligned
 * addresses. */
static size_t first_slot(CUstream stream)
{
    uint64_t mixed = (uint64_t)(uintptr_t)stream * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 58) & (CULVI_STREAM_SLOTS - CULVI_STREAM_WAYS);
}

bool culvi_stream_known(const culv_device *device, CUstream stream)
{
    const atomic_uintptr_t *slots = &device->streams[first_slot(stream)];
    for (int i = 0; i < CULVI_STREAM_WAYS; i++)
        if (atomic_load_explicit(&slots[i], memory_order_relaxed) == (uintptr_t)stream)
            return !is_default(stream);
    return false;
}

void culvi_streams_forget(culv_device *device)
{
    for (int i = 0; i < CULVI_STREAM_SLOTS; i++)
        atomic_store_explicit(&device->streams[i], 0, memory_order_relaxed);
}

/* The oldest one gives way. Two threads may lose one another's: then it is checked again. */
static void remember(culv_device *device, CUstream stream)
{
    atomic_uintptr_t *slots = &device->streams[first_slot(stream)];
    for (int i = CULVI_STREAM_WAYS - 1; i > 0; i--)
        atomic_store_explicit(&slots[i], atomic_load_explicit(&slots[i - 1], memory_order_relaxed),
                              memory_order_relaxed);
    atomic_store_explicit(&slots[0], (uintptr_t)stream, memory_order_relaxed);
}

/* Drivers since 12.4 tell. cuStreamGetCtx() answers a context of its own for such a stream. */
static bool is_green(const culv_device *device, CUstream stream)
{
    CUresult(CUDAAPI * get)(CUstream stream, void **green);
    void *green = NULL;
    void (*found)(void) = culvi_cuda_proc(device->cuda, "cuStreamGetGreenCtx", 12040);
    if (found == NULL) return false;
    memcpy(&get, &found, sizeof get);
    return get(stream, &green) == CUDA_SUCCESS && green != NULL;
}

/* Whether a stream is of the device. In the device's context. */
static culv_result check_stream(culv_device *device, const char *object, CUstream stream,
                                bool *green)
{
    CUdevice actual = -1;
    CUcontext context = NULL;
    const char *call = "cuStreamGetCtx";
    CUresult r = CULVI_CU(device, cuStreamGetCtx, (stream, &context));
    if (r == CUDA_SUCCESS && context != device->context) {
        CUcontext popped = NULL;
        r = CULVI_CU_AS(call, device, cuCtxPushCurrent, (context));
        if (r == CUDA_SUCCESS) {
            r = CULVI_CU_AS(call, device, cuCtxGetDevice, (&actual));
            CULVI_CU_TWICE(device, cuCtxPopCurrent, (&popped));
        }
    }
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, object, r, call, CULV_REASON_STREAM_DEVICE,
                               "the stream %p could not be examined; was it destroyed?",
                               (void *)stream);
    *green = context != device->context && actual == device->ordinal && is_green(device, stream);
    if (*green)
        return culvi_fail(
            &device->voice, object, CULV_ERROR_UNSUPPORTED, CULV_REASON_STREAM_DEVICE,
            "the stream %p is one of a green context, which this call does not take; order it with "
            "culv_stream_wait_stream() behind and before a stream that was made with "
            "culv_device_context() current, and give that stream",
            (void *)stream);
    if (context != device->context)
        return culvi_fail(
            &device->voice, object, CULV_ERROR_INVALID, CULV_REASON_STREAM_DEVICE,
            "the stream %p belongs to a context of CUDA device %d, but the object belongs to the "
            "context culv_device_context() of device %d '%s', and the driver does not mix them; "
            "use a stream made with that context current",
            (void *)stream, (int)actual, (int)device->ordinal, device->caps.name);
    return CULV_OK;
}

CUresult culvi_stream_capture(const culv_device *device, CUstream stream, culvi_capture *out)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = CULVI_CU(device, cuStreamIsCapturing, (stream, &status));
    if (r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
        *out = CULVI_WAITS_FOR_CAPTURED;
        return CUDA_SUCCESS;
    }
    *out = status == CU_STREAM_CAPTURE_STATUS_NONE ? CULVI_NOT_CAPTURED : CULVI_CAPTURED;
    return r;
}

/* A green context's stream is never remembered: most calls refuse it. */
static culv_result enter_stream(culv_device *device, const char *object, CUstream stream,
                                bool green_too, bool *green, bool *pushed)
{
    const char *call = NULL;
    *green = false;
    if (device->suspended) return culvi_fail_suspended(device, object);
    CUresult r = culvi_enter_frame(device, pushed, &call);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, object, r, call, CULV_REASON_DRIVER_REFUSED,
                               "the device's context could not be made current");
    /* The default streams are those of the context that is current now. */
    if (is_default(stream) || culvi_stream_known(device, stream)) return CULV_OK;
    culv_result result = check_stream(device, object, stream, green);
    if (result == CULV_OK) remember(device, stream);
    if (*green && green_too) result = CULV_OK;
    if (result != CULV_OK) culvi_leave_frame(device, *pushed);
    return result;
}

culv_result culvi_enter_stream(culv_device *device, const char *object, CUstream stream,
                               bool *pushed)
{
    bool green;
    return enter_stream(device, object, stream, false, &green, pushed);
}

culv_result culvi_enter_any_stream(culv_device *device, const char *object, CUstream stream,
                                   bool *green, bool *pushed)
{
    bool is_green;
    return enter_stream(device, object, stream, true, green != NULL ? green : &is_green, pushed);
}

culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream)
{
    bool pushed, green = false;
    if (is_default(stream)) return CULV_OK;
    atomic_uintptr_t *slots = &device->streams[first_slot(stream)];
    for (int i = 0; i < CULVI_STREAM_WAYS; i++) {
        uintptr_t key = (uintptr_t)stream;
        atomic_compare_exchange_strong(&slots[i], &key, 0);
    }
    const char *call = NULL;
    if (culvi_enter_frame(device, &pushed, &call) != CUDA_SUCCESS)
        return CULV_OK; /* the refusal says more */
    culv_result result = check_stream(device, object, stream, &green);
    culvi_leave_frame(device, pushed);
    return result;
}
