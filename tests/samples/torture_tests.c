/* Tests of ripple under injected failures, which only the software twin has: whatever driver call fails, the
 * program ends, says why, and leaves nothing behind. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "samples_tests.h"

/* Every call would be too many for the quick tier; set-up and frames are both met by these, also by the second in
 * sanitized builds, which are slow. */
#define STRIDE           7u
#define SANITIZED_STRIDE 13u
/* This many runs in a row without a failure: the calls are exhausted (calls on other threads come and go). */
#define ENOUGH_UNAFFECTED 6u
#define MOST_CALLS        600u

static void short_run(const char *path, run_result *r)
{
    ripple(r, (const char *[]){"--device", "soft", "--path", path, "--size", "16x16", "--resolution", "32x32",
                               "--steps", "1", "--frames", "4", "--quiet", "--output", "a.png", NULL});
}

static void one_failure(const char *path, const char *which, run_result *r)
{
    REQUIRE(setenv("CULVERT_SOFT_FAIL_AT", which, 1) == 0);
    short_run(path, r);
    if ((r->status != 0 && r->status != 1) || strstr(r->text, "Sanitizer") ||
        strstr(r->text, "runtime error"))
        FAIL("%s %s: status %d:\n%s", path, which, r->status, r->text);
    if (r->status == 1 && !strstr(r->text, "ripple: "))
        FAIL("%s %s: it ended without a word:\n%s", path, which, r->text);
}

static void every_failure(const char *path, const char *kind)
{
    run_result whole;
    short_run(path, &whole);
    if (whole.status != 0)
        SKIP("the software twin, which alone fails on demand, has no device: %s", whole.text);
    const unsigned stride = test_sanitized() ? SANITIZED_STRIDE : STRIDE;
    unsigned affected = 0, unaffected = 0;
    for (unsigned n = 1; n < MOST_CALLS && unaffected < ENOUGH_UNAFFECTED; n += stride) {
        run_result r;
        char which[32];
        snprintf(which, sizeof which, "%s:%u", kind, n);
        one_failure(path, which, &r);
        affected += r.status == 1;
        unaffected = r.status == 0 ? unaffected + 1 : 0;
    }
    MEASURED("runs_that_ended", "%s, %s: %u", path, kind, affected);
    REQUIRE(affected * stride >= 10 * STRIDE && unaffected == ENOUGH_UNAFFECTED);
}

static void cuda_ring(void)
{
    every_failure("ring", "cuda");
}

static void vulkan_ring(void)
{
    every_failure("ring", "vulkan");
}

static void cuda_shared(void)
{
    every_failure("shared", "cuda");
}

static void cuda_staged(void)
{
    every_failure("staged", "cuda");
}

static void vulkan_shared(void)
{
    every_failure("shared", "vulkan");
}

static void vulkan_staged(void)
{
    every_failure("staged", "vulkan");
}

const test_case torture_cases[] = {
    {.name = "torture.cuda_ring", .run = cuda_ring, .time_limit = 240},
    {.name = "torture.vulkan_ring", .run = vulkan_ring, .time_limit = 240},
    {.name = "torture.cuda_shared", .run = cuda_shared, .time_limit = 240},
    {.name = "torture.cuda_staged", .run = cuda_staged, .time_limit = 240},
    {.name = "torture.vulkan_shared", .run = vulkan_shared, .time_limit = 240},
    {.name = "torture.vulkan_staged", .run = vulkan_staged, .time_limit = 240},
    {.name = NULL},
};
