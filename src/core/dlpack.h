/* SPDX-License-Identifier: MIT */
/* A DLPack tensor of memory that some object of Culvert's keeps alive. */
#ifndef CULVI_CORE_DLPACK_H_
#define CULVI_CORE_DLPACK_H_

#include "base/message.h"
#include "culvert/dlpack.h"

/* What a tensor lies in. */
typedef struct culvi_dlpack_memory {
    const culv_device *device;
    const char *label;
    CUdeviceptr pointer;
    void *host; /* the same byte for the CPU, in a buffer of host memory; NULL: none */
    uint64_t size;
    void (*give_up)(void *owner); /* of the last deleter, from any thread */
} culvi_dlpack_memory;

/* Reads and checks the descriptor and makes the tensor. `owner` is given up with it; after an error
 * the caller still has it. */
culv_result culvi_dlpack_create(const culvi_dlpack_memory *memory, const culv_dlpack_desc *desc,
                                void *owner, culv_dl_managed_tensor_versioned **out);

#endif
