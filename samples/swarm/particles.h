/* SPDX-License-Identifier: MIT */
/* swarm: the particles, a culv_vector that CUDA writes and Vulkan draws from, and the two timelines
 * by which they take turns. What to copy.
 *
 *   ready reaches f + 1 when CUDA has computed frame f     (Vulkan's submission waits for that)
 *   drawn reaches f + 1 when Vulkan has drawn frame f      (CUDA's stream waits for that before
 *                                                           frame f + 1) */
#ifndef SWARM_PARTICLES_H_
#define SWARM_PARTICLES_H_

#include "../common/interop.h"
#include "particle.h"

typedef struct particles {
    const vulkan_setup *vulkan;
    culv_vk_device *attached;
    culv_vector *vector;
    culv_vector_view *view;
    culv_shared_semaphore *ready, *drawn;
    uint64_t count;                    /* how many there are */
    culv_vk_vector_view_buffer *parts; /* Vulkan's buffers: one a chunk, or a single sparse one */
    VkBufferMemoryBarrier2 *barriers;
    size_t num_parts;
} particles;

/* What a growth did. */
typedef struct particles_growth {
    double grow_us, import_us; /* in culv_vector_grow() and culv_vector_view_update() */
    size_t kept, added;        /* buffers: those that stayed as they were, and new ones */
    bool news;                 /* Vulkan got memory that it had not before */
} particles_growth;

/* For `most` particles in the end; none are there yet. False, with a message, on failure; destroy
 * it either way. */
bool particles_create(particles *p, const vulkan_setup *vulkan, culv_device *device, uint64_t most,
                      bool sparse);
/* After both sides are done. */
void particles_destroy(particles *p);

/* Makes room for `count` of them in all, beside what runs on the GPU, and gives Vulkan what is
 * new. */
bool particles_grow(particles *p, uint64_t count, particles_growth *out);

/* CUDA's turn. */
bool particles_cuda_acquire(particles *p, CUstream stream, uint64_t frame);
bool particles_cuda_release(particles *p, CUstream stream, uint64_t frame);

/* Vulkan's: the barriers around its use. `stage` is the use's. */
bool particles_record_acquire(particles *p, VkCommandBuffer commands, culv_vk_use use,
                              VkPipelineStageFlags2 stage);
bool particles_record_release(particles *p, VkCommandBuffer commands, culv_vk_use use,
                              VkPipelineStageFlags2 stage);
/* How many particles a buffer has. */
uint32_t particles_in(const particles *p, const culv_vk_vector_view_buffer *part);

/* After a failure in mid-frame, before frame `end`: lets both sides run to their end, where one
 * would wait forever for the other. */
void particles_unblock(particles *p, uint64_t end);

#endif
