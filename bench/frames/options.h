/* SPDX-License-Identifier: MIT */
/* The command line of culvert-bench. */
#ifndef CULVERT_BENCH_FRAMES_OPTIONS_H_
#define CULVERT_BENCH_FRAMES_OPTIONS_H_

#include "sections.h"

#define PROGRAM "culvert-bench"

/* Prints and leaves where that is asked for, or on wrong usage. */
options options_parse(int argc, char **argv);
/* The defaults, some of which the twin has others of. */
void options_complete(options *o, bool software);
bool options_wants(const options *o, const section *s);

#endif
