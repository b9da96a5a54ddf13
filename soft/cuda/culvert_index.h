// SPDX-License-Identifier: MIT
// threadIdx and the others on the software twin. Part of culvert_kernel.h.
#ifndef CULVERT_INDEX_H_
#define CULVERT_INDEX_H_

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

#endif
