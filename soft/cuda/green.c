/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: green contexts, in the smallest form. There are no multiprocessors to
 * divide: resources are counts. A green context is one whose streams external semaphores refuse, as
 * measured on an H200, and whose events are the primary context's, too. */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

/* CUdevResourceDesc: cuda.h has no call that gives one up. */
struct desc {
    struct desc *next;
    unsigned count;
};
static struct desc *descs;

static void describe(CUdevResource *out, unsigned count)
{
    memset(out, 0, sizeof(*out));
    out->type = CU_DEV_RESOURCE_TYPE_SM;
    out->sm.smCount = count;
    out->sm.minSmPartitionSize = 1;
    out->sm.smCoscheduledAlignment = 1;
}

static unsigned multiprocessors(CUdevice device)
{
    return (unsigned)soft_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
}

static CUresult resource_and_end(CUdevResource *out, CUdevResourceType type, unsigned count)
{
    if (out == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (type != CU_DEV_RESOURCE_TYPE_SM) return soft_end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    describe(out, count);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                        CUdevResourceType type)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (!soft_device_valid(device)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    return resource_and_end(resource, type, multiprocessors(device));
}

static unsigned count_of(const struct soft_context *context)
{
    return context->green_count != 0 ? context->green_count : multiprocessors(context->device);
}

CUresult CUDAAPI cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource,
                                     CUdevResourceType type)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_context *context = soft_context_find(hCtx);
    if (context == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    return resource_and_end(resource, type, count_of(context));
}

/* Locked on success. */
static CUresult begin_green(const char *call, CUgreenCtx handle, struct soft_context **out)
{
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    struct soft_context *context = soft_context_find((CUcontext)(void *)handle);
    if (context == NULL || context->green_count == 0) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    *out = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                          CUdevResourceType type)
{
    struct soft_context *context = NULL;
    CUresult result = begin_green(__func__, hCtx, &context);
    return result != CUDA_SUCCESS ? result : resource_and_end(resource, type, count_of(context));
}

CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nbGroups,
                                             const CUdevResource *input, CUdevResource *remaining,
                                             unsigned int useFlags, unsigned int minCount)
{
    CUresult error = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (error != CUDA_SUCCESS) return error;
    if (nbGroups == NULL || input == NULL || (result != NULL && *nbGroups == 0) ||
        (useFlags & ~(unsigned)(CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                                CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE)))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return soft_end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    const unsigned each = minCount > 0 ? minCount : 1, there = input->sm.smCount;
    unsigned groups = there / each;
    if (groups == 0) return soft_end(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    if (result != NULL && groups > *nbGroups) groups = *nbGroups;
    *nbGroups = groups;
    for (unsigned i = 0; result != NULL && i < groups; i++)
        describe(&result[i], each);
    if (remaining != NULL) describe(remaining, there - groups * each);
    if (remaining != NULL && there == groups * each) remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
                                           unsigned int nbResources)
{
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (phDesc == NULL || resources == NULL || nbResources == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    unsigned count = 0;
    for (unsigned i = 0; i < nbResources; i++) {
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
            return soft_end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
        count += resources[i].sm.smCount;
    }
    struct desc *desc = count > 0 ? calloc(1, sizeof(*desc)) : NULL;
    if (desc == NULL)
        return soft_end(count > 0 ? CUDA_ERROR_OUT_OF_MEMORY
                                  : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    *desc = (struct desc){.next = descs, .count = count};
    descs = desc;
    *phDesc = (CUdevResourceDesc)(void *)desc;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                  unsigned int flags)
{
    struct soft_context *context = NULL;
    CUresult result = soft_begin(__func__, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
    if (!soft_device_valid(dev)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    const struct desc *found = descs;
    while (found != NULL && found != (const void *)desc)
        found = found->next;
    if (phCtx == NULL || found == NULL || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = soft_context_green(dev, found->count, &context);
    if (result == CUDA_SUCCESS) *phCtx = (CUgreenCtx)(void *)context;
    return soft_end(result);
}

CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    struct soft_context *context = NULL;
    CUresult result = begin_green(__func__, hCtx, &context);
    if (result != CUDA_SUCCESS) return result;
    soft_context_destroy(context);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct soft_context *context = NULL;
    CUresult result = begin_green(__func__, hCtx, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pContext == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pContext = (CUcontext)(void *)context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority)
{
    struct soft_context *context = NULL;
    CUresult result = begin_green(__func__, greenCtx, &context);
    if (result != CUDA_SUCCESS) return result;
    if (phStream == NULL || flags != CU_STREAM_NON_BLOCKING)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    return soft_end(soft_stream_create(context, flags, priority, phStream));
}

CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    CUcontext context;
    return cuStreamGetCtx_v2(hStream, &context, phCtx);
}

CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return cuCtxRecordEvent((CUcontext)(void *)hCtx, hEvent);
}

CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return cuCtxWaitEvent((CUcontext)(void *)hCtx, hEvent);
}
