/* SPDX-License-Identifier: MIT */
/* The solver of culvert-bench: works for as long as it is told, then writes a whole frame. Every
 * word of a frame follows from the frame's number and its place (frame_words.h), so that a reader
 * sees one that is late, lost or torn. */
#include "culvert_kernel.h"

#include "frame_words.h"

#ifndef __CUDACC__
#    include <ctime>
#endif

/* Nanoseconds of a clock that other threads, and the same device's graphics, read too. */
#ifdef __CUDACC__
static __device__ __forceinline__ unsigned long long frames_clock()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#else
static unsigned long long frames_clock()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}
#endif

/* `log` has two times for each block, when it began and when it ended; 0: nothing is logged. */
CULV_KERNEL void frames_solve(CULV_GRID uint4 *frame, unsigned vectors, unsigned number,
                              unsigned iterations, unsigned long long *log)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    if (log != nullptr && threadIdx.x == 0) log[2 * blockIdx.x] = frames_clock();
    unsigned x = number ^ (thread * 0x9e3779b1u) ^ 1u;
    for (unsigned i = 0; i < iterations; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    /* Never 0 but for a start at 0; the compiler does not know, and keeps the work. */
    unsigned spoiled = x == 0 && iterations == 0xffffffffu ? 1u : 0u;
    for (unsigned v = thread; v < vectors; v += threads)
        frame[v] = make_uint4(FRAME_WORD(number, 4 * v) + spoiled, FRAME_WORD(number, 4 * v + 1),
                              FRAME_WORD(number, 4 * v + 2), FRAME_WORD(number, 4 * v + 3));
    if (log != nullptr && threadIdx.x == 0) log[2 * blockIdx.x + 1] = frames_clock();
}

/* The same clock, once: to hold it against the host's. */
CULV_KERNEL void frames_now(CULV_GRID unsigned long long *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = frames_clock();
}

/* A small kernel, of which a frame has many. */
CULV_KERNEL void frames_count(CULV_GRID unsigned *counts, unsigned words, unsigned add)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < words) counts[thread] += add;
}

CULV_KERNELS(frames_solve, frames_now, frames_count)
