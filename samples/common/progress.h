/* SPDX-License-Identifier: MIT */
/* Samples: a progress bar on a terminal, sparse lines elsewhere, and a wall clock. */
#ifndef CULVERT_SAMPLES_PROGRESS_H_
#define CULVERT_SAMPLES_PROGRESS_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *label;
    uint64_t total;
    bool quiet;
    bool terminal;
    double started;    /* seconds */
    double drawn;      /* seconds: when the bar was last drawn */
    uint64_t quarters; /* how many quarters were reported, without a terminal */
} progress;

/* Monotonic seconds. */
double clock_seconds(void);

void progress_begin(progress *p, const char *label, uint64_t total, bool quiet);
void progress_update(progress *p, uint64_t done);
/* Leaves the cursor on a fresh line. */
void progress_end(progress *p);

#endif
