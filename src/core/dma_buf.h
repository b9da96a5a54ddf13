/* SPDX-License-Identifier: MIT */
/* CUDA's own memory as dma-bufs. */
#ifndef CULVI_CORE_DMA_BUF_H_
#define CULVI_CORE_DMA_BUF_H_

#include "culvert/memory.h"

/* culv_dma_buf_export_dup() of whole pages, of which `known` is an address in the memory meant: the
 * first page may begin before it, where CUDA knows nothing. */
culv_result culvi_dma_buf_export(culv_device *device, CUdeviceptr known, CUdeviceptr pointer,
                                 uint64_t size, uint64_t flags, culv_handle *out);

#endif
