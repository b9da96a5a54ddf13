/* SPDX-License-Identifier: MIT */
/* ripple: a wave solver in CUDA and a renderer in Vulkan that share one memory and wait for each
 * other on the GPU. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdio.h>
#include <stdlib.h>

#include "../common/interop.h"
#include "../common/report.h"
#include "program.h"

static bool set_up(program *p)
{
    const options *o = &p->options;
    VkExtent2D grid = {o->grid_width, o->grid_height},
               extent = {o->picture_width, o->picture_height};
    vulkan_wishes wishes = {.name = "ripple",
                            .validation = o->validation,
                            .kernels = o->path >= OPTIONS_IN_QUEUE && o->path <= OPTIONS_REPLAY};
    if (!files_make_parents(o->output) || !vulkan_setup_create(&p->vulkan, o->device, &wishes))
        return false;
    if (!o->quiet) fprintf(stderr, "ripple: %s by %s\n", p->vulkan.candidate.name, p->vulkan.why);
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    static const exchange_path *const paths[] = {
        [OPTIONS_RING] = &path_ring,         [OPTIONS_SHARED] = &path_shared,
        [OPTIONS_IN_QUEUE] = &path_in_queue, [OPTIONS_ASYNC] = &path_async,
        [OPTIONS_REPLAY] = &path_replay,     [OPTIONS_BANDS] = &path_bands};
    exchange_flow flow = {.buffers = o->depth,
                          .burst = o->burst,
                          .max_latency_ns = o->max_latency_ms * UINT64_C(1000000),
                          .gpus = o->gpus,
                          .num_gpus = o->num_gpus};
    /* Two bursts, so that one runs while the next is recorded. */
    uint32_t in_flight = FRAMES_IN_FLIGHT;
    if (in_flight < o->depth) in_flight = o->depth;
    if (in_flight < 2 * o->burst) in_flight = 2 * o->burst;
    flow.in_flight = in_flight;
    if (!exchange_create(&p->exchange, p->path ? p->path : paths[o->path], &p->vulkan, grid,
                         &flow) ||
        !renderer_create(&p->renderer, &p->vulkan, &p->exchange, &p->scene, extent, in_flight))
        return false;
    p->solver = solver_create(&p->exchange, &p->scene, o->steps, in_flight);
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

bool program_reclaim(program *p, uint64_t frame, finished_frame *out)
{
    renderer_result result;
    float simulation = 0.0f;
    if (!renderer_reclaim(&p->renderer, frame, &result)) return false;
    if (result.used && !solver_frame_time(p->solver, result.frame, &simulation)) return false;
    *out = (finished_frame){result.used, result.frame, (double)simulation, result.milliseconds,
                            result.pixels};
    return true;
}

void program_count(program *p, const finished_frame *finished)
{
    totals *t = &p->totals;
    if (!finished->any) return;
    t->timed++;
    t->simulation += finished->simulation;
    t->drawing =
        finished->drawing < 0.0 || t->drawing < 0.0 ? -1.0 : t->drawing + finished->drawing;
}

bool program_dump_field(program *p)
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

bool program_print_result(const program *p, const char *drawn_by, uint32_t width, uint32_t height)
{
    const options *o = &p->options;
    const totals *t = &p->totals;
    char driver[64];
    if (!interop_driver_name(p->exchange.device, driver)) return false;
    double frames = t->timed ? (double)t->timed : 1.0;
    char drawing[2][32] = {"unknown", "null"};
    for (int i = 0; t->drawing >= 0.0 && i < 2; i++)
        snprintf(drawing[i], sizeof drawing[i], "%.3f", t->drawing / frames);
    exchange_flow flow = exchange_flow_now(&p->exchange);
    char path[64], bursts[32] = "";
    if (flow.burst > 1) snprintf(bursts, sizeof bursts, " in bursts of %u", flow.burst);
    snprintf(path, sizeof path, "%s of %u%s", p->exchange.path->name, flow.buffers, bursts);
    if (o->num_gpus)
        snprintf(path, sizeof path, "%u %s, %u buffers", o->num_gpus, p->exchange.path->name,
                 flow.buffers);
    if (!o->quiet) {
        printf("%s | %s | grid %ux%u, %u steps a frame, %s | %llu frames at %ux%u | ms a frame: "
               "simulation %.3f, drawing %s, whole %.3f%s%s\n",
               drawn_by, driver, o->grid_width, o->grid_height, o->steps, path,
               (unsigned long long)t->simulated, width, height, t->simulation / frames, drawing[0],
               t->whole / frames, p->last_picture[0] ? " | " : "", p->last_picture);
    }
    printf("RESULT {\"sample\": \"ripple\", \"device\": ");
    print_json_string(drawn_by);
    printf(", \"driver\": ");
    print_json_string(driver);
    printf(
        ", \"path\": \"%s\", \"buffers\": %u, \"burst\": %u, \"width\": %u, \"height\": %u, \"frames\": "
        "%llu, \"simulation_ms\": %.3f, "
        "\"drawing_ms\": %s, \"frame_ms\": %.3f}\n",
        p->exchange.path->name, flow.buffers, flow.burst, o->grid_width, o->grid_height,
        (unsigned long long)t->simulated, t->simulation / frames, drawing[1], t->whole / frames);
    return true;
}

int program_main(int argc, char **argv, const exchange_path *path)
{
    program *p = calloc(1, sizeof *p);
    if (!p) return EXIT_FAILURE;
    p->path = path;
    arguments_result parsed = options_parse(&p->options, argc, argv);
    if (parsed != ARGUMENTS_RUN || p->options.list) {
        int status = parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
        if (parsed == ARGUMENTS_RUN && !vulkan_setup_list()) status = EXIT_FAILURE;
        free(p);
        return status;
    }
    if (p->options.api == OPTIONS_GL) {
        bool drawn = gl_run(p);
        free(p);
        return drawn ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    bool fine = set_up(p) && offscreen_run(p) && program_dump_field(p);
    if (fine)
        fine = program_print_result(p, p->vulkan.candidate.name, p->renderer.targets.extent.width,
                                    p->renderer.targets.extent.height);
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

#ifndef RIPPLE_MPI
int main(int argc, char **argv)
{
    report_set_program("ripple");
    return program_main(argc, argv, NULL);
}
#endif
