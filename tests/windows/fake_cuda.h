/* SPDX-License-Identifier: MIT */
/* What a test may set and read of fake_cuda.c. */
#ifndef CULVERT_TESTS_WINDOWS_FAKE_CUDA_H_
#define CULVERT_TESTS_WINDOWS_FAKE_CUDA_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct fake_cuda {
    int answer;                    /* CUresult of the next imports, when not 0 */
    unsigned memories, semaphores; /* imported and not destroyed */
    /* Of the last import: the descriptor. */
    int type;
    unsigned flags;
    uint64_t size;
    void *handle;
    char name[64];
    bool found; /* handle or name led to the section that the test made */
} fake_cuda;

/* The section that stands for exported memory, or for a semaphore, begins with this. */
#define FAKE_SECTION 0x43554c56u

typedef fake_cuda *(*fake_cuda_get)(void);

#endif
