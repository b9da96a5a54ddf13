/* SPDX-License-Identifier: MIT */
/* What culvert-bench measures: one function a section. */
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
    const char *renderer_of; /* NULL: this is no process that another one started */
    solver_work work;
    uint32_t frames; /* of a run; 0: by the loads */
    size_t rounds;
    int device;
    /* --advise on the user's own work; NULL: none */
    trace *trace;
    work_kernel *kernel;
    work_shader *shader;
    double within_us; /* --advise: of a frame's age; 0: any */
    bool quick, validation, search, advise;
    bool choice; /* of waits and backwards: the ring's, and what it chooses from */
    uint64_t seed;
} options;

/* A section's own list of configurations. The two sides alone come first. */
enum { PLAN_MAX = 128 };

typedef struct plan {
    const options *options;
    workload workload;
    size_t count;
    outcome outcomes[PLAN_MAX];
} plan;

/* False: there is no room for that many slots of this size, which the report then says. */
bool plan_begin(plan *p, frames_bench *b, const options *o, workload w, uint32_t slots,
                bool compute);
/* NULL: that scheme is not wanted. */
config *plan_add(plan *p, const scheme *s, uint32_t depth, uint32_t burst);
void plan_run(plan *p, frames_bench *b, results *all, const char *section, size_t rounds);

workload options_workload(const options *o);
bool options_wants_scheme(const options *o, const scheme *wanted);

void section_frames(frames_bench *b, const options *o, results *all);
void section_overlap(frames_bench *b, const options *o, results *all);
void section_graphs(frames_bench *b, const options *o, results *all);
void section_sizes(frames_bench *b, const options *o, results *all);
void section_loads(frames_bench *b, const options *o, results *all);
void section_waits(frames_bench *b, const options *o, results *all);
void section_backwards(frames_bench *b, const options *o, results *all);
void section_processes(frames_bench *b, const options *o, results *all);
void section_latency(frames_bench *b, const options *o, results *all);
void section_newest(frames_bench *b, const options *o, results *all);
void section_copies(frames_bench *b, const options *o, results *all);
void section_launches(frames_bench *b, const options *o, results *all);
void section_wakes(frames_bench *b, const options *o, results *all);
void section_small(frames_bench *b, const options *o, results *all);
void section_calls(frames_bench *b, const options *o, results *all);
void section_advise(frames_bench *b, const options *o, results *all);
/* Opens devices of its own for the priorities, and leaves *b as it was: open. */
void section_search(frames_bench *b, const options *o, results *all);

#endif
