/* SPDX-License-Identifier: MIT */
/* Making the device's context current, and telling what a driver's answer means. */
#include "cuda/context.h"

#include <stdio.h>

CUresult culvi_enter_frame(const culv_device *device, bool *pushed, const char **call)
{
    CUcontext current = NULL;
    *pushed = false;
    *call = "cuCtxGetCurrent";
    if (device->lost) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult r = device->cuda->cuCtxGetCurrent(&current);
    if (r != CUDA_SUCCESS || current == device->context) return r;
    *call = "cuCtxPushCurrent";
    r = device->cuda->cuCtxPushCurrent(device->context);
    *pushed = r == CUDA_SUCCESS;
    return r;
}

void culvi_leave_frame(const culv_device *device, bool pushed)
{
    CUcontext popped = NULL;
    if (!pushed) return;
    /* The caller's context must come back: one refusal is not taken for an answer. */
    if (device->cuda->cuCtxPopCurrent(&popped) != CUDA_SUCCESS &&
        device->cuda->cuCtxPopCurrent(&popped) != CUDA_SUCCESS)
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "cuCtxPopCurrent failed: the thread's context stack has grown");
}

CUresult culvi_relax(const culv_device *device, culvi_scope *scope)
{
    /* Without this, an import or a free on this thread would invalidate a capture in global mode on
     * any thread. */
    scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const CUresult r = device->cuda->cuThreadExchangeStreamCaptureMode(&scope->mode);
    scope->relaxed = r == CUDA_SUCCESS;
    return r;
}

void culvi_restore(const culv_device *device, const culvi_scope *scope)
{
    CUstreamCaptureMode mode = scope->mode;
    if (!scope->relaxed) return;
    if (device->cuda->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS) return;
    mode = scope->mode;
    (void)device->cuda->cuThreadExchangeStreamCaptureMode(&mode);
}

/* The name of the call that failed, if any, goes to *call. */
static CUresult enter(culv_device *device, culvi_scope *scope, const char **call)
{
    scope->relaxed = false;
    CUresult r = culvi_enter_frame(device, &scope->pushed, call);
    if (r != CUDA_SUCCESS) return r;
    *call = "cuThreadExchangeStreamCaptureMode";
    r = culvi_relax(device, scope);
    if (r != CUDA_SUCCESS) culvi_leave_frame(device, scope->pushed);
    return r;
}

/* Whether the context is no longer the one that the device was opened with (R3). A reset and the
 * next retain leave the handle as it was; the id is another then (measured). */
static bool is_lost(const culv_device *device)
{
    unsigned long long id = 0;
    unsigned flags = 0;
    int active = 1;
    if (device->lost) return true;
    if (device->context_id == 0) return false; /* the device is being opened */
    CUresult r = device->cuda->cuCtxGetId(device->context, &id);
    if (r == CUDA_SUCCESS) return id != device->context_id;
    if (culvi_cuda_gone(r)) return true;
    if (!device->retained) return false;
    r = device->cuda->cuDevicePrimaryCtxGetState(device->ordinal, &flags, &active);
    return culvi_cuda_gone(r) || (r == CUDA_SUCCESS && active == 0);
}

bool culvi_lost(culv_device *device)
{
    if (is_lost(device)) device->lost = true;
    return device->lost;
}

culv_result culvi_fail_suspended(const culv_device *device, const char *object)
{
    return culvi_fail(
        &device->voice, object, CULV_ERROR_INVALID, CULV_REASON_NOT_READY,
        "'%s' is suspended, and what it imported is given up: call culv_device_resume() first, after the restore of the checkpoint",
        device->caps.name);
}

culv_result culvi_enter(culv_device *device, culvi_scope *scope, const char *object)
{
    if (device->suspended) return culvi_fail_suspended(device, object);
    const char *call = "cuCtxGetCurrent";
    CUresult r = culvi_lost(device) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : enter(device, scope, &call);
    return CULVI_CU_RESULT(device, object, r, call, CULV_REASON_DRIVER_REFUSED,
                           "the device's context could not be made current");
}

CUresult culvi_enter_quietly(culv_device *device, culvi_scope *scope)
{
    const char *call = NULL;
    scope->pushed = scope->relaxed = false;
    if (culvi_lost(device)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    CUresult r = enter(device, scope, &call);
    if (culvi_cuda_gone(r)) device->lost = true;
    return r;
}

bool culvi_enter_to_end(culv_device *device, culvi_scope *scope)
{
    return culvi_enter_quietly(device, scope) == CUDA_SUCCESS ||
           (!device->lost && culvi_enter_quietly(device, scope) == CUDA_SUCCESS);
}

void culvi_leave(culv_device *device, culvi_scope *scope)
{
    culvi_restore(device, scope);
    culvi_leave_frame(device, scope->pushed);
}

bool culvi_cuda_sticky(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721: /* CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA 12.9 */
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_MPS_CLIENT_TERMINATED: return true;
    default: return false;
    }
}

bool culvi_cuda_gone(CUresult code)
{
    /* NOT_INITIALIZED: of a device that is open, in a child process of fork() alone. */
    return code == CUDA_ERROR_DEINITIALIZED || code == CUDA_ERROR_NOT_INITIALIZED ||
           code == CUDA_ERROR_CONTEXT_IS_DESTROYED || code == CUDA_ERROR_INVALID_CONTEXT;
}

static bool is_forked(const culv_device *device)
{
    unsigned long long id = 0;
    return device->cuda->cuCtxGetId(device->context, &id) == CUDA_ERROR_NOT_INITIALIZED;
}

culv_result culvi_fail_cuda(const culv_device *device, const char *object, CUresult code,
                            const char *call, culv_reason refused, const char *format, ...)
{
    char what[768];
    const char *name = NULL;
    const char *text = NULL;
    const char *log = culvi_thread_state()->driver_log;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (device->cuda->cuGetErrorName(code, &name) != CUDA_SUCCESS || name == NULL)
        name = "an unknown error";
    if (device->cuda->cuGetErrorString(code, &text) != CUDA_SUCCESS || text == NULL)
        text = "no description";
    /* The driver's last words on this thread, if they are about this call and this answer (R5). */
    if (strstr(log, call) == NULL || strstr(log, name) == NULL) log = "";
    if (culvi_cuda_sticky(code))
        return culvi_fail_native(
            &device->voice, object, CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE, CULV_NATIVE_CUDA,
            code, call,
            "an earlier asynchronous failure surfaced in %s of '%s', which is not its cause: %s (%d, %s). A kernel launched before has faulted; the context is lost for the whole process. Destroy what is in it, then reset the device (cuDevicePrimaryCtxReset, which takes what other libraries have there, too) or start a new process: opening it again without a reset fails in the same way. (%s)",
            call, device->caps.name, name, (int)code, text, what);
    culv_result result = CULV_ERROR_DRIVER;
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        result = CULV_ERROR_OUT_OF_MEMORY;
        refused = CULV_REASON_DEVICE_MEMORY;
    } else if (is_lost(device) && is_forked(device)) {
        return culvi_fail_native(
            &device->voice, object, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORKED, CULV_NATIVE_CUDA,
            CUDA_ERROR_NOT_INITIALIZED, call,
            "this process is a child of fork(), in which no CUDA driver works: call exec, or start processes before the first CUDA call (Python: multiprocessing's \"spawn\"). Everything of '%s' is the parent's, and works on there. (%s)",
            device->caps.name, what);
    } else if (is_lost(device)) {
        return culvi_fail_native(
            &device->voice, object, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST, CULV_NATIVE_CUDA,
            code, call,
            "the CUDA context of '%s' was reset or destroyed, and everything that was made in it is gone: destroy it and open the device again. (%s: %s answered %s, %d, %s)",
            device->caps.name, what, call, name, (int)code, text);
    } else if (culvi_cuda_gone(code)) {
        refused = CULV_REASON_DEVICE_LOST;
    }
    return culvi_fail_native(&device->voice, object, result, refused, CULV_NATIVE_CUDA, code, call,
                             "%s: %s of '%s' answered %s (%d, %s)%s%s", what, call,
                             device->caps.name, name, (int)code, text,
                             log[0] != '\0' ? "; the driver says: " : "", log);
}

/* CUDA in graphics: a context whose work runs within a graphics API's queue. culvert-extra makes
 * them. */

culv_result culvi_cig_note(culv_device *device)
{
    size_t value = 0;
    if (device->cuda->cuCtxGetLimit == NULL) return CULV_OK;
    CULVI_CU_INSIDE(r, device, NULL, cuCtxGetLimit, (&value, CU_LIMIT_CIG_ENABLED));
    /* Drivers before CUDA 12.5 do not know the limit, and have no such contexts. */
    if (r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_UNSUPPORTED_LIMIT ||
        r == CUDA_ERROR_NOT_SUPPORTED)
        return CULV_OK;
    CULVI_CU_CHECK(device, NULL, r, "cuCtxGetLimit", CULV_REASON_DRIVER_REFUSED,
                   "culv_device_desc.context does not say whether it is a CIG context");
    device->caps.cig_context = value != 0;
    return CULV_OK;
}

culv_result culvi_cig_refuse(const culv_device *device, const char *label, const char *what,
                             const char *instead)
{
    if (!device->caps.cig_context) return CULV_OK;
    return culvi_fail(
        &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_CIG,
        "%s: culv_device_desc.context is a CUDA-in-graphics (CIG) context, which has none of it; %s, or use a device with another context",
        what, instead);
}

/* Streams: each must be of the device's context (R6) ------------------------------------------- */

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
    CULVI_CU_CHECK(device, object, r, call, CULV_REASON_STREAM_DEVICE,
                   "the stream %p could not be examined; was it destroyed?", (void *)stream);
    *green = context != device->context && actual == device->ordinal && is_green(device, stream);
    CULVI_UNSUPPORTED_IF(
        *green, &device->voice, object, CULV_REASON_STREAM_DEVICE,
        "the stream %p is one of a green context, which this call does not take; order it with culv_stream_wait_stream() behind and before a stream that was made with culv_device_context() current, and give that stream",
        (void *)stream);
    CULVI_REFUSE_IF(
        context != device->context, &device->voice, object, CULV_REASON_STREAM_DEVICE,
        "the stream %p belongs to a context of CUDA device %d, but the object belongs to the context culv_device_context() of device %d '%s', and the driver does not mix them; use a stream made with that context current",
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
    CULVI_CU_CHECK(device, object, r, call, CULV_REASON_DRIVER_REFUSED,
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

culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream,
                                 CUresult code)
{
    bool pushed, green = false;
    if (is_default(stream) || culvi_cuda_sticky(code)) return CULV_OK;
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

CUresult culvi_stream_create_apart(const culv_device *device, bool middle, CUstream *out)
{
    int least = 0, greatest = 0;
    if (device->cuda->cuCtxGetStreamPriorityRange != NULL &&
        device->cuda->cuStreamCreateWithPriority != NULL &&
        CULVI_CU(device, cuCtxGetStreamPriorityRange, (&least, &greatest)) == CUDA_SUCCESS) {
        const CUresult r =
            CULVI_CU(device, cuStreamCreateWithPriority,
                     (out, CU_STREAM_NON_BLOCKING, middle ? (least + greatest) / 2 : greatest));
        /* A plain stream may share its queue with the one that waits for this signal. */
        if (r == CUDA_SUCCESS || !middle) return r;
    }
    return CULVI_CU(device, cuStreamCreate, (out, CU_STREAM_NON_BLOCKING));
}
