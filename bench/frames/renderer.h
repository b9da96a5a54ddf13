/* SPDX-License-Identifier: MIT */
/* The Vulkan device of culvert-bench: what rig_open() opens, with dynamic rendering, stores in
 * fragment shaders, host memory, and, where there are, calibrated timestamps. */
#ifndef CULVERT_BENCH_FRAMES_RENDERER_H_
#define CULVERT_BENCH_FRAMES_RENDERER_H_

#include "rig.h"

typedef struct device_options {
    /* Set by device_open(). */
    bool calibrated; /* VK_EXT_calibrated_timestamps is enabled */
} device_options;

/* A rig_open_vulkan; `state` is a device_options. */
void device_open(void *state, raw_vk *vk, const raw_vk_options *options);

/* Bits of a timestamp on this family; 0: none. */
uint32_t device_timestamp_bits(const raw_vk *vk, uint32_t family);
/* The first family with all of `wanted` and none of `unwanted`; UINT32_MAX: none. */
uint32_t device_family(const raw_vk *vk, VkQueueFlags wanted, VkQueueFlags unwanted);

/* The renderer: a full-screen triangle whose fragments take as long as they are told and check the
 * frame that they read (load.glsl). Each frame of a run has a command buffer of its own, with its
 * number, its slot, and two timestamps. */

enum { RENDERER_SLOTS = CULV_RING_MAX_DEPTH };

typedef struct renderer_verdict {
    uint32_t frames; /* that were checked */
    uint32_t wrong;  /* pixels that saw another frame, or a torn one */
} renderer_verdict;

typedef struct renderer {
    rig *rig;
    uint32_t side, pixels;
    uint32_t num_frames; /* of a run, at most */
    /* The image is drawn in so many parts a side, a render pass each, and copied at the end; 1: at
     * once, and not copied */
    uint32_t parts;
    VkImage target;
    VkDeviceMemory target_memory;
    VkImageView view;
    raw_vk_buffer image; /* what the parts are copied to */
    VkBuffer verdict;
    VkDeviceMemory verdict_memory;
    renderer_verdict *judged; /* the same, mapped */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline draw, write, check;
    VkDescriptorPool pool;
    VkDescriptorSet sets[RENDERER_SLOTS];
    VkDeviceSize bytes; /* of a frame in the slots */
    VkQueryPool queries;
    uint64_t *timestamps; /* renderer_fetch() */
    /* Of the first queue family, which is the graphics one. */
    VkCommandPool commands_pool;
    VkCommandBuffer *commands;
    uint32_t timestamp_bits;
} renderer;

void renderer_open(renderer *r, rig *gpu, uint32_t num_frames);
void renderer_close(renderer *r);
/* The buffers that the slots are. No submission may use the former ones any more. */
void renderer_bind(renderer *r, const VkBuffer *buffers, uint32_t count, VkDeviceSize bytes);

/* What is recorded for a frame. */
typedef struct renderer_job {
    uint32_t frame; /* of the run: which command buffer, which timestamps */
    uint32_t slot;
    VkBuffer buffer; /* the slot's */
    uint32_t number; /* that has to be there; 0: nothing is checked */
    bool writes;     /* the frame is not there: `number` is written, after the drawing */
    uint32_t iterations;
    bool untimed; /* no timestamps */
    /* Nothing is drawn: every word is checked; number 0: the frame only changes hands */
    bool whole;
    /* The ring's barriers; NULL: written by hand. */
    const VkDependencyInfo *acquire, *release;
    bool stays; /* the slot does not change hands with CUDA: there is no release */
    /* NULL: nothing. What comes first in the command buffer, not within the frame's times. */
    void (*first)(void *state, VkCommandBuffer commands, uint32_t slot, uint32_t frame);
    /* NULL: nothing. What comes last, neither. */
    void (*last)(void *state, VkCommandBuffer commands, uint32_t slot, uint32_t frame);
    void *state;
} renderer_job;

VkCommandBuffer renderer_record(renderer *r, const renderer_job *job);
/* Before a run: all of its timestamps are to come. */
void renderer_reset(renderer *r, uint32_t frames);

/* Since the last call; the queues are idle. */
renderer_verdict renderer_judge(renderer *r);

/* Takes over the timestamps of a run whose submissions are done; false: the queue has none. */
bool renderer_fetch(renderer *r, uint32_t frames);
/* Nanoseconds of the device's clock. */
typedef struct renderer_time {
    uint64_t begun, ended;
} renderer_time;
renderer_time renderer_time_of(const renderer *r, uint32_t frame);

/* Vulkan's device clock, and between which two times of the host's monotonic one it was read. */
uint64_t renderer_clock(renderer *r, bool calibrated, double *after, double *before);

/* Submits the command buffers, several at a time, waits for their end, and returns the microseconds
 * that it took. */
double renderer_alone(VkQueue queue, const VkCommandBuffer *commands, uint32_t count);

/* Submits one, and ends the program if it is not done in time: after a kernel's fault NVIDIA's
 * driver lets the drawing of every later process hang. */
void renderer_first(renderer *r, VkCommandBuffer commands);

/* The iterations after which a frame takes this long when one follows the other. */
uint32_t renderer_calibrate(renderer *r, VkBuffer frame, double us);

/* What the two halves of the renderer share. */

#define RENDERER_STAGES (VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_COMPUTE_BIT)

/* load.glsl's push constants. */
typedef struct renderer_constants {
    uint32_t number, words, iterations, pixels;
} renderer_constants;

#endif
