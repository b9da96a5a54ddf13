/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: what their suites share. A frame is a pattern of its number over a
 * buffer (and an image) of its slot; the consumer copies it out and the host verifies every byte
 * before the slot's next copy. */
#ifndef CULVERT_TESTS_LIBRARY_VULKAN_RING_STAGE_H_
#define CULVERT_TESTS_LIBRARY_VULKAN_RING_STAGE_H_

#include "library.h"

enum { RING_WORDS = 1024, RING_SIDE = 32, RING_BYTES = RING_WORDS * 4, RING_LIMIT_S = 60 };
#define RING_LIMIT (RING_LIMIT_S * UINT64_C(1000000000))

/* How Vulkan submits. */
typedef enum ring_way {
    BY_SUBMIT, /* culv_vk_ring_submit() */
    BY_HAND    /* culv_ring_release() and a vkQueueSubmit2 of the test's own */
} ring_way;

typedef struct ring_options {
    culv_ring_side side; /* Vulkan's */
    uint32_t depth;
    culv_ring_settings settings; /* without their size */
    bool image;                  /* besides the buffer */
    bool handed_in;              /* both made by the test */
    bool own;                    /* the test's own VkBuffer and VkImage, with it */
    bool concurrent;             /* own ones: said to be of several queue families */
    ring_way way;
    uint32_t family;
} ring_options;
#define RING(...) (&(const ring_options){__VA_ARGS__})

/* What a side knows of its slots. */
typedef struct ring_half {
    culv_ring_side side;
    uint64_t number[CULV_RING_MAX_DEPTH]; /* of the frame that the slot's copy has */
    uint64_t covers[CULV_RING_MAX_DEPTH]; /* the value that says that it is there */
    bool full[CULV_RING_MAX_DEPTH];
    uint32_t open[CULV_RING_MAX_DEPTH], num_open; /* slots that no value covers yet */
    uint64_t frames, verified, skipped, again;
    uint64_t next; /* the number that the next frame must have at least */
} ring_half;

typedef struct ring_stage {
    lib_world w;
    CUmodule module;
    CUfunction write, paint;
    CUstream stream;
    ring_options o;
    culv_ring *ring;
    culv_shared_buffer *buffers[CULV_RING_MAX_DEPTH]; /* handed in */
    culv_shared_image *images[CULV_RING_MAX_DEPTH];
    culv_vk_own_buffer own_buffers[CULV_RING_MAX_DEPTH];
    culv_vk_own_image own_images[CULV_RING_MAX_DEPTH];
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands[CULV_RING_MAX_DEPTH];
    bool recorded[CULV_RING_MAX_DEPTH];
    /* Of all slots: 2 * RING_BYTES each, the buffer's and the image's. */
    raw_vk_buffer host;  /* Vulkan's copies, or what it copies into the frame */
    unsigned char *page; /* CUDA's copies */
    ring_half cuda, vulkan;
} ring_stage;

/* Device, kernels, a stream. */
void ring_world_open(ring_stage *s);
void ring_world_close(ring_stage *s);
#define RINGS_CASE(...) TEST_ON(ring_stage, s, ring_world_open(s), ring_world_close(s), __VA_ARGS__)
/* The same with a ring in it, whose options are RING(...). What a case has closed is not closed
 * again. */
void ring_case_open(ring_stage *s, const ring_options *o);
void ring_case_close(ring_stage *s);
#define RING_CASE(options, ...)                                                                    \
    TEST_ON(ring_stage, s, ring_case_open(s, options), ring_case_close(s), __VA_ARGS__)
/* A ring in it; any number, one after another. */
void ring_open(ring_stage *s, const ring_options *o);
/* Verifies what is not verified yet, and destroys it. */
void ring_close(ring_stage *s);
culv_vk_ring_desc ring_desc(const ring_stage *s, const ring_options *o,
                            culv_vk_ring_resource resources[2], VkBufferCreateInfo *buffer,
                            VkImageCreateInfo *image, culv_vk_buffer_create_desc *buffer_desc,
                            culv_vk_image_create_desc *image_desc);

/* A side's turn with one frame, whole. The result of the acquire. */
culv_result ring_cuda_turn(ring_stage *s, uint64_t timeout);
culv_result ring_vulkan_turn(ring_stage *s, uint64_t timeout);
/* The same in parts: what to record and submit of a frame, and what CUDA does with it on the
 * stage's stream. */
VkCommandBuffer ring_vulkan_commands(ring_stage *s, const culv_ring_frame *frame);
/* Releases the frame and submits its commands as BY_HAND does, with a signal of `pace` as well if
 * there is one. */
void ring_submit_by_hand(ring_stage *s, VkCommandBuffer commands, culv_ring_frame *frame,
                         VkSemaphore pace, uint64_t number);
void ring_cuda_work(ring_stage *s, const culv_ring_frame *frame);
/* Before all else: the slot's last copy is verified, and the number held against the one before. */
void ring_begin_frame(ring_stage *s, ring_half *half, const culv_ring_frame *frame);
/* The pattern of a frame, and where the consumer's copy of a slot goes. */
uint32_t ring_seed(uint64_t number);
unsigned char *ring_copy(const ring_stage *s, const ring_half *half, uint32_t slot);
void ring_released(ring_half *half, const culv_ring_frame *frame);
/* The value of a flush covers what no other does. */
void ring_flushed(ring_half *half, uint64_t value);
/* Waits for what a side handed over, and verifies what the consumer copied. */
void ring_settle(ring_stage *s);
/* After a forced drain: nothing of what is there is right. */
void ring_forget(ring_stage *s);
culv_ring_stats ring_stats(const ring_stage *s);
/* `frames` of each side, in turn on this thread: as many of each as a burst has, of which they are
 * a multiple. */
void ring_run(ring_stage *s, uint64_t frames);

#endif
