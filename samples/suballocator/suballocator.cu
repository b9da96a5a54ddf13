/* SPDX-License-Identifier: MIT */
/* suballocator's kernels: a pattern into each kind of resource. */
#include "culvert_kernel.h"

/* Interference of three waves whose arrangement is the resource's number, so that no two tiles are
 * alike. */
static __device__ uchar4 pattern(int x, int y, int width, int height, int number, int bgra)
{
    float u = (float)x / (float)width - 0.5f, v = (float)y / (float)height - 0.5f;
    float n = (float)number;
    float a = 0.5f + 0.5f * sinf(20.0f * u + n), b = 0.5f + 0.5f * sinf(16.0f * v + 2.0f * n);
    float r = sqrtf(u * u + v * v);
    float c = 0.5f + 0.5f * sinf(30.0f * r - n);
    unsigned char red = (unsigned char)(255.0f * a * c), green = (unsigned char)(255.0f * b);
    unsigned char blue = (unsigned char)(255.0f * (1.0f - c) * (0.4f + 0.6f * a));
    return bgra ? make_uchar4(blue, green, red, 255) : make_uchar4(red, green, blue, 255);
}

#define SUBALLOCATOR_TEXEL                                                                         \
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x),                                          \
        y = (int)(blockIdx.y * blockDim.y + threadIdx.y);                                          \
    if (x >= width || y >= height) return;                                                         \
    uchar4 color = pattern(x, y, width, height, number, bgra)

CULV_KERNEL void suballocator_buffer(CULV_GRID uchar4 *out, int width, int height, int layer,
                                     int number, int bgra)
{
    SUBALLOCATOR_TEXEL;
    (void)layer;
    out[y * width + x] = color;
}

CULV_KERNEL void suballocator_2d(CULV_GRID cudaSurfaceObject_t out, int width, int height,
                                 int layer, int number, int bgra)
{
    SUBALLOCATOR_TEXEL;
    (void)layer;
    surf2Dwrite(color, out, x * (int)sizeof(uchar4), y);
}

CULV_KERNEL void suballocator_layered(CULV_GRID cudaSurfaceObject_t out, int width, int height,
                                      int layer, int number, int bgra)
{
    SUBALLOCATOR_TEXEL;
    surf2DLayeredwrite(color, out, x * (int)sizeof(uchar4), y, layer);
}

CULV_KERNEL void suballocator_3d(CULV_GRID cudaSurfaceObject_t out, int width, int height,
                                 int layer, int number, int bgra)
{
    SUBALLOCATOR_TEXEL;
    surf3Dwrite(color, out, x * (int)sizeof(uchar4), y, layer);
}

CULV_KERNEL void suballocator_cube(CULV_GRID cudaSurfaceObject_t out, int width, int height,
                                   int layer, int number, int bgra)
{
    SUBALLOCATOR_TEXEL;
    surfCubemapwrite(color, out, x * (int)sizeof(uchar4), y, layer);
}

CULV_KERNELS(suballocator_buffer, suballocator_2d, suballocator_layered, suballocator_3d,
             suballocator_cube)
