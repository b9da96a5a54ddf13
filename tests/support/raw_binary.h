/* SPDX-License-Identifier: MIT */
/* A binary semaphore with both its sides: CUDA's by a new fd to import, and Vulkan's. The twin can
 * play the other side, too (soft/shared/control.h), for cases that count driver calls or lose it:
 *
 *   raw_binary ready, done;
 *   raw_binary_create(&vk, cu, &ready);   // skips the case where Vulkan exports none
 *   CU_OK(raw_cuda_import_binary(cu, raw_binary_fd(&vk, &ready), &semaphore));
 *   ...                                   // CUDA signals `ready`
 *   raw_binary_turn turn = {.wait = &ready, .signal = &done};
 *   raw_vk_copy(&vk, from, 0, to, 0, size, raw_binary_turn_begin(cu, &turn));
 *   ...                                   // CUDA waits for `done` */
#ifndef CULVERT_TESTS_RAW_BINARY_H_
#define CULVERT_TESTS_RAW_BINARY_H_

#include "raw_cuda.h"
#include "raw_vulkan.h"

typedef struct raw_binary {
    VkSemaphore vk; /* null: the other side is played */
    int peer;       /* the played side's fd; -1: not played */
} raw_binary;

/* What the Vulkan driver says of binary semaphores as opaque fds. */
VkExternalSemaphoreProperties raw_binary_properties(const raw_vk *vk);
void raw_binary_create(raw_vk *vk, const raw_cuda *cu, raw_binary *out);
/* As raw_binary_create, played whatever Vulkan can; the driver must be the twin. */
void raw_binary_create_played(const raw_cuda *cu, const uint8_t uuid[16], raw_binary *out);
int raw_binary_fd(raw_vk *vk, const raw_binary *binary); /* a new fd; the caller owns it */
void raw_binary_destroy(raw_vk *vk, raw_binary *binary);

/* One submission of Vulkan's. */
typedef struct raw_binary_turn {
    uint32_t queue;
    const raw_binary *wait;   /* NULL: none */
    const raw_binary *signal; /* NULL: none */
    raw_vk_job job;           /* filled in by _begin */
} raw_binary_turn;

const raw_vk_job *raw_binary_turn_begin(const raw_cuda *cu, raw_binary_turn *turn);
/* The other side signals, or waits: a submission without work. */
void raw_binary_signal(raw_vk *vk, const raw_cuda *cu, const raw_binary *binary);
/* False: no signal came within the time. Vulkan's submission is then still pending: leave by
 * test_pass(). */
bool raw_binary_wait(raw_vk *vk, const raw_cuda *cu, const raw_binary *binary, unsigned timeout_ms);

#endif
