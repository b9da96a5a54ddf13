/* SPDX-License-Identifier: MIT */
/* ripple's command line. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/report.h"

static const char help[] =
    "Usage: ripple [options]\n"
    "Simulates waves in a basin with CUDA and draws them with Vulkan or OpenGL, from the same memory, without copies.\n"
    "\n"
    "  --size WxH          grid in cells (768x512)\n"
    "  --resolution WxH    picture in pixels (1280x720)\n"
    "  --frames N          frames to run (180)\n"
    "  --steps N           steps of the solver in a frame (the shorter side of the grid / 48)\n"
    "  --api API           vulkan (default) or gl: OpenGL 4.5, by the path shared or ring\n"
    "  --path PATH         ring: several frames in memory that CUDA and Vulkan share, by Culvert's ring "
    "(default);\n"
    "                      shared: the same by hand, with buffers and two timelines;\n"
    "                      in-queue: CUDA's kernels in the drawing's command buffer, with one buffer;\n"
    "                      async: CUDA's kernels on Vulkan's compute queue, beside the drawing;\n"
    "                      replay: as in-queue, from a captured CUDA graph of each frame\n"
    "  --depth N           frames in the ring, 1 to 64 (8)\n"
    "  --burst N           frames that each side hands over together, at most the depth (4, and half the "
    "depth)\n"
    "  --max-latency MS    let the ring choose both, so that a frame is drawn so long after it was begun\n"
    "  --buffers N         of the other paths, 1 or 2 (2; in-queue and replay have 1)\n"
    "  --device WHICH      auto: NVIDIA's GPU, else the software twin (default); nvidia; soft; list: show "
    "them;\n"
    "                      a number of that list; or part of a name\n"
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
    "  --every N           a picture of every Nth frame and of the last, numbered\n"
    "The line RESULT {...} on stdout is for programs.\n";

static arguments_result parse(options *o, int argc, char **argv)
{
    static const char *const apis[] = {"vulkan", "gl", NULL};
    static const char *const paths[] = {"ring", "shared", "in-queue", "async", "replay", NULL};
    const uint64_t many = 1000000000;
    const argument table[] = {
        {"--size", ARGUMENT_SIZE, &o->grid_width, &o->grid_height, 16, 16384, NULL},
        {"--resolution", ARGUMENT_SIZE, &o->picture_width, &o->picture_height, 16, 8192, NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, many, NULL},
        {"--every", ARGUMENT_NUMBER, &o->every, NULL, 1, many, NULL},
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
        {"--device", ARGUMENT_TEXT, &o->device, NULL, 0, 0, NULL},
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
    if (o->path != OPTIONS_NO_PATH || o->api != OPTIONS_VULKAN) {
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

/* What OpenGL has not. */
static bool check_api(options *o)
{
    o->list = strcmp(o->device, "list") == 0;
    if (o->path == OPTIONS_NO_PATH)
        o->path = o->api == OPTIONS_VULKAN ? OPTIONS_RING : OPTIONS_SHARED;
    if (o->api == OPTIONS_VULKAN) return true;
    const bool driver = strcmp(o->device, "auto") == 0 || strcmp(o->device, "nvidia") == 0 ||
                        strcmp(o->device, "soft") == 0;
    const char *wrong = o->path > OPTIONS_SHARED ? "--path: with --api=gl it is ring or shared"
                        : !driver ? "--device: with --api=gl it is auto, nvidia or soft"
                                  : NULL;
    if (wrong) report("%s", wrong);
    return !wrong;
}

/* What the path has, and what is left to it. */
static bool check_flow(options *o)
{
    bool ring = o->path == OPTIONS_RING;
    bool single = o->path == OPTIONS_IN_QUEUE || o->path == OPTIONS_REPLAY;
    const char *wrong =
        ring && o->buffers != 0
            ? "--buffers: only with --path=shared or async, or --solver-gpus; the ring has a --depth"
        : single && o->buffers > 1 ? "--buffers: with --path=in-queue or replay there is one"
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
    if (!check_gpus(o) || !check_api(o) || !check_flow(o)) return false;
    if (!arguments_output(o->output, &o->every)) return false;
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
                   .path = OPTIONS_NO_PATH,
                   .frames = 180,
                   .seed = 1,
                   .output = "out/ripple.png",
                   .device = "auto"};
    arguments_result r = parse(o, argc, argv);
    return r == ARGUMENTS_RUN && !check(o) ? ARGUMENTS_BAD : r;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return arguments_wants_picture(frame, o->frames, o->every);
}

bool options_picture_path(const options *o, uint64_t frame, char *out)
{
    return files_numbered_picture(out, o->output, o->every != 0, frame);
}
