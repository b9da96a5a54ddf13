/* Tests of samples: runs a program and keeps what it said. SPDX-License-Identifier: MIT */
#ifndef CULVERT_TESTS_SAMPLES_RUN_H_
#define CULVERT_TESTS_SAMPLES_RUN_H_

#include <stddef.h>

typedef struct run_result {
    int status;       /* 128 + the signal that killed it */
    char text[16384]; /* stdout and stderr together, cut off */
} run_result;

/* Runs bin/<program> of the build tree or bundle with the arguments, which end with NULL, in the directory
 * `where`. */
void run_program(run_result *out, const char *program, const char *where, const char *const *arguments);

/* A fresh directory, removed with everything in it when the process ends. */
const char *run_scratch(void);

#endif
