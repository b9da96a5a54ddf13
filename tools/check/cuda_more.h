/* SPDX-License-Identifier: MIT */
/* Calls of the driver that cuda_headers/cuda.h lacks: neither Culvert nor its twin has them. */
#ifndef CHECK_CUDA_MORE_H_
#define CHECK_CUDA_MORE_H_

#include <cuda.h>

typedef struct check_location { /* CUmemLocation */
    int type, id;
} check_location;

typedef struct check_operand { /* CUmemcpy3DOperand */
    int type;                  /* 1: a pointer, 2: an array */
    union {
        struct {
            CUdeviceptr ptr;
            size_t row_length, layer_height; /* elements, rows; 0: there is no gap */
            check_location location;
        } ptr;
        struct {
            CUarray array;
            size_t x, y, z;
        } array;
    } op;
} check_operand;

typedef struct check_box { /* CUDA_MEMCPY3D_BATCH_OP */
    check_operand src, dst;
    size_t width, height, depth;
    int order;
    unsigned flags;
} check_box;

#define BOTH(name, suffix, parameters)                                                             \
    CUresult CUDAAPI name parameters;                                                              \
    CUresult CUDAAPI name##_##suffix parameters;

// clang-format off
BOTH(cuMemcpy3DBatchAsync, ptsz, (size_t count, check_box *boxes, size_t *failed, unsigned long long flags, CUstream s))
BOTH(cuMemcpy3DBatchAsync_v2, ptsz, (size_t count, check_box *boxes, unsigned long long flags, CUstream s))
CUresult CUDAAPI cuStreamBeginCapture_ptsz(CUstream s);
BOTH(cuStreamBeginCaptureToGraph, ptsz, (CUstream s, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode))

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *failed, char *log, size_t size);
CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *failed, char *log, size_t size);
CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
// clang-format on
#undef BOTH

#endif
