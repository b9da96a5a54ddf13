/* SPDX-License-Identifier: MIT */
/* CUDA driver calls, logged at DEBUG with their values and their result. */
#ifndef CULVI_CUDA_CUDA_TRACE_H_
#define CULVI_CUDA_CUDA_TRACE_H_

#include "base/value.h"
#include "cuda/driver.h"

culvi_value culvi_value_import(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc);
culvi_value culvi_value_import_semaphore(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc);
culvi_value culvi_value_range(const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc);
culvi_value culvi_value_arrays(const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc);
culvi_value culvi_value_array(const CUDA_ARRAY3D_DESCRIPTOR *desc);
culvi_value culvi_value_properties(const CUmemAllocationProp *properties);
culvi_value culvi_value_location(const CUmemLocation *location);
culvi_value culvi_value_ipc_memory(CUipcMemHandle handle);
culvi_value culvi_value_ipc_event(CUipcEventHandle handle);

/* One argument of a call. */
#define CULVI_CUDA_VALUE(argument)                                                                 \
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
             CULVI_AS(CUipcMemHandle, ipc_memory), CULVI_AS(CUipcEventHandle, ipc_event),          \
             CULVI_AS(default, pointer))(argument)
#define CULVI_CUDA_VALUES(...) CULVI_EACH(CULVI_CUDA_VALUE, __VA_ARGS__)

/* Logs a call that has answered `result`, and returns it. */
CUresult culvi_trace_cuda(const culvi_voice *voice, const culvi_cuda *cuda, const char *call,
                          CUresult result, const culvi_value *values, size_t count);

/* Calls a driver function. With the level below DEBUG this costs one branch. The arguments are
 * evaluated a second time for the log: they must have no effects. `name` is written down before
 * cuda.h's macros turn it into cuMemFree_v2. */
#define CULVI_CU_NAMED(voice, cuda, name, function, arguments)                                     \
    (culvi_traces(voice) ? culvi_trace_cuda((voice), (cuda), (name), (cuda)->function arguments,   \
                                            (const culvi_value[]){CULVI_CUDA_VALUES arguments},    \
                                            CULVI_COUNT arguments)                                 \
                         : (cuda)->function arguments)
#define CULVI_CU_OF(voice, cuda, function, arguments)                                              \
    CULVI_CU_NAMED(voice, cuda, #function, function, arguments)

#endif
