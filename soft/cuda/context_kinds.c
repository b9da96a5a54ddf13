/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: green contexts, in the smallest form. There are no multiprocessors to
 * divide: resources are counts. A green context is one whose streams external semaphores refuse, as
 * measured on an H200, and whose events are the primary context's, too. */
#include "vmm.h"

#include "../shared/labels.h"

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

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                        CUdevResourceType type)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (!soft_device_valid(device)) return soft_end(CUDA_ERROR_INVALID_DEVICE);
    if (resource == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (type != CU_DEV_RESOURCE_TYPE_SM) return soft_end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    describe(resource, (unsigned)soft_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    return soft_end(CUDA_SUCCESS);
}

/* Locked on success. */
static CUresult begin_green(const char *call, CUgreenCtx handle, struct soft_context **out)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    struct soft_context *context = soft_context_find((CUcontext)(void *)handle);
    if (context == NULL || context->green_count == 0) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    *out = context;
    return CUDA_SUCCESS;
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
    SOFT_BEGIN(SOFT_NEED_INIT);
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
    SOFT_BEGIN(SOFT_NEED_INIT);
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
    SOFT_TRY(begin_green(__func__, hCtx, &context));
    soft_context_destroy(context);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct soft_context *context = NULL;
    SOFT_TRY(begin_green(__func__, hCtx, &context));
    if (pContext == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pContext = (CUcontext)(void *)context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority)
{
    struct soft_context *context = NULL;
    SOFT_TRY(begin_green(__func__, greenCtx, &context));
    if (phStream == NULL || flags != CU_STREAM_NON_BLOCKING)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    return soft_end(soft_stream_create(context, flags, priority, phStream));
}

CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    CUcontext context;
    return cuStreamGetCtx_v2(hStream, &context, phCtx);
}

/* CUDA in graphics. A CIG context is like any other here, but for what
 * cuda.h says of it, and for what the twin refuses in it, which nobody has asked a driver: virtual
 * memory management and memory pools. */

#ifdef _WIN32
#    define COBJMACROS
#    include <windows.h>
/* after it */
#    include <unknwn.h>

static const GUID queue_id = {
    0x0ec870a6, 0x5d7e, 0x4c22, {0x8c, 0xfc, 0x5b, 0xaa, 0xe0, 0x76, 0x16, 0xed}};

/* A reference, as long as the context lives. */
static CUresult take_queue(void *object, void **held)
{
    return SUCCEEDED(IUnknown_QueryInterface((IUnknown *)object, &queue_id, held))
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
#endif

CUresult soft_cig_take(const CUctxCigParam *param, CUdevice device, unsigned flags, void **held)
{
    const unsigned dumps = 0x10u | 0x40u; /* CU_CTX_COREDUMP_ENABLE, _USER_COREDUMP_ENABLE */
    *held = NULL;
    if (!soft_device_valid(device)) return CUDA_ERROR_INVALID_DEVICE;
    const bool direct3d = param->sharedDataType == CIG_DATA_TYPE_D3D12_COMMAND_QUEUE;
    if (!direct3d && param->sharedDataType != CIG_DATA_TYPE_NV_BLOB)
        return CUDA_ERROR_INVALID_VALUE;
    if (!soft_attribute(direct3d ? (int)CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED
                                 : (int)CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED,
                        device))
        return CUDA_ERROR_NOT_SUPPORTED;
    /* cuda.h: those flags are not supported in CIG mode. */
    if (param->sharedData == NULL || (flags & dumps) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (direct3d) {
#ifdef _WIN32
        return take_queue(param->sharedData, held);
#else
        return CUDA_ERROR_NOT_SUPPORTED;
#endif
    }
    const culv_soft_cig_blob *blob = param->sharedData;
    return memcmp(blob->magic, CULV_SOFT_CIG_MAGIC, sizeof(blob->magic)) == 0 &&
                   memcmp(blob->device_uuid, soft.devices[device].uuid,
                          sizeof(blob->device_uuid)) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

void soft_cig_drop(void *held)
{
#ifdef _WIN32
    if (held != NULL) IUnknown_Release((IUnknown *)held);
#else
    (void)held;
#endif
}

CUresult soft_cig_refusal(void)
{
    const struct soft_context *current = soft_context_current();
    return current != NULL && soft_object_find(current, SOFT_CONTEXT) != NULL && current->cig
               ? CUDA_ERROR_NOT_SUPPORTED
               : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pvalue == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    switch ((int)limit) {
    case CU_LIMIT_STACK_SIZE: *pvalue = context->stack_size ? context->stack_size : 1024; break;
    case CU_LIMIT_SHMEM_SIZE: *pvalue = SOFT_MAX_SHARED; break;
    case CU_LIMIT_CIG_ENABLED: *pvalue = context->cig; break;
    case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
        *pvalue = context->cig && !context->no_fallback;
        break;
    default: return soft_end(CUDA_ERROR_UNSUPPORTED_LIMIT); /* the twin has no other limits */
    }
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    switch ((int)limit) {
    case CU_LIMIT_STACK_SIZE: /* kernels run on the host's stacks; GStreamer asks and sets */
        context->stack_size = value;
        return soft_end(CUDA_SUCCESS);
    case CU_LIMIT_SHMEM_SIZE: return soft_end(CUDA_ERROR_INVALID_VALUE); /* only queried */
    case CU_LIMIT_CIG_ENABLED: return soft_end(CUDA_ERROR_NOT_PERMITTED);
    case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
        if (!context->cig) return soft_end(CUDA_ERROR_UNSUPPORTED_LIMIT);
        context->no_fallback = value == 0;
        return soft_end(CUDA_SUCCESS);
    default: return soft_end(CUDA_ERROR_UNSUPPORTED_LIMIT);
    }
}

/* Checkpoints of its own process, and what they cost it, as measured on an
 * H200 (580.159.04). The memory stays where it is, since it is the process's.
 *
 * A checkpoint succeeds with imports, the restore after it does not, and the process's CUDA is
 * lost. NVIDIA's driver was not seen to answer after that. The twin's calls answer
 * ILLEGAL_STATE, so that a test fails and does not hang. */

#ifndef _WIN32
#    include <unistd.h>
#endif

static CUprocessState state = CU_PROCESS_STATE_RUNNING;
static bool lost; /* a restore has failed; the state stays CHECKPOINTED, as measured */

CUresult soft_checkpoint_pass(const char *call)
{
    if (strncmp(call, "cuCheckpoint", 12) == 0) return CUDA_SUCCESS;
    while (state != CU_PROCESS_STATE_RUNNING && !lost)
        pthread_cond_wait(&soft.progress, &soft.lock);
    return lost ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

#ifndef _WIN32
static bool zeros(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i] != 0) return false;
    return true;
}

/* Locked on success. The twin does this for the calling process alone. */
static CUresult begin(const char *call, int pid, bool valid, CUprocessState wanted)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (pid <= 0 || !valid) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (pid != (int)getpid()) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    return state == wanted ? CUDA_SUCCESS : soft_end(CUDA_ERROR_ILLEGAL_STATE);
}

static CUresult pass_to(CUprocessState next)
{
    state = next;
    pthread_cond_broadcast(&soft.progress);
    return soft_end(CUDA_SUCCESS);
}

struct contexts {
    struct soft_context **list;
    size_t count;
};

static void gather(void *object, void *arg)
{
    struct contexts *all = arg;
    all->list[all->count++] = object;
}

/* Nobody makes or ends a context meanwhile: the process is locked. */
static CUresult wait_for_work(void)
{
    struct contexts all = {
        .list = calloc((size_t)soft_object_count(SOFT_CONTEXT) + 1, sizeof(struct soft_context *))};
    if (all.list == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    soft_objects_each(SOFT_CONTEXT, gather, &all);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i]->active) (void)soft_context_wait(all.list[i]);
    free(all.list);
    return CUDA_SUCCESS;
}

/* Registered objects and memory of another process's cuMemAlloc were not measured. */
static bool has_imports(void)
{
    return soft_object_count(SOFT_EXTERNAL_MEMORY) + soft_object_count(SOFT_EXTERNAL_SEMAPHORE) +
               soft_range_count(SOFT_RANGE_MAPPED) + soft_mipmaps_mapped() +
               soft_object_count(SOFT_GRAPHICS) + soft_range_count(SOFT_RANGE_OPENED) +
               soft_physical_imports() >
           0;
}

CUresult CUDAAPI cuCheckpointProcessGetState(int pid, CUprocessState *out)
{
    SOFT_TRY(begin(__func__, pid, out != NULL, state));
    *out = state;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args)
{
    CUresult result = begin(
        __func__, pid,
        args == NULL || (args->reserved0 == 0 && zeros(args->reserved1, sizeof(args->reserved1))),
        CU_PROCESS_STATE_RUNNING);
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_LOCKED) : result;
}

CUresult CUDAAPI cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args)
{
    SOFT_TRY(begin(__func__, pid, args == NULL || zeros(args->reserved, sizeof(args->reserved)),
                   CU_PROCESS_STATE_LOCKED));
    result = wait_for_work();
    if (result == CUDA_SUCCESS) result = soft_physicals_part();
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_CHECKPOINTED) : soft_end(result);
}

CUresult CUDAAPI cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args)
{
    SOFT_TRY(begin(__func__, pid,
                   args == NULL ||
                       (zeros(args->reserved, sizeof(args->reserved)) && args->reserved1 == 0),
                   CU_PROCESS_STATE_CHECKPOINTED));
    /* Onto other GPUs: there is nothing to move. */
    if (args != NULL && args->gpuPairsCount != 0) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (!has_imports()) return pass_to(CU_PROCESS_STATE_LOCKED);
    lost = true;
    pthread_cond_broadcast(&soft.progress);
    return soft_end(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult CUDAAPI cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args)
{
    CUresult result =
        begin(__func__, pid, args == NULL || zeros(args->reserved, sizeof(args->reserved)),
              CU_PROCESS_STATE_LOCKED);
    return result == CUDA_SUCCESS ? pass_to(CU_PROCESS_STATE_RUNNING) : result;
}
#endif
