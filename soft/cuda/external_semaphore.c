/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: external semaphores. They are the timelines and the binary ones that the
 * twin's Vulkan layer exported, SwiftShader's binary ones, and binary ones that a test made
 * (shared/control.h).
 *
 * One of another device imports, signals and is heard of, as on two H200 (measured), which nothing
 * promises. */
#include "graph.h"
#include "semaphore_page.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#    include "win32_share.h"
#endif

struct semaphore {
    struct soft_object object;
    unsigned refs; /* the handle's, and one for each operation, of graphs too */
    enum soft_page_kind kind;
    union soft_page *page;
    void *map;
    size_t map_size;
    uint64_t last_signaled; /* a timeline's, through this import */
#ifdef _WIN32
    culv_soft_share share; /* instead of the page */
#endif
};

struct semaphore_op {
    struct soft_op op; /* EXT_SEMAS_SIGNAL or EXT_SEMAS_WAIT */
    unsigned count;
    CUexternalSemaphore *handles; /* a reference to each; it may be none any more */
    void *params;                 /* signal or wait parameters, as they were given */
    uint64_t *before;             /* last_signaled of each, as the signals were admitted */
    /* Of each that is counted, when it was submitted. NULL: it is a graph's, whose launches get
     * theirs as they run. */
    uint64_t *numbers;
#ifdef _WIN32
    bool acquired; /* keyed mutexes, by the call that submitted this */
#endif
};

static void unref(struct semaphore *semaphore)
{
    if (--semaphore->refs > 0) return;
#ifdef _WIN32
    soft_share_close(&semaphore->share);
#else
    soft_page_leave(semaphore->page, semaphore->kind);
#endif
    soft_unmap(semaphore->map, semaphore->map_size);
    free(semaphore);
}

static struct semaphore *semaphore_of(const struct semaphore_op *op, unsigned i)
{
    return (struct semaphore *)(void *)op->handles[i];
}

#ifdef _WIN32
static CUresult run_one(const struct semaphore_op *op, unsigned i)
{
    const struct semaphore *semaphore = semaphore_of(op, i);
    const culv_soft_share *share = &semaphore->share;
    const bool mutex = semaphore->kind == SOFT_PAGE_MUTEX;
    if (op->op.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL) {
        const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p = op->params;
        const uint64_t value = mutex ? p[i].params.keyedMutex.key : p[i].params.fence.value;
        return share->signal(share->object, value) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    }
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p = op->params;
    if (mutex && op->acquired) return CUDA_SUCCESS;
    return mutex ? soft_share_wait(share, p[i].params.keyedMutex.key,
                                   p[i].params.keyedMutex.timeoutMs, semaphore->object.context)
                 : soft_share_wait(share, p[i].params.fence.value, UINT32_MAX,
                                   semaphore->object.context);
}
#endif

static uint64_t value_of(const struct semaphore_op *op, unsigned i)
{
    return op->op.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
               ? ((const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *)op->params)[i].params.fence.value
               : ((const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *)op->params)[i].params.fence.value;
}

static void retire(struct soft_op *op)
{
    struct semaphore_op *these = (struct semaphore_op *)(void *)op;
    for (unsigned i = 0; i < these->count; i++)
        unref(semaphore_of(these, i));
    free(these->handles);
    free(these->params);
    free(these->before);
    free(these->numbers);
}

static CUresult run(struct soft_op *op)
{
    const struct semaphore_op *these = (const struct semaphore_op *)(const void *)op;
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < these->count; i++) {
#ifdef _WIN32
        result = run_one(these, i);
#else
        const struct semaphore *semaphore = semaphore_of(these, i);
        const bool signals = op->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
        uint64_t value = value_of(these, i);
        if (semaphore->kind == SOFT_PAGE_COUNTED)
            value = these->numbers != NULL ? these->numbers[i]
                                           : soft_page_number(semaphore->page, !signals);
        result = signals ? soft_page_signal(semaphore->page, semaphore->kind, value)
                         : soft_page_wait(semaphore->page, semaphore->kind, value,
                                          semaphore->object.context);
#endif
    }
    return result;
}

static void recall_first(const struct semaphore_op *op, unsigned count)
{
    const bool signals = op->op.type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    for (unsigned i = count; i-- > 0;) {
        if (signals) semaphore_of(op, i)->last_signaled = op->before[i];
        if (semaphore_of(op, i)->kind == SOFT_PAGE_COUNTED && op->numbers != NULL &&
            op->numbers[i] != 0)
            soft_page_number_back(semaphore_of(op, i)->page, !signals);
    }
}

static void recall(struct soft_op *op)
{
    const struct semaphore_op *these = (const struct semaphore_op *)(const void *)op;
    recall_first(these, these->count);
}

/* Stricter than NVIDIA's driver, which lets a counter go backwards silently (measured): a
 * timeline's value must be greater than the last one signaled through this import, those earlier
 * in the same call or launch included. A graph cannot use a semaphore that was destroyed, and none
 * takes part in another context's work (measured). */
static CUresult admit(struct soft_op *op, const struct soft_context *context)
{
    const struct semaphore_op *these = (const struct semaphore_op *)(const void *)op;
    const bool signals = op->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    for (unsigned i = 0; i < these->count; i++) {
        struct semaphore *semaphore = semaphore_of(these, i);
        CUresult result = CUDA_SUCCESS;
        if (soft_object_find(semaphore, SOFT_EXTERNAL_SEMAPHORE) == NULL)
            result = CUDA_ERROR_INVALID_HANDLE;
        else if (semaphore->object.context != context ||
                 (signals && semaphore->kind == SOFT_PAGE_TIMELINE &&
                  value_of(these, i) <= semaphore->last_signaled))
            result = CUDA_ERROR_INVALID_VALUE;
        if (result != CUDA_SUCCESS) {
            recall_first(these, i);
            return result;
        }
        these->before[i] = semaphore->last_signaled;
        if (signals) semaphore->last_signaled = value_of(these, i);
        if (semaphore->kind == SOFT_PAGE_COUNTED && these->numbers != NULL)
            these->numbers[i] = soft_page_number(semaphore->page, !signals);
    }
    return CUDA_SUCCESS;
}

#ifdef _WIN32
/* A timeline stands for a fence here. */
static CUresult import_share(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d, struct semaphore **out)
{
    switch (d->type) {
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX:
    case CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT: break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    struct semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (semaphore == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        soft_share_open(CULV_SOFT_SHARE_SEMAPHORE + (uint32_t)d->type, d->handle.win32.handle,
                        d->handle.win32.name, &semaphore->share);
    if (result != CUDA_SUCCESS) {
        free(semaphore);
        return result;
    }
    const bool mutex = d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX ||
                       d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT;
    semaphore->kind = mutex ? SOFT_PAGE_MUTEX : SOFT_PAGE_TIMELINE;
    *out = semaphore;
    return CUDA_SUCCESS;
}
#else
static CUresult import_file(const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d, struct semaphore **out)
{
    if (d->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD &&
        d->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD && d->handle.fd < 0)
        return CUDA_ERROR_INVALID_VALUE; /* of binary ones UNKNOWN (measured) */

    struct semaphore *semaphore = calloc(1, sizeof(*semaphore));
    if (semaphore == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool timeline = d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    semaphore->kind = timeline ? SOFT_PAGE_TIMELINE : SOFT_PAGE_COUNTED;
    /* An fd of the other kind is refused as one of no kind is. */
    semaphore->page =
        soft_page_map(d->handle.fd, semaphore->kind, &semaphore->map, &semaphore->map_size);
    if (semaphore->page == NULL && !timeline) {
        semaphore->kind = SOFT_PAGE_SWIFTSHADER;
        semaphore->page =
            soft_page_map(d->handle.fd, semaphore->kind, &semaphore->map, &semaphore->map_size);
    }
    if (semaphore->page == NULL) {
        free(semaphore);
        return CUDA_ERROR_UNKNOWN;
    }
    soft_close(d->handle.fd);
    *out = semaphore;
    return CUDA_SUCCESS;
}
#endif

CUresult CUDAAPI cuImportExternalSemaphore(CUexternalSemaphore *extSem_out,
                                           const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semHandleDesc)
{
    struct soft_context *context;
    struct semaphore *semaphore = NULL;
    SOFT_TRY(soft_begin(__func__, SOFT_NEED_CONTEXT, &context));
    if (extSem_out == NULL || semHandleDesc == NULL || semHandleDesc->flags != 0 ||
        semHandleDesc->type < CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
        semHandleDesc->type > CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(semHandleDesc->reserved) / sizeof(semHandleDesc->reserved[0]);
         i++)
        if (semHandleDesc->reserved[i] != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
#ifdef _WIN32
    result = import_share(semHandleDesc, &semaphore);
#else
    result = import_file(semHandleDesc, &semaphore);
#endif
    if (result != CUDA_SUCCESS) return soft_end(result);
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
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (extSem == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct semaphore *semaphore = soft_object_find(extSem, SOFT_EXTERNAL_SEMAPHORE);
    if (semaphore == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    /* The real driver waits for all of the context's work, whatever it has to do with the semaphore
     * (measured). The handle may be gone afterwards. */
    soft_context_wait_holding(semaphore->object.context);
    semaphore = soft_object_find(extSem, SOFT_EXTERNAL_SEMAPHORE);
    if (semaphore == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_external_semaphore_free(semaphore);
    return soft_end(CUDA_SUCCESS);
}

static bool zeros(const unsigned *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != 0) return false;
    return true;
}
#define ZEROS(array) zeros((array), sizeof(array) / sizeof((array)[0]))

/* The flags and all reserved words are (measured). */
static bool all_zero(CUgraphNodeType type, const void *params, unsigned i)
{
    if (type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL) {
        const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *p = params;
        return p[i].flags == 0 && ZEROS(p[i].reserved) && ZEROS(p[i].params.reserved);
    }
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p = params;
    return p[i].flags == 0 && ZEROS(p[i].reserved) && ZEROS(p[i].params.reserved);
}

/* All that can be said without knowing when it is to run. One call cannot signal a binary semaphore
 * twice, nor wait for it twice: no partner can come between. */
static CUresult check(CUgraphNodeType type, const CUexternalSemaphore *handles, const void *params,
                      unsigned count)
{
    if (handles == NULL || params == NULL || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        const struct semaphore *semaphore = soft_object_find(handles[i], SOFT_EXTERNAL_SEMAPHORE);
        if (handles[i] == NULL) return CUDA_ERROR_INVALID_VALUE; /* measured, of waits */
        if (semaphore == NULL) return CUDA_ERROR_INVALID_HANDLE;
        if (!all_zero(type, params, i)) return CUDA_ERROR_INVALID_VALUE;
        for (unsigned j = 0; semaphore->kind != SOFT_PAGE_TIMELINE && j < i; j++)
            if (handles[j] == handles[i]) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* Takes a reference to each semaphore. */
static CUresult make(CUgraphNodeType type, const CUexternalSemaphore *handles, const void *params,
                     unsigned count, struct soft_op **out)
{
    const size_t size = type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
                            ? sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS)
                            : sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS);
    SOFT_TRY(check(type, handles, params, count));
    struct semaphore_op *op = soft_op_new(sizeof(*op), run, retire);
    if (op == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    op->op.type = type;
    op->op.admit = admit;
    op->op.recall = recall;
    op->handles = calloc(count, sizeof(*op->handles));
    op->params = calloc(count, size);
    op->before = calloc(count, sizeof(*op->before));
    if (op->handles == NULL || op->params == NULL || op->before == NULL) {
        soft_op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(op->params, params, count * size);
    memcpy(op->handles, handles, count * sizeof(*handles));
    for (; op->count < count; op->count++)
        semaphore_of(op, op->count)->refs++;
    *out = &op->op;
    return CUDA_SUCCESS;
}

CUresult soft_signal_make(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params, struct soft_op **work)
{
    return make(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, params->extSemArray, params->paramsArray,
                params->numExtSems, work);
}

CUresult soft_wait_make(const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params, struct soft_op **work)
{
    return make(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, params->extSemArray, params->paramsArray,
                params->numExtSems, work);
}

void soft_signal_params(const struct soft_op *work, CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *out)
{
    const struct semaphore_op *op = (const struct semaphore_op *)(const void *)work;
    *out = (CUDA_EXT_SEM_SIGNAL_NODE_PARAMS){
        .extSemArray = op->handles, .paramsArray = op->params, .numExtSems = op->count};
}

void soft_wait_params(const struct soft_op *work, CUDA_EXT_SEM_WAIT_NODE_PARAMS *out)
{
    const struct semaphore_op *op = (const struct semaphore_op *)(const void *)work;
    *out = (CUDA_EXT_SEM_WAIT_NODE_PARAMS){
        .extSemArray = op->handles, .paramsArray = op->params, .numExtSems = op->count};
}

#ifdef _WIN32
/* Keyed mutexes are acquired within the call, which is the reading of cuda.h that lists
 * CUDA_ERROR_TIMEOUT among its results. The lock is given up meanwhile. */
static CUresult acquire_mutexes(struct soft_op *work)
{
    struct semaphore_op *op = (struct semaphore_op *)(void *)work;
    CUresult result = CUDA_SUCCESS;
    unsigned i = 0;
    if (work->type != CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT) return CUDA_SUCCESS;
    const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *p = op->params;
    pthread_mutex_unlock(&soft.lock);
    for (; i < op->count; i++) {
        if (semaphore_of(op, i)->kind != SOFT_PAGE_MUTEX) continue;
        result = run_one(op, i);
        if (result != CUDA_SUCCESS) break;
    }
    while (result != CUDA_SUCCESS && i-- > 0) {
        const culv_soft_share *share = &semaphore_of(op, i)->share;
        if (semaphore_of(op, i)->kind == SOFT_PAGE_MUTEX)
            (void)share->signal(share->object, p[i].params.keyedMutex.key);
    }
    pthread_mutex_lock(&soft.lock);
    op->acquired = result == CUDA_SUCCESS;
    return result;
}
#endif

/* For one that is submitted itself. */
static CUresult with_numbers(struct soft_op *work)
{
    struct semaphore_op *op = (struct semaphore_op *)(void *)work;
    op->numbers = calloc(op->count, sizeof(*op->numbers));
    if (op->numbers != NULL) return CUDA_SUCCESS;
    soft_op_drop(work);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* The whole call is checked before any of it is queued, and is one operation of the stream. */
static CUresult enqueue(const char *call, CUgraphNodeType type, const CUexternalSemaphore *handles,
                        const void *params, unsigned count, CUstream stream)
{
    struct soft_context *context;
    struct soft_stream *target;
    struct soft_op *op;
    SOFT_TRY(soft_begin_stream(call, stream, &context));
    if (handles == NULL || params == NULL || count == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_stream_get(context, stream, &target);
    /* Measured on an H200; which context is current does not matter. */
    if (result == CUDA_SUCCESS && soft_stream_context(target)->green_count != 0)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) result = make(type, handles, params, count, &op);
    if (result == CUDA_SUCCESS && !soft_stream_captured(target)) result = with_numbers(op);
#ifdef _WIN32
    if (result == CUDA_SUCCESS) {
        result = acquire_mutexes(op);
        if (result != CUDA_SUCCESS) soft_op_drop(op);
    }
#endif
    return soft_end(result == CUDA_SUCCESS ? soft_submit(target, op) : result);
}

CUresult CUDAAPI
cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *extSemArray,
                                const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *paramsArray,
                                unsigned int numExtSems, CUstream stream)
{
    return enqueue(__func__, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, extSemArray, paramsArray,
                   numExtSems, stream);
}

CUresult CUDAAPI cuWaitExternalSemaphoresAsync(
    const CUexternalSemaphore *extSemArray, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *paramsArray,
    unsigned int numExtSems, CUstream stream)
{
    return enqueue(__func__, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, extSemArray, paramsArray,
                   numExtSems, stream);
}
