/* SPDX-License-Identifier: MIT */
/* What culvert-bench-memory measures: one function a section. */
#ifndef CULVERT_BENCH_MEMORY_SECTIONS_H_
#define CULVERT_BENCH_MEMORY_SECTIONS_H_

#include "memory.h"

enum { OPTIONS_LIST = 16 };

typedef struct options {
    const char *driver;
    const char *json; /* NULL: none; "": standard output, in place of the text */
    const char *only[OPTIONS_LIST];
    size_t num_only;
    int device;
    bool quick, large;
    uint64_t seed;
} options;

void section_grow(memory_bench *b, const options *o);
void section_chunks(memory_bench *b, const options *o);
void section_ahead(memory_bench *b, const options *o);
void section_free(memory_bench *b, const options *o);
void section_peers(memory_bench *b, const options *o);
void section_large(memory_bench *b, const options *o);

#endif
