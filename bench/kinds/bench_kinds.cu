/* SPDX-License-Identifier: MIT */
/* CUDA's side: streams through a buffer, and reads of it at random, every word checked.
 * kinds_buffer.comp does the same. */
#include "culvert_kernel.h"

#ifdef __CUDACC__
#    define UNROLL _Pragma("unroll")
#else
#    define UNROLL
#endif
enum { AT_ONCE = 8 }; /* reads on their way at the same time, of each thread */

static __device__ __forceinline__ unsigned mixed(unsigned n)
{
    n *= 0x85ebca77u;
    n ^= n >> 15;
    n *= 0x9e3779b1u;
    return n ^ n >> 13;
}

static __device__ __forceinline__ unsigned word_of(unsigned at, unsigned noise)
{
    return noise != 0 ? mixed(at) : 7u;
}

static __device__ __forceinline__ unsigned next_random(unsigned state)
{
    return state * 1664525u + 1013904223u;
}

CULV_KERNEL void kinds_fill(CULV_GRID uint4 *data, unsigned vectors, unsigned noise)
{
    unsigned threads = gridDim.x * blockDim.x;
    for (unsigned v = blockIdx.x * blockDim.x + threadIdx.x; v < vectors; v += threads)
        data[v] = make_uint4(word_of(4 * v, noise), word_of(4 * v + 1, noise),
                             word_of(4 * v + 2, noise), word_of(4 * v + 3, noise));
}

CULV_KERNEL void kinds_add(CULV_GRID uint4 *data, unsigned vectors)
{
    unsigned threads = gridDim.x * blockDim.x;
    for (unsigned v = blockIdx.x * blockDim.x + threadIdx.x; v < vectors; v += threads) {
        const uint4 was = data[v];
        data[v] = make_uint4(was.x + 1, was.y + 1, was.z + 1, was.w + 1);
    }
}

CULV_KERNEL void kinds_random(CULV_GRID const unsigned *words, unsigned mask, unsigned noise,
                              unsigned addend, unsigned seed, unsigned reads, unsigned *wrong)
{
    unsigned state = mixed((blockIdx.x * blockDim.x + threadIdx.x) ^ seed), found = 0;
    for (unsigned i = 0; i < reads; i += AT_ONCE) {
        unsigned at[AT_ONCE], is[AT_ONCE];
        UNROLL for (int j = 0; j < AT_ONCE; j++)
        {
            state = next_random(state);
            at[j] = mixed(state) & mask;
        }
        UNROLL for (int j = 0; j < AT_ONCE; j++) is[j] = words[at[j]];
        UNROLL for (int j = 0; j < AT_ONCE; j++) found +=
            is[j] != word_of(at[j], noise) + addend ? 1 : 0;
    }
    if (found != 0) atomicAdd(wrong, found);
}

CULV_KERNELS(kinds_fill, kinds_add, kinds_random)
