/* SPDX-License-Identifier: MIT */
/* Recorded times of a program's frames: a load that is another one in each frame. */
#ifndef CULVERT_BENCH_FRAMES_TRACE_H_
#define CULVERT_BENCH_FRAMES_TRACE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_MOST = 65536, TRACE_ERROR = 160 };

typedef struct trace {
    uint32_t count; /* frames of the file */
    double solver_us[TRACE_MOST], renderer_us[TRACE_MOST];
    /* Those that are run: trace_choose() */
    uint32_t first, used;
    uint32_t solver_iterations[TRACE_MOST], renderer_iterations[TRACE_MOST];
} trace;

/* Lines of SOLVER,RENDERER in microseconds; a first line of words, empty lines and those that begin
 * with # are passed over. False: `error` says what is wrong, and where. */
bool trace_read(trace *t, const char *path, char error[TRACE_ERROR]);
/* `frames` in a row that take as long as the mean of all, as nearly as there are. */
void trace_choose(trace *t, uint32_t frames);
/* Of the whole file: its mean and a quantile. */
double trace_mean(const double *us, uint32_t count);
double trace_quantile(const double *us, uint32_t count, double q);

#endif
