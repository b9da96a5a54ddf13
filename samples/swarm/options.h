/* SPDX-License-Identifier: MIT */
/* swarm's command line. */
#ifndef SWARM_OPTIONS_H_
#define SWARM_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>

typedef enum options_path { OPTIONS_SHARED, OPTIONS_IN_QUEUE, OPTIONS_ASYNC } options_path;

/* Zero where the default is the device's: options_settle(). */
typedef struct options {
    uint32_t width, height;
    uint64_t frames, every; /* every: 0: the last frame's picture alone */
    uint32_t steps;
    uint64_t particles, grow_to;
    const char *output, *device;
    options_path path;
    bool sparse, validation, quiet, list;
} options;

typedef enum options_result { OPTIONS_RUN, OPTIONS_EXIT, OPTIONS_BAD } options_result;

/* OPTIONS_EXIT: --help was printed. OPTIONS_BAD: a message was. */
options_result options_parse(options *o, int argc, char **argv);

/* Fills in what depends on the device. */
void options_settle(options *o, bool software);

/* Is there a picture of this frame to write? */
bool options_wants_picture(const options *o, uint64_t frame);

/* How many particles there are in a frame: as many more with each. */
uint64_t options_particles(const options *o, uint64_t frame);

#endif
