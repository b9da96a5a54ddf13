// SPDX-License-Identifier: MIT
// Surfaces for kernels on the software twin: the part of CUDA's surface functions that
// culvert_kernel.h gives a .cu source there. On NVIDIA devices these are the compiler's own.
//
//     CULV_KERNEL void paint(CULV_GRID cudaSurfaceObject_t image, int width, int height)
//     {
//         int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
//         if (x >= width || y >= height) return;
//         surf2Dwrite(make_uchar4(x, y, 0, 255), image, x * (int)sizeof(uchar4), y); // x in BYTES
//     }
//
// surf1D, surf2D, surf3D, surf1DLayered, surf2DLayered, surfCubemap and surfCubemapLayered, each as
// ...read (both forms) and ...write. The function must be that of the array's own kind: surf2Dread
// on a layered array faults. Bytes are stored as they are, whatever the array's format. x is a
// multiple of the type's size: where it is not, which CUDA leaves undefined, the kernel faults. Out
// of range in any direction, cudaBoundaryModeTrap (the default) faults too, Clamp takes the nearest
// element, Zero reads zeros and drops writes; a layer or face is treated as y is.
//
#ifndef CULVERT_SURFACE_H_
#define CULVERT_SURFACE_H_

#include <surface_types.h>

#include "../shared/module_abi.h"

namespace culv_soft {

// A store to no page at all, which becomes the context's CUDA_ERROR_ILLEGAL_ADDRESS. Several
// threads of a kernel may come here at once: no race.
[[noreturn]] __attribute__((noinline, cold, no_sanitize("thread"))) inline void surface_fault()
{
    static volatile uintptr_t nowhere = 64; // the compiler cannot know
    *reinterpret_cast<volatile unsigned char *>(nowhere) = 0;
    __builtin_trap();
}

template <typename T> struct surface_type {
    static constexpr bool allowed = false;
};
#define CULV_SURFACE_TYPE_(type)                                                                   \
    template <> struct surface_type<type> {                                                        \
        static constexpr bool allowed = true;                                                      \
    };
#define CULV_SURFACE_TYPES_(base, vector)                                                          \
    CULV_SURFACE_TYPE_(base)                                                                       \
    CULV_SURFACE_TYPE_(vector##1)                                                                  \
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
template <typename T, culv_soft_dimensions Dimensions>
static inline __attribute__((always_inline)) unsigned char *
surface_at(cudaSurfaceObject_t handle, int x, int y, int z, cudaSurfaceBoundaryMode mode)
{
    static_assert(surface_type<T>::allowed, "CUDA has no surface functions for this type");
    constexpr int size = static_cast<int>(sizeof(T));
    const culv_soft_surface *surface =
        reinterpret_cast<const culv_soft_surface *>(CULV_SOFT_ADDRESS(handle));
    if (__builtin_expect(surface == nullptr, 0)) surface_fault();
    constexpr bool has_y = Dimensions != CULV_SOFT_1D && Dimensions != CULV_SOFT_1D_LAYERED;
    constexpr bool has_z = Dimensions != CULV_SOFT_1D && Dimensions != CULV_SOFT_2D;
    const int last_x = static_cast<int>(surface->width_bytes) - size;
    const int last_y = static_cast<int>(surface->height) - 1,
              last_z = static_cast<int>(surface->depth) - 1;
    // A surface that is gone has another turn; one whose array is gone has no dimensions.
    bool faulty = surface->turn != handle >> CULV_SOFT_TURN_SHIFT ||
                  surface->dimensions != Dimensions || last_x < 0 || x % size != 0;
    if (mode == cudaBoundaryModeClamp) {
        x = x < 0 ? 0 : x > last_x ? last_x : x;
        if (has_y) y = y < 0 ? 0 : y > last_y ? last_y : y;
        if (has_z) z = z < 0 ? 0 : z > last_z ? last_z : z;
    } else if (x < 0 || x > last_x || (has_y && (y < 0 || y > last_y)) ||
               (has_z && (z < 0 || z > last_z))) {
        if (mode == cudaBoundaryModeZero && !faulty) return nullptr;
        faulty = true;
    }
    if (__builtin_expect(faulty, 0)) surface_fault();
    unsigned char *at = surface->start + static_cast<uint64_t>(x);
    if (has_y) at += static_cast<uint64_t>(y) * surface->pitch;
    if (has_z) at += static_cast<uint64_t>(z) * surface->slice;
    return at;
}

template <typename T>
static inline __attribute__((always_inline)) void surface_store(unsigned char *at, T value)
{
    if (at != nullptr) std::memcpy(at, &value, sizeof(value));
}

template <typename T>
static inline __attribute__((always_inline)) void surface_load(T *out, const unsigned char *at)
{
    if (at != nullptr)
        std::memcpy(out, at, sizeof(*out));
    else
        std::memset(out, 0, sizeof(*out));
}

} // namespace culv_soft

#define CULV_UNPACK_(...) __VA_ARGS__
// The three forms of one kind; `params` are its coordinates, `where` what surface_at takes for
// them.
#define CULV_SURFACE_FUNCTIONS_(name, dimensions, params, args, where)                             \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline)) void name##write(                                 \
        T value, cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                 \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        culv_soft::surface_store(                                                                  \
            culv_soft::surface_at<T, dimensions>(surface, CULV_UNPACK_ where, mode), value);       \
    }                                                                                              \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline)) void name##read(                                  \
        T *out, cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                  \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        culv_soft::surface_load(                                                                   \
            out, culv_soft::surface_at<T, dimensions>(surface, CULV_UNPACK_ where, mode));         \
    }                                                                                              \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline))                                                   \
    T name##read(cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                 \
                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                              \
    {                                                                                              \
        T value;                                                                                   \
        name##read(&value, surface, CULV_UNPACK_ args, mode);                                      \
        return value;                                                                              \
    }

CULV_SURFACE_FUNCTIONS_(surf1D, CULV_SOFT_1D, (int x), (x), (x, 0, 0))
CULV_SURFACE_FUNCTIONS_(surf2D, CULV_SOFT_2D, (int x, int y), (x, y), (x, y, 0))
CULV_SURFACE_FUNCTIONS_(surf3D, CULV_SOFT_3D, (int x, int y, int z), (x, y, z), (x, y, z))
CULV_SURFACE_FUNCTIONS_(surf1DLayered, CULV_SOFT_1D_LAYERED, (int x, int layer), (x, layer),
                        (x, 0, layer))
CULV_SURFACE_FUNCTIONS_(surf2DLayered, CULV_SOFT_2D_LAYERED, (int x, int y, int layer),
                        (x, y, layer), (x, y, layer))
CULV_SURFACE_FUNCTIONS_(surfCubemap, CULV_SOFT_CUBE, (int x, int y, int face), (x, y, face),
                        (x, y, face))
CULV_SURFACE_FUNCTIONS_(surfCubemapLayered, CULV_SOFT_CUBE_LAYERED, (int x, int y, int layerface),
                        (x, y, layerface), (x, y, layerface))
#undef CULV_SURFACE_FUNCTIONS_

#endif
