/* SPDX-License-Identifier: MIT */
/* Where members of culv_cuda_api are. */
#ifndef CULVERT_TESTS_CUDA_API_12_H_
#define CULVERT_TESTS_CUDA_API_12_H_

#include <stddef.h>

typedef struct cuda_api_places {
    size_t size;
    size_t first_form, second_form; /* cuMemAdvise of CUDA 12 and of CUDA 13 */
    size_t unknown;                 /* a function that CUDA 12.0 does not have */
    size_t last;
} cuda_api_places;

/* With a cuda.h of CUDA 12.0. */
cuda_api_places cuda_api_places_12(void);

#endif
