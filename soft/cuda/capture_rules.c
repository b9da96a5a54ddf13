/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what a stream capture forbids. As measured on NVIDIA's driver 580
 * (docs/measured/nvidia-measured.md) where it was measured; else what cuda.h and the CUDA
 * Programming Guide say. */
#include "capture.h"

#include <string.h>

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* Calls that are not put into a stream, and that a capture therefore would not see. cuMemcpyHtoD is
 * none of them, nor is cuGraphLaunch into another stream. */
// clang-format off
static const char *const unsafe_calls[] = {
    "cuEventQuery", "cuEventSynchronize", "cuStreamQuery", "cuStreamSynchronize", "cuMemAlloc_v2",
    "cuMemAllocPitch_v2", "cuMemFree_v2", "cuMemAllocHost_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemcpy", "cuMemcpyDtoH_v2",
    "cuMemcpyDtoD_v2", "cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy3D_v2", "cuMemcpyPeer",
    "cuMemcpy3DPeer", "cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemsetD32_v2", "cuArrayCreate_v2",
    "cuArray3DCreate_v2", "cuArrayDestroy", "cuMipmappedArrayCreate", "cuMipmappedArrayDestroy",
    "cuSurfObjectCreate", "cuSurfObjectDestroy", "cuTexObjectCreate", "cuTexObjectDestroy",
    "cuImportExternalMemory", "cuDestroyExternalMemory", "cuImportExternalSemaphore",
    "cuDestroyExternalSemaphore", "cuModuleLoad", "cuModuleLoadData", "cuModuleUnload",
    "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams"
};
// clang-format on

void soft_capture_break(struct soft_capture *capture)
{
    capture->broken = true;
}

bool soft_capture_forbids(const char *call)
{
    if (soft_captures == NULL || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    size_t i = 0;
    while (i < sizeof(unsafe_calls) / sizeof(unsafe_calls[0]) && strcmp(unsafe_calls[i], call) != 0)
        i++;
    if (i == sizeof(unsafe_calls) / sizeof(unsafe_calls[0])) return false;
    bool forbidden = false;
    for (struct soft_capture *capture = soft_captures; capture != NULL; capture = capture->next) {
        const bool own =
            capture->thread == soft_thread_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        if (!own && (thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
                     capture->mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
            continue;
        soft_capture_break(capture);
        forbidden = true;
    }
    return forbidden;
}

struct soft_capture *soft_capture_in_context(struct soft_capture *capture,
                                             const struct soft_context *context, bool blocking_only)
{
    for (; capture != NULL; capture = capture->next)
        for (size_t i = 0; i < capture->num_streams; i++)
            if (soft_stream_context(capture->streams[i]) == context &&
                !(blocking_only &&
                  (soft_stream_flags(capture->streams[i]) & CU_STREAM_NON_BLOCKING)))
                return capture;
    return NULL;
}

CUresult soft_capture_allows_context(const struct soft_context *context)
{
    CUresult result = CUDA_SUCCESS;
    struct soft_capture *capture = soft_captures;
    while ((capture = soft_capture_in_context(capture, context, false)) != NULL) {
        soft_capture_break(capture);
        capture = capture->next;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult soft_capture_allows_legacy(const struct soft_stream *stream)
{
    const struct soft_context *context = soft_stream_context(stream);
    CUresult result = CUDA_SUCCESS;
    struct soft_capture *capture = stream == context->legacy ? soft_captures : NULL;
    while ((capture = soft_capture_in_context(capture, context, true)) != NULL) {
        soft_capture_break(capture);
        capture = capture->next;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

CUresult soft_capture_allows_wait(struct soft_stream *stream)
{
    const struct soft_capture_place *place = soft_stream_place(stream);
    if (place->capture == NULL) return soft_capture_allows_legacy(stream);
    soft_capture_break(place->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return soft_end(CUDA_SUCCESS);
}
