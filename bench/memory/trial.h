/* SPDX-License-Identifier: MIT */
/* Schemes by turns: in each round every one runs once, in an order drawn by lot, so that what the
 * machine does besides happens to all of them. The first round is for warming up. */
#ifndef CULVERT_BENCH_MEMORY_TRIAL_H_
#define CULVERT_BENCH_MEMORY_TRIAL_H_

#include "memory.h"

enum { TRIAL_SUBJECTS = 16, TRIAL_PHASES = 20, TRIAL_ROUNDS = 200 };

/* Sets ns[phase] for each phase. */
typedef void trial_turn(void *state, size_t subject, double ns[]);

typedef struct trial_setup {
    trial_turn *turn;
    void *state;
    size_t subjects, phases;
    unsigned every[TRIAL_SUBJECTS]; /* it runs in each so-manieth round; 0: in each */
    size_t least;                   /* rounds */
    double seconds;                 /* more of them within this time */
} trial_setup;

typedef struct trial {
    trial_setup setup;
    size_t rounds;
    double *us; /* microseconds of [subject][phase][round]; negative: it did not run then */
} trial;

void trial_run(memory_bench *b, trial *out, trial_setup setup);
void trial_end(trial *t);

/* The sum of phases [from, to]. */
spread trial_spread(const trial *t, size_t subject, size_t from, size_t to);
double trial_most(const trial *t, size_t subject, size_t phase);
/* Over another one's, in the rounds that both ran in. */
interval trial_ratio(memory_bench *b, const trial *t, size_t subject, size_t over, size_t from,
                     size_t to);

#endif
