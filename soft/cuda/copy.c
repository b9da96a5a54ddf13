/* The twin's CUDA driver: copies and fills, all of them stream operations.
 *
 * Synchronous ones go through the legacy stream, as the driver's do. What the documentation calls
 * asynchronous with respect to the host for device memory is so here too, and copies from pageable memory are
 * staged before the call returns, so that a program which relies on more than it was promised is found out.
 *
 * SPDX-License-Identifier: MIT */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

struct transfer {
    struct soft_op op;
    void *to;
    const void *from; /* NULL: fill */
    size_t size;
    unsigned value; /* fills: the element, and its bytes */
    unsigned width;
    void *staging;
};

static void move_bytes(void *arg)
{
    struct transfer *transfer = arg;
    if (transfer->from != NULL) {
        memmove(transfer->to, transfer->from, transfer->size);
    } else if (transfer->width == 1) {
        memset(transfer->to, (int)transfer->value, transfer->size);
    } else if (transfer->width == 2) {
        uint16_t *to = transfer->to;
        for (size_t i = 0; i < transfer->size / 2; i++)
            to[i] = (uint16_t)transfer->value;
    } else {
        uint32_t *to = transfer->to;
        for (size_t i = 0; i < transfer->size / 4; i++)
            to[i] = transfer->value;
    }
}

static CUresult run(struct soft_op *op)
{
    return soft_guarded(move_bytes, op);
}

static void retire(struct soft_op *op)
{
    free(((struct transfer *)(void *)op)->staging);
}

enum side { SIDE_DEVICE, SIDE_HOST, SIDE_ANY };

/* Whether one side of a copy may be what it is; *pageable: host memory that the driver does not know. */
static bool side_valid(enum side side, uintptr_t address, size_t size, bool *pageable)
{
    const struct soft_range *range = soft_range_find(address);
    *pageable = range == NULL;
    if (range == NULL) return side != SIDE_DEVICE && address != 0;
    return soft_range_holding(address, size) != NULL;
}

/* Unlocks in any case. */
static CUresult copy_and_end(struct soft_context *context, CUstream handle, bool synchronous, uintptr_t to,
                             enum side to_side, uintptr_t from, enum side from_side, size_t size)
{
    struct soft_stream *stream;
    bool to_pageable, from_pageable;
    CUresult result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (size == 0) return soft_end(CUDA_SUCCESS);
    if (!side_valid(to_side, to, size, &to_pageable) || !side_valid(from_side, from, size, &from_pageable))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct transfer *transfer = soft_op_new(sizeof(*transfer), run, retire);
    if (transfer == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    transfer->to = (void *)to;
    transfer->from = (const void *)from;
    transfer->size = size;
    const struct soft_range *target = soft_range_find(to), *source = soft_range_find(from);
    bool on_device = target != NULL && source != NULL && target->kind != SOFT_RANGE_HOST &&
                     target->kind != SOFT_RANGE_REGISTERED && source->kind != SOFT_RANGE_HOST &&
                     source->kind != SOFT_RANGE_REGISTERED && !target->sync_memops && !source->sync_memops;
    if (synchronous ? !on_device : to_pageable) return soft_end(soft_submit_and_wait(stream, transfer));
    if (from_pageable) {
        transfer->staging = malloc(size);
        if (transfer->staging == NULL) {
            soft_op_drop(transfer);
            return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        }
        memcpy(transfer->staging, transfer->from, size);
        transfer->from = transfer->staging;
    }
    return soft_end(soft_submit(stream, transfer));
}

static CUresult copy(const char *call, CUstream stream, bool synchronous, uintptr_t to, enum side to_side,
                     uintptr_t from, enum side from_side, size_t size)
{
    struct soft_context *context;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    return copy_and_end(context, stream, synchronous, to, to_side, from, from_side, size);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dst, SIDE_ANY, (uintptr_t)src, SIDE_ANY, ByteCount);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dst, SIDE_ANY, (uintptr_t)src, SIDE_ANY, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstDevice, SIDE_DEVICE, (uintptr_t)srcHost, SIDE_HOST,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SIDE_DEVICE, (uintptr_t)srcHost, SIDE_HOST,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstHost, SIDE_HOST, (uintptr_t)srcDevice, SIDE_DEVICE,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstHost, SIDE_HOST, (uintptr_t)srcDevice, SIDE_DEVICE,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstDevice, SIDE_DEVICE, (uintptr_t)srcDevice, SIDE_DEVICE,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SIDE_DEVICE, (uintptr_t)srcDevice,
                SIDE_DEVICE, ByteCount);
}

static CUresult fill(const char *call, CUstream handle, bool synchronous, CUdeviceptr to, unsigned value,
                     unsigned width, size_t count)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (count == 0) return soft_end(CUDA_SUCCESS);
    if (count > SIZE_MAX / width || to % width != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_range *range = soft_range_holding((uintptr_t)to, count * width);
    if (range == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct transfer *transfer = soft_op_new(sizeof(*transfer), run, retire);
    if (transfer == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    transfer->to = (void *)(uintptr_t)to;
    transfer->size = count * width;
    transfer->value = value;
    transfer->width = width;
    bool on_host =
        range->kind == SOFT_RANGE_HOST || range->kind == SOFT_RANGE_REGISTERED || range->sync_memops;
    return soft_end(synchronous && on_host ? soft_submit_and_wait(stream, transfer)
                                           : soft_submit(stream, transfer));
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(__func__, NULL, true, dstDevice, uc, 1, N);
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
    return fill(__func__, NULL, true, dstDevice, us, 2, N);
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(__func__, NULL, true, dstDevice, ui, 4, N);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, uc, 1, N);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, us, 2, N);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, ui, 4, N);
}
