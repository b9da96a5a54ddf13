/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: reserved addresses, mappings and access to them.
 *
 * A mapping's pages have the widest access that any device has: a kernel's arguments are what
 * separates devices within a process (peer.c). None of these calls waits for work in streams
 * (measured on an H200): what still uses the memory faults. None minds a sticky error (measured of
 * cuMemCreate, cuMemUnmap, cuMemRelease and cuMemAddressFree). */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

static struct soft_reservation *reservations;

static void *pointer(uintptr_t address)
{
    return (void *)address;
}

struct soft_reservation *soft_reservation_at(uintptr_t address)
{
    struct soft_reservation *reservation = reservations;
    while (reservation != NULL &&
           (address < reservation->start || address - reservation->start >= reservation->size))
        reservation = reservation->next;
    return reservation;
}

struct soft_reservation *soft_reservation_first(uintptr_t start, size_t size)
{
    struct soft_reservation *first = NULL;
    for (struct soft_reservation *r = reservations; r != NULL; r = r->next)
        if (r->start < start + size && start < r->start + r->size &&
            (first == NULL || r->start < first->start))
            first = r;
    return first;
}

uint64_t soft_reservation_count(void)
{
    uint64_t count = 0;
    for (const struct soft_reservation *r = reservations; r != NULL; r = r->next)
        count++;
    return count;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    if (ptr == NULL || size == 0 || size % SOFT_GRANULARITY != 0 ||
        (alignment & (alignment - 1)) != 0 || addr % SOFT_GRANULARITY != 0 || flags != 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_reservation *reservation = calloc(1, sizeof(*reservation));
    if (reservation == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    const size_t aligned = alignment < SOFT_GRANULARITY ? SOFT_GRANULARITY : alignment;
    /* Vulkan may have those addresses already: on a GPU it has a page table of its own. */
    void *at = addr != 0 && addr % aligned == 0 && size <= UINTPTR_MAX - addr &&
                       soft_shown_covers((uintptr_t)addr, size) &&
                       soft_reservation_first((uintptr_t)addr, size) == NULL
                   ? pointer((uintptr_t)addr)
                   : soft_reserve(size, aligned, (uintptr_t)addr);
    if (at == NULL) {
        free(reservation);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    reservation->start = (uintptr_t)at;
    reservation->size = size;
    reservation->next = reservations;
    reservations = reservation;
    *ptr = reservation->start;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    struct soft_reservation *reservation = soft_reservation_at((uintptr_t)ptr),
                            **link = &reservations;
    /* cuda.h: both must be what they were; and 001 (cuMemAddressFree): nothing may be mapped
     * there. */
    if (reservation == NULL || reservation->start != ptr || reservation->size != size ||
        soft_range_first(reservation->start, size) != NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    while (*link != reservation)
        link = &(*link)->next;
    *link = reservation->next;
    soft_shown_unmap_others(reservation->start, size);
    free(reservation);
    return soft_end(CUDA_SUCCESS);
}

/* Maps the pages of what `range` is of, inaccessible. */
static bool place(const struct soft_range *range)
{
    const struct soft_physical *physical = range->virtual->physical;
    if (physical->team != NULL)
        return soft_team_place(physical, pointer(range->start)) == CUDA_SUCCESS;
    return soft_pages_place(pointer(range->start), range->size, physical->pages, physical->fd,
                            physical->payload);
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    struct soft_physical *physical = soft_physical_find(handle);
    /* Tile pools are for sparse arrays. */
    if (physical == NULL || flags != 0 || ptr % SOFT_GRANULARITY != 0 || size == 0 ||
        size % SOFT_GRANULARITY != 0 ||
        (physical->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    /* cuda.h: the offset "currently must be zero"; and parts of an allocation are not mapped (002,
     * "the sizes need to match"). The code is an H200's. */
    if (offset != 0 || size != physical->size) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    if (physical->team != NULL && !soft_team_wait(physical))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_reservation *reservation = soft_reservation_at((uintptr_t)ptr);
    if (reservation == NULL || size > reservation->size - ((uintptr_t)ptr - reservation->start) ||
        soft_range_first((uintptr_t)ptr, size) != NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_virtual *mapped = calloc(1, sizeof(*mapped));
    if (mapped == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    mapped->physical = physical;
    mapped->reservation = reservation;
    const CUmemLocation *location = &physical->prop.location;
    const struct soft_range range = {.start = (uintptr_t)ptr,
                                     .size = size,
                                     .kind = SOFT_RANGE_VIRTUAL,
                                     .device =
                                         soft_on_host(location) ? CU_DEVICE_CPU : location->id,
                                     .virtual = mapped};
    result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) {
        free(mapped);
        return soft_end(result);
    }
    if (!place(&range)) {
        soft_range_remove(soft_range_find(range.start));
        free(mapped);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    soft_shown_again(range.start, range.size);
    physical->uses++;
    return soft_end(CUDA_SUCCESS);
}

/* Whether [start, start + size) of one reservation is mapped without a gap, and only whole mappings
 * are in it. */
static bool whole_mappings(uintptr_t start, size_t size)
{
    const struct soft_range *range = soft_range_find(start);
    if (size == 0 || range == NULL || range->kind != SOFT_RANGE_VIRTUAL || range->start != start)
        return false;
    const struct soft_reservation *reservation = range->virtual->reservation;
    size_t held = 0;
    while (range != NULL && range->kind == SOFT_RANGE_VIRTUAL &&
           range->virtual->reservation == reservation) {
        held += range->size;
        if (held >= size) return held == size;
        range = soft_range_find(start + held);
    }
    return false;
}

/* Whether no mapping is only partly in [start, start + size) of one reservation. There may be gaps,
 * and nothing at all (measured). */
static bool nothing_in_part(uintptr_t start, size_t size)
{
    const struct soft_reservation *reservation = soft_reservation_at(start);
    if (reservation == NULL || size == 0 || (start | size) % SOFT_GRANULARITY != 0 ||
        size > reservation->size - (start - reservation->start))
        return false;
    const struct soft_range *range;
    for (size_t at = 0; at < size && (range = soft_range_first(start + at, size - at)) != NULL;) {
        if (range->start < start + at) return false;
        at = range->start - start + range->size;
        if (at > size) return false;
    }
    return true;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    const uintptr_t start = (uintptr_t)ptr;
    if (!nothing_in_part(start, size)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!soft_shown_blank_others(start, size)) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    struct soft_range *range;
    while ((range = soft_range_first(start, size)) != NULL) {
        struct soft_virtual *mapped = range->virtual;
        soft_range_remove(range);
        soft_physical_unuse(mapped->physical);
        free(mapped);
    }
    return soft_end(CUDA_SUCCESS);
}

static CUmemAccess_flags widest(const struct soft_virtual *mapped)
{
    unsigned access = 0;
    for (size_t i = 0; i <= SOFT_ACCESS_HOST; i++)
        access |= mapped->access[i];
    return (CUmemAccess_flags)access;
}

bool soft_virtual_accessible(const struct soft_range *range, uintptr_t start, size_t size)
{
    for (;;) {
        if (range->kind == SOFT_RANGE_VIRTUAL &&
            widest(range->virtual) == CU_MEM_ACCESS_FLAGS_PROT_NONE)
            return false;
        const size_t held = range->size - (start - range->start);
        if (held >= size) return true;
        start += held;
        size -= held;
        range = soft_range_find(start);
    }
}

CUresult soft_virtual_refresh(const struct soft_range *range)
{
    if (!place(range) || !soft_protect(pointer(range->start), range->size, widest(range->virtual)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    soft_shown_again(range->start, range->size);
    return CUDA_SUCCESS;
}

void soft_virtual_show(const struct soft_range *range, uintptr_t start, size_t size)
{
    const struct soft_physical *physical = range->virtual->physical;
    if (physical->team == NULL && physical->fd >= 0)
        soft_pages_show(pointer(start), size, physical->fd,
                        physical->payload + (start - range->start), widest(range->virtual));
    else
        (void)soft_virtual_refresh(range);
}

/* Which entry of soft_virtual.access a location means. */
static CUresult access_index(const CUmemLocation *location, size_t *index)
{
    if (location == NULL) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        if (!soft_device_valid(location->id)) return CUDA_ERROR_INVALID_VALUE;
        *index = (size_t)location->id;
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: /* cuda.h: the id is ignored */
        *index = SOFT_ACCESS_HOST;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Whether every allocation in the range may be given that access. */
static CUresult check_access(uintptr_t start, size_t size, const CUmemAccessDesc *desc)
{
    size_t index;
    CUresult result = access_index(&desc->location, &index);
    if (result != CUDA_SUCCESS) return result;
    if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t at = 0; at < size;) {
        const struct soft_range *range = soft_range_find(start + at);
        /* cuda.h: no access of the host's to a device's memory. */
        if (index == SOFT_ACCESS_HOST && range->device != CU_DEVICE_CPU)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (index != SOFT_ACCESS_HOST && range->device != CU_DEVICE_CPU &&
            range->device != (int)index && soft.peers_barred)
            return CUDA_ERROR_INVALID_DEVICE;
        at += range->size;
    }
    return CUDA_SUCCESS;
}

static void set_access(struct soft_virtual *mapped, const CUmemAccessDesc *desc, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t index;
        if (access_index(&desc[i].location, &index) != CUDA_SUCCESS) continue; /* checked before */
        mapped->access[index] = (uint8_t)desc[i].flags;
    }
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    const uintptr_t start = (uintptr_t)ptr;
    if (desc == NULL || count == 0 || !whole_mappings(start, size))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        result = check_access(start, size, &desc[i]);
        if (result != CUDA_SUCCESS) return soft_end(result);
    }
    for (size_t at = 0; at < size;) {
        const struct soft_range *range = soft_range_find(start + at);
        struct soft_virtual changed = *range->virtual;
        set_access(&changed, desc, count);
        if (!soft_protect(pointer(range->start), range->size, widest(&changed))) {
            /* All or nothing. */
            for (size_t back = 0; back < at;) {
                range = soft_range_find(start + back);
                soft_protect(pointer(range->start), range->size, widest(range->virtual));
                back += range->size;
            }
            return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        }
        at += range->size;
    }
    for (size_t at = 0; at < size;) {
        const struct soft_range *range = soft_range_find(start + at);
        set_access(range->virtual, desc, count);
        at += range->size;
    }
    soft_shown_again(start, size);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                CUdeviceptr ptr)
{
    size_t index;
    CUresult result = soft_vmm_begin(__func__);
    if (result != CUDA_SUCCESS) return result;
    const struct soft_range *range = soft_range_find((uintptr_t)ptr);
    if (flags == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    result = access_index(location, &index);
    if (result != CUDA_SUCCESS) return soft_end(result);
    if (range != NULL &&
        range->kind == SOFT_RANGE_DEVICE) { /* of cuMemAlloc: no error (measured) */
        *flags = range->device == (int)index ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                             : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return soft_end(CUDA_SUCCESS);
    }
    if (range == NULL || range->kind != SOFT_RANGE_VIRTUAL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    *flags = range->virtual->access[index];
    return soft_end(CUDA_SUCCESS);
}
