/* SPDX-License-Identifier: MIT */
/* The Vulkan device of culvert-bench: what rig_open() opens, with dynamic rendering, stores in
 * fragment shaders, host memory, and, where there are, calibrated timestamps. */
#ifndef CULVERT_BENCH_FRAMES_DEVICE_H_
#define CULVERT_BENCH_FRAMES_DEVICE_H_

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

#endif
