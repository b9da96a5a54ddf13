/* SPDX-License-Identifier: MIT */
/* Tests of the sample observer: processes come, one is killed and returns, each particle that they
 * saw was of its frame, and the solver ends in order. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "png_file.h"
#include "run.h"

enum { WIDTH = 160, HEIGHT = 120 };

static const char *device(void)
{
    test_driver_choice choice = test_driver();
    return choice == TEST_DRIVER_NVIDIA ? "nvidia" : choice == TEST_DRIVER_SOFT ? "soft" : "auto";
}

/* 0 after the end of `text`'s first appearance. */
static unsigned long number_behind(const run_result *r, const char *text)
{
    const char *at = strstr(r->text, text);
    if (!at) FAIL("no '%s' in:\n%s", text, r->text);
    return strtoul(at + strlen(text), NULL, 10);
}

static void all_processes(void)
{
    run_result r;
    char path[TEST_PATH_MAX];
    uint32_t width = 0, height = 0, lit = 0;
    uint8_t *pixels = NULL;
    run_scratch_path(path, "observer.png");
    run_program(&r, "observer", run_scratch(),
                (const char *const[]){"--device", device(), "--frames", "12", "--size", "160x120",
                                      "--particles", "40000", "--output", path, NULL});
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

/* By hand, as in two terminals; the solver is told to end while a viewer looks. */
static void by_hand(void)
{
    run_process solver, viewer;
    run_result r, seen;
    char name[32];
    snprintf(name, sizeof name, "observer-test-%ld", (long)getpid());
    run_start(&solver, "observer", run_scratch(),
              (const char *const[]){"solver", "--name", name, "--device", device(), NULL});
    run_program(&seen, "observer", run_scratch(),
                (const char *const[]){"viewer", "--name", name, "--device", device(), "--frames",
                                      "3", "--size", "64x48", NULL});
    if (seen.status != 0) FAIL("viewer: status %d:\n%s", seen.status, seen.text);
    /* culvert-info sees what is offered. */
    run_program(&r, "culvert-info", run_scratch(),
                (const char *const[]){"--shared", "--json", NULL});
    REQUIRE_EQ(r.status, 0);
    const char *mine = strstr(r.text, name);
    if (!mine) FAIL("no %s in:\n%s", name, r.text);
    REQUIRE(strstr(mine, "\"kind\": \"ring\"") != NULL && strstr(mine, "particles.5") != NULL);
    run_program(&r, "culvert-info", run_scratch(), (const char *const[]){"--shared", NULL});
    REQUIRE_EQ(r.status, 0);
    mine = strstr(r.text, name);
    REQUIRE(mine != NULL && strstr(mine, "ring, slots: 6") != NULL);
    REQUIRE(strstr(mine, "elements of 16") != NULL);
    run_start(&viewer, "observer", run_scratch(),
              (const char *const[]){"viewer", "--name", name, "--device", device(), "--frames",
                                    "1000000", "--size", "64x48", NULL});
    REQUIRE(kill(solver.pid, SIGTERM) == 0);
    run_finish(&solver, &r);
    if (r.status != 0) FAIL("solver: status %d:\n%s", r.status, r.text);
    /* Wherever it was, it ends with an error: the solver is gone, or was never found. */
    kill(viewer.pid, SIGKILL);
    run_finish(&viewer, &seen);
}

static void bad_options(void)
{
    static const char *const bad[][2] = {{"--frames", "0"},
                                         {"--particles", "many"},
                                         {"--size", "1x1"},
                                         {"--output", "a.txt"},
                                         {"--unknown", "1"}};
    run_result r;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        run_program(&r, "observer", run_scratch(),
                    (const char *const[]){bad[i][0], bad[i][1], NULL});
        REQUIRE_EQ(r.status, 2);
        REQUIRE(strstr(r.text, bad[i][0]) != NULL);
    }
}

static const test_case cases[] = {
    {.name = "all_processes", .run = all_processes, .smoke = true},
    {.name = "by_hand", .run = by_hand},
    {.name = "bad_options", .run = bad_options},
    {.name = NULL},
};
TEST_SUITE(cases);
