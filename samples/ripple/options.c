/* ripple's command line. SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/files.h"
#include "../common/report.h"

static const char help[] =
    "Usage: ripple [options]\n"
    "Simulates waves in a basin with CUDA and draws them with Vulkan from the same memory, without copies.\n"
    "\n"
    "  --size WxH          grid in cells (768x512)\n"
    "  --resolution WxH    picture in pixels (1280x720)\n"
    "  --frames N          frames to run (180)\n"
    "  --steps N           steps of the solver in a frame (the shorter side of the grid / 48)\n"
    "  --output PATH       PNG of the last frame (out/ripple.png); with %d or %04d in it, a picture of every "
    "frame\n"
    "  --every N           a picture of every Nth frame and of the last, numbered\n"
    "  --device WHICH      auto: NVIDIA's GPU, else the software twin (default); nvidia; soft; list: show "
    "them;\n"
    "                      a number of that list; or part of a name\n"
    "  --buffers N         shared buffers, 1 or 2 (2)\n"
    "  --seed N            another arrangement of stones and drops (1)\n"
    "  --validation        run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --dump-field FILE   write the last heights as raw floats, to compare runs\n"
    "  --quiet             no progress and no closing line\n"
    "  --help              this text\n";

static bool parse_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < low || value > high) {
        report("%s %s: expected a number from %llu to %llu", name, text, (unsigned long long)low,
               (unsigned long long)high);
        return false;
    }
    *out = value;
    return true;
}

static bool parse_size(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *width,
                       uint32_t *height)
{
    unsigned w = 0, h = 0;
    char rest = '\0';
    bool plain = strlen(text) <= 11 && text[strspn(text, "0123456789x")] == '\0';
    if (!plain || sscanf(text, "%ux%u%c", &w, &h, &rest) != 2 || w < low || h < low || w > high || h > high) {
        report("%s %s: expected WIDTHxHEIGHT, each from %u to %u", name, text, low, high);
        return false;
    }
    *width = w;
    *height = h;
    return true;
}

static bool parse_value(options *o, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "--size") == 0)
        return parse_size(name, value, 16, 16384, &o->grid_width, &o->grid_height);
    if (strcmp(name, "--resolution") == 0)
        return parse_size(name, value, 16, 8192, &o->picture_width, &o->picture_height);
    if (strcmp(name, "--frames") == 0) return parse_number(name, value, 1, 1000000000, &o->frames);
    if (strcmp(name, "--every") == 0) return parse_number(name, value, 1, 1000000000, &o->every);
    if (strcmp(name, "--seed") == 0) return parse_number(name, value, 0, UINT64_MAX, &o->seed);
    if (strcmp(name, "--steps") == 0) {
        if (!parse_number(name, value, 1, 100000, &number)) return false;
        o->steps = (uint32_t)number;
    } else if (strcmp(name, "--buffers") == 0) {
        if (!parse_number(name, value, 1, 2, &number)) return false;
        o->buffers = (uint32_t)number;
    } else if (strcmp(name, "--output") == 0) {
        o->output = value;
    } else if (strcmp(name, "--dump-field") == 0) {
        o->dump_field = value;
    } else {
        o->device = value;
        o->list = strcmp(value, "list") == 0;
    }
    if (*value == '\0') report("%s: expected something", name);
    return *value != '\0';
}

static bool takes_value(const char *name)
{
    static const char *const names[] = {"--size",  "--resolution", "--frames",  "--steps", "--output",
                                        "--every", "--device",     "--buffers", "--seed",  "--dump-field"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static bool check(options *o)
{
    char path[FILES_PATH_MAX];
    bool numbered = strchr(o->output, '%') != NULL;
    if (!files_numbered(path, o->output, o->frames)) {
        report("--output %s: after %% only d, or a width and d, as in ripple-%%04d.png", o->output);
        return false;
    }
    size_t length = strlen(o->output);
    if (length < 5 || strcmp(o->output + length - 4, ".png") != 0) {
        report("--output %s: expected a path that ends in .png", o->output);
        return false;
    }
    if (numbered && o->every == 0) o->every = 1;
    if (o->steps == 0) {
        uint32_t shorter = o->grid_width < o->grid_height ? o->grid_width : o->grid_height;
        o->steps = shorter < 48 ? 1 : (shorter + 24) / 48;
    }
    return true;
}

options_result options_parse(options *o, int argc, char **argv)
{
    *o = (options){.grid_width = 768,
                   .grid_height = 512,
                   .picture_width = 1280,
                   .picture_height = 720,
                   .frames = 180,
                   .buffers = 2,
                   .seed = 1,
                   .output = "out/ripple.png",
                   .device = "auto"};
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_EXIT;
        }
        if (strcmp(argument, "--validation") == 0) {
            o->validation = true;
        } else if (strcmp(argument, "--quiet") == 0) {
            o->quiet = true;
        } else if (takes_value(argument)) {
            if (i + 1 == argc) {
                report("%s: expected something after it; --help explains", argument);
                return OPTIONS_BAD;
            }
            if (!parse_value(o, argument, argv[++i])) return OPTIONS_BAD;
        } else {
            report("unknown option %s; --help lists them", argument);
            return OPTIONS_BAD;
        }
    }
    return check(o) ? OPTIONS_RUN : OPTIONS_BAD;
}

bool options_wants_picture(const options *o, uint64_t frame)
{
    return frame + 1 == o->frames || (o->every != 0 && frame % o->every == 0);
}

bool options_picture_path(const options *o, uint64_t frame, char *out)
{
    if (o->every == 0 || strchr(o->output, '%')) return files_numbered(out, o->output, frame);
    int written = snprintf(out, FILES_PATH_MAX, "%.*s-%05llu.png", (int)(strlen(o->output) - 4), o->output,
                           (unsigned long long)frame);
    return written > 0 && written < FILES_PATH_MAX;
}
