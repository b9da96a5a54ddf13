/* SPDX-License-Identifier: MIT */
/* Addresses that CUDA shares with a graphics API: what a vector needs of them. */
#ifndef CULVI_VMM_SPACE_H_
#define CULVI_VMM_SPACE_H_

#include "culvert/vector.h"

#include <stdbool.h>

/* What a graphics API does for its spaces. Offsets are bytes into the space's range. Any thread may
 * call these; no lock is held. */
typedef struct culvi_space_api {
    /* Takes addresses for one vector: `wish` bytes, or `least` where there is no room for them. The
     * claim keeps the space alive. */
    culv_result (*claim)(culv_space *space, const char *label, uint64_t least, uint64_t wish,
                         uint64_t *offset, uint64_t *size);
    void (*unclaim)(culv_space *space, uint64_t offset);
    /* The vector has gone, and tensors keep CUDA's half of its claim, which outlives the graphics
     * API's: later calls for the claim, on whatever thread, make none of that API's. */
    void (*part)(culv_space *space, uint64_t offset);
    /* Shows what CUDA has mapped at `offset`; it may be used when the call returns. An error leaves
     * everything as it was. */
    culv_result (*show)(culv_space *space, uint64_t offset, culv_vmm_allocation *allocation);
    /* CUDA's mappings there are given up. `now`: the graphics API gives them up in this call, else
     * once CUDA's, which wait for a stream, have gone. */
    void (*hide)(culv_space *space, uint64_t offset, uint64_t size, bool now);
} culvi_space_api;

/* The first member of an API's space. */
struct culv_space {
    const culvi_space_api *api;
    culv_device *device;
    culv_vmm_range *range;
};

#endif
