/* SPDX-License-Identifier: MIT */
/* The command line of culvert-bench-memory. */
#ifndef CULVERT_BENCH_MEMORY_OPTIONS_H_
#define CULVERT_BENCH_MEMORY_OPTIONS_H_

#include "sections.h"

#define PROGRAM "culvert-bench-memory"

typedef struct section {
    const char *name, *what;
    void (*run)(memory_bench *b, const options *o);
} section;

extern const section sections[];
extern const size_t num_sections;

/* Prints and leaves where that is asked for, or on wrong usage. */
options options_parse(int argc, char **argv);
bool options_wants(const options *o, const section *s);

#endif
