/* SPDX-License-Identifier: MIT */
/* ripple's command line. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../common/arguments.h"
#include "../common/files.h"
#include "../common/report.h"

#define DEFAULT_OUTPUT "out/ripple.png"
#define DEFAULT_FRAMES 180u

static const char help[] =
    "Usage: ripple [options]\n"
    "Simulates waves in a basin with CUDA and draws them with Vulkan or OpenGL, from the same memory, without copies.\n"
    "\n"
    "  --size WxH          grid in cells (768x512)\n"
    "  --resolution WxH    picture or window in pixels (1280x720)\n"
    "  --frames N          frames to run (180; in a window until it is closed)\n"
    "  --steps N           steps of the solver in a frame (the shorter side of the grid / 48)\n"
    "  --api API           vulkan (default) or gl: OpenGL 4.5, by the path shared or ring, and without "
    "a window\n"
    "  --path PATH         ring: several frames in memory that CUDA and Vulkan share, by Culvert's ring "
    "(default);\n"
    "                      shared: the same by hand, with buffers and two timelines;\n"
    "                      in-queue: CUDA's kernels in the drawing's command buffer, with one buffer;\n"
    "                      async: CUDA's kernels on Vulkan's compute queue, beside the drawing;\n"
    "                      replay: as in-queue, from a captured CUDA graph of each frame\n"
    "  --depth N           frames in the ring, 1 to 64 (8; in a window 3)\n"
    "  --burst N           frames that each side hands over together, at most the depth (4, and half the "
    "depth)\n"
    "  --max-latency MS    let the ring choose both, so that a frame is drawn so long after it was begun\n"
    "  --buffers N         of the other paths, 1 or 2 (2; in-queue and replay have 1)\n"
    "  --device WHICH      auto: NVIDIA's GPU, else the software twin (default); nvidia; soft; list: show "
    "them;\n"
    "                      a number of that list; or part of a name\n"
    "  --seed N            another arrangement of stones and drops (1)\n"
    "  --validation        run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --dump-field FILE   write the last heights as raw floats, to compare runs\n"
    "  --quiet             no progress and no closing line but RESULT\n"
    "  --help              this text\n"
    "Without a window:\n"
    "  --output PATH       PNG of the last frame (out/ripple.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "  --every N           a picture of every Nth frame and of the last, numbered\n"
    "In a window:\n"
    "  --window            drag: orbit; wheel: zoom; space: pause; Escape: end\n"
    "  --hold              stay open after --frames\n"
    "  --screenshot FILE   write what was shown last as a PNG\n"
    "The line RESULT {...} on stdout is for programs.\n";

static bool parse_value(options *o, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "--size") == 0)
        return argument_size(name, value, 16, 16384, &o->grid_width, &o->grid_height);
    if (strcmp(name, "--resolution") == 0)
        return argument_size(name, value, 16, 8192, &o->picture_width, &o->picture_height);
    if (strcmp(name, "--frames") == 0)
        return argument_number(name, value, 1, 1000000000, &o->frames);
    if (strcmp(name, "--every") == 0) return argument_number(name, value, 1, 1000000000, &o->every);
    if (strcmp(name, "--seed") == 0) return argument_number(name, value, 0, UINT64_MAX, &o->seed);
    if (strcmp(name, "--path") == 0) {
        static const char *const paths[] = {[OPTIONS_RING] = "ring",
                                            [OPTIONS_SHARED] = "shared",
                                            [OPTIONS_IN_QUEUE] = "in-queue",
                                            [OPTIONS_ASYNC] = "async",
                                            [OPTIONS_REPLAY] = "replay"};
        for (int i = OPTIONS_RING; i <= OPTIONS_REPLAY; i++) {
            if (strcmp(value, paths[i]) != 0) continue;
            o->path = (options_path)i;
            return o->path_chosen = true;
        }
        report("--path %s: expected ring, shared, in-queue, async or replay", value);
        return false;
    }
    if (strcmp(name, "--api") == 0) {
        o->api = strcmp(value, "gl") == 0 ? OPTIONS_GL : OPTIONS_VULKAN;
        if (o->api == OPTIONS_GL || strcmp(value, "vulkan") == 0) return true;
        report("--api %s: expected vulkan or gl", value);
        return false;
    }
    if (strcmp(name, "--steps") == 0) {
        if (!argument_number(name, value, 1, 100000, &number)) return false;
        o->steps = (uint32_t)number;
    } else if (strcmp(name, "--buffers") == 0) {
        if (!argument_number(name, value, 1, 2, &number)) return false;
        o->buffers = (uint32_t)number;
    } else if (strcmp(name, "--depth") == 0) {
        if (!argument_number(name, value, 1, 64, &number)) return false;
        o->depth = (uint32_t)number;
    } else if (strcmp(name, "--burst") == 0) {
        if (!argument_number(name, value, 1, 64, &number)) return false;
        o->burst = (uint32_t)number;
    } else if (strcmp(name, "--max-latency") == 0) {
        return argument_number(name, value, 1, 60000, &o->max_latency_ms);
    } else if (strcmp(name, "--output") == 0) {
        o->output = value;
    } else if (strcmp(name, "--dump-field") == 0) {
        o->dump_field = value;
    } else if (strcmp(name, "--screenshot") == 0) {
        o->screenshot = value;
    } else {
        o->device = value;
        o->list = strcmp(value, "list") == 0;
    }
    if (*value == '\0') report("%s: expected something", name);
    return *value != '\0';
}

static const char *const valued[] = {
    "--size",   "--resolution", "--frames",      "--steps",      "--output", "--every",
    "--device", "--buffers",    "--seed",        "--dump-field", "--path",   "--screenshot",
    "--depth",  "--burst",      "--max-latency", "--api",        NULL};

static bool *flag(options *o, const char *argument)
{
    const struct {
        const char *name;
        bool *value;
    } flags[] = {{"--validation", &o->validation},
                 {"--quiet", &o->quiet},
                 {"--window", &o->window},
                 {"--hold", &o->hold}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (strcmp(argument, flags[i].name) == 0) return flags[i].value;
    }
    return NULL;
}

static bool check_window(const options *o)
{
    if (o->window && (o->output || o->every != 0)) {
        report("%s: not with --window; --screenshot writes what it shows",
               o->output ? "--output" : "--every");
        return false;
    }
    if (!o->window && (o->hold || o->screenshot)) {
        report("%s: only with --window", o->hold ? "--hold" : "--screenshot");
        return false;
    }
    return !o->screenshot || argument_png("--screenshot", o->screenshot);
}

/* What OpenGL has not. */
static bool check_api(options *o)
{
    if (o->api == OPTIONS_VULKAN) return true;
    if (!o->path_chosen) o->path = OPTIONS_SHARED;
    const bool driver = strcmp(o->device, "auto") == 0 || strcmp(o->device, "nvidia") == 0 ||
                        strcmp(o->device, "soft") == 0;
    const char *wrong = o->path > OPTIONS_SHARED ? "--path: with --api=gl it is ring or shared"
                        : !driver   ? "--device: with --api=gl it is auto, nvidia or soft"
                        : o->window ? "--window: not with --api=gl, which writes pictures alone"
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
            ? "--buffers: only with --path=shared or async; the ring has a --depth"
        : single && o->buffers > 1 ? "--buffers: with --path=in-queue or replay there is one"
        : !ring && o->depth != 0   ? "--depth: only with --path=ring; the others have --buffers"
        : !ring && o->burst != 0   ? "--burst: only with --path=ring"
        : !ring && o->max_latency_ms != 0 ? "--max-latency: only with --path=ring"
        : o->window && o->burst > 1
            ? "--burst: not with --window, which shows each frame as it comes"
        : o->window && o->max_latency_ms != 0
            ? "--max-latency: not with --window, which shows each frame as it comes"
            : NULL;
    if (wrong) {
        report("%s", wrong);
        return false;
    }
    if (!ring) o->depth = o->buffers != 0 ? o->buffers : single ? 1 : 2;
    if (o->depth == 0) o->depth = o->window ? 3 : 8;
    if (o->burst == 0)
        o->burst = !ring || o->window || o->depth < 2 ? 1 : o->depth / 2 < 4 ? o->depth / 2 : 4;
    if (o->burst <= o->depth) return true;
    report("--burst %u: a ring of %u frames has no more to hand over together", o->burst, o->depth);
    return false;
}

static bool check(options *o)
{
    if (!check_window(o) || !check_api(o) || !check_flow(o)) return false;
    if (!o->window) {
        char path[FILES_PATH_MAX];
        if (!o->output) o->output = DEFAULT_OUTPUT;
        if (o->frames == 0) o->frames = DEFAULT_FRAMES;
        if (!files_numbered(path, o->output, o->frames)) {
            report("--output %s: after %% only d, or a width and d, as in ripple-%%04d.png",
                   o->output);
            return false;
        }
        if (!argument_png("--output", o->output)) return false;
        if (strchr(o->output, '%') && o->every == 0) o->every = 1;
    }
    if (o->steps == 0) {
        uint32_t shorter = o->grid_width < o->grid_height ? o->grid_width : o->grid_height;
        o->steps = shorter < 48 ? 1 : (shorter + 24) / 48;
    }
    return true;
}

/* One argument, or two: *i is the last one's index. */
static bool parse_argument(options *o, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    bool *set = flag(o, argument);
    if (set) {
        *set = true;
        return true;
    }
    const char *value = NULL, *name = argument_valued(valued, argc, argv, i, &value);
    return name && parse_value(o, name, value);
}

options_result options_parse(options *o, int argc, char **argv)
{
    *o = (options){.grid_width = 768,
                   .grid_height = 512,
                   .picture_width = 1280,
                   .picture_height = 720,
                   .seed = 1,
                   .device = "auto"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (!parse_argument(o, argc, argv, &i)) return OPTIONS_BAD;
    }
    return check(o) ? OPTIONS_RUN : OPTIONS_BAD;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return frame + 1 == o->frames || (o->every != 0 && frame % o->every == 0);
}

bool options_picture_path(const options *o, uint64_t frame, char *out)
{
    return files_numbered_picture(out, o->output, o->every != 0, frame);
}
