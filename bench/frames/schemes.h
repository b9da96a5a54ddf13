/* SPDX-License-Identifier: MIT */
/* What the schemes share with those that drive the solver's side by CUDA graphs. */
#ifndef CULVERT_BENCH_FRAMES_SCHEMES_H_
#define CULVERT_BENCH_FRAMES_SCHEMES_H_

#include "frames.h"

/* run::own of a ring written by hand. */
typedef struct raw_ring {
    CUstream stream;
    uint64_t ready, done; /* the timelines' values before the run */
    uint64_t done_seen;   /* a counter that was read, so that it is not asked for again */
    void (*launch)(run *r, uint32_t first, uint32_t count); /* a burst of the solver's */
} raw_ring;

void raw_prepare(run *r);
void raw_go(run *r);
void raw_finish(run *r);
/* The value of `done` that says that the frames before `end` are drawn. */
uint64_t raw_drawn(const run *r, uint32_t end);
/* Waits on the host, where a look at the counter does not do. */
void raw_reach_done(run *r, uint64_t value);

/* run::own of a culv_ring. */
typedef struct ring_run {
    culv_vk_ring *ring;
    /* One frame or more; whether a burst ended with it */
    bool (*produce)(run *r, uint32_t *produced);
} ring_run;

void ring_prepare(run *r);
void ring_go(run *r);
void ring_finish(run *r);

#endif
