/* SPDX-License-Identifier: MIT */
/* One address: a CUDA range and a sparse buffer at the same place, inside. space.c makes and ends
 * it, space_chunks.c puts memory into it and takes it out, space_buffer.c has
 * its parts: whose they are, and those that are buffers. */
#ifndef CULVI_VK_SPACE_H_
#define CULVI_VK_SPACE_H_

#include "culvert/vulkan_vmm.h"
#include "vmm/mapping.h"
#include "vmm/space.h"
#include "vulkan/vk_export.h"

/* One allocation, at one place. */
typedef struct culvi_vk_chunk {
    uint64_t offset, size;
    VkDeviceMemory memory;
    bool going; /* CUDA's mapping is given up; Vulkan's binding goes once it has gone */
} culvi_vk_chunk;

/* Memory that was unbound by the bind operation that signals `value`. */
typedef struct culvi_vk_unbound {
    VkDeviceMemory memory;
    uint64_t value;
} culvi_vk_unbound;

/* Addresses that a buffer or a vector has. */
typedef struct culvi_vk_claim {
    uint64_t offset, size;
    bool vector;
    bool apart; /* of a vector that has gone: tensors have CUDA's half */
} culvi_vk_claim;

struct culv_vk_space {
    culv_space base;
    culv_vk_device *vk; /* a reference */
    atomic_uint refs;   /* of Vulkan's half: the caller's handle, vectors and buffers */
    atomic_uint halves; /* Vulkan's, and CUDA's of each vector that left it to tensors */
    VkQueue queue;
    void (*lock_queue)(void *context);
    void (*unlock_queue)(void *context);
    void *queue_context;
    VkBuffer buffer;
    VkBufferUsageFlags usage;
    uint32_t type_bits;
    VkSemaphore timeline;
    uint64_t granularity;
    bool vectors_do_not_wait;
    CUmemAccessDesc *access;
    size_t access_count;
    uint32_t attempts, refused_by_cuda, refused_by_vulkan;
    char label[64];

    /* Whoever uses the queue has the turn: across driver calls and lock_queue, but not while it
     * waits for the GPU, because another thread may need the turn before it submits what ends the
     * wait. */
    culvi_mutex turn;
    _Atomic uint64_t
        value; /* that the last bind operation signals; only with the turn it changes */
    /* Guards the fields below; not held while somebody waits or uses the queue. It is taken under
     * the turn, and the device's lock under it. The chunks and what is unbound change with the turn
     * alone, so that whoever has it may read them without the lock, but for
     * culvi_vk_chunk::going. */
    culvi_mutex lock;
    culvi_vk_chunk *chunks; /* sorted by offset */
    size_t num_chunks, chunk_capacity;
    culvi_vk_unbound *unbound;
    size_t num_unbound, unbound_capacity;
    culvi_vk_claim *claims; /* sorted by offset */
    size_t num_claims, claim_capacity;
};

static inline culv_vk_space *culvi_vk_space_of(culv_space *space)
{
    return (culv_vk_space *)space; /* its first member */
}

/* space.c */
void culvi_vk_space_ref(culv_vk_space *space);
/* Gives up Vulkan's half, or one of CUDA's. */
void culvi_vk_space_unref(culv_vk_space *space);
void culvi_vk_space_end_half(culv_vk_space *space);
/* The array, or a longer copy of it if `more` elements have no room in it. NULL: no memory. */
void *culvi_vk_space_grow(void *array, size_t count, size_t more, size_t *capacity, size_t size);

/* space_chunks.c. The caller has the turn for all of these. */

/* The first chunk that ends beyond an offset. */
size_t culvi_vk_space_find(const culv_vk_space *space, uint64_t offset);
/* New memory of the space's, shown on both sides. */
culv_result culvi_vk_space_fill(culv_vk_space *space, uint64_t offset, uint64_t size,
                                uint64_t *ready);
/* Takes out at once what culvi_vk_space_fill() put in. */
void culvi_vk_space_empty(culv_vk_space *space, uint64_t offset, uint64_t size);
/* Frees what has been unbound. `wait`: waits for it. */
void culvi_vk_space_free_unbound(culv_vk_space *space, bool wait);
/* What a vector does, without the turn. */
culv_result culvi_vk_space_show(culv_space *space, uint64_t offset, culv_vmm_allocation *a);
void culvi_vk_space_hide(culv_space *space, uint64_t offset, uint64_t size, bool now);

/* space_buffer.c */

culv_result culvi_vk_space_claim(culv_space *space, const char *label, uint64_t least,
                                 uint64_t wish, uint64_t *offset, uint64_t *size);
void culvi_vk_space_unclaim(culv_space *space, uint64_t offset);
void culvi_vk_space_part(culv_space *space, uint64_t offset);
/* With the lock: refuses a place where there are claims: all, or those of vectors. */
culv_result culvi_vk_space_check_claims(const culv_vk_space *space, uint64_t offset, uint64_t size,
                                        bool vectors_only, const char *call);

#endif
