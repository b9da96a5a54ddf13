/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../common/arguments.h"
#include "../common/files.h"
#include "../common/report.h"

enum { LEAST_PARTICLES = 30000, MOST_PARTICLES = 1 << 26 };

_Static_assert(LEAST_PARTICLES > FOREST_TREES * FOREST_WOOD, "leaves too");

static const char help[] =
    "Usage: forest [options]\n"
    "CUDA builds a hierarchy of leaves and wood with raw pointers each frame, and a ray-caster in Vulkan walks "
    "it\n"
    "by these very pointers: both have one address.\n"
    "\n"
    "  --mode WHICH     one: memory with one address (default); copy: memory with two, for which the tree is\n"
    "                   copied and its pointers are patched each frame\n"
    "  --particles N    leaves and wood, from 30000 on (2 Mi; on the software twin 150000)\n"
    "  --frames N       frames to run (120; on the software twin 2)\n"
    "  --samples N      rays for a pixel, each with one to the sun (16; on the software twin 2)\n"
    "  --size WxH       picture in pixels (1920x1080; on the software twin 320x180)\n"
    "  --output PATH    PNG of the last frame (out/forest.png); with %d or %04d in it, a picture of every "
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

static bool parse_mode(options *o, const char *value)
{
    o->mode = strcmp(value, memory_one.name) == 0    ? &memory_one
              : strcmp(value, memory_copy.name) == 0 ? &memory_copy
                                                     : NULL;
    if (!o->mode) report("--mode %s: expected one or copy", value);
    return o->mode != NULL;
}

static bool parse_value(options *o, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "--mode") == 0) return parse_mode(o, value);
    if (strcmp(name, "--size") == 0)
        return argument_size(name, value, 16, 8192, &o->width, &o->height);
    if (strcmp(name, "--particles") == 0)
        return argument_number(name, value, LEAST_PARTICLES, MOST_PARTICLES, &o->particles);
    if (strcmp(name, "--frames") == 0) return argument_number(name, value, 1, 1000000, &o->frames);
    if (strcmp(name, "--every") == 0) return argument_number(name, value, 1, 1000000, &o->every);
    if (strcmp(name, "--samples") == 0) {
        if (!argument_number(name, value, 1, 1024, &number)) return false;
        o->samples = (uint32_t)number;
    } else if (strcmp(name, "--output") == 0) {
        o->output = value;
    } else {
        o->device = value;
        o->list = strcmp(value, "list") == 0;
    }
    if (*value == '\0') report("%s: expected something", name);
    return *value != '\0';
}

static const char *const valued[] = {"--mode",    "--size",   "--particles", "--frames", "--every",
                                     "--samples", "--output", "--device",    NULL};

/* One argument, or two: *i is the last one's index. */
static bool parse_argument(options *o, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    bool *flag = strcmp(argument, "--validation") == 0 ? &o->validation
                 : strcmp(argument, "--quiet") == 0    ? &o->quiet
                                                       : NULL;
    if (flag) return *flag = true;
    const char *value = NULL, *name = argument_valued(valued, argc, argv, i, &value);
    return name && parse_value(o, name, value);
}

options_result options_parse(options *o, int argc, char **argv)
{
    char path[FILES_PATH_MAX];
    *o = (options){.mode = &memory_one, .output = "out/forest.png", .device = "auto"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (!parse_argument(o, argc, argv, &i)) return OPTIONS_BAD;
    }
    if (!files_numbered(path, o->output, o->frames)) {
        report("--output %s: after %% only d, or a width and d, as in forest-%%04d.png", o->output);
        return OPTIONS_BAD;
    }
    if (strchr(o->output, '%') && o->every == 0) o->every = 1;
    return argument_png("--output", o->output) ? OPTIONS_RUN : OPTIONS_BAD;
}

void options_settle(options *o, bool software)
{
    if (o->particles == 0) o->particles = software ? 150000 : UINT64_C(2) << 20;
    if (o->frames == 0) o->frames = software ? 2 : 120;
    if (o->samples == 0) o->samples = software ? 2 : 16;
    if (o->width != 0) return;
    o->width = software ? 320 : 1920;
    o->height = software ? 180 : 1080;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return frame + 1 == o->frames || (o->every != 0 && frame % o->every == 0);
}
