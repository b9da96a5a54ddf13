/* SPDX-License-Identifier: MIT */
/* Tests of ripple under injected failures, which only the software twin has: whatever driver call
 * fails, the program ends, says why, and leaves nothing behind. */
#define TEST_GROUP "torture."

#include "failures.h"
#include "harness.h"
#include "samples_tests.h"

/* Runs in a row without a failure that went over this many calls: they are exhausted (calls on
 * other threads come and go). Three runs at least. */
#define ENOUGH_CALLS 42u
#define MOST_CALLS   600u

static void short_run(run_result *r, const void *way)
{
    ripple(r,
           (const char *[]){"--device", "soft", way, "--size", "16x16", "--resolution", "32x32",
                            "--steps", "1", "--frames", "4", "--quiet", "--output", "a.png", NULL});
}

/* The paths make the same calls at first, so each sweep begins with another one. */
static void failures(const char *way, const char *kind, unsigned first, const char *const *named)
{
    if (test_thread_sanitized()) SKIP("ThreadSanitizer sees these ends in other cases");
    const failing_program program = {"ripple", short_run, way};
    const unsigned stride = test_sanitized() ? 7 : 4;
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    failures_sweep(&program, kind, 1 + first % stride, MOST_CALLS, stride,
                   3 * stride >= ENOUGH_CALLS ? 3 : ENOUGH_CALLS / stride + 1);
}

TEST_AS(cuda_ring,
        failures("--path=ring", "cuda", 0,
                 (const char *[]){"cuda:cuInit:1", "cuda:cuModuleLoadData:1", "cuda:cuMemAlloc:2",
                                  "cuda:cuImportExternalMemory:3",
                                  "cuda:cuImportExternalSemaphore:2", "cuda:cuLaunchKernel:3",
                                  "cuda:cuEventRecord:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_ring,
        failures("--path=ring", "vulkan", 0,
                 (const char *[]){"vulkan:vkCreateDevice:1", "vulkan:vkAllocateMemory:3",
                                  "vulkan:vkCreateGraphicsPipelines:2", "vulkan:vkGetMemoryFdKHR:2",
                                  "vulkan:vkGetSemaphoreFdKHR:2", "vulkan:vkQueueSubmit2:1", NULL}),
        .time_limit = 240)
TEST_AS(cuda_shared,
        failures("--path=shared", "cuda", 5,
                 (const char *[]){"cuda:cuModuleGetFunction:3",
                                  "cuda:cuExternalMemoryGetMappedBuffer:1",
                                  "cuda:cuSignalExternalSemaphoresAsync:3",
                                  "cuda:cuWaitExternalSemaphoresAsync:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_shared,
        failures("--path=shared", "vulkan", 5,
                 (const char *[]){"vulkan:vkCreateImage:2", "vulkan:vkBindBufferMemory:3",
                                  "vulkan:vkQueueSubmit2:1", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_in_queue,
        failures("--path=in-queue", "vulkan", 15,
                 (const char *[]){"vulkan:vkCreateCuModuleNVX:1", "vulkan:vkCreateCuFunctionNVX:2",
                                  "vulkan:vkAllocateMemory:3", "vulkan:vkQueueSubmit2:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_async,
        failures("--path=async", "vulkan", 2,
                 (const char *[]){"vulkan:vkCreateCuModuleNVX:1", "vulkan:vkCreateSemaphore:2",
                                  "vulkan:vkQueueSubmit2:3", "vulkan:vkWaitForFences:2", NULL}),
        .time_limit = 240)
TEST_AS(cuda_replay,
        failures("--path=replay", "cuda", 12,
                 (const char *[]){"cuda:cuStreamBeginCapture:2", "cuda:cuStreamEndCapture:2",
                                  "cuda:cuLaunchKernel:3", "cuda:cuGraphGetEdges:2",
                                  "cuda:cuGraphKernelNodeGetParams:3", NULL}),
        .time_limit = 240)

TEST(cuda_bands, .own = true, .time_limit = 240)
{
    setenv("CULVERT_SOFT_DEVICES", "3", 1);
    failures("--solver-gpus=1,2", "cuda", 9,
             (const char *[]){"cuda:cuMemCreate:2", "cuda:cuMemSetAccess:2", "cuda:cuEventCreate:2",
                              "cuda:cuMemcpyAsync:2", "cuda:cuStreamWaitEvent:3",
                              "cuda:cuImportExternalMemory:3", "cuda:cuImportExternalSemaphore:3",
                              "cuda:cuLaunchKernel:4", NULL});
}
