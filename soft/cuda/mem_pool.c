/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory pools and what is known about them.
 *
 * A pool keeps nothing: what is freed goes back to the system, whatever the release threshold says.
 * A pool that may be exported has its memory in one file. */
#include "graph.h"
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

static struct soft_pool
    *own[SOFT_MAX_DEVICES]; /* the default pools, made when they are asked for */
static struct soft_pool
    *current[SOFT_MAX_DEVICES]; /* what cuDeviceSetMemPool set; NULL: the default one */
static uint64_t num_files;

struct soft_pool *soft_pool_find(CUmemoryPool handle)
{
    return soft_object_find(handle, SOFT_MEMORY_POOL);
}

struct soft_pool *soft_pool_new(const CUmemPoolProps *props)
{
    struct soft_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) return NULL;
    pool->props = *props;
    pool->device = props->location.id;
    pool->fd = -1;
    pool->access[pool->device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (size_t i = 0; i < sizeof(pool->reuse) / sizeof(pool->reuse[0]); i++)
        pool->reuse[i] = 1; /* cuda.h: "default enabled" */
    soft_object_add(&pool->object, SOFT_MEMORY_POOL, NULL);
    return pool;
}

void soft_pool_settle(struct soft_pool *pool)
{
    if (!pool->destroyed || pool->allocations > 0) return;
    if (pool->fd >= 0) {
        soft_close(pool->fd);
        num_files--;
    }
    free(pool);
}

static struct soft_pool *default_of(CUdevice device)
{
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    if (own[device] == NULL) {
        own[device] = soft_pool_new(&props);
        if (own[device] != NULL) own[device]->is_default = true;
    }
    return own[device];
}

struct soft_pool *soft_pool_of_device(CUdevice device)
{
    return current[device] != NULL ? current[device] : default_of(device);
}

uint64_t soft_pool_count(void)
{
    uint64_t count = soft_object_count(SOFT_MEMORY_POOL);
    for (size_t i = 0; i < SOFT_MAX_DEVICES; i++)
        count -= own[i] != NULL;
    return count;
}

uint64_t soft_pool_fds(void)
{
    return num_files;
}

void soft_pool_own_file(struct soft_pool *pool, int fd, uint64_t size)
{
    pool->fd = fd;
    pool->file_size = size;
    num_files++;
}

static CUresult check(const CUmemPoolProps *props)
{
    if (props == NULL || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->win32SecurityAttributes != NULL || props->usage != 0 ||
        ((unsigned)props->handleTypes &
         ~((unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | SOFT_HANDLE_TYPE_FABRIC)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(props->reserved); i++)
        if (props->reserved[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)props->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (!soft_device_valid(props->location.id)) return CUDA_ERROR_INVALID_VALUE; /* measured */
        /* Measured without an IMEX channel: pools are made, where cuMemCreate refuses. */
        return ((unsigned)props->handleTypes & SOFT_HANDLE_TYPE_FABRIC) &&
                       soft_fabric_refusal() == CUDA_ERROR_NOT_SUPPORTED
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (pool == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_cig_refusal();
    if (result == CUDA_SUCCESS) result = check(poolProps);
    if (result != CUDA_SUCCESS) return soft_end(result);
    struct soft_pool *made = soft_pool_new(poolProps);
    if (made == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
        const size_t page = soft_page_size();
        uint64_t size = poolProps->maxSize == 0 ? soft_memory_total() : poolProps->maxSize;
        size = (size + page - 1) / page * page + page;
        const int fd =
            soft_make_file("culvert pool", (size_t)size); /* no page is there before it is used */
        if (fd >= 0) soft_pool_own_file(made, fd, size);
        made->id = soft_random(); /* other processes compare it */
        if (fd < 0 || !soft_pool_label(made)) {
            soft_object_remove(&made->object);
            made->destroyed = true;
            soft_pool_settle(made);
            return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        }
    }
    *pool = (CUmemoryPool)(void *)made;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *gone = soft_pool_find(pool);
    if (gone == NULL || gone->is_default) return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* NVIDIA's driver crashes here, whether or not there are file descriptors by now (measured). */
    if (gone->export_failed) abort();
    for (size_t i = 0; i < SOFT_MAX_DEVICES; i++)
        if (current[i] == gone) current[i] = NULL;
    soft_object_remove(&gone->object);
    gone->destroyed = true;
    soft_pool_settle(gone);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (pool_out == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct soft_pool *pool = default_of(dev);
    if (pool == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    *pool_out = (CUmemoryPool)(void *)pool;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (pool == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct soft_pool *found = soft_pool_of_device(dev);
    if (found == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    *pool = (CUmemoryPool)(void *)found;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *set = soft_pool_find(pool);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (set == NULL || set->device != dev || set->imported)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    current[dev] = set->is_default ? NULL : set;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    (void)minBytesToKeep; /* nothing is kept */
    return soft_end(soft_pool_find(pool) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* `number` for those of type int, `bytes` for the others; false for an attribute that is none. */
static bool field(struct soft_pool *pool, CUmemPool_attribute attr, int **number, uint64_t **bytes)
{
    *number = NULL;
    *bytes = NULL;
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: *number = &pool->reuse[0]; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: *number = &pool->reuse[1]; break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *number = &pool->reuse[2]; break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *bytes = &pool->release_threshold; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *bytes = &pool->used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *bytes = &pool->used_high; break;
    default: return false;
    }
    return true;
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    int *number;
    uint64_t *bytes;
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *found = soft_pool_find(pool);
    if (found == NULL || value == NULL || !field(found, attr, &number, &bytes))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (number != NULL)
        memcpy(value, number, sizeof(*number));
    else
        memcpy(value, bytes, sizeof(*bytes));
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    int *number;
    uint64_t *bytes, wanted;
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *found = soft_pool_find(pool);
    if (found == NULL || value == NULL || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
        attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT || !field(found, attr, &number, &bytes))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (number != NULL) {
        memcpy(number, value, sizeof(*number));
        return soft_end(CUDA_SUCCESS);
    }
    memcpy(&wanted, value, sizeof(wanted));
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        *bytes = wanted;
        return soft_end(CUDA_SUCCESS);
    }
    if (wanted != 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE); /* a high mark is set back, no more */
    *bytes = found->used;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_pool *found = soft_pool_find(pool);
    if (found == NULL || (map == NULL && count > 0)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        const CUmemLocation *location = &map[i].location;
        if (location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
            map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
            return soft_end(CUDA_ERROR_NOT_SUPPORTED); /* measured */
        if (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
            (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
             map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
            return soft_end(CUDA_ERROR_INVALID_VALUE);
        if (!soft_device_valid(location->id) ||
            (soft.peers_barred && location->id != found->device))
            return soft_end(CUDA_ERROR_INVALID_DEVICE);
        /* Its own device always has access. The code is an H200's. */
        if (location->id == found->device && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
            return soft_end(CUDA_ERROR_INVALID_DEVICE);
    }
    for (size_t i = 0; i < count; i++)
        found->access[map[i].location.id] = (uint8_t)map[i].flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                                    CUmemLocation *location)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    const struct soft_pool *found = soft_pool_find(memPool);
    if (flags == NULL || found == NULL || location == NULL ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_device_valid(location->id)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    *flags = (CUmemAccess_flags)found->access[location->id];
    return soft_end(CUDA_SUCCESS);
}

/* Allocations in stream order.
 *
 * The addresses are there at once, the memory is accessible from the moment that the stream comes
 * to the allocation, and until it comes to the free: use outside of that order faults. */

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
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, context));
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
    SOFT_TRY(begin(__func__, hStream, &context, &stream));
    struct soft_pool *pool = soft_pool_of_device(soft_stream_context(stream)->device);
    if (pool == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    return allocate_and_end(pool, dptr, bytesize, stream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    SOFT_TRY(begin(__func__, hStream, &context, &stream));
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
    SOFT_TRY(soft_submit(stream, op));
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
    SOFT_TRY(begin(__func__, hStream, &context, &stream));
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
