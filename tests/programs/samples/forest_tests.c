/* SPDX-License-Identifier: MIT */
/* Tests of the sample forest: the tree that Vulkan walks is whole, and what it says when a driver's
 * call fails. */
#define TEST_GROUP "forest."

#include "files.h"
#include "harness.h"
#include "run.h"

enum { WIDTH = 96, HEIGHT = 54, MAX_ARGUMENTS = 28 };

/* A short run with `more` behind, which wins. */
static void forest(run_result *out, const char *const *more)
{
    const char *list[MAX_ARGUMENTS + 1] = {"--device",  run_device(), "--particles", "40000",
                                           "--samples", "1",          "--frames",    "2",
                                           "--size",    "96x54",      "--quiet"};
    size_t count = 11;
    for (; *more; more++) {
        REQUIRE(count < MAX_ARGUMENTS);
        list[count++] = *more;
    }
    run_program(out, "forest", run_scratch(), list);
}

/* A GPU may lack what one address needs; the twin has it. */
static void forest_fine(run_result *out, const char *const *more)
{
    forest(out, more);
    if (out->status == 1 && test_driver() != TEST_DRIVER_SOFT && strstr(out->text, "one_address: "))
        SKIP("this device has no one address: %s", out->text);
    if (out->status != 0) FAIL("forest: status %d:\n%s", out->status, out->text);
}

typedef struct sums {
    char tree[20], picture[20];
} sums;

static sums sums_of(const run_result *r)
{
    sums s;
    snprintf(s.tree, 19, "%s", run_value(r, "checksum"));
    snprintf(s.picture, 19, "%s", run_value(r, "picture"));
    return s;
}

/* Mean brightness of some rows, of 255. */
static unsigned mean_of(const uint8_t *pixels, unsigned from, unsigned to)
{
    unsigned sum = 0;
    for (size_t i = (size_t)from * WIDTH * 4; i < (size_t)to * WIDTH * 4; i += 4)
        sum += (unsigned)pixels[i] + pixels[i + 1] + pixels[i + 2];
    return sum / (3u * WIDTH * (to - from));
}

/* Leaves, wood and the ground before the sky; and the next frame is another one. */
TEST(picture_shows_the_trees, .time_limit = 120)
{
    run_result r;
    char path[TEST_PATH_MAX];
    uint32_t width = 0, height = 0;
    uint8_t *first = NULL, *second = NULL;
    forest_fine(&r, (const char *[]){"--output", "f-%02d.png", NULL});
    REQUIRE(png_read_rgba(run_scratch_path(path, "f-00.png"), &width, &height, &first));
    REQUIRE(png_read_rgba(run_scratch_path(path, "f-01.png"), &width, &height, &second));
    REQUIRE_EQ(width, WIDTH);
    REQUIRE_EQ(height, HEIGHT);
    unsigned warm = 0, dark = 0, moved = 0;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        const uint8_t *p = &first[4 * i];
        warm += p[0] > p[2] + 60;
        dark += p[0] + p[1] + p[2] < 240;
        moved += memcmp(p, &second[4 * i], 3) != 0;
    }
    const unsigned sky = mean_of(first, 0, HEIGHT / 2), ground = mean_of(first, HEIGHT - 9, HEIGHT);
    MEASURED("forest_picture", "%u warm, %u dark, %u moved of %u; above %u, below %u", warm, dark,
             moved, (unsigned)(WIDTH * HEIGHT), sky, ground);
    REQUIRE(warm > WIDTH * HEIGHT / 10);
    REQUIRE(dark > WIDTH * HEIGHT / 20);
    REQUIRE(moved > WIDTH * HEIGHT / 20);
    REQUIRE(sky > ground);
    free(first);
    free(second);
}

/* The kernels have nothing that is rounded otherwise elsewhere. The picture is the driver's own,
 * but the same each time. */
TEST(same_bits_everywhere, .time_limit = 120)
{
    run_result r;
    forest_fine(&r, (const char *[]){NULL});
    const sums first = sums_of(&r);
    MEASURED("checksum", "%s, picture %s", first.tree, first.picture);
    REQUIRE_EQ(run_number(&r, "nodes"), 39999);
    REQUIRE_EQ_STR(first.tree, "\"01033046f60e21be\"");
    forest_fine(&r, (const char *[]){NULL});
    const sums second = sums_of(&r);
    REQUIRE_EQ_STR(first.tree, second.tree);
    REQUIRE_EQ_STR(first.picture, second.picture);
}

TEST(validation_is_silent, .time_limit = 120)
{
    run_result r;
    if (test_sanitized())
        SKIP("the validation layer leaks memory of its own, which LeakSanitizer reports");
    forest(&r, (const char *[]){"--validation", "--size", "16x16", NULL});
    if (r.status != 0 && strstr(r.text, "is not installed"))
        SKIP("the validation layer is not installed");
    if (r.status != 0 || strstr(r.text, "validation:")) FAIL("status %d:\n%s", r.status, r.text);
}

TEST(bad_options_are_refused)
{
    static const run_wrong wrong[] = {
        {{"--mode", "one"}, "unknown option --mode"},
        {{"--particles"}, "--particles: expected something after it"},
        {{"--particles", "29999"}, "expected a number from 30000"},
        {{"--size", "1x1"}, "expected WIDTHxHEIGHT"},
        {{"--samples", "0"}, "expected a number from 1"},
        {{"--device", "list"}, "--device list: expected auto, nvidia or soft"},
        {{"--output", "a.jpg"}, "ends in .png"},
        {{"--output", "a%s.png"}, "after % only d"},
        {{NULL}, NULL},
    };
    run_result r;
    run_refuses(forest, wrong);
    forest(&r, (const char *[]){"--help", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "Usage: forest"));
}

static void brief_run(run_result *r, const void *none)
{
    forest(r,
           (const char *[]){"--device", "soft", "--particles", "30000", "--size", "16x16", NULL});
}

/* Every call would be too many here; the suites library-torture-* have the library's. */
TEST(failures, .title = "torture.forest", .time_limit = 240)
{
    static const char *const named[] = {"cuda:cuMemAlloc:2",
                                        "cuda:cuMemAddressReserve:1",
                                        "cuda:cuMemCreate:1",
                                        "cuda:cuMemMap:1",
                                        "cuda:cuLaunchKernel:9",
                                        "cuda:cuMemcpyDtoHAsync:1",
                                        "cuda:cuMemcpyDtoH:2",
                                        "cuda:cuSignalExternalSemaphoresAsync:2",
                                        "vulkan:vkQueueBindSparse:1",
                                        "vulkan:vkCreateComputePipelines:1",
                                        "vulkan:vkQueueSubmit2:2",
                                        "vulkan:vkWaitForFences:2",
                                        NULL};
    const failing_program program = {"forest", brief_run, NULL};
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    failures_sweep(&program, "cuda", 46, 110, test_sanitized() ? 63 : 21, 0);
    failures_sweep(&program, "vulkan", 21, 60, test_sanitized() ? 39 : 13, 0);
}
