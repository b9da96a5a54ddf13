/* SPDX-License-Identifier: MIT */
/* Tests of the sample observer: processes come, one is killed and returns, each particle that they
 * saw was of its frame, and the solver ends in order. */
#define TEST_GROUP "observer."
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "run.h"

enum { WIDTH = 160, HEIGHT = 120 };

/* 0 after the end of `text`'s first appearance. */
static unsigned long number_behind(const run_result *r, const char *text)
{
    const char *at = strstr(r->text, text);
    if (!at) FAIL("no '%s' in:\n%s", text, r->text);
    return strtoul(at + strlen(text), NULL, 10);
}

TEST(all_processes, .smoke = true)
{
    run_result r;
    char path[TEST_PATH_MAX];
    uint32_t width = 0, height = 0, lit = 0;
    uint8_t *pixels = NULL;
    run_scratch_path(path, "observer.png");
    run_program(&r, "observer", run_scratch(),
                (const char *const[]){"--device", run_device(), "--frames", "12", "--size",
                                      "160x120", "--particles", "40000", "--limit", "400",
                                      "--output", path, NULL});
    if (r.status != 0) FAIL("observer: status %d:\n%s", r.status, r.text);
    REQUIRE(strstr(r.text, "viewer: dies with frame ") != NULL);
    REQUIRE(strstr(r.text, "viewer: 24 frames on ") != NULL);
    REQUIRE(strstr(r.text, "viewer: 12 frames on ") != NULL);
    REQUIRE(strstr(r.text, " 0 steps waited for a viewer") != NULL);
    REQUIRE(strstr(r.text, "a viewer was killed and came back") != NULL);
    REQUIRE(number_behind(&r, "solver: ") >= 24);
    REQUIRE(png_read_rgba(path, &width, &height, &pixels));
    REQUIRE(width == WIDTH && height == HEIGHT);
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++)
        lit += pixels[4 * i + 2] > 40; /* the background is darker */
    free(pixels);
    REQUIRE(lit > 500);
}

/* A small viewer of that name with `more` behind. */
static void start_viewer(run_process *viewer, const char *name, const char *const more[4])
{
    run_start(viewer, "observer", run_scratch(),
              (const char *const[]){"viewer", "--name", name, "--device", run_device(), "--size",
                                    "64x48", more[0], more[1], more[2], more[3], NULL});
}

static void view(const char *name, int status, run_result *r, const char *const more[4])
{
    run_process viewer;
    start_viewer(&viewer, name, more);
    run_finish(&viewer, r);
    if (r->status != status) FAIL("viewer: status %d:\n%s", r->status, r->text);
}

static void end_solver(run_process *solver)
{
    run_result r;
    REQUIRE(kill(solver->pid, SIGTERM) == 0);
    run_finish(solver, &r);
    if (r.status != 0) FAIL("solver: status %d:\n%s", r.status, r.text);
}

/* Reads what the process says until `text` is in it. */
static void hear(const run_process *process, const char *text)
{
    char said[4096] = "";
    size_t used = 0;
    const double until = test_now_us() + TEST_FAR_MS * 1e3;
    while (strstr(said, text) == NULL) {
        struct pollfd p = {.fd = process->from, .events = POLLIN};
        const double left_ms = (until - test_now_us()) * 1e-3;
        if (left_ms <= 0 || used + 1 >= sizeof said) FAIL("no '%s' in:\n%s", text, said);
        if (poll(&p, 1, (int)left_ms + 1) <= 0) continue;
        const ssize_t got = read(process->from, said + used, sizeof said - 1 - used);
        if (got <= 0) FAIL("it has ended without '%s':\n%s", text, said);
        used += (size_t)got;
        said[used] = '\0';
    }
}

static void start_solver(run_process *solver, const char *name, const char *patience)
{
    run_start(solver, "observer", run_scratch(),
              (const char *const[]){"solver", "--name", name, "--device", run_device(),
                                    "--particles", "40000", "--patience", patience, NULL});
}

/* By hand, as in two terminals; the solver is told to end while a viewer looks. */
TEST(by_hand)
{
    run_process solver, viewer;
    run_result r;
    char name[32];
    snprintf(name, sizeof name, "observer-test-%ld", (long)getpid());
    start_solver(&solver, name, "1000");
    view(name, 0, &r, (const char *[4]){"--frames", "3"});
    /* culvert-info sees what is offered. */
    for (int json = 0; json < 2; json++) {
        static const char *const says[2][2] = {{"ring, slots: 6", "elements of 16"},
                                               {"\"kind\": \"ring\"", "particles.5"}};
        run_program(&r, "culvert-info", run_scratch(),
                    (const char *const[]){"--shared", json ? "--json" : NULL, NULL});
        const char *mine = strstr(r.text, name);
        REQUIRE_EQ(r.status, 0);
        if (!mine || !strstr(mine, says[json][0]) || !strstr(mine, says[json][1]))
            FAIL("no %s as it is in:\n%s", name, r.text);
    }
    start_viewer(&viewer, name, (const char *[4]){"--frames", "1000000"});
    end_solver(&solver);
    /* Wherever it was, it ends with an error: the solver is gone, or was never found. */
    kill(viewer.pid, SIGKILL);
    run_finish(&viewer, &r);
}

/* A viewer that ends before it has read a frame that it gave back leaves a value that nobody
 * signals. Its slot is free all the same. */
TEST(killed_before_it_read)
{
    run_process solver;
    run_result r;
    char name[40];
    snprintf(name, sizeof name, "observer-given-%ld", (long)getpid());
    start_solver(&solver, name, "1000");
    for (int i = 0; i < 3; i++) {
        view(name, 128 + SIGKILL, &r, (const char *[]){"--die-after", "2", "--death", "given"});
        REQUIRE(strstr(r.text, "given back and not read") != NULL);
    }
    /* It takes as many frames as there are slots. */
    view(name, 0, &r, (const char *[4]){"--frames", "20"});
    end_solver(&solver);
}

/* One that lives and does nothing has one slot, and nobody waits for it. */
TEST(stopped_before_it_read)
{
    run_process solver, viewer;
    run_result r;
    char name[40];
    snprintf(name, sizeof name, "observer-stopped-%ld", (long)getpid());
    start_solver(&solver, name, "1000");
    start_viewer(&viewer, name, (const char *[]){"--die-after", "2", "--death", "stopped"});
    hear(&viewer, "stops with");
    view(name, 0, &r, (const char *[4]){"--frames", "20"});
    end_solver(&solver);
    kill(viewer.pid, SIGKILL);
    run_finish(&viewer, &r);
}

/* It leaves no process: run_finish() reads until the last has ended. */
TEST(given_up)
{
    run_result r;
    run_program(&r, "observer", run_scratch(),
                (const char *const[]){"--device", run_device(), "--size", "64x48", "--frames",
                                      "1000000", "--limit", "1", NULL});
    if (r.status != 1) FAIL("observer: status %d:\n%s", r.status, r.text);
    REQUIRE(strstr(r.text, "the viewer has not ended after 1 s") != NULL);
    REQUIRE(strstr(r.text, "observer: it failed") != NULL);
}

TEST(bad_options)
{
    static const char *const bad[][2] = {
        {"--frames", "0"},      {"--particles", "many"}, {"--size", "1x1"}, {"--output", "a.txt"},
        {"--death", "natural"}, {"--patience", "0"},     {"--unknown", "1"}};
    run_result r;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        run_program(&r, "observer", run_scratch(),
                    (const char *const[]){bad[i][0], bad[i][1], NULL});
        REQUIRE_EQ(r.status, 2);
        REQUIRE(strstr(r.text, bad[i][0]) != NULL);
    }
}
