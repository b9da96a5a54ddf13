/* SPDX-License-Identifier: MIT */
/* culvert-bench-space: processes that answer on standard output. */
#ifndef CULVERT_BENCH_SPACE_PROCESS_H_
#define CULVERT_BENCH_SPACE_PROCESS_H_

#include <stddef.h>
#include <sys/types.h>

typedef struct process {
    pid_t pid;
    int from; /* what it says */
} process;

/* Runs argv[0], a path, with the arguments; the list ends with NULL. */
void process_start(process *out, char *const argv[]);
/* All that it says until it closes its output, cut off. */
void process_answer(process *p, char *answer, size_t room);

#endif
