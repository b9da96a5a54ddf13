/* SPDX-License-Identifier: MIT */
/* What was measured, summed up, as text and as JSON (docs/measured/memory-performance.md). */
#ifndef CULVERT_BENCH_MEMORY_RESULTS_H_
#define CULVERT_BENCH_MEMORY_RESULTS_H_

#include "measure.h"

enum { RESULTS_BYTES = 32, RESULTS_RATIOS = 2 };

/* A row's time over another one's of the same rounds. */
typedef struct result_ratio {
    char to[64];
    interval ratio;  /* 95 % */
    double goal;     /* 0: none */
    const char *met; /* "yes", "no", "open"; NULL: not judged */
} result_ratio;

/* How long something took. */
typedef struct result {
    char section[12], scheme[40], variant[40], what[24];
    uint64_t bytes;   /* that the buffer has then, or that it is about */
    uint64_t count;   /* calls, allocations, chunks: what the time is of */
    spread us;        /* of all of them */
    double p99, most; /* 0: not known */
    size_t num_ratios;
    result_ratio ratios[RESULTS_RATIOS];
    double goal_us; /* of p99; 0: none */
    const char *met;
} result;

/* What a scheme took of the device's memory when it had grown to `bytes`. */
typedef struct result_memory {
    char variant[40], scheme[40];
    uint64_t bytes, committed;
    uint64_t used, peak; /* by the driver's account: after the step, and at the most within it */
} result_memory;

/* A number that is no time. */
typedef struct result_fact {
    char section[12], scheme[40], variant[40], name[48];
    double value;
    const char *unit; /* "bytes", "" */
    const char *met;  /* NULL: no goal, or not judged */
} result_fact;

typedef struct results {
    size_t num, capacity, num_memory, memory_capacity, num_facts, facts_capacity;
    result *all;
    result_memory *memory;
    result_fact *facts;
} results;

/* What is added stays where it is until the next one is added, and is printed by
 * results_print(). */
result *results_add(results *all, const bench *b, const char *scheme, const char *variant,
                    const char *what);
void results_add_ratio(result *r, const bench *b, const char *to, interval ratio, double goal);
void results_add_memory(results *all, const result_memory *memory);
void results_add_fact(results *all, const bench *b, const char *scheme, const char *variant,
                      const char *name, double value, const char *unit, const char *met);
void results_free(results *all);

/* Whether times are judged here. */
bool results_judged(const bench *b);
void results_heading(const bench *b, const char *text);
void results_print(const bench *b, const result *r);

/* "8 MiB". */
const char *results_bytes(char out[RESULTS_BYTES], uint64_t bytes);

struct memory_bench;
bool results_write(const struct memory_bench *b, const char *program, bool complete, FILE *out);

#endif
