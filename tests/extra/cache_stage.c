/* SPDX-License-Identifier: MIT */
/* The played card. */
#include "cache_stage.h"

#include <sched.h>
#include <stdatomic.h>

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    cache_stage *s = user;
    REQUIRE(range->struct_size == sizeof *range && range->page_start % CULV_RDMA_CHUNK == 0);
    REQUIRE(range->page_size % CULV_RDMA_CHUNK == 0 && range->size > 0);
    REQUIRE(range->page_start <= range->start);
    REQUIRE(range->start + range->size <= range->page_start + range->page_size);
    REQUIRE(range->allocation_start <= range->start);
    REQUIRE(range->start + range->size <= range->allocation_start + range->allocation_size);
    if (s->inner != 0) {
        const CUdeviceptr inner = s->inner;
        culv_rdma_registration *other = NULL;
        s->inner = 0;
        s->inner_result = culv_rdma_cache_get(s->cache, inner, 1, &other);
        culv_rdma_registration_put(&other);
    }
    if (s->frees > 0) {
        s->frees--;
        LIB_OK(culv_rdma_cache_invalidate(s->cache, range->start, 1));
    }
    for (int i = 0; s->yields && i < 4; i++)
        sched_yield();
    if (s->answer == CULV_ERROR_DRIVER) { /* with words of its own */
        culv_error error = culv_error_init();
        error.result = CULV_ERROR_DRIVER;
        error.reason = CULV_REASON_CAPTURE;
        strcpy(error.message, "the card's driver says no");
        return culv_last_error_set(&error);
    }
    if (s->answer != CULV_OK) return s->answer;
    if (s->largest != 0 && range->page_size > s->largest) return CULV_ERROR_OUT_OF_MEMORY;
    REQUIRE_EQ(pthread_mutex_lock(&s->lock), 0);
    const bool full = s->room != 0 && s->pinned >= s->room;
    if (!full) {
        cache_pin *p = calloc(1, sizeof *p);
        REQUIRE(p != NULL);
        p->number = ++s->pins;
        p->kind = range->kind;
        p->start = range->start;
        p->size = range->size;
        p->id = range->buffer_id;
        atomic_store(&p->pinned, true);
        p->next = s->all;
        s->all = p;
        s->pinned++;
        *cookie = p;
    }
    REQUIRE_EQ(pthread_mutex_unlock(&s->lock), 0);
    return full ? CULV_ERROR_OUT_OF_MEMORY : CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    cache_stage *s = user;
    cache_pin *p = cookie;
    if (s->cache != NULL) {
        culv_rdma_cache_stats stats = culv_rdma_cache_stats_init();
        LIB_OK(culv_rdma_cache_get_stats(s->cache, &stats)); /* no lock is held */
    }
    REQUIRE_EQ(pthread_mutex_lock(&s->lock), 0);
    REQUIRE(p->start == range->start && p->size == range->size && p->id == range->buffer_id);
    REQUIRE(atomic_exchange(&p->pinned, false));
    s->unpins++;
    s->pinned--;
    s->last_why = why;
    s->last_start = range->start;
    REQUIRE_EQ(pthread_mutex_unlock(&s->lock), 0);
}

culv_rdma_cache_desc cache_desc(cache_stage *s, const cache_wish *wish)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.user = s;
    if (wish == NULL) return d;
    d.exact_ranges = wish->exact;
    d.max_bytes = wish->max_bytes;
    d.max_entries = wish->max_entries;
    d.whole_percent = wish->whole_percent;
    d.validity = wish->notified ? CULV_RDMA_VALIDITY_NOTIFICATION : CULV_RDMA_VALIDITY_BUFFER_ID;
    return d;
}

void cache_stage_open_cache(cache_stage *s, const cache_wish *wish)
{
    culv_rdma_cache_desc d = cache_desc(s, wish);
    LIB_OK(culv_rdma_cache_create(s->r.w.device, &d, &s->cache));
}

void cache_stage_open(cache_stage *s, const cache_wish *wish)
{
    memset(s, 0, sizeof *s);
    REQUIRE_EQ(pthread_mutex_init(&s->lock, NULL), 0);
    rdma_stage_open(&s->r);
    cache_stage_open_cache(s, wish);
}

void cache_stage_close_cache(cache_stage *s)
{
    culv_rdma_cache_destroy(&s->cache);
    REQUIRE(s->cache == NULL);
    REQUIRE_EQ(s->pinned, 0);
    REQUIRE_EQ(s->pins, s->unpins);
    while (s->all != NULL) {
        cache_pin *p = s->all;
        s->all = p->next;
        free(p);
    }
    s->pins = s->unpins = s->room = 0;
    s->largest = 0;
}

void cache_stage_close(cache_stage *s)
{
    cache_stage_close_cache(s);
    rdma_stage_close(&s->r);
    REQUIRE_EQ(pthread_mutex_destroy(&s->lock), 0);
}

const cache_pin *cache_pin_of(const culv_rdma_registration *r)
{
    return culv_rdma_registration_cookie(r);
}

culv_rdma_registration *cache_get(cache_stage *s, CUdeviceptr p, uint64_t size)
{
    culv_rdma_registration *r = NULL;
    LIB_OK(culv_rdma_cache_get(s->cache, p, size, &r));
    const cache_pin *pin = cache_pin_of(r);
    REQUIRE(pin->pinned && pin->start <= p && p + size <= pin->start + pin->size);
    return r;
}

void cache_put(cache_stage *s, culv_rdma_registration **r)
{
    (void)s;
    REQUIRE(cache_pin_of(*r)->pinned);
    culv_rdma_registration_put(r);
    REQUIRE(*r == NULL);
}

void cache_require(const cache_stage *s, unsigned pinned, unsigned unpins)
{
    REQUIRE_EQ(s->pinned, pinned);
    REQUIRE_EQ(s->unpins, unpins);
}

culv_rdma_cache_stats cache_stats(const cache_stage *s)
{
    culv_rdma_cache_stats stats = culv_rdma_cache_stats_init();
    LIB_OK(culv_rdma_cache_get_stats(s->cache, &stats));
    return stats;
}
