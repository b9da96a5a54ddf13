/* SPDX-License-Identifier: MIT */
/* The table as a program sees it whose cuda.h is of CUDA 12.0: the same places, other names. */
#include <cuda.h>
#undef CUDA_VERSION
#define CUDA_VERSION 12000
#include <culvert/cuda_api.h>

#include "cuda_api_12.h"

cuda_api_places cuda_api_places_12(void)
{
    return (cuda_api_places){
        .size = sizeof(culv_cuda_api),
        .first_form = offsetof(culv_cuda_api, cuMemAdvise),
        .second_form = offsetof(culv_cuda_api, cuMemAdvise_v12020),
        .unknown = offsetof(culv_cuda_api, cuMulticastCreate),
        .last = offsetof(culv_cuda_api, cuGraphicsUnmapResources),
    };
}
