/* SPDX-License-Identifier: MIT */
/* What every word of a buffer is: for CUDA and C alike. */
#ifndef CULVERT_BENCH_MEMORY_WORDS_H_
#define CULVERT_BENCH_MEMORY_WORDS_H_

/* `at` counts words and has 64 bits, `seed` 32; neighbours differ in most of their bits. */
#define MEMORY_MIX(n) ((n) ^ ((n) >> 15))
#define MEMORY_WORD(seed, at)                                                                      \
    MEMORY_MIX(((seed)*0x9e3779b1u) ^ ((unsigned)(at)*0x85ebca77u) ^                               \
               ((unsigned)((at) >> 32) * 0xc2b2ae3du))

#endif
