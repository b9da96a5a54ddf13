/* SPDX-License-Identifier: MIT */
/* What was measured, summed up, as text and as JSON (docs/measured/performance.md). */
#ifndef CULVERT_BENCH_FRAMES_RESULTS_H_
#define CULVERT_BENCH_FRAMES_RESULTS_H_

#include "frames.h"

/* One scheme at one workload. Times in microseconds; 0 where something is not known. */
typedef struct result {
    char section[16], scheme[24], variant[48];
    workload workload;
    double solver_alone, renderer_alone; /* a frame, medians */
    uint32_t depth, burst, frames;
    uint64_t max_latency; /* nanoseconds */
    spread us, ratio;     /* a frame; of the ideal, round by round */
    double cpu;           /* of the thread, a frame; median */
    double interval_p99;
    double hand_over, hand_over_p99; /* median, 99th percentile */
    double age, age_p99;
    uint64_t checked, wrong;
    const char *obstacle; /* NULL: it ran */
    interval against_raw; /* over the raw ring of the same depth and burst; value 0: not compared */
} result;

enum { RESULTS_BYTES = 32, RESULTS_MAX = 1024 };

typedef struct results {
    size_t num;
    result all[RESULTS_MAX];
    bool clocks_known, clocks_same;
    double clocks_error; /* microseconds */
} results;

/* Sums the outcomes up and prints them. The first two are the two sides alone. */
void results_add(results *all, frames_bench *b, const char *section, const workload *w,
                 const outcome *outcomes, size_t count);
/* The best of a section at this workload whose 99th percentile of age is within the bound; NULL:
 * none. One that comes later has to be faster by the factor `clearly`. */
const result *results_best(const results *all, const char *section, const char *name, double age_us,
                           double clearly);

/* "8 MiB". */
const char *results_bytes(char out[RESULTS_BYTES], uint64_t bytes);

bool results_write(const results *all, const frames_bench *b, const char *program, bool complete,
                   FILE *out);

#endif
