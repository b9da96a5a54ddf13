/* SPDX-License-Identifier: MIT */
/* Results for people: rows as they come. */
#ifndef CULVERT_BENCH_TEXT_H_
#define CULVERT_BENCH_TEXT_H_

#include "measure.h"

void text_heading(const bench *b, const char *program);
void text_gap(const bench *b, const bench_gap *gap);
void text_row(bench *b, const bench_result *result);

#endif
