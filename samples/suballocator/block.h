/* SPDX-License-Identifier: MIT */
/* suballocator: one exportable VkDeviceMemory, and an allocator of ranges in it. */
#ifndef SUBALLOCATOR_BLOCK_H_
#define SUBALLOCATOR_BLOCK_H_

#include "../common/vulkan_setup.h"

enum { BLOCK_MAX_RANGES = 64 };

typedef struct block_range {
    VkDeviceSize offset, size;
    bool is_image; /* OPTIMAL: bufferImageGranularity keeps it apart from buffers */
} block_range;

typedef struct block {
    VkDeviceMemory memory;
    VkDeviceSize size;
    VkDeviceSize granularity;
    uint32_t num_ranges; /* taken ones, by offset */
    block_range ranges[BLOCK_MAX_RANGES];
} block;

/* `type_bits` are those that every resource to come can have. False, with a message, on failure. */
bool block_create(const vulkan_setup *v, VkDeviceSize size, uint32_t type_bits, block *out);
void block_destroy(const vulkan_setup *v, block *b);

/* The first gap that fits. False, with a message, when none does. */
bool block_take(block *b, const VkMemoryRequirements *needs, bool is_image, VkDeviceSize *offset);
/* The range that begins there. */
void block_give_back(block *b, VkDeviceSize offset);

#endif
