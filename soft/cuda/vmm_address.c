/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: reserved addresses, mappings and access to them.
 *
 * A mapping's pages have the widest access that any device has: a kernel's arguments are what
 * separates devices within a process (peer.c). None of these calls waits for work in streams
 * (measured on an H200): what still uses the memory faults. None minds a sticky error (measured of
 * cuMemCreate, cuMemUnmap, cuMemRelease and cuMemAddressFree). */
#include "vmm.h"

#include <errno.h>
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
    SOFT_TRY(soft_vmm_begin(__func__));
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
    SOFT_TRY(soft_vmm_begin(__func__));
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
    SOFT_TRY(soft_vmm_begin(__func__));
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
    SOFT_TRY(soft_vmm_begin(__func__));
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
    SOFT_TRY(access_index(&desc->location, &index));
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
    SOFT_TRY(soft_vmm_begin(__func__));
    const uintptr_t start = (uintptr_t)ptr;
    if (desc == NULL || count == 0 || !whole_mappings(start, size))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        SOFT_STEP(check_access(start, size, &desc[i]));
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
    SOFT_TRY(soft_vmm_begin(__func__));
    const struct soft_range *range = soft_range_find((uintptr_t)ptr);
    if (flags == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(access_index(location, &index));
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

/* Memory that Vulkan shows at addresses of its choice (shared/layer_calls.h). An
 * address of both has the same pages, so what is bound in Vulkan stays where cuMemUnmap takes its
 * own mapping away, and the other way round. */

struct shown { /* what Vulkan has reserved */
    struct shown *next;
    uintptr_t start;
    size_t size;
};

struct part { /* what it shows there */
    struct part *next;
    uintptr_t start;
    size_t size;
    int fd; /* a duplicate */
    uint64_t offset;
};

static struct shown *shown_list;
static struct part *parts;

static bool overlap(uintptr_t a, size_t a_size, uintptr_t b, size_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

static struct shown *shown_at(uintptr_t start, size_t size)
{
    struct shown *s = shown_list;
    while (s != NULL && !overlap(start, size, s->start, s->size))
        s = s->next;
    return s;
}

bool soft_shown_covers(uintptr_t start, size_t size)
{
    const struct shown *s = shown_at(start, size);
    return s != NULL && start >= s->start && start + size <= s->start + s->size;
}

static struct part *part_at(uintptr_t start, size_t size)
{
    struct part *first = NULL;
    for (struct part *p = parts; p != NULL; p = p->next)
        if (overlap(start, size, p->start, p->size) && (first == NULL || p->start < first->start))
            first = p;
    return first;
}

void soft_shown_again(uintptr_t start, size_t size)
{
    for (const struct part *p = parts; p != NULL; p = p->next)
        if (overlap(start, size, p->start, p->size))
            soft_pages_show((void *)p->start, p->size, p->fd, p->offset,
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

/* Does something with each piece of [start, start + size) that Vulkan does not show, or that it has
 * not reserved. */
static bool each_gap(uintptr_t start, size_t size, bool reserved, bool (*deed)(void *, size_t))
{
    const uintptr_t end = start + size;
    while (start < end) {
        uintptr_t from = end, to = end;
        if (reserved) {
            for (const struct shown *s = shown_list; s != NULL; s = s->next)
                if (overlap(start, end - start, s->start, s->size) && s->start < from) {
                    from = s->start;
                    to = s->start + s->size;
                }
        } else {
            const struct part *p = part_at(start, end - start);
            if (p != NULL) from = p->start, to = p->start + p->size;
        }
        if (from > start && !deed((void *)start, from - start)) return false;
        start = to;
    }
    return true;
}

bool soft_shown_blank_others(uintptr_t start, size_t size)
{
    return each_gap(start, size, false, soft_blank);
}

static bool give_back(void *at, size_t size)
{
    soft_unmap(at, size);
    return true;
}

void soft_shown_unmap_others(uintptr_t start, size_t size)
{
    each_gap(start, size, true, give_back); /* what stays is Vulkan's alone */
}

/* What is CUDA's in a place that Vulkan shows no longer, in one step where that is possible: work
 * may run there. */
static void show_cuda(uintptr_t start, size_t size)
{
    if (soft_reservation_at(start) == NULL) {
        soft_blank((void *)start, size);
        return;
    }
    while (size > 0) {
        const struct soft_range *range = soft_range_first(start, size);
        const uintptr_t from = range == NULL          ? start + size
                               : range->start > start ? range->start
                                                      : start;
        if (from > start) soft_blank((void *)start, from - start);
        if (range == NULL) return;
        const uintptr_t end =
            range->start + range->size < start + size ? range->start + range->size : start + size;
        soft_virtual_show(range, from, end - from);
        size -= end - start;
        start = end;
    }
}

/* Takes [start, start + size) out of all parts; false: no memory, and nothing has changed. */
static bool carve(uintptr_t start, size_t size)
{
    const uintptr_t end = start + size;
    struct part *rest = calloc(1, sizeof(*rest)); /* at most one part is cut in two */
    if (rest == NULL) return false;
    rest->fd = -1;
    for (struct part **link = &parts; *link != NULL;) {
        struct part *p = *link;
        const uintptr_t p_end = p->start + p->size;
        if (!overlap(start, size, p->start, p->size)) {
            link = &p->next;
            continue;
        }
        if (p->start < start && p_end > end) {
            *rest = (struct part){.next = p->next,
                                  .start = end,
                                  .size = p_end - end,
                                  .fd = soft_duplicate(p->fd),
                                  .offset = p->offset + (end - p->start)};
            if (rest->fd < 0) break;
            p->size = start - p->start;
            p->next = rest;
            return true;
        }
        if (p->start < start) {
            p->size = start - p->start;
            link = &p->next;
        } else if (p_end > end) {
            p->offset += end - p->start;
            p->size = p_end - end;
            p->start = end;
            link = &p->next;
        } else {
            *link = p->next;
            soft_close(p->fd);
            free(p);
        }
    }
    free(rest);
    return true;
}

int culvSoftShowBind(uint64_t address, uint64_t size, int fd, uint64_t offset)
{
    struct part *made = NULL;
    int error = 0;
    pthread_mutex_lock(&soft.lock);
    if (size == 0 || !soft_shown_covers((uintptr_t)address, (size_t)size)) error = EINVAL;
    if (error == 0 && fd >= 0) {
        made = calloc(1, sizeof(*made));
        if (made == NULL) error = ENOMEM;
    }
    if (made != NULL) {
        *made = (struct part){.start = (uintptr_t)address,
                              .size = (size_t)size,
                              .fd = soft_duplicate(fd),
                              .offset = offset};
        if (made->fd < 0) error = EMFILE;
    }
    if (error == 0 && made != NULL &&
        !soft_pages_show((void *)made->start, made->size, made->fd, offset,
                         CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
        error = ENOMEM;
    if (error == 0 && !carve((uintptr_t)address, (size_t)size)) error = ENOMEM;
    if (error != 0 && made != NULL) {
        if (made->fd >= 0) soft_close(made->fd);
        free(made);
    } else if (error == 0 && made != NULL) {
        made->next = parts;
        parts = made;
    } else if (error == 0) {
        show_cuda((uintptr_t)address, (size_t)size);
    }
    pthread_mutex_unlock(&soft.lock);
    return error;
}

int culvSoftShowReserve(uint64_t address, uint64_t size, uint64_t *out)
{
    const uintptr_t start = (uintptr_t)address;
    int error = 0;
    struct shown *made = calloc(1, sizeof(*made));
    if (made == NULL) return ENOMEM;
    pthread_mutex_lock(&soft.lock);
    const struct soft_reservation *cuda = start != 0 ? soft_reservation_at(start) : NULL;
    if (size == 0 || size > UINTPTR_MAX - start || (start != 0 && shown_at(start, (size_t)size))) {
        error = EADDRINUSE;
    } else if (cuda != NULL) {
        if (size > cuda->size - (start - cuda->start)) error = EADDRINUSE;
        made->start = start;
    } else {
        void *at = start != 0 ? soft_reserve_at(start, (size_t)size)
                              : soft_reserve((size_t)size, SOFT_GRANULARITY, 0);
        if (at == NULL) error = EADDRINUSE;
        made->start = (uintptr_t)at;
    }
    if (error == 0) {
        made->size = (size_t)size;
        made->next = shown_list;
        shown_list = made;
        *out = made->start;
    }
    pthread_mutex_unlock(&soft.lock);
    if (error != 0) free(made);
    return error;
}

void culvSoftShowRelease(uint64_t address)
{
    pthread_mutex_lock(&soft.lock);
    struct shown **link = &shown_list;
    while (*link != NULL && (*link)->start != (uintptr_t)address)
        link = &(*link)->next;
    struct shown *mine = *link;
    if (mine != NULL) {
        *link = mine->next;
        for (struct part **p = &parts; *p != NULL;) {
            struct part *part = *p;
            if (!overlap(mine->start, mine->size, part->start, part->size)) {
                p = &part->next;
                continue;
            }
            *p = part->next;
            if (soft_reservation_at(part->start) != NULL) show_cuda(part->start, part->size);
            soft_close(part->fd);
            free(part);
        }
        /* Where CUDA has reserved addresses it has all of them, or some within them. */
        uintptr_t start = mine->start;
        const uintptr_t end = mine->start + mine->size;
        while (start < end) {
            const struct soft_reservation *cuda = soft_reservation_first(start, end - start);
            const uintptr_t stop = cuda == NULL || cuda->start > end ? end : cuda->start;
            if (stop > start) soft_unmap((void *)start, stop - start);
            start = cuda != NULL ? cuda->start + cuda->size : end;
        }
        free(mine);
    }
    pthread_mutex_unlock(&soft.lock);
}

uint64_t soft_shown_fds(void)
{
    uint64_t count = 0;
    for (const struct part *p = parts; p != NULL; p = p->next)
        count++;
    return count;
}
