/* ripple: a wave solver in CUDA and a renderer in Vulkan that share one memory and wait for each other on the
 * GPU. SPDX-License-Identifier: MIT */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/png_file.h"
#include "../common/progress.h"
#include "../common/report.h"
#include "exchange.h"
#include "options.h"
#include "renderer.h"
#include "solver.h"

typedef struct program {
    options options;
    scene scene;
    vulkan_setup vulkan;
    exchange exchange;
    renderer renderer;
    solver *solver;
    char last_picture[FILES_PATH_MAX];
    uint64_t frames_timed;
    double sim_ms, draw_ms; /* sums; draw_ms is negative once a time was unknown */
    double seconds;         /* wall clock of the loop */
} program;

static bool write_picture(program *p, uint64_t frame, const uint8_t *pixels)
{
    const options *o = &p->options;
    return options_picture_path(o, frame, p->last_picture) && files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->picture_width, o->picture_height, pixels);
}

/* Frees the slot that `frame` will use, and takes what the frame before it left there. */
static bool reclaim(program *p, uint64_t frame)
{
    renderer_result result;
    if (!renderer_reclaim(&p->renderer, frame, &result)) return false;
    if (!result.used) return true;
    float sim_ms = 0.0f;
    if (!solver_frame_time(p->solver, result.frame, &sim_ms)) return false;
    p->frames_timed++;
    p->sim_ms += (double)sim_ms;
    p->draw_ms = result.milliseconds < 0.0 || p->draw_ms < 0.0 ? -1.0 : p->draw_ms + result.milliseconds;
    return !result.pixels || write_picture(p, result.frame, result.pixels);
}

static bool run_frames(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "ripple", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames; frame++) {
        fine = reclaim(p, frame) && solver_frame(p->solver, &p->exchange, frame) &&
               renderer_frame(&p->renderer, frame, options_wants_picture(o, frame));
        progress_update(&bar, frame + 1);
    }
    for (uint64_t frame = o->frames; fine && frame < o->frames + FRAMES_IN_FLIGHT; frame++) {
        fine = reclaim(p, frame);
    }
    p->seconds = clock_seconds() - started;
    progress_end(&bar);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) exchange_unblock(&p->exchange, o->frames);
    return fine && solver_finish(p->solver);
}

static bool dump_field(program *p)
{
    const options *o = &p->options;
    if (!o->dump_field) return true;
    size_t bytes = (size_t)o->grid_width * o->grid_height * sizeof(float);
    float *heights = malloc(bytes);
    if (!heights) {
        report("--dump-field: out of memory");
        return false;
    }
    bool done = solver_read_heights(p->solver, heights) && files_make_parents(o->dump_field) &&
                files_write(o->dump_field, heights, bytes);
    free(heights);
    return done;
}

static bool set_up(program *p)
{
    const options *o = &p->options;
    if (!files_make_parents(o->output)) return false;
    if (!vulkan_setup_create(&p->vulkan, o->device, o->validation) ||
        !exchange_open(&p->exchange, &p->vulkan))
        return false;
    if (!o->quiet) {
        fprintf(stderr, "ripple: %s by %s\n", p->vulkan.candidate.name, p->vulkan.why);
    }
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    VkDeviceSize buffer_size = (VkDeviceSize)o->grid_width * o->grid_height * 4u * sizeof(float);
    if (!exchange_share(&p->exchange, buffer_size, o->buffers) ||
        !renderer_create(&p->renderer, &p->vulkan, &p->exchange, &p->scene,
                         (VkExtent2D){o->picture_width, o->picture_height}))
        return false;
    p->solver = solver_create(p->exchange.device, &p->scene, o->steps, FRAMES_IN_FLIGHT);
    return p->solver != NULL;
}

static void tear_down(program *p)
{
    solver_destroy(p->solver);
    if (p->vulkan.device) {
        renderer_destroy(&p->renderer);
        exchange_destroy(&p->exchange);
    }
    vulkan_setup_destroy(&p->vulkan);
}

static void print_summary(const program *p)
{
    const options *o = &p->options;
    culv_device_caps caps = culv_device_caps_init();
    if (!culv_ok(culv_device_get_caps(p->exchange.device, &caps), "culv_device_get_caps")) return;
    char draw[32] = "unknown";
    double frames = p->frames_timed ? (double)p->frames_timed : 1.0;
    if (p->draw_ms >= 0.0) snprintf(draw, sizeof draw, "%.3f", p->draw_ms / frames);
    printf("%s | %s, CUDA %u.%u | grid %ux%u, %u steps a frame | %llu frames at %ux%u | ms a frame: "
           "simulation %.3f, "
           "drawing %s, whole %.3f | %s\n",
           p->vulkan.candidate.name, caps.is_software ? "software twin" : "NVIDIA driver",
           caps.driver_version / 1000u, caps.driver_version % 1000u / 10u, o->grid_width, o->grid_height,
           o->steps, (unsigned long long)o->frames, o->picture_width, o->picture_height, p->sim_ms / frames,
           draw, 1e3 * p->seconds / frames, p->last_picture);
}

int main(int argc, char **argv)
{
    report_set_program("ripple");
    program *p = calloc(1, sizeof *p);
    if (!p) return EXIT_FAILURE;
    options_result parsed = options_parse(&p->options, argc, argv);
    if (parsed != OPTIONS_RUN || p->options.list) {
        int status = parsed == OPTIONS_BAD ? 2 : EXIT_SUCCESS;
        if (parsed == OPTIONS_RUN && !vulkan_setup_list()) status = EXIT_FAILURE;
        free(p);
        return status;
    }
    bool fine = set_up(p) && run_frames(p) && dump_field(p);
    if (fine && !p->options.quiet) print_summary(p);
    tear_down(p);
    if (p->vulkan.num_messages) {
        report("validation: %u messages", p->vulkan.num_messages);
        fine = false;
    } else if (fine && p->options.validation && !p->options.quiet) {
        printf("validation: no messages\n");
    }
    free(p);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
