/* SPDX-License-Identifier: MIT */
/* See progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define SILENT_SECONDS 8.0

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *p, const char *label, uint64_t total, bool quiet)
{
    const double now = clock_seconds();
    *p = (progress){label, total, quiet, now, now, 0};
}

void progress_update(progress *p, uint64_t done)
{
    const double now = clock_seconds();
    const uint64_t quarters = done * 4u / p->total;
    if (p->quiet || (quarters == p->quarters && now - p->told < SILENT_SECONDS)) return;
    p->quarters = quarters;
    p->told = now;
    fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " (%.1f s)\n", p->label, done, p->total,
            now - p->started);
}
