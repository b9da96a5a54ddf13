/* SPDX-License-Identifier: MIT */
/* CUDA driver calls, logged at DEBUG with their values and their result. */
#ifndef CULVI_CUDA_CUDA_TRACE_H_
#define CULVI_CUDA_CUDA_TRACE_H_

#include "base/value.h"
#include "cuda/driver.h"

enum {
    CULVI_VALUE_import = CULVI_VALUE_STRUCTS,
    CULVI_VALUE_import_semaphore,
    CULVI_VALUE_range,
    CULVI_VALUE_arrays,
    CULVI_VALUE_array,
    CULVI_VALUE_properties,
    CULVI_VALUE_location
};

/* The kind of one argument of a call. */
#define CULVI_CUDA_KIND(argument)                                                                  \
    _Generic((argument), CULVI_VALUE_TYPES, CULVI_AS(CUcontext *, out_handle),                     \
             CULVI_AS(CUstream *, out_handle), CULVI_AS(CUevent *, out_handle),                    \
             CULVI_AS(CUarray *, out_handle), CULVI_AS(CUmipmappedArray *, out_handle),            \
             CULVI_AS(CUgraphicsResource *, out_handle), CULVI_AS(CUexternalMemory *, out_handle), \
             CULVI_AS(CUmemoryPool *, out_handle), CULVI_AS(CUexternalSemaphore *, out_handle),    \
             CULVI_AS(CUDA_EXTERNAL_MEMORY_HANDLE_DESC *, import),                                 \
             CULVI_AS(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *, import_semaphore),                    \
             CULVI_AS(CUDA_EXTERNAL_MEMORY_BUFFER_DESC *, range),                                  \
             CULVI_AS(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *, arrays),                        \
             CULVI_AS(CUDA_ARRAY3D_DESCRIPTOR *, array),                                           \
             CULVI_AS(const CUDA_ARRAY3D_DESCRIPTOR *, array),                                     \
             CULVI_AS(CUmemAllocationProp *, properties),                                          \
             CULVI_AS(const CUmemAllocationProp *, properties),                                    \
             CULVI_AS(CUmemLocation *, location), CULVI_AS(const CUmemLocation *, location),       \
             CULVI_AS(CUipcMemHandle, bytes), CULVI_AS(CUipcEventHandle, bytes),                   \
             CULVI_AS(default, pointer))
#define CULVI_CUDA_KINDS(...) CULVI_KINDS(CULVI_CUDA_KIND, __VA_ARGS__)

/* Logs a call that has answered `result`, with its arguments, if somebody listens. Returns it. */
CUresult culvi_trace_cuda(const culvi_voice *voice, const culvi_cuda *cuda, const char *call,
                          CUresult result, uint64_t kinds, ...);

/* Calls a driver function. With the level below DEBUG this costs a call more; the frame path calls
 * by the table. The arguments are evaluated a second time for the log: they must have no effects.
 * `name` is written down before cuda.h's macros turn it into cuMemFree_v2. */
#define CULVI_CU_NAMED(voice, cuda, name, function, arguments)                                     \
    culvi_trace_cuda((voice), (cuda), (name), (cuda)->function arguments,                          \
                     CULVI_CUDA_KINDS arguments, CULVI_LIST arguments)
#define CULVI_CU_OF(voice, cuda, function, arguments)                                              \
    CULVI_CU_NAMED(voice, cuda, #function, function, arguments)

#endif
