/* SPDX-License-Identifier: MIT */
/* particles' command line. */
#ifndef PARTICLES_OPTIONS_H_
#define PARTICLES_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>

#include "../common/arguments.h"

typedef enum options_way {
    OPTIONS_AUTO, /* the best one that works */
    OPTIONS_MEMORY,
    OPTIONS_REGISTER,
    OPTIONS_STAGED
} options_way;

/* Zero where the default is the device's: options_settle(). */
typedef struct options {
    unsigned way; /* options_way */
    uint32_t width, height, particles, heavy, steps;
    uint64_t frames, every, seed; /* frames: 0: until the window is closed */
    const char *output, *screenshot, *device;
    bool window, hold, debug, quiet;
} options;

arguments_result options_parse(options *o, int argc, char **argv);

/* Fills in what depends on the device. */
void options_settle(options *o, bool software);

/* Is there a picture of this frame to write? */
bool options_wants_picture(const options *o, uint64_t frame);

#endif
