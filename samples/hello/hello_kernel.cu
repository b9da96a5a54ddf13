/* SPDX-License-Identifier: MIT */
/* The kernel of hello_kernel.c. CULV_GRID stands before the first parameter, without a comma; nvcc
 * does not see it. */
#include "culvert_kernel.h"

CULV_KERNEL void fill(CULV_GRID unsigned *words, int width, int height, unsigned seed)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) words[y * width + x] = (unsigned)(x * y) + seed;
}

CULV_KERNELS(fill)
