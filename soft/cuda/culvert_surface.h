// Surfaces for kernels on the software twin: the part of CUDA's surface functions that culvert_kernel.h gives a
// .cu source there. On NVIDIA devices these are the compiler's own.
//
//     CULV_KERNEL void paint(CULV_GRID cudaSurfaceObject_t image, int width, int height)
//     {
//         int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
//         if (x >= width || y >= height) return;
//         surf2Dwrite(make_uchar4(x, y, 0, 255), image, x * (int)sizeof(uchar4), y); // x in BYTES
//     }
//
// Bytes are stored as they are, whatever the array's format. x is a multiple of the type's size: where it is
// not, which CUDA leaves undefined, the kernel faults. Out of range, cudaBoundaryModeTrap (the default)
// faults too, Clamp takes the nearest element, Zero reads zeros and drops writes.
//
// SPDX-License-Identifier: MIT
#ifndef CULVERT_SURFACE_H_
#define CULVERT_SURFACE_H_

#include <surface_types.h>

#include "../shared/module_abi.h"

namespace culv_soft {

// A store to no page at all, which becomes the context's CUDA_ERROR_ILLEGAL_ADDRESS. Several threads of a kernel
// may come here at once: no race.
[[noreturn]] __attribute__((noinline, cold, no_sanitize("thread"))) inline void surface_fault()
{
    static volatile uintptr_t nowhere = 64; // the compiler cannot know
    *reinterpret_cast<volatile unsigned char *>(nowhere) = 0;
    __builtin_trap();
}

template <typename T> struct surface_type {
    static constexpr bool allowed = false;
};
#define CULV_SURFACE_TYPE_(type)                                                                             \
    template <> struct surface_type<type> {                                                                  \
        static constexpr bool allowed = true;                                                                \
    };
#define CULV_SURFACE_TYPES_(base, vector)                                                                    \
    CULV_SURFACE_TYPE_(base)                                                                                 \
    CULV_SURFACE_TYPE_(vector##1)                                                                            \
    CULV_SURFACE_TYPE_(vector##2)
CULV_SURFACE_TYPE_(char)
CULV_SURFACE_TYPES_(signed char, char)
CULV_SURFACE_TYPE_(char4)
CULV_SURFACE_TYPES_(unsigned char, uchar)
CULV_SURFACE_TYPE_(uchar4)
CULV_SURFACE_TYPES_(short, short)
CULV_SURFACE_TYPE_(short4)
CULV_SURFACE_TYPES_(unsigned short, ushort)
CULV_SURFACE_TYPE_(ushort4)
CULV_SURFACE_TYPES_(int, int)
CULV_SURFACE_TYPE_(int4)
CULV_SURFACE_TYPES_(unsigned, uint)
CULV_SURFACE_TYPE_(uint4)
CULV_SURFACE_TYPES_(float, float)
CULV_SURFACE_TYPE_(float4)
CULV_SURFACE_TYPES_(long long, longlong)
CULV_SURFACE_TYPES_(unsigned long long, ulonglong)
#undef CULV_SURFACE_TYPES_
#undef CULV_SURFACE_TYPE_

// Where the element is; NULL where there is none and the mode says that this is no fault.
template <typename T>
static inline __attribute__((always_inline)) unsigned char *surface_at(cudaSurfaceObject_t handle, int x,
                                                                       int y, cudaSurfaceBoundaryMode mode)
{
    static_assert(surface_type<T>::allowed, "CUDA has no surface functions for this type");
    constexpr int size = static_cast<int>(sizeof(T));
    const culv_soft_surface *surface =
        reinterpret_cast<const culv_soft_surface *>(CULV_SOFT_SURFACE_ADDRESS(handle));
    if (__builtin_expect(surface == nullptr, 0)) surface_fault();
    const int last_x = static_cast<int>(surface->width_bytes) - size;
    const int last_y = static_cast<int>(surface->height) - 1;
    // A surface that is gone has another turn; one whose array is gone has no extent.
    bool faulty = surface->turn != handle >> CULV_SOFT_SURFACE_TURN_SHIFT || last_x < 0 || x % size != 0;
    if (mode == cudaBoundaryModeClamp) {
        x = x < 0 ? 0 : x > last_x ? last_x : x;
        y = y < 0 ? 0 : y > last_y ? last_y : y;
    } else if (x < 0 || x > last_x || y < 0 || y > last_y) {
        if (mode == cudaBoundaryModeZero && !faulty) return nullptr;
        faulty = true;
    }
    if (__builtin_expect(faulty, 0)) surface_fault();
    return surface->start + static_cast<uint64_t>(y) * surface->pitch + static_cast<uint64_t>(x);
}

} // namespace culv_soft

template <typename T>
static inline __attribute__((always_inline)) void
surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y,
            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    unsigned char *at = culv_soft::surface_at<T>(surface, x, y, mode);
    if (at != nullptr) std::memcpy(at, &value, sizeof(value));
}

template <typename T>
static inline __attribute__((always_inline)) void
surf2Dread(T *out, cudaSurfaceObject_t surface, int x, int y,
           cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    const unsigned char *at = culv_soft::surface_at<T>(surface, x, y, mode);
    if (at != nullptr)
        std::memcpy(out, at, sizeof(*out));
    else
        std::memset(out, 0, sizeof(*out));
}

template <typename T>
static inline __attribute__((always_inline)) T surf2Dread(cudaSurfaceObject_t surface, int x, int y,
                                                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)
{
    T value;
    surf2Dread(&value, surface, x, y, mode);
    return value;
}

#endif
