/* The twin's CUDA driver: timeline semaphores that the twin's Vulkan layer exported (shared/timeline_page.h).
 *
 * A semaphore of another device imports and signals without an error on NVIDIA and never reaches the other
 * side (measured): here it works on a private page, with the same effect.
 *
 * SPDX-License-Identifier: MIT */
#include "soft.h"

#include "../shared/timeline_page.h"

#include <stdlib.h>
#include <string.h>

#define GIVE_UP_INTERVAL_MS 20u /* how soon a wait sees that its context ends */

struct semaphore {
    struct soft_object object;
    unsigned refs; /* the handle's, and one for each operation under way */
    culv_soft_timeline *page;
    void *map;
    size_t map_size;
    uint64_t last_signalled; /* through this import */
};

struct semaphore_op {
    struct soft_op op;
    unsigned count;
    struct {
        struct semaphore *semaphore;
        uint64_t value;
    } items[];
};

static void unref(struct semaphore *semaphore)
{
    if (--semaphore->refs > 0) return;
    if (semaphore->map != NULL)
        soft_unmap(semaphore->map, semaphore->map_size);
    else
        free(semaphore->page);
    free(semaphore);
}

static void retire(struct soft_op *op)
{
    struct semaphore_op *these = (struct semaphore_op *)(void *)op;
    for (unsigned i = 0; i < these->count; i++)
        unref(these->items[i].semaphore);
}

static CUresult run_signal(struct soft_op *op)
{
    struct semaphore_op *these = (struct semaphore_op *)(void *)op;
    for (unsigned i = 0; i < these->count; i++) {
        culv_soft_timeline *page = these->items[i].semaphore->page;
        uint64_t before = atomic_load(&page->value);
        CULV_SOFT_PAGE_RELEASE();
        while (before < these->items[i].value &&
               !atomic_compare_exchange_weak(&page->value, &before, these->items[i].value)) {
        }
        /* The value first, then the word that sleepers watch: whoever sees the word changed sees the value.
         */
        atomic_fetch_add(&page->seq, 1);
        soft_futex_wake(&page->seq);
    }
    return CUDA_SUCCESS;
}

static CUresult run_wait(struct soft_op *op)
{
    struct semaphore_op *these = (struct semaphore_op *)(void *)op;
    struct soft_context *context = soft_stream_context(op->stream);
    for (unsigned i = 0; i < these->count; i++) {
        culv_soft_timeline *page = these->items[i].semaphore->page;
        for (;;) {
            uint32_t seen = atomic_load(&page->seq);
            if (atomic_load(&page->value) >= these->items[i].value) {
                CULV_SOFT_PAGE_ACQUIRE();
                break;
            }
            if (context->dying) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
            if (context->error != 0) return CUDA_SUCCESS;
            soft_futex_wait(&page->seq, seen, GIVE_UP_INTERVAL_MS);
        }
    }
    return CUDA_SUCCESS;
}

/* NULL when the fd is no exported timeline. */
static culv_soft_timeline *map_page(int fd, void **map, size_t *map_size)
{
    uint64_t size;
    if (!soft_file_size(fd, &size) || size < CULV_SOFT_TIMELINE_SIZE) return NULL;
    char magic[8];
    if (!soft_read_at(fd, magic, sizeof(magic), 0) || memcmp(magic, CULV_SOFT_TIMELINE_MAGIC, 8) != 0)
        return NULL;
    return soft_map_file(fd, 0, CULV_SOFT_TIMELINE_SIZE, map, map_size);
}

CUresult CUDAAPI cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
                                           const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (extSem_out == NULL || semHandleDesc == NULL || semHandleDesc->flags != 0 ||
        semHandleDesc->type < CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
        semHandleDesc->type > CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (semHandleDesc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);

    struct semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (semaphore == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    int fd = semHandleDesc->handle.fd;
    semaphore->page = map_page(fd, &semaphore->map, &semaphore->map_size);
    if (semaphore->page == NULL) {
        free(semaphore);
        return soft_end(CUDA_ERROR_UNKNOWN);
    }
    const uint8_t *own = soft.devices[context->device].uuid;
    if (memcmp(semaphore->page->device_uuid, own, sizeof(semaphore->page->device_uuid)) != 0) {
        culv_soft_timeline *detached = calloc(1, sizeof(*detached));
        if (detached == NULL) {
            soft_unmap(semaphore->map, semaphore->map_size);
            free(semaphore);
            return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        }
        atomic_store(&detached->value, atomic_load(&semaphore->page->value));
        soft_unmap(semaphore->map, semaphore->map_size);
        semaphore->map = NULL;
        semaphore->page = detached;
    }
    soft_close(fd);
    semaphore->refs = 1;
    soft_object_add(&semaphore->object, SOFT_EXTERNAL_SEMAPHORE, context);
    *extSem_out = (CUexternalSemaphore)(void *)semaphore;
    return soft_end(CUDA_SUCCESS);
}

void soft_external_semaphore_free(void *handle)
{
    struct semaphore *semaphore = handle;
    soft_object_remove(&semaphore->object);
    unref(semaphore);
}

CUresult CUDAAPI cuDestroyExternalSemaphore(CUexternalSemaphore extSem)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct semaphore *semaphore = soft_object_find(extSem, SOFT_EXTERNAL_SEMAPHORE);
    if (semaphore == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    /* The real driver waits for the operations under way (measured). The handle may be gone afterwards. */
    if (semaphore->refs > 1) {
        soft_context_wait(semaphore->object.context);
        semaphore = soft_object_find(extSem, SOFT_EXTERNAL_SEMAPHORE);
        if (semaphore == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    }
    soft_external_semaphore_free(semaphore);
    return soft_end(CUDA_SUCCESS);
}

/* An operation without its values; takes references. */
static CUresult make_op(const CUexternalSemaphore *handles, unsigned count, CUresult (*run)(struct soft_op *),
                        struct semaphore_op **out)
{
    struct semaphore_op *op =
        soft_op_new(sizeof(*op) + count * (sizeof(struct semaphore *) + sizeof(uint64_t)), run, retire);
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        struct semaphore *semaphore = soft_object_find(handles[i], SOFT_EXTERNAL_SEMAPHORE);
        if (semaphore == NULL) {
            soft_op_drop(op);
            return CUDA_ERROR_INVALID_HANDLE;
        }
        semaphore->refs++;
        op->items[op->count++].semaphore = semaphore;
    }
    *out = op;
    return CUDA_SUCCESS;
}

/* Stricter than NVIDIA's driver, which lets the counter go backwards silently (measured): a value must be
 * greater than the last one signalled through this import, those earlier in the same call included. */
static bool values_rise(const struct semaphore_op *op)
{
    for (unsigned i = 0; i < op->count; i++) {
        uint64_t last = op->items[i].semaphore->last_signalled;
        for (unsigned j = 0; j < i; j++)
            if (op->items[j].semaphore == op->items[i].semaphore && op->items[j].value > last)
                last = op->items[j].value;
        if (op->items[i].value <= last) return false;
    }
    return true;
}

CUresult CUDAAPI cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                                 const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                                 unsigned int numExtSems, CUstream stream)
{
    struct soft_context *context;
    struct soft_stream *target;
    struct semaphore_op *op;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (extSemArray == NULL || paramsArray == NULL || numExtSems == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < numExtSems; i++)
        if (paramsArray[i].flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, stream, &target);
    if (result == CUDA_SUCCESS) result = make_op(extSemArray, numExtSems, run_signal, &op);
    if (result != CUDA_SUCCESS) return soft_end(result);
    for (unsigned i = 0; i < numExtSems; i++)
        op->items[i].value = paramsArray[i].params.fence.value;
    if (!values_rise(op)) {
        soft_op_drop(op);
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    /* The handles keep the semaphores alive; the operation is the stream's from here on. */
    result = soft_submit(target, op);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < numExtSems; i++) {
        struct semaphore *semaphore = soft_object_find(extSemArray[i], SOFT_EXTERNAL_SEMAPHORE);
        semaphore->last_signalled = paramsArray[i].params.fence.value;
    }
    return soft_end(result);
}

CUresult CUDAAPI cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                               const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
                                               unsigned int numExtSems, CUstream stream)
{
    struct soft_context *context;
    struct soft_stream *target;
    struct semaphore_op *op;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (extSemArray == NULL || paramsArray == NULL || numExtSems == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < numExtSems; i++)
        if (paramsArray[i].flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, stream, &target);
    if (result == CUDA_SUCCESS) result = make_op(extSemArray, numExtSems, run_wait, &op);
    if (result != CUDA_SUCCESS) return soft_end(result);
    for (unsigned i = 0; i < numExtSems; i++)
        op->items[i].value = paramsArray[i].params.fence.value;
    return soft_end(soft_submit(target, op));
}
