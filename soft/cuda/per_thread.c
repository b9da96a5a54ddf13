/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: calls in whose second form a stream of 0 is the thread's own. */
#include "per_thread.h"

_Thread_local bool soft_null_is_per_thread;

#define DEFINE(base, version, call, suffix, parameters, arguments)                                 \
    CUresult CUDAAPI call##_##suffix parameters                                                    \
    {                                                                                              \
        soft_null_is_per_thread = true;                                                            \
        CUresult result = call arguments;                                                          \
        soft_null_is_per_thread = false;                                                           \
        return result;                                                                             \
    }
SOFT_PER_THREAD(DEFINE)
