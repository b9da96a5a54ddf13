/* SPDX-License-Identifier: MIT */
/* What the contract suite's files share: one CUDA device with its Vulkan device, and a buffer in
 * both. A row is a sentence about the drivers that the library rests on. What a driver answers
 * there is an ANSWER, held against what an NVIDIA driver answered; MEASURED is for times, addresses
 * and whatever else changes from run to run. */
#ifndef CULVERT_TESTS_CONTRACT_H_
#define CULVERT_TESTS_CONTRACT_H_

#include "answers.h"
#include "raw_cuda.h"
#include "raw_vulkan.h"

typedef struct pair {
    const raw_cuda *cu;
    CUdevice device;
    CUuuid uuid;
    CUcontext context; /* primary, current */
    CUstream stream;
    raw_vk vk; /* holds a pointer to itself: do not move */
} pair;

void pair_open(pair *p);
/* And requires that nothing is left on either side, as far as the drivers can be asked. */
void pair_close(pair *p);
#define PAIR_CASE(...) TEST_ON(pair, p, pair_open(p), pair_close(p), __VA_ARGS__)

/* A Vulkan buffer imported by CUDA and mapped whole. */
typedef struct shared_buffer {
    raw_vk_buffer vk;
    CUexternalMemory memory;
    CUdeviceptr pointer;
} shared_buffer;

/* vk_flags besides RAW_VK_EXPORT. */
void shared_buffer_open(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag,
                        shared_buffer *out);
void shared_buffer_close(pair *p, shared_buffer *buffer);

/* A timeline of Vulkan, imported by CUDA. */
typedef struct shared_timeline {
    VkSemaphore vk;
    CUexternalSemaphore cu;
} shared_timeline;

void shared_timeline_open(pair *p, uint64_t initial, shared_timeline *out);
void shared_timeline_close(pair *p, shared_timeline *timeline);

/* size / 4 words that differ from word to word and from seed to seed; freed by the caller. */
uint32_t *pattern_words(size_t size, uint32_t seed);
/* Whether `size` bytes at a CUDA address of `buffer`, `offset` into it, are the same memory on both
 * sides, written by either: the bytes that are wrong, counted and answered. */
void answer_same_memory(pair *p, const char *key, const raw_vk_buffer *buffer, VkDeviceSize offset,
                        CUdeviceptr pointer, size_t size, uint32_t seed);
/* Answers what was wrong of how much, or what a call returned, and requires 0, or that result. */
void answer_wrong(const char *key, size_t wrong, size_t all);
void answer_is(const char *key, CUresult result, CUresult expected);
/* A key of several parts for ANSWER. This thread's next call overwrites it. */
const char *answer_key(const char *format, ...) TEST_PRINTF(1, 2);

/* Whether both numbers are open and name the same open file. */
bool same_file(int a, int b);
bool fd_open(int fd);
/* Device memory reads and writes that end the case on failure. */
void cuda_read(const pair *p, CUdeviceptr from, void *to, size_t size);

/* Of the pair's stream; polls, so that work which never ends is seen (CUDA_ERROR_NOT_READY) and not
 * waited for. */
CUresult stream_result(const pair *p, unsigned milliseconds);
/* How long to wait for what comes on the twin, however busy the machine, and may never come on a
 * real driver, which gets `milliseconds`. */
unsigned patience(const pair *p, unsigned milliseconds);

#endif
