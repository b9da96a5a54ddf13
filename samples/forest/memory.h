/* SPDX-License-Identifier: MIT */
/* forest: the memory that both sides use, in one of two modes.
 *
 * memory_one.c    a culv_vk_space: CUDA's pointers are Vulkan's addresses. What to copy.
 * memory_copy.c   memory with two addresses: each frame the tree is copied for Vulkan, and each
 *                 pointer in it is patched. What programs do without a space.
 *
 * Two timelines tell whose turn it is:
 *   ready reaches f + 1 when CUDA has built frame f     (Vulkan's submission waits for that)
 *   drawn reaches f + 1 when Vulkan has drawn frame f   (CUDA's stream waits for that before
 *                                                        frame f + 1) */
#ifndef FOREST_MEMORY_H_
#define FOREST_MEMORY_H_

#include "../common/interop.h"
#include "forest.h"
#include "node.h"

typedef struct memory_sizes {
    uint64_t particles, nodes, picture; /* bytes */
} memory_sizes;

/* Three addresses, one behind the other. */
typedef struct memory_places {
    uint64_t particles, nodes, picture;
} memory_places;

typedef struct memory {
    const vulkan_setup *vulkan;
    const culv_cuda_api *cu;
    memory_sizes sizes;
    culv_vk_device *attached;
    culv_shared_semaphore *ready, *drawn;
    /* Where CUDA builds, where CUDA finds what Vulkan has, and that place by Vulkan's addresses.
     * With one address all three are the same. */
    memory_places built, shown, seen;
    /* memory_one.c */
    culv_vk_space *space;
    culv_vk_space_buffer *parts[3];
    /* memory_copy.c */
    culv_shared_buffer *shared;
    CUfunction patch;
} memory;

/* The places behind `address`, and how many bytes they take in all. */
memory_places memory_places_at(const memory_sizes *sizes, uint64_t address);
uint64_t memory_bytes(const memory_sizes *sizes);

typedef struct memory_mode {
    const char *name;
    bool one_address; /* what the VkDevice must have */
    /* False, with a message, on failure. */
    bool (*create)(memory *m, culv_kernels *kernels);
    void (*destroy)(memory *m);
    /* CUDA has built a frame: gives it to Vulkan, in the stream's order. */
    bool (*hand_over)(memory *m, CUstream stream);
    /* Barriers around Vulkan's reading and writing by compute shaders. */
    bool (*record_acquire)(memory *m, VkCommandBuffer commands);
    bool (*record_release)(memory *m, VkCommandBuffer commands);
} memory_mode;

extern const memory_mode memory_one, memory_copy;

/* Attaches Vulkan's device and makes the timelines and the memory. False, with a message, on
 * failure; destroy it either way. */
bool memory_create(memory *m, const memory_mode *mode, const vulkan_setup *vulkan,
                   culv_device *device, const culv_cuda_api *cu, culv_kernels *kernels,
                   const memory_sizes *sizes);
/* After both sides are done. */
void memory_destroy(memory *m, const memory_mode *mode);

/* After a failure in mid-frame, before frame `end`: lets both sides run to their end, where one
 * would wait forever for the other. */
void memory_unblock(memory *m, uint64_t end);

#endif
