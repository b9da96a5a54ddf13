// SPDX-License-Identifier: MIT
#include "culvert_kernel.h"

// Each colour becomes 255 minus itself.
CULV_KERNEL void invert(CULV_GRID cudaSurfaceObject_t image, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 p;
    surf2Dread(&p, image, x * 4, y);
    surf2Dwrite(make_uchar4((unsigned char)(255 - p.x), (unsigned char)(255 - p.y),
                            (unsigned char)(255 - p.z), p.w),
                image, x * 4, y);
}

CULV_KERNELS(invert)
