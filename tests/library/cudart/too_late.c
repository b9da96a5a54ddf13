/* SPDX-License-Identifier: MIT */
/* Does not compile, and says why: the runtime's functions have taken stream 0 for the legacy one by
 * the time that the program asks for the other. */
#include <cuda_runtime_api.h>
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include <culvert/cudart.h>
