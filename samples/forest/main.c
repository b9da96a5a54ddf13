/* SPDX-License-Identifier: MIT */
/* forest: CUDA builds a tree of raw pointers each frame, and Vulkan walks it by these pointers. The
 * memory has one address in both (culv_vk_space), so nothing is copied and no pointer changed. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdio.h>
#include <stdlib.h>

#include "../common/files.h"
#include "../common/png_file.h"
#include "../common/progress.h"
#include "../common/report.h"
#include "check.h"
#include "options.h"
#include "renderer.h"
#include "series.h"
#include "solver.h"

_Static_assert((int)SOLVER_FRAMES_IN_FLIGHT == (int)RENDERER_FRAMES_IN_FLIGHT,
               "the renderer's fence tells of both");
enum { FRAMES_IN_FLIGHT = RENDERER_FRAMES_IN_FLIGHT };

typedef struct program {
    options options;
    vulkan_setup vulkan;
    solver solver;
    memory memory;
    renderer renderer;
    series build_ms, hand_over_ms, drawing_ms, frame_ms;
    double last_frame_ended; /* seconds */
    uint8_t *pixels;
    uint64_t picture_checksum; /* of all pictures */
    check_result check;
    char last_picture[FILES_PATH_MAX];
} program;

static bool create_series(program *p)
{
    size_t frames = (size_t)p->options.frames;
    return series_create(&p->build_ms, frames) && series_create(&p->hand_over_ms, frames) &&
           series_create(&p->drawing_ms, frames) && series_create(&p->frame_ms, frames);
}

static bool set_up(program *p)
{
    options *o = &p->options;
    vulkan_wishes wishes = {.name = "forest",
                            .validation = o->validation,
                            .addresses = true,
                            .one_address = o->mode->one_address};
    if (!files_make_parents(o->output) || !vulkan_setup_create(&p->vulkan, o->device, &wishes))
        return false;
    if (!o->quiet) fprintf(stderr, "forest: %s by %s\n", p->vulkan.candidate.name, p->vulkan.why);
    options_settle(o, p->vulkan.candidate.driver == CULV_DRIVER_SOFT);
    VkExtent2D extent = {o->width, o->height};
    size_t bytes = (size_t)o->width * o->height * 4;
    p->picture_checksum = UINT64_C(0xcbf29ce484222325);
    p->pixels = malloc(bytes);
    if (!p->pixels) {
        report("out of memory for a picture");
        return false;
    }
    if (!create_series(p) || !solver_create(&p->solver, &p->vulkan, o->particles)) return false;
    memory_sizes sizes = solver_sizes(&p->solver);
    sizes.picture = bytes;
    return memory_create(&p->memory, o->mode, &p->vulkan, p->solver.device, p->solver.cu,
                         p->solver.loaded, &sizes) &&
           renderer_create(&p->renderer, &p->vulkan, extent, o->samples);
}

static void tear_down(program *p)
{
    solver_stop(&p->solver);
    if (p->vulkan.device) {
        renderer_destroy(&p->renderer);
        memory_destroy(&p->memory, p->options.mode);
    }
    solver_destroy(&p->solver);
    vulkan_setup_destroy(&p->vulkan);
    series_destroy(&p->build_ms);
    series_destroy(&p->hand_over_ms);
    series_destroy(&p->drawing_ms);
    series_destroy(&p->frame_ms);
    free(p->pixels);
}

/* The next frame draws over it, so this waits. CUDA reads what Vulkan wrote: the picture is in the
 * same memory. */
static bool write_picture(program *p, uint64_t frame)
{
    const options *o = &p->options;
    const culv_cuda_api *cu = p->solver.cu;
    CUstream stream = p->solver.stream;
    size_t bytes = (size_t)o->width * o->height * 4;
    if (!culv_ok(
            culv_semaphore_wait(culv_shared_semaphore_cuda(p->memory.drawn), stream, frame + 1),
            "waiting for drawn") ||
        !cuda_ok(cu, cu->cuMemcpyDtoHAsync(p->pixels, p->memory.shown.picture, bytes, stream),
                 "cuMemcpyDtoHAsync") ||
        !cuda_ok(cu, cu->cuStreamSynchronize(stream), "cuStreamSynchronize"))
        return false;
    for (size_t i = 0; i < bytes; i++)
        p->picture_checksum = (p->picture_checksum ^ p->pixels[i]) * UINT64_C(0x100000001b3);
    return files_numbered_picture(p->last_picture, o->output, o->every != 0, frame) &&
           files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->width, o->height, p->pixels);
}

/* Waits for the frame whose slot `frame` will have, and takes its times. */
static bool reclaim(program *p, uint64_t frame)
{
    renderer_result result;
    float build = 0.0f, hand_over = 0.0f;
    if (!renderer_reclaim(&p->renderer, frame, &result)) return false;
    if (!result.used) return true;
    double now = clock_seconds();
    series_add(&p->frame_ms, 1e3 * (now - p->last_frame_ended));
    p->last_frame_ended = now;
    if (!solver_frame_time(&p->solver, result.frame, &build, &hand_over)) return false;
    series_add(&p->build_ms, (double)build);
    series_add(&p->hand_over_ms, (double)hand_over);
    if (result.milliseconds >= 0.0) series_add(&p->drawing_ms, result.milliseconds);
    return true;
}

static bool run(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "forest", o->frames, o->quiet);
    p->last_frame_ended = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames; frame++) {
        fine = reclaim(p, frame) && solver_frame(&p->solver, o->mode, &p->memory, frame) &&
               renderer_frame(&p->renderer, o->mode, &p->memory, frame) &&
               (!arguments_wants_picture(frame, o->frames, o->every) || write_picture(p, frame));
        progress_update(&bar, frame + 1);
    }
    for (uint64_t i = 0; fine && i < FRAMES_IN_FLIGHT; i++)
        fine = reclaim(p, o->frames + i);
    progress_end(&bar);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) memory_unblock(&p->memory, o->frames);
    return fine;
}

static void print_summary(program *p, const char *driver, const char *drawing)
{
    const options *o = &p->options;
    const memory *m = &p->memory;
    printf(
        "check: every pointer that Vulkan has leads where it should: %llu nodes, %llu particles, "
        "%u deep\n",
        (unsigned long long)p->check.nodes, (unsigned long long)p->check.particles,
        (unsigned)p->check.depth);
    printf("mode %s: the root is at %#llx for CUDA and at %#llx for Vulkan\n", o->mode->name,
           (unsigned long long)m->built.nodes, (unsigned long long)m->seen.nodes);
    printf(
        "%s | %s | %llu particles, %llu frames | ms a frame: median %.3f, p99 %.3f; of it building "
        "%.3f, "
        "copying and patching %.3f, drawing %s | %s\n",
        p->vulkan.candidate.name, driver, (unsigned long long)o->particles,
        (unsigned long long)o->frames, series_percentile(&p->frame_ms, 50),
        series_percentile(&p->frame_ms, 99), series_percentile(&p->build_ms, 50),
        series_percentile(&p->hand_over_ms, 50), drawing, p->last_picture);
}

/* For programs; times are medians where nothing else is said. */
static void print_json(program *p, const char *driver, const char *drawing)
{
    const options *o = &p->options;
    const memory *m = &p->memory;
    culv_vk_space_info info = culv_vk_space_info_init();
    if (m->space) (void)culv_vk_space_get_info(m->space, &info);
    printf("RESULT {\"sample\": \"forest\", \"mode\": \"%s\", \"device\": ", o->mode->name);
    print_json_string(p->vulkan.candidate.name);
    printf(", \"driver\": ");
    print_json_string(driver);
    printf(
        ", \"particles\": %llu, \"frames\": %llu, \"shared_bytes\": %llu, \"copied_bytes\": %llu, ",
        (unsigned long long)o->particles, (unsigned long long)o->frames,
        (unsigned long long)memory_bytes(&m->sizes),
        (unsigned long long)(m->space ? 0 : m->sizes.particles + m->sizes.nodes));
    printf("\"one_address\": %s, \"attempts\": %u, \"nodes\": %llu, \"depth\": %u, ",
           m->built.nodes == m->seen.nodes ? "true" : "false", (unsigned)info.attempts,
           (unsigned long long)p->check.nodes, (unsigned)p->check.depth);
    printf("\"build_ms\": %.3f, \"hand_over_ms\": %.3f, \"drawing_ms\": %s, \"frame_ms\": %.3f, "
           "\"frame_ms_p99\": %.3f, \"checksum\": \"%016llx\", \"picture\": \"%016llx\"}\n",
           series_percentile(&p->build_ms, 50), series_percentile(&p->hand_over_ms, 50), drawing,
           series_percentile(&p->frame_ms, 50), series_percentile(&p->frame_ms, 99),
           (unsigned long long)p->check.checksum, (unsigned long long)p->picture_checksum);
}

static bool print_result(program *p)
{
    char driver[64], drawing[32];
    if (!interop_driver_name(p->solver.device, driver)) return false;
    bool timed = p->drawing_ms.count > 0;
    snprintf(drawing, sizeof drawing, "%.3f", series_percentile(&p->drawing_ms, 50));
    if (!p->options.quiet) print_summary(p, driver, timed ? drawing : "unknown");
    print_json(p, driver, timed ? drawing : "null");
    return true;
}

int main(int argc, char **argv)
{
    report_set_program("forest");
    program *p = calloc(1, sizeof *p);
    if (!p) return EXIT_FAILURE;
    arguments_result parsed = options_parse(&p->options, argc, argv);
    if (parsed != ARGUMENTS_RUN || p->options.list) {
        int status = parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
        if (parsed == ARGUMENTS_RUN && !vulkan_setup_list()) status = EXIT_FAILURE;
        free(p);
        return status;
    }
    bool fine = set_up(p) && run(p) && check_tree(&p->memory, &p->check) && print_result(p);
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
