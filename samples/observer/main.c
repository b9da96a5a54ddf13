/* SPDX-License-Identifier: MIT */
/* observer: a solver process whose particles are in CUDA, and viewer processes that draw them by
 * Vulkan from the same memory. Viewers come, die and return; the solver never stops. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/arguments.h"
#include "../common/report.h"
#include "observer.h"

static const char help[] =
    "Usage: observer [solver|viewer] [options]\n"
    "A solver's particles in CUDA, drawn by Vulkan in other processes from the same memory.\n"
    "Without a word it starts a solver and four viewers, kills one of them, and lets it return.\n"
    "\n"
    "  solver            runs until it is interrupted\n"
    "  viewer            looks at frames, and leaves\n"
    "  --name NAME       of the solver, for both (observer; without a word, one that is free)\n"
    "  --particles N     the most particles (300000)\n"
    "  --births N        new ones in a step (400)\n"
    "  --rate N          steps a second, 0: as many as there can be (240)\n"
    "  --frames N        frames that a viewer looks at (120)\n"
    "  --die-after N     the viewer kills itself with its Nth frame in its hands\n"
    "  --size WxH        picture in pixels (960x720)\n"
    "  --output PATH     PNG of a viewer's last frame (out/observer.png; a viewer by itself: none)\n"
    "  --device WHICH    auto: NVIDIA's GPU, else the software twin (default); nvidia; soft\n"
    "  --validation      run viewers under Vulkan's validation; fail if it says anything\n"
    "  --help            this text\n";

static const char *const valued[] = {"--name",   "--particles", "--births", "--rate",
                                     "--frames", "--die-after", "--size",   "--output",
                                     "--device", NULL};

static bool parse_value(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--particles") == 0)
        return argument_number(name, value, 1, 1 << 26, &o->particles);
    if (strcmp(name, "--births") == 0) return argument_number(name, value, 1, 1 << 20, &o->births);
    if (strcmp(name, "--rate") == 0) return argument_number(name, value, 0, 1000000, &o->rate);
    if (strcmp(name, "--frames") == 0) return argument_number(name, value, 1, 1000000, &o->frames);
    if (strcmp(name, "--die-after") == 0)
        return argument_number(name, value, 1, 1000000, &o->die_after);
    if (strcmp(name, "--size") == 0)
        return argument_size(name, value, 16, 8192, &o->width, &o->height);
    if (strcmp(name, "--name") == 0)
        o->name = value;
    else if (strcmp(name, "--output") == 0)
        return o->output = value, argument_png(name, value);
    else
        o->device = value;
    if (*value == '\0') report("%s: expected something", name);
    return *value != '\0';
}

/* 0: run; else the exit status and 1. */
static int parse(options *o, int argc, char **argv)
{
    *o = (options){.device = "auto",
                   .particles = 300000,
                   .births = 400,
                   .rate = 240,
                   .frames = 120,
                   .width = 960,
                   .height = 720};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return fputs(help, stdout), 1;
        if (i == 1 && (strcmp(argv[1], "solver") == 0 || strcmp(argv[1], "viewer") == 0)) {
            o->role = argv[1];
        } else if (strcmp(argv[i], "--validation") == 0) {
            o->validation = true;
        } else {
            const char *value = NULL, *name = argument_valued(valued, argc, argv, &i, &value);
            if (!name || !parse_value(o, name, value)) return 3;
        }
    }
    if (!o->output && !o->role) o->output = "out/observer.png";
    if (!o->name && o->role) o->name = "observer";
    return 0;
}

/* All processes -------------------------------------------------------------------------------- */

/* This program once more, before anything of CUDA is opened. */
static pid_t start(const options *o, const options *more)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child != 0) return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever ends the program ends all of it */
    options own = *o;
    own.role = more->role;
    own.frames = more->frames ? more->frames : o->frames;
    own.die_after = more->die_after;
    own.output = more->output;
    report_set_program(own.role);
    const bool fine = strcmp(own.role, "solver") == 0 ? solver_run(&own) : viewer_run(&own);
    fflush(NULL);
    _exit(fine ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int ended(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

static bool well(pid_t child)
{
    return ended(child) == 0;
}

static bool run_all(const options *o)
{
    const pid_t solver = start(o, &(options){.role = "solver"});
    /* One stays, and beside it one comes, dies and returns. */
    const pid_t stays =
        start(o, &(options){.role = "viewer", .frames = 2 * o->frames, .output = o->output});
    const pid_t dies = start(o, &(options){.role = "viewer", .die_after = o->frames / 4 + 1});
    const int death = ended(dies);
    bool fine = WIFSIGNALED(death) && WTERMSIG(death) == SIGKILL;
    const pid_t again = start(o, &(options){.role = "viewer"});
    fine = well(again) && fine;
    fine = well(stays) && fine;
    const pid_t late = start(o, &(options){.role = "viewer", .frames = o->frames / 4 + 1});
    fine = well(late) && fine;
    if (solver > 0) kill(solver, SIGTERM);
    fine = well(solver) && fine;
    printf("observer: %s%s%s\n",
           fine ? "a viewer was killed and came back, and the solver never stopped" : "it failed",
           fine ? "; " : "", fine ? o->output : "");
    return fine;
}

int main(int argc, char **argv)
{
    options o;
    char name[64];
    report_set_program("observer");
    const int parsed = parse(&o, argc, argv);
    if (parsed != 0) return parsed - 1;
    if (!o.name) {
        snprintf(name, sizeof name, "observer-%ld", (long)getpid());
        o.name = name;
    }
    bool fine = o.role == NULL                  ? run_all(&o)
                : strcmp(o.role, "solver") == 0 ? solver_run(&o)
                                                : viewer_run(&o);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
