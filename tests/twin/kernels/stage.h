/* SPDX-License-Identifier: MIT */
/* What the cases of this suite share: a context, a stream, a module, and memory of both sides. */
#ifndef CULVERT_TESTS_KERNELS_STAGE_H_
#define CULVERT_TESTS_KERNELS_STAGE_H_

#include "raw_cuda.h"

typedef struct stage {
    const raw_cuda *cu;
    CUstream stream;
    CUmodule module;
} stage;

stage stage_open(const char *module);
void stage_close(stage *s);
#define KERNEL_CASE(name, ...)                                                                     \
    TEST_ON_(stage, s, *s = stage_open(TEST_FIRST(__VA_ARGS__)), stage_close(s), name,             \
             TEST_REST(__VA_ARGS__))

/* Memory of the device with `size` bytes of `from`, or of 0xee where that is NULL. */
CUdeviceptr stage_buffer(const stage *s, const void *from, size_t size);
/* Reads it and gives it back. */
void stage_take(const stage *s, CUdeviceptr buffer, void *to, size_t size);

typedef struct stage_shape {
    unsigned grid[3], block[3], shared;
} stage_shape;

CUresult stage_launch(const stage *s, const char *kernel, stage_shape shape, void **params);
/* Launches, and waits for the end. */
void stage_run(const stage *s, const char *kernel, stage_shape shape, void **params);

/* Numbers without a pattern, the same each time. */
uint32_t stage_random(uint32_t index);
void *stage_alloc(size_t size);

#endif
