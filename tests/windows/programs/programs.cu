// SPDX-License-Identifier: MIT
// Kernels of the programs that run on the rig as they are.
#include "culvert_kernel.h"

// Texels that tell where they are; all three have the same parameters.
CULV_KERNEL void plane(CULV_GRID cudaSurfaceObject_t out, int width, int height, int, int frame)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    surf2Dwrite(make_float4((float)x, (float)y, (float)frame, 1.0f), out, x * 16, y);
}

CULV_KERNEL void volume(CULV_GRID cudaSurfaceObject_t out, int width, int height, int depth,
                        int frame)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    for (int z = 0; z < depth; z++)
        surf3Dwrite(make_uchar4((unsigned char)(3 * x + frame), (unsigned char)(5 * y),
                                (unsigned char)(7 * z), 255),
                    out, x * 4, y, z);
}

CULV_KERNEL void cube(CULV_GRID cudaSurfaceObject_t out, int size, int, int, int frame)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    for (int face = 0; face < 6; face++)
        surfCubemapwrite(make_uchar4((unsigned char)(x + frame), (unsigned char)y,
                                     (unsigned char)(40 * face), 255),
                         out, x * 4, y, face);
}

CULV_KERNELS(plane, volume, cube)
