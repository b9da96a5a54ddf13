// SPDX-License-Identifier: MIT
// threadIdx and the others on the software twin. Part of culvert_kernel.h.
#ifndef CULVERT_BLOCK_H_
#define CULVERT_BLOCK_H_

#include "../shared/module_abi.h"

// Signed, where CUDA's are unsigned: addresses computed from them may then be taken not to wrap,
// without which gcc vectorizes nothing. A grid of more than 2^31 threads in a direction is beyond
// the twin.
struct culv_soft_int3 {
    int x, y, z;

    operator uint3() const
    {
        return {(unsigned)x, (unsigned)y, (unsigned)z};
    }
    operator dim3() const
    {
        return {(unsigned)x, (unsigned)y, (unsigned)z};
    }
};

// Mode is how the kernel around it is compiled: see below.
template <typename Mode> struct culv_soft_index {
    culv_soft_int3 thread, block, block_dim, grid_dim;
};

namespace culv_soft {

template <unsigned X, unsigned Y, unsigned Z> struct clusters { // of so many blocks; 0: none
    static constexpr unsigned size[3] = {X, Y, Z};
};

} // namespace culv_soft

// What a kernel gets: its type says which clusters it has.
template <typename Mode, typename Clusters> struct culv_soft_kernel_index : culv_soft_index<Mode> {
};

namespace culv_soft {
namespace {

template <typename Kernel> struct loops { // the threads of a block one after another, in a loop
};
struct stacks { // each thread has a stack, and may wait for others
};
struct elsewhere { // a __device__ function: whatever the kernel around it does
};

const culv_soft_services *services; // the driver sets it when it opens the module

// Whether anything in a kernel, or in a function of the file, needs stacks. `seen` is made, and
// sets the flag when the module is opened, if code that names it is: that of the kernel as a loop.
template <typename Mode> struct meets {
    static unsigned char flag;
    struct setter {
        setter()
        {
            flag = 1;
        }
    };
    static setter seen;
};
template <typename Mode> unsigned char meets<Mode>::flag = 0;
template <typename Mode> typename meets<Mode>::setter meets<Mode>::seen;

template <typename Mode> struct is_loop : std::false_type {
};
template <typename Kernel> struct is_loop<loops<Kernel>> : std::true_type {
};

// Says at compile time that stacks are needed here.
template <typename Mode> inline __attribute__((always_inline)) void need_stacks()
{
    if constexpr (!std::is_same_v<Mode, stacks>) (void)&meets<Mode>::seen;
    if constexpr (is_loop<Mode>::value) __builtin_trap(); // the flag is set: it never runs
}

template <typename Mode>
inline __attribute__((always_inline)) culv_soft_index<Mode> index_of(const culv_soft_place *p)
{
    return {{p->thread[0], p->thread[1], p->thread[2]},
            {p->block[0], p->block[1], p->block[2]},
            {p->block_dim[0], p->block_dim[1], p->block_dim[2]},
            {p->grid_dim[0], p->grid_dim[1], p->grid_dim[2]}};
}

template <typename Mode>
inline __attribute__((always_inline)) decltype(auto) at(const culv_soft_index<Mode> &index)
{
    if constexpr (std::is_same_v<Mode, elsewhere>) {
        need_stacks<Mode>();
        return index_of<Mode>(services->place());
    } else {
        return (index);
    }
}

} // namespace
} // namespace culv_soft

// What __device__ functions see; a kernel's parameter hides it.
[[maybe_unused]] static constexpr culv_soft_index<culv_soft::elsewhere> culv_idx = {};

#define threadIdx (culv_soft::at(culv_idx).thread)
#define blockIdx  (culv_soft::at(culv_idx).block)
#define blockDim  (culv_soft::at(culv_idx).block_dim)
#define gridDim   (culv_soft::at(culv_idx).grid_dim)
#define warpSize  32

#define CULV_KERNEL CULV_CLUSTER_KERNEL(0, 0, 0)
#define CULV_CLUSTER_KERNEL(x, y, z)                                                               \
    template <typename culv_mode, typename culv_clusters = culv_soft::clusters<x, y, z>>           \
    static inline __attribute__((always_inline))
#define CULV_GRID [[maybe_unused]] const culv_soft_kernel_index<culv_mode, culv_clusters> &culv_idx,

// What the threads of a block do together on the software twin: shared memory, barriers, shuffles,
// votes. Part of culvert_kernel.h.

// A block runs on one thread of the host. The name is what a compiler says of `extern __shared__`.
#undef __shared__
#define __shared__                                                                                 \
    typedef int write_CULV_DYNAMIC_SHARED_for_extern_shared __attribute__((unused));               \
    thread_local
#define CULV_DYNAMIC_SHARED(type, name)                                                            \
    type *const name = static_cast<type *>(culv_soft::dynamic_shared(culv_idx))

namespace culv_soft {
namespace {

template <typename Mode>
inline __attribute__((always_inline)) void *dynamic_shared(const culv_soft_index<Mode> &)
{
    need_stacks<Mode>();
    return services->shared();
}

template <typename Mode>
inline __attribute__((always_inline)) int meet_block(const culv_soft_index<Mode> &,
                                                     culv_soft_meeting kind, int value)
{
    need_stacks<Mode>();
    return (int)services->meet_block(kind, value != 0);
}

// What the lanes of a warp brought to a meeting.
struct lanes {
    uint32_t present, own;
    const uint64_t *values;
};

template <typename Mode>
inline __attribute__((always_inline)) lanes
meet_warp(const culv_soft_index<Mode> &, culv_soft_meeting kind, unsigned mask, uint64_t value)
{
    need_stacks<Mode>();
    lanes result;
    result.own = services->place()->lane;
    result.present = services->meet_warp(kind, mask, value, &result.values);
    return result;
}

template <typename T> inline uint64_t bits_of(T value)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value,
                  "warp functions take values of up to 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
}

enum class from { index, up, down, exclusive_or };

// PTX ISA, "shfl.sync". A lane that is not there, or not in the mask, gives the reader its own value:
// CUDA leaves it undefined.
template <from From, typename Mode, typename T>
inline T shuffle(const culv_soft_index<Mode> &index, unsigned mask, T value, int operand,
                 int width = 32)
{
    const lanes all = meet_warp(index, CULV_SOFT_WARP_SHUFFLE, mask, bits_of(value));
    const uint32_t part = (uint32_t)(32 - width) & 31u, by = (uint32_t)operand & 31u;
    const uint32_t first = all.own & part, last = first | (31u & ~part);
    uint32_t source = all.own;
    bool inside = false;
    switch (From) {
    case from::index:
        source = first | (by & ~part);
        inside = true;
        break;
    case from::up:
        inside = all.own >= first + by;
        source = all.own - by;
        break;
    case from::down:
        source = all.own + by;
        inside = source <= last;
        break;
    case from::exclusive_or:
        source = all.own ^ by;
        inside = source <= last;
        break;
    }
    if (!inside || !(all.present >> source & 1u)) return value;
    T result;
    std::memcpy(&result, &all.values[source], sizeof(result));
    return result;
}

template <typename Mode>
inline unsigned ballot(const culv_soft_index<Mode> &index, unsigned mask, int predicate)
{
    const lanes all = meet_warp(index, CULV_SOFT_WARP_VOTE, mask, predicate != 0);
    unsigned votes = 0;
    for (unsigned i = 0; i < 32; i++)
        if (all.present >> i & 1u) votes |= (unsigned)all.values[i] << i;
    return votes;
}

template <typename Mode>
inline int every(const culv_soft_index<Mode> &index, unsigned mask, int predicate)
{
    return ballot(index, mask, !predicate) == 0;
}

// Those that are at the same line.
template <typename Mode> inline unsigned active(const culv_soft_index<Mode> &index, unsigned line)
{
    return meet_warp(index, CULV_SOFT_WARP_ACTIVE, ~0u, line).present;
}

template <typename Mode, typename T>
inline unsigned match_any(const culv_soft_index<Mode> &index, unsigned mask, T value)
{
    const lanes all = meet_warp(index, CULV_SOFT_WARP_MATCH, mask, bits_of(value));
    unsigned equal = 0;
    for (unsigned i = 0; i < 32; i++)
        if ((all.present >> i & 1u) && all.values[i] == bits_of(value)) equal |= 1u << i;
    return equal;
}

template <typename Mode, typename T>
inline unsigned match_all(const culv_soft_index<Mode> &index, unsigned mask, T value,
                          int *predicate)
{
    const lanes all = meet_warp(index, CULV_SOFT_WARP_MATCH, mask, bits_of(value));
    *predicate = 1;
    for (unsigned i = 0; i < 32; i++)
        if ((all.present >> i & 1u) && all.values[i] != bits_of(value)) *predicate = 0;
    return *predicate ? mask : 0;
}

// __syncwarp() has a default argument.
template <typename Mode> struct warp_barrier {
    const culv_soft_index<Mode> &index;
    inline __attribute__((always_inline)) void operator()(unsigned mask = ~0u) const
    {
        (void)meet_warp(index, CULV_SOFT_WARP_SYNC, mask, 0);
    }
};
template <typename Mode>
inline __attribute__((always_inline)) warp_barrier<Mode>
warp_barrier_at(const culv_soft_index<Mode> &index)
{
    return {index};
}

} // namespace
} // namespace culv_soft

#define __syncthreads() ((void)culv_soft::meet_block(culv_idx, CULV_SOFT_SYNC, 0))
#define __syncthreads_count(predicate)                                                             \
    culv_soft::meet_block(culv_idx, CULV_SOFT_SYNC_COUNT, (predicate) != 0)
#define __syncthreads_and(predicate)                                                               \
    culv_soft::meet_block(culv_idx, CULV_SOFT_SYNC_AND, (predicate) != 0)
#define __syncthreads_or(predicate)                                                                \
    culv_soft::meet_block(culv_idx, CULV_SOFT_SYNC_OR, (predicate) != 0)
#define __syncwarp(...) culv_soft::warp_barrier_at(culv_idx)(__VA_ARGS__)

#define __shfl_sync(...)      culv_soft::shuffle<culv_soft::from::index>(culv_idx, __VA_ARGS__)
#define __shfl_up_sync(...)   culv_soft::shuffle<culv_soft::from::up>(culv_idx, __VA_ARGS__)
#define __shfl_down_sync(...) culv_soft::shuffle<culv_soft::from::down>(culv_idx, __VA_ARGS__)
#define __shfl_xor_sync(...)                                                                       \
    culv_soft::shuffle<culv_soft::from::exclusive_or>(culv_idx, __VA_ARGS__)
#define __ballot_sync(mask, predicate) culv_soft::ballot(culv_idx, (mask), (predicate) != 0)
#define __any_sync(mask, predicate)    (culv_soft::ballot(culv_idx, (mask), (predicate) != 0) != 0)
#define __all_sync(mask, predicate)    culv_soft::every(culv_idx, (mask), (predicate) != 0)
#define __activemask()                 culv_soft::active(culv_idx, __LINE__)
#define __match_any_sync(mask, value)  culv_soft::match_any(culv_idx, (mask), (value))
#define __match_all_sync(mask, value, predicate)                                                   \
    culv_soft::match_all(culv_idx, (mask), (value), (predicate))

// Blocks run on several threads of the host.
static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence_block()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence_system()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// Clusters of blocks on the software twin. Part of culvert_kernel.h.

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
