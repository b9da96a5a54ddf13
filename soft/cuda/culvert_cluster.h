// SPDX-License-Identifier: MIT
// Clusters of blocks on the software twin. Part of culvert_kernel.h.
#ifndef CULVERT_CLUSTER_H_
#define CULVERT_CLUSTER_H_

#include "culvert_block.h"

#define CULV_HAS_CLUSTERS 1

// The host compiler takes no such attribute. Its name is what the compiler says of one.
#undef __cluster_dims__
#define __cluster_dims__(...) write_CULV_CLUSTER_KERNEL_in_place_of_CULV_KERNEL_and_cluster_dims

namespace culv_soft {
namespace {

struct cluster_place { // without clusters a block is one of its own
    dim3 dim, block, index, grid;
    bool specified;
};

template <typename Mode> inline cluster_place cluster_at(const culv_soft_index<Mode> &)
{
    need_stacks<Mode>();
    const culv_soft_place *p = services->place();
    unsigned d[3], b[3], i[3], g[3];
    for (int k = 0; k < 3; k++) {
        d[k] = p->cluster_dim[0] == 0 ? 1u : (unsigned)p->cluster_dim[k];
        b[k] = (unsigned)p->block[k] % d[k];
        i[k] = (unsigned)p->block[k] / d[k];
        g[k] = (unsigned)p->grid_dim[k] / d[k];
    }
    return {{d[0], d[1], d[2]},
            {b[0], b[1], b[2]},
            {i[0], i[1], i[2]},
            {g[0], g[1], g[2]},
            p->cluster_dim[0] != 0};
}

inline unsigned rank_of(const cluster_place &c)
{
    return (c.block.z * c.dim.y + c.block.y) * c.dim.x + c.block.x;
}

// An address in the block's dynamic shared memory, in that of another block of the cluster.
template <typename Mode>
inline void *map_shared(const culv_soft_index<Mode> &, const void *address, unsigned rank)
{
    need_stacks<Mode>();
    const char *mine = static_cast<const char *>(services->shared());
    return static_cast<char *>(services->shared_of(rank)) +
           (static_cast<const char *>(address) - mine);
}

} // namespace
} // namespace culv_soft

#define __clusterDimIsSpecified()                ((unsigned)culv_soft::cluster_at(culv_idx).specified)
#define __clusterDim()                           (culv_soft::cluster_at(culv_idx).dim)
#define __clusterRelativeBlockIdx()              (culv_soft::cluster_at(culv_idx).block)
#define __clusterIdx()                           (culv_soft::cluster_at(culv_idx).index)
#define __clusterGridDimInClusters()             (culv_soft::cluster_at(culv_idx).grid)
#define __clusterRelativeBlockRank()             (culv_soft::rank_of(culv_soft::cluster_at(culv_idx)))
#define __clusterSizeInBlocks()                  (__clusterDim().x * __clusterDim().y * __clusterDim().z)
#define __cluster_map_shared_rank(address, rank) culv_soft::map_shared(culv_idx, (address), (rank))

// The wait is where threads meet: to arrive waits for nobody, on a GPU either.
#define __cluster_barrier_arrive()         ((void)0)
#define __cluster_barrier_arrive_relaxed() ((void)0)
#define __cluster_barrier_wait()           ((void)culv_soft::meet_block(culv_idx, CULV_SOFT_SYNC_CLUSTER, 0))

#endif
