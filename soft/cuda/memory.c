/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: device and host memory, and what is known about a pointer.
 *
 * An address on the device is the address on the host. Every range that the driver knows is in one
 * sorted table. */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)2 << 20)

static struct soft_range **ranges; /* sorted by start, disjoint */
static size_t num_ranges, capacity;

static void *pointer(uintptr_t address)
{
    return (void *)address;
}

/* The first range that ends behind `address`. */
static size_t position(uintptr_t address)
{
    size_t low = 0, high = num_ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle]->start + ranges[middle]->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

CUresult soft_range_add(const struct soft_range *range)
{
    if (num_ranges == capacity) {
        size_t more = capacity == 0 ? 64 : capacity * 2;
        struct soft_range **grown = realloc(ranges, more * sizeof(*grown));
        if (grown == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
        ranges = grown;
        capacity = more;
    }
    struct soft_range *copy = malloc(sizeof(*copy));
    if (copy == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *range;
    copy->buffer_id = ++soft.next_id;
    if (copy->context != NULL) copy->device = copy->context->device;
    size_t at = position(range->start);
    memmove(&ranges[at + 1], &ranges[at], (num_ranges - at) * sizeof(*ranges));
    ranges[at] = copy;
    num_ranges++;
    return CUDA_SUCCESS;
}

struct soft_range *soft_range_find(uintptr_t address)
{
    size_t at = position(address);
    return at < num_ranges && ranges[at]->start <= address ? ranges[at] : NULL;
}

struct soft_range *soft_range_first(uintptr_t address, size_t size)
{
    size_t at = position(address);
    return at < num_ranges && (ranges[at]->start <= address || ranges[at]->start - address < size)
               ? ranges[at]
               : NULL;
}

struct soft_range *soft_range_holding(uintptr_t address, size_t size)
{
    size_t at = position(address);
    if (at == num_ranges || ranges[at]->start > address) return NULL;
    struct soft_range *first = ranges[at];
    size_t held = first->size - (address - first->start);
    /* Chunks that were mapped side by side are one piece of memory to whoever uses them. */
    while (held < size && first->kind == SOFT_RANGE_VIRTUAL && ++at < num_ranges &&
           ranges[at]->kind == SOFT_RANGE_VIRTUAL && ranges[at]->start == address + held)
        held += ranges[at]->size;
    return held >= size ? first : NULL;
}

void soft_range_remove(struct soft_range *range)
{
    for (size_t i = position(range->start) + 1; i < num_ranges; i++)
        ranges[i - 1] = ranges[i];
    if (--num_ranges == 0) {
        free(ranges);
        ranges = NULL;
        capacity = 0;
    }
    if (range->external != NULL) soft_external_memory_unmapped(range->external);
    if (range->ipc != NULL) soft_ipc_free(range->ipc);
    if (range->map != NULL) soft_unmap(range->map, range->map_size);
    free(range->advice);
    free(range);
}

void soft_ranges_free(struct soft_context *context)
{
    for (size_t i = num_ranges; i-- > 0;)
        if (ranges[i]->context == context && ranges[i]->kind != SOFT_RANGE_VARIABLE)
            soft_range_remove(ranges[i]);
}

void soft_ranges_forget_external(struct soft_external_memory *external)
{
    for (size_t i = 0; i < num_ranges; i++)
        if (ranges[i]->external == external) ranges[i]->external = NULL;
}

void soft_ranges_of_image_pass(const void *image, struct soft_context *heir)
{
    for (size_t i = num_ranges; i-- > 0;) {
        if (ranges[i]->kind != SOFT_RANGE_VARIABLE || ranges[i]->image != image) continue;
        if (heir == NULL)
            soft_range_remove(ranges[i]);
        else
            ranges[i]->context = heir, ranges[i]->device = heir->device;
    }
}

uint64_t soft_range_count(enum soft_range_kind kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < num_ranges; i++)
        count += ranges[i]->kind == kind;
    return count;
}

uint64_t soft_range_bytes(int device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < num_ranges; i++)
        if ((ranges[i]->kind == SOFT_RANGE_DEVICE || ranges[i]->kind == SOFT_RANGE_POOLED) &&
            ranges[i]->device == device)
            bytes += ranges[i]->size;
    return bytes;
}

static CUresult allocate(struct soft_context *context, enum soft_range_kind kind, size_t size,
                         unsigned flags, uintptr_t *out)
{
    struct soft_range range = {.size = size, .kind = kind, .context = context, .flags = flags};
    /* Blocks of 2 MiB begin at multiples of that, as those of NVIDIA's driver. */
    void *memory = kind == SOFT_RANGE_DEVICE && size % BLOCK == 0
                       ? soft_map_guarded_at(size, BLOCK, &range.map, &range.map_size)
                       : soft_map_guarded(size, &range.map, &range.map_size);
    if (memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    range.start = (uintptr_t)memory;
    CUresult result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) {
        soft_unmap(range.map, range.map_size);
        return result;
    }
    *out = range.start;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (dptr == NULL || bytesize == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    uintptr_t address;
    result = allocate(context, SOFT_RANGE_DEVICE, bytesize, 0, &address);
    if (result == CUDA_SUCCESS) *dptr = address;
    return soft_end(result);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (dptr == NULL || pPitch == NULL || WidthInBytes == 0 || Height == 0 ||
        (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) ||
        WidthInBytes > SIZE_MAX - 511)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    size_t pitch = (WidthInBytes + 511) / 512 * 512;
    if (Height > SIZE_MAX / pitch) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    uintptr_t address;
    SOFT_STEP(allocate(context, SOFT_RANGE_DEVICE, pitch * Height, 0, &address));
    *dptr = address;
    *pPitch = pitch;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct soft_context *context = NULL;
    SOFT_TRY(soft_begin(__func__, soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), &context));
    if (dptr == 0) return soft_end(CUDA_SUCCESS);
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || range->start != dptr ||
        (range->kind != SOFT_RANGE_DEVICE && range->kind != SOFT_RANGE_MAPPED &&
         range->kind != SOFT_RANGE_POOLED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (range->context == NULL && context == NULL) return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    /* The real driver waits for the context's work too, and other threads' calls wait for it
     * (measured). The range may be gone afterwards. */
    soft_context_wait_holding(range->context != NULL ? range->context : context);
    range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || range->start != dptr) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (range->kind == SOFT_RANGE_POOLED) {
        soft_pooled_free(range);
        return soft_end(soft_vmm_error());
    }
    int error = range->context->error; /* told, and freed all the same */
    soft_range_remove(range);
    return soft_end((CUresult)error);
}

static CUresult host_alloc(const char *call, void **pp, size_t bytesize, unsigned flags)
{
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (pp == NULL || (flags & ~known)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (bytesize == 0) { /* no error (measured), and what cuMemFreeHost takes */
        *pp = NULL;
        return soft_end(CUDA_SUCCESS);
    }
    uintptr_t address;
    result = allocate(context, SOFT_RANGE_HOST, bytesize, flags, &address);
    if (result == CUDA_SUCCESS) *pp = pointer(address);
    return soft_end(result);
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return host_alloc(__func__, pp, bytesize, 0);
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return host_alloc(__func__, pp, bytesize, Flags);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), context);
    if (p == NULL) return soft_end(CUDA_SUCCESS);
    struct soft_range *range = soft_range_find((uintptr_t)p);
    if (range == NULL || range->start != (uintptr_t)p || range->kind != SOFT_RANGE_HOST)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_context_wait(range->context);
    range = soft_range_find((uintptr_t)p);
    if (range == NULL || range->start != (uintptr_t)p) return soft_end(CUDA_ERROR_INVALID_VALUE);
    soft_range_remove(range);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    const unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    struct soft_context *context;
    SOFT_TRY(soft_begin(__func__, SOFT_NEED_CONTEXT, &context));
    uintptr_t start = (uintptr_t)p;
    if (p == NULL || bytesize == 0 || bytesize > UINTPTR_MAX - start)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (Flags & CU_MEMHOSTREGISTER_IOMEMORY) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (Flags & ~known) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_pages_usable(p, bytesize, (Flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    size_t at = position(start);
    if (at < num_ranges && ranges[at]->start < start + bytesize)
        return soft_end(ranges[at]->kind == SOFT_RANGE_HOST
                            ? CUDA_ERROR_INVALID_VALUE /* measured */
                            : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    struct soft_range range = {.start = start,
                               .size = bytesize,
                               .kind = SOFT_RANGE_REGISTERED,
                               .context = context,
                               .flags = Flags};
    return soft_end(soft_range_add(&range));
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), context);
    if (p == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_range *range = soft_range_find((uintptr_t)p);
    if (range == NULL) return soft_end(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    if (range->start != (uintptr_t)p || range->kind != SOFT_RANGE_REGISTERED)
        return soft_end(CUDA_ERROR_INVALID_VALUE); /* measured */
    soft_context_wait(range->context);
    range = soft_range_find((uintptr_t)p);
    if (range == NULL || range->start != (uintptr_t)p)
        return soft_end(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    soft_range_remove(range);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pdptr == NULL || p == NULL || Flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_range *range = soft_range_find((uintptr_t)p);
    if (range == NULL || (range->kind != SOFT_RANGE_HOST && range->kind != SOFT_RANGE_REGISTERED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pdptr = (CUdeviceptr)(uintptr_t)p;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_range *range = soft_range_find((uintptr_t)p);
    if (pFlags == NULL || range == NULL ||
        (range->kind != SOFT_RANGE_HOST && range->kind != SOFT_RANGE_REGISTERED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* All of it is mapped for the device, asked for or not (measured). */
    *pFlags = (range->flags & CU_MEMHOSTALLOC_PORTABLE) | CU_MEMHOSTALLOC_DEVICEMAP;
    if (range->kind == SOFT_RANGE_HOST) *pFlags |= range->flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    /* Counted, not asked of the machine, where other programs come and go. Arrays are left out. */
    const uint64_t used = soft_range_bytes(context->device) + soft_physical_bytes(context->device);
    if (free != NULL)
        *free = used < soft.memory_at_start ? (size_t)(soft.memory_at_start - used) : 0;
    if (total != NULL) *total = (size_t)soft_memory_total();
    return soft_end(CUDA_SUCCESS);
}

/* Whether cuMemGetAddressRange finds it: cuMemAlloc's memory in its own device's contexts, a
 * mapping in those of devices that have access (measured on two H200s, 580.159.04). */
static bool known_to(const struct soft_context *context, const struct soft_range *range)
{
    if (range->kind == SOFT_RANGE_VIRTUAL)
        return range->virtual->access[context->device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return range->kind != SOFT_RANGE_DEVICE || range->device == context->device;
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (range == NULL || !known_to(context, range)) return soft_end(CUDA_ERROR_NOT_FOUND);
    if (pbase != NULL) *pbase = range->start;
    if (psize != NULL) *psize = range->size;
    return soft_end(CUDA_SUCCESS);
}

/* Attributes of pointers. */

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
    SOFT_BEGIN_IN(soft_need_if_any(SOFT_NEED_CONTEXT), context);
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
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
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
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
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
