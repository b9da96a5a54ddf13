/* SPDX-License-Identifier: MIT */
/* Runs of a program in which a driver's call fails on demand; only the software twin does that. */
#ifndef CULVERT_TESTS_SAMPLES_FAILURES_H_
#define CULVERT_TESTS_SAMPLES_FAILURES_H_

#include "run.h"

typedef struct failing_program {
    const char *name;
    void (*run)(run_result *out, const void *context);
    const void *context; /* handed to run */
} failing_program;

/* Skips where the twin has no device for it. */
void failures_need_the_twin(const failing_program *program);

/* Each of these, "cuda:cuLaunchKernel:2" or so, is a call that the program cannot do without: it
 * ends with status 1 and says why. The list ends with NULL. */
void failures_must_end(const failing_program *program, const char *const *calls);

/* Calls by their number among all, which other threads move: the program goes on, or it ends with
 * status 1 and says why. `enough` runs in a row that went on end the sweep; 0: none does. */
void failures_sweep(const failing_program *program, const char *kind, unsigned first, unsigned last,
                    unsigned stride, unsigned enough);

#endif
