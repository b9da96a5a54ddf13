/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: contexts, and each thread's stack of current ones.
 *
 * A primary context's object lives as long as the process, so its handle stays the same from one
 * retain to the next; its id does not. One that a kernel's fault has broken cannot be retained anew
 * until it is reset. Ending a context lets the work that was submitted finish, but gives up waits
 * for other APIs and what follows them. */
#include "graph.h"

#include <stdlib.h>

#define STACK_DEPTH 32u

static _Thread_local struct {
    unsigned depth;
    struct soft_context *items[STACK_DEPTH];
} stack;

void soft_context_init(struct soft_context *context, int device, bool primary)
{
    context->device = device;
    context->primary = primary;
    context->active = !primary;
    if (!primary) context->id = ++soft.next_context_id;
    soft_object_add(&context->object, SOFT_CONTEXT, context);
}

struct soft_context *soft_context_current(void)
{
    return stack.depth == 0 ? NULL : stack.items[stack.depth - 1];
}

enum soft_need soft_need_if_any(enum soft_need need)
{
    return soft_context_current() == NULL ? SOFT_NEED_INIT : need;
}

void soft_context_fail(struct soft_context *context, CUresult error)
{
    if (context->error == 0) context->error = (int)error;
}

uint64_t soft_context_references(void)
{
    uint64_t count = soft_object_count(SOFT_CONTEXT) - (uint64_t)soft.device_count;
    for (int i = 0; i < soft.device_count; i++)
        count += soft.devices[i].primary.retained;
    return count;
}

/* Ends the work and frees everything in the context; the lock is released while workers finish. */
static void close_context(struct soft_context *context)
{
    void *object;
    context->active = false;
    context->dying = true;
    soft_streams_end(context);
    soft_peers_forget(context);
    while ((object = soft_object_any(SOFT_EVENT, context)) != NULL)
        soft_event_free(object);
    while ((object = soft_object_any(SOFT_EXEC, context)) != NULL)
        soft_exec_free(object);
    while ((object = soft_object_any(SOFT_EXTERNAL_SEMAPHORE, context)) != NULL)
        soft_external_semaphore_free(object);
    while ((object = soft_object_any(SOFT_GRAPHICS, context)) != NULL)
        soft_graphics_free(object);
    while ((object = soft_object_any(SOFT_SURFACE, context)) != NULL)
        soft_slot_free(object);
    while ((object = soft_object_any(SOFT_TEXTURE, context)) != NULL)
        soft_slot_free(object);
    while ((object = soft_object_any(SOFT_ARRAY, context)) != NULL)
        soft_array_free(object);
    while ((object = soft_object_any(SOFT_MIPMAP, context)) != NULL)
        soft_mipmap_free(object);
    soft_ranges_free(context);
    while ((object = soft_object_any(SOFT_EXTERNAL_MEMORY, context)) != NULL)
        soft_external_memory_free(object);
    while ((object = soft_object_any(SOFT_MODULE, context)) != NULL)
        soft_module_free(object);
    while ((object = soft_object_any(SOFT_LINKER, context)) != NULL)
        soft_linker_free(object);
    context->dying = false;
}

static bool valid_flags(unsigned flags)
{
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK) return false;
    unsigned scheduling = flags & CU_CTX_SCHED_MASK;
    return scheduling == 0 || (scheduling & (scheduling - 1)) == 0;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (pctx == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_context *context = &soft.devices[dev].primary;
    /* Another thread may be ending the last life of this context. */
    while (context->dying)
        pthread_cond_wait(&soft.progress, &soft.lock);
    if (context->error != 0) return soft_end((CUresult)context->error); /* measured on an H200 */
    if (!context->active) context->id = ++soft.next_context_id;
    context->retained++;
    context->active = true;
    *pctx = (CUcontext)(void *)context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct soft_context *context = &soft.devices[dev].primary;
    if (context->retained == 0) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (--context->retained == 0 && context->active) {
        close_context(context);
        pthread_cond_broadcast(&soft.progress);
    }
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    struct soft_context *context = &soft.devices[dev].primary;
    if (context->active) {
        close_context(context);
        pthread_cond_broadcast(&soft.progress);
    }
    context->error = 0;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (!valid_flags(flags)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft.devices[dev].primary.flags = flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (flags == NULL || active == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *flags = soft.devices[dev].primary.flags;
    *active = soft.devices[dev].primary.active;
    return soft_end(CUDA_SUCCESS);
}

/* Unlocks in any case. */
static CUresult create_and_end(CUcontext *pctx, unsigned flags, CUdevice dev,
                               const CUctxCigParam *cig)
{
    void *held = NULL;
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (pctx == NULL || !valid_flags(flags)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (stack.depth == STACK_DEPTH) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    struct soft_context *context = calloc(1, sizeof(*context));
    if (context == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = cig != NULL ? soft_cig_take(cig, dev, flags, &held) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) {
        free(context);
        return soft_end(result);
    }
    soft_context_init(context, dev, false);
    context->flags = flags;
    context->cig = cig != NULL;
    context->cig_object = held;
    stack.items[stack.depth++] = context;
    *pctx = (CUcontext)(void *)context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    return result != CUDA_SUCCESS ? result : create_and_end(pctx, flags, dev, NULL);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (ctxCreateParams != NULL && ctxCreateParams->numExecAffinityParams != 0)
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    return create_and_end(pctx, flags, dev,
                          ctxCreateParams != NULL ? ctxCreateParams->cigParams : NULL);
}

CUresult soft_context_green(int device, unsigned count, struct soft_context **out)
{
    struct soft_context *context = calloc(1, sizeof(*context));
    if (context == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    soft_context_init(context, device, false);
    context->green_count = count;
    *out = context;
    return CUDA_SUCCESS;
}

const struct soft_context *soft_context_family(const struct soft_context *context)
{
    return context->green_count != 0 ? &soft.devices[context->device].primary : context;
}

void soft_context_destroy(struct soft_context *context)
{
    close_context(context);
    while (context->holder != 0) /* a call that waited for the work */
        pthread_cond_wait(&soft.progress, &soft.lock);
    soft_object_remove(&context->object);
    if (soft_context_current() == context) stack.depth--;
    soft_cig_drop(context->cig_object);
    free(context);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (ctx == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_context *context = soft_object_find(ctx, SOFT_CONTEXT);
    if (context == NULL || context->primary || !context->active || context->green_count != 0)
        return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    soft_context_destroy(context);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (ctx == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_context *context = soft_object_find(ctx, SOFT_CONTEXT);
    if (context == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (stack.depth == STACK_DEPTH) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    stack.items[stack.depth++] = context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (stack.depth == 0) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    stack.depth--;
    if (pctx != NULL) *pctx = (CUcontext)(void *)stack.items[stack.depth];
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (ctx == NULL) {
        if (stack.depth > 0) stack.depth--;
        return soft_end(CUDA_SUCCESS);
    }
    struct soft_context *context = soft_object_find(ctx, SOFT_CONTEXT);
    if (context == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (stack.depth == 0) stack.depth = 1;
    stack.items[stack.depth - 1] = context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (pctx == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pctx = (CUcontext)(void *)soft_context_current();
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT_TO_FREE, context);
    if (device == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *device = context->device;
    return soft_end(CUDA_SUCCESS);
}

/* `handle`, or the current context for NULL; locked on success. */
static CUresult begin_with(const char *call, CUcontext handle, struct soft_context **context)
{
    if (handle == NULL) return soft_begin(call, SOFT_NEED_CONTEXT, context);
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *context = soft_object_find(handle, SOFT_CONTEXT);
    if (*context == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (!(*context)->active) return soft_end(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if ((*context)->error != 0) return soft_end((CUresult)(*context)->error);
    return CUDA_SUCCESS;
}

static CUresult synchronize_and_end(struct soft_context *context)
{
    CUresult result = soft_capture_allows_context(context);
    return soft_end(result == CUDA_SUCCESS ? soft_context_wait(context) : result);
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct soft_context *context;
    SOFT_TRY(begin_with(__func__, ctx, &context));
    if (device == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *device = context->device;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    struct soft_context *context;
    CUresult result = begin_with(__func__, ctx, &context);
    return result != CUDA_SUCCESS ? result : synchronize_and_end(context);
}
#endif

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (!valid_flags(flags)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if ((flags & CU_CTX_SYNC_MEMOPS) != 0) soft_count_sync_memops(true);
    context->flags = flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (flags == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct soft_context *context;
    SOFT_TRY(begin_with(__func__, ctx, &context));
    if (ctxId == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *ctxId = context->id;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct soft_context *context;
    SOFT_TRY(begin_with(__func__, ctx, &context));
    if (version == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *version = 3020; /* the API with 64-bit sizes; cuda.h gives no newer number */
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (leastPriority != NULL) *leastPriority = 0;
    if (greatestPriority != NULL) *greatestPriority = SOFT_GREATEST_PRIORITY;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    return result != CUDA_SUCCESS ? result : synchronize_and_end(context);
}
