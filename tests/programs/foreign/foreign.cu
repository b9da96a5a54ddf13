// SPDX-License-Identifier: MIT
// The kernels of the foreign programs.
#include "culvert_kernel.h"

// byte_of() of work.c says the same.
static __device__ __forceinline__ unsigned char byte_of(unsigned long long index, unsigned seed)
{
    unsigned h = (unsigned)index * 2654435761u + seed * 40503u + 17u;
    h ^= h >> 15;
    h *= 0x7feb352du;
    return (unsigned char)(h >> 24);
}

CULV_KERNEL void foreign_fill(CULV_GRID unsigned char *to, unsigned long long first,
                              unsigned long long count, unsigned seed)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = byte_of(first + i, seed);
}

CULV_KERNEL void foreign_sine(CULV_GRID float4 *points, int width, int height, float time)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (float)x / (float)width * 2.0f - 1.0f, v = (float)y / (float)height * 2.0f - 1.0f;
    float w = sinf(u * 4.0f + time) * cosf(v * 4.0f + time) * 0.5f;
    points[y * width + x] = make_float4(u, w, v, 1.0f);
}

// Points in a square, by a hash, and whether each lies in the circle.
CULV_KERNEL void foreign_points(CULV_GRID float2 *points, unsigned char *inside, unsigned count,
                                unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned h = i * 2654435761u + seed;
    h ^= h >> 16;
    h *= 0x7feb352du;
    unsigned g = h * 1664525u + 1013904223u;
    float x = (float)(h >> 8) * (1.0f / 16777216.0f), y = (float)(g >> 8) * (1.0f / 16777216.0f);
    points[i] = make_float2(x, y);
    inside[i] = x * x + y * y < 1.0f ? 1 : 0;
}

// The mean of 5 x 5 texels, by a texture that reads the stored integers.
CULV_KERNEL void foreign_blur(CULV_GRID cudaTextureObject_t from, cudaSurfaceObject_t to, int width,
                              int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned r = 0, g = 0, b = 0, a = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            uchar4 t = tex2D<uchar4>(from, (float)(x + dx) + 0.5f, (float)(y + dy) + 0.5f);
            r += t.x, g += t.y, b += t.z, a += t.w;
        }
    surf2Dwrite(make_uchar4((unsigned char)(r / 25), (unsigned char)(g / 25),
                            (unsigned char)(b / 25), (unsigned char)(a / 25)),
                to, x * 4, y);
}

// A level from the one above it. Of an odd size the last row and column take part in none.
CULV_KERNEL void foreign_halve(CULV_GRID cudaSurfaceObject_t from, cudaSurfaceObject_t to,
                               int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned r = 0, g = 0, b = 0, a = 0;
    for (int i = 0; i < 4; i++) {
        uchar4 t = surf2Dread<uchar4>(from, (2 * x + (i & 1)) * 4, 2 * y + (i >> 1));
        r += t.x, g += t.y, b += t.z, a += t.w;
    }
    surf2Dwrite(make_uchar4((unsigned char)(r / 4), (unsigned char)(g / 4), (unsigned char)(b / 4),
                            (unsigned char)(a / 4)),
                to, x * 4, y);
}

// Colours by place, through a surface; and the other way, through the same.
CULV_KERNEL void foreign_paint(CULV_GRID cudaSurfaceObject_t to, int width, int height,
                               unsigned seed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned long long at = 4ull * (unsigned)(y * width + x);
    surf2Dwrite(make_uchar4(byte_of(at, seed), byte_of(at + 1, seed), byte_of(at + 2, seed),
                            byte_of(at + 3, seed)),
                to, x * 4, y);
}

CULV_KERNEL void foreign_fetch(CULV_GRID cudaSurfaceObject_t from, uchar4 *to, int width,
                               int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) to[y * width + x] = surf2Dread<uchar4>(from, x * 4, y);
}

CULV_KERNELS(foreign_fill, foreign_sine, foreign_points, foreign_blur, foreign_halve, foreign_paint,
             foreign_fetch)
