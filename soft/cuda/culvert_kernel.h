// SPDX-License-Identifier: MIT
// What a .cu source includes to be compiled twice: by nvcc for NVIDIA devices, and as C++17 by the
// host compiler for the software twin, where it becomes a shared object that cuModuleLoad opens
// (soft/shared/module_abi.h).
//
//     #include "culvert_kernel.h"
//     CULV_KERNEL void scale(CULV_GRID float *data, float factor, int n)
//     {
//         int i = blockIdx.x * blockDim.x + threadIdx.x;
//         if (i < n) data[i] *= factor;
//     }
//     CULV_KERNELS(scale)
//
// A kernel takes at least one argument, and CULV_KERNELS names them all, once, at the end of the
// file (16 at most). On the twin the indices come in with CULV_GRID, so that the loop over a
// block's threads vectorizes; a __device__ function that wants them takes them as arguments. The
// threads of a block run one after another: barriers, shared memory and warp functions cannot work
// and do not compile.
//
#ifndef CULVERT_KERNEL_H_
#define CULVERT_KERNEL_H_

#ifdef __CUDACC__

#    define CULV_KERNEL extern "C" __global__
#    define CULV_GRID
#    define CULV_KERNELS(...)

#else

#    include <cmath>
#    include <cstddef>
#    include <cstdint>
#    include <cstring>
#    include <type_traits>
#    include <utility>

// Empty before the toolkit's headers would make attributes of them that the host compiler does not
// know.
#    define __host__
#    define __device__
#    define __global__
#    define __constant__
#    define __managed__
#    define __shared__
#    define __launch_bounds__(...)

#    include <vector_types.h>

#    include <vector_functions.h>

#    include "../shared/module_abi.h"

#    undef __forceinline__
#    define __forceinline__ inline __attribute__((always_inline))
#    undef __noinline__
#    define __noinline__ __attribute__((noinline))
#    ifndef __restrict__
#        define __restrict__ __restrict
#    endif

#    define CULV_TWIN_LACKS_(what)                                                                 \
        static_assert(false,                                                                       \
                      what ": the software twin runs the threads of a block one after another")
#    undef __shared__
#    define __shared__      CULV_TWIN_LACKS_("__shared__ memory");
#    define __syncthreads() CULV_TWIN_LACKS_("__syncthreads")
#    define __syncwarp(...) CULV_TWIN_LACKS_("__syncwarp")

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

struct culv_soft_index {
    culv_soft_int3 thread, block, block_dim, grid_dim;
};

#    define threadIdx (culv_idx.thread)
#    define blockIdx  (culv_idx.block)
#    define blockDim  (culv_idx.block_dim)
#    define gridDim   (culv_idx.grid_dim)

#    define CULV_KERNEL static inline __attribute__((always_inline))
#    define CULV_GRID   const culv_soft_index &culv_idx,

// The functions of CUDA's headers that a host compiler has under other names, or not at all.
template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}

static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static inline float __saturatef(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; // a NaN gives 0, as on the device
}

static inline float __fdividef(float x, float y)
{
    return x / y;
}

static inline int min(int a, int b)
{
    return b < a ? b : a;
}

static inline int max(int a, int b)
{
    return a < b ? b : a;
}

static inline unsigned min(unsigned a, unsigned b)
{
    return b < a ? b : a;
}

static inline unsigned max(unsigned a, unsigned b)
{
    return a < b ? b : a;
}

// Blocks run on several threads, so atomics are real.
static inline int atomicAdd(int *address, int value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline unsigned atomicAdd(unsigned *address, unsigned value)
{
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline float atomicAdd(float *address, float value)
{
    float before, after;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    do {
        after = before + value;
    } while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return before;
}

#    include "culvert_surface.h"
#    include "culvert_texture.h"

// From a kernel to its row in the module's table.
namespace culv_soft {

template <typename T> inline T argument(const void *value)
{
    static_assert(std::is_trivially_copyable<T>::value, "kernel arguments are copied byte by byte");
    T copy;
    std::memcpy(&copy, value, sizeof(copy));
    return copy;
}

// The arguments are parameters here, so that they are loop invariants to the compiler.
template <auto Kernel, typename... A>
inline __attribute__((always_inline)) void run_blocks(culv_soft_dim3 grid, culv_soft_dim3 block,
                                                      uint64_t first, uint64_t count,
                                                      A... arguments)
{
    const culv_soft_int3 block_dim = {(int)block.x, (int)block.y, (int)block.z};
    const culv_soft_int3 grid_dim = {(int)grid.x, (int)grid.y, (int)grid.z};
    for (uint64_t b = first; b < first + count; b++) {
        const culv_soft_int3 at = {(int)(b % grid.x), (int)(b / grid.x % grid.y),
                                   (int)(b / grid.x / grid.y)};
        for (int z = 0; z < block_dim.z; z++)
            for (int y = 0; y < block_dim.y; y++) {
// The threads of a block owe each other nothing: the compiler may run them side by side.
#    pragma omp simd
                for (int x = 0; x < block_dim.x; x++) {
                    const culv_soft_index index = {{x, y, z}, at, block_dim, grid_dim};
                    Kernel(index, arguments...);
                }
            }
    }
}

template <auto Kernel> struct entry;

template <typename... A, void (*Kernel)(const culv_soft_index &, A...)> struct entry<Kernel> {
    static_assert(sizeof...(A) > 0, "a kernel takes at least one argument");
    static constexpr uint32_t num_params = sizeof...(A);
    static constexpr uint32_t param_sizes[sizeof...(A)] = {sizeof(A)...};

    template <size_t... I>
    static inline __attribute__((always_inline)) void
    spread(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first, uint64_t count,
           void *const *params, std::index_sequence<I...>)
    {
        run_blocks<Kernel, A...>(grid, block, first, count, argument<A>(params[I])...);
    }

    static void run_baseline(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first,
                             uint64_t count, void *const *params)
    {
        spread(grid, block, first, count, params, std::index_sequence_for<A...>{});
    }

#    ifdef __x86_64__
    // The same code for wider registers; without fused multiply-adds the results are the same to
    // the bit.
    __attribute__((target("avx2"))) static void run_avx2(culv_soft_dim3 grid, culv_soft_dim3 block,
                                                         uint64_t first, uint64_t count,
                                                         void *const *params)
    {
        spread(grid, block, first, count, params, std::index_sequence_for<A...>{});
    }
#    endif

    static void run(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first, uint64_t count,
                    void *const *params)
    {
#    ifdef __x86_64__
        if (__builtin_cpu_supports("avx2")) {
            run_avx2(grid, block, first, count, params);
            return;
        }
#    endif
        run_baseline(grid, block, first, count, params);
    }
};

} // namespace culv_soft

#    define CULV_ROW_(k)                                                                           \
        {#k, culv_soft::entry<&k>::run, culv_soft::entry<&k>::num_params,                          \
         culv_soft::entry<&k>::param_sizes},
#    define CULV_ROWS_1_(k)                                                       CULV_ROW_(k)
#    define CULV_ROWS_2_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_1_(__VA_ARGS__)
#    define CULV_ROWS_3_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_2_(__VA_ARGS__)
#    define CULV_ROWS_4_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_3_(__VA_ARGS__)
#    define CULV_ROWS_5_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_4_(__VA_ARGS__)
#    define CULV_ROWS_6_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_5_(__VA_ARGS__)
#    define CULV_ROWS_7_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_6_(__VA_ARGS__)
#    define CULV_ROWS_8_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_7_(__VA_ARGS__)
#    define CULV_ROWS_9_(k, ...)                                                  CULV_ROW_(k) CULV_ROWS_8_(__VA_ARGS__)
#    define CULV_ROWS_10_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_9_(__VA_ARGS__)
#    define CULV_ROWS_11_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_10_(__VA_ARGS__)
#    define CULV_ROWS_12_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_11_(__VA_ARGS__)
#    define CULV_ROWS_13_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_12_(__VA_ARGS__)
#    define CULV_ROWS_14_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_13_(__VA_ARGS__)
#    define CULV_ROWS_15_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_14_(__VA_ARGS__)
#    define CULV_ROWS_16_(k, ...)                                                 CULV_ROW_(k) CULV_ROWS_15_(__VA_ARGS__)
#    define CULV_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, rows, ...) rows
#    define CULV_ROWS_(...)                                                                        \
        CULV_PICK_(__VA_ARGS__, CULV_ROWS_16_, CULV_ROWS_15_, CULV_ROWS_14_, CULV_ROWS_13_,        \
                   CULV_ROWS_12_, CULV_ROWS_11_, CULV_ROWS_10_, CULV_ROWS_9_, CULV_ROWS_8_,        \
                   CULV_ROWS_7_, CULV_ROWS_6_, CULV_ROWS_5_, CULV_ROWS_4_, CULV_ROWS_3_,           \
                   CULV_ROWS_2_, CULV_ROWS_1_, )                                                   \
        (__VA_ARGS__)

#    define CULV_KERNELS(...)                                                                      \
        static const culv_soft_kernel culv_soft_rows[] = {CULV_ROWS_(__VA_ARGS__)};                \
        extern "C" __attribute__((visibility("default"), used))                                    \
        const culv_soft_module_table culv_soft_exported __asm__(CULV_SOFT_MODULE_SYMBOL) = {       \
            CULV_SOFT_MODULE_VERSION, sizeof(culv_soft_rows) / sizeof(culv_soft_rows[0]),          \
            culv_soft_rows};

#endif
#endif
