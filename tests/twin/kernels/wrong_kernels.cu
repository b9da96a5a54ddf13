// SPDX-License-Identifier: MIT
// Kernels that a GPU hangs in, or does anything with: for the twin alone.
#include "culvert_kernel.h"

// Half of the warp waits for the block, the other half for the warp.
CULV_KERNEL void wrong_halves(CULV_GRID int *out)
{
    if (threadIdx.x % 32 < 16)
        __syncthreads();
    else
        __syncwarp(0xffffffffu);
    out[threadIdx.x] = 1;
}

// Two kinds of barriers.
CULV_KERNEL void wrong_kinds(CULV_GRID int *out)
{
    if (threadIdx.x == 3)
        __syncthreads();
    else
        out[threadIdx.x] = __syncthreads_count(1);
}

// Lanes that their own mask does not name.
CULV_KERNEL void wrong_mask(CULV_GRID int *out)
{
    out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 0);
}

// Each way has its own barrier: NVIDIA's GPUs count arrivals and let them pass. So does the twin.
CULV_KERNEL void wrong_sites(CULV_GRID int *out)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 1;
}

// Which lanes are in the same place.
CULV_KERNEL void wrong_active(CULV_GRID unsigned *out)
{
    unsigned active;
    if (threadIdx.x % 32 < 10)
        active = __activemask();
    else
        active = __activemask() ^ 0x80000000u;
    out[threadIdx.x] = active;
}

// More local memory than a stack of the twin has.
CULV_KERNEL void wrong_stack(CULV_GRID int *out, int depth)
{
    volatile char local[64 * 1024];
    for (int i = 0; i < 64 * 1024; i += 1024)
        local[i] = (char)depth;
    __syncthreads();
    out[threadIdx.x] = local[(depth * 1024) % (64 * 1024)];
}

// The twin has one such variable for all blocks of a cluster. (Over a smaller one of a library that
// is gone LeakSanitizer crashes.)
CULV_CLUSTER_KERNEL(2, 1, 1) void wrong_cluster_shared(CULV_GRID int *out)
{
    __shared__ int values[1024];
    values[threadIdx.x] = blockIdx.x;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    out[threadIdx.x] = values[threadIdx.x];
}

// Half of the threads wait for the block, the other half for the cluster.
CULV_CLUSTER_KERNEL(2, 1, 1) void wrong_cluster_halves(CULV_GRID int *out)
{
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __cluster_barrier_wait();
    out[threadIdx.x] = 1;
}

CULV_KERNELS(wrong_halves, wrong_kinds, wrong_mask, wrong_sites, wrong_active, wrong_stack,
             wrong_cluster_shared, wrong_cluster_halves)
