/* SPDX-License-Identifier: MIT */
/* What the cases of the runtime header share: Vulkan with the device that is the same GPU, and
 * timelines that both sides have. */
#ifndef CULVERT_TESTS_CUDART_WORLD_H_
#define CULVERT_TESTS_CUDART_WORLD_H_

#include "calls.h"
#include "harness.h"
#include "raw_cuda.h"
#include "raw_vulkan.h"

#include <culvert/vulkan.h>

#define OK(call) require_ok(__FILE__, __LINE__, #call, (call))
#define RT(call) require_runtime(__FILE__, __LINE__, #call, (call))
/* The call's class, and the class and reason of the thread's last error, which are words (INVALID,
 * VALUE). FAILS takes values. */
#define REFUSED(call, class, why) FAILS(call, CULV_ERROR_##class, CULV_REASON_##why)
#define FAILS(call, expected, reason)                                                              \
    require_error(__FILE__, __LINE__, #call, (call), expected, reason)

void require_ok(const char *file, int line, const char *text, culv_result result);
void require_runtime(const char *file, int line, const char *text, cudaError_t answer);
void require_error(const char *file, int line, const char *text, culv_result result,
                   culv_result expected, culv_reason reason);

/* An out pointer that no call returns. */
#define POISON(type) ((type *)(uintptr_t)0x5a5a5a50u)

/* Every row of calls.h, by the language, legacy and per-thread in turn. */
#define CALLS_COUNT 8
extern const cudart_calls *const all_calls[CALLS_COUNT];
extern const cudart_launches *const all_launches[2];

typedef struct world {
    const raw_cuda *cu;
    raw_vk vk;
    culv_device *device;
    culv_vk_device *attachment;
} world;

/* The driver under test, with Culvert allowed to use the same one. */
const raw_cuda *use_driver(void);
/* Opens Vulkan and the device, whose context becomes current. */
void world_open(world *w);
/* The same where the CUDA runtime can serve the device; else the case is skipped. */
void world_open_runtime(world *w);
/* Requires that nothing is left. */
void world_close(world *w);
#define WORLD_CASE(...)   TEST_ON(world, w, world_open(w), world_close(w), __VA_ARGS__)
#define RUNTIME_CASE(...) TEST_ON(world, w, world_open_runtime(w), world_close(w), __VA_ARGS__)
/* Waits (5 s at most) until no release is deferred any more. */
void world_settle(const world *w);
culv_device_counts world_counts(const world *w);
culv_vk_device_desc world_vk_desc(const world *w);

/* A timeline at 0 that Vulkan and CUDA share. */
typedef struct timeline {
    VkSemaphore vk;
    culv_semaphore *culv;
} timeline;

timeline timeline_make(world *w);
/* CUDA's side alone: a file descriptor of `vk` as `device` takes it, from `value` on. */
culv_semaphore *timeline_import(world *w, culv_device *device, VkSemaphore vk, uint64_t value);
/* Whether it comes to `value` within so many milliseconds. */
bool timeline_reaches(world *w, const timeline *t, uint64_t value, unsigned timeout_ms);
void timeline_destroy(world *w, timeline *t);

/* `blocking` streams wait for the legacy stream, and it for them. */
CUstream stream_make(const world *w, bool blocking);
void stream_destroy(const world *w, CUstream stream);

#endif
