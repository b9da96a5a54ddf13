/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: attributes of pointers. */
#include "mem_pool.h"

#include <string.h>

/* A value with its size: attributes are written through untyped pointers. */
struct value {
    size_t size;
    union {
        void *pointer;
        CUdeviceptr address;
        unsigned long long id;
        size_t bytes;
        int number;
        unsigned word;
        unsigned char truth;
        CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    } is;
};

#define VALUE(member, what)                                                                        \
    do {                                                                                           \
        out->size = sizeof(out->is.member);                                                        \
        out->is.member = (what);                                                                   \
    } while (0)

/* `range` is NULL for a pointer that the driver does not know: the answers of
 * cuPointerGetAttributes then. */
static CUresult read_attribute(CUpointer_attribute attribute, struct soft_range *range,
                               CUdeviceptr ptr, struct value *out)
{
    const struct soft_virtual *mapped = range == NULL ? NULL : range->virtual;
    bool host =
        range != NULL && (range->kind == SOFT_RANGE_HOST || range->kind == SOFT_RANGE_REGISTERED ||
                          range->device == CU_DEVICE_CPU);
    memset(out, 0, sizeof(*out));
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        VALUE(pointer, range == NULL ? NULL : (void *)range->context);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        VALUE(word,
              range == NULL ? 0u : (unsigned)(host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: VALUE(address, range == NULL ? 0 : ptr); break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        /* Device memory is readable by the host here, but a program must not come to rely on it. */
        if (range != NULL && !host && !range->managed) return CUDA_ERROR_INVALID_VALUE;
        VALUE(pointer, (void *)(uintptr_t)ptr);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: VALUE(word, range != NULL && range->sync_memops); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: VALUE(id, range == NULL ? 0 : range->buffer_id); break;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        out->size = sizeof(out->is.tokens);
        return soft_p2p_tokens(range, &out->is.tokens);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: VALUE(word, range != NULL && range->managed); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        VALUE(number, range == NULL ? -2 : range->device);
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: /* cuMemAlloc's alone (measured) */
        VALUE(word, range != NULL && range->kind == SOFT_RANGE_DEVICE && !range->managed);
        break;
    /* cuda.h: the reserved range, not the mapped one. */
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        VALUE(address, range == NULL    ? 0
                       : mapped != NULL ? mapped->reservation->start
                                        : range->start);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        VALUE(bytes, range == NULL ? 0 : mapped != NULL ? mapped->reservation->size : range->size);
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        VALUE(pointer, range == NULL || range->pooled == NULL ? NULL : (void *)range->pooled->pool);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        VALUE(address, range == NULL ? 0 : range->start);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: VALUE(bytes, range == NULL ? 0 : range->size); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        VALUE(id, range == NULL ? 0 : mapped != NULL ? mapped->physical->id : range->buffer_id);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED: VALUE(word, range != NULL); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        VALUE(id, mapped == NULL ? 0 : (unsigned)mapped->physical->prop.requestedHandleTypes);
        break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        VALUE(word, mapped != NULL
                        ? mapped->physical->prop.allocFlags.gpuDirectRDMACapable
                        : range != NULL && range->kind == SOFT_RANGE_DEVICE && !range->managed &&
                              soft_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
                                             range->device) != 0);
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: /* the current context's device's */
        if (mapped != NULL && soft_context_current() == NULL) return CUDA_ERROR_INVALID_CONTEXT;
        VALUE(word, range == NULL    ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                    : mapped != NULL ? mapped->access[soft_context_current()->device]
                                     : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, soft_need_if_any(SOFT_NEED_CONTEXT), &context);
    if (result != CUDA_SUCCESS) return result;
    struct soft_range *range = soft_range_find((uintptr_t)ptr);
    struct value value;
    /* Of reserved addresses where nothing is mapped neither (measured). */
    if (data == NULL || range == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = read_attribute(attribute, range, ptr, &value);
    if (result == CUDA_SUCCESS) memcpy(data, &value.is, value.size);
    return soft_end(result);
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (numAttributes == 0 || attributes == NULL || data == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_range *range = soft_range_find((uintptr_t)ptr);
    struct value value;
    for (unsigned i = 0; i < numAttributes; i++) {
        /* What does not apply to this pointer is answered with zero. */
        if (read_attribute(attributes[i], range, ptr, &value) != CUDA_SUCCESS) {
            if (attributes[i] != CU_POINTER_ATTRIBUTE_HOST_POINTER)
                return soft_end(CUDA_ERROR_INVALID_VALUE);
            value = (struct value){.size = sizeof(value.is.pointer)};
        }
        if (data[i] == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
        memcpy(data[i], &value.is, value.size);
    }
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                       CUdeviceptr ptr)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    struct soft_range *range = soft_range_find((uintptr_t)ptr);
    if (value == NULL || range == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* UCX says that cuMemCreate's memory cannot carry it, and sets the context's flag. */
    if (range->kind == SOFT_RANGE_VIRTUAL) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    unsigned on;
    memcpy(&on, value, sizeof(on));
    range->sync_memops = on != 0;
    if (on != 0) soft_count_sync_memops(false);
    return soft_end(CUDA_SUCCESS);
}
