/* SPDX-License-Identifier: MIT */
/* swarm: a particle solver in CUDA and a renderer in Vulkan on one memory that grows while both
 * work: new chunks of a culv_vector appear on either side, and nothing is copied, imported again or
 * waited for. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdio.h>
#include <stdlib.h>

#include "../common/files.h"
#include "../common/png_file.h"
#include "../common/progress.h"
#include "../common/report.h"
#include "../common/series.h"
#include "check.h"
#include "options.h"
#include "queue.h"
#include "renderer.h"
#include "solver.h"

_Static_assert((int)SOLVER_FRAMES_IN_FLIGHT == (int)RENDERER_FRAMES_IN_FLIGHT,
               "the renderer's fence tells of both");
enum { FRAMES_IN_FLIGHT = RENDERER_FRAMES_IN_FLIGHT };

typedef struct program {
    options options;
    vulkan_setup vulkan;
    solver solver;
    queue queue; /* with --path=in-queue and async */
    particles particles;
    renderer renderer;
    series grow_us, simulation_ms, drawing_ms, frame_ms;
    double last_frame_ended; /* seconds */
    uint64_t growths;        /* that brought Vulkan something new */
    uint64_t checksum;
    char last_picture[FILES_PATH_MAX];
} program;

static bool set_up(program *p)
{
    options *o = &p->options;
    vulkan_wishes wishes = {.name = "swarm",
                            .validation = o->validation,
                            .sparse = o->sparse,
                            .kernels = o->path != OPTIONS_SHARED};
    if (!files_make_parents(o->output) || !vulkan_setup_create(&p->vulkan, o->device, &wishes))
        return false;
    if (!o->quiet) fprintf(stderr, "swarm: %s by %s\n", p->vulkan.candidate.name, p->vulkan.why);
    options_settle(o, p->vulkan.candidate.driver == CULV_DRIVER_SOFT);
    VkExtent2D extent = {o->width, o->height};
    return series_create(&p->grow_us, o->frames) && series_create(&p->simulation_ms, o->frames) &&
           series_create(&p->drawing_ms, o->frames) && series_create(&p->frame_ms, o->frames) &&
           solver_create(&p->solver, &p->vulkan, o->steps) &&
           particles_create(&p->particles, &p->vulkan, p->solver.device, o->grow_to, o->sparse) &&
           (o->path == OPTIONS_SHARED ||
            queue_create(&p->queue, &p->solver, &p->particles, o->path == OPTIONS_ASYNC)) &&
           renderer_create(&p->renderer, &p->vulkan, &p->particles,
                           o->path == OPTIONS_SHARED ? NULL : &p->queue, extent);
}

static void tear_down(program *p)
{
    solver_stop(&p->solver);
    if (p->vulkan.device) {
        renderer_destroy(&p->renderer);
        queue_destroy(&p->queue);
        particles_destroy(&p->particles);
    }
    solver_destroy(&p->solver);
    vulkan_setup_destroy(&p->vulkan);
    series_destroy(&p->grow_us);
    series_destroy(&p->simulation_ms);
    series_destroy(&p->drawing_ms);
    series_destroy(&p->frame_ms);
}

static bool write_picture(program *p, uint64_t frame, const uint8_t *pixels)
{
    const options *o = &p->options;
    return files_numbered_picture(p->last_picture, o->output, o->every != 0, frame) &&
           files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->width, o->height, pixels);
}

/* Waits for the frame whose slot `frame` will have, and takes what it left. */
static bool reclaim(program *p, uint64_t frame)
{
    renderer_result result;
    float simulation = 0.0f;
    if (!renderer_reclaim(&p->renderer, frame, &result)) return false;
    if (!result.used) return true;
    double now = clock_seconds();
    series_add(&p->frame_ms, 1e3 * (now - p->last_frame_ended));
    p->last_frame_ended = now;
    if (!(p->options.path == OPTIONS_SHARED
              ? solver_frame_time(&p->solver, result.frame, &simulation)
              : queue_frame_time(&p->queue, result.frame, &simulation)))
        return false;
    series_add(&p->simulation_ms, (double)simulation);
    if (result.milliseconds >= 0.0) series_add(&p->drawing_ms, result.milliseconds);
    return !result.pixels || write_picture(p, result.frame, result.pixels);
}

/* The frames before may still run: nothing here waits for them. */
static bool grow(program *p, uint64_t frame)
{
    particles_growth growth;
    if (!particles_grow(&p->particles, options_particles(&p->options, frame), &growth))
        return false;
    series_add(&p->grow_us, growth.grow_us);
    if (!growth.news) return true;
    p->growths++;
    if (p->options.quiet) return true;
    printf(
        "frame %llu: %llu particles, %.1f MiB committed; grow %.1f us; Vulkan: %zu new, %zu kept, %.1f us\n",
        (unsigned long long)frame, (unsigned long long)p->particles.count,
        (double)culv_vector_committed(p->particles.vector) / (1 << 20), growth.grow_us,
        growth.added, growth.kept, growth.import_us);
    return true;
}

static bool run(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "swarm", o->frames, o->quiet);
    p->last_frame_ended = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames; frame++) {
        fine = reclaim(p, frame) && grow(p, frame) &&
               (o->path == OPTIONS_SHARED ? solver_frame(&p->solver, &p->particles, frame)
                                          : queue_frame(&p->queue, frame)) &&
               renderer_frame(&p->renderer, frame, solver_time(&p->solver, frame + 1),
                              options_wants_picture(o, frame));
        progress_update(&bar, frame + 1);
    }
    for (uint64_t i = 0; fine && i < FRAMES_IN_FLIGHT; i++)
        fine = reclaim(p, o->frames + i);
    progress_end(&bar);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) particles_unblock(&p->particles, o->frames);
    return fine && (o->path == OPTIONS_SHARED || queue_give_back(&p->queue));
}

static void print_summary(program *p, const char *driver, const char *drawing,
                          const culv_vector_stats *stats)
{
    const options *o = &p->options;
    const char *buffers = o->sparse                     ? "sparse buffer"
                          : p->particles.num_parts == 1 ? "buffer"
                                                        : "buffers";
    printf(
        "check: %llu particles in %zu %s of Vulkan's are what CUDA has, none is lost, no buffer was made "
        "anew; "
        "checksum %016llx\n",
        (unsigned long long)p->particles.count, p->particles.num_parts, buffers,
        (unsigned long long)p->checksum);
    printf(
        "%s | %s | %llu to %llu particles in %llu frames, %llu chunks, %llu of them committed ahead | us a "
        "grow: "
        "median %.1f, p99 %.1f | ms a frame: median %.3f, p99 %.3f; of it simulation %.3f, drawing %s | %s\n",
        p->vulkan.candidate.name, driver, (unsigned long long)o->particles,
        (unsigned long long)o->grow_to, (unsigned long long)o->frames,
        (unsigned long long)stats->chunks, (unsigned long long)stats->ahead_commits,
        series_percentile(&p->grow_us, 50), series_percentile(&p->grow_us, 99),
        series_percentile(&p->frame_ms, 50), series_percentile(&p->frame_ms, 99),
        series_percentile(&p->simulation_ms, 50), drawing, p->last_picture);
}

/* For programs; times are medians where nothing else is said. */
static void print_json(program *p, const char *driver, const char *drawing,
                       const culv_vector_stats *stats)
{
    const options *o = &p->options;
    printf("RESULT {\"sample\": \"swarm\", \"device\": ");
    print_json_string(p->vulkan.candidate.name);
    printf(", \"driver\": ");
    print_json_string(driver);
    printf(
        ", \"sparse\": %s, \"particles\": %llu, \"grow_to\": %llu, \"frames\": %llu, \"chunks\": %llu, \"buffers\": %zu, \"growths\": %llu, \"committed_bytes\": %llu, \"peak_bytes\": %llu, \"ahead_commits\": %llu, \"ahead_misses\": %llu, ",
        o->sparse ? "true" : "false", (unsigned long long)o->particles,
        (unsigned long long)o->grow_to, (unsigned long long)o->frames,
        (unsigned long long)stats->chunks, p->particles.num_parts, (unsigned long long)p->growths,
        (unsigned long long)stats->committed, (unsigned long long)stats->peak,
        (unsigned long long)stats->ahead_commits, (unsigned long long)stats->ahead_misses);
    printf("\"grow_us\": %.1f, \"grow_us_p99\": %.1f, \"simulation_ms\": %.3f, \"drawing_ms\": %s, "
           "\"frame_ms\": "
           "%.3f, \"frame_ms_p99\": %.3f, \"checksum\": \"%016llx\"}\n",
           series_percentile(&p->grow_us, 50), series_percentile(&p->grow_us, 99),
           series_percentile(&p->simulation_ms, 50), drawing, series_percentile(&p->frame_ms, 50),
           series_percentile(&p->frame_ms, 99), (unsigned long long)p->checksum);
}

static bool print_result(program *p)
{
    char driver[64], drawing[32];
    culv_vector_stats stats = culv_vector_stats_init();
    if (!interop_driver_name(p->solver.device, driver) ||
        !culv_ok(culv_vector_get_stats(p->particles.vector, &stats), "culv_vector_get_stats"))
        return false;
    bool timed = p->drawing_ms.count > 0;
    snprintf(drawing, sizeof drawing, "%.3f", series_percentile(&p->drawing_ms, 50));
    if (!p->options.quiet) print_summary(p, driver, timed ? drawing : "unknown", &stats);
    print_json(p, driver, timed ? drawing : "null", &stats);
    return true;
}

int main(int argc, char **argv)
{
    report_set_program("swarm");
    program *p = calloc(1, sizeof *p);
    if (!p) return EXIT_FAILURE;
    options_result parsed = options_parse(&p->options, argc, argv);
    if (parsed != OPTIONS_RUN || p->options.list) {
        int status = parsed == OPTIONS_BAD ? 2 : EXIT_SUCCESS;
        if (parsed == OPTIONS_RUN && !vulkan_setup_list()) status = EXIT_FAILURE;
        free(p);
        return status;
    }
    bool fine = set_up(p) && run(p) && check_particles(&p->particles, p->solver.cu, &p->checksum) &&
                print_result(p);
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
