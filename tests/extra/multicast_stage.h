/* SPDX-License-Identifier: MIT */
/* Two devices of the twin that have multicast, with memory of each. */
#ifndef CULVERT_TESTS_LIBRARY_MULTICAST_STAGE_H_
#define CULVERT_TESTS_LIBRARY_MULTICAST_STAGE_H_

#include "sparse_stage.h"

#include "culvert/extra/multicast.h"

#define MULTICAST_CHUNK ((uint64_t)2 << 20)

typedef struct multicast_stage {
    sparse_stage s;
    culv_device *devices[2];        /* the first is the stage's */
    culv_vmm_allocation *memory[2]; /* a chunk of each */
    culv_vmm_allocation *shared[2]; /* the same, that can be exported */
    culv_vmm_range *range;          /* of the first one's addresses */
    CUdeviceptr mapped[2];          /* the chunks of `memory` */
} multicast_stage;

/* Skips on NVIDIA's driver: multicast objects are never made there. */
void multicast_stage_open(multicast_stage *m);
void multicast_stage_close(multicast_stage *m);
#define MULTICAST_CASE(...)                                                                        \
    TEST_ON(multicast_stage, s, multicast_stage_open(s), multicast_stage_close(s), __VA_ARGS__)
/* Of both devices, with the opt-in. */
culv_multicast_desc multicast_describe(uint64_t size);
/* All words of a chunk; the last one. */
void multicast_write(const multicast_stage *m, CUdeviceptr at, uint32_t value);
uint32_t multicast_read(const multicast_stage *m, CUdeviceptr at);

#endif
