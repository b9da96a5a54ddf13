// SPDX-License-Identifier: MIT
// Kernels for surfaces of every kind: all elements of four bytes, from and to memory
// without padding.
#include "culvert_kernel.h"

struct box {
    int width, height, depth; // of the surface
    int from_x, from_y, from_z;
    cudaSurfaceBoundaryMode mode;
};

// The place of element i.
static __device__ __forceinline__ int x_of(const box &b, int i)
{
    return (b.from_x + i % b.width) * (int)sizeof(unsigned); // in bytes
}
static __device__ __forceinline__ int y_of(const box &b, int i)
{
    return b.from_y + i / b.width % b.height;
}
static __device__ __forceinline__ int z_of(const box &b, int i)
{
    return b.from_z + i / b.width / b.height;
}

#define ARGS(...) __VA_ARGS__
#define SURFACE_KERNELS(name, function, args)                                                      \
    CULV_KERNEL void write_##name(CULV_GRID cudaSurfaceObject_t surface, const unsigned *data,     \
                                  box b)                                                           \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= b.width * b.height * b.depth) return;                                             \
        function##write(data[i], surface, ARGS args, b.mode);                                      \
    }                                                                                              \
    CULV_KERNEL void read_##name(CULV_GRID cudaSurfaceObject_t surface, unsigned *data, box b)     \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i >= b.width * b.height * b.depth) return;                                             \
        if (i % 2 == 0)                                                                            \
            data[i] = function##read<unsigned>(surface, ARGS args, b.mode);                        \
        else                                                                                       \
            function##read(&data[i], surface, ARGS args, b.mode);                                  \
    }

SURFACE_KERNELS(1d, surf1D, (x_of(b, i)))
SURFACE_KERNELS(2d, surf2D, (x_of(b, i), y_of(b, i)))
SURFACE_KERNELS(3d, surf3D, (x_of(b, i), y_of(b, i), z_of(b, i)))
SURFACE_KERNELS(1d_layered, surf1DLayered, (x_of(b, i), z_of(b, i)))
SURFACE_KERNELS(2d_layered, surf2DLayered, (x_of(b, i), y_of(b, i), z_of(b, i)))
SURFACE_KERNELS(cube, surfCubemap, (x_of(b, i), y_of(b, i), z_of(b, i)))
SURFACE_KERNELS(cube_layered, surfCubemapLayered, (x_of(b, i), y_of(b, i), z_of(b, i)))

CULV_KERNELS(write_1d, read_1d, write_2d, read_2d, write_3d, read_3d, write_1d_layered,
             read_1d_layered, write_2d_layered, read_2d_layered, write_cube, read_cube,
             write_cube_layered, read_cube_layered)
