/* SPDX-License-Identifier: MIT */
/* ripple: the whole program. */
#ifndef RIPPLE_PROGRAM_H_
#define RIPPLE_PROGRAM_H_

#include "../common/files.h"
#include "exchange.h"
#include "options.h"
#include "renderer.h"
#include "solver.h"

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

/* A frame that both sides are done with. */
typedef struct finished_frame {
    bool any; /* false: there was none in the slot */
    uint64_t frame;
    double simulation, drawing; /* milliseconds; drawing is negative when unknown */
    const uint8_t *pixels;      /* rows until the slot's next frame, or NULL */
} finished_frame;

/* The whole program: its exit status. path: in place of the options', or NULL. */
int program_main(int argc, char **argv, const exchange_path *path);

/* Frees the slot that `frame` will use, and tells what the frame before it left there. */
bool program_reclaim(program *p, uint64_t frame, finished_frame *out);
void program_count(program *p, const finished_frame *finished);

/* Renders options.frames frames to PNGs. */
bool offscreen_run(program *p);
/* The whole of --api=gl, from the context to the closing line. */
bool gl_run(program *p);

/* Writes --dump-field, if it was asked for. */
bool program_dump_field(program *p);
/* The closing lines. */
bool program_print_result(const program *p, const char *drawn_by, uint32_t width, uint32_t height);

#endif
