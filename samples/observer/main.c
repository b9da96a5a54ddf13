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
#include <time.h>
#include <unistd.h>

#include "../common/cuda_side.h"
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
    "  --death HOW       and how: held; given: it has given the frame back, and its GPU has not\n"
    "                    read it; stopped: then, but it lives and does nothing (held)\n"
    "  --patience N      seconds in which another process does what it is waited for (60)\n"
    "  --limit N         without a word: seconds that a process may take before all are killed\n"
    "                    (120 and two for each frame)\n"
    "  --size WxH        picture in pixels (960x720)\n"
    "  --output PATH     PNG of a viewer's last frame (out/observer.png; a viewer by itself: none)\n"
    "  --device WHICH    auto: NVIDIA's GPU, else the software twin (default); nvidia; soft\n"
    "  --validation      run viewers under Vulkan's validation; fail if it says anything\n"
    "  --help            this text\n";

static arguments_result parse(options *o, int argc, char **argv)
{
    static const char *const deaths[] = {"held", "given", "stopped", NULL};
    *o = (options){.particles = 300000,
                   .births = 400,
                   .rate = 240,
                   .frames = 120,
                   .patience = 60,
                   .width = 960,
                   .height = 720};
    const bool role =
        argc > 1 && (strcmp(argv[1], "solver") == 0 || strcmp(argv[1], "viewer") == 0);
    if (role) o->role = argv[1];
    const argument table[] = {
        {"--name", ARGUMENT_TEXT, &o->name, NULL, 0, 0, NULL},
        {"--particles", ARGUMENT_NUMBER, &o->particles, NULL, 1, 1 << 26, NULL},
        {"--births", ARGUMENT_NUMBER, &o->births, NULL, 1, 1 << 20, NULL},
        {"--rate", ARGUMENT_NUMBER, &o->rate, NULL, 0, 1000000, NULL},
        {"--frames", ARGUMENT_NUMBER, &o->frames, NULL, 1, 1000000, NULL},
        {"--die-after", ARGUMENT_NUMBER, &o->die_after, NULL, 1, 1000000, NULL},
        {"--death", ARGUMENT_WORD, &o->death, NULL, 0, 0, deaths},
        {"--patience", ARGUMENT_NUMBER, &o->patience, NULL, 1, 1000000, NULL},
        {"--limit", ARGUMENT_NUMBER, &o->limit, NULL, 1, 100000000, NULL},
        {"--size", ARGUMENT_SIZE, &o->width, &o->height, 16, 8192, NULL},
        {"--output", ARGUMENT_PNG, &o->output, NULL, 0, 0, NULL},
        {"--device", ARGUMENT_WORD, &o->driver, NULL, 0, 0, interop_drivers},
        {"--validation", ARGUMENT_FLAG, &o->validation, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    arguments_result r = arguments_parse(table, help, role ? 2 : 1, argc, argv);
    if (o->limit == 0) o->limit = 120 + 2 * o->frames;
    if (!o->output && !o->role) o->output = "out/observer.png";
    if (!o->name && o->role) o->name = "observer";
    return r;
}

/* All processes -------------------------------------------------------------------------------- */

enum { CHILDREN = 5 }; /* the solver, and four viewers */

typedef struct child {
    const char *role;
    pid_t pid; /* 0: it has ended, or does not exist yet */
} child;

/* This program once more, before anything of CUDA is opened: this process has no other thread. */
static void start(child *out, const options *o, const options *more)
{
    const pid_t parent = getpid();
    fflush(NULL);
    *out = (child){more->role, fork()};
    if (out->pid < 0) report("fork: %s", strerror(errno));
    if (out->pid != 0) return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever ends the program ends all of it */
    if (getppid() != parent) _exit(EXIT_FAILURE);
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

/* Whatever they wait for, none is left behind. */
static _Noreturn void give_up(const child *late, const options *o, const child all[CHILDREN])
{
    report("the %s has not ended after %llu s", late->role, (unsigned long long)o->limit);
    for (int i = 0; i < CHILDREN; i++)
        if (all[i].pid > 0) kill(all[i].pid, SIGKILL);
    printf("observer: it failed\n");
    exit(EXIT_FAILURE);
}

/* How the child ended, as waitpid() has it; -1: it could not be started. */
static int ended(child *c, const options *o, const child all[CHILDREN])
{
    const struct timespec moment = {.tv_nsec = 5000000};
    const double until = clock_seconds() + (double)o->limit;
    int status = -1;
    if (c->pid <= 0) return -1;
    for (;;) {
        const pid_t pid = waitpid(c->pid, &status, WNOHANG);
        if (pid < 0 && errno != EINTR) return -1;
        if (pid == c->pid) break;
        if (clock_seconds() > until) give_up(c, o, all);
        nanosleep(&moment, NULL);
    }
    c->pid = 0;
    return status;
}

static bool run_all(const options *o)
{
    child all[CHILDREN] = {{NULL, 0}};
    child *solver = &all[0], *stays = &all[1], *dies = &all[2], *again = &all[3], *late = &all[4];
    start(solver, o, &(options){.role = "solver"});
    /* One stays, and beside it one comes, dies and returns. */
    start(stays, o, &(options){.role = "viewer", .frames = 2 * o->frames, .output = o->output});
    start(dies, o, &(options){.role = "viewer", .die_after = o->frames / 4 + 1});
    const int death = ended(dies, o, all);
    bool fine = WIFSIGNALED(death) && WTERMSIG(death) == SIGKILL;
    start(again, o, &(options){.role = "viewer"});
    fine = ended(again, o, all) == 0 && fine;
    fine = ended(stays, o, all) == 0 && fine;
    start(late, o, &(options){.role = "viewer", .frames = o->frames / 4 + 1});
    fine = ended(late, o, all) == 0 && fine;
    if (solver->pid > 0) kill(solver->pid, SIGTERM);
    fine = ended(solver, o, all) == 0 && fine;
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
    const arguments_result parsed = parse(&o, argc, argv);
    if (parsed != ARGUMENTS_RUN) return parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    if (!o.name) {
        snprintf(name, sizeof name, "observer-%ld", (long)getpid());
        o.name = name;
    }
    bool fine = o.role == NULL                  ? run_all(&o)
                : strcmp(o.role, "solver") == 0 ? solver_run(&o)
                                                : viewer_run(&o);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
