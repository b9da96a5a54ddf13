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

#include <pthread.h>

typedef struct pair {
    const raw_cuda *cu;
    CUdevice device;
    CUuuid uuid;
    CUcontext context; /* primary, current */
    CUstream stream;
    raw_vk vk; /* holds a pointer to itself: do not move */
} pair;

void pair_open(pair *p);
void pair_open_on(pair *p, int device); /* CUDA there, Vulkan on the first one */
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

/* For the rest of the case: pair_close() ends what these three make, and what test_later() knows
 * besides. */
shared_buffer pair_buffer(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag);
shared_timeline pair_timeline(pair *p, uint64_t initial);
raw_vk_buffer pair_vk_buffer(pair *p, VkDeviceSize size, unsigned vk_flags);

/* Signals a timeline from the host a little later, by a thread. */
#define LATE_SIGNAL_US 50000
typedef struct late_signal {
    pthread_t thread;
    raw_vk *vk;
    VkSemaphore semaphore;
    uint64_t value;
} late_signal;

void late_signal_start(late_signal *late, raw_vk *vk, VkSemaphore semaphore, uint64_t value);
void late_signal_join(late_signal *late);

/* size / 4 words that differ from word to word and from seed to seed, until the case ends. */
uint32_t *pattern_words(size_t size, uint32_t seed);
/* Whether `size` bytes at a CUDA address of `buffer`, `offset` into it, are the same memory on both
 * sides, written by either: the bytes that are wrong, counted and answered. */
void answer_same_memory(pair *p, const char *key, const raw_vk_buffer *buffer, VkDeviceSize offset,
                        CUdeviceptr pointer, size_t size, uint32_t seed);
/* What a call returned. Here and elsewhere nothing else says what the twin must answer than the
 * recorded answers, and twin-differs.txt. */
void answer_call(const char *key, CUresult result);
/* "cuNAME: WHAT", of cuNAME with these arguments, as `of` has it. */
#define CALL_ROW(of, name, what, ...) answer_call("cu" #name ": " what, (of)->name(__VA_ARGS__))
/* Answers, and requires the same on both drivers: nothing wrong, or what is expected. */
void answer_wrong(const char *key, size_t wrong, size_t all);
void answer_bytes(const char *key, size_t wrong);
void answer_is(const char *key, CUresult result, CUresult expected);
void answer_so(const char *key, bool so, const char *yes, const char *no);
void answer_number(const char *key, int64_t number, int64_t expected);
void answer_word(const char *key, uint32_t word, uint32_t expected);
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
