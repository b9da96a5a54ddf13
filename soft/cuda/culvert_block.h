// SPDX-License-Identifier: MIT
// What the threads of a block do together on the software twin: shared memory, barriers, shuffles,
// votes. Part of culvert_kernel.h.
#ifndef CULVERT_BLOCK_H_
#define CULVERT_BLOCK_H_

#include "culvert_index.h"

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

#endif
