/* SPDX-License-Identifier: MIT */
/* culvert-bench-space: what one address costs, how it is found, and what it saves. */
#ifndef CULVERT_BENCH_SPACE_H_
#define CULVERT_BENCH_SPACE_H_

#include "measure.h"

#include <culvert/vulkan_space.h>

#define SPACE_PROGRAM "culvert-bench-space"
#define SPACE_MIB(n)  ((uint64_t)(n) << 20)

/* A number that is no comparison of calls. */
typedef struct space_fact {
    const char *section;
    char variant[48], name[48];
    double value, goal; /* goal: 0: none */
    const char *unit, *met;
} space_fact;

typedef struct space_bench {
    bench bench;
    VkQueue queue; /* binds sparse buffers */
    const char *driver;
    int device;
    unsigned starts, seconds; /* processes to start of the plain kind; time for all of them */
    const char *kind;         /* of processes; NULL: all */
    space_fact *facts;
    size_t num_facts, capacity;
} space_bench;

/* A device that can have one address; ends the program with EXITS_NO_DEVICE where it cannot. */
void space_open(space_bench *b, int device);
/* The same for a process that only makes a space, and ends without closing anything. */
void space_open_child(space_bench *b, int device);
void space_open_lean(void *state, raw_vk *vk, const raw_vk_options *options);
void space_close(space_bench *b);
culv_vk_space *space_make(space_bench *b, uint64_t size);

/* Printed and kept. `goal`: what the value must be below; 0: none. */
void space_add_fact(space_bench *b, const char *variant, const char *name, double value,
                    const char *unit, double goal);
bool space_judged(const space_bench *b);
bool space_write(const space_bench *b, bool complete, FILE *out);

void section_commit(space_bench *b);
void section_grow(space_bench *b);
void section_starts(space_bench *b);
void section_forest(space_bench *b);

/* What a process that section_starts() started does; the answer is a line on stdout. */
int starts_child(space_bench *b, const char *kind);
bool starts_has_kind(const char *name);

#endif
