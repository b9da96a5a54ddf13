/* SPDX-License-Identifier: MIT */
/* Samples: how far a run is, on stderr, and a wall clock. */
#ifndef CULVERT_SAMPLES_PROGRESS_H_
#define CULVERT_SAMPLES_PROGRESS_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *label;
    uint64_t total;
    bool quiet;
    double started, told; /* seconds */
    uint64_t quarters;    /* how many were told */
} progress;

/* Monotonic seconds. */
double clock_seconds(void);

/* A line is told at each quarter, and after eight seconds without one. */
void progress_begin(progress *p, const char *label, uint64_t total, bool quiet);
void progress_update(progress *p, uint64_t done);

#endif
