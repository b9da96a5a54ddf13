/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"

#include "../common/report.h"

static const char help[] =
    "Usage: particles [options]\n"
    "Lets two galaxies collide with CUDA, and draws them with OpenGL from the same memory.\n"
    "\n"
    "  --way WAY        memory: one memory and semaphores of CUDA and OpenGL;\n"
    "                   register: OpenGL's buffer, registered with CUDA and mapped in every frame;\n"
    "                   staged: copies through pinned host memory, for comparison;\n"
    "                   auto: the first of them that works (default)\n"
    "  --particles N    stars (512 Ki; on the software twin 24000)\n"
    "  --heavy N        of them that attract all others (8192; on the software twin 128)\n"
    "  --frames N       frames to run (108; in a window until it is closed)\n"
    "  --steps N        steps of the solver in a frame (4)\n"
    "  --size WxH       picture or window in pixels (1920x1080; on the software twin 1280x720)\n"
    "  --device WHICH   auto: NVIDIA's GPU, else the software twin (default); nvidia; soft\n"
    "  --seed N         other stars (1)\n"
    "  --debug          an OpenGL debug context; fail if it says anything\n"
    "  --quiet          nothing but RESULT and errors\n"
    "  --help           this text\n"
    "Without a window, by EGL:\n"
    "  --output PATH    PNG of the last frame (out/particles.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "  --every N        a picture of every Nth frame and of the last, numbered\n"
    "In a window, by SDL2:\n"
    "  --window         drag: orbit; wheel: zoom; space: pause; Escape: end\n"
    "  --hold           stay open after --frames\n"
    "  --screenshot F   write what was shown last as a PNG\n"
    "The line RESULT {...} on stdout is for programs.\n";

static arguments_result parse(options *o, int argc, char **argv)
{
    static const char *const ways[] = {"auto", "memory", "register", "staged", NULL};
    static const char *const drivers[] = {"auto", "nvidia", "soft", NULL};
    unsigned driver = 0;
    const argument table[] = {
        {"--way", ARGUMENT_WORD, &o->way, NULL, 0, 0, ways},
        {"--device", ARGUMENT_WORD, &driver, NULL, 0, 0, drivers},
        {"--size", ARGUMENT_SIZE, &o->width, &o->height, 16, 8192, NULL},
        {"--particles", ARGUMENT_COUNT, &o->particles, NULL, 1, UINT32_C(1) << 26, NULL},
        {"--heavy", ARGUMENT_COUNT, &o->heavy, NULL, 1, 1 << 20, NULL},
        {"--steps", ARGUMENT_COUNT, &o->steps, NULL, 1, 1000, NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, 1000000, NULL},
        {"--every", ARGUMENT_NUMBER, &o->every, NULL, 1, 1000000, NULL},
        {"--seed", ARGUMENT_NUMBER, &o->seed, NULL, 0, UINT64_MAX, NULL},
        {"--output", ARGUMENT_PNG, &o->output, NULL, 0, 0, NULL},
        {"--screenshot", ARGUMENT_PNG, &o->screenshot, NULL, 0, 0, NULL},
        {"--window", ARGUMENT_FLAG, &o->window, NULL, 0, 0, NULL},
        {"--hold", ARGUMENT_FLAG, &o->hold, NULL, 0, 0, NULL},
        {"--debug", ARGUMENT_FLAG, &o->debug, NULL, 0, 0, NULL},
        {"--quiet", ARGUMENT_FLAG, &o->quiet, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    arguments_result r = arguments_parse(table, help, 1, argc, argv);
    o->device = drivers[driver];
    return r;
}

static bool check_window(options *o)
{
    const char *wrong = NULL;
    if (o->window && (o->output || o->every != 0)) {
        wrong = o->output ? "--output" : "--every";
        report("%s: not with --window; --screenshot writes what it shows", wrong);
    } else if (!o->window && (o->hold || o->screenshot)) {
        wrong = o->hold ? "--hold" : "--screenshot";
        report("%s: only with --window", wrong);
    }
    return !wrong;
}

arguments_result options_parse(options *o, int argc, char **argv)
{
    *o = (options){.steps = 4, .seed = 1};
    arguments_result r = parse(o, argc, argv);
    if (r != ARGUMENTS_RUN) return r;
    if (!check_window(o)) return ARGUMENTS_BAD;
    if (o->window) return ARGUMENTS_RUN;
    if (!o->output) o->output = "out/particles.png";
    if (o->frames == 0) o->frames = 108;
    return arguments_output(o->output, &o->every) ? ARGUMENTS_RUN : ARGUMENTS_BAD;
}

void options_settle(options *o, bool software)
{
    if (o->particles == 0) o->particles = software ? 24000 : 1 << 19;
    if (o->heavy == 0) o->heavy = software ? 128 : 8192;
    if (o->width != 0) return;
    o->width = software ? 1280 : 1920;
    o->height = software ? 720 : 1080;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return !o->window && arguments_wants_picture(frame, o->frames, o->every);
}
