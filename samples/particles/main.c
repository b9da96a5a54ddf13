/* SPDX-License-Identifier: MIT */
/* particles: an N-body solver in CUDA and a renderer in OpenGL on one memory, in three ways. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/gl_interop.h"
#include "../common/png_file.h"
#include "../common/progress.h"
#include "check.h"
#include "options.h"
#include "renderer.h"
#include "star.h"
#include "window.h"

typedef struct program {
    options options;
    gl_interop interop;
    gl_window *window; /* NULL: none */
    solver solver;
    exchange exchange;
    renderer renderer;
    renderer_view view;
    uint8_t *pixels;
    uint64_t frames; /* simulated */
    double simulation, drawing, whole;
    uint64_t checksum;
    char last_picture[FILES_PATH_MAX];
} program;

/* The best one that works here, where the caller has not chosen. */
static const way *choose_way(const program *p)
{
    static const way *const ways[] = {[OPTIONS_MEMORY] = &way_memory,
                                      [OPTIONS_REGISTER] = &way_register,
                                      [OPTIONS_STAGED] = &way_staged};
    if (p->options.way != OPTIONS_AUTO) return ways[p->options.way];
    return p->interop.report.way == CULV_GL_WAY_MEMORY     ? &way_memory
           : p->interop.report.way == CULV_GL_WAY_REGISTER ? &way_register
                                                           : &way_staged;
}

static bool set_up(program *p)
{
    options *o = &p->options;
    gl_wishes wishes = {.choice = o->device, .debug = o->debug};
    if (o->output && !files_make_parents(o->output)) return false;
    if (o->window) {
        uint32_t width = o->width ? o->width : 1280, height = o->height ? o->height : 720;
        p->window = gl_window_open(&p->interop.gl, "particles", width, height, o->debug);
        if (!p->window || !gl_interop_open_current(&p->interop, &wishes)) return false;
        o->width = width;
        o->height = height;
    } else if (!gl_interop_open(&p->interop, &wishes)) {
        return false;
    }
    options_settle(o, p->interop.report.is_software);
    const way *chosen = choose_way(p);
    if (!o->quiet)
        fprintf(stderr, "particles: %s, by way of %s\n", p->interop.gl.renderer, chosen->name);
    p->pixels = malloc((size_t)o->width * o->height * 4);
    if (!p->pixels) {
        report("out of memory for a picture of %u x %u", o->width, o->height);
        return false;
    }
    return solver_create(&p->solver, p->interop.device, o->particles, o->heavy, o->steps,
                         o->seed) &&
           exchange_create(&p->exchange, chosen, &p->interop, o->particles * sizeof(star)) &&
           renderer_create(&p->renderer, o->width, o->height, o->particles);
}

static void tear_down(program *p)
{
    if (p->interop.device) {
        renderer_destroy(&p->renderer);
        if (p->solver.stream) (void)p->solver.cu->cuStreamSynchronize(p->solver.stream);
        exchange_destroy(&p->exchange);
        solver_destroy(&p->solver);
    }
    gl_interop_close(&p->interop);
    gl_window_close(p->window);
    free(p->pixels);
}

static bool call(bool (*step)(exchange *), exchange *e)
{
    return !step || step(e);
}

static bool call_stream(bool (*step)(exchange *, CUstream), exchange *e, CUstream stream)
{
    return !step || step(e, stream);
}

/* The whole frame of both sides. A frame that does not move still goes through the exchange. */
static bool frame(program *p, bool moves)
{
    exchange *e = &p->exchange;
    solver *s = &p->solver;
    if (moves && !solver_step(s)) return false;
    /* Only this last kernel touches what is exchanged: the steps ran beside the drawing before. */
    if (!call_stream(e->way->acquire, e, s->stream) || !solver_publish(s, e->pointer) ||
        !call_stream(e->way->release, e, s->stream) || !call(e->way->begin_drawing, e) ||
        !renderer_draw(&p->renderer, e->buffer, &p->view) || !call(e->way->end_drawing, e))
        return false;
    e->frame++;
    return true;
}

static bool count_times(program *p)
{
    float simulation = 0.0f;
    if (!solver_milliseconds(&p->solver, &simulation)) return false;
    p->simulation += (double)simulation;
    p->drawing += renderer_milliseconds(&p->renderer);
    return true;
}

static bool write_picture(program *p, const char *path)
{
    const options *o = &p->options;
    snprintf(p->last_picture, sizeof p->last_picture, "%s", path);
    return files_make_parents(path) &&
           gl_read_rgba(p->renderer.picture_target, o->width, o->height, p->pixels) &&
           png_write_rgba(path, o->width, o->height, p->pixels);
}

static bool run_offscreen(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "particles", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t i = 0; fine && i < o->frames; i++) {
        char path[FILES_PATH_MAX];
        fine = frame(p, true) && count_times(p);
        p->frames++;
        if (fine && options_wants_picture(o, i))
            fine =
                files_numbered_picture(path, o->output, o->every != 0, i) && write_picture(p, path);
        progress_update(&bar, i + 1);
    }
    p->whole = 1e3 * (clock_seconds() - started);
    progress_end(&bar);
    return fine;
}

typedef struct viewer {
    bool paused, done, changed, closed;
} viewer;

static void take_input(program *p, viewer *v, const gl_window_input *input)
{
    p->view.turn += 0.006f * (float)input->drag_x;
    p->view.lift = fminf(fmaxf(p->view.lift + 0.004f * (float)input->drag_y, -0.8f), 0.7f);
    p->view.closer = fminf(fmaxf(p->view.closer + 0.125f * (float)input->wheel, -1.5f), 3.0f);
    v->closed |= input->closed;
    v->changed |= input->shown || input->drag_x != 0 || input->drag_y != 0 || input->wheel != 0;
    if (!input->pause) return;
    v->paused = !v->paused;
    gl_window_set_title(p->window, v->done     ? "particles (done)"
                                   : v->paused ? "particles (paused)"
                                               : "particles");
}

static bool run_window(program *p)
{
    const options *o = &p->options;
    viewer v = {.changed = true};
    double started = clock_seconds();
    while (!v.closed) {
        gl_window_input input;
        bool moves = !v.paused && !v.done;
        if (moves || v.changed) {
            gl_window_poll(p->window, &input);
        } else {
            gl_window_wait(p->window, &input);
        }
        take_input(p, &v, &input);
        moves = !v.paused && !v.done;
        if (!moves && !v.changed) continue;
        if (!frame(p, moves)) return false;
        gl_window_show(p->window, p->renderer.picture_target, o->width, o->height);
        v.changed = false;
        if (!moves) continue;
        if (!count_times(p)) return false;
        if (++p->frames != o->frames) continue;
        v.done = true;
        p->whole = 1e3 * (clock_seconds() - started);
        gl_window_set_title(p->window, "particles (done)");
        if (!o->hold) break;
    }
    if (!v.done) p->whole = 1e3 * (clock_seconds() - started);
    return p->frames == 0 || !o->screenshot || write_picture(p, o->screenshot);
}

static bool print_result(program *p)
{
    const options *o = &p->options;
    char driver[64];
    if (!interop_driver_name(p->interop.device, driver)) return false;
    double frames = p->frames ? (double)p->frames : 1.0;
    if (!o->quiet) {
        printf("check: %u stars as OpenGL has them are what CUDA computed; checksum %016llx\n",
               o->particles, (unsigned long long)p->checksum);
        printf("%s | %s | %u stars, %u of them heavy, %llu frames by way of %s | ms a frame: "
               "simulation %.3f, drawing %.3f, whole %.3f%s%s\n",
               p->interop.gl.renderer, driver, o->particles, p->solver.heavy,
               (unsigned long long)p->frames, p->exchange.way->name, p->simulation / frames,
               p->drawing / frames, p->whole / frames, p->last_picture[0] ? " | " : "",
               p->last_picture);
    }
    printf("RESULT {\"sample\": \"particles\", \"renderer\": ");
    print_json_string(p->interop.gl.renderer);
    printf(", \"driver\": ");
    print_json_string(driver);
    printf(", \"way\": \"%s\", \"particles\": %u, \"heavy\": %u, \"frames\": %llu, "
           "\"simulation_ms\": %.3f, \"drawing_ms\": %.3f, \"frame_ms\": %.3f, "
           "\"transfer_bytes_per_frame\": %llu, \"checksum\": \"%016llx\"}\n",
           p->exchange.way->name, o->particles, p->solver.heavy, (unsigned long long)p->frames,
           p->simulation / frames, p->drawing / frames, p->whole / frames,
           (unsigned long long)p->exchange.copied, (unsigned long long)p->checksum);
    return true;
}

int main(int argc, char **argv)
{
    report_set_program("particles");
    program *p = calloc(1, sizeof *p);
    if (!p) return EXIT_FAILURE;
    arguments_result parsed = options_parse(&p->options, argc, argv);
    if (parsed != ARGUMENTS_RUN) {
        free(p);
        return parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    }
    bool fine = set_up(p) && (p->window ? run_window(p) : run_offscreen(p)) &&
                check_stars(&p->exchange, &p->solver, &p->checksum) && print_result(p);
    uint32_t messages = p->interop.gl.num_messages;
    tear_down(p);
    if (messages) {
        report("--debug: OpenGL said something %u times", messages);
        fine = false;
    } else if (fine && p->options.debug && !p->options.quiet) {
        printf("debug: no messages\n");
    }
    free(p);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
