/* SPDX-License-Identifier: MIT */
/* Tests of ripple under injected failures, which only the software twin has: whatever driver call
 * fails, the program ends, says why, and leaves nothing behind. */
#include <stdlib.h>

#include "failures.h"
#include "harness.h"
#include "samples_tests.h"

/* Every call would be too many for the quick tier (the long one takes smaller steps); set-up and
 * frames are both met by these, also by the second in sanitized builds, which are slow. The paths
 * make the same calls at first, so each begins with another one. */
#define STRIDE           "21"
#define SANITIZED_STRIDE "35"
/* Runs in a row without a failure that went over this many calls: they are exhausted (calls on
 * other threads come and go). Three runs at least. */
#define ENOUGH_CALLS 42u
#define MOST_CALLS   600u

static void short_run(run_result *r, const void *path)
{
    ripple(r, (const char *[]){"--device", "soft", "--path", path, "--size", "16x16",
                               "--resolution", "32x32", "--steps", "1", "--frames", "4", "--quiet",
                               "--output", "a.png", NULL});
}

static void failures(const char *path, const char *kind, unsigned first, const char *const *named)
{
    /* The suites library-torture-* have the library's ways out of a failure; the sample's threads
     * end the same way in failure_in_mid_run_*. */
    if (test_thread_sanitized() && !test_option("stride", NULL))
        SKIP("ThreadSanitizer sees these ends in other cases");
    const failing_program program = {"ripple", short_run, path};
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    const char *step = test_option("stride", test_sanitized() ? SANITIZED_STRIDE : STRIDE);
    const unsigned stride = (unsigned)strtoul(step, NULL, 10);
    REQUIRE(stride > 0);
    const unsigned enough = 3 * stride >= ENOUGH_CALLS ? 3 : ENOUGH_CALLS / stride + 1;
    failures_sweep(&program, kind, 1 + first % stride, MOST_CALLS, stride, enough);
}

/* The sweep in the long tier alone: all but the named calls are the shared path's. */
static void queue_failures(const char *path, const char *kind, unsigned first,
                           const char *const *named)
{
    const failing_program program = {"ripple", short_run, path};
    if (test_option("stride", NULL)) {
        failures(path, kind, first, named);
        return;
    }
    if (test_thread_sanitized()) SKIP("ThreadSanitizer sees these ends in other cases");
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
}

TEST_AS(cuda_ring, failures("ring", "cuda", 0,
                            (const char *[]){
                                "cuda:cuInit:1", "cuda:cuModuleLoadData:1", "cuda:cuMemAlloc:2",
                                "cuda:cuImportExternalMemory:3", "cuda:cuImportExternalSemaphore:2",
                                "cuda:cuLaunchKernel:3", "cuda:cuEventRecord:2", NULL}))
TEST_AS(vulkan_ring,
        failures("ring", "vulkan", 0,
                 (const char *[]){"vulkan:vkCreateDevice:1", "vulkan:vkAllocateMemory:3",
                                  "vulkan:vkCreateGraphicsPipelines:2", "vulkan:vkGetMemoryFdKHR:2",
                                  "vulkan:vkGetSemaphoreFdKHR:2", "vulkan:vkQueueSubmit2:1", NULL}))
TEST_AS(cuda_shared, failures("shared", "cuda", 5,
                              (const char *[]){"cuda:cuModuleGetFunction:3",
                                               "cuda:cuExternalMemoryGetMappedBuffer:1",
                                               "cuda:cuSignalExternalSemaphoresAsync:3",
                                               "cuda:cuWaitExternalSemaphoresAsync:2", NULL}))
TEST_AS(cuda_staged, failures("staged", "cuda", 10,
                              (const char *[]){"cuda:cuMemcpyDtoHAsync:2", "cuda:cuMemcpyHtoD:2",
                                               "cuda:cuEventSynchronize:2", NULL}))
TEST_AS(vulkan_shared,
        failures("shared", "vulkan", 5,
                 (const char *[]){"vulkan:vkCreateImage:2", "vulkan:vkBindBufferMemory:3",
                                  "vulkan:vkQueueSubmit2:1", NULL}))
TEST_AS(vulkan_staged,
        failures("staged", "vulkan", 10,
                 (const char *[]){"vulkan:vkCreateSemaphore:1", "vulkan:vkMapMemory:2",
                                  "vulkan:vkQueueSubmit2:3", "vulkan:vkWaitForFences:3", NULL}))
TEST_AS(vulkan_in_queue, queue_failures("in-queue", "vulkan", 15,
                                        (const char *[]){"vulkan:vkCreateCuModuleNVX:1",
                                                         "vulkan:vkCreateCuFunctionNVX:2",
                                                         "vulkan:vkAllocateMemory:3",
                                                         "vulkan:vkQueueSubmit2:2", NULL}))
TEST_AS(vulkan_async,
        queue_failures("async", "vulkan", 2,
                       (const char *[]){"vulkan:vkCreateCuModuleNVX:1",
                                        "vulkan:vkCreateSemaphore:2", "vulkan:vkQueueSubmit2:3",
                                        "vulkan:vkWaitForFences:2", NULL}))
TEST_AS(cuda_replay,
        queue_failures("replay", "cuda", 12,
                       (const char *[]){"cuda:cuStreamBeginCapture:2", "cuda:cuStreamEndCapture:2",
                                        "cuda:cuLaunchKernel:3", "cuda:cuGraphGetEdges:2",
                                        "cuda:cuGraphKernelNodeGetParams:3", NULL}))

const test_case torture_cases[] = {
    {.name = "torture.cuda_ring", .run = cuda_ring, .time_limit = 240},
    {.name = "torture.vulkan_ring", .run = vulkan_ring, .time_limit = 240},
    {.name = "torture.cuda_shared", .run = cuda_shared, .time_limit = 240},
    {.name = "torture.cuda_staged", .run = cuda_staged, .time_limit = 240},
    {.name = "torture.vulkan_shared", .run = vulkan_shared, .time_limit = 240},
    {.name = "torture.vulkan_staged", .run = vulkan_staged, .time_limit = 240},
    {.name = "torture.vulkan_in_queue", .run = vulkan_in_queue, .time_limit = 240},
    {.name = "torture.vulkan_async", .run = vulkan_async, .time_limit = 240},
    {.name = "torture.cuda_replay", .run = cuda_replay, .time_limit = 240},
    {.name = NULL},
};
