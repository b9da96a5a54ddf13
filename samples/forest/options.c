/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"

#include <string.h>

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

arguments_result options_parse(options *o, int argc, char **argv)
{
    static const memory_mode *const modes[] = {&memory_one, &memory_copy};
    const char *const names[] = {memory_one.name, memory_copy.name, NULL};
    unsigned mode = 0;
    *o = (options){.output = "out/forest.png", .device = "auto"};
    const argument table[] = {
        {"--mode", ARGUMENT_WORD, &mode, NULL, 0, 0, names},
        {"--size", ARGUMENT_SIZE, &o->width, &o->height, 16, 8192, NULL},
        {"--particles", ARGUMENT_NUMBER, &o->particles, NULL, LEAST_PARTICLES, MOST_PARTICLES,
         NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, 1000000, NULL},
        {"--every", ARGUMENT_NUMBER, &o->every, NULL, 1, 1000000, NULL},
        {"--samples", ARGUMENT_COUNT, &o->samples, NULL, 1, 1024, NULL},
        {"--output", ARGUMENT_PNG, &o->output, NULL, 0, 0, NULL},
        {"--device", ARGUMENT_TEXT, &o->device, NULL, 0, 0, NULL},
        {"--validation", ARGUMENT_FLAG, &o->validation, NULL, 0, 0, NULL},
        {"--quiet", ARGUMENT_FLAG, &o->quiet, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    arguments_result r = arguments_parse(table, help, 1, argc, argv);
    o->mode = modes[mode];
    o->list = strcmp(o->device, "list") == 0;
    return r == ARGUMENTS_RUN && !arguments_output(o->output, &o->every) ? ARGUMENTS_BAD : r;
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
