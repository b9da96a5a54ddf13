/* SPDX-License-Identifier: MIT */
/* ripple's command line. */
#ifndef RIPPLE_OPTIONS_H_
#define RIPPLE_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>

#include "../common/arguments.h"

/* Of exchange.h. */
typedef enum options_path {
    OPTIONS_RING,
    OPTIONS_SHARED,
    OPTIONS_IN_QUEUE,
    OPTIONS_ASYNC,
    OPTIONS_REPLAY,
    OPTIONS_NO_PATH, /* until the API's default is taken */
    OPTIONS_BANDS    /* of --solver-gpus */
} options_path;

#define OPTIONS_MAX_GPUS 16u

typedef enum options_api { OPTIONS_VULKAN, OPTIONS_GL } options_api;

typedef struct options {
    unsigned api;                           /* options_api */
    uint32_t grid_width, grid_height;       /* cells */
    uint32_t picture_width, picture_height; /* pixels */
    uint64_t frames;
    uint32_t steps;          /* of the solver in a frame; 0: from the grid */
    uint64_t every;          /* a picture every so many frames; 0: the last only */
    unsigned path;           /* options_path */
    uint32_t buffers;        /* of all but the ring */
    uint32_t depth, burst;   /* of the exchange; of the ring */
    uint64_t max_latency_ms; /* 0: as depth and burst say */
    uint64_t seed;
    const char *output;
    const char *device;
    const char *solver_gpus; /* NULL: none; the same as numbers: */
    int gpus[OPTIONS_MAX_GPUS];
    uint32_t num_gpus;
    const char *dump_field; /* NULL: none */
    bool validation, quiet, list;
} options;

arguments_result options_parse(options *o, int argc, char **argv);

/* Is there a picture of this frame to write? */
bool options_wants_picture(const options *o, uint64_t frame);
/* Where to. */
bool options_picture_path(const options *o, uint64_t frame, char *out);

#endif
