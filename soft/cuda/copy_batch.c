/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: batches of copies. One copy comes after the other, which is one of the
 * orders that a batch may have. All are checked before the first is on its way. */
#include "copy.h"

/* Each copy has attributes, whose hints and flags have nothing to change here. Whether one of them
 * wants its source to be free when the call returns. */
static bool attributes_valid(const CUmemcpyAttributes *attributes, const size_t *first, size_t num,
                             size_t count, bool *during_call)
{
    *during_call = false;
    if (attributes == NULL || first == NULL || num == 0 || num > count || first[0] != 0)
        return false;
    for (size_t i = 0; i < num; i++) {
        if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
            (attributes[i].flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) != 0 ||
            first[i] >= count || (i > 0 && first[i] <= first[i - 1]))
            return false;
        if (attributes[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
            *during_call = true;
    }
    return true;
}

static CUresult sides_of(CUdeviceptr to, CUdeviceptr from, size_t size, struct soft_side *to_side,
                         struct soft_side *from_side)
{
    *to_side = *from_side = (struct soft_side){.pitch = size};
    return size > 0 && soft_side_of_memory(SOFT_SIDE_ANY, (uintptr_t)to, size, to_side) &&
                   soft_side_of_memory(SOFT_SIDE_ANY, (uintptr_t)from, size, from_side)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_batch(const char *call, const CUdeviceptr *to, const CUdeviceptr *from,
                           const size_t *sizes, size_t count, const CUmemcpyAttributes *attributes,
                           const size_t *first, size_t num, size_t *failed, CUstream handle)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_side to_side, from_side;
    bool during_call;
    if (failed != NULL) *failed = SIZE_MAX; /* cuda.h: the error is of no one copy */
    CUresult result = soft_begin_stream(call, handle, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (stream == soft_stream_context(stream)->legacy || to == NULL || from == NULL ||
        sizes == NULL || count == 0 ||
        !attributes_valid(attributes, first, num, count, &during_call))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        result = sides_of(to[i], from[i], sizes[i], &to_side, &from_side);
        if (result == CUDA_SUCCESS) continue;
        if (failed != NULL) *failed = i;
        return soft_end(result);
    }
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        const struct soft_extent extent = {.width = sizes[i], .height = 1, .depth = 1};
        /* A copy may have waited meanwhile, and memory may have gone. */
        result = sides_of(to[i], from[i], sizes[i], &to_side, &from_side);
        if (result == CUDA_SUCCESS) result = soft_copy(stream, false, &to_side, &from_side, extent);
    }
    if (result == CUDA_SUCCESS && during_call && !soft_stream_captured(stream))
        result = soft_stream_wait(stream);
    return soft_end(result);
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                    size_t numAttrs, size_t *failIdx, CUstream hStream)
{
    return copy_batch(__func__, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx,
                      hStream);
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                       size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
                                       size_t numAttrs, CUstream hStream)
{
    return copy_batch(__func__, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL,
                      hStream);
}
#endif
