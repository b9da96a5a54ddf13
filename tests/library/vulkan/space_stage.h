/* SPDX-License-Identifier: MIT */
/* What the suites of one address share: a device that has it, shaders and kernels that build and
 * follow lists of pointers, and a gate that holds a stream. */
#ifndef CULVERT_TESTS_LIBRARY_SPACE_STAGE_H_
#define CULVERT_TESTS_LIBRARY_SPACE_STAGE_H_

#include "vulkan_vmm_stage.h"

#define SPACE_CHUNK (2 * VMM_MIB)

typedef struct space_stage {
    vmm_stage s;
    VkPipelineLayout layout;
    VkPipeline link, chase;
} space_stage;

/* Skips a GPU that cannot have one address; the twin can. */
void space_open(space_stage *t);
void space_close(space_stage *t);
#define SPACE_CASE(...) TEST_ON(space_stage, t, space_open(t), space_close(t), __VA_ARGS__)
/* The shaders alone, for a device that was opened in another way. */
void space_begin(space_stage *t);
void space_end(space_stage *t);
/* The first queue that binds sparse buffers. */
VkQueue space_queue(const space_stage *t);

culv_vk_space_desc space_desc(const space_stage *t, uint64_t size);
culv_vk_space *space_make(const space_stage *t, uint64_t size);
culv_vk_space_info space_info(culv_vk_space *space);
/* A buffer for raw_vk_fill() and its like. */
raw_vk_buffer space_raw(culv_vk_space *space);
/* Both sides read what either wrote, by its own address, there. */
void space_require_same(space_stage *t, culv_vk_space *space, uint64_t offset, uint64_t size,
                        uint32_t seed);

typedef enum space_side { SPACE_CUDA, SPACE_VULKAN } space_side;

/* A list through two places, built by one side and followed by the other. `found` is an address
 * with 8 bytes. */
void space_link(space_stage *t, space_side side, CUdeviceptr here, CUdeviceptr there,
                uint32_t count, uint32_t seed);
void space_require_list(space_stage *t, space_side side, CUdeviceptr first, CUdeviceptr found,
                        uint32_t count, uint32_t seed);
/* Commands that follow a list, for a queue that is to be held. */
void space_record_chase(space_stage *t, VkCommandBuffer commands, CUdeviceptr first,
                        CUdeviceptr found);
/* Launches without waiting. */
void space_launch_chase(space_stage *t, CUstream stream, CUdeviceptr first, CUdeviceptr found);
void space_require_found(space_stage *t, CUdeviceptr found, uint32_t count, uint32_t seed);

/* A stream that waits for a timeline of Vulkan's, until it is opened. */
typedef struct space_gate {
    VkSemaphore timeline;
    culv_semaphore *semaphore;
    CUstream stream;
} space_gate;

void space_gate_begin(space_stage *t, space_gate *gate);
void space_gate_open(space_stage *t, space_gate *gate);
void space_gate_end(space_stage *t, space_gate *gate);

#endif
