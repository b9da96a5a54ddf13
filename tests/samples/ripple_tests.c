/* Tests of the sample ripple, run as its users run it. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "png_file.h"
#include "run.h"

#define MAX_ARGUMENTS 24
#define WIDTH         160u
#define HEIGHT        96u

static const char *device(void)
{
    test_driver_choice choice = test_driver();
    return choice == TEST_DRIVER_NVIDIA ? "nvidia" : choice == TEST_DRIVER_SOFT ? "soft" : "auto";
}

/* Runs ripple, small and short, with further arguments (later ones win). */
static void ripple(run_result *out, const char *const *more)
{
    const char *arguments[MAX_ARGUMENTS + 12] = {"--device", device(),   "--size", "64x48",        "--steps",
                                                 "6",        "--frames", "7",      "--resolution", "160x96"};
    int count = 10;
    for (int i = 0; more[i]; i++) {
        REQUIRE(i < MAX_ARGUMENTS);
        arguments[count++] = more[i];
    }
    arguments[count] = NULL;
    run_program(out, "ripple", run_scratch(), arguments);
}

static void ripple_fine(run_result *out, const char *const *more)
{
    ripple(out, more);
    if (out->status != 0) FAIL("ripple: status %d:\n%s", out->status, out->text);
}

static const char *in_scratch(char out[FILES_PATH_MAX], const char *name)
{
    int length = snprintf(out, FILES_PATH_MAX, "%s/%s", run_scratch(), name);
    REQUIRE(length > 0 && length < FILES_PATH_MAX);
    return out;
}

static uint8_t *read_picture(const char *name)
{
    char path[FILES_PATH_MAX];
    uint32_t width = 0, height = 0;
    uint8_t *pixels = NULL;
    if (!png_read_rgba(in_scratch(path, name), &width, &height, &pixels)) FAIL("no picture %s", name);
    REQUIRE_EQ(width, WIDTH);
    REQUIRE_EQ(height, HEIGHT);
    return pixels;
}

static int same_file(const char *first, const char *second)
{
    char path[FILES_PATH_MAX];
    void *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    REQUIRE(files_read(in_scratch(path, first), &a, &a_size));
    REQUIRE(files_read(in_scratch(path, second), &b, &b_size));
    int same = a_size == b_size && memcmp(a, b, a_size) == 0;
    free(a);
    free(b);
    return same;
}

static int exists(const char *name)
{
    char path[FILES_PATH_MAX];
    return access(in_scratch(path, name), R_OK) == 0;
}

/* Not flat, neither black nor white, and more than one hue. */
static void picture_shows_something(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--output", "new/directory/a.png", NULL});
    uint8_t *pixels = read_picture("new/directory/a.png");
    double sum[3] = {0, 0, 0}, squares[3] = {0, 0, 0};
    const double count = (double)WIDTH * HEIGHT;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        for (size_t c = 0; c < 3; c++) {
            sum[c] += pixels[4 * i + c];
            squares[c] += (double)pixels[4 * i + c] * pixels[4 * i + c];
        }
    }
    free(pixels);
    for (size_t c = 0; c < 3; c++) {
        double mean = sum[c] / count, deviation = sqrt(squares[c] / count - mean * mean);
        MEASURED("channel", "%zu mean %.1f deviation %.1f", c, mean, deviation);
        REQUIRE(mean > 40.0 && mean < 215.0);
        REQUIRE(deviation > 15.0);
    }
    REQUIRE(fabs(sum[0] - sum[2]) / count > 2.0);
}

static void summary_names_the_driver(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--output", "a.png", NULL});
    REQUIRE(strstr(r.text, "software twin") || strstr(r.text, "NVIDIA driver"));
    REQUIRE(strstr(r.text, "grid 64x48"));
    REQUIRE(strstr(r.text, "7 frames"));
    REQUIRE(strstr(r.text, "ms a frame: simulation "));
    ripple_fine(&r, (const char *[]){"--output", "a.png", "--quiet", NULL});
    REQUIRE_EQ_STR(r.text, "");
}

static void same_seed_same_bytes(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--seed", "5", "--output", "a.png", "--dump-field", "a.raw", NULL});
    ripple_fine(&r, (const char *[]){"--seed", "5", "--output", "b.png", "--dump-field", "b.raw", NULL});
    REQUIRE(same_file("a.png", "b.png"));
    REQUIRE(same_file("a.raw", "b.raw"));
}

/* One buffer makes the two sides take turns, two let them overlap: the picture must not know. */
static void one_buffer_same_bytes(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--frames", "12", "--buffers", "1", "--output", "a.png", NULL});
    ripple_fine(&r, (const char *[]){"--frames", "12", "--buffers", "2", "--output", "b.png", NULL});
    REQUIRE(same_file("a.png", "b.png"));
}

static void other_seed_other_picture(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--seed", "5", "--output", "a.png", "--dump-field", "a.raw", NULL});
    ripple_fine(&r, (const char *[]){"--seed", "6", "--output", "b.png", "--dump-field", "b.raw", NULL});
    REQUIRE(!same_file("a.png", "b.png"));
    REQUIRE(!same_file("a.raw", "b.raw"));
}

/* The field is alive, finite, and as high as waves are. */
static void field_is_sane(void)
{
    run_result r;
    ripple_fine(&r,
                (const char *[]){"--frames", "30", "--output", "a.png", "--dump-field", "dump/a.raw", NULL});
    char path[FILES_PATH_MAX];
    void *data = NULL;
    size_t size = 0;
    REQUIRE(files_read(in_scratch(path, "dump/a.raw"), &data, &size));
    REQUIRE_EQ(size, 64 * 48 * sizeof(float));
    float highest = 0.0f;
    for (size_t i = 0; i < 64 * 48; i++) {
        float height;
        memcpy(&height, (const char *)data + i * sizeof height, sizeof height);
        REQUIRE(isfinite(height));
        highest = fmaxf(highest, fabsf(height));
    }
    free(data);
    REQUIRE(highest > 0.001f && highest < 0.2f);
}

static void sequence_is_numbered(void)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--frames", "3", "--output", "s/%03d.png", NULL});
    REQUIRE(exists("s/000.png") && exists("s/001.png") && exists("s/002.png") && !exists("s/003.png"));
    REQUIRE(!same_file("s/000.png", "s/002.png"));
    ripple_fine(&r, (const char *[]){"--frames", "6", "--every", "4", "--output", "e/x.png", NULL});
    REQUIRE(exists("e/x-00000.png") && exists("e/x-00004.png") && exists("e/x-00005.png") &&
            !exists("e/x-00001.png"));
}

/* Sizes that no block, stride or aspect divides. */
static void odd_sizes(void)
{
    run_result r;
    static const char *const sizes[] = {"16x16", "67x31", "31x203", "341x16"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ripple_fine(&r, (const char *[]){"--frames", "3", "--size", sizes[i], "--output", "a.png", NULL});
        free(read_picture("a.png"));
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#endif

static void validation_is_silent(void)
{
    run_result r;
#ifdef SANITIZED
    SKIP("the validation layer leaks memory of its own, which LeakSanitizer reports");
#endif
    /* More frames than are in flight, so that everything is used again. */
    ripple(&r, (const char *[]){"--validation", "--frames", "12", "--output", "a.png", NULL});
    if (r.status != 0 && strstr(r.text, "is not installed")) SKIP("the validation layer is not installed");
    if (r.status != 0) FAIL("status %d:\n%s", r.status, r.text);
    REQUIRE(strstr(r.text, "validation: no messages"));
}

static void refused(const char *expected, const char *const *arguments)
{
    run_result r;
    run_program(&r, "ripple", run_scratch(), arguments);
    if (r.status != 2 || !strstr(r.text, expected))
        FAIL("status %d, wanted 2 and \"%s\":\n%s", r.status, expected, r.text);
}

static void bad_options_are_refused(void)
{
    refused("unknown option --sise", (const char *[]){"--sise", "3", NULL});
    refused("unknown option picture.png", (const char *[]){"picture.png", NULL});
    refused("--frames: expected something", (const char *[]){"--frames", NULL});
    refused("--frames -1: expected a number", (const char *[]){"--frames", "-1", NULL});
    refused("--frames 0: expected a number", (const char *[]){"--frames", "0", NULL});
    refused("--frames 3x: expected a number", (const char *[]){"--frames", "3x", NULL});
    refused("--seed 99999999999999999999: expected",
            (const char *[]){"--seed", "99999999999999999999", NULL});
    refused("--size 64: expected WIDTHxHEIGHT", (const char *[]){"--size", "64", NULL});
    refused("--size 64x48x2: expected", (const char *[]){"--size", "64x48x2", NULL});
    refused("--size 4x4: expected", (const char *[]){"--size", "4x4", NULL});
    refused("--size 64x99999999999: expected", (const char *[]){"--size", "64x99999999999", NULL});
    refused("--buffers 3: expected", (const char *[]){"--buffers", "3", NULL});
    refused("after % only d", (const char *[]){"--output", "a-%s.png", NULL});
    refused("after % only d", (const char *[]){"--output", "a-%d-%d.png", NULL});
    refused("ends in .png", (const char *[]){"--output", "a.jpg", NULL});
    refused("--device: expected something", (const char *[]){"--device", "", NULL});
}

static void unknown_device_is_refused(void)
{
    run_result r;
    run_program(&r, "ripple", run_scratch(), (const char *[]){"--device", "no such card", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "no device is \"no such card\""));
    run_program(&r, "ripple", run_scratch(), (const char *[]){"--device", "77", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "no device is \"77\""));
}

static void output_that_cannot_be_written(void)
{
    run_result r;
    char path[FILES_PATH_MAX];
    REQUIRE(files_write(in_scratch(path, "file"), "x", 1));
    ripple(&r, (const char *[]){"--output", "file/a.png", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "file"));
    ripple(&r, (const char *[]){"--output", "/proc/no/a.png", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "/proc/no"));
}

static void help_and_list(void)
{
    run_result r;
    run_program(&r, "ripple", run_scratch(), (const char *[]){"--help", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "--resolution"));
    run_program(&r, "ripple", run_scratch(), (const char *[]){"--device", "list", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "0  "));
}

static const test_case cases[] = {
    {.name = "picture_shows_something", .run = picture_shows_something},
    {.name = "summary_names_the_driver", .run = summary_names_the_driver},
    {.name = "same_seed_same_bytes", .run = same_seed_same_bytes},
    {.name = "one_buffer_same_bytes", .run = one_buffer_same_bytes},
    {.name = "other_seed_other_picture", .run = other_seed_other_picture},
    {.name = "field_is_sane", .run = field_is_sane},
    {.name = "sequence_is_numbered", .run = sequence_is_numbered},
    {.name = "odd_sizes", .run = odd_sizes},
    {.name = "validation_is_silent", .run = validation_is_silent},
    {.name = "bad_options_are_refused", .run = bad_options_are_refused},
    {.name = "unknown_device_is_refused", .run = unknown_device_is_refused},
    {.name = "output_that_cannot_be_written", .run = output_that_cannot_be_written},
    {.name = "help_and_list", .run = help_and_list},
    {.name = NULL},
};

TEST_SUITE(cases);
