/* SPDX-License-Identifier: MIT */
/* CUDA's side: streams through a buffer or an image, and reads of it at random, every word checked.
 * kinds_buffer.comp and kinds_image.comp do the same. */
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

/* Images: tiles of 16 x 16, a block each; or at random. */
CULV_KERNEL void kinds_image_fill(CULV_GRID cudaSurfaceObject_t stored, unsigned side)
{
    const unsigned across = side / 16;
    for (unsigned tile = blockIdx.x; tile < across * across; tile += gridDim.x) {
        const unsigned x = tile % across * 16 + threadIdx.x % 16;
        const unsigned y = tile / across * 16 + threadIdx.x / 16;
        surf2Dwrite(word_of(y * side + x, 1), stored, (int)(x * 4), (int)y);
    }
}

#define STREAM(name, object, read)                                                                 \
    CULV_KERNEL void name(CULV_GRID object image, unsigned side, unsigned *wrong)                  \
    {                                                                                              \
        const unsigned across = side / 16;                                                         \
        unsigned found = 0;                                                                        \
        for (unsigned tile = blockIdx.x; tile < across * across; tile += gridDim.x) {              \
            const unsigned x = tile % across * 16 + threadIdx.x % 16;                              \
            const unsigned y = tile / across * 16 + threadIdx.x / 16;                              \
            found += read != word_of(y * side + x, 1) ? 1 : 0;                                     \
        }                                                                                          \
        if (found != 0) atomicAdd(wrong, found);                                                   \
    }
#define RANDOM(name, object, read)                                                                 \
    CULV_KERNEL void name(CULV_GRID object image, unsigned side, unsigned seed, unsigned reads,    \
                          unsigned *wrong)                                                         \
    {                                                                                              \
        unsigned state = mixed((blockIdx.x * blockDim.x + threadIdx.x) ^ seed), found = 0;         \
        for (unsigned i = 0; i < reads; i += AT_ONCE) {                                            \
            unsigned at[AT_ONCE], is[AT_ONCE];                                                     \
            UNROLL for (int j = 0; j < AT_ONCE; j++)                                               \
            {                                                                                      \
                state = next_random(state);                                                        \
                at[j] = mixed(state) & (side * side - 1);                                          \
            }                                                                                      \
            UNROLL for (int j = 0; j < AT_ONCE; j++)                                               \
            {                                                                                      \
                const unsigned x = at[j] % side, y = at[j] / side;                                 \
                is[j] = read;                                                                      \
            }                                                                                      \
            UNROLL for (int j = 0; j < AT_ONCE; j++) found += is[j] != word_of(at[j], 1) ? 1 : 0;  \
        }                                                                                          \
        if (found != 0) atomicAdd(wrong, found);                                                   \
    }
#define SAMPLE tex2D<unsigned>(image, (float)x + 0.5f, (float)y + 0.5f)
#define LOAD   surf2Dread<unsigned>(image, (int)(x * 4), (int)y)

STREAM(kinds_stream_sampled, cudaTextureObject_t, SAMPLE)
STREAM(kinds_stream_stored, cudaSurfaceObject_t, LOAD)
RANDOM(kinds_random_sampled, cudaTextureObject_t, SAMPLE)
RANDOM(kinds_random_stored, cudaSurfaceObject_t, LOAD)

CULV_KERNELS(kinds_fill, kinds_add, kinds_random, kinds_image_fill, kinds_stream_sampled,
             kinds_stream_stored, kinds_random_sampled, kinds_random_stored)
