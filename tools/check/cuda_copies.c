/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: copies and memsets. */
#include "cuda_inside.h"

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
static void copy_boxes(work *w, const check_box *boxes, size_t count)
{
    for (size_t i = 0; boxes != NULL && i < count && w->num_accesses < CUDA_MOST; i++) {
        const check_box *b = &boxes[i];
        const check_operand *sides[2] = {&b->src, &b->dst};
        const bool bytes = b->src.type == 1 && b->dst.type == 1;
        for (int j = 0; j < 2; j++) {
            const check_operand *o = sides[j];
            const check_access_kind kind = j == 0 ? CHECK_READ : CHECK_WRITE;
            if (o->type == 2)
                cuda_touch_array(w, o->op.array.array, kind);
            else if (o->type == 1 && !bytes)
                cuda_touch(w, o->op.ptr.ptr, 1, kind);
            else if (o->type == 1)
                cuda_box(cuda_touch_any, w, CU_MEMORYTYPE_DEVICE, NULL, o->op.ptr.ptr, 0, 0, 0,
                         o->op.ptr.row_length != 0 ? o->op.ptr.row_length : b->width,
                         o->op.ptr.layer_height != 0 ? o->op.ptr.layer_height : b->height, b->width,
                         b->height, b->depth, kind);
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

#define SET_BOX(name, type, bytes) \
    ON_STREAM(name##_v2, ptds, (CUdeviceptr to, size_t pitch, type v, size_t width, size_t height), (to, pitch, v, width, height), NULL, set_box(&w, to, pitch, width * (bytes), height), NOTHING) \
    ON_STREAM(name##Async, ptsz, (CUdeviceptr to, size_t pitch, type v, size_t width, size_t height, CUstream s), (to, pitch, v, width, height, s), s, set_box(&w, to, pitch, width * (bytes), height), NOTHING)
SET_BOX(cuMemsetD2D8, unsigned char, 1)
SET_BOX(cuMemsetD2D16, unsigned short, 2)
SET_BOX(cuMemsetD2D32, unsigned, 4)

/* A source may be read before the work in front of it only where it is the host's. */
ON_STREAM(cuMemcpyBatchAsync, ptsz, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n, check_copy_attributes *a, size_t *indices, size_t num, size_t *failed, CUstream s), (to, from, sizes, n, a, indices, num, failed, s), s, copy_batch(&w, to, from, sizes, n), NOTHING)
ON_STREAM(cuMemcpyBatchAsync_v2, ptsz, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n, check_copy_attributes *a, size_t *indices, size_t num, CUstream s), (to, from, sizes, n, a, indices, num, s), s, copy_batch(&w, to, from, sizes, n), NOTHING)
ON_STREAM(cuMemcpy3DBatchAsync, ptsz, (size_t n, check_box *boxes, size_t *failed, unsigned long long flags, CUstream s), (n, boxes, failed, flags, s), s, copy_boxes(&w, boxes, n), NOTHING)
ON_STREAM(cuMemcpy3DBatchAsync_v2, ptsz, (size_t n, check_box *boxes, unsigned long long flags, CUstream s), (n, boxes, flags, s), s, copy_boxes(&w, boxes, n), NOTHING)
// clang-format on
