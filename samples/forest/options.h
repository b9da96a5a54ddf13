/* SPDX-License-Identifier: MIT */
/* forest's command line. */
#ifndef FOREST_OPTIONS_H_
#define FOREST_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>

#include "../common/arguments.h"
#include "memory.h"

/* Zero where the default is the device's: options_settle(). */
typedef struct options {
    const memory_mode *mode;
    uint32_t width, height, samples; /* rays a pixel */
    uint64_t frames, every;          /* every: 0: the last frame's picture alone */
    uint64_t particles;
    const char *output, *device;
    bool validation, quiet, list;
} options;

arguments_result options_parse(options *o, int argc, char **argv);

/* Fills in what depends on the device. */
void options_settle(options *o, bool software);

#endif
