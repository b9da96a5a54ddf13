/* SPDX-License-Identifier: MIT */
/* Tests of the sample particles: the ways by which stars get from CUDA to OpenGL end in one
 * picture, the window shows it, and the program ends well when a driver's call fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "files.h"
#include "harness.h"
#include "png_file.h"
#include "run.h"
#include "screen.h"

enum { WIDTH = 320, HEIGHT = 180, MAX_ARGUMENTS = 30 };

static const char *const ways[] = {"staged", "memory", "register"};
enum { WAYS = sizeof ways / sizeof ways[0] };

typedef struct arguments {
    const char *list[MAX_ARGUMENTS + 1];
} arguments;

/* A short run, with `more` behind, which wins. */
static void make_arguments(arguments *out, const char *const *more)
{
    const char *const first[] = {"--device", run_device(), "--particles", "3000",   "--heavy",
                                 "33",       "--frames",   "6",           "--size", "320x180"};
    size_t count = sizeof first / sizeof first[0];
    memcpy(out->list, first, sizeof first);
    for (; *more; more++) {
        REQUIRE(count < MAX_ARGUMENTS);
        out->list[count++] = *more;
    }
    out->list[count] = NULL;
}

static void particles(run_result *out, const char *const *more)
{
    arguments a;
    make_arguments(&a, more);
    run_program(out, "particles", run_scratch(), a.list);
}

static void particles_fine(run_result *out, const char *const *more)
{
    particles(out, more);
    if (out->status != 0) FAIL("particles: status %d:\n%s", out->status, out->text);
}

static picture read_png(const char *name)
{
    char path[TEST_PATH_MAX];
    picture p;
    REQUIRE(png_read_rgba(run_scratch_path(path, name), &p.width, &p.height, &p.pixels));
    return p;
}

/* Pixels that are brighter than the sky with its stars. */
static unsigned lit_pixels(const picture *p)
{
    unsigned lit = 0;
    for (size_t i = 0; i < (size_t)p->width * p->height; i++)
        lit += p->pixels[4 * i] + p->pixels[4 * i + 1] + p->pixels[4 * i + 2] > 120;
    return lit;
}

/* Every frame of every way: the same picture, and the bytes that OpenGL has are CUDA's (the program
 * checks that). A debug context has nothing to say. */
static void ways_draw_one_picture(void)
{
    run_result r;
    char checksum[WAYS][20];
    for (int i = 0; i < WAYS; i++) {
        char output[32];
        snprintf(output, sizeof output, "%s.png", ways[i]);
        particles_fine(&r, (const char *[]){"--way", ways[i], "--output", output, "--every", "1",
                                            "--debug", NULL});
        REQUIRE(strstr(r.text, "check: 3000 stars as OpenGL has them are what CUDA computed"));
        REQUIRE(strstr(r.text, "debug: no messages"));
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\"", ways[i]);
        REQUIRE(strncmp(run_value(&r, "way"), quoted, strlen(quoted)) == 0);
        const unsigned long copied = run_number(&r, "transfer_bytes_per_frame");
        REQUIRE_EQ(copied, i == 0 ? 2UL * 3000 * 16 : 0UL);
        run_checksum(checksum[i], &r);
        REQUIRE_EQ_STR(checksum[i], checksum[0]);
        for (int frame = 0; i > 0 && frame < 6; frame++) {
            char name[2][40];
            snprintf(name[0], sizeof name[0], "%s-%05d.png", ways[0], frame);
            snprintf(name[1], sizeof name[1], "%s-%05d.png", ways[i], frame);
            picture a = read_png(name[0]), b = read_png(name[1]);
            if (!picture_equal(&a, &b)) FAIL("%s is not %s", name[1], name[0]);
            free(a.pixels);
            free(b.pixels);
        }
    }
    /* Roots and divisions are IEEE's on a GPU, too. */
    MEASURED("checksum", "%s", checksum[0]);
    REQUIRE_EQ_STR(checksum[0], "\"cfe778187e6dc29a\"");
}

/* Two galaxies, which move. */
static void picture_shows_galaxies(void)
{
    run_result r;
    particles_fine(&r, (const char *[]){"--way", "staged", "--output", "g.png", "--every", "5",
                                        "--steps", "8", NULL});
    picture first = read_png("g-00000.png"), last = read_png("g-00005.png");
    REQUIRE_EQ(first.width, WIDTH);
    REQUIRE_EQ(first.height, HEIGHT);
    unsigned lit[2] = {lit_pixels(&first), lit_pixels(&last)};
    MEASURED("lit_pixels", "%u, then %u of %u", lit[0], lit[1], (unsigned)(WIDTH * HEIGHT));
    for (int i = 0; i < 2; i++)
        REQUIRE(lit[i] > 1000 && lit[i] < (unsigned)(WIDTH * HEIGHT) / 2);
    REQUIRE(!picture_equal(&first, &last));
    free(first.pixels);
    free(last.pixels);
}

/* --way=auto takes one of those that share, and says which. */
static void auto_shares(void)
{
    run_result r;
    particles_fine(&r, (const char *[]){"--output", "a.png", NULL});
    REQUIRE(strncmp(run_value(&r, "way"), "\"staged\"", 8) != 0);
    REQUIRE(strstr(r.text, ", by way of "));
}

/* What the window shows, what --screenshot writes, and what a run without a window writes, are
 * one. */
static void window_shows_the_offscreen_picture(const char *way)
{
    run_result r;
    run_process process;
    arguments a;
    screen_start();
    particles_fine(&r, (const char *[]){"--way", way, "--output", "off.png", NULL});
    picture offscreen = read_png("off.png");
    make_arguments(
        &a, (const char *[]){"--way", way, "--window", "--hold", "--screenshot", "shot.png", NULL});
    run_start(&process, "particles", run_scratch(), a.list);
    screen_window window = screen_find(&process, "particles .done.");
    screen_wait_for(&window, &offscreen, "the window shows another picture");
    /* Not "key": the window may be gone before the release is sent. */
    screen_do((const char *[]){"keydown", "--window", window.id, "Escape", NULL});
    run_finish(&process, &r);
    if (r.status != 0) FAIL("particles: status %d:\n%s", r.status, r.text);
    REQUIRE(strstr(r.text, "\"frames\": 6,"));
    picture written = read_png("shot.png");
    REQUIRE(picture_equal(&written, &offscreen));
    free(offscreen.pixels);
    free(written.pixels);
}

TEST_AS(window_staged, window_shows_the_offscreen_picture("staged"))
TEST_AS(window_memory, window_shows_the_offscreen_picture("memory"))
TEST_AS(window_register, window_shows_the_offscreen_picture("register"))

static void no_screen(void)
{
    run_result r;
    REQUIRE(unsetenv("DISPLAY") == 0 && unsetenv("WAYLAND_DISPLAY") == 0);
    particles(&r, (const char *[]){"--window", NULL});
    if (strstr(r.text, "needs SDL2") || strstr(r.text, "no window support")) SKIP("%s", r.text);
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "--window: no screen"));
}

static void bad_options_are_refused(void)
{
    static const run_wrong wrong[] = {
        {{"--particle", "5"}, "unknown option --particle"},
        {{"--particles"}, "--particles: expected something after it"},
        {{"--particles", "x"}, "expected a number from 1"},
        {{"--way", "magic"}, "--way magic: expected auto, memory, register or staged"},
        {{"--device", "tpu"}, "--device tpu: expected auto, nvidia or soft"},
        {{"--size", "1x1"}, "expected WIDTHxHEIGHT"},
        {{"--output", "a.jpg"}, "ends in .png"},
        {{"--output", "a%s.png"}, "after % only d"},
        {{"--hold"}, "--hold: only with --window"},
        {{"--window", "--every", "2"}, "--every: not with --window"},
        {{NULL}, NULL},
    };
    run_result r;
    run_refuses(particles, wrong);
    particles(&r, (const char *[]){"--help", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "Usage: particles"));
}

/* Without the GPU that was asked for it ends, and says so. */
static void no_device_is_said(void)
{
    run_result r;
    if (test_driver() == TEST_DRIVER_NVIDIA) SKIP("the machine has a device");
    particles(&r, (const char *[]){"--device", "nvidia", NULL});
    if (r.status == 0) SKIP("the machine has a device");
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "particles: no OpenGL context without a screen"));
}

static void brief_run(run_result *r, const void *way)
{
    particles(r,
              (const char *[]){"--device", "soft", "--way", way, "--particles", "300", "--frames",
                               "3", "--size", "16x16", "--quiet", "--output", "f.png", NULL});
}

static void failures(const char *way, const char *const *named)
{
    const failing_program program = {"particles", brief_run, way};
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    failures_sweep(&program, "cuda", 12, 52, test_sanitized() ? 20 : 10, 0);
}

/* A kernel that faults is one of them: the error sticks to the context. */
TEST_AS(failures_staged,
        failures("staged", (const char *[]){"cuda:cuModuleLoadData:1", "cuda:cuMemAlloc:3",
                                            "cuda:cuMemHostAlloc:1", "cuda:cuLaunchKernel:5",
                                            "cuda:cuLaunchKernel:5:CUDA_ERROR_ILLEGAL_ADDRESS",
                                            "cuda:cuMemcpyDtoHAsync:2", NULL}))
TEST_AS(failures_memory,
        failures("memory", (const char *[]){"cuda:cuImportExternalMemory:1",
                                            "cuda:cuImportExternalSemaphore:2",
                                            "cuda:cuSignalExternalSemaphoresAsync:2",
                                            "cuda:cuWaitExternalSemaphoresAsync:2",
                                            "cuda:cuLaunchKernel:5", NULL}))
TEST_AS(failures_register,
        failures("register", (const char *[]){"cuda:cuGraphicsGLRegisterBuffer:1",
                                              "cuda:cuGraphicsMapResources:2",
                                              "cuda:cuGraphicsResourceGetMappedPointer:1",
                                              "cuda:cuGraphicsUnmapResources:2",
                                              "cuda:cuLaunchKernel:5", NULL}))

static const test_case cases[] = {
    {.name = "ways_draw_one_picture", .run = ways_draw_one_picture, .smoke = true},
    {.name = "picture_shows_galaxies", .run = picture_shows_galaxies},
    {.name = "auto_shares", .run = auto_shares},
    {.name = "window_staged", .run = window_staged},
    {.name = "window_memory", .run = window_memory},
    {.name = "window_register", .run = window_register},
    {.name = "no_screen", .run = no_screen},
    {.name = "bad_options_are_refused", .run = bad_options_are_refused},
    {.name = "no_device_is_said", .run = no_device_is_said},
    {.name = "failures_staged", .run = failures_staged, .time_limit = 120},
    {.name = "failures_memory", .run = failures_memory, .time_limit = 120},
    {.name = "failures_register", .run = failures_register, .time_limit = 120},
    {.name = NULL},
};
TEST_SUITE(cases);
