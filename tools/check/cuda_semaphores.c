/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: semaphores. */
#include "cuda_inside.h"

/* The driver refused a signal or a wait: is the stream on another GPU than the semaphore? */
void cuda_look_at_gpu(const work *w)
{
    CUcontext context;
    uint8_t uuid[CHECK_UUID];
    CUresult(CUDAAPI * of)(CUstream, CUcontext *);
    CUresult(CUDAAPI * push)(CUcontext);
    CUresult(CUDAAPI * pop)(CUcontext *);
    if (w->num_turns == 0) return;
    void *found = cuda_ask_driver("cuStreamGetCtx"),
         *found_push = cuda_ask_driver("cuCtxPushCurrent_v2"),
         *found_pop = cuda_ask_driver("cuCtxPopCurrent_v2");
    memcpy(&of, &found, sizeof of);
    memcpy(&push, &found_push, sizeof push);
    memcpy(&pop, &found_pop, sizeof pop);
    if (found == NULL || found_push == NULL || found_pop == NULL ||
        of(w->handle, &context) != CUDA_SUCCESS || push(context) != CUDA_SUCCESS)
        return;
    const bool known = cuda_context_uuid(uuid);
    (void)pop(&context);
    check_model *m = known ? check_open() : NULL;
    if (m == NULL) return;
    for (unsigned i = 0; i < w->num_turns; i++)
        check_used_on(m, w->turns[i].payload, uuid, &w->site);
    check_close();
}
static void look_at_turns(work *w, const CUexternalSemaphore *handles, const void *params,
                          size_t stride, unsigned count, bool signals)
{
    if (w->capturing) cuda_in_graph(handles, count);
    check_model *m = handles != NULL && params != NULL ? check_open() : NULL;
    if (m == NULL) return;
    w->signals = signals;
    for (unsigned i = 0; i < count && w->num_turns < CUDA_MOST; i++) {
        unsigned long long value; /* params.fence.value comes first in both structs */
        memcpy(&value, (const char *)params + i * stride, sizeof value);
        check_payload *p = check_get(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handles[i]);
        if (p != NULL) w->turns[w->num_turns++] = (check_turn){.payload = p, .value = value};
    }
    check_close();
}

// clang-format off
ON_STREAM(cuSignalExternalSemaphoresAsync, ptsz,
          (const CUexternalSemaphore *x, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p, unsigned n, CUstream s), (x, p, n, s), s,
          look_at_turns(&w, x, p, sizeof *p, n, true), NOTHING)
ON_STREAM(cuWaitExternalSemaphoresAsync, ptsz,
          (const CUexternalSemaphore *x, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p, unsigned n, CUstream s), (x, p, n, s), s,
          look_at_turns(&w, x, p, sizeof *p, n, false), NOTHING)
// clang-format on
CHECK_EXPORT CUresult CUDAAPI
cuImportExternalSemaphore(CUexternalSemaphore *out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    REAL(cuImportExternalSemaphore,
         (CUexternalSemaphore *, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *), (out, desc))
    if (desc == NULL) return real(out, desc);
    const check_site site = check_here("cuImportExternalSemaphore");
    const bool timeline = desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    const bool has_fd = timeline || desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    const int fd = has_fd ? desc->handle.fd : -1;
    check_import i = {.timeline = timeline, .type = 0x1};
    check_inside++;
    check_payload *p = cuda_ask_import(fd, &i, &site);
    const CUresult result = real(out, desc);
    check_will_leave();
    check_model *m = check_open();
    if (m != NULL) {
        if (check_fd_is(m, fd, p)) check_fd_taken(m, fd, result == CUDA_SUCCESS, &site);
        cuda_generation++;
        if (result == CUDA_SUCCESS && p != NULL)
            check_payload_drop(m, check_put(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)*out, p));
        else
            check_payload_drop(m, p);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuDestroyExternalSemaphore(CUexternalSemaphore handle)
{
    REAL(cuDestroyExternalSemaphore, (CUexternalSemaphore), (handle))
    const check_site site = check_here("cuDestroyExternalSemaphore");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        check_payload *p = check_put(CHECK_OF_CU_SEMAPHORE, (uint64_t)(uintptr_t)handle, NULL);
        cuda_generation++;
        check_destroying(m, p, CHECK_CUDA, &site);
        cuda_out_of_graph(m, p);
        check_payload_drop(m, p);
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}
