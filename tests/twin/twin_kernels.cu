// SPDX-License-Identifier: MIT
// Kernels for the twin's own tests.
#include "culvert_kernel.h"

CULV_KERNEL void twin_scale(CULV_GRID float *__restrict__ out, const float *__restrict__ in,
                            float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor + 1.0f;
}

// Writes where it is in the grid, so that a wrong index shows.
CULV_KERNEL void twin_where(CULV_GRID uint4 *out, uint3 extent)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= extent.x || y >= extent.y || z >= extent.z) return;
    out[(z * extent.y + y) * extent.x + x] = make_uint4(x, y, z, gridDim.x);
}

CULV_KERNEL void twin_count(CULV_GRID int *counter, float *sum)
{
    atomicAdd(counter, 1);
    if (threadIdx.x == 0) atomicAdd(sum, 1.0f);
}

// One write a block.
CULV_KERNEL void twin_poke(CULV_GRID int *address, int value)
{
    if (threadIdx.x == 0) address[blockIdx.x] = value;
}

__constant__ float twin_constants[4];
static __constant__ float twin_fixed = 7.0f; // the host may write it all the same
__device__ float twin_total;

CULV_KERNEL void twin_sum_constants(CULV_GRID float factor)
{
    twin_total = factor * (twin_constants[0] + twin_constants[1] + twin_constants[2] +
                           twin_constants[3] + twin_fixed);
}

// A surface's rectangle of texels from (left, top) on, in a boundary mode.
struct rectangle {
    int left, top, width, height;
    cudaSurfaceBoundaryMode mode;
    int shift; // bytes, which breaks the alignment
};

CULV_KERNEL void write_uchar4(CULV_GRID cudaSurfaceObject_t surface, const uchar4 *texels,
                              rectangle r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= r.width || y >= r.height) return;
    surf2Dwrite(texels[y * r.width + x], surface, (r.left + x) * (int)sizeof(uchar4) + r.shift,
                r.top + y, r.mode);
}

CULV_KERNEL void read_uchar4(CULV_GRID cudaSurfaceObject_t surface, uchar4 *texels, rectangle r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= r.width || y >= r.height) return;
    const int at = (r.left + x) * (int)sizeof(uchar4) + r.shift;
    if (y % 2 == 0)
        texels[y * r.width + x] = surf2Dread<uchar4>(surface, at, r.top + y, r.mode);
    else
        surf2Dread(&texels[y * r.width + x], surface, at, r.top + y, r.mode);
}

CULV_KERNELS(twin_scale, twin_where, twin_count, twin_poke, twin_sum_constants, write_uchar4,
             read_uchar4)
