/* SPDX-License-Identifier: MIT */
/* Tests of ripple's window, on a screen that nobody sees. */
#define TEST_GROUP "window."
#include <time.h>

#include "harness.h"
#include "png_file.h"
#include "samples_tests.h"
#include "screen.h"

#define PATIENCE_US (TEST_FAR_MS * 1e3)

static void start_ripple(run_process *out, const char *const *more)
{
    ripple_arguments arguments;
    ripple_arguments_make(&arguments, more);
    run_start(out, "ripple", run_scratch(), arguments.list);
}

static picture read_png(const char *name)
{
    char path[TEST_PATH_MAX];
    picture p;
    REQUIRE(png_read_rgba(run_scratch_path(path, name), &p.width, &p.height, &p.pixels));
    return p;
}

static void pause_test(long milliseconds)
{
    struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Looks at the window until it shows this picture, or (`equal` false) another. Returns what it
 * shows. */
static picture wait_for_picture(const screen_window *window, const picture *reference, bool equal,
                                const char *what)
{
    double until = test_now_us() + PATIENCE_US;
    for (;;) {
        picture now = screen_picture(window);
        if (picture_equal(&now, reference) == equal) return now;
        free(now.pixels);
        if (test_now_us() > until) FAIL("%s", what);
        pause_test(50);
    }
}

/* Looks until the window has shown one picture for a while, beside a program that sleeps: it has
 * drawn what was asked for. */
static picture settled_picture(const screen_window *window, const run_process *process)
{
    double until = test_now_us() + PATIENCE_US;
    picture before = screen_picture(window);
    for (int same = 0;;) {
        pause_test(100);
        (void)test_asleep(process->pid, 0, 0);
        picture now = screen_picture(window);
        same = picture_equal(&now, &before) ? same + 1 : 0;
        free(before.pixels);
        before = now;
        if (same == 5) return now;
        if (test_now_us() > until) FAIL("the window does not come to rest");
    }
}

/* The window moves on from `before` and comes to rest; frees `before`. */
static picture changed_picture(const screen_window *window, const run_process *process,
                               picture before, const char *what)
{
    picture other = wait_for_picture(window, &before, false, what);
    free(before.pixels);
    free(other.pixels);
    return settled_picture(window, process);
}

static void end_ripple(run_process *process, const screen_window *window, run_result *r)
{
    /* Not "key": the window may be gone before the release is sent. */
    screen_do((const char *[]){"keydown", "--window", window->id, "Escape", NULL});
    run_finish(process, r);
    if (r->status != 0) FAIL("ripple: status %d:\n%s", r->status, r->text);
}

/* What the window shows, what --screenshot writes, and what a run without a window writes, are
 * one. */
static void shows_the_offscreen_picture(const char *path)
{
    run_result r;
    run_process process;
    screen_start();
    ripple_fine(&r, (const char *[]){"--frames", "9", "--path", path, "--output", "off.png", NULL});
    picture offscreen = read_png("off.png");
    start_ripple(&process, (const char *[]){"--frames", "9", "--path", path, "--window", "--hold",
                                            "--screenshot", "shot.png", NULL});
    screen_window window = screen_find(&process, "ripple .done.");
    picture shown = wait_for_picture(&window, &offscreen, true, "the window shows another picture");
    end_ripple(&process, &window, &r);
    REQUIRE(strstr(r.text, "\"frames\": 9,"));
    picture written = read_png("shot.png");
    REQUIRE(picture_equal(&written, &offscreen));
    free(offscreen.pixels);
    free(shown.pixels);
    free(written.pixels);
}

TEST_AS(shows_the_offscreen_picture_ring, shows_the_offscreen_picture("ring"))

TEST(shows_the_offscreen_picture_shared)
{
    ripple_needs_no_threads();
    shows_the_offscreen_picture("shared");
}

/* A user's visit: look, pause, go around, come closer, make the window larger and smaller, go on,
 * leave. */
static void obeys(const char *path, const char *validation)
{
    run_result r;
    run_process process;
    screen_start();
    start_ripple(&process,
                 (const char *[]){"--window", "--path", path, "--frames", "1000000", "--resolution",
                                  "360x240", "--screenshot", "shot.png", validation, NULL});
    screen_window window = screen_find(&process, "ripple");
    screen_do((const char *[]){"windowfocus", "--sync", window.id, NULL});
    picture first = screen_picture(&window);
    picture second = wait_for_picture(&window, &first, false, "the water does not move");
    free(first.pixels);
    free(second.pixels);

    screen_do((const char *[]){"key", "space", NULL});
    window = screen_find(&process, "ripple .paused.");
    picture paused = settled_picture(&window, &process);

    screen_do(
        (const char *[]){"mousemove", "--window", window.id, "180", "150", "mousedown", "1", NULL});
    screen_do(
        (const char *[]){"mousemove", "--window", window.id, "240", "130", "mouseup", "1", NULL});
    picture turned = changed_picture(&window, &process, paused, "dragging does not turn the view");
    screen_do((const char *[]){"click", "4", NULL});
    picture closer =
        changed_picture(&window, &process, turned, "the wheel does not move the camera");

    static const char *const sizes[][2] = {{"500", "320"}, {"301", "207"}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        screen_do(
            (const char *[]){"windowsize", "--sync", window.id, sizes[i][0], sizes[i][1], NULL});
        closer = changed_picture(&window, &process, closer, "the window does not change its size");
        REQUIRE_EQ(closer.width, atoi(sizes[i][0]));
        REQUIRE_EQ(closer.height, atoi(sizes[i][1]));
        /* Drawn to the last corner, not left black. */
        const uint8_t *corner = closer.pixels + 4u * ((size_t)closer.width * closer.height - 1);
        REQUIRE(corner[0] + corner[1] + corner[2] > 0);
    }

    screen_do((const char *[]){"key", "space", NULL});
    window = screen_find(&process, "ripple");
    picture moving = wait_for_picture(&window, &closer, false, "the water stays still");
    free(moving.pixels);
    free(closer.pixels);
    screen_do((const char *[]){"key", "space", NULL});
    window = screen_find(&process, "ripple .paused.");
    picture last = settled_picture(&window, &process);
    end_ripple(&process, &window, &r);
    picture written = read_png("shot.png");
    REQUIRE(picture_equal(&written, &last));
    free(last.pixels);
    free(written.pixels);
    if (validation) REQUIRE(strstr(r.text, "validation: no messages"));
}

/* Without sanitizers validation_is_silent_* are the same visits, listened to. */
static void obeys_unheard(const char *path)
{
    if (!test_sanitized() && ripple_has_validation())
        SKIP("window.validation_is_silent_%s does this and more", path);
    obeys(path, NULL);
}

TEST_AS(obeys_ring, obeys_unheard("ring"), .time_limit = 240)

static void validation_is_silent(const char *path)
{
    ripple_needs_validation();
    obeys(path, "--validation");
}

TEST_AS(validation_is_silent_ring, validation_is_silent("ring"), .time_limit = 240)

TEST(no_screen)
{
    run_result r;
    REQUIRE(unsetenv("DISPLAY") == 0 && unsetenv("WAYLAND_DISPLAY") == 0);
    ripple(&r, (const char *[]){"--window", NULL});
    if (strstr(r.text, "needs GLFW") || strstr(r.text, "no window support")) SKIP("%s", r.text);
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "--window: no screen"));
}
