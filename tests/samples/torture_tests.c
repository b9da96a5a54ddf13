/* SPDX-License-Identifier: MIT */
/* Tests of ripple under injected failures, which only the software twin has: whatever driver call
 * fails, the program ends, says why, and leaves nothing behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "samples_tests.h"

/* Every call would be too many for the quick tier (the long one takes smaller steps); set-up and
 * frames are both met by these, also by the second in sanitized builds, which are slow. The paths
 * make the same calls at first, so each begins with another one. */
#define STRIDE           "15"
#define SANITIZED_STRIDE "25"
#define LEAST_CALLS      70u
/* Runs in a row without a failure that went over this many calls: they are exhausted (calls on
 * other threads come and go). Three runs at least. */
#define ENOUGH_CALLS 42u
#define MOST_CALLS   600u

static void short_run(const char *path, run_result *r)
{
    ripple(r, (const char *[]){"--device", "soft", "--path", path, "--size", "16x16",
                               "--resolution", "32x32", "--steps", "1", "--frames", "4", "--quiet",
                               "--output", "a.png", NULL});
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

static void every_failure(const char *path, const char *kind, unsigned first)
{
    /* The suites library-torture-* have the library's ways out of a failure; the sample's threads
     * end the same way in failure_in_mid_run_*. */
    if (test_thread_sanitized() && !test_option("stride", NULL))
        SKIP("ThreadSanitizer sees these ends in other cases");
    run_result whole;
    short_run(path, &whole);
    if (whole.status != 0)
        SKIP("the software twin, which alone fails on demand, has no device: %s", whole.text);
    const char *step = test_option("stride", test_sanitized() ? SANITIZED_STRIDE : STRIDE);
    const unsigned stride = (unsigned)strtoul(step, NULL, 10);
    REQUIRE(stride > 0);
    const unsigned enough = 3 * stride >= ENOUGH_CALLS ? 3 : ENOUGH_CALLS / stride + 1;
    unsigned affected = 0, unaffected = 0;
    for (unsigned n = 1 + first % stride; n < MOST_CALLS && unaffected < enough; n += stride) {
        run_result r;
        char which[32];
        snprintf(which, sizeof which, "%s:%u", kind, n);
        one_failure(path, which, &r);
        affected += r.status == 1;
        unaffected = r.status == 0 ? unaffected + 1 : 0;
    }
    MEASURED("runs_that_ended", "%s, %s: %u", path, kind, affected);
    REQUIRE(affected * stride >= LEAST_CALLS && unaffected == enough);
}

static void cuda_ring(void)
{
    every_failure("ring", "cuda", 0);
}

static void vulkan_ring(void)
{
    every_failure("ring", "vulkan", 0);
}

static void cuda_shared(void)
{
    every_failure("shared", "cuda", 5);
}

static void cuda_staged(void)
{
    every_failure("staged", "cuda", 10);
}

static void vulkan_shared(void)
{
    every_failure("shared", "vulkan", 5);
}

static void vulkan_staged(void)
{
    every_failure("staged", "vulkan", 10);
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
