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

/* A word of the memory that all multiprocessors share, not of a cache that one of them has. */
#ifdef __CUDACC__
static __device__ __forceinline__ unsigned frames_load(const uint4 *at)
{
    return __ldcg(&at->x);
}
#else
static unsigned frames_load(const uint4 *at)
{
    return at->x;
}
#endif

static __device__ __forceinline__ unsigned frames_mix(unsigned x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}

static __device__ __forceinline__ void frames_write(uint4 *frame, unsigned vectors, unsigned number,
                                                    unsigned spoiled, unsigned thread,
                                                    unsigned threads)
{
    for (unsigned v = thread; v < vectors; v += threads)
        frame[v] = make_uint4(FRAME_WORD(number, 4 * v) + spoiled, FRAME_WORD(number, 4 * v + 1),
                              FRAME_WORD(number, 4 * v + 2), FRAME_WORD(number, 4 * v + 3));
}

/* `log` has `logged` pairs of times, when the first blocks began and when the last ones ended; 0:
 * nothing is logged. */
CULV_KERNEL void frames_solve(CULV_GRID uint4 *frame, unsigned vectors, unsigned number,
                              unsigned iterations, unsigned long long *log, unsigned logged)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    unsigned block = blockIdx.x, last = gridDim.x - logged;
    if (log != nullptr && threadIdx.x == 0 && block < logged) log[2 * block] = frames_clock();
    unsigned x = number ^ (thread * 0x9e3779b1u) ^ 1u;
    for (unsigned i = 0; i < iterations; i++)
        x = frames_mix(x);
    /* Never 0 but for a start at 0; the compiler does not know, and keeps the work. */
    unsigned spoiled = x == 0 && iterations == 0xffffffffu ? 1u : 0u;
    frames_write(frame, vectors, number, spoiled, thread, threads);
    if (log != nullptr && threadIdx.x == 0 && block >= last)
        log[2 * (block - last) + 1] = frames_clock();
}

/* The same, with loads in place of arithmetic: each thread reads what it is going to write over,
 * and where it reads next follows from what it read. */
CULV_KERNEL void frames_walk(CULV_GRID uint4 *frame, unsigned vectors, unsigned number,
                             unsigned iterations, unsigned long long *log, unsigned logged)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    unsigned block = blockIdx.x, last = gridDim.x - logged;
    if (log != nullptr && threadIdx.x == 0 && block < logged) log[2 * block] = frames_clock();
    unsigned own = thread < vectors ? (vectors - thread - 1) / threads + 1 : 0;
    unsigned x = number ^ 1u;
    for (unsigned i = 0; i < iterations && own != 0; i++)
        x = frames_mix(x) + frames_load(&frame[thread + x % own * threads]);
    /* Its value cannot be known before; a frame is spoiled by none. */
    unsigned spoiled = x == 0 && iterations == 0xffffffffu ? 1u : 0u;
    frames_write(frame, vectors, number, spoiled, thread, threads);
    if (log != nullptr && threadIdx.x == 0 && block >= last)
        log[2 * (block - last) + 1] = frames_clock();
}

/* The other way round: works as long as frames_solve, and checks every word of a frame. A number of
 * 0: nothing is checked. The verdict: frames that were checked, words that were another one's. */
CULV_KERNEL void frames_read(CULV_GRID const uint4 *frame, unsigned vectors, unsigned number,
                             unsigned iterations, unsigned long long *log, unsigned logged,
                             unsigned *verdict)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    unsigned block = blockIdx.x, last = gridDim.x - logged, wrong = 0;
    if (log != nullptr && threadIdx.x == 0 && block < logged) log[2 * block] = frames_clock();
    unsigned x = number ^ (thread * 0x9e3779b1u) ^ 1u;
    for (unsigned i = 0; i < iterations; i++)
        x = frames_mix(x);
    if (x == 0 && iterations == 0xffffffffu) wrong++;
    for (unsigned v = thread; v < vectors; v += threads) {
        const uint4 got = frame[v];
        wrong += (got.x != FRAME_WORD(number, 4 * v)) + (got.y != FRAME_WORD(number, 4 * v + 1)) +
                 (got.z != FRAME_WORD(number, 4 * v + 2)) +
                 (got.w != FRAME_WORD(number, 4 * v + 3));
    }
    if (number != 0 && wrong != 0) atomicAdd(&verdict[1], wrong);
    if (number != 0 && thread == 0) atomicAdd(&verdict[0], 1u);
    if (log != nullptr && threadIdx.x == 0 && block >= last)
        log[2 * (block - last) + 1] = frames_clock();
}

/* The same clock, once: to hold it against the host's. */
CULV_KERNEL void frames_now(CULV_GRID unsigned long long *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = frames_clock();
}

CULV_KERNELS(frames_solve, frames_walk, frames_read, frames_now)
