/* SPDX-License-Identifier: MIT */
/* swarm's command line. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../common/arguments.h"
#include "../common/files.h"
#include "../common/report.h"

#define MOST_PARTICLES (UINT64_C(1) << 30) /* 32 GiB */

static const char help[] =
    "Usage: swarm [options]\n"
    "Moves particles with CUDA and draws them with Vulkan from the same memory, which grows while both "
    "work.\n"
    "\n"
    "  --particles N    in the first frame (1 Mi; on the software twin 20000)\n"
    "  --grow-to N      in the last frame (64 Mi, which are 2 GiB; on the software twin 200000)\n"
    "  --frames N       frames to run (240)\n"
    "  --steps N        steps of the solver in a frame (8)\n"
    "  --path PATH      shared: CUDA's kernels on a stream (default); in-queue: in the drawing's command "
    "buffer;\n"
    "                   async: on Vulkan's compute queue\n"
    "  --sparse         one sparse buffer in Vulkan; without it a buffer a chunk, which any device has\n"
    "  --size WxH       picture in pixels (1920x1080; on the software twin 960x540)\n"
    "  --output PATH    PNG of the last frame (out/swarm.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "  --every N        a picture of every Nth frame and of the last, numbered\n"
    "  --device WHICH   auto: NVIDIA's GPU, else the software twin (default); nvidia; soft; list: show them; "
    "a\n"
    "                   number of that list; or part of a name\n"
    "  --validation     run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --quiet          nothing but RESULT and errors\n"
    "  --help           this text\n"
    "The line RESULT {...} on stdout is for programs.\n";

static bool parse_value(options *o, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "--size") == 0)
        return argument_size(name, value, 16, 8192, &o->width, &o->height);
    if (strcmp(name, "--particles") == 0)
        return argument_number(name, value, 1, MOST_PARTICLES, &o->particles);
    if (strcmp(name, "--grow-to") == 0)
        return argument_number(name, value, 1, MOST_PARTICLES, &o->grow_to);
    if (strcmp(name, "--frames") == 0) return argument_number(name, value, 1, 1000000, &o->frames);
    if (strcmp(name, "--every") == 0) return argument_number(name, value, 1, 1000000, &o->every);
    if (strcmp(name, "--steps") == 0) {
        if (!argument_number(name, value, 1, 1000, &number)) return false;
        o->steps = (uint32_t)number;
    } else if (strcmp(name, "--path") == 0) {
        static const char *const paths[] = {"shared", "in-queue", "async"};
        for (int i = 0; i < 3; i++) {
            if (strcmp(value, paths[i]) != 0) continue;
            o->path = (options_path)i;
            return true;
        }
        report("--path %s: expected shared, in-queue or async", value);
        return false;
    } else if (strcmp(name, "--output") == 0) {
        o->output = value;
    } else {
        o->device = value;
        o->list = strcmp(value, "list") == 0;
    }
    if (*value == '\0') report("%s: expected something", name);
    return *value != '\0';
}

static const char *const valued[] = {"--size",  "--particles", "--grow-to", "--frames", "--every",
                                     "--steps", "--output",    "--device",  "--path",   NULL};

/* One argument, or two: *i is the last one's index. */
static bool parse_argument(options *o, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    bool *flag = strcmp(argument, "--sparse") == 0       ? &o->sparse
                 : strcmp(argument, "--validation") == 0 ? &o->validation
                 : strcmp(argument, "--quiet") == 0      ? &o->quiet
                                                         : NULL;
    if (flag) return *flag = true;
    const char *value = NULL, *name = argument_valued(valued, argc, argv, i, &value);
    return name && parse_value(o, name, value);
}

options_result options_parse(options *o, int argc, char **argv)
{
    char path[FILES_PATH_MAX];
    *o = (options){.frames = 240, .steps = 8, .output = "out/swarm.png", .device = "auto"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (!parse_argument(o, argc, argv, &i)) return OPTIONS_BAD;
    }
    if (!files_numbered(path, o->output, o->frames)) {
        report("--output %s: after %% only d, or a width and d, as in swarm-%%04d.png", o->output);
        return OPTIONS_BAD;
    }
    if (strchr(o->output, '%') && o->every == 0) o->every = 1;
    if (o->particles != 0 && o->grow_to != 0 && o->grow_to < o->particles) {
        report("--grow-to %llu: they are %llu to begin with", (unsigned long long)o->grow_to,
               (unsigned long long)o->particles);
        return OPTIONS_BAD;
    }
    return argument_png("--output", o->output) ? OPTIONS_RUN : OPTIONS_BAD;
}

void options_settle(options *o, bool software)
{
    uint64_t particles = software ? 20000 : UINT64_C(1) << 20,
             grow_to = software ? 200000 : UINT64_C(1) << 26;
    if (o->particles == 0)
        o->particles = o->grow_to != 0 && o->grow_to < particles ? o->grow_to : particles;
    if (o->grow_to == 0) o->grow_to = o->particles > grow_to ? o->particles : grow_to;
    if (o->width != 0) return;
    o->width = software ? 960 : 1920;
    o->height = software ? 540 : 1080;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return frame + 1 == o->frames || (o->every != 0 && frame % o->every == 0);
}

uint64_t options_particles(const options *o, uint64_t frame)
{
    uint64_t last = o->frames - 1;
    return last == 0 ? o->grow_to : o->particles + (o->grow_to - o->particles) * frame / last;
}
