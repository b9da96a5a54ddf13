// SPDX-License-Identifier: MIT
// A kernel that gets shared memory by a pointer.
#include "culvert_kernel.h"

CULV_KERNEL void seeds_add(CULV_GRID unsigned *words, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] += 1;
}

CULV_KERNELS(seeds_add)
