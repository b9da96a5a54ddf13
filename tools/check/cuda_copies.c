/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: copies and memsets. */
#include "cuda_inside.h"

/* One side of a copy of a box: its first and its last row, because what is between rows may be
 * others'. Without gaps it is all of the first slice. */
static void side(work *w, CUmemorytype type, CUarray array, CUdeviceptr base, size_t x, size_t y,
                 size_t z, size_t pitch, size_t slice, size_t width, size_t height, size_t depth,
                 check_access_kind kind)
{
    if (type == CU_MEMORYTYPE_ARRAY) cuda_touch_array(w, array, kind);
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return;
    if (width == 0 || height == 0 || depth == 0) return;
    /* What the driver makes of a pitch that is too small is not known. */
    if (pitch < width && (height > 1 || depth > 1 || y > 0 || z > 0)) return;
    if (slice < height && (depth > 1 || z > 0)) return;
    const CUdeviceptr first = base + (z * slice + y) * pitch + x;
    const bool whole = pitch == width;
    cuda_touch(w, first, whole ? width * height : width, kind);
    if (depth > 1 || (height > 1 && !whole))
        cuda_touch(w, first + ((depth - 1) * slice + height - 1) * pitch, width, kind);
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

#define SIDE_2D(p, x, kind) side(&w, (p)->x##MemoryType, (p)->x##Array, (p)->x##Device, (p)->x##XInBytes, (p)->x##Y, 0, (p)->x##Pitch, 0, (p)->WidthInBytes, (p)->Height, 1, kind)
#define SIDE_3D(p, x, kind) side(&w, (p)->x##MemoryType, (p)->x##Array, (p)->x##Device, (p)->x##XInBytes, (p)->x##Y, (p)->x##Z, (p)->x##Pitch, (p)->x##Height, (p)->WidthInBytes, (p)->Height, (p)->Depth, kind)
#define BOX_2D(p) w.blocks = true; if ((p) != NULL) { SIDE_2D(p, src, CHECK_READ); SIDE_2D(p, dst, CHECK_WRITE); }
#define BOX_3D(p) w.blocks = true; if ((p) != NULL) { SIDE_3D(p, src, CHECK_READ); SIDE_3D(p, dst, CHECK_WRITE); }
#define HOST_SIDE(p) if ((p)->srcMemoryType == CU_MEMORYTYPE_HOST || (p)->dstMemoryType == CU_MEMORYTYPE_HOST) SEEN
#define HOST_END(p, s) if ((p)->dstMemoryType == CU_MEMORYTYPE_HOST && is_pageable(&w, (p)->dstHost)) SEEN_ON(s)
ON_STREAM(cuMemcpy2D_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DUnaligned_v2, ptds, (const CUDA_MEMCPY2D *p), (p), NULL, BOX_2D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy2DAsync_v2, ptsz, (const CUDA_MEMCPY2D *p, CUstream s), (p, s), s, BOX_2D(p), HOST_END(p, s))
ON_STREAM(cuMemcpy3D_v2, ptds, (const CUDA_MEMCPY3D *p), (p), NULL, BOX_3D(p), HOST_SIDE(p))
ON_STREAM(cuMemcpy3DAsync_v2, ptsz, (const CUDA_MEMCPY3D *p, CUstream s), (p, s), s, BOX_3D(p), HOST_END(p, s))
// clang-format on
