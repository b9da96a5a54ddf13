/* Kernels of the library's suite. SPDX-License-Identifier: MIT */
#include "culvert_kernel.h"

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

CULV_KERNELS(library_write, library_add, library_poke)
