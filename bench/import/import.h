/* SPDX-License-Identifier: MIT */
/* What the program and its child processes say to each other. */
#ifndef CULVERT_BENCH_IMPORT_IMPORT_H_
#define CULVERT_BENCH_IMPORT_IMPORT_H_

#include <stdbool.h>
#include <stdint.h>

/* What a child does, one after the other. A process that goes without CUDA, or without the
 * extension, leaves its steps out. */
typedef enum step {
    STEP_STARTED,
    STEP_CUDA, /* cuInit() and the primary context */
    STEP_INSTANCE,
    STEP_DEVICE,
    STEP_MODULE,   /* the first vkCreateCuModuleNVX() */
    STEP_FUNCTION, /* the first vkCreateCuFunctionNVX() */
    STEP_LAUNCH,   /* the first launch, recorded, submitted and waited for */
    STEP_MODULE_2, /* the same module once more */
    NUM_STEPS
} step;

/* After a step the child writes it, and waits for a byte: meanwhile the parent looks. */
typedef struct step_report {
    int step;
    double us;
    uint64_t usage; /* VK_EXT_memory_budget: of device-local heaps by this process; 0: not known */
    uint64_t resident; /* bytes of the process in the host's memory */
} step_report;

typedef struct child_options {
    bool cuda, import;
    bool software;
    uint8_t uuid[16];
} child_options;

/* The child's whole life: reports go to `out`, bytes come from `in`. Returns the exit status. */
int child_run(const child_options *o, int in, int out);

#endif
