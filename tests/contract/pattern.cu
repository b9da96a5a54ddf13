/* SPDX-License-Identifier: MIT */
/* Kernels of the contract suite. */
#include "culvert_kernel.h"

/* Word i becomes i * 2654435761 + seed, as pattern_words() says it. */
CULV_KERNEL void pattern_write(CULV_GRID unsigned *out, unsigned count, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = i * 2654435761u + seed;
}

CULV_KERNEL void pattern_add(CULV_GRID unsigned *data, unsigned count, unsigned addend)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += addend;
}

CULV_KERNELS(pattern_write, pattern_add)
