/* SPDX-License-Identifier: MIT */
/* Tests of the sample swarm: its own check by data, what its pictures show, and its end when a
 * driver's call fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failures.h"
#include "files.h"
#include "harness.h"
#include "png_file.h"
#include "run.h"

enum { WIDTH = 320, HEIGHT = 180, MAX_ARGUMENTS = 24 };

/* A short run, through four chunks of 65536 particles, with `more` behind, which wins. */
static void swarm(run_result *out, const char *const *more)
{
    const char *list[MAX_ARGUMENTS + 1] = {"--device",  run_device(), "--particles", "20000",
                                           "--grow-to", "200000",     "--frames",    "10",
                                           "--size",    "320x180"};
    size_t count = 10;
    for (; *more; more++) {
        REQUIRE(count < MAX_ARGUMENTS);
        list[count++] = *more;
    }
    run_program(out, "swarm", run_scratch(), list);
}

static void swarm_fine(run_result *out, const char *const *more)
{
    swarm(out, more);
    if (out->status != 0) FAIL("swarm: status %d:\n%s", out->status, out->text);
}

/* Pixels that are brighter than the background. */
static unsigned lit_pixels(const char *name)
{
    char path[TEST_PATH_MAX];
    uint32_t width = 0, height = 0;
    uint8_t *pixels = NULL;
    REQUIRE(png_read_rgba(run_scratch_path(path, name), &width, &height, &pixels));
    REQUIRE_EQ(width, WIDTH);
    REQUIRE_EQ(height, HEIGHT);
    unsigned lit = 0;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++)
        lit += pixels[4 * i] + pixels[4 * i + 1] + pixels[4 * i + 2] >
               3 + pixels[0] + pixels[1] + pixels[2];
    free(pixels);
    return lit;
}

static void chunks_come_and_buffers_stay(void)
{
    run_result r;
    swarm_fine(&r, (const char *[]){"--particles", "50", "--steps", "40", "--output", "f.png",
                                    "--every", "9", NULL});
    REQUIRE(strstr(r.text, "check: 200000 particles in 4 buffers of Vulkan's are what CUDA has"));
    REQUIRE_EQ(run_number(&r, "chunks"), 4);
    REQUIRE_EQ(run_number(&r, "committed_bytes"), 4 << 21);
    REQUIRE_EQ(run_number(&r, "peak_bytes"), 4 << 21);
    /* The thread that commits ahead has the second half of a chunk's frames for it: never are there
     * two at once. */
    REQUIRE_EQ(run_number(&r, "growths"), 4);
    REQUIRE(strstr(r.text, "Vulkan: 1 new, 3 kept"));
    unsigned few = lit_pixels("f-00000.png"), many = lit_pixels("f-00009.png");
    MEASURED("lit_pixels", "%u, then %u of %u", few, many, (unsigned)(WIDTH * HEIGHT));
    REQUIRE(few > 200 && few <= 50 * 25); /* a point glows over 5 x 5 pixels */
    REQUIRE(many > 2 * few);
    REQUIRE(many < (unsigned)(WIDTH * HEIGHT) * 3 / 4);
}

/* The kernels add and multiply alone, so the particles are the same bits everywhere. */
static void same_bits_everywhere(void)
{
    run_result r;
    char checksum[20];
    swarm_fine(&r, (const char *[]){"--quiet", "--size", "32x18", NULL});
    run_checksum(checksum, &r);
    MEASURED("checksum", "%s", checksum);
    if (strstr(r.text, "software twin")) REQUIRE_EQ_STR(checksum, "\"4f43dc41a85bcd5f\"");
}

static void validation_is_silent(void)
{
    run_result r;
    if (test_sanitized())
        SKIP("the validation layer leaks memory of its own, which LeakSanitizer reports");
    swarm(&r, (const char *[]){"--validation", "--size", "32x18", NULL});
    if (r.status != 0 && strstr(r.text, "is not installed"))
        SKIP("the validation layer is not installed");
    if (r.status != 0 || !strstr(r.text, "validation: no messages"))
        FAIL("status %d:\n%s", r.status, r.text);
}

static void sparse_is_the_same(void)
{
    run_result r, plain;
    char path[TEST_PATH_MAX], checksum[20], plain_checksum[20];
    void *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    swarm(&r, (const char *[]){"--sparse", "--output", "sparse.png", NULL});
    if (r.status == 1 && strstr(r.text, " sparse buffers"))
        SKIP("this device has none: %s", r.text);
    if (r.status != 0) FAIL("swarm: status %d:\n%s", r.status, r.text);
    REQUIRE_EQ(run_number(&r, "buffers"), 1);
    swarm_fine(&plain, (const char *[]){"--output", "plain.png", NULL});
    run_checksum(checksum, &r);
    run_checksum(plain_checksum, &plain);
    REQUIRE_EQ_STR(checksum, plain_checksum);
    REQUIRE(files_read(run_scratch_path(path, "sparse.png"), &a, &a_size));
    REQUIRE(files_read(run_scratch_path(path, "plain.png"), &b, &b_size));
    REQUIRE(a_size == b_size && memcmp(a, b, a_size) == 0);
    free(a);
    free(b);
}

/* The same kernels in Vulkan's queues, a launch a chunk: the same particles, the same picture. */
static void queues_are_the_same(void)
{
    static const char *const paths[] = {"--path=shared", "--path=in-queue", "--path=async"};
    char checksum[3][20], path[TEST_PATH_MAX];
    void *pictures[3] = {NULL, NULL, NULL};
    size_t sizes[3];
    for (size_t i = 0; i < 3; i++) {
        run_result r;
        const char *const list[] = {paths[i], "--size",
                                    "160x90", "--output",
                                    "q.png",  test_sanitized() || i == 0 ? NULL : "--validation",
                                    NULL};
        swarm(&r, list);
        if (i == 1 && r.status == 1 && strstr(r.text, "VK_NVX_binary_import"))
            SKIP("the device has no kernels in command buffers");
        if (r.status == 1 && strstr(r.text, "is not installed"))
            SKIP("the validation layer is not installed");
        if (r.status != 0) FAIL("%s: status %d:\n%s", paths[i], r.status, r.text);
        run_checksum(checksum[i], &r);
        REQUIRE(files_read(run_scratch_path(path, "q.png"), &pictures[i], &sizes[i]));
    }
    for (size_t i = 1; i < 3; i++) {
        REQUIRE_EQ_STR(checksum[i], checksum[0]);
        REQUIRE(sizes[i] == sizes[0] && memcmp(pictures[i], pictures[0], sizes[0]) == 0);
    }
    for (size_t i = 0; i < 3; i++)
        free(pictures[i]);
}

static void bad_options_are_refused(void)
{
    static const run_wrong wrong[] = {
        {{"--particle", "5"}, "unknown option --particle"},
        {{"--particles"}, "--particles: expected something after it"},
        {{"--particles", "x"}, "expected a number from 1"},
        {{"--particles", "9", "--grow-to", "8"}, "--grow-to 8: they are 9 to begin with"},
        {{"--size", "1x1"}, "expected WIDTHxHEIGHT"},
        {{"--frames", "0"}, "expected a number from 1"},
        {{"--output", "a.jpg"}, "ends in .png"},
        {{"--path", "ring"}, "--path ring: expected shared, in-queue or async"},
        {{"--output", "a%s.png"}, "after % only d"},
        {{NULL}, NULL},
    };
    run_result r;
    run_refuses(swarm, wrong);
    swarm(&r, (const char *[]){"--device", "no such device", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "no device is \"no such device\""));
    swarm(&r, (const char *[]){"--help", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "Usage: swarm"));
}

static void brief_run(run_result *r, const void *unused)
{
    (void)unused;
    swarm(r, (const char *[]){"--device", "soft", "--particles", "60000", "--grow-to", "140000",
                              "--frames", "3", "--size", "16x16", "--quiet", NULL});
}

/* Every call would be too many here; the suites library-torture-* have the library's. The sweep is
 * of all stages from the attachment on: in the run, and in the check behind it. */
static void failures(const char *const *named, const char *kind, unsigned first, unsigned last,
                     unsigned stride)
{
    const failing_program program = {"swarm", brief_run, NULL};
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    failures_sweep(&program, kind, first, last, test_sanitized() ? stride * 3 : stride, 0);
}

TEST_AS(cuda_failures_end_it,
        failures((const char *[]){"cuda:cuMemAddressReserve:1", "cuda:cuEventRecord:2",
                                  "cuda:cuImportExternalSemaphore:2", "cuda:cuLaunchKernel:2",
                                  "cuda:cuSignalExternalSemaphoresAsync:2", "cuda:cuMemcpyDtoH:2",
                                  NULL},
                 "cuda", 46, 130, 14))
TEST_AS(vulkan_failures_end_it,
        failures((const char *[]){"vulkan:vkAllocateMemory:2", "vulkan:vkBindBufferMemory:3",
                                  "vulkan:vkCreateGraphicsPipelines:2", "vulkan:vkQueueSubmit2:3",
                                  "vulkan:vkWaitForFences:2", NULL},
                 "vulkan", 21, 110, 18))

static void queue_run(run_result *r, const void *path)
{
    swarm(r, (const char *[]){"--device", "soft", "--particles", "60000", "--grow-to", "140000",
                              "--frames", "3", "--size", "16x16", "--quiet", "--path", path, NULL});
}

static void queue_failures_end_it(void)
{
    static const char *const calls[] = {"vulkan:vkCreateCuModuleNVX:1",
                                        "vulkan:vkCreateCuFunctionNVX:2", "vulkan:vkQueueSubmit2:2",
                                        NULL};
    const failing_program in_queue = {"swarm", queue_run, "in-queue"},
                          async = {"swarm", queue_run, "async"};
    failures_need_the_twin(&in_queue);
    failures_must_end(&in_queue, calls);
    failures_must_end(&async, calls);
}

static const test_case cases[] = {
    {.name = "chunks_come_and_buffers_stay", .run = chunks_come_and_buffers_stay},
    {.name = "same_bits_everywhere", .run = same_bits_everywhere},
    {.name = "validation_is_silent", .run = validation_is_silent},
    {.name = "sparse_is_the_same", .run = sparse_is_the_same},
    {.name = "queues_are_the_same", .run = queues_are_the_same},
    {.name = "bad_options_are_refused", .run = bad_options_are_refused},
    {.name = "cuda_failures_end_it", .run = cuda_failures_end_it, .time_limit = 120},
    {.name = "vulkan_failures_end_it", .run = vulkan_failures_end_it, .time_limit = 120},
    {.name = "queue_failures_end_it", .run = queue_failures_end_it, .time_limit = 120},
    {.name = NULL},
};
TEST_SUITE(cases);
