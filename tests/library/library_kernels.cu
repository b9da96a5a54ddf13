/* SPDX-License-Identifier: MIT */
/* Kernels of the library's suite. */
#include "culvert_kernel.h"

#include <string.h>

/* Word i becomes what lib_word() says. */
CULV_KERNEL void library_write(CULV_GRID unsigned *out, unsigned count, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = i * 2654435761u + seed;
}

CULV_KERNEL void library_add(CULV_GRID unsigned *data, unsigned count, unsigned addend)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += addend;
}

/* Faults when the address is nobody's. */
CULV_KERNEL void library_poke(CULV_GRID unsigned *address, unsigned value)
{
    if (threadIdx.x == 0) *(volatile unsigned *)address = value;
}

/* Byte b of texel (x, y), as lib_texel_byte() says it: no float that texels hold is an infinity or
 * a NaN. */
static __device__ __forceinline__ unsigned char library_byte(int x, int y, int b, unsigned seed)
{
    unsigned h = (unsigned)x * 73856093u + (unsigned)y * 19349663u + (unsigned)b * 83492791u +
                 seed * 2654435761u;
    return (unsigned char)(0x20u + (h >> 13 & 0x3fu));
}

/* paint: every texel as above. flip: what is there, its lower four bits of each byte inverted. */
#define LIBRARY_SURFACE_KERNELS(type)                                                              \
    CULV_KERNEL void library_paint_##type(CULV_GRID cudaSurfaceObject_t surface, int width,        \
                                          int height, unsigned seed)                               \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= width || y >= height) return;                                                     \
        unsigned char bytes[sizeof(type)];                                                         \
        for (int b = 0; b < (int)sizeof(type); b++)                                                \
            bytes[b] = library_byte(x, y, b, seed);                                                \
        type texel;                                                                                \
        memcpy(&texel, bytes, sizeof texel);                                                       \
        surf2Dwrite(texel, surface, x *(int)sizeof(type), y);                                      \
    }                                                                                              \
    CULV_KERNEL void library_flip_##type(CULV_GRID cudaSurfaceObject_t surface, int width,         \
                                         int height, unsigned mask)                                \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= width || y >= height) return;                                                     \
        type texel = surf2Dread<type>(surface, x * (int)sizeof(type), y);                          \
        unsigned char bytes[sizeof(type)];                                                         \
        memcpy(bytes, &texel, sizeof texel);                                                       \
        for (int b = 0; b < (int)sizeof(type); b++)                                                \
            bytes[b] = (unsigned char)(bytes[b] ^ mask);                                           \
        memcpy(&texel, bytes, sizeof texel);                                                       \
        surf2Dwrite(texel, surface, x *(int)sizeof(type), y);                                      \
    }

/* Their names end in culv_format_info::kernel_type. */
LIBRARY_SURFACE_KERNELS(uchar4)
LIBRARY_SURFACE_KERNELS(ushort4)
LIBRARY_SURFACE_KERNELS(float)
LIBRARY_SURFACE_KERNELS(float4)

/* What a texture returns at (places[3 * i], places[3 * i + 1]) of level places[3 * i + 2]. */
CULV_KERNEL void library_sample(CULV_GRID cudaTextureObject_t texture, const float *places,
                                int count, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex2DLod<float>(texture, places[3 * i], places[3 * i + 1], places[3 * i + 2]);
}

CULV_KERNELS(library_write, library_add, library_poke, library_sample, library_paint_uchar4,
             library_flip_uchar4, library_paint_ushort4, library_flip_ushort4, library_paint_float,
             library_flip_float, library_paint_float4, library_flip_float4)
