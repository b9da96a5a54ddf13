/* SPDX-License-Identifier: MIT */
/* See options.h. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "../common/arguments.h"
#include "../common/files.h"
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

static bool parse_way(options *o, const char *value)
{
    static const char *const ways[] = {[OPTIONS_AUTO] = "auto",
                                       [OPTIONS_MEMORY] = "memory",
                                       [OPTIONS_REGISTER] = "register",
                                       [OPTIONS_STAGED] = "staged"};
    for (int i = OPTIONS_AUTO; i <= OPTIONS_STAGED; i++) {
        if (strcmp(value, ways[i]) != 0) continue;
        o->way = (options_way)i;
        return true;
    }
    report("--way %s: expected auto, memory, register or staged", value);
    return false;
}

static bool parse_device(options *o, const char *value)
{
    o->device = value;
    if (strcmp(value, "auto") == 0 || strcmp(value, "nvidia") == 0 || strcmp(value, "soft") == 0)
        return true;
    report("--device %s: expected auto, nvidia or soft", value);
    return false;
}

static bool parse_count(const char *name, const char *value, uint64_t most, uint32_t *out)
{
    uint64_t number = 0;
    if (!argument_number(name, value, 1, most, &number)) return false;
    *out = (uint32_t)number;
    return true;
}

static bool parse_value(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--way") == 0) return parse_way(o, value);
    if (strcmp(name, "--device") == 0) return parse_device(o, value);
    if (strcmp(name, "--size") == 0)
        return argument_size(name, value, 16, 8192, &o->width, &o->height);
    if (strcmp(name, "--particles") == 0)
        return parse_count(name, value, UINT32_C(1) << 26, &o->particles);
    if (strcmp(name, "--heavy") == 0) return parse_count(name, value, 1 << 20, &o->heavy);
    if (strcmp(name, "--steps") == 0) return parse_count(name, value, 1000, &o->steps);
    if (strcmp(name, "--frames") == 0) return argument_number(name, value, 1, 1000000, &o->frames);
    if (strcmp(name, "--every") == 0) return argument_number(name, value, 1, 1000000, &o->every);
    if (strcmp(name, "--seed") == 0) return argument_number(name, value, 0, UINT64_MAX, &o->seed);
    if (strcmp(name, "--output") == 0) {
        o->output = value;
    } else {
        o->screenshot = value;
    }
    return argument_png(name, value);
}

static const char *const valued[] = {"--way",    "--particles", "--heavy",      "--frames",
                                     "--steps",  "--size",      "--device",     "--seed",
                                     "--output", "--every",     "--screenshot", NULL};

/* One argument, or two: *i is the last one's index. */
static bool parse_argument(options *o, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    bool *flag = strcmp(argument, "--window") == 0  ? &o->window
                 : strcmp(argument, "--hold") == 0  ? &o->hold
                 : strcmp(argument, "--debug") == 0 ? &o->debug
                 : strcmp(argument, "--quiet") == 0 ? &o->quiet
                                                    : NULL;
    if (flag) return *flag = true;
    const char *value = NULL, *name = argument_valued(valued, argc, argv, i, &value);
    return name && parse_value(o, name, value);
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

options_result options_parse(options *o, int argc, char **argv)
{
    char path[FILES_PATH_MAX];
    *o = (options){.steps = 4, .seed = 1, .device = "auto"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (!parse_argument(o, argc, argv, &i)) return OPTIONS_BAD;
    }
    if (!check_window(o)) return OPTIONS_BAD;
    if (o->window) return OPTIONS_RUN;
    if (!o->output) o->output = "out/particles.png";
    if (!files_numbered(path, o->output, o->frames)) {
        report("--output %s: after %% only d, or a width and d, as in particles-%%04d.png",
               o->output);
        return OPTIONS_BAD;
    }
    if (o->frames == 0) o->frames = 108;
    if (strchr(o->output, '%') && o->every == 0) o->every = 1;
    return OPTIONS_RUN;
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
    return !o->window && (frame + 1 == o->frames || (o->every != 0 && frame % o->every == 0));
}
