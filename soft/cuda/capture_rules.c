/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what a stream capture forbids. As measured on NVIDIA's driver 580
 * (docs/measured/nvidia-measured.md) where it was measured; else what cuda.h and the CUDA
 * Programming Guide say. */
#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#    include <dlfcn.h>
#    include <execinfo.h>
#endif

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

#ifdef __GLIBC__
static const char *swept; /* CULVERT_SOFT_CAPTURE_SWEEP; NULL: nothing is looked at */

static void read_swept(void)
{
    swept = secure_getenv("CULVERT_SOFT_CAPTURE_SWEEP");
}

/* Whether the first frame that is not the twin's own is of a module with that text in its name. */
static bool is_swept(void *const *frames, int count)
{
    Dl_info own, info;
    if (dladdr((void *)&swept, &own) == 0) return false;
    for (int i = 0; i < count; i++) {
        if (dladdr(frames[i], &info) == 0) return false;
        if (info.dli_fbase == own.dli_fbase) continue;
        return strcmp(swept, "1") == 0 || strstr(info.dli_fname, swept) != NULL;
    }
    return false;
}

/* Ends the process at a call that would end somebody's capture if there were one: a test sees it in
 * every call that it makes anyway. */
static void sweep(const char *call)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *frames[24];
    pthread_once(&once, read_swept);
    if (swept == NULL) return;
    const int count = backtrace(frames, 24);
    if (!is_swept(frames, count)) return;
    fprintf(stderr, "culvert: CULVERT_SOFT_CAPTURE_SWEEP: %s would end captures of other threads\n",
            call);
    fflush(stderr);
    backtrace_symbols_fd(frames, count, 2);
    abort();
}
#else
static void sweep(const char *call)
{
    (void)call;
}
#endif

bool soft_capture_forbids(const char *call)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    size_t i = 0;
    while (i < sizeof(unsafe_calls) / sizeof(unsafe_calls[0]) && strcmp(unsafe_calls[i], call) != 0)
        i++;
    if (i == sizeof(unsafe_calls) / sizeof(unsafe_calls[0])) return false;
    sweep(call);
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
    sweep("a call for all of the context");
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
