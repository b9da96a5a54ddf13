// SPDX-License-Identifier: MIT
// Kernels for the twin's own tests of surfaces: each writes or reads a rectangle of texels from
// (left, top) on, in a boundary mode.
#include "culvert_kernel.h"

struct rectangle {
    int left, top, width, height;
    cudaSurfaceBoundaryMode mode;
    int shift; // bytes, which breaks the alignment
};

#define SURFACE_KERNELS(type)                                                                      \
    CULV_KERNEL void write_##type(CULV_GRID cudaSurfaceObject_t surface, const type *texels,       \
                                  rectangle r)                                                     \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= r.width || y >= r.height) return;                                                 \
        surf2Dwrite(texels[y * r.width + x], surface, (r.left + x) * (int)sizeof(type) + r.shift,  \
                    r.top + y, r.mode);                                                            \
    }                                                                                              \
    CULV_KERNEL void read_##type(CULV_GRID cudaSurfaceObject_t surface, type *texels, rectangle r) \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= r.width || y >= r.height) return;                                                 \
        const int at = (r.left + x) * (int)sizeof(type) + r.shift;                                 \
        if (y % 2 == 0)                                                                            \
            texels[y * r.width + x] = surf2Dread<type>(surface, at, r.top + y, r.mode);            \
        else                                                                                       \
            surf2Dread(&texels[y * r.width + x], surface, at, r.top + y, r.mode);                  \
    }

typedef unsigned char uchar;
SURFACE_KERNELS(uchar)
SURFACE_KERNELS(uchar4)
SURFACE_KERNELS(ushort4)
SURFACE_KERNELS(uint)
SURFACE_KERNELS(float)
SURFACE_KERNELS(float2)
SURFACE_KERNELS(float4)

// As a sample would: the default mode, the whole image. Timed by its test.
CULV_KERNEL void paint(CULV_GRID cudaSurfaceObject_t image, int width, int height, float phase)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (float)x / (float)width, v = (float)y / (float)height;
    surf2Dwrite(make_uchar4((unsigned char)(255.0f * u), (unsigned char)(255.0f * v),
                            (unsigned char)(255.0f * __saturatef(phase)), 255),
                image, x * (int)sizeof(uchar4), y);
}

CULV_KERNELS(write_uchar, read_uchar, write_uchar4, read_uchar4, write_ushort4, read_ushort4,
             write_uint, read_uint, write_float, read_float, write_float2, read_float2,
             write_float4, read_float4, paint)
