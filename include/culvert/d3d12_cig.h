/* SPDX-License-Identifier: MIT */
/* Culvert: a CUDA-in-graphics context (culvert/cig.h) beside a queue of Direct3D 12. */
#ifndef CULV_D3D12_CIG_H_
#define CULV_D3D12_CIG_H_

#ifndef CULV_EXPERIMENTAL
#    error "d3d12_cig.h is experimental (docs/stability.md): define CULV_EXPERIMENTAL first"
#endif

#include "cig.h"
#include "d3d.h"

struct ID3D12CommandQueue;

CULV_EXTERN_C_BEGIN

/** Makes a CIG context beside a queue of Direct3D 12. The label may be NULL; it is copied (up to 63
 * bytes). The context is not current on the calling thread afterwards.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: the attachment is Direct3D 11's; DEVICE_MISMATCH: the
 * queue is another ID3D12Device's), UNSUPPORTED (NOT_BUILT: not Windows; DRIVER_TOO_OLD; CIG: the
 * device lacks it), DRIVER (CIG), ASYNC, OUT_OF_MEMORY.
 * Ownership: the queue stays yours and must outlive *out. *out is yours, for culv_cig_destroy().
 * Threads: any.
 * Source: cuda.h, cuCtxCreate_v4, CIG_DATA_TYPE_D3D12_COMMAND_QUEUE. */
CULV_EXPORT culv_result culv_d3d12_cig_create(culv_d3d_device *d3d,
                                              struct ID3D12CommandQueue *queue, const char *label,
                                              culv_cig **out);

CULV_EXTERN_C_END

#endif
