/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: copies and fills, all of them stream operations.
 *
 * Synchronous ones go through the legacy stream, as the driver's do. What the documentation calls
 * asynchronous with respect to the host for device memory is so here too, and copies from pageable
 * memory are staged before the call returns, so that a program which relies on more than it was
 * promised is found out. The synchronous ones among the latter wait for what was in their stream
 * before, not for themselves ("API synchronization behavior"; NVIDIA's driver was seen to be
 * overtaken there by kernels in a non-blocking stream). */
#include "array.h"
#include "graph.h"
#include "vmm.h"

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
                    (const void *)(t->from.start + z * t->from.slice + y * t->from.pitch),
                    t->extent.width);
}

static CUresult run_transfer(struct soft_op *op)
{
    const struct transfer *transfer = (const struct transfer *)(const void *)op;
    const CUresult result = soft_guarded(move_rows, op);
    if (transfer->to.sparse != NULL)
        soft_sparse_settle(transfer->to.sparse, transfer->to.sparse_level);
    return result;
}

static void retire_transfer(struct soft_op *op)
{
    free(((struct transfer *)(void *)op)->staging);
}

bool soft_side_of_memory(enum soft_side_kind kind, uintptr_t start, size_t size,
                         struct soft_side *out)
{
    const struct soft_range *range = soft_range_find(start);
    out->start = start;
    out->kind = kind;
    out->pageable = range == NULL;
    out->on_device = range != NULL && range->kind != SOFT_RANGE_HOST &&
                     range->kind != SOFT_RANGE_REGISTERED && !range->sync_memops;
    if (range == NULL)
        return kind != SOFT_SIDE_DEVICE && start != 0 && soft_reservation_at(start) == NULL;
    return soft_range_holding(start, size) != NULL && soft_virtual_accessible(range, start, size);
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

static CUresult wait_before(struct soft_stream *stream, struct transfer *transfer)
{
    const struct soft_context *context = soft_stream_context(stream);
    CUresult result = soft_op_after_context(transfer, context, true);
    for (size_t i = 0; result == CUDA_SUCCESS && i < transfer->op.num_points; i++)
        soft_point_wait(&transfer->op.points[i]);
    return result != CUDA_SUCCESS ? result : (CUresult)context->error;
}

CUresult soft_copy_make(const struct soft_side *to, const struct soft_side *from,
                        struct soft_extent extent, struct soft_op **out)
{
    struct transfer *transfer = soft_op_new(sizeof(*transfer), run_transfer, retire_transfer);
    if (transfer == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    transfer->op.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    transfer->to = *to;
    transfer->from = *from;
    transfer->extent = extent;
    *out = &transfer->op;
    return CUDA_SUCCESS;
}

static CUmemorytype memory_type(const struct soft_side *side)
{
    return side->in.array != NULL           ? CU_MEMORYTYPE_ARRAY
           : side->kind == SOFT_SIDE_HOST   ? CU_MEMORYTYPE_HOST
           : side->kind == SOFT_SIDE_DEVICE ? CU_MEMORYTYPE_DEVICE
                                            : CU_MEMORYTYPE_UNIFIED;
}

void soft_memcpy_params(const struct soft_op *work, CUDA_MEMCPY3D *out)
{
    const struct transfer *t = (const struct transfer *)(const void *)work;
    const struct soft_side *to = &t->to, *from = &t->from;
    *out = (CUDA_MEMCPY3D){.srcMemoryType = memory_type(from),
                           .dstMemoryType = memory_type(to),
                           .srcArray = from->in.array,
                           .srcXInBytes = from->in.x,
                           .srcY = from->in.y,
                           .srcZ = from->in.z,
                           .dstArray = to->in.array,
                           .dstXInBytes = to->in.x,
                           .dstY = to->in.y,
                           .dstZ = to->in.z,
                           .WidthInBytes = t->extent.width,
                           .Height = t->extent.height,
                           .Depth = t->extent.depth};
    /* Of memory the copy's own first byte. */
    if (out->srcMemoryType == CU_MEMORYTYPE_HOST)
        out->srcHost = (const void *)from->start;
    else if (out->srcMemoryType != CU_MEMORYTYPE_ARRAY)
        out->srcDevice = (CUdeviceptr)from->start;
    if (out->dstMemoryType == CU_MEMORYTYPE_HOST)
        out->dstHost = (void *)to->start;
    else if (out->dstMemoryType != CU_MEMORYTYPE_ARRAY)
        out->dstDevice = (CUdeviceptr)to->start;
    if (from->in.array == NULL) {
        out->srcPitch = from->pitch;
        out->srcHeight = from->pitch == 0 ? 0 : from->slice / from->pitch;
    }
    if (to->in.array == NULL) {
        out->dstPitch = to->pitch;
        out->dstHeight = to->pitch == 0 ? 0 : to->slice / to->pitch;
    }
}

CUresult soft_copy(struct soft_stream *stream, bool synchronous, const struct soft_side *to,
                   const struct soft_side *from, struct soft_extent extent)
{
    struct soft_op *op;
    SOFT_TRY(soft_copy_make(to, from, extent, &op));
    struct transfer *transfer = (struct transfer *)(void *)op;
    /* A node reads what is there when it runs. */
    if (soft_stream_place(stream)->capture != NULL) return soft_submit(stream, op);
    bool returns_early = to->on_device && (from->on_device || from->pageable);
    if (synchronous ? !returns_early : to->pageable) return soft_submit_and_wait(stream, transfer);
    if (from->pageable) {
        result = synchronous ? wait_before(stream, transfer) : CUDA_SUCCESS;
        if (result == CUDA_SUCCESS) result = stage(transfer);
        if (result != CUDA_SUCCESS) {
            soft_op_drop(transfer);
            return result;
        }
    }
    return soft_submit(stream, transfer);
}

static CUresult copy(const char *call, CUstream handle, bool synchronous, uintptr_t to,
                     enum soft_side_kind to_kind, uintptr_t from, enum soft_side_kind from_kind,
                     size_t size)
{
    struct soft_stream *stream;
    struct soft_side to_side = {.pitch = size}, from_side = {.pitch = size};
    SOFT_TRY(soft_begin_on(call, handle, &stream));
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
    return copy(__func__, hStream, false, (uintptr_t)dst, SOFT_SIDE_ANY, (uintptr_t)src,
                SOFT_SIDE_ANY, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy(__func__, NULL, true, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE, (uintptr_t)srcHost,
                SOFT_SIDE_HOST, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE,
                (uintptr_t)srcHost, SOFT_SIDE_HOST, ByteCount);
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

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream)
{
    return copy(__func__, hStream, false, (uintptr_t)dstDevice, SOFT_SIDE_DEVICE,
                (uintptr_t)srcDevice, SOFT_SIDE_DEVICE, ByteCount);
}

/* Sets of device memory. */

struct filling {
    struct soft_op op;
    CUDA_MEMSET_NODE_PARAMS params;
};

/* By copies that double: as fast as memset() for each size of element, also under a sanitizer. */
static void fill_row(unsigned char *to, const void *value, size_t element, size_t size)
{
    enum { MOST = 64 << 10 }; /* a source that stays in the cache */
    memcpy(to, value, element);
    for (size_t done = element, next; done < size; done += next) {
        next = done < MOST ? done : MOST;
        if (next > size - done) next = size - done;
        memcpy(to + done, to, next);
    }
}

static void fill_rows(void *arg)
{
    const CUDA_MEMSET_NODE_PARAMS *p = &((const struct filling *)arg)->params;
    const uint8_t one = (uint8_t)p->value;
    const uint16_t two = (uint16_t)p->value;
    const uint32_t four = p->value;
    const void *value = p->elementSize == 1   ? (const void *)&one
                        : p->elementSize == 2 ? (const void *)&two
                                              : (const void *)&four;
    for (size_t y = 0; y < p->height; y++)
        fill_row((unsigned char *)(uintptr_t)p->dst + y * p->pitch, value, p->elementSize,
                 p->width * p->elementSize);
}

static CUresult run_filling(struct soft_op *op)
{
    return soft_guarded(fill_rows, op);
}

CUresult soft_memset_make(const CUDA_MEMSET_NODE_PARAMS *p, struct soft_op **out)
{
    const unsigned element = p->elementSize;
    if ((element != 1 && element != 2 && element != 4) || p->width == 0 || p->height == 0 ||
        p->width > SIZE_MAX / element || p->dst % element != 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = p->width * element;
    if (p->height > 1) {
        if (p->pitch < size || p->pitch % element != 0 ||
            p->height - 1 > (SIZE_MAX - size) / p->pitch)
            return CUDA_ERROR_INVALID_VALUE;
        size += (p->height - 1) * p->pitch;
    }
    if (soft_range_holding((uintptr_t)p->dst, size) == NULL) return CUDA_ERROR_INVALID_VALUE;
    struct filling *filling = soft_op_new(sizeof(*filling), run_filling, NULL);
    if (filling == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    filling->op.type = CU_GRAPH_NODE_TYPE_MEMSET;
    filling->params = *p;
    *out = &filling->op;
    return CUDA_SUCCESS;
}

void soft_memset_params(const struct soft_op *work, CUDA_MEMSET_NODE_PARAMS *out)
{
    *out = ((const struct filling *)(const void *)work)->params;
}

static CUresult fill_2d(const char *call, CUstream handle, bool synchronous,
                        const CUDA_MEMSET_NODE_PARAMS *params)
{
    const uintptr_t to = (uintptr_t)params->dst;
    struct soft_stream *stream;
    struct soft_op *op;
    SOFT_TRY(soft_begin_on(call, handle, &stream));
    if (params->width == 0 || params->height == 0) return soft_end(CUDA_SUCCESS);
    SOFT_STEP(soft_memset_make(params, &op));
    const struct soft_range *range = soft_range_find(to);
    const size_t size = (params->height - 1) * params->pitch + params->width * params->elementSize;
    /* Told at the call (measured), whereas a kernel faults. */
    if (!soft_virtual_accessible(range, to, size)) {
        soft_op_drop(op);
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    bool on_host = range->kind == SOFT_RANGE_HOST || range->kind == SOFT_RANGE_REGISTERED ||
                   range->sync_memops;
    return soft_end(synchronous && on_host ? soft_submit_and_wait(stream, op)
                                           : soft_submit(stream, op));
}

static CUresult fill(const char *call, CUstream handle, bool synchronous, CUdeviceptr to,
                     unsigned value, unsigned width, size_t count)
{
    return fill_2d(
        call, handle, synchronous,
        &(CUDA_MEMSET_NODE_PARAMS){
            .dst = to, .value = value, .elementSize = width, .width = count, .height = 1});
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

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, uc, 1, N);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                  CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, us, 2, N);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                  CUstream hStream)
{
    return fill(__func__, hStream, false, dstDevice, ui, 4, N);
}

#define ROWS(bytes)                                                                                \
    &(CUDA_MEMSET_NODE_PARAMS)                                                                     \
    {                                                                                              \
        .dst = dstDevice, .pitch = dstPitch, .value = value, .elementSize = (bytes),               \
        .width = Width, .height = Height                                                           \
    }

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char value,
                                 size_t Width, size_t Height)
{
    return fill_2d(__func__, NULL, true, ROWS(1));
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char value,
                                   size_t Width, size_t Height, CUstream hStream)
{
    return fill_2d(__func__, hStream, false, ROWS(1));
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short value,
                                  size_t Width, size_t Height)
{
    return fill_2d(__func__, NULL, true, ROWS(2));
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short value,
                                    size_t Width, size_t Height, CUstream hStream)
{
    return fill_2d(__func__, hStream, false, ROWS(2));
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int value,
                                  size_t Width, size_t Height)
{
    return fill_2d(__func__, NULL, true, ROWS(4));
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int value,
                                    size_t Width, size_t Height, CUstream hStream)
{
    return fill_2d(__func__, hStream, false, ROWS(4));
}
