/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: allocations in stream order.
 *
 * The addresses are there at once, the memory is accessible from the moment that the stream comes
 * to the allocation, and until it comes to the free: use outside of that order faults. */
#include "mem_pool.h"

#include "graph.h"

#include <stdlib.h>

static void release(struct soft_pooled *memory)
{
    if (--memory->owners > 0) return;
    struct soft_pool *pool = memory->pool;
    struct soft_pooled **link = &pool->extents;
    while (*link != NULL && *link != memory)
        link = &(*link)->next;
    if (*link != NULL) *link = memory->next;
    soft_unmap(memory->map, memory->map_size);
    if (pool->fd >= 0 && !pool->imported) soft_punch(pool->fd, memory->offset, memory->size);
    pool->used -= memory->size;
    pool->allocations--;
    soft_pool_settle(pool);
    free(memory);
}

/* The first gap of the file that is large enough. */
static struct soft_pooled **find_gap(struct soft_pool *pool, size_t size, uint64_t *offset)
{
    struct soft_pooled **link = &pool->extents;
    *offset = soft_page_size(); /* behind the label */
    while (*link != NULL && (*link)->offset - *offset < size) {
        *offset = (*link)->offset + (*link)->size;
        link = &(*link)->next;
    }
    return size <= pool->file_size && *offset <= pool->file_size - size ? link : NULL;
}

/* Maps whole pages between two that are unreadable, in the pool's file or nowhere. */
static bool map(struct soft_pooled *memory)
{
    const size_t page = soft_page_size();
    memory->map_size = memory->size + 2 * page;
    memory->map = soft_reserve_anywhere(memory->map_size);
    if (memory->map == NULL) return false;
    memory->start = (uint8_t *)memory->map + page;
    if (memory->pool->fd < 0 ||
        soft_pages_place(memory->start, memory->size, NULL, memory->pool->fd, memory->offset))
        return true;
    soft_unmap(memory->map, memory->map_size);
    return false;
}

CUresult soft_pooled_new(struct soft_pool *pool, size_t size, const uint64_t *offset, bool open,
                         struct soft_range **out)
{
    const size_t page = soft_page_size();
    if (size > soft_memory_total() ||
        (pool->props.maxSize != 0 && pool->used + size > pool->props.maxSize))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct soft_pooled *memory = calloc(1, sizeof(*memory)), **link = NULL;
    if (memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    memory->pool = pool;
    memory->owners = 1;
    memory->size = (size + page - 1) / page * page;
    if (offset != NULL) {
        memory->offset = *offset;
    } else if (pool->fd >= 0) {
        link = find_gap(pool, memory->size, &memory->offset);
        if (link == NULL) goto no_memory;
    }
    if (!map(memory)) goto no_memory;
    const struct soft_range range = {.start = (uintptr_t)memory->start,
                                     .size = size,
                                     .kind = SOFT_RANGE_POOLED,
                                     .device = pool->device,
                                     .pooled = memory};
    if ((open && !soft_protect(memory->start, memory->size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) ||
        soft_range_add(&range) != CUDA_SUCCESS)
        goto unmap;
    if (link != NULL) {
        memory->next = *link;
        *link = memory;
    }
    pool->used += memory->size;
    if (pool->used > pool->used_high) pool->used_high = pool->used;
    pool->allocations++;
    *out = soft_range_find(range.start);
    return CUDA_SUCCESS;
unmap:
    soft_unmap(memory->map, memory->map_size);
no_memory:
    free(memory);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void soft_pooled_free(struct soft_range *range)
{
    struct soft_pooled *memory = range->pooled;
    soft_range_remove(range);
    release(memory);
}

struct pool_op {
    struct soft_op op;
    struct soft_pooled *memory;
};

static CUresult open_memory(struct soft_op *op)
{
    const struct soft_pooled *memory = ((const struct pool_op *)(const void *)op)->memory;
    return soft_protect(memory->start, memory->size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

static void release_memory(struct soft_op *op)
{
    release(((struct pool_op *)(void *)op)->memory);
}

static struct pool_op *make_op(CUresult (*run)(struct soft_op *), struct soft_pooled *memory)
{
    struct pool_op *op = soft_op_new(sizeof(*op), run, release_memory);
    if (op == NULL) return NULL;
    op->memory = memory;
    memory->owners++;
    return op;
}

CUresult soft_capture_refuse(struct soft_stream *stream)
{
    struct soft_capture *capture = soft_stream_place(stream)->capture;
    if (capture == NULL) return CUDA_SUCCESS;
    soft_capture_break(capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult begin(const char *call, CUstream handle, struct soft_context **context,
                      struct soft_stream **stream)
{
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, context);
    if (result != CUDA_SUCCESS) return result;
    result = soft_stream_get(*context, handle, stream);
    if (result == CUDA_SUCCESS) result = soft_capture_refuse(*stream);
    return result != CUDA_SUCCESS ? soft_end(result) : CUDA_SUCCESS;
}

/* Unlocks in any case. */
static CUresult allocate_and_end(struct soft_pool *pool, CUdeviceptr *dptr, size_t size,
                                 struct soft_stream *stream)
{
    struct soft_range *range;
    if (soft_stream_context(stream)->cig) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (dptr == NULL || pool->imported) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (size == 0) { /* no error (measured), and what cuMemFreeAsync takes */
        *dptr = 0;
        return soft_end(CUDA_SUCCESS);
    }
    CUresult result = soft_pooled_new(pool, size, NULL, false, &range);
    if (result != CUDA_SUCCESS) return soft_end(result);
    struct pool_op *op = make_op(open_memory, range->pooled);
    result = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : soft_submit(stream, op);
    if (result != CUDA_SUCCESS) {
        soft_pooled_free(range);
        return soft_end(result);
    }
    *dptr = range->start;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = begin(__func__, hStream, &context, &stream);
    if (result != CUDA_SUCCESS) return result;
    struct soft_pool *pool = soft_pool_of_device(soft_stream_context(stream)->device);
    if (pool == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    return allocate_and_end(pool, dptr, bytesize, stream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = begin(__func__, hStream, &context, &stream);
    if (result != CUDA_SUCCESS) return result;
    struct soft_pool *from = soft_pool_find(pool);
    if (from == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    return allocate_and_end(from, dptr, bytesize, stream);
}

/* What cuMemAlloc made, until the stream comes to its free. */
struct unmap_op {
    struct soft_op op;
    void *map;
    size_t map_size;
};

static void unmap(struct soft_op *op)
{
    const struct unmap_op *this = (const struct unmap_op *)(const void *)op;
    if (this->map != NULL) soft_unmap(this->map, this->map_size);
}

static CUresult free_in_order(struct soft_range *range, struct soft_stream *stream)
{
    struct unmap_op *op = soft_op_new(sizeof(*op), NULL, unmap);
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_submit(stream, op);
    if (result != CUDA_SUCCESS) return result;
    /* The lock is held: the operation has not been retired yet. */
    op->map = range->map;
    op->map_size = range->map_size;
    range->map = NULL;
    soft_range_remove(range);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    CUresult result = begin(__func__, hStream, &context, &stream);
    if (result != CUDA_SUCCESS) return result;
    if (dptr == 0) return soft_end(CUDA_SUCCESS); /* measured */
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || range->start != dptr) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (range->kind == SOFT_RANGE_DEVICE) /* it takes what cuMemAlloc made, too (measured) */
        return soft_end(free_in_order(range, stream));
    if (range->kind != SOFT_RANGE_POOLED) return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* The operation does nothing but hold the memory until its turn. */
    struct pool_op *op = make_op(NULL, range->pooled);
    result = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : soft_submit(stream, op);
    if (result == CUDA_SUCCESS) soft_pooled_free(range);
    return soft_end(result);
}
