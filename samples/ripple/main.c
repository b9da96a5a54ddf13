/* SPDX-License-Identifier: MIT */
/* ripple: a wave solver in CUDA and a renderer in Vulkan that share one memory and wait for each
 * other on the GPU. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_up(program *p)
{
    const options *o = &p->options;
    VkExtent2D grid = {o->grid_width, o->grid_height},
               extent = {o->picture_width, o->picture_height};
    vulkan_wishes wishes = {.name = "ripple",
                            .validation = o->validation,
                            .kernels = o->path >= OPTIONS_IN_QUEUE && o->path <= OPTIONS_ASYNC};
    if (!files_make_parents(o->output) || !vulkan_setup_create(&p->vulkan, o->driver, &wishes))
        return false;
    if (!o->quiet)
        fprintf(stderr, "ripple: %s by %s\n", p->vulkan.candidate.name,
                interop_driver_title(p->vulkan.candidate.driver));
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    static const exchange_path *const paths[] = {[OPTIONS_RING] = &path_ring,
                                                 [OPTIONS_SHARED] = &path_shared,
                                                 [OPTIONS_IN_QUEUE] = &path_in_queue,
                                                 [OPTIONS_ASYNC] = &path_async,
                                                 [OPTIONS_BANDS] = &path_bands};
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

/* ripple by Vulkan: frames to PNG files. */

static bool write_picture(program *p, uint64_t frame, const uint8_t *pixels)
{
    const options *o = &p->options;
    return files_numbered(p->last_picture, o->output, frame) &&
           files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->picture_width, o->picture_height, pixels);
}

/* Frees the slot that `frame` will use, and counts what the frame before it left there. */
static bool reclaim(program *p, uint64_t frame)
{
    totals *t = &p->totals;
    renderer_result done;
    float simulation = 0.0f;
    if (!renderer_reclaim(&p->renderer, frame, &done)) return false;
    if (!done.used) return true;
    if (!solver_frame_time(p->solver, done.frame, &simulation)) return false;
    t->timed++;
    t->simulation += (double)simulation;
    t->drawing =
        done.milliseconds < 0.0 || t->drawing < 0.0 ? -1.0 : t->drawing + done.milliseconds;
    return !done.pixels || write_picture(p, done.frame, done.pixels);
}

/* The solver's burst of frames, then the renderer's; without a ring a burst is one frame. Returns
 * how many; 0: failed. */
static uint64_t run_burst(program *p, uint64_t first)
{
    uint64_t left = p->options.frames - first, count = 0;
    do {
        if (!reclaim(p, first + count) || !solver_frame(p->solver, first + count)) return 0;
        count++;
    } while (p->exchange.burst_open && count < left && count < p->renderer.frames_in_flight);
    if (!solver_end_burst(p->solver)) return 0;
    for (uint64_t i = 0; i < count; i++) {
        const options *o = &p->options;
        bool picture = arguments_wants_picture(first + i, o->frames, o->output);
        if (!renderer_frame(&p->renderer, first + i, picture)) return 0;
    }
    return count;
}

static bool offscreen_run(program *p)
{
    const options *o = &p->options;
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames;) {
        uint64_t count = run_burst(p, frame);
        fine = count > 0;
        frame += count;
        p->totals.simulated = frame;
        if (!o->quiet) progress_tell(frame - count, frame, o->frames);
    }
    for (uint64_t frame = o->frames; fine && frame < o->frames + p->renderer.frames_in_flight;
         frame++) {
        fine = reclaim(p, frame);
    }
    p->totals.whole = 1e3 * (clock_seconds() - started);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) exchange_unblock(&p->exchange, o->frames);
    return fine && solver_finish(p->solver);
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
    if (parsed != ARGUMENTS_RUN) {
        free(p);
        return parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
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

/* ripple's command line. */

static const char help[] =
    "Usage: ripple [options]\n"
    "Simulates waves in a basin with CUDA and draws them with Vulkan or OpenGL, from the same memory, without copies.\n"
    "\n"
    "  --size WxH          grid in cells (768x512)\n"
    "  --resolution WxH    picture in pixels (1280x720)\n"
    "  --frames N          frames to run (180)\n"
    "  --steps N           steps of the solver in a frame (the shorter side of the grid / 48)\n"
    "  --api API           vulkan (default) or gl: OpenGL 4.5, by the path ring\n"
    "  --path PATH         ring: several frames in memory that CUDA and Vulkan share, by Culvert's ring "
    "(default);\n"
    "                      shared: the same by hand, with buffers and two timelines;\n"
    "                      in-queue: CUDA's kernels in the drawing's command buffer, with one buffer;\n"
    "                      async: CUDA's kernels on Vulkan's compute queue, beside the drawing\n"
    "  --depth N           frames in the ring, 1 to 64 (8)\n"
    "  --burst N           frames that each side hands over together, at most the depth (4, and half the "
    "depth)\n"
    "  --max-latency MS    let the ring choose both, so that a frame is drawn so long after it was begun\n"
    "  --buffers N         of the other paths, 1 or 2 (2; in-queue has 1)\n"
    "  --device WHICH      auto: NVIDIA's GPU, else the software twin (default); nvidia; soft\n"
    "  --solver-gpus N,... CUDA's numbers of the GPUs that solve, each a band of rows, while --device draws;\n"
    "                      on the twin CULVERT_SOFT_DEVICES says how many GPUs there are\n"
    "  --seed N            another arrangement of stones and drops (1)\n"
    "  --validation        run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --dump-field FILE   write the last heights as raw floats, to compare runs\n"
    "  --quiet             no progress and no closing line but RESULT\n"
    "  --help              this text\n"
    "  --output PATH       PNG of the last frame (out/ripple.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "The line RESULT {...} on stdout is for programs.\n";

static arguments_result parse(options *o, int argc, char **argv)
{
    static const char *const apis[] = {"vulkan", "gl", NULL};
    static const char *const paths[] = {"ring", "shared", "in-queue", "async", NULL};
    const uint64_t many = 1000000000;
    const argument table[] = {
        {"--size", ARGUMENT_SIZE, &o->grid_width, &o->grid_height, 16, 16384, NULL},
        {"--resolution", ARGUMENT_SIZE, &o->picture_width, &o->picture_height, 16, 8192, NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, many, NULL},
        {"--seed", ARGUMENT_NUMBER, &o->seed, NULL, 0, UINT64_MAX, NULL},
        {"--steps", ARGUMENT_COUNT, &o->steps, NULL, 1, 100000, NULL},
        {"--api", ARGUMENT_WORD, &o->api, NULL, 0, 0, apis},
        {"--path", ARGUMENT_WORD, &o->path, NULL, 0, 0, paths},
        {"--buffers", ARGUMENT_COUNT, &o->buffers, NULL, 1, 2, NULL},
        {"--depth", ARGUMENT_COUNT, &o->depth, NULL, 1, 64, NULL},
        {"--burst", ARGUMENT_COUNT, &o->burst, NULL, 1, 64, NULL},
        {"--max-latency", ARGUMENT_NUMBER, &o->max_latency_ms, NULL, 1, 60000, NULL},
        {"--output", ARGUMENT_PNG, &o->output, NULL, 0, 0, NULL},
        {"--dump-field", ARGUMENT_TEXT, &o->dump_field, NULL, 0, 0, NULL},
        {"--device", ARGUMENT_WORD, &o->driver, NULL, 0, 0, interop_drivers},
        {"--solver-gpus", ARGUMENT_TEXT, &o->solver_gpus, NULL, 0, 0, NULL},
        {"--validation", ARGUMENT_FLAG, &o->validation, NULL, 0, 0, NULL},
        {"--quiet", ARGUMENT_FLAG, &o->quiet, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    return arguments_parse(table, help, 1, argc, argv);
}

/* "1,2,3": numbers of CUDA's, each once. */
static bool check_gpus(options *o)
{
    const char *text = o->solver_gpus;
    if (!text) return true;
    if (o->path != OPTIONS_RING || o->api != OPTIONS_VULKAN) {
        report("--solver-gpus: not with --path or --api=gl; it has a path of its own");
        return false;
    }
    do {
        char *end = NULL;
        const unsigned long gpu = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        bool right = end && gpu < 1024 && (*end == ',' || *end == '\0');
        for (uint32_t i = 0; i < o->num_gpus; i++)
            right = right && o->gpus[i] != (int)gpu;
        if (!right || o->num_gpus == OPTIONS_MAX_GPUS) {
            report("--solver-gpus %s: not up to %u different numbers of GPUs, as in 1,2,3",
                   o->solver_gpus, OPTIONS_MAX_GPUS);
            return false;
        }
        o->gpus[o->num_gpus++] = (int)gpu;
        text = *end == ',' ? end + 1 : NULL;
    } while (text);
    o->path = OPTIONS_BANDS;
    return true;
}

/* What the path has, and what is left to it. */
static bool check_flow(options *o)
{
    bool ring = o->path == OPTIONS_RING;
    bool single = o->path == OPTIONS_IN_QUEUE;
    const char *wrong =
        !ring && o->api == OPTIONS_GL ? "--path: with --api=gl it is ring"
        : ring && o->buffers != 0
            ? "--buffers: only with --path=shared or async, or --solver-gpus; the ring has a --depth"
        : single && o->buffers > 1 ? "--buffers: with --path=in-queue there is one"
        : !ring && o->depth != 0   ? "--depth: only with --path=ring; the others have --buffers"
        : !ring && o->burst != 0   ? "--burst: only with --path=ring"
        : !ring && o->max_latency_ms != 0 ? "--max-latency: only with --path=ring"
                                          : NULL;
    if (wrong) {
        report("%s", wrong);
        return false;
    }
    if (!ring) o->depth = o->buffers != 0 ? o->buffers : single ? 1 : 2;
    if (o->depth == 0) o->depth = 8;
    if (o->burst == 0) o->burst = !ring || o->depth < 2 ? 1 : o->depth / 2 < 4 ? o->depth / 2 : 4;
    if (o->burst <= o->depth) return true;
    report("--burst %u: a ring of %u frames has no more to hand over together", o->burst, o->depth);
    return false;
}

static bool check(options *o)
{
    if (!check_gpus(o) || !check_flow(o)) return false;
    if (!arguments_output(o->output)) return false;
    if (o->steps == 0) {
        uint32_t shorter = o->grid_width < o->grid_height ? o->grid_width : o->grid_height;
        o->steps = shorter < 48 ? 1 : (shorter + 24) / 48;
    }
    return true;
}

arguments_result options_parse(options *o, int argc, char **argv)
{
    *o = (options){.grid_width = 768,
                   .grid_height = 512,
                   .picture_width = 1280,
                   .picture_height = 720,
                   .frames = 180,
                   .seed = 1,
                   .output = "out/ripple.png"};
    arguments_result r = parse(o, argc, argv);
    return r == ARGUMENTS_RUN && !check(o) ? ARGUMENTS_BAD : r;
}
