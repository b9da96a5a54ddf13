/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: kernels and host functions. */
#include "cuda_inside.h"

#include <stdlib.h>

/* ---- kernels ---- */

static void look_at(cuda_each each, void *user, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        if (word != 0) each(user, word, 1, NULL, CHECK_READ_OR_WRITE);
    }
}

/* A surface or texture object is a number like any other. So one counts only as a whole parameter
 * of 8 bytes that never had another value. */
static void look_at_object(cuda_each each, void *user, uint64_t function, size_t i,
                           const void *argument)
{
    static char other;
    uint64_t word;
    memcpy(&word, argument, sizeof word);
    check_model *m = check_open();
    if (m == NULL) return;
    const uint64_t parameter = (function ^ (uint64_t)i << 52) * UINT64_C(0x9e3779b97f4a7c15);
    const CUarray array = check_get(CHECK_OF_CU_OBJECT, word);
    if (array == NULL) (void)check_put(CHECK_OF_CU_PARAMETER, parameter, &other);
    const bool is = array != NULL && check_get(CHECK_OF_CU_PARAMETER, parameter) == NULL;
    check_close();
    if (is) each(user, 0, 1, array, CHECK_READ_OR_WRITE);
}

/* The CUDA runtime launches kernels of libraries (cuLaunchKernel: "f may be a CUkernel"), of which
 * cuFuncGetParamInfo knows nothing. A kernel's handle stays what it is until its library goes. */
static void note_kernels(const CUkernel *kernels, unsigned count, bool are)
{
    static char is;
    check_model *m = check_open();
    if (m == NULL) return;
    for (unsigned i = 0; i < count; i++)
        if (kernels[i] != NULL)
            (void)check_put(CHECK_OF_CU_KERNEL, ADDRESS(kernels[i]), are ? &is : NULL);
    check_close();
}

static unsigned num_kernels(CUlibrary library)
{
    CUresult(CUDAAPI * ask)(unsigned *, CUlibrary);
    void *found = cuda_ask_driver("cuLibraryGetKernelCount");
    unsigned count = 0;
    memcpy(&ask, &found, sizeof ask);
    return found != NULL && ask(&count, library) == CUDA_SUCCESS ? count : 0;
}

/* All that a library has, while it is there; freed by the caller. */
static CUkernel *kernels_of(CUlibrary library, unsigned *count)
{
    CUresult(CUDAAPI * ask)(CUkernel *, unsigned, CUlibrary);
    void *found = cuda_ask_driver("cuLibraryEnumerateKernels");
    memcpy(&ask, &found, sizeof ask);
    *count = found != NULL ? num_kernels(library) : 0;
    CUkernel *kernels = *count > 0 ? calloc(*count, sizeof(CUkernel)) : NULL;
    if (kernels == NULL || ask(kernels, *count, library) != CUDA_SUCCESS) *count = 0;
    return kernels;
}

static bool is_kernel(CUfunction f)
{
    check_model *m = check_open();
    if (m == NULL) return false;
    const bool is = check_get(CHECK_OF_CU_KERNEL, ADDRESS(f)) != NULL;
    check_close();
    return is;
}

CHECK_EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    REAL(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *), (out, library, name))
    const CUresult result = real(out, library, name);
    if (result == CUDA_SUCCESS && out != NULL) note_kernels(out, 1, true);
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *out, unsigned count,
                                                        CUlibrary library)
{
    REAL(cuLibraryEnumerateKernels, (CUkernel *, unsigned, CUlibrary), (out, count, library))
    const CUresult result = real(out, count, library);
    if (result != CUDA_SUCCESS || out == NULL) return result;
    const unsigned there = num_kernels(library); /* `count` is the most that is given */
    note_kernels(out, count < there ? count : there, true);
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    REAL(cuLibraryUnload, (CUlibrary), (library))
    unsigned count;
    CUkernel *kernels = kernels_of(library, &count);
    note_kernels(kernels, count, false); /* before the driver gives the handles to others */
    const CUresult result = real(library);
    if (result != CUDA_SUCCESS) note_kernels(kernels, count, true);
    free(kernels);
    return result;
}

void cuda_arguments(cuda_each each, void *user, CUfunction f, CUkernel k, void **params,
                    void **extra)
{
    static _Atomic(void *) asked[2];
    if (extra != NULL) {
        const unsigned char *bytes = NULL;
        size_t size = 0;
        for (; extra[0] != NULL; extra += 2)
            if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                bytes = extra[1];
            else
                size = *(const size_t *)extra[1];
        if (bytes != NULL) look_at(each, user, bytes, size);
        return;
    }
    if (params == NULL) return;
    const bool kernel = f == NULL || is_kernel(f);
    if (asked[kernel] == NULL)
        asked[kernel] = cuda_ask_driver(kernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo");
    void *found = asked[kernel];
    if (found == NULL) {
        check_note(
            "The driver has no cuFuncGetParamInfo (CUDA 12.4), so pointers that kernels get were not looked at");
        return;
    }
    CUresult(CUDAAPI * ask)(void *, size_t, size_t *, size_t *);
    memcpy(&ask, &found, sizeof ask);
    void *const what = f != NULL ? (void *)f : (void *)k;
    const bool objects = cuda_has_objects();
    size_t offset, size;
    for (size_t i = 0; i < 1024 && ask(what, i, &offset, &size) == CUDA_SUCCESS; i++) {
        if (offset % 8 != 0 || size < 8) continue;
        look_at(each, user, params[i], size);
        if (objects && size == 8) look_at_object(each, user, ADDRESS(what), i, params[i]);
    }
}

static void look_at_arguments(work *w, CUfunction f, void **params, void **extra)
{
    w->runs_code = true;
    if (!cuda_has_imports() || w->capturing) return;
    cuda_arguments(cuda_touch_any, w, f, NULL, params, extra);
}

/* Events of a launch's own are recorded when its blocks have begun. They count as recorded at its
 * end: what is ordered by them is ordered, and nothing is told that might be wrong. */
static void look_at_attributes(work *w, const CUlaunchConfig *config)
{
    for (unsigned i = 0; config != NULL && config->attrs != NULL && i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            w->records = a->value.programmaticEvent.event;
        if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            w->records = a->value.launchCompletionEvent.event;
    }
}

// clang-format off
#define LAUNCH_PARAMETERS (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
#define LAUNCH_ARGUMENTS  (f, gx, gy, gz, bx, by, bz, shared, s, params, extra)
ON_STREAM(cuLaunchKernel, ptsz, LAUNCH_PARAMETERS, LAUNCH_ARGUMENTS, s, look_at_arguments(&w, f, params, extra), NOTHING)
ON_STREAM(cuLaunchKernelEx, ptsz, (const CUlaunchConfig *config, CUfunction f, void **params, void **extra), (config, f, params, extra),
          config != NULL ? config->hStream : NULL, (look_at_attributes(&w, config), look_at_arguments(&w, f, params, extra)), NOTHING)
ON_STREAM(cuLaunchCooperativeKernel, ptsz, (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params),
          (f, gx, gy, gz, bx, by, bz, shared, s, params), s, look_at_arguments(&w, f, params, NULL), NOTHING)
// clang-format on

/* ---- host functions: when one runs, what was before it in the stream is done ---- */

typedef struct host_call {
    CUhostFn function;         /* or */
    CUstreamCallback callback; /* of cuStreamAddCallback() */
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

/* `call` may be NULL. */
static void give_up(host_call *call)
{
    if (call == NULL) return;
    check_model *m = check_open();
    if (m != NULL) {
        check_mark_drop(call->mark);
        check_close();
    }
    free(call);
}

static CUresult launch_host(CUresult(CUDAAPI *real)(CUstream, CUhostFn, void *), CUstream s,
                            CUhostFn function, void *user, bool per_thread)
{
    work w;
    const uint64_t since = check_trace_now();
    cuda_work_begin(&w, "cuLaunchHostFunc", s, per_thread);
    host_call *call = w.capturing || function == NULL ? NULL : calloc(1, sizeof *call);
    check_mark *mark = call != NULL ? check_mark_make() : NULL;
    if (mark != NULL) {
        *call = (host_call){.function = function, .user = user, .mark = mark};
        w.mark = mark;
    } else {
        free(call);
        call = NULL;
    }
    cuda_work_submit(&w);
    const CUresult result = call != NULL ? real(s, call_host, call) : real(s, function, user);
    if (result != CUDA_SUCCESS) give_up(call);
    check_trace_call(w.site.call, since);
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

static void CUDA_CB call_back(CUstream s, CUresult status, void *user)
{
    host_call call = *(host_call *)user;
    check_model *m = check_open();
    free(user);
    if (m != NULL) {
        if (status == CUDA_SUCCESS) check_host_saw_mark(m, call.mark);
        check_mark_drop(call.mark);
        check_close();
    }
    call.callback(s, status, call.user);
}

/* What comes after it in the stream waits for it; the model has no more to say of that. */
static CUresult add_callback(CUresult(CUDAAPI *real)(CUstream, CUstreamCallback, void *, unsigned),
                             CUstream s, CUstreamCallback callback, void *user, unsigned flags,
                             bool per_thread)
{
    work w;
    const uint64_t since = check_trace_now();
    cuda_work_begin(&w, "cuStreamAddCallback", s, per_thread);
    host_call *call = w.capturing || callback == NULL ? NULL : calloc(1, sizeof *call);
    check_mark *mark = call != NULL ? check_mark_make() : NULL;
    if (mark != NULL) {
        *call = (host_call){.callback = callback, .user = user, .mark = mark};
        w.mark = mark;
    } else {
        free(call);
        call = NULL;
    }
    cuda_work_submit(&w);
    const CUresult result =
        call != NULL ? real(s, call_back, call, flags) : real(s, callback, user, flags);
    if (result != CUDA_SUCCESS) give_up(call);
    check_trace_call(w.site.call, since);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuStreamAddCallback(CUstream s, CUstreamCallback callback, void *user,
                                                  unsigned flags)
{
    REAL(cuStreamAddCallback, (CUstream, CUstreamCallback, void *, unsigned),
         (s, callback, user, flags))
    return add_callback(real, s, callback, user, flags, false);
}

CHECK_EXPORT CUresult CUDAAPI cuStreamAddCallback_ptsz(CUstream s, CUstreamCallback callback,
                                                       void *user, unsigned flags)
{
    REAL(cuStreamAddCallback_ptsz, (CUstream, CUstreamCallback, void *, unsigned),
         (s, callback, user, flags))
    return add_callback(real, s, callback, user, flags, true);
}
