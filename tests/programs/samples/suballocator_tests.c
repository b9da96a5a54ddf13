/* SPDX-License-Identifier: MIT */
/* Tests of the sample suballocator: each tile of its picture against the pattern computed here,
 * which tells that each resource was mapped where it lies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "png_file.h"
#include "run.h"

enum { COLUMNS = 4, TILES = 12, WIDTH = 160, HEIGHT = 120 };

static void suballocator(run_result *out, const char *option, const char *value)
{
    const char *const arguments[] = {"--device", run_device(), "--output", "sheet.png",
                                     option,     value,        NULL};
    run_program(out, "suballocator", run_scratch(), arguments);
}

static double wave(double x)
{
    return 0.5 + 0.5 * sin(x);
}

/* What the sample's kernels compute, at the middle of a pixel of the tile. */
static void expected(int number, int x, int y, double width, double height, double rgb[3])
{
    double u = (x + 0.5) / WIDTH - 0.5 - 0.5 / width, v = (y + 0.5) / HEIGHT - 0.5 - 0.5 / height;
    double a = wave(20 * u + number), b = wave(16 * v + 2 * number),
           c = wave(30 * sqrt(u * u + v * v) - number);
    rgb[0] = 255 * a * c;
    rgb[1] = 255 * b;
    rgb[2] = 255 * (1 - c) * (0.4 + 0.6 * a);
}

static double srgb_to_linear(double byte)
{
    double s = byte / 255;
    return 255 * (s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4));
}

/* Mean difference of a tile, in steps of 8 bits. */
static double tile_difference(const uint8_t *pixels, int tile, double width, double height,
                              bool srgb)
{
    double sum = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const uint8_t *p = pixels + 4 * ((tile / COLUMNS * HEIGHT + y) * COLUMNS * WIDTH +
                                             tile % COLUMNS * WIDTH + x);
            double rgb[3];
            expected(tile, x, y, width, height, rgb);
            for (int i = 0; i < 3; i++)
                sum += fabs(p[i] - (srgb ? srgb_to_linear(rgb[i]) : rgb[i]));
        }
    return sum / (3.0 * WIDTH * HEIGHT);
}

static void every_resource_is_shown(void)
{
    run_result r;
    uint32_t width = 0, height = 0;
    uint8_t *pixels = NULL;
    char path[TEST_PATH_MAX];
    suballocator(&r, NULL, NULL);
    if (r.status != 0) FAIL("suballocator: status %d:\n%s", r.status, r.text);
    if (!strstr(r.text, "\"resources\": 12") || !strstr(r.text, "\"imports\": 1,") ||
        !strstr(r.text, "\"mappings\": 9}"))
        FAIL("not one import, one mapping for all buffers and one an image:\n%s", r.text);
    REQUIRE(png_read_rgba(run_scratch_path(path, "sheet.png"), &width, &height, &pixels));
    REQUIRE_EQ(width, COLUMNS * WIDTH);
    REQUIRE_EQ(height, TILES / COLUMNS * HEIGHT);
    for (int tile = 0; tile < TILES; tile++) {
        bool odd = tile == 5, cube = tile == 9; /* these two are scaled to the tile */
        double d = tile_difference(pixels, tile,
                                   odd    ? 253
                                   : cube ? 128
                                          : WIDTH,
                                   odd    ? 127
                                   : cube ? 128
                                          : HEIGHT,
                                   tile == 11);
        printf("  tile %d: mean difference %.3f\n", tile, d);
        if (d > (odd || cube ? 4.0 : 1.0))
            FAIL("tile %d differs by %.2f of 255 on average", tile, d);
    }
    free(pixels);
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
    suballocator(&r, "--validation", NULL);
    if (r.status != 0 && strstr(r.text, "is not installed"))
        SKIP("the validation layer is not installed");
    if (r.status != 0 || strstr(r.text, "validation:")) FAIL("status %d:\n%s", r.status, r.text);
}

static void bad_options_are_refused(void)
{
    run_result r;
    suballocator(&r, "--sise", NULL);
    REQUIRE_EQ(r.status, 2);
    REQUIRE(strstr(r.text, "unknown option --sise"));
    suballocator(&r, "--output", NULL);
    REQUIRE_EQ(r.status, 2);
    suballocator(&r, "--device", "no such device");
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "no device is \"no such device\""));
    suballocator(&r, "--output", "/proc/nowhere/sheet.png");
    REQUIRE_EQ(r.status, 1);
    suballocator(&r, "--help", NULL);
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "Usage: suballocator"));
}

static const test_case cases[] = {
    {.name = "every_resource_is_shown", .run = every_resource_is_shown},
    {.name = "validation_is_silent", .run = validation_is_silent},
    {.name = "bad_options_are_refused", .run = bad_options_are_refused},
    {.name = NULL},
};
TEST_SUITE(cases);
