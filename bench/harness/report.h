/* SPDX-License-Identifier: MIT */
/* Results for programs: JSON, described in docs/measured/benchmarks.md. */
#ifndef CULVERT_BENCH_REPORT_H_
#define CULVERT_BENCH_REPORT_H_

#include "measure.h"

/* The allocations of a loop of frames. */
typedef struct report_frames {
    bool counted;
    uint64_t frames, culvert, others, control; /* control: in a call that is known to allocate */
} report_frames;

/* The file of --json, "" for standard output. NULL: it cannot be written. */
FILE *report_open(const char *path);
/* Closes what report_open() gave. Says on stderr if it was not `written`, and returns false. */
bool report_close(FILE *out, bool written, const char *path, const char *program);
/* Whether all of the table reached standard output; says on stderr if not. */
bool report_printed(const char *program);

/* The parts of a report that every benchmark has, for those with results of another shape: what
 * ran, when and on what; what was left out; pairs. */
struct json;
void report_head(struct json *json, const bench *b, const char *program, bool complete);
void report_left_out(struct json *json, const bench *b);
void report_results(struct json *json, const char *key, const bench *b);
void report_number(struct json *json, const char *key, double value);
void report_spread(struct json *json, const char *key, const spread *s);
void report_interval(struct json *json, const char *key, const interval *i);

/* `frames` may be NULL: they were not counted. Not `complete`: more was to come. */
void report_json(const bench *b, const char *program, const report_frames *frames, bool complete,
                 FILE *out);

#endif
