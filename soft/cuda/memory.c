/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: device and host memory, and what is known about a pointer.
 *
 * An address on the device is the address on the host. Every range that the driver knows is in one
 * sorted table. */
#include "mem_pool.h"

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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (dptr == NULL || bytesize == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    uintptr_t address;
    result = allocate(context, SOFT_RANGE_DEVICE, bytesize, 0, &address);
    if (result == CUDA_SUCCESS) *dptr = address;
    return soft_end(result);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (dptr == NULL || pPitch == NULL || WidthInBytes == 0 || Height == 0 ||
        (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) ||
        WidthInBytes > SIZE_MAX - 511)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    size_t pitch = (WidthInBytes + 511) / 512 * 512;
    if (Height > SIZE_MAX / pitch) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    uintptr_t address;
    result = allocate(context, SOFT_RANGE_DEVICE, pitch * Height, 0, &address);
    if (result != CUDA_SUCCESS) return soft_end(result);
    *dptr = address;
    *pPitch = pitch;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct soft_context *context = NULL;
    CUresult result = soft_begin(__func__, soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), &context);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), &context);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, soft_need_if_any(SOFT_NEED_CONTEXT_TO_FREE), &context);
    if (result != CUDA_SUCCESS) return result;
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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    if (pdptr == NULL || p == NULL || Flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_range *range = soft_range_find((uintptr_t)p);
    if (range == NULL || (range->kind != SOFT_RANGE_HOST && range->kind != SOFT_RANGE_REGISTERED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *pdptr = (CUdeviceptr)(uintptr_t)p;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    /* Counted, not asked of the machine, where other programs come and go. Arrays are left out. */
    const uint64_t used = soft_range_bytes(context->device) + soft_physical_bytes(context->device);
    if (free != NULL)
        *free = used < soft.memory_at_start ? (size_t)(soft.memory_at_start - used) : 0;
    if (total != NULL) *total = (size_t)soft_memory_total();
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct soft_context *context;
    CUresult result = soft_begin(__func__, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
    struct soft_range *range = soft_range_find((uintptr_t)dptr);
    if (range == NULL) return soft_end(CUDA_ERROR_NOT_FOUND);
    if (pbase != NULL) *pbase = range->start;
    if (psize != NULL) *psize = range->size;
    return soft_end(CUDA_SUCCESS);
}
