/* SPDX-License-Identifier: MIT */
/* What the suites of RDMA share: a device that has it, on the twin by its plays. */
#ifndef CULVERT_TESTS_RDMA_STAGE_H_
#define CULVERT_TESTS_RDMA_STAGE_H_

#include "library.h"

#include "culvert/extra/rdma_cache.h"

#define RDMA_BLOCK ((uint64_t)2 << 20) /* granularity of VMM memory */

typedef struct rdma_stage {
    lib_world w;
    CUcontext before;
    culv_soft_rdma_counts counts; /* of the twin, when it was opened */
    bool dma_bufs;                /* the device makes them */
} rdma_stage;

/* Vulkan, the device and its context made current. On the twin everything of RDMA is played. */
void rdma_stage_open(rdma_stage *s);
void rdma_stage_close(rdma_stage *s);
#define RDMA_CASE(...) TEST_ON(rdma_stage, s, rdma_stage_open(s), rdma_stage_close(s), __VA_ARGS__)
/* What the twin counted since the stage was opened; all zero on another driver. */
culv_soft_rdma_counts rdma_counted(const rdma_stage *s);

/* Memory until the stage closes, of bytes or of whole chunks; or until here. */
CUdeviceptr rdma_alloc(const rdma_stage *s, size_t size);
CUdeviceptr rdma_chunks(const rdma_stage *s, size_t chunks);
void rdma_free(const rdma_stage *s, CUdeviceptr *pointer);
/* A Vulkan buffer that CUDA has mapped. */
typedef struct rdma_import {
    raw_vk_buffer vk;
    culv_memory *memory;
    culv_buffer *buffer;
    CUdeviceptr pointer;
} rdma_import;
void rdma_import_make(rdma_stage *s, rdma_import *out, uint64_t size);
void rdma_import_unmake(rdma_stage *s, rdma_import *import);
/* VMM memory of so many blocks of an allocation each, mapped side by side. */
typedef struct rdma_vmm {
    culv_vmm_allocation *allocation[4];
    culv_vmm_range *range;
    CUdeviceptr pointer;
    unsigned count;
} rdma_vmm;
void rdma_vmm_make(const rdma_stage *s, rdma_vmm *out, unsigned blocks, uint32_t usage);
void rdma_vmm_unmake(rdma_vmm *vmm);

#endif
