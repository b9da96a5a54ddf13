/* The twin's CUDA driver: external semaphores. Timelines are those that the twin's Vulkan layer exported,
 * binary ones those that a test made (shared/control.h): software Vulkan drivers export none.
 *
 * A semaphore of another device imports and signals without an error on NVIDIA and never reaches the other
 * side (measured): here it works on a private page, with the same effect.
 *
 * SPDX-License-Identifier: MIT */
#include "semaphore_page.h"

#include <stdlib.h>
#include <string.h>

struct semaphore {
    struct soft_object object;
    unsigned refs; /* the handle's, and one for each operation under way */
    enum soft_page_kind kind;
    union soft_page *page;
    void *map; /* NULL: the page is private */
    size_t map_size;
    uint64_t last_signalled; /* a timeline's, through this import */
};

struct semaphore_op {
    struct soft_op op;
    bool signals; /* else waits */
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

static CUresult run(struct soft_op *op)
{
    struct semaphore_op *these = (struct semaphore_op *)(void *)op;
    const struct soft_context *context = soft_stream_context(op->stream);
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < these->count; i++) {
        struct semaphore *semaphore = these->items[i].semaphore;
        uint64_t value = these->items[i].value;
        result = these->signals ? soft_page_signal(semaphore->page, semaphore->kind, value)
                                : soft_page_wait(semaphore->page, semaphore->kind, value, context);
    }
    return result;
}

/* An fd of the other kind is refused as one of no kind is. */
static CUresult open_page(struct semaphore *semaphore, int fd, const uint8_t *own_uuid)
{
    semaphore->page = soft_page_map(fd, semaphore->kind, &semaphore->map, &semaphore->map_size);
    if (semaphore->page == NULL) return CUDA_ERROR_UNKNOWN;
    const uint8_t *uuid = semaphore->page->timeline.device_uuid;
    if (memcmp(uuid, own_uuid, sizeof(semaphore->page->timeline.device_uuid)) == 0) return CUDA_SUCCESS;
    union soft_page *detached = soft_page_detached(semaphore->page, semaphore->kind);
    soft_unmap(semaphore->map, semaphore->map_size);
    semaphore->map = NULL;
    semaphore->page = detached;
    return detached == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
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
    if (semHandleDesc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD &&
        semHandleDesc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);

    struct semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (semaphore == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    semaphore->kind = semHandleDesc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ? SOFT_PAGE_BINARY
                                                                                         : SOFT_PAGE_TIMELINE;
    result = open_page(semaphore, semHandleDesc->handle.fd, soft.devices[context->device].uuid);
    if (result != CUDA_SUCCESS) {
        free(semaphore);
        return soft_end(result);
    }
    soft_close(semHandleDesc->handle.fd);
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

/* What one element of a signal's or a wait's parameters says. The value is for fence objects, which timelines
 * are: nothing is asked of it for a binary semaphore. */
struct request {
    uint64_t value;
    unsigned flags;
};

static struct request signal_request(const void *params, unsigned i)
{
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p = params;
    return (struct request){p[i].params.fence.value, p[i].flags};
}

static struct request wait_request(const void *params, unsigned i)
{
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p = params;
    return (struct request){p[i].params.fence.value, p[i].flags};
}

/* Takes a reference to each semaphore. */
static CUresult make_op(const CUexternalSemaphore *handles, const void *params,
                        struct request (*read)(const void *, unsigned), unsigned count,
                        struct semaphore_op **out)
{
    struct semaphore_op *op = soft_op_new(sizeof(*op) + count * sizeof(op->items[0]), run, retire);
    CUresult result = CUDA_SUCCESS;
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    op->signals = read == signal_request;
    for (unsigned i = 0; i < count; i++) {
        struct request request = read(params, i);
        struct semaphore *semaphore = soft_object_find(handles[i], SOFT_EXTERNAL_SEMAPHORE);
        if (semaphore == NULL) result = CUDA_ERROR_INVALID_HANDLE;
        if (semaphore != NULL && request.flags != 0) result = CUDA_ERROR_INVALID_VALUE;
        if (result != CUDA_SUCCESS) {
            soft_op_drop(op);
            return result;
        }
        semaphore->refs++;
        op->items[op->count].semaphore = semaphore;
        op->items[op->count++].value = request.value;
    }
    *out = op;
    return CUDA_SUCCESS;
}

/* Stricter than NVIDIA's driver, which lets a counter go backwards silently (measured): a timeline's value must
 * be greater than the last one signalled through this import, those earlier in the same call included. And one
 * call cannot signal a binary semaphore twice, nor wait for it twice: no partner can come between. */
static bool sensible(const struct semaphore_op *op, const struct soft_context *context)
{
    for (unsigned i = 0; i < op->count; i++) {
        const struct semaphore *semaphore = op->items[i].semaphore;
        if (semaphore->object.context != context) return false; /* as the real driver (measured) */
        uint64_t last = semaphore->last_signalled;
        for (unsigned j = 0; j < i; j++) {
            if (op->items[j].semaphore != semaphore) continue;
            if (semaphore->kind == SOFT_PAGE_BINARY) return false;
            if (op->items[j].value > last) last = op->items[j].value;
        }
        if (semaphore->kind == SOFT_PAGE_TIMELINE && op->signals && op->items[i].value <= last) return false;
    }
    return true;
}

/* The whole call is checked before any of it is queued, and is one operation of the stream. */
static CUresult enqueue(const char *call, const CUexternalSemaphore *handles, const void *params,
                        struct request (*read)(const void *, unsigned), unsigned count, CUstream stream)
{
    struct soft_context *context = NULL;
    struct soft_stream *target;
    struct semaphore_op *op;
    /* A stream brings its context along; only the default streams are those of the current one (measured). */
    const bool needs_current = stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
    CUresult result = soft_begin(call, needs_current ? SOFT_NEED_CONTEXT : SOFT_NEED_INIT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (handles == NULL || params == NULL || count == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, stream, &target);
    if (result == CUDA_SUCCESS) result = make_op(handles, params, read, count, &op);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (!sensible(op, soft_stream_context(target))) {
        soft_op_drop(op);
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    }
    const bool signals = op->signals;
    /* The handles keep the semaphores alive; the operation is the stream's from here on. */
    result = soft_submit(target, op);
    for (unsigned i = 0; result == CUDA_SUCCESS && signals && i < count; i++) {
        struct semaphore *semaphore = soft_object_find(handles[i], SOFT_EXTERNAL_SEMAPHORE);
        semaphore->last_signalled = read(params, i).value;
    }
    return soft_end(result);
}

CUresult CUDAAPI cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                                 const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                                 unsigned int numExtSems, CUstream stream)
{
    return enqueue(__func__, extSemArray, paramsArray, signal_request, numExtSems, stream);
}

CUresult CUDAAPI cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                               const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
                                               unsigned int numExtSems, CUstream stream)
{
    return enqueue(__func__, extSemArray, paramsArray, wait_request, numExtSems, stream);
}
