/* SPDX-License-Identifier: MIT */
/* The table as a program sees it whose cuda.h is of CUDA 12.0: the same places, other names. */
#include <cuda.h>
#undef CUDA_VERSION
#define CUDA_VERSION 12000
#include <culvert/cuda_api.h>

#include <stddef.h>

/* Its size; cuMemAdvise of CUDA 12 and of CUDA 13; a function that CUDA 12.0 does not have; the
 * last one. */
extern const size_t cuda_api_places_12[5];
const size_t cuda_api_places_12[5] = {sizeof(culv_cuda_api), offsetof(culv_cuda_api, cuMemAdvise),
                                      offsetof(culv_cuda_api, cuMemAdvise_v12020),
                                      offsetof(culv_cuda_api, cuMulticastCreate),
                                      offsetof(culv_cuda_api, cuGraphicsUnmapResources)};
