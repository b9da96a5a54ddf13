/* SPDX-License-Identifier: MIT */
/* Chunks of somebody else's memory, each known once to its device. */
#ifndef CULVI_VMM_ADOPT_H_
#define CULVI_VMM_ADOPT_H_

#include "culvert/vmm.h"
#include "vmm/allocation.h"

/* A chunk is in its device's tree, and the device's lock guards it while others may find it. */
typedef struct culvi_adopted_chunk {
    culvi_tree_node node;
    culv_device *device;
    uint32_t refs; /* ranges, and what graphics APIs made of it */
    uint64_t id;
    CUdeviceptr base;
    uint64_t size;
    culv_vmm_allocation *allocation; /* its handle tells the memory from any other */
} culvi_adopted_chunk;

struct culv_vmm_adopted {
    culv_device *device;
    uint64_t offset; /* bytes into the first chunk */
    uint64_t size;
    size_t count, capacity;
    culvi_adopted_chunk **chunks; /* by address, without gaps */
};

void culvi_adopted_chunk_ref(culvi_adopted_chunk *chunk);
void culvi_adopted_chunk_unref(culvi_adopted_chunk *chunk);

#endif
