/* SPDX-License-Identifier: MIT */
/* Samples: the progress bar. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH      36u
#define REDRAW_SECONDS 0.1
#define SILENT_SECONDS 8.0

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *p, const char *label, uint64_t total, bool quiet)
{
    memset(p, 0, sizeof *p);
    p->label = label;
    p->total = total ? total : 1;
    p->quiet = quiet;
    p->terminal = isatty(STDERR_FILENO) == 1;
    p->started = p->drawn = clock_seconds();
}

static void draw_bar(const progress *p, uint64_t done, double elapsed)
{
    char bar[BAR_WIDTH + 1];
    unsigned filled = (unsigned)(done * BAR_WIDTH / p->total);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', filled);
    bar[BAR_WIDTH] = '\0';
    double left = done ? elapsed / (double)done * (double)(p->total - done) : 0.0;
    fprintf(stderr, "\r%s [%s] %" PRIu64 "/%" PRIu64 "  %.0f s left \033[K", p->label, bar, done,
            p->total, left);
    fflush(stderr);
}

void progress_update(progress *p, uint64_t done)
{
    if (p->quiet) return;
    if (done > p->total) done = p->total;
    double now = clock_seconds();
    if (p->terminal) {
        if (done < p->total && now - p->drawn < REDRAW_SECONDS) return;
        p->drawn = now;
        draw_bar(p, done, now - p->started);
        return;
    }
    /* In a log: a line a quarter, and after so many seconds without one. */
    uint64_t quarters = done * 4u / p->total;
    if (quarters == p->quarters && now - p->drawn < SILENT_SECONDS) return;
    p->quarters = quarters;
    p->drawn = now;
    fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " (%.1f s)\n", p->label, done, p->total,
            now - p->started);
}

void progress_end(progress *p)
{
    if (!p->quiet && p->terminal) fputs("\r\033[K", stderr);
}
