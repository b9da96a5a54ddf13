/* SPDX-License-Identifier: MIT */
/* Comparing two ways to do the same: turn by turn, A next to B in an order drawn anew for each
 * pair, in one process, so that what the machine does besides happens to both.
 *
 *   static void turn(void *state, bench_side side, double ns[]);   // ns[phase]: how long it took
 *
 *   bench_series series;
 *   bench_begin(b, &series, (bench_setup){.turn = turn, .state = &s, .num_phases = 2, .calls =
 *   32});
 *   bench_row(b, &series, (bench_row_desc){.name = "import + map", .phases = 3, .goal = 1.03});
 *   bench_end(&series); */
#ifndef CULVERT_BENCH_MEASURE_H_
#define CULVERT_BENCH_MEASURE_H_

#include "rig.h"
#include "statistics.h"

#include <stdio.h>
#include <time.h>

enum { BENCH_MAX_PHASES = 8 };

typedef enum bench_side { BENCH_CULVERT, BENCH_RAW, BENCH_SIDES } bench_side;

typedef enum bench_kind {
    BENCH_PAIR,    /* Culvert against the raw calls */
    BENCH_CONTROL, /* the raw calls on both sides: how far from 1 chance alone takes the ratio */
    BENCH_SCALE,   /* the raw calls alone, to compare by eye with */
} bench_kind;

typedef struct bench_result {
    char measurement[32], variant[48], name[48];
    bench_kind kind;
    unsigned calls; /* in a turn; times are of one call */
    unsigned checks;
    spread sides[BENCH_SIDES]; /* microseconds; n == 0: this side was not measured */
    comparison compared;
    double goal; /* the ratio asked for; 0: none */
    bool judged; /* on a GPU, with as many turns as it takes */
} bench_result;

/* A measurement that this machine cannot have. */
typedef struct bench_gap {
    const char *measurement;
    char reason[96];
} bench_gap;

enum { BENCH_MAX_GAPS = 16 };

typedef struct bench {
    rig rig;
    bool quick;     /* a few turns, to see that all of it works */
    bool validated; /* with Vulkan's validation: no times worth reading */
    double seconds; /* for a comparison */
    uint64_t seed;
    random_source random;
    FILE *text;              /* rows as they come; NULL: none */
    const char *measurement; /* the present one's name */
    char variant[48];
    bool headed;     /* the present variant has its heading in the text */
    unsigned checks; /* of this variant so far */
    size_t first_of_variant;
    size_t num_results, capacity;
    bench_result *results;
    size_t num_gaps;
    bench_gap gaps[BENCH_MAX_GAPS];
} bench;

typedef void (*bench_turn)(void *state, bench_side side, double ns[]);

typedef struct bench_setup {
    bench_kind kind;
    bench_turn turn;
    void *state;
    unsigned num_phases;
    unsigned calls; /* in each phase of a turn */
} bench_setup;

typedef struct bench_series {
    bench_setup setup;
    size_t n;
    double *samples[BENCH_SIDES][BENCH_MAX_PHASES];
} bench_series;

typedef struct bench_row_desc {
    const char *name;
    unsigned phases; /* bits: the row is their sum */
    double goal;
} bench_row_desc;

/* By the arguments that every benchmark takes. A comparison takes a second. There is no text where
 * the report goes to standard output. */
void bench_set_up(bench *b, bool quick, uint64_t seed, const char *json);
/* Names what is measured until the next call: "64 KiB", "queue family 1"; "" where there is but
 * one. */
void bench_variant(bench *b, const char *format, ...) TEST_PRINTF(2, 3);
/* Something was verified that the present variant rests on: data or values seen by the other
 * side. */
void bench_checked(bench *b);

/* The present measurement cannot be had on this machine; the report says why. */
void bench_left_out(bench *b, const char *reason);

void bench_begin(bench *b, bench_series *out, bench_setup setup);
void bench_row(bench *b, const bench_series *series, bench_row_desc desc);
void bench_end(bench_series *series);

/* "yes" the whole interval is within the goal, "no" none of it, "open": too noisy to say; NULL
 * without a goal, and where the times are not to be judged. */
const char *bench_verdict(const bench_result *result);

/* Monotonic nanoseconds. */
static inline double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Results for people: rows as they come. */

void text_heading(const bench *b, const char *program);
void text_gap(const bench *b, const bench_gap *gap);
void text_row(bench *b, const bench_result *result);

/* Results for programs: JSON, described in docs/measured/benchmarks.md. */

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
