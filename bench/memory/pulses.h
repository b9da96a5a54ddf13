/* SPDX-License-Identifier: MIT */
/* A row of short kernels in another stream, launched by another thread: what memory that is freed
 * beside them does to them. */
#ifndef CULVERT_BENCH_MEMORY_PULSES_H_
#define CULVERT_BENCH_MEMORY_PULSES_H_

#include "memory.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PULSES_US = 20, PULSES_BATCH = 64 }; /* one or two batches are on their way at a time */

typedef struct pulses {
    memory_bench *b;
    uint32_t count, iterations;
    CUdeviceptr times;
    uint64_t *log; /* when each began and ended, nanoseconds of the GPU's timer */
    CUevent done[2];
    pthread_t thread;
    atomic_uint launched;
} pulses;

void pulses_open(pulses *p, memory_bench *b, uint32_t count);
void pulses_close(pulses *p);

/* Begins a row, and returns when a third of it was launched. */
void pulses_begin(pulses *p);
/* When it is over: nanoseconds for all of it, and the longest time without a kernel. Each of them
 * ran, in order. */
void pulses_end(pulses *p, double *all, double *longest_gap);

#endif
