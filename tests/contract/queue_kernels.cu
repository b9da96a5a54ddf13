/* SPDX-License-Identifier: MIT */
/* Kernels that run in Vulkan's command buffers. */
#include "culvert_kernel.h"

CULV_KERNEL void queue_add(CULV_GRID unsigned *data, unsigned count, unsigned addend)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += addend;
}

/* One word depends on all before it: a launch that comes too early, or twice, shows. */
CULV_KERNEL void queue_mix(CULV_GRID unsigned *data, unsigned count, unsigned char salt, double by)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = data[i] * 3u + (unsigned)salt + (unsigned)by;
}

/* Turns the words of a block around, by shared memory: static for blocks of 64, and dynamic. */
CULV_KERNEL void queue_turn(CULV_GRID unsigned *data, unsigned words)
{
    __shared__ unsigned first[64];
    CULV_DYNAMIC_SHARED(unsigned, all);
    unsigned at = blockIdx.x * words;
    if (threadIdx.x < 64) first[threadIdx.x] = data[at + threadIdx.x];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
        all[i] = data[at + i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
        data[at + i] = all[words - 1 - i] + first[i % 64];
}

CULV_KERNEL void queue_paint(CULV_GRID cudaSurfaceObject_t image, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite(make_uchar4((unsigned char)x, (unsigned char)y, (unsigned char)(x + y), 255),
                    image, x * (int)sizeof(uchar4), y);
}

/* What a texture returns at the middle of each texel. */
CULV_KERNEL void queue_sample(CULV_GRID cudaTextureObject_t image, int width, int height,
                              unsigned *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float4 texel = tex2DLod<float4>(image, ((float)x + 0.5f) / (float)width,
                                    ((float)y + 0.5f) / (float)height, 0);
    out[y * width + x] = (unsigned)(texel.x * 255.0f + 0.5f) |
                         (unsigned)(texel.y * 255.0f + 0.5f) << 8 |
                         (unsigned)(texel.z * 255.0f + 0.5f) << 16;
}

CULV_KERNEL void queue_poke(CULV_GRID unsigned *address)
{
    if (threadIdx.x == 0) *(volatile unsigned *)address = 1;
}

/* 100, and how many blocks its clusters have. */
CULV_CLUSTER_KERNEL(2, 1, 1) void queue_clusters(CULV_GRID unsigned *out)
{
    unsigned blocks = 0;
#if CULV_HAS_CLUSTERS
    blocks = __clusterSizeInBlocks();
#endif
    if (threadIdx.x == 0) out[blockIdx.x] = 100 + blocks;
}

/* A node of a graph may have clusters of its own. */
CULV_KERNEL void queue_constant(CULV_GRID unsigned *out)
{
    if (blockIdx.x + blockIdx.z + threadIdx.x == 0) *out = 5;
}

CULV_KERNELS(queue_add, queue_mix, queue_turn, queue_paint, queue_sample, queue_poke,
             queue_clusters, queue_constant)
