/* Results for programs: JSON, described in docs/benchmarks.md. SPDX-License-Identifier: MIT */
#ifndef CULVERT_BENCH_REPORT_H_
#define CULVERT_BENCH_REPORT_H_

#include "measure.h"

/* The allocations of a loop of frames. */
typedef struct report_frames {
    bool counted;
    uint64_t frames, culvert, others, control; /* control: in a call that is known to allocate */
} report_frames;

/* `frames` may be NULL: they were not counted. Not `complete`: more was to come. */
void report_json(const bench *b, const char *program, const report_frames *frames, bool complete, FILE *out);

#endif
