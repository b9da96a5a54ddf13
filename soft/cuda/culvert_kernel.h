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
// file (16 at most).
//
// On the twin the threads of a block run one after another in a loop that the compiler vectorizes.
// A kernel that uses __syncthreads(), a warp function or dynamic shared memory has a stack for each
// thread instead, which is slower. Nothing needs to be said: it is found out for each kernel. When
// a __device__ function uses them, or threadIdx and the other indices, all kernels of its file run
// so. Hand it the indices as arguments, or put it into another file, where that matters.
//
// Dynamic shared memory is CULV_DYNAMIC_SHARED(float, tile); where CUDA writes
// extern __shared__ float tile[];
//
// A kernel with clusters begins with CULV_CLUSTER_KERNEL(2, 1, 1) where CUDA writes
// __cluster_dims__(2, 1, 1). For GPUs before sm_90 it has none, and CULV_HAS_CLUSTERS is 0.
//
#ifndef CULVERT_KERNEL_H_
#define CULVERT_KERNEL_H_

#ifdef __CUDACC__

#    define CULV_KERNEL extern "C" __global__
#    if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#        define CULV_HAS_CLUSTERS            1
#        define CULV_CLUSTER_KERNEL(x, y, z) extern "C" __global__ __cluster_dims__(x, y, z)
#    else // nvcc refuses the attribute, and has no such functions
#        define CULV_HAS_CLUSTERS            0
#        define CULV_CLUSTER_KERNEL(x, y, z) extern "C" __global__
#    endif
#    define CULV_GRID
#    define CULV_KERNELS(...)
// One array for all kernels of the file, whatever the type: nvcc refuses two of one name.
#    define CULV_DYNAMIC_SHARED(type, name)                                                        \
        extern __shared__ __align__(16) unsigned char culv_dynamic_shared[];                       \
        type *const name = reinterpret_cast<type *>(culv_dynamic_shared)

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
#    undef __global__ // the build's word for a source without this header
#    define __global__
// The host may write it (cuModuleGetGlobal): a static one is no constant to the compiler.
#    define __constant__ __attribute__((used))
#    define __managed__
#    define __shared__
#    define __launch_bounds__(...)

#    include <vector_types.h>

#    include <vector_functions.h>

#    undef __global__
#    define __global__ write_CULV_KERNEL_for_extern_C___global__
#    undef __forceinline__
#    define __forceinline__ inline __attribute__((always_inline))
#    undef __noinline__
#    define __noinline__ __attribute__((noinline))
#    ifndef __restrict__
#        define __restrict__ __restrict
#    endif

#    ifndef __align__
#        define __align__(n) __attribute__((aligned(n)))
#    endif

#    include "culvert_block.h"

#    include "culvert_block.h"

#    include "culvert_block.h"

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

#    include "culvert_atomic.h"
#    include "culvert_texture.h"

// From a kernel to its row in the module's table.
namespace culv_soft {
namespace {

template <typename T> inline T argument(const void *value)
{
    static_assert(std::is_trivially_copyable<T>::value, "kernel arguments are copied byte by byte");
    T copy;
    std::memcpy(&copy, value, sizeof(copy));
    return copy;
}

// The arguments are parameters here, so that they are loop invariants to the compiler.
template <auto Kernel, typename Index, typename... A>
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
                    const Index index = {{{x, y, z}, at, block_dim, grid_dim}};
                    Kernel(index, arguments...);
                }
            }
    }
}

// A kernel twice: as the body of a loop, and for one thread that may wait in it.
template <auto Loop, auto Thread> struct entry {
    static_assert(Loop == nullptr, "CULV_GRID stands before a kernel's first parameter");
};

template <typename Mode, typename Clusters, typename... A,
          void (*Loop)(const culv_soft_kernel_index<Mode, Clusters> &, A...),
          void (*Thread)(const culv_soft_kernel_index<stacks, Clusters> &, A...)>
struct entry<Loop, Thread> {
    using of_clusters = Clusters;
    static_assert(sizeof...(A) > 0, "a kernel takes at least one argument");
    static constexpr uint32_t num_params = sizeof...(A);
    static constexpr uint32_t param_sizes[sizeof...(A)] = {sizeof(A)...};

    template <size_t... I>
    static inline __attribute__((always_inline)) void
    spread(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first, uint64_t count,
           void *const *params, std::index_sequence<I...>)
    {
        run_blocks<Loop, culv_soft_kernel_index<Mode, Clusters>, A...>(grid, block, first, count,
                                                                       argument<A>(params[I])...);
    }

    static void run_baseline(culv_soft_dim3 grid, culv_soft_dim3 block, uint64_t first,
                             uint64_t count, void *const *params)
    {
        spread(grid, block, first, count, params, std::index_sequence_for<A...>{});
    }

#    if defined(__x86_64__) && !defined(_WIN32) // where gcc keeps no stack of such alignment
#        define CULV_WIDE_ 1
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
#    ifdef CULV_WIDE_
        if (__builtin_cpu_supports("avx2")) {
            run_avx2(grid, block, first, count, params);
            return;
        }
#    endif
        run_baseline(grid, block, first, count, params);
    }

    template <size_t... I>
    static void one(const culv_soft_kernel_index<stacks, Clusters> &index, void *const *params,
                    std::index_sequence<I...>)
    {
        Thread(index, argument<A>(params[I])...);
    }

    static void thread(const culv_soft_place *place, void *const *params)
    {
        one({index_of<stacks>(place)}, params, std::index_sequence_for<A...>{});
    }
};

template <typename Entry>
constexpr culv_soft_kernel row_of(const char *name, const unsigned char *meets)
{
    constexpr auto size = Entry::of_clusters::size;
    return {name,          Entry::run, Entry::num_params,          Entry::param_sizes,
            Entry::thread, meets,      {size[0], size[1], size[2]}};
}

} // namespace
} // namespace culv_soft

#    define CULV_LOOP_(k) culv_soft::loops<struct culv_kernel_##k>
#    define CULV_ROW_(k)                                                                           \
        culv_soft::row_of<culv_soft::entry<&k<CULV_LOOP_(k)>, &k<culv_soft::stacks>>>(             \
            #k, &culv_soft::meets<CULV_LOOP_(k)>::flag),
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

// What the driver finds by its name.
#    ifdef _WIN32
#        define CULV_EXPORTED_ __declspec(dllexport)
#    else
#        define CULV_EXPORTED_ __attribute__((visibility("default"), used))
#    endif

#    define CULV_KERNELS(...)                                                                      \
        static constexpr culv_soft_kernel culv_soft_rows[] = {CULV_ROWS_(__VA_ARGS__)};            \
        extern "C" CULV_EXPORTED_ const culv_soft_module_table culv_soft_exported __asm__(         \
            CULV_SOFT_MODULE_SYMBOL) = {                                                           \
            CULV_SOFT_MODULE_VERSION, sizeof(culv_soft_rows) / sizeof(culv_soft_rows[0]),          \
            culv_soft_rows, &culv_soft::meets<culv_soft::elsewhere>::flag, &culv_soft::services};

#endif
#endif
