/* SPDX-License-Identifier: MIT */
/* What every word of a frame is: for CUDA, C and GLSL alike. */
#ifndef CULVERT_BENCH_FRAME_WORDS_H_
#define CULVERT_BENCH_FRAME_WORDS_H_

/* Both unsigned, 32 bits; neighbours in number and in place differ in most of their bits. */
#define FRAME_MIX(n)           ((n) ^ ((n) >> 15))
#define FRAME_WORD(number, at) FRAME_MIX(((number)*0x9e3779b1u) ^ ((at)*0x85ebca77u))

#endif
