/* SPDX-License-Identifier: MIT */
/* NCCL between the ranks: libnccl.so.2, opened at run time, if there is one. */
#ifndef CULVERT_MPI_MEASURE_NCCL_H_
#define CULVERT_MPI_MEASURE_NCCL_H_

#include "culvert/cuda_api.h"

#define MEASURE_NCCL_TEXT 128

/* All ranks call it, each with its device's context current. NULL, and `why`: there is none.
 * `apart`: this rank's GPU is no other rank's. NCCL 2.28 does not return if one GPU has two. */
void *measure_nccl_open(int rank, int ranks, int apart, char why[MEASURE_NCCL_TEXT]);
void measure_nccl_close(void *communicator);
/* A group of sends to rank 0, or of receives there. A failure ends all ranks. */
void measure_nccl_begin(void);
void measure_nccl_send(void *of, CUdeviceptr from, size_t words, CUstream stream);
void measure_nccl_receive(void *of, CUdeviceptr to, size_t words, int rank, CUstream stream);
void measure_nccl_end(void);

#endif
