/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: kernels and host functions. */
#include "cuda_inside.h"

#include <stdlib.h>

/* ---- kernels ---- */

static void look_at(work *w, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        if (word != 0) cuda_touch(w, word, 1, CHECK_READ_OR_WRITE);
    }
}

/* What of the arguments points into shared memory. The byte pointed at is used, at least. */
static void look_at_arguments(work *w, CUfunction f, void **params, void **extra)
{
    if (!cuda_has_mappings() || w->capturing) return;
    if (extra != NULL) {
        const unsigned char *bytes = NULL;
        size_t size = 0;
        for (; extra[0] != NULL; extra += 2)
            if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                bytes = extra[1];
            else
                size = *(const size_t *)extra[1];
        if (bytes != NULL) look_at(w, bytes, size);
        return;
    }
    static _Atomic(void *) asked;
    if (asked == NULL) asked = cuda_ask_driver("cuFuncGetParamInfo");
    void *found = asked;
    if (params == NULL) return;
    if (found == NULL) {
        check_note(
            "The driver has no cuFuncGetParamInfo (CUDA 12.4), so pointers that kernels get were not looked at");
        return;
    }
    CUresult(CUDAAPI * ask)(CUfunction, size_t, size_t *, size_t *);
    memcpy(&ask, &found, sizeof ask);
    size_t offset, size;
    for (size_t i = 0; i < 1024 && ask(f, i, &offset, &size) == CUDA_SUCCESS; i++)
        if (offset % 8 == 0 && size >= 8) look_at(w, params[i], size);
}

// clang-format off
#define LAUNCH_PARAMETERS (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
#define LAUNCH_ARGUMENTS  (f, gx, gy, gz, bx, by, bz, shared, s, params, extra)
ON_STREAM(cuLaunchKernel, ptsz, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, s, look_at_arguments(&w, f, params, extra), NOTHING)
ON_STREAM(cuLaunchKernelEx, ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), (config, f, params, extra),
          config != NULL ? config->hStream : NULL, look_at_arguments(&w, f, params, extra), NOTHING)
// clang-format on

/* ---- host functions: when one runs, what was before it in the stream is done ---- */

typedef struct host_call {
    CUhostFn function;
    void *user;
    check_mark *mark;
} host_call;

static void CUDA_CB call_host(void *user)
{
    host_call call = *(host_call *)user;
    check_model *m = check_open();
    free(user);
    if (m != NULL) {
        check_host_saw_mark(m, call.mark);
        check_mark_drop(call.mark);
        check_close();
    }
    call.function(call.user);
}

static CUresult launch_host(CUresult(CUDAAPI *real)(CUstream, CUhostFn, void *), CUstream s,
                            CUhostFn function, void *user, bool per_thread)
{
    work w;
    cuda_work_begin(&w, "cuLaunchHostFunc", s, per_thread);
    host_call *call = w.capturing || function == NULL ? NULL : calloc(1, sizeof *call);
    check_mark *mark = call != NULL ? check_mark_make() : NULL;
    if (mark != NULL) {
        *call = (host_call){function, user, mark};
        w.mark = mark;
    } else {
        free(call);
        call = NULL;
    }
    cuda_work_submit(&w);
    const CUresult result = call != NULL ? real(s, call_host, call) : real(s, function, user);
    if (result != CUDA_SUCCESS && call != NULL) free(call);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuLaunchHostFunc(CUstream s, CUhostFn function, void *user)
{
    REAL(cuLaunchHostFunc, (CUstream, CUhostFn, void *), (s, function, user))
    return launch_host(real, s, function, user, false);
}

CHECK_EXPORT CUresult CUDAAPI cuLaunchHostFunc_ptsz(CUstream s, CUhostFn function, void *user)
{
    REAL(cuLaunchHostFunc_ptsz, (CUstream, CUhostFn, void *), (s, function, user))
    return launch_host(real, s, function, user, true);
}
