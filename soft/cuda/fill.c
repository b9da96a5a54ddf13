/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: sets of device memory. */
#include "graph.h"
#include "vmm.h"

#include <string.h>

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
    struct soft_context *context;
    struct soft_stream *stream;
    struct soft_op *op;
    CUresult result = soft_begin_stream(call, handle, &context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(context, handle, &stream);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (params->width == 0 || params->height == 0) return soft_end(CUDA_SUCCESS);
    result = soft_memset_make(params, &op);
    if (result != CUDA_SUCCESS) return soft_end(result);
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
