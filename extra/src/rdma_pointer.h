/* SPDX-License-Identifier: MIT */
/* Pointers, as cards see them. */
#ifndef CULVI_RDMA_POINTER_H_
#define CULVI_RDMA_POINTER_H_

#include "culvert/extra/rdma.h"
#include "inside.h"

/* What the driver answers about a pointer, and what is made of it. */
typedef struct culvi_rdma_memory {
    culv_pointer_kind kind;
    int device; /* -1: none */
    CUdeviceptr start;
    uint64_t size; /* of the allocation, or of the mapping */
    CUdeviceptr reserved_start;
    uint64_t reserved_size; /* VMM: the range that it is mapped in. Else as above */
    uint64_t buffer_id;
    bool rdma, sync, on_host;
} culvi_rdma_memory;

/* Arguments alone: no pointer, no size, an overflow. */
culv_result culvi_rdma_check_arguments(culv_device *device, const char *call, CUdeviceptr pointer,
                                       uint64_t size);
/* All of it: arguments, memory, and whether the range lies within it. In the device's context. With
 * `spans` a VMM range may go on in the next mapping. `cache`: the label of a registration cache,
 * which takes imported memory too. NULL: it is for a card. */
culv_result culvi_rdma_check(culv_device *device, const char *cache, const char *call,
                             CUdeviceptr pointer, uint64_t size, bool spans,
                             culvi_rdma_memory *out);
/* Runs in the device's context, for memory that was checked. */
culv_result culvi_rdma_sync(culv_device *device, const char *call, CUdeviceptr pointer,
                            bool allow_context, culv_rdma_sync *out);

#endif
