/* SPDX-License-Identifier: MIT */
/* Tests of samples: runs a program and keeps what it said. */
#ifndef CULVERT_TESTS_SAMPLES_RUN_H_
#define CULVERT_TESTS_SAMPLES_RUN_H_

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct run_result {
    int status;        /* 128 + the signal that killed it */
    char text[131072]; /* stdout and stderr together, cut off */
} run_result;

/* Runs bin/<program> of the build tree or bundle with the arguments, which end with NULL, in the
 * directory `where`. */
void run_program(run_result *out, const char *program, const char *where,
                 const char *const *arguments);

/* What --device takes for the driver under test. */
const char *run_device(void);

/* What is behind a key of the RESULT line, and a number there. */
const char *run_value(const run_result *r, const char *key);
unsigned long run_number(const run_result *r, const char *key);

/* Options that a program refuses, and what it says to them; the rows end with NULL. */
typedef struct run_wrong {
    const char *list[6]; /* ends with NULL */
    const char *says;
} run_wrong;
void run_refuses(void (*program)(run_result *out, const char *const *arguments),
                 const run_wrong *rows);

/* The same in two halves. It is killed when the test ends before run_finish(). */
typedef struct run_process {
    pid_t pid;
    int from; /* what it says */
} run_process;

void run_start(run_process *out, const char *program, const char *where,
               const char *const *arguments);
void run_finish(run_process *process, run_result *out);
/* True once the process has ended, whatever for. */
bool run_ended(const run_process *process);

/* Runs a command of the machine, found by PATH; status 127 when there is none. argv ends with
 * NULL. */
void run_command(run_result *out, const char *const *argv);
void run_command_start(run_process *out, const char *const *argv);

/* A fresh directory, removed with everything in it when the process ends. */
const char *run_scratch(void);
/* A path in it; `out` has TEST_PATH_MAX bytes. */
const char *run_scratch_path(char *out, const char *name);

/* Runs in which a driver's call fails on demand; only the software twin does that. */
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
