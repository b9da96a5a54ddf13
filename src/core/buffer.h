/* SPDX-License-Identifier: MIT */
/* culv_buffer: a range of a mapped import. */
#ifndef CULVI_CORE_BUFFER_H_
#define CULVI_CORE_BUFFER_H_

#include "core/memory.h"

struct culv_buffer {
    culv_memory *memory;
    uint64_t size;
    CUdeviceptr pointer;
    const char *owner_destroy_call;   /* of the object of Culvert's that has it; or NULL */
    struct culvi_staging *staging;    /* NULL: it is shared */
    bool is_tensor;                   /* culvi_buffer_range() */
    struct culv_buffer *next, **link; /* culv_memory::first_buffer */
    char label[64];
    culvi_deferred deferred;
};

/* Maps a range that lies in the memory. A tensor's keeps the memory and is no holder of it: its
 * consumer may keep it for longer than the native memory, whose number may then be another's. */
culv_result culvi_buffer_range(culv_memory *memory, uint64_t offset, uint64_t size,
                               const char *label, bool is_tensor, culv_buffer **out);
/* Releases what an object of Culvert's owns. */
void culvi_buffer_release_or_defer(culv_buffer *buffer, const CUstream *last_use);

#endif
