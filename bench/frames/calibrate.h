/* SPDX-License-Identifier: MIT */
/* How many iterations of a load take how long, by timing long runs. */
#ifndef CULVERT_BENCH_FRAMES_CALIBRATE_H_
#define CULVERT_BENCH_FRAMES_CALIBRATE_H_

#include <stdint.h>

/* Runs the load `times` times in a row and returns the microseconds that all took. */
typedef double calibrate_run(void *state, uint32_t iterations, uint32_t times);

/* The iterations with which one takes `us` microseconds in the middle of a row; 0 where even none
 * takes longer. */
uint32_t calibrate(calibrate_run *run, void *state, double us);

#endif
