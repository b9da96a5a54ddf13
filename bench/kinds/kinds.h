/* SPDX-License-Identifier: MIT */
/* culvert-bench-kinds: what each kind of memory is worth, from both sides. */
#ifndef CULVERT_BENCH_KINDS_H_
#define CULVERT_BENCH_KINDS_H_

#include "measure.h"

#define KINDS_PROGRAM "culvert-bench-kinds"

typedef enum kinds_side { KINDS_CUDA, KINDS_VULKAN, KINDS_SIDES } kinds_side;

/* As in kinds_buffer.comp. */
typedef enum kinds_work { KINDS_FILL, KINDS_ADD, KINDS_RANDOM, KINDS_WORKS } kinds_work;

/* Of one scheme, size, side and pattern. */
typedef struct kinds_row {
    const char *scheme, *pattern, *unit;
    const char *kind; /* by culv_buffer_memory_kind() and its like; NULL: not asked */
    uint64_t bytes;
    kinds_side side;
    spread rate;
    double ratio; /* to CUDA's own allocation of this size, by CUDA; 0: there is none */
    double goal;  /* of the ratio; 0: none */
    const char *met;
} kinds_row;

typedef struct kinds_job {
    /* 0 on the side that does not have it. */
    CUdeviceptr pointer;
    VkDeviceAddress address;
    uint64_t bytes;
    uint32_t noise;  /* of the contents */
    uint32_t passes; /* of KINDS_ADD so far */
} kinds_job;

typedef struct kinds {
    bench bench;
    uint32_t threads, reads; /* a thread */
    unsigned turns;
    double least_ns; /* of a turn */
    uint32_t seed;
    uint64_t checked; /* words; one that is wrong ends the program */
    /* CUDA */
    CUmodule module;
    CUfunction kernels[KINDS_WORKS];
    CUevent begin, end;
    PFN_cuEventElapsedTime_v2000 elapsed;
    CUdeviceptr wrong; /* where CUDA counts */
    /* Vulkan */
    VkPipelineLayout layout;
    VkPipeline pipelines[KINDS_WORKS];
    VkQueryPool queries;
    raw_vk_buffer vk_wrong; /* where Vulkan counts, mapped */
    VkDeviceAddress wrong_address;
    size_t num_rows, capacity;
    kinds_row *rows;
} kinds;

/* gpu.c */
void kinds_open(kinds *k);
void kinds_close(kinds *k);
/* Does it once, and waits. */
void kinds_do(kinds *k, kinds_job *job, kinds_side side, int work);
/* Requires that reads at random of a buffer see words that are wrong. */
void kinds_try_check(kinds *k, const kinds_job *job, kinds_side side);
/* Measures it by turns: a rate each, in giga-`amount`s a second. */
spread kinds_measure(kinds *k, kinds_job *job, kinds_side side, int work, double amount);

/* buffers.c: each kind at these sizes. */
void kinds_buffers(kinds *k, const uint64_t *sizes, size_t count);

/* results.c */
kinds_row *kinds_add_row(kinds *k, const char *scheme, const char *pattern, kinds_side side,
                         uint64_t bytes, spread rate);
/* Compares with `to`'s row of CUDA's side, and prints the row. */
void kinds_end_row(kinds *k, kinds_row *row, const char *to, double goal);
const char *kinds_kind_name(culv_memory_kind kind);
bool kinds_write(const kinds *k, bool complete, FILE *out);

#endif
