/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: managed memory. The device uses the host's pages in any case, so that
 * nothing moves: advice and prefetches are remembered page by page, for whoever asks. */
#include "soft.h"

#include <stdlib.h>
#include <string.h>

/* CUmemLocationType and an id; a type of 0 is none. */
struct place {
    int16_t type, id;
};

struct page {
    struct place preferred, prefetched;
    uint32_t accessed_by; /* a bit for each device, and one for the processor */
    bool read_mostly;
};

struct soft_advice {
    size_t num_pages;
    struct page pages[];
};

#define OF_PROCESSOR SOFT_MAX_DEVICES

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (dptr == NULL || bytesize == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, context->device))
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    struct soft_range range = {
        .size = bytesize, .kind = SOFT_RANGE_DEVICE, .context = context, .managed = true};
    void *memory = soft_map_guarded(bytesize, &range.map, &range.map_size);
    if (memory == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    range.start = (uintptr_t)memory;
    result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) {
        soft_unmap(range.map, range.map_size);
        return soft_end(result);
    }
    *dptr = range.start;
    return soft_end(CUDA_SUCCESS);
}

/* Managed memory that holds all of it, and which pages of it those are. */
static CUresult find_pages(CUdeviceptr address, size_t count, struct soft_range **range,
                           size_t *first, size_t *end)
{
    const size_t page = soft_page_size();
    *range = soft_range_find((uintptr_t)address);
    if (*range == NULL || !(*range)->managed || count == 0 ||
        count > (*range)->size - ((uintptr_t)address - (*range)->start))
        return CUDA_ERROR_INVALID_VALUE;
    const size_t base = (*range)->start / page;
    *first = (size_t)address / page - base;
    *end = ((size_t)address + count - 1) / page - base + 1;
    return CUDA_SUCCESS;
}

static struct soft_advice *advice_of(struct soft_range *range)
{
    const size_t page = soft_page_size();
    const size_t count = (range->start + range->size - 1) / page - range->start / page + 1;
    if (range->advice == NULL) {
        range->advice = calloc(1, sizeof(*range->advice) + count * sizeof(range->advice->pages[0]));
        if (range->advice != NULL) range->advice->num_pages = count;
    }
    return range->advice;
}

static bool place_of(const CUmemLocation *location, struct place *out)
{
    *out = (struct place){.type = (int16_t)location->type, .id = (int16_t)location->id};
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: /* cuda.h: it has concurrent access */
        return soft_device_valid(location->id) &&
               soft_attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, location->id) != 0;
    case CU_MEM_LOCATION_TYPE_HOST: out->id = 0; return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return location->id == 0;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *out = (struct place){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA};
        return true;
    default: return false;
    }
}

static void advise_page(struct page *page, CUmem_advise advice, struct place place)
{
    const uint32_t bit = UINT32_C(1)
                         << (place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : OF_PROCESSOR);
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY: page->read_mostly = true; break;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY: page->read_mostly = false; break;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: page->preferred = place; break;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: page->preferred = (struct place){0}; break;
    case CU_MEM_ADVISE_SET_ACCESSED_BY: page->accessed_by |= bit; break;
    default: page->accessed_by &= ~bit; break;
    }
}

static CUresult advise(const char *call, CUdeviceptr address, size_t count, CUmem_advise advice,
                       const CUmemLocation *location)
{
    struct soft_range *range;
    size_t first, end;
    struct place place = {0};
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(find_pages(address, count, &range, &first, &end));
    /* cuda.h: these have no location. */
    const bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                        advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                        advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (placed && !place_of(location, &place))
        return soft_end(location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                                      : CUDA_ERROR_INVALID_VALUE);
    struct soft_advice *given = advice_of(range);
    if (given == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    for (size_t i = first; i < end; i++)
        advise_page(&given->pages[i], advice, place);
    return soft_end(CUDA_SUCCESS);
}

/* As older calls name a place: a device, or the processor. */
static CUmemLocation location_of(CUdevice device)
{
    const CUmemLocation location = {.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                                                    : CU_MEM_LOCATION_TYPE_DEVICE,
                                    .id = device == CU_DEVICE_CPU ? 0 : device};
    return location;
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
    const CUmemLocation location = location_of(device);
    return advise(__func__, devPtr, count, advice, &location);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                CUmemLocation location)
{
    return advise(__func__, devPtr, count, advice, &location);
}

/* In stream order there is nothing to do. */
static CUresult prefetch(const char *call, CUdeviceptr address, size_t count,
                         const CUmemLocation *location, unsigned flags, CUstream handle)
{
    struct soft_stream *stream;
    struct soft_range *range;
    size_t first, end;
    struct place place;
    SOFT_TRY(soft_begin_on(call, handle, &stream));
    result = find_pages(address, count, &range, &first, &end);
    if (result == CUDA_SUCCESS && flags != 0) result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (!place_of(location, &place))
        return soft_end(location->type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE
                                                                      : CUDA_ERROR_INVALID_VALUE);
    struct soft_advice *given = advice_of(range);
    struct soft_op *op = given == NULL ? NULL : soft_op_new(sizeof(*op), NULL, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    result = soft_submit(stream, op);
    for (size_t i = first; result == CUDA_SUCCESS && i < end; i++)
        given->pages[i].prefetched = place;
    return soft_end(result);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                    CUstream hStream)
{
    const CUmemLocation location = location_of(dstDevice);
    return prefetch(__func__, devPtr, count, &location, 0, hStream);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                       unsigned int flags, CUstream hStream)
{
    return prefetch(__func__, devPtr, count, &location, flags, hStream);
}

/* What all pages have in common; a place that they do not have in common is none. */
static struct page common(const struct soft_advice *advice, size_t first, size_t end)
{
    if (advice == NULL) return (struct page){.read_mostly = false};
    struct page all = advice->pages[first];
    for (size_t i = first + 1; i < end; i++) {
        const struct page *page = &advice->pages[i];
        if (memcmp(&page->preferred, &all.preferred, sizeof(all.preferred)) != 0)
            all.preferred = (struct place){0};
        if (memcmp(&page->prefetched, &all.prefetched, sizeof(all.prefetched)) != 0)
            all.prefetched = (struct place){0};
        all.accessed_by &= page->accessed_by;
        all.read_mostly = all.read_mostly && page->read_mostly;
    }
    return all;
}

static int32_t device_of(struct place place)
{
    switch (place.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return place.id;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return CU_DEVICE_CPU;
    default: return CU_DEVICE_INVALID;
    }
}

static CUresult read_attribute(void *data, size_t size, CUmem_range_attribute attribute,
                               const struct page *page)
{
    int32_t value;
    if (data == NULL || size == 0 || size % sizeof(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        size_t at = 0;
        for (int i = 0; i <= (int)OF_PROCESSOR && at < size / sizeof(value); i++) {
            if (!(page->accessed_by >> i & 1)) continue;
            value = i == (int)OF_PROCESSOR ? CU_DEVICE_CPU : i;
            memcpy((char *)data + at++ * sizeof(value), &value, sizeof(value));
        }
        for (value = CU_DEVICE_INVALID; at < size / sizeof(value); at++)
            memcpy((char *)data + at * sizeof(value), &value, sizeof(value));
        return CUDA_SUCCESS;
    }
    if (size != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: value = page->read_mostly; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: value = device_of(page->preferred); break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: value = device_of(page->prefetched); break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: value = page->preferred.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: value = page->preferred.id; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: value = page->prefetched.type; break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: value = page->prefetched.id; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(data, &value, sizeof(value));
    return CUDA_SUCCESS;
}

static CUresult read_attributes(const char *call, void **data, const size_t *sizes,
                                const CUmem_range_attribute *attributes, size_t num,
                                CUdeviceptr address, size_t count)
{
    struct soft_range *range;
    size_t first, end;
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (data == NULL || sizes == NULL || attributes == NULL || num == 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(find_pages(address, count, &range, &first, &end));
    const struct page page = common(range->advice, first, end);
    for (size_t i = 0; result == CUDA_SUCCESS && i < num; i++)
        result = read_attribute(data[i], sizes[i], attributes[i], &page);
    return soft_end(result);
}

CUresult CUDAAPI cuMemRangeGetAttribute(void *data, size_t dataSize,
                                        CUmem_range_attribute attribute, CUdeviceptr devPtr,
                                        size_t count)
{
    return read_attributes(__func__, &data, &dataSize, &attribute, 1, devPtr, count);
}

CUresult CUDAAPI cuMemRangeGetAttributes(void **data, size_t *dataSizes,
                                         CUmem_range_attribute *attributes, size_t numAttributes,
                                         CUdeviceptr devPtr, size_t count)
{
    return read_attributes(__func__, data, dataSizes, attributes, numAttributes, devPtr, count);
}

/* Any stream may use it, whatever it is attached to: a device with concurrent access. */
CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                        unsigned int flags)
{
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_on(__func__, hStream, &stream));
    const struct soft_range *range = soft_range_find((uintptr_t)dptr);
    const bool alone = flags == CU_MEM_ATTACH_SINGLE;
    if (range == NULL || !range->managed || range->start != dptr ||
        (length != 0 && length != range->size) ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && !alone) ||
        (alone && stream == soft_stream_context(stream)->legacy))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_op *op = soft_op_new(sizeof(*op), NULL, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    return soft_end(soft_submit(stream, op));
}
