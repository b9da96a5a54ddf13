/* SPDX-License-Identifier: MIT */
/* The kernels of culvert-bench-memory: every word of a buffer follows from its place, so that one
 * that is lost, old or elsewhere is seen; and a pulse, which tells when it ran. */
#include "culvert_kernel.h"

#include "memory_words.h"

#ifndef __CUDACC__
#    include <ctime>
#endif

/* Nanoseconds of a clock that other streams' kernels read, too. */
#ifdef __CUDACC__
static __device__ __forceinline__ unsigned long long memory_clock()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#else
static unsigned long long memory_clock()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}
#endif

/* Writes the vectors of 16 bytes from `first` on; `data` is where the buffer begins. */
CULV_KERNEL void memory_fill(CULV_GRID uint4 *data, unsigned long long first,
                             unsigned long long count, unsigned seed)
{
    unsigned long long thread = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long v = first + thread; v < first + count; v += threads)
        data[v] = make_uint4(MEMORY_WORD(seed, 4 * v), MEMORY_WORD(seed, 4 * v + 1),
                             MEMORY_WORD(seed, 4 * v + 2), MEMORY_WORD(seed, 4 * v + 3));
}

/* Adds to *wrong how many words of those vectors are others than memory_fill() writes. */
CULV_KERNEL void memory_check(CULV_GRID const uint4 *data, unsigned long long first,
                              unsigned long long count, unsigned seed, unsigned *wrong)
{
    unsigned long long thread = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned found = 0;
    for (unsigned long long v = first + thread; v < first + count; v += threads) {
        const uint4 is = data[v];
        found += (is.x != MEMORY_WORD(seed, 4 * v)) + (is.y != MEMORY_WORD(seed, 4 * v + 1)) +
                 (is.z != MEMORY_WORD(seed, 4 * v + 2)) + (is.w != MEMORY_WORD(seed, 4 * v + 3));
    }
    if (found != 0) atomicAdd(wrong, found);
}

/* Works for a while; times[2 * number] and the next one become when it began and ended. One
 * thread. */
CULV_KERNEL void memory_pulse(CULV_GRID unsigned long long *times, unsigned number,
                              unsigned iterations)
{
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    times[2 * number] = memory_clock();
    unsigned x = number ^ 0x9e3779b1u;
    for (unsigned i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    /* Never 0 but for a start at 0; the compiler does not know, and keeps the work. */
    times[2 * number + 1] = memory_clock() + (x == 0 && iterations == 0xffffffffu ? 1 : 0);
}

CULV_KERNELS(memory_fill, memory_check, memory_pulse)
