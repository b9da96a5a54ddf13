/* SPDX-License-Identifier: MIT */
/* Tests of the sample ripple: what its tables share. */
#ifndef CULVERT_TESTS_SAMPLES_SAMPLES_TESTS_H_
#define CULVERT_TESTS_SAMPLES_SAMPLES_TESTS_H_

#include "harness.h"
#include "run.h"

#define RIPPLE_MAX_ARGUMENTS 32

/* Those of a small, short run (grid 64x48, picture 160x96, 7 frames) with `more` behind them, which
 * win. */
typedef struct ripple_arguments {
    const char *list[RIPPLE_MAX_ARGUMENTS + 1];
} ripple_arguments;

void ripple_arguments_make(ripple_arguments *out, const char *const *more);

/* Runs it; the second one requires that it succeeds. */
void ripple(run_result *out, const char *const *more);
void ripple_fine(run_result *out, const char *const *more);

/* Skips under ThreadSanitizer: the same threads as in other cases, with other numbers. */
void ripple_needs_no_threads(void);

/* Skips where the device has no CUDA kernels in command buffers. */
void ripple_needs_kernels(void);

/* Skips where --validation cannot be asked for. */
void ripple_needs_validation(void);
bool ripple_has_validation(void);

#endif
