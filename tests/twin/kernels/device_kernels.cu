// SPDX-License-Identifier: MIT
// The same in __device__ functions, as most programs have it.
#include "culvert_kernel.h"

static __device__ __forceinline__ unsigned warp_sum(unsigned value)
{
    for (int by = warpSize / 2; by > 0; by /= 2)
        value += __shfl_down_sync(0xffffffffu, value, by);
    return value;
}

static __device__ unsigned sum_of_block(unsigned value)
{
    __shared__ unsigned warps[32];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    value = warp_sum(value);
    __syncthreads(); // of the call before
    if (lane == 0) warps[warp] = value;
    __syncthreads();
    value = (int)threadIdx.x < (int)(blockDim.x / warpSize) ? warps[lane] : 0;
    return warp == 0 ? warp_sum(value) : 0;
}

// Blocks of whole warps.
CULV_KERNEL void device_sum(CULV_GRID const unsigned *in, unsigned *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned sum = sum_of_block(in[i]), squares = sum_of_block(in[i] * in[i]);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = squares;
    }
}

CULV_KERNELS(device_sum)
