/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: copies and memsets. */
#include "cuda_inside.h"

#include <stdlib.h>

void cuda_box(cuda_each each, void *user, CUmemorytype type, CUarray array, CUdeviceptr base,
              size_t x, size_t y, size_t z, size_t pitch, size_t slice, size_t width, size_t height,
              size_t depth, check_access_kind kind)
{
    if (type == CU_MEMORYTYPE_ARRAY) each(user, 0, 1, array, kind);
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return;
    if (width == 0 || height == 0 || depth == 0) return;
    /* What the driver makes of a pitch that is too small is not known. */
    if (pitch < width && (height > 1 || depth > 1 || y > 0 || z > 0)) return;
    if (slice < height && (depth > 1 || z > 0)) return;
    const CUdeviceptr first = base + (z * slice + y) * pitch + x;
    const bool whole = pitch == width;
    each(user, first, whole ? width * height : width, NULL, kind);
    if (depth > 1 || (height > 1 && !whole))
        each(user, first + ((depth - 1) * slice + height - 1) * pitch, width, NULL, kind);
}

void cuda_copy_box(cuda_each each, void *user, const CUDA_MEMCPY3D *p)
{
    cuda_box(each, user, p->srcMemoryType, p->srcArray, p->srcDevice, p->srcXInBytes, p->srcY,
             p->srcZ, p->srcPitch, p->srcHeight, p->WidthInBytes, p->Height, p->Depth, CHECK_READ);
    cuda_box(each, user, p->dstMemoryType, p->dstArray, p->dstDevice, p->dstXInBytes, p->dstY,
             p->dstZ, p->dstPitch, p->dstHeight, p->WidthInBytes, p->Height, p->Depth, CHECK_WRITE);
}

static void set_box(work *w, CUdeviceptr to, size_t pitch, size_t width, size_t height)
{
    cuda_box(cuda_touch_any, w, CU_MEMORYTYPE_DEVICE, NULL, to, 0, 0, 0, pitch, 0, width, height, 1,
             CHECK_WRITE);
}

static void copy_batch(work *w, const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes,
                       size_t count)
{
    if (to == NULL || from == NULL || sizes == NULL) return;
    for (size_t i = 0; i < count && w->num_accesses < CUDA_MOST; i++) {
        cuda_touch(w, from[i], sizes[i], CHECK_READ);
        cuda_touch(w, to[i], sizes[i], CHECK_WRITE);
    }
}

/* Where an array takes part, the extent is in its texels, whose size is not asked for: the first
 * byte is touched. */
static void copy_boxes(work *w, const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t count)
{
    for (size_t i = 0; boxes != NULL && i < count && w->num_accesses < CUDA_MOST; i++) {
        const CUDA_MEMCPY3D_BATCH_OP *b = &boxes[i];
        const CUmemcpy3DOperand *sides[2] = {&b->src, &b->dst};
        const bool bytes = b->src.type == CU_MEMCPY_OPERAND_TYPE_POINTER &&
                           b->dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
        for (int j = 0; j < 2; j++) {
            const CUmemcpy3DOperand *o = sides[j];
            const check_access_kind kind = j == 0 ? CHECK_READ : CHECK_WRITE;
            if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
                cuda_touch_array(w, o->op.array.array, kind);
            else if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER && !bytes)
                cuda_touch(w, o->op.ptr.ptr, 1, kind);
            else if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
                cuda_box(cuda_touch_any, w, CU_MEMORYTYPE_DEVICE, NULL, o->op.ptr.ptr, 0, 0, 0,
                         o->op.ptr.rowLength != 0 ? o->op.ptr.rowLength : b->extent.width,
                         o->op.ptr.layerHeight != 0 ? o->op.ptr.layerHeight : b->extent.height,
                         b->extent.width, b->extent.height, b->extent.depth, kind);
        }
    }
}

/* A copy to pageable memory is done when the call returns, whatever its name says (CUDA driver API,
 * "API synchronization behavior"). The driver knows of what is not pageable. */
static bool is_pageable(const work *w, const void *at)
{
    unsigned type;
    static _Atomic(void *) asked;
    if (w->num_accesses == 0) return false; /* nobody asks */
    if (asked == NULL) asked = cuda_ask_driver("cuPointerGetAttribute");
    void *found = asked;
    CUresult(CUDAAPI * ask)(void *, CUpointer_attribute, CUdeviceptr);
    memcpy(&ask, &found, sizeof ask);
    return found == NULL ||
           ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)at) != CUDA_SUCCESS;
}

// clang-format off
#define COPY(to, from, size) (cuda_touch(&w, from, size, CHECK_READ), cuda_touch(&w, to, size, CHECK_WRITE))

ON_STREAM(cuMemcpy, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size), NULL, (w.blocks = true, COPY(to, from, size)), SEEN) /* it may be a copy of the host's */
ON_STREAM(cuMemcpyAsync, ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, COPY(to, from, size)), if (is_pageable(&w, (const void *)(uintptr_t)to)) SEEN_ON(s))
ON_STREAM(cuMemcpyHtoD_v2, ptds, (CUdeviceptr to, const void *from, size_t size), (to, from, size), NULL, (w.blocks = true, cuda_touch(&w, to, size, CHECK_WRITE)), SEEN)
ON_STREAM(cuMemcpyHtoDAsync_v2, ptsz, (CUdeviceptr to, const void *from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, cuda_touch(&w, to, size, CHECK_WRITE)), NOTHING)
ON_STREAM(cuMemcpyDtoH_v2, ptds, (void *to, CUdeviceptr from, size_t size), (to, from, size), NULL, (w.blocks = true, cuda_touch(&w, from, size, CHECK_READ)), SEEN)
ON_STREAM(cuMemcpyDtoHAsync_v2, ptsz, (void *to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, (w.blocks = true, cuda_touch(&w, from, size, CHECK_READ)), if (is_pageable(&w, to)) SEEN_ON(s))
ON_STREAM(cuMemcpyDtoD_v2, ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size), NULL, COPY(to, from, size), NOTHING)
ON_STREAM(cuMemcpyDtoDAsync_v2, ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s), (to, from, size, s), s, COPY(to, from, size), NOTHING)
ON_STREAM(cuMemsetD8_v2, ptds, (CUdeviceptr to, unsigned char v, size_t n), (to, v, n), NULL, cuda_touch(&w, to, n, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD16_v2, ptds, (CUdeviceptr to, unsigned short v, size_t n), (to, v, n), NULL, cuda_touch(&w, to, n * 2, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD32_v2, ptds, (CUdeviceptr to, unsigned v, size_t n), (to, v, n), NULL, cuda_touch(&w, to, n * 4, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD8Async, ptsz, (CUdeviceptr to, unsigned char v, size_t n, CUstream s), (to, v, n, s), s, cuda_touch(&w, to, n, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD16Async, ptsz, (CUdeviceptr to, unsigned short v, size_t n, CUstream s), (to, v, n, s), s, cuda_touch(&w, to, n * 2, CHECK_WRITE), NOTHING)
ON_STREAM(cuMemsetD32Async, ptsz, (CUdeviceptr to, unsigned v, size_t n, CUstream s), (to, v, n, s), s, cuda_touch(&w, to, n * 4, CHECK_WRITE), NOTHING)

#define SIDE_2D(p, x, kind) cuda_box(cuda_touch_any, &w, (p)->x##MemoryType, (p)->x##Array, (p)->x##Device, (p)->x##XInBytes, (p)->x##Y, 0, (p)->x##Pitch, 0, (p)->WidthInBytes, (p)->Height, 1, kind)
#define BOX_2D(p) w.blocks = true; if ((p) != NULL) { SIDE_2D(p, src, CHECK_READ); SIDE_2D(p, dst, CHECK_WRITE); }
#define BOX_3D(p) w.blocks = true; if ((p) != NULL) cuda_copy_box(cuda_touch_any, &w, p)
#define HOST_SIDE(p) if ((p)->srcMemoryType == CU_MEMORYTYPE_HOST || (p)->dstMemoryType == CU_MEMORYTYPE_HOST) SEEN
#define HOST_END(p, s) if ((p)->dstMemoryType == CU_MEMORYTYPE_HOST && is_pageable(&w, (p)->dstHost)) SEEN_ON(s)
ON_STREAM(cuMemcpy2D_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DUnaligned_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DAsync_v2, ptsz, (const CUDA_MEMCPY2D *p, CUstream s), (p, s), s, BOX_2D(p), HOST_END(p, s))
ON_STREAM(cuMemcpy3D_v2, ptds, (const CUDA_MEMCPY3D *p), (p), NULL, BOX_3D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy3DAsync_v2, ptsz, (const CUDA_MEMCPY3D *p, CUstream s), (p, s), s, BOX_3D(p), HOST_END(p, s))

#define TO_ARRAY(a) cuda_touch_array(&w, a, CHECK_WRITE)
#define FROM_ARRAY(a) cuda_touch_array(&w, a, CHECK_READ)
ON_STREAM(cuMemcpyHtoA_v2, ptds, (CUarray to, size_t at, const void *from, size_t n), (to, at, from, n), NULL, (w.blocks = true, TO_ARRAY(to)), SEEN)
ON_STREAM(cuMemcpyHtoAAsync_v2, ptsz, (CUarray to, size_t at, const void *from, size_t n, CUstream s), (to, at, from, n, s), s, (w.blocks = true, TO_ARRAY(to)), NOTHING)
ON_STREAM(cuMemcpyAtoH_v2, ptds, (void *to, CUarray from, size_t at, size_t n), (to, from, at, n), NULL, (w.blocks = true, FROM_ARRAY(from)), SEEN)
ON_STREAM(cuMemcpyAtoHAsync_v2, ptsz, (void *to, CUarray from, size_t at, size_t n, CUstream s), (to, from, at, n, s), s, (w.blocks = true, FROM_ARRAY(from)), if (is_pageable(&w, to)) SEEN_ON(s))
ON_STREAM(cuMemcpyDtoA_v2, ptds, (CUarray to, size_t at, CUdeviceptr from, size_t n), (to, at, from, n), NULL, (cuda_touch(&w, from, n, CHECK_READ), TO_ARRAY(to)), NOTHING)
ON_STREAM(cuMemcpyAtoD_v2, ptds, (CUdeviceptr to, CUarray from, size_t at, size_t n), (to, from, at, n), NULL, (FROM_ARRAY(from), cuda_touch(&w, to, n, CHECK_WRITE)), NOTHING)
ON_STREAM(cuMemcpyAtoA_v2, ptds, (CUarray to, size_t to_at, CUarray from, size_t from_at, size_t n), (to, to_at, from, from_at, n), NULL, (FROM_ARRAY(from), TO_ARRAY(to)), NOTHING)
ON_STREAM(cuMemcpyPeer, ptds, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n), (to, to_context, from, from_context, n), NULL, COPY(to, from, n), NOTHING)
ON_STREAM(cuMemcpyPeerAsync, ptsz, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n, CUstream s), (to, to_context, from, from_context, n, s), s, COPY(to, from, n), NOTHING)

#define SET_BOX(name, type, bytes) \
    ON_STREAM(name##_v2, ptds, (CUdeviceptr to, size_t pitch, type v, size_t width, size_t height), (to, pitch, v, width, height), NULL, set_box(&w, to, pitch, width * (bytes), height), NOTHING) \
    ON_STREAM(name##Async, ptsz, (CUdeviceptr to, size_t pitch, type v, size_t width, size_t height, CUstream s), (to, pitch, v, width, height, s), s, set_box(&w, to, pitch, width * (bytes), height), NOTHING)
SET_BOX(cuMemsetD2D8, unsigned char, 1)
SET_BOX(cuMemsetD2D16, unsigned short, 2)
SET_BOX(cuMemsetD2D32, unsigned, 4)

/* A source may be read before the work in front of it only where it is the host's. */
ON_STREAM(cuMemcpyBatchAsync, ptsz, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n, CUmemcpyAttributes *a, size_t *indices, size_t num, size_t *failed, CUstream s), (to, from, sizes, n, a, indices, num, failed, s), s, copy_batch(&w, to, from, sizes, n), NOTHING)
ON_STREAM(cuMemcpyBatchAsync_v2, ptsz, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n, CUmemcpyAttributes *a, size_t *indices, size_t num, CUstream s), (to, from, sizes, n, a, indices, num, s), s, copy_batch(&w, to, from, sizes, n), NOTHING)
ON_STREAM(cuMemcpy3DBatchAsync, ptsz, (size_t n, CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed, unsigned long long flags, CUstream s), (n, boxes, failed, flags, s), s, copy_boxes(&w, boxes, n), NOTHING)
ON_STREAM(cuMemcpy3DBatchAsync_v2, ptsz, (size_t n, CUDA_MEMCPY3D_BATCH_OP *boxes, unsigned long long flags, CUstream s), (n, boxes, flags, s), s, copy_boxes(&w, boxes, n), NOTHING)
// clang-format on

/* culvert-check before the CUDA driver: kernels and host functions. */

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

/* culvert-check before the CUDA driver: semaphores. */

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
