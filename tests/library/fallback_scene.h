/* SPDX-License-Identifier: MIT */
/* What the fallback suites share: one program for every path. */
#ifndef CULVERT_TESTS_LIBRARY_FALLBACK_SCENE_H_
#define CULVERT_TESTS_LIBRARY_FALLBACK_SCENE_H_

#include "library.h"

/* Why nothing can be shared, if so. */
typedef enum scene_kind {
    SCENE_SHARED, /* all can */
    SCENE_PAGES,  /* Vulkan exports nothing, but takes pages of the host */
    SCENE_MAPPED, /* Vulkan exports nothing, and its own memory is mapped */
    SCENE_PEER,   /* Vulkan is on another GPU; skipped where there is one alone */
    SCENE_DIRECT, /* the same, and CUDA may work on its memory in place */
    SCENE_PLACED, /* the same with memory that is not dedicated */
} scene_kind;

typedef struct scene {
    lib_world w;
    scene_kind kind;
    culv_sharing path;  /* that is expected */
    culv_sharing order; /* the same of semaphores */
    CUstream stream;
    culv_shared_semaphore *to_vulkan, *to_cuda;
    uint64_t vulkan_value, cuda_value;
} scene;

/* The CUDA device whose GPU Vulkan has, 0 or 1, where there are two. */
extern int scene_draws;
/* Opens Vulkan, a device and the attachment, without the semaphores and the stream. */
void scene_open_bare(scene *s, scene_kind kind);
void scene_open(scene *s, scene_kind kind);
void scene_close(scene *s);
/* Cases in such scenes, by one of these calls. The last one is scene_open() without
 * validation, which takes signals by the host ill. */
void scene_open_unheard(scene *s, scene_kind kind);
#define SCENE_CASE(open, kind, ...) TEST_ON(scene, s, open(s, kind), scene_close(s), __VA_ARGS__)
culv_result scene_buffer(const scene *s, uint64_t size, uint32_t fallback,
                         culv_shared_buffer **out);
culv_result scene_semaphore(const scene *s, uint32_t fallback, culv_shared_semaphore **out);

/* CUDA's turn ends, and Vulkan's; waits until it is over. */
void scene_signal(scene *s);
/* Ends and submits what Vulkan does after CUDA's signal and before its next wait. */
void scene_submit(scene *s, VkCommandBuffer commands);
void scene_wait(scene *s);

/* Barriers that Culvert hands out. */
void scene_buffer_barrier(const scene *s, VkCommandBuffer commands, culv_shared_buffer *buffer,
                          bool acquire);

#endif
