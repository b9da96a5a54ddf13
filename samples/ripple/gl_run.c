/* SPDX-License-Identifier: MIT */
/* ripple by OpenGL: the whole of --api=gl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/png_file.h"
#include "../common/progress.h"
#include "gl_exchange.h"
#include "gl_renderer.h"
#include "program.h"

typedef struct gl_state {
    program *program; /* its options, scene, exchange, solver and totals */
    gl_interop interop;
    gl_exchange exchange;
    gl_renderer renderer;
    uint8_t *pixels;
    uint64_t frame; /* of the exchange */
} gl_state;

static bool set_up(gl_state *s)
{
    program *p = s->program;
    const options *o = &p->options;
    gl_wishes wishes = {.choice = o->device, .debug = o->validation};
    if (!files_make_parents(o->output)) return false;
    if (!gl_interop_open(&s->interop, &wishes)) return false;
    if (!o->quiet) fprintf(stderr, "ripple: %s by OpenGL\n", s->interop.gl.renderer);
    s->pixels = malloc((size_t)o->picture_width * o->picture_height * 4);
    if (!s->pixels) {
        report("out of memory for a picture of %u x %u", o->picture_width, o->picture_height);
        return false;
    }
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    const exchange_flow flow = {.buffers = o->depth,
                                .burst = o->burst,
                                .max_latency_ns = o->max_latency_ms * UINT64_C(1000000)};
    if (!gl_exchange_create(&s->exchange, &p->exchange, &s->interop, o->path, &flow, o->grid_width,
                            o->grid_height) ||
        !gl_renderer_create(&s->renderer, &p->scene, o->picture_width, o->picture_height))
        return false;
    p->solver = solver_create(&p->exchange, &p->scene, o->steps, p->exchange.num_buffers);
    return p->solver != NULL;
}

static void tear_down(gl_state *s)
{
    solver_destroy(s->program->solver);
    if (s->interop.device) {
        gl_renderer_destroy(&s->renderer);
        gl_exchange_destroy(&s->exchange, &s->program->exchange);
    }
    gl_interop_close(&s->interop);
    free(s->pixels);
}

static bool count_times(gl_state *s)
{
    totals *t = &s->program->totals;
    float simulation = 0.0f;
    double drawing =
        gl_renderer_milliseconds(&s->renderer); /* waits for it, and so for CUDA's part */
    if (!solver_frame_time(s->program->solver, s->frame - 1, &simulation)) return false;
    t->timed++;
    t->simulated++;
    t->simulation += (double)simulation;
    t->drawing += drawing;
    return true;
}

static bool draw(gl_state *s)
{
    if (!gl_exchange_begin(&s->exchange, s->frame) ||
        !gl_renderer_draw(&s->renderer, &s->exchange, s->program->totals.simulated) ||
        !gl_exchange_end(&s->exchange, s->frame))
        return false;
    s->frame++;
    return count_times(s);
}

static bool write_picture(gl_state *s, const char *path)
{
    const options *o = &s->program->options;
    snprintf(s->program->last_picture, sizeof s->program->last_picture, "%s", path);
    return files_make_parents(path) &&
           gl_read_rgba(s->renderer.picture_target, o->picture_width, o->picture_height,
                        s->pixels) &&
           png_write_rgba(path, o->picture_width, o->picture_height, s->pixels);
}

static bool run_offscreen(gl_state *s)
{
    const options *o = &s->program->options;
    progress bar;
    progress_begin(&bar, "ripple", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t i = 0; fine && i < o->frames;) {
        uint64_t end = i + solver_burst(s->program->solver, i, o->frames - i);
        for (fine = end > i; fine && i < end; i++) {
            char path[FILES_PATH_MAX];
            fine = draw(s);
            if (fine && options_wants_picture(o, i))
                fine = options_picture_path(o, i, path) && write_picture(s, path);
            progress_update(&bar, i + 1);
        }
    }
    s->program->totals.whole = 1e3 * (clock_seconds() - started);
    return fine;
}

bool gl_run(program *p)
{
    gl_state s;
    memset(&s, 0, sizeof s);
    s.program = p;
    bool fine = set_up(&s) && run_offscreen(&s) && program_dump_field(p) &&
                program_print_result(p, s.interop.gl.renderer, p->options.picture_width,
                                     p->options.picture_height);
    uint32_t messages = s.interop.gl.num_messages;
    tear_down(&s);
    if (messages) {
        report("validation: OpenGL said something %u times", messages);
        fine = false;
    } else if (fine && p->options.validation && !p->options.quiet) {
        printf("validation: no messages\n");
    }
    return fine;
}
