/* SPDX-License-Identifier: MIT */
/* NCCL between two GPUs of this process: libnccl.so.2, opened at run time, if there is one. */
#ifndef CULVERT_BENCH_FRAMES_NCCL_H_
#define CULVERT_BENCH_FRAMES_NCCL_H_

#include "rig.h"

typedef struct nccl {
    void *library;
    void *communicators[2];
    int (*init)(void **out, int count, const int *devices);
    int (*destroy)(void *communicator);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(const void *from, size_t count, int type, int peer, void *communicator,
                CUstream stream);
    int (*receive)(void *to, size_t count, int type, int peer, void *communicator, CUstream stream);
    const char *(*text)(int result);
} nccl;

/* False, and `why`: there is none. The context that is current stays so. */
bool nccl_open(nccl *n, const raw_cuda *cu, int sender, int receiver, char why[96]);
void nccl_close(nccl *n);
/* Words from the sender's memory to the receiver's, each in its own stream. */
void nccl_carry(const nccl *n, CUdeviceptr from, CUstream sender, CUdeviceptr to, CUstream receiver,
                size_t words);

#endif
