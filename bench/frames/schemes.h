/* SPDX-License-Identifier: MIT */
/* What rings have in common, in whichever direction frames go. */
#ifndef CULVERT_BENCH_FRAMES_SCHEMES_H_
#define CULVERT_BENCH_FRAMES_SCHEMES_H_

#include "frames.h"

/* run::own of a culv_ring. */
typedef struct ring_run {
    culv_ring *ring;
    CUstream second; /* the kernel's; NULL: it is on the ring's */
    CUevent events[2];
} ring_run;

void ring_finish(run *r);

#endif
