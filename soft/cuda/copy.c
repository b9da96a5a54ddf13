/* The twin's CUDA driver: copies and fills, all of them stream operations.
 *
 * Synchronous ones go through the legacy stream, as the driver's do. What the documentation calls
 * asynchronous with respect to the host for device memory is so here too, and copies from pageable memory are
 * staged before the call returns, so that a program which relies on more than it was promised is found out.
 *
 * SPDX-License-Identifier: MIT */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

struct transfer {
    struct soft_op op;
    struct soft_side to, from;
    struct soft_extent extent;
    void *staging;
};

static void move_rows(void *arg)
{
    const struct transfer *t = arg;
    for (size_t z = 0; z < t->extent.depth; z++)
        for (size_t y = 0; y < t->extent.height; y++)
            memmove((void *)(t->to.start + z * t->to.slice + y * t->to.pitch),
                    (const void *)(t->from.start + z * t->from.slice + y * t->from.pitch), t->extent.width);
}

static CUresult run_transfer(struct soft_op *op)
{
    return soft_guarded(move_rows, op);
}

static void retire_transfer(struct soft_op *op)
{
    free(((struct transfer *)(void *)op)->staging);
}

bool soft_side_of_memory(enum soft_side_kind kind, uintptr_t start, size_t size, struct soft_side *out)
{
    const struct soft_range *range = soft_range_find(start);
    out->start = start;
    out->pageable = range == NULL;
    out->on_device = range != NULL && range->kind != SOFT_RANGE_HOST &&
                     range->kind != SOFT_RANGE_REGISTERED && !range->sync_memops;
    if (range == NULL) return kind != SOFT_SIDE_DEVICE && start != 0;
    return soft_range_holding(start, size) != NULL;
}

/* Pageable memory is read before the call returns. */
static CUresult stage(struct transfer *transfer)
{
    const struct soft_extent *extent = &transfer->extent;
    if (extent->height > SIZE_MAX / extent->width ||
        extent->depth > SIZE_MAX / (extent->width * extent->height))
        return CUDA_ERROR_INVALID_VALUE;
    transfer->staging = malloc(extent->width * extent->height * extent->depth);
    if (transfer->staging == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    struct transfer copy = *transfer;
    copy.to.start = (uintptr_t)transfer->staging;
    copy.to.pitch = extent->width;
    copy.to.slice = extent->width * extent->height;
    move_rows(&copy);
    transfer->from = copy.to;
    return CUDA_SUCCESS;
}

CUresult soft_copy(struct soft_stream *stream, bool synchronous, const struct soft_side *to,
                   const struct soft_side *from, struct soft_extent extent)
{
    struct transfer *transfer = soft_op_new(sizeof(*transfer), run_transfer, retire_transfer);
    if (transfer == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    transfer->to = *to;
    transfer->from = *from;
    transfer->extent = extent;
    bool on_device = to->on_device && from->on_device;
    if (synchronous ? !on_device : to->pageable) return soft_submit_and_wait(stream, transfer);
    if (from->pageable) {
        CUresult result = stage(transfer);
        if (result != CUDA_SUCCESS) {
            soft_op_drop(transfer);
            return result;
        }
    }
    return soft_submit(stream, transfer);
}

static CUresult copy(const char *call, CUstream handle, bool synchronous, uintptr_t to,
                     enum soft_side_kind to_kind, uintptr_t from, enum soft_side_kind from_kind, size_t size)
{
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_side to_side = {.pitch = size}, from_side = {.pitch = size};
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (size == 0) return soft_end(CUDA_SUCCESS);
    if (!soft_side_of_memory(to_kind, to, size, &to_side) ||
        !soft_side_of_memory(from_kind, from, size, &from_side))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_extent extent = {.width = size, .height = 1, .depth = 1};
    return soft_end(soft_copy(stream, synchronous, &to_side, &from_side, extent));
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dst, SOFT_SIDE_ANY, (uintptr_t)src, SOFT_SIDE_ANY,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dst, SOFT_SIDE_ANY, (uintptr_t)src, SOFT_SIDE_ANY,
                ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE, (uintptr_t)srcHost,
                SOFT_SIDE_HOST, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE, (uintptr_t)srcHost,
                SOFT_SIDE_HOST, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstHost, SOFT_SIDE_HOST, (uintptr_t)srcDevice,
                SOFT_SIDE_DEVICE, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstHost, SOFT_SIDE_HOST, (uintptr_t)srcDevice,
                SOFT_SIDE_DEVICE, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE, (uintptr_t)srcDevice,
                SOFT_SIDE_DEVICE, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE, (uintptr_t)srcDevice,
                SOFT_SIDE_DEVICE, ByteCount);
}

struct filling {
    struct soft_op op;
    void *to;
    size_t size;
    unsigned value, width; /* the element, and its bytes */
};

static void fill_bytes(void *arg)
{
    const struct filling *filling = arg;
    if (filling->width == 1) {
        memset(filling->to, (int)filling->value, filling->size);
    } else if (filling->width == 2) {
        uint16_t *to = filling->to;
        for (size_t i = 0; i < filling->size / 2; i++)
            to[i] = (uint16_t)filling->value;
    } else {
        uint32_t *to = filling->to;
        for (size_t i = 0; i < filling->size / 4; i++)
            to[i] = filling->value;
    }
}

static CUresult run_filling(struct soft_op *op)
{
    return soft_guarded(fill_bytes, op);
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
    struct filling *filling = soft_op_new(sizeof(*filling), run_filling, NULL);
    if (filling == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    filling->to = (void *)(uintptr_t)to;
    filling->size = count * width;
    filling->value = value;
    filling->width = width;
    bool on_host =
        range->kind == SOFT_RANGE_HOST || range->kind == SOFT_RANGE_REGISTERED || range->sync_memops;
    return soft_end(synchronous && on_host ? soft_submit_and_wait(stream, filling)
                                           : soft_submit(stream, filling));
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
