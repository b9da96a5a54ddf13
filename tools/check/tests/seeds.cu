// SPDX-License-Identifier: MIT
// Kernels that get shared memory by a pointer, and by a surface.
#include "culvert_kernel.h"

CULV_KERNEL void seeds_add(CULV_GRID unsigned *words, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] += 1;
}

CULV_KERNEL void seeds_paint(CULV_GRID cudaSurfaceObject_t surface, unsigned width, unsigned height)
{
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x,
                   y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite(make_uchar4(1, 2, 3, 4), surface, (int)(4 * x), (int)y);
}

CULV_KERNELS(seeds_add, seeds_paint)
