/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the pages behind external semaphores (shared/pages.h), and
 * the controls by which tests play the other side of a binary one. */
#include "semaphore_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GIVE_UP_INTERVAL_MS 20u /* how soon a wait sees that its context ends */

_Static_assert(sizeof(union soft_page) <= CULV_SOFT_TIMELINE_SIZE, "a page holds a timeline");

static const char *magic_of(enum soft_page_kind kind)
{
    return kind == SOFT_PAGE_COUNTED ? CULV_SOFT_COUNTED_MAGIC : CULV_SOFT_TIMELINE_MAGIC;
}

static union soft_page *swiftshader_map(int fd, void **map, size_t *map_size)
{
    uint64_t size;
    struct soft_swiftshader_semaphore now;
    if (!soft_swiftshader_made(fd, "Semaphore") || !soft_file_size(fd, &size) ||
        size < sizeof(now) || !soft_read_at(fd, &now, sizeof(now), 0) || now.references < 1)
        return NULL;
    union soft_page *page = soft_map_file(fd, 0, (size_t)size, map, map_size);
    if (page == NULL) return NULL;
    pthread_mutex_lock(&page->swiftshader.mutex);
    page->swiftshader.references++;
    pthread_mutex_unlock(&page->swiftshader.mutex);
    return page;
}

static CUresult swiftshader_signal(struct soft_swiftshader_semaphore *s)
{
    CULV_SOFT_PAGE_RELEASE();
    pthread_mutex_lock(&s->mutex);
    s->signaled = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return CUDA_SUCCESS;
}

/* Sleeps for a while where there is no signal yet. */
static CUresult swiftshader_try(struct soft_swiftshader_semaphore *s)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += (long)GIVE_UP_INTERVAL_MS * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&s->mutex);
    while (!s->signaled && pthread_cond_timedwait(&s->changed, &s->mutex, &end) == 0) {
    }
    const bool signaled = s->signaled;
    s->signaled = false;
    pthread_mutex_unlock(&s->mutex);
    if (!signaled) return CUDA_ERROR_NOT_READY;
    CULV_SOFT_PAGE_ACQUIRE();
    return CUDA_SUCCESS;
}

void soft_page_leave(union soft_page *page, enum soft_page_kind kind)
{
    if (kind != SOFT_PAGE_SWIFTSHADER) return;
    pthread_mutex_lock(&page->swiftshader.mutex);
    page->swiftshader.references--;
    pthread_mutex_unlock(&page->swiftshader.mutex);
}

union soft_page *soft_page_map(int fd, enum soft_page_kind kind, void **map, size_t *map_size)
{
    uint64_t size;
    char magic[8];
    if (kind == SOFT_PAGE_SWIFTSHADER) return swiftshader_map(fd, map, map_size);
    /* Whoever waits reads the page without a guard, and all who make such pages seal them. */
    if (!soft_file_size(fd, &size) || size < CULV_SOFT_TIMELINE_SIZE || !soft_file_stays(fd))
        return NULL;
    if (!soft_read_at(fd, magic, sizeof(magic), 0) ||
        memcmp(magic, magic_of(kind), sizeof(magic)) != 0)
        return NULL;
    return soft_map_file(fd, 0, CULV_SOFT_TIMELINE_SIZE, map, map_size);
}

static CUresult timeline_signal(culv_soft_timeline *page, uint64_t value)
{
    uint64_t before = atomic_load(&page->value);
    CULV_SOFT_PAGE_RELEASE();
    while (before < value && !atomic_compare_exchange_weak(&page->value, &before, value)) {
    }
    /* The value first, then the word that sleepers watch: whoever sees the word changed sees the
     * value. */
    atomic_fetch_add(&page->seq, 1);
    soft_futex_wake(&page->seq);
    return CUDA_SUCCESS;
}

CUresult soft_page_signal(union soft_page *page, enum soft_page_kind kind, uint64_t value)
{
    if (kind == SOFT_PAGE_SWIFTSHADER) return swiftshader_signal(&page->swiftshader);
    return timeline_signal(&page->timeline, value);
}

uint64_t soft_page_number(union soft_page *page, bool waits)
{
    if (waits) return atomic_fetch_add(&page->counted.waits, 1) + 1;
    if (atomic_load(&page->counted.signals) > atomic_load(&page->counted.waits)) return 0;
    return atomic_fetch_add(&page->counted.signals, 1) + 1;
}

void soft_page_number_back(union soft_page *page, bool waits)
{
    atomic_fetch_sub(waits ? &page->counted.waits : &page->counted.signals, 1);
}

/* CUDA_ERROR_NOT_READY: sleep on *word while it is *seen. */
static CUresult timeline_try(culv_soft_timeline *page, uint64_t value, uint32_t *seen)
{
    *seen = atomic_load(&page->seq);
    if (atomic_load(&page->value) < value) return CUDA_ERROR_NOT_READY;
    CULV_SOFT_PAGE_ACQUIRE();
    return CUDA_SUCCESS;
}

CUresult soft_page_wait(union soft_page *page, enum soft_page_kind kind, uint64_t value,
                        const struct soft_context *context)
{
    for (;;) {
        uint32_t seen = 0;
        CUresult result = kind == SOFT_PAGE_SWIFTSHADER
                              ? swiftshader_try(&page->swiftshader)
                              : timeline_try(&page->timeline, value, &seen);
        if (result != CUDA_ERROR_NOT_READY) return result;
        if (context->dying) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->error != 0) return CUDA_SUCCESS;
        if (kind != SOFT_PAGE_SWIFTSHADER)
            soft_futex_wait(&page->timeline.seq, seen, GIVE_UP_INTERVAL_MS);
    }
}

int culvSoftBinaryCreate(const uint8_t device_uuid[16], int *fd)
{
    if (device_uuid == NULL || fd == NULL) return EINVAL;
    int file = soft_make_file("culvert binary semaphore", CULV_SOFT_TIMELINE_SIZE);
    if (file < 0) return errno;
    void *map;
    size_t map_size;
    culv_soft_timeline *page = soft_map_file(file, 0, CULV_SOFT_TIMELINE_SIZE, &map, &map_size);
    if (page == NULL) {
        soft_close(file);
        return ENOMEM;
    }
    memcpy(page->magic, CULV_SOFT_COUNTED_MAGIC, sizeof(page->magic));
    memcpy(page->device_uuid, device_uuid, sizeof(page->device_uuid));
    soft_unmap(map, map_size);
    *fd = file;
    return 0;
}

int culvSoftBinarySignal(int fd)
{
    void *map;
    size_t map_size;
    union soft_page *page = soft_page_map(fd, SOFT_PAGE_COUNTED, &map, &map_size);
    if (page == NULL) return EINVAL;
    const uint64_t number = soft_page_number(page, false);
    if (number != 0) (void)timeline_signal(&page->timeline, number);
    soft_unmap(map, map_size);
    return number != 0 ? 0 : EBUSY;
}

int culvSoftBinaryWait(int fd, unsigned timeout_ms)
{
    void *map;
    size_t map_size;
    union soft_page *page = soft_page_map(fd, SOFT_PAGE_COUNTED, &map, &map_size);
    if (page == NULL) return EINVAL;
    const uint64_t end = soft_now_ns() + timeout_ms * UINT64_C(1000000),
                   number = soft_page_number(page, true);
    uint32_t seen;
    CUresult result;
    while ((result = timeline_try(&page->timeline, number, &seen)) == CUDA_ERROR_NOT_READY) {
        uint64_t now = soft_now_ns();
        if (now >= end) break;
        uint64_t left_ms = (end - now + 999999) / 1000000;
        soft_futex_wait(&page->timeline.seq, seen, left_ms < 1000 ? (unsigned)left_ms : 1000u);
    }
    if (result != CUDA_SUCCESS) soft_page_number_back(page, true);
    soft_unmap(map, map_size);
    return result == CUDA_SUCCESS ? 0 : ETIMEDOUT;
}
