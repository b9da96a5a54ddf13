/* SPDX-License-Identifier: MIT */
/* Clusters of blocks. */
#include "culvert_kernel.h"

/* 100, and how many blocks its clusters have. */
CULV_CLUSTER_KERNEL(2, 1, 1) void cluster_fixed(CULV_GRID unsigned *out)
{
    unsigned blocks = 0;
#if CULV_HAS_CLUSTERS
    blocks = __clusterSizeInBlocks();
#endif
    if (threadIdx.x == 0) out[blockIdx.x] = 100 + blocks;
}

/* Eight words for each block, the grid's x first: where it is in its cluster, and that in the
 * grid. */
CULV_KERNEL void cluster_places(CULV_GRID unsigned *out)
{
#if CULV_HAS_CLUSTERS
    const dim3 size = __clusterDim(), at = __clusterRelativeBlockIdx(), index = __clusterIdx(),
               all = __clusterGridDimInClusters();
    unsigned *mine = out + 8 * ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
    if (threadIdx.x != 0) return;
    mine[0] = __clusterDimIsSpecified() != 0;
    mine[1] = __clusterSizeInBlocks();
    mine[2] = __clusterRelativeBlockRank();
    mine[3] = size.x | size.y << 8 | size.z << 16;
    mine[4] = at.x | at.y << 8 | at.z << 16;
    mine[5] = index.x | index.y << 8 | index.z << 16;
    mine[6] = all.x | all.y << 8 | all.z << 16;
    mine[7] = 7;
#else
    out[0] = 0;
#endif
}

/* Each block hands its words to the one before it in the cluster, by shared memory. */
CULV_KERNEL void cluster_turn(CULV_GRID unsigned *out, int rounds)
{
    CULV_DYNAMIC_SHARED(unsigned, tile);
    const unsigned t = threadIdx.x;
    tile[t] = blockIdx.x * 1000 + t;
    unsigned value = 0;
#if CULV_HAS_CLUSTERS
    const unsigned blocks = __clusterSizeInBlocks(), rank = __clusterRelativeBlockRank();
    for (int round = 0; round < rounds; round++) {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
        const unsigned *next =
            (const unsigned *)__cluster_map_shared_rank(tile, (rank + 1) % blocks);
        value = next[t];
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
        tile[t] = value;
    }
    __cluster_barrier_arrive(); /* nobody ends while its memory is read */
    __cluster_barrier_wait();
#else
    value = (unsigned)rounds;
#endif
    out[blockIdx.x * blockDim.x + t] = value;
}

CULV_KERNELS(cluster_fixed, cluster_places, cluster_turn)
