/* SPDX-License-Identifier: MIT */
/* The user's own work in place of the benchmark's: a kernel from a file for the solver, a compute
 * shader from SPIR-V for the renderer. Frames are written and checked behind them as ever. */
#ifndef CULVERT_BENCH_FRAMES_WORK_H_
#define CULVERT_BENCH_FRAMES_WORK_H_

#include "rig.h"

enum { WORK_ARGS = 32, WORK_BINDINGS = 16, WORK_ERROR = 192, WORK_PUSH = 128 };

typedef enum work_kind { WORK_VALUE, WORK_FRAME, WORK_MEMORY } work_kind;

/* An argument of the kernel. */
typedef struct work_arg {
    work_kind kind;
    size_t size;      /* VALUE: bytes */
    uint8_t value[8]; /* VALUE */
    uint64_t bytes;   /* MEMORY: zeroed, of its own */
    culv_shared_buffer *buffer;
    CUdeviceptr pointer;
    VkDeviceAddress address;
} work_arg;

typedef struct work_kernel {
    char *path, *name;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t launches; /* of a frame, each after the one before */
    size_t num_args;
    work_arg args[WORK_ARGS];
    culv_kernels *loaded;
    culv_kernel *kernel;
    culv_vk_kernels *queue;    /* NULL: it does not run in Vulkan's queues */
    char obstacle[WORK_ERROR]; /* why not */
} work_kernel;

/* A buffer of the shader's. */
typedef struct work_binding {
    uint32_t binding;
    bool uniform;
    culv_shared_buffer *buffer; /* NULL where the frame is bound */
} work_binding;

typedef struct work_shader {
    const char *path;
    char entry[64];
    uint32_t groups[3];
    int64_t frame_binding; /* -1: the first one that is a storage buffer */
    uint64_t bytes;        /* of each other buffer */
    size_t num_bindings;
    work_binding bindings[WORK_BINDINGS];
    rig *rig;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool pool;
    VkDescriptorSet sets[CULV_RING_MAX_DEPTH];
} work_shader;

/* Command lines -------------------------------------------------------------------------------- */

/* "FILE:NAME". False: it is not that. */
bool work_kernel_name(work_kernel *k, const char *text);
/* "frame,4M,u32:4096,f32:0.5": the frame's memory, memory of that size, values. */
bool work_kernel_args(work_kernel *k, const char *text);
/* "64", "64,32" or "64,32,2". */
bool work_extent(uint32_t out[3], const char *text);

/* Running -------------------------------------------------------------------------------------- */

/* They end the program with Culvert's or their own message where a file is not what it must be. */
void work_kernel_open(work_kernel *k, rig *r);
void work_kernel_close(work_kernel *k);
/* `frame` is the slot's CUdeviceptr or VkDeviceAddress. */
void work_kernel_launch(const work_kernel *k, CUstream stream, uint64_t frame);
void work_kernel_record(const work_kernel *k, VkCommandBuffer commands, uint32_t family,
                        uint64_t frame);

void work_shader_open(work_shader *s, rig *r, uint64_t bytes);
void work_shader_close(work_shader *s);
/* The buffers that the slots are. */
void work_shader_bind(work_shader *s, const VkBuffer *slots, uint32_t count, VkDeviceSize bytes);
void work_shader_record(const work_shader *s, VkCommandBuffer commands, uint32_t slot);

#endif
