/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory that Vulkan shows at addresses of its choice (shared/shown.h). An
 * address of both has the same pages, so what is bound in Vulkan stays where cuMemUnmap takes its
 * own mapping away, and the other way round. */
#include "vmm.h"

#include <errno.h>
#include <stdlib.h>

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
