/* SPDX-License-Identifier: MIT */
/* ripple's command line. */
#ifndef RIPPLE_PROGRAM_H_
#define RIPPLE_PROGRAM_H_

#include "renderer.h"
#include "solver.h"

#include "../common/files.h"

#include <stdbool.h>
#include <stdint.h>

/* Of exchange.h. */
typedef enum options_path {
    OPTIONS_RING,
    OPTIONS_SHARED,
    OPTIONS_IN_QUEUE,
    OPTIONS_ASYNC,
    OPTIONS_BANDS /* of --solver-gpus */
} options_path;

#define OPTIONS_MAX_GPUS 16u

typedef enum options_api { OPTIONS_VULKAN, OPTIONS_GL } options_api;

typedef struct options {
    unsigned api;                           /* options_api */
    uint32_t grid_width, grid_height;       /* cells */
    uint32_t picture_width, picture_height; /* pixels */
    uint64_t frames;
    uint32_t steps;          /* of the solver in a frame; 0: from the grid */
    unsigned path;           /* options_path */
    uint32_t buffers;        /* of all but the ring */
    uint32_t depth, burst;   /* of the exchange; of the ring */
    uint64_t max_latency_ms; /* 0: as depth and burst say */
    uint64_t seed;
    const char *output;
    unsigned driver;         /* culv_driver */
    const char *solver_gpus; /* NULL: none; the same as numbers: */
    int gpus[OPTIONS_MAX_GPUS];
    uint32_t num_gpus;
    const char *dump_field; /* NULL: none */
    bool validation, quiet;
} options;

arguments_result options_parse(options *o, int argc, char **argv);

/* ripple: the whole program. */

typedef struct totals {
    uint64_t simulated; /* frames that moved the water */
    /* Those of them whose times are in these sums, milliseconds: */
    uint64_t timed;
    double simulation, drawing, whole; /* drawing is negative once a time was unknown */
} totals;

typedef struct program {
    options options;
    const exchange_path *path; /* in place of the options' */
    scene scene;
    vulkan_setup vulkan;
    exchange exchange;
    renderer renderer;
    solver *solver;
    totals totals;
    char last_picture[FILES_PATH_MAX];
} program;

/* The whole program: its exit status. path: in place of the options', or NULL. */
int program_main(int argc, char **argv, const exchange_path *path);

/* The whole of --api=gl, from the context to the closing line. */
bool gl_run(program *p);

/* Writes --dump-field, if it was asked for. */
bool program_dump_field(program *p);
/* The closing lines. */
bool program_print_result(const program *p, const char *drawn_by, uint32_t width, uint32_t height);

#endif
