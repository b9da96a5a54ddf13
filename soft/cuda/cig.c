/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: CUDA in graphics. A CIG context is like any other here, but for what
 * cuda.h says of it, and for what the twin refuses in it, which nobody has asked a driver: virtual
 * memory management and memory pools. */
#include "soft.h"

#include "../shared/cig_blob.h"

#include <string.h>

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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
