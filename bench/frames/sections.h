/* SPDX-License-Identifier: MIT */
/* What culvert-bench measures: one table of ways, loads and sizes (sections.c). */
#ifndef CULVERT_BENCH_FRAMES_SECTIONS_H_
#define CULVERT_BENCH_FRAMES_SECTIONS_H_

#include "results.h"

enum { OPTIONS_LIST = 16 };

typedef struct options {
    const char *driver;
    const char *json; /* NULL: none; "": standard output, in place of the text */
    const char *only[OPTIONS_LIST], *schemes[OPTIONS_LIST];
    uint32_t depths[OPTIONS_LIST], bursts[OPTIONS_LIST];
    size_t num_only, num_schemes, num_depths, num_bursts;
    uint64_t bytes;
    double solver_us, renderer_us;
    solver_work work;
    uint32_t frames; /* of a run; 0: by the loads */
    size_t rounds;
    int device;
    double within_us; /* --advise: of a frame's age; 0: any */
    bool quick, validation, advise;
    uint64_t seed;
} options;

/* The ways that are compared at one load and size. The two sides alone come first. */
enum { PLAN_MAX = 128 };

typedef struct plan {
    const options *options;
    workload workload;
    uint32_t slots;
    size_t count;
    outcome outcomes[PLAN_MAX];
} plan;

typedef struct section {
    const char *name, *what;
    bool on_request; /* only when it is named */
    /* NULL: nothing. Prints what follows from the results, of which the section's are those from
     * `from` on. */
    void (*after)(FILE *out, const options *o, const results *all, size_t from);
    void (*run)(frames_bench *b, const options *o); /* in place of rows; NULL: rows */
} section;

extern const section sections[];
extern const size_t num_sections;

/* All rows of a section. */
void section_run(frames_bench *b, const options *o, results *all, const section *s);

/* NULL: that scheme is not wanted. */
config *plan_add(plan *p, const scheme *s, uint32_t depth, uint32_t burst);

/* across.c */
void across_run(frames_bench *b, const options *o);
/* fields.c */
void fields_run(frames_bench *b, const options *o);

/* sections.c: --advise */
void advise_ways(plan *p);
void advise_print(FILE *out, const options *o, const results *all, size_t from);

/* The command line of culvert-bench. */

#define PROGRAM "culvert-bench"

/* Prints and leaves where that is asked for, or on wrong usage. */
options options_parse(int argc, char **argv);
/* The defaults, some of which the twin has others of. */
void options_complete(options *o, bool software);
bool options_wants(const options *o, const section *s);

#endif
