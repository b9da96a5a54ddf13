/* SPDX-License-Identifier: MIT */
/* What the cases of the runtime header share: worlds whose context is current, and timelines that
 * both sides have. */
#ifndef CULVERT_TESTS_CUDART_WORLD_H_
#define CULVERT_TESTS_CUDART_WORLD_H_

#include "calls.h"
#include "library.h"

#define RT(call) require_runtime(__FILE__, __LINE__, #call, (call))
void require_runtime(const char *file, int line, const char *text, cudaError_t answer);

/* Every row of calls.h, by the language, legacy and per-thread in turn. */
#define CALLS_COUNT 8
extern const cudart_calls *const all_calls[CALLS_COUNT];
extern const cudart_launches *const all_launches[2];

/* lib_driver(), with a work queue of the device's for each stream that waits. */
const raw_cuda *use_driver(void);
/* Opens Vulkan and the device, whose context becomes current. */
void world_open(lib_world *w);
/* The same where the CUDA runtime can serve the device; else the case is skipped. */
void world_open_runtime(lib_world *w);
/* Requires that nothing is left, but for files: the runtime opens some of its own. */
void world_close(lib_world *w);
#define WORLD_CASE(...)   TEST_ON(lib_world, w, world_open(w), world_close(w), __VA_ARGS__)
#define RUNTIME_CASE(...) TEST_ON(lib_world, w, world_open_runtime(w), world_close(w), __VA_ARGS__)

/* A timeline at 0 that Vulkan and CUDA share. */
typedef struct timeline {
    VkSemaphore vk;
    culv_semaphore *culv;
} timeline;

timeline timeline_make(lib_world *w);
/* CUDA's side alone: a file descriptor of `vk` as `device` takes it, from `value` on. */
culv_semaphore *timeline_import(lib_world *w, culv_device *device, VkSemaphore vk, uint64_t value);
/* Whether it comes to `value` within so many milliseconds. */
bool timeline_reaches(lib_world *w, const timeline *t, uint64_t value, unsigned timeout_ms);
void timeline_destroy(lib_world *w, timeline *t);

#endif
