/* SPDX-License-Identifier: MIT */
/* Kernels of the contract suite's image rows. */
#include "culvert_kernel.h"

/* Channel c of texel (x, y), as image_pattern() says it. */
static __device__ __forceinline__ unsigned image_value(int x, int y, int c, unsigned seed)
{
    return (unsigned)x * 7u + (unsigned)y * 131u + (unsigned)c * 29u + seed;
}

static __device__ __forceinline__ unsigned char image_byte(int x, int y, int c, unsigned seed)
{
    return (unsigned char)(image_value(x, y, c, seed) & 0xffu);
}

/* A 16-bit float that is neither an infinity nor a NaN. */
static __device__ __forceinline__ unsigned short image_half(int x, int y, int c, unsigned seed)
{
    return (unsigned short)(image_value(x, y, c, seed) & 0x3bffu);
}

static __device__ __forceinline__ float image_float(int x, int y, int c, unsigned seed)
{
    return (float)(int)(image_value(x, y, c, seed) & 0xffffu);
}

#define IMAGE_KERNELS(type, texel)                                                                 \
    CULV_KERNEL void image_write_##type(CULV_GRID cudaSurfaceObject_t surface, int width,          \
                                        int height, unsigned seed)                                 \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= width || y >= height) return;                                                     \
        surf2Dwrite(texel, surface, x *(int)sizeof(type), y);                                      \
    }                                                                                              \
    CULV_KERNEL void image_read_##type(CULV_GRID cudaSurfaceObject_t surface, int width,           \
                                       int height, type *texels)                                   \
    {                                                                                              \
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;  \
        if (x >= width || y >= height) return;                                                     \
        texels[y * width + x] = surf2Dread<type>(surface, x * (int)sizeof(type), y);               \
    }

IMAGE_KERNELS(uchar4, make_uchar4(image_byte(x, y, 0, seed), image_byte(x, y, 1, seed),
                                  image_byte(x, y, 2, seed), image_byte(x, y, 3, seed)))
IMAGE_KERNELS(ushort4, make_ushort4(image_half(x, y, 0, seed), image_half(x, y, 1, seed),
                                    image_half(x, y, 2, seed), image_half(x, y, 3, seed)))
IMAGE_KERNELS(float, image_float(x, y, 0, seed))
IMAGE_KERNELS(float4, make_float4(image_float(x, y, 0, seed), image_float(x, y, 1, seed),
                                  image_float(x, y, 2, seed), image_float(x, y, 3, seed)))

CULV_KERNELS(image_write_uchar4, image_read_uchar4, image_write_ushort4, image_read_ushort4,
             image_write_float, image_read_float, image_write_float4, image_read_float4)
