/* SPDX-License-Identifier: MIT */
/* What the registration cache does for a range that it has not: reserve it, pin it, publish it. */
#include "rdma_cache.h"

enum { TRIES = 8 };

/* A range to pin, and what is done for it. */
typedef struct job {
    culv_rdma_cache *cache;
    CUdeviceptr pointer;
    uint64_t size;
    bool whole; /* the whole allocation may be pinned */
    /* What had no room, if nothing more can be unpinned. No error was recorded then. */
    const char *lacks;
    culvi_rdma_memory memory;
    culvi_rdma_pending pending;
    culv_rdma_registration *entry;    /* what it becomes */
    culv_rdma_registration *replaced; /* those that it covers, with a use of each */
} job;

typedef enum step { STEP_DONE, STEP_AGAIN, STEP_FAILED } step;

/* Asks what is there. */
static culv_result examine(job *j)
{
    static const char call[] = "culv_rdma_cache_get";
    const culv_rdma_cache *cache = j->cache;
    CULVI_X_INSIDE(result, cache->device,
                   culvi_rdma_check(cache->device, cache->label, call, j->pointer, j->size, false,
                                    &j->memory));
    if (result != CULV_OK || j->memory.buffer_id != 0 ||
        cache->desc.validity != CULV_RDMA_VALIDITY_BUFFER_ID)
        return result;
    return culvi_x_fail(
        cache->device, cache->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
        "%s: the memory at %#" PRIx64
        " has no buffer id, so a free of it would go unseen; make the cache with CULV_RDMA_VALIDITY_NOTIFICATION",
        call, (uint64_t)j->pointer);
}

static uint64_t round_down(uint64_t address)
{
    return address / CULV_RDMA_CHUNK * CULV_RDMA_CHUNK;
}

static uint64_t round_up(uint64_t address)
{
    return round_down(address + CULV_RDMA_CHUNK - 1);
}

static bool same_allocation(const culv_rdma_registration *e, const culvi_rdma_memory *m)
{
    return e->buffer_id == m->buffer_id && e->rest->allocation_start == m->start &&
           e->rest->allocation_size == m->size;
}

/* Finds the range of the job, with all that it overlaps; the caller holds the lock. What was of an
 * allocation that is gone goes to *stale. */
static void plan(job *j, culv_rdma_registration **stale)
{
    culv_rdma_cache *cache = j->cache;
    const culvi_rdma_memory *m = &j->memory;
    culvi_rdma_pending *p = &j->pending;
    const uint64_t end = m->start + m->size;
    const bool whole = j->whole && m->size <= cache->whole_bytes;
    p->start = whole ? m->start : round_down(j->pointer);
    p->end = whole ? end : round_up(j->pointer + j->size);
    if (p->start < m->start) p->start = m->start;
    if (p->end > end) p->end = end;
    uint64_t from = p->start, low = p->start, high = p->end;
    for (;;) {
        culv_rdma_registration *e = culvi_rdma_index_next(&cache->index, from, p->end);
        if (e == NULL) break;
        if (!same_allocation(e, m)) {
            if (culvi_rdma_entry_remove(cache, e, CULV_RDMA_UNPIN_FREED)) culvi_rdma_push(stale, e);
            continue;
        }
        if (e->start < low) low = e->start;
        if (e->end > high) high = e->end;
        from = e->end;
    }
    p->start = low;
    p->end = high;
}

/* Collects those that the range covers, each with a use of ours, and counts the bytes that the
 * range adds to theirs; the caller holds the lock. */
static void hold_replaced(job *j)
{
    culvi_rdma_pending *p = &j->pending;
    uint64_t from = p->start;
    p->bytes = round_up(p->end) - round_down(p->start);
    for (;;) {
        culv_rdma_registration *e = culvi_rdma_index_next(&j->cache->index, from, p->end);
        if (e == NULL) return;
        from = e->end;
        if (!culvi_rdma_take_use(e)) continue;
        culvi_rdma_push(&j->replaced, e);
        p->bytes -= e->rest->counted < p->bytes ? e->rest->counted : p->bytes;
    }
}

static culvi_rdma_pending *overlapping(const culv_rdma_cache *cache, uint64_t start, uint64_t end)
{
    culvi_rdma_pending *p = cache->pending;
    while (p != NULL && !(p->start < end && p->end > start))
        p = p->next;
    return p;
}

static bool over_budget(const job *j)
{
    const uint64_t most = j->cache->desc.max_bytes, pinned = j->cache->pinned_bytes;
    return most != 0 && (pinned > most || j->pending.bytes > most - pinned);
}

/* The caller holds the lock. */
static void forget_pending(job *j)
{
    culv_rdma_cache *cache = j->cache;
    culvi_rdma_pending **at = &cache->pending;
    while (*at != &j->pending)
        at = &(*at)->next;
    *at = j->pending.next;
    cache->pinned_bytes -= j->pending.bytes;
    pthread_cond_broadcast(&cache->pinned);
}

/* Gives back what hold_replaced() took, before another thread may hold them: the list goes through
 * the registrations. Those without a user go to *out. The caller holds the lock. */
static void give_replaced(job *j, culv_rdma_registration **out)
{
    while (j->replaced != NULL) {
        culv_rdma_registration *e = j->replaced;
        j->replaced = e->rest->next;
        if (atomic_fetch_sub_explicit(&e->state, 1, memory_order_acq_rel) == 1)
            culvi_rdma_push(out, e);
    }
}

/* Takes out what the range needs to be within the budget. False: what is left is in use. */
static bool make_room(job *j, culv_rdma_registration **out)
{
    while (over_budget(j)) {
        culv_rdma_registration *victim = culvi_rdma_evict(j->cache);
        if (victim == NULL) return false;
        /* It is on its way out, so its bytes are room for this one already. */
        j->cache->pinned_bytes -= victim->rest->counted;
        victim->rest->counted = 0;
        culvi_rdma_push(out, victim);
    }
    return true;
}

/* Reserves a range that was planned. On STEP_DONE it is pending. `stale`: what a look-up found was
 * out of date, or something goes to *out, and is unpinned first. The caller holds the lock. */
static step reserve(job *j, bool stale, culv_rdma_registration **out, culv_result *result)
{
    culv_rdma_cache *cache = j->cache;
    culvi_rdma_pending *p = &j->pending;
    const culvi_rdma_pending *other = overlapping(cache, p->start, p->end);
    if (other != NULL && pthread_equal(other->thread, pthread_self())) {
        *result =
            culvi_x_fail(cache->device, cache->label, CULV_ERROR_INVALID, CULV_REASON_NOT_READY,
                         "culv_rdma_cache_get: called from pin() for what it is pinning");
        return STEP_FAILED;
    }
    if (other != NULL) {
        int before = PTHREAD_CANCEL_ENABLE;
        if (stale) return STEP_AGAIN;
        /* The thread is not cancelled meanwhile. */
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        pthread_cond_wait(&cache->pinned, &cache->lock);
        (void)pthread_setcancelstate(before, NULL);
        return STEP_AGAIN;
    }
    j->entry = culvi_rdma_entry_new(cache);
    if (j->entry == NULL) {
        *result = culvi_x_fail_host_memory(cache->device, cache->label);
        return STEP_FAILED;
    }
    cache->stats.misses++;
    atomic_fetch_add_explicit(&cache->turn, 1, memory_order_relaxed);
    hold_replaced(j);
    if (!make_room(j, out)) {
        j->lacks = "the cache's budget is used up";
        culvi_rdma_entry_unuse(cache, j->entry);
        give_replaced(j, out);
        return STEP_FAILED;
    }
    p->thread = pthread_self();
    p->freed = false;
    p->next = cache->pending;
    cache->pending = p;
    cache->pinned_bytes += p->bytes;
    return STEP_DONE;
}

/* On STEP_DONE the range is pending, or *found is what another thread has pinned meanwhile. */
static step begin(job *j, culv_rdma_registration **found, culv_result *result)
{
    culv_rdma_cache *cache = j->cache;
    culv_rdma_registration *out = NULL;
    step next = STEP_DONE;
    culvi_x_mutex_lock(&cache->lock);
    culv_rdma_registration *e = culvi_rdma_find(cache, j->pointer, j->pointer + j->size);
    if (e != NULL && same_allocation(e, &j->memory)) {
        *found = e;
    } else {
        plan(j, &out);
        next = reserve(j, e != NULL || out != NULL, &out, result);
    }
    culvi_x_mutex_unlock(&cache->lock);
    if (e != *found) culvi_rdma_give_use(e);
    culvi_rdma_finish_all(out);
    return next;
}

/* Takes out the least recently used one. False: there is none. */
static bool evict_one(culv_rdma_cache *cache)
{
    culvi_x_mutex_lock(&cache->lock);
    culv_rdma_registration *victim = culvi_rdma_evict(cache);
    if (victim != NULL) {
        victim->rest->next = NULL;
        cache->stats.pin_retries++;
    }
    culvi_x_mutex_unlock(&cache->lock);
    culvi_rdma_finish_all(victim);
    return victim != NULL;
}

static culv_result sync_memops(const job *j)
{
    culv_device *device = j->cache->device;
    culv_rdma_sync got;
    if (j->memory.on_host || j->memory.sync) return CULV_OK;
    CULVI_X_INSIDE(result, device,
                   culvi_rdma_sync(device, "culv_rdma_cache_get", j->pointer, false, &got));
    return result;
}

/* Calls pin(), as often as there is something to unpin for it. An error that it recorded
 * (culv_last_error_set()) is the caller's. */
static culv_result pin(job *j)
{
    culv_rdma_cache *cache = j->cache;
    const culv_rdma_range range = culvi_rdma_range_of(j->entry);
    culv_error before = culv_error_init(), after = culv_error_init();
    culv_result answer;
    culv_last_error(&before);
    do {
        j->entry->cookie = NULL;
        answer = cache->desc.pin(cache->desc.user, &range, &j->entry->cookie);
    } while (answer == CULV_ERROR_OUT_OF_MEMORY && evict_one(cache));
    if (answer == CULV_ERROR_OUT_OF_MEMORY) {
        j->lacks = "pin() had no room";
        return answer;
    }
    culv_last_error(&after);
    const bool recorded = memcmp(&before, &after, sizeof after) != 0;
    if (answer < 0 && recorded && after.result == answer) return answer;
    if (recorded && before.result < 0) (void)culv_last_error_set(&before);
    if (answer == CULV_OK) return CULV_OK;
    return culvi_x_fail(cache->device, cache->label, answer < 0 ? answer : CULV_ERROR_INTERNAL,
                        CULV_REASON_PIN_REFUSED,
                        "pin() answered %s for %" PRIu64 " bytes at %#" PRIx64,
                        culv_result_name(answer), range.page_size, (uint64_t)range.page_start);
}

/* What the range covers goes, and holds on to what replaces it as long as it is in use. */
static void replace(job *j)
{
    for (culv_rdma_registration *e = j->replaced; e != NULL; e = e->rest->next) {
        if ((atomic_load(&e->state) & CULVI_RDMA_VALID) == 0) continue;
        atomic_fetch_add_explicit(&j->entry->state, 1, memory_order_relaxed);
        e->rest->cover = j->entry;
        (void)culvi_rdma_entry_remove(j->cache, e, CULV_RDMA_UNPIN_REPLACED);
    }
}

/* Puts what was pinned where look-ups find it. */
static culv_result publish(job *j, bool same, bool *freed)
{
    culv_rdma_cache *cache = j->cache;
    culv_rdma_registration *out = NULL;
    culv_result result = CULV_OK;
    culvi_x_mutex_lock(&cache->lock);
    *freed = !same || j->pending.freed;
    forget_pending(j);
    cache->stats.pins++;
    if (!*freed && !culvi_rdma_index_reserve(&cache->index, j->entry))
        result = culvi_x_fail_host_memory(cache->device, cache->label);
    if (!*freed && result == CULV_OK) {
        atomic_store_explicit(&j->entry->state, 1, memory_order_relaxed);
        replace(j);
        culvi_rdma_entry_add(cache, j->entry,
                             atomic_load_explicit(&j->entry->state, memory_order_relaxed));
    } else {
        cache->stats.unpins++;
    }
    give_replaced(j, &out);
    culvi_x_mutex_unlock(&cache->lock);
    culvi_rdma_finish_all(out);
    return result;
}

/* Pins a range that is pending, and lets others find it. */
static step pin_and_publish(job *j, culv_rdma_registration **out, culv_result *result)
{
    culv_rdma_cache *cache = j->cache;
    const culvi_rdma_memory *m = &j->memory;
    culv_rdma_registration *e = j->entry;
    bool same = true, freed = false;
    e->rest->kind = (uint32_t)m->kind;
    e->start = j->pending.start;
    e->end = j->pending.end;
    e->rest->page_start = round_down(e->start);
    e->rest->page_end = round_up(e->end);
    e->rest->allocation_start = m->start;
    e->rest->allocation_size = m->size;
    e->buffer_id = m->buffer_id;
    *result = sync_memops(j);
    if (*result == CULV_OK) *result = pin(j);
    if (*result != CULV_OK) {
        culv_rdma_registration *out_of_use = NULL;
        culvi_x_mutex_lock(&cache->lock);
        forget_pending(j);
        culvi_rdma_entry_unuse(cache, e);
        give_replaced(j, &out_of_use);
        culvi_x_mutex_unlock(&cache->lock);
        culvi_rdma_finish_all(out_of_use);
        return STEP_FAILED;
    }
    /* The id is the pinned memory's only if it is the same before and after (text 000, 3.5). */
    culv_result asked = CULV_OK;
    if (cache->desc.validity == CULV_RDMA_VALIDITY_BUFFER_ID)
        asked = culvi_rdma_ask_id(cache, e, j->pointer, &same);
    *result = publish(j, same && asked == CULV_OK, &freed);
    if (*result == CULV_OK && !freed) {
        *out = e;
        return STEP_DONE;
    }
    const culv_rdma_range range = culvi_rdma_range_of(e);
    cache->desc.unpin(cache->desc.user, &range, e->cookie,
                      freed && asked == CULV_OK ? CULV_RDMA_UNPIN_FREED : CULV_RDMA_UNPIN_EVICTED);
    culvi_x_mutex_lock(&cache->lock);
    culvi_rdma_entry_unuse(cache, e);
    culvi_x_mutex_unlock(&cache->lock);
    if (asked != CULV_OK) *result = asked;
    return *result == CULV_OK ? STEP_AGAIN : STEP_FAILED;
}

culv_result culvi_rdma_pin(culv_rdma_cache *cache, CUdeviceptr pointer, uint64_t size,
                           culv_rdma_registration **out)
{
    job j = {.cache = cache, .pointer = pointer, .size = size, .whole = true};
    culv_result result = CULV_OK;
    for (int pinned = 0; pinned < TRIES;) {
        CULVI_X_TRY(examine(&j));
        j.lacks = NULL;
        step next = begin(&j, out, &result);
        if (next == STEP_DONE && *out == NULL) {
            next = pin_and_publish(&j, out, &result);
            pinned++;
        }
        if (*out != NULL) return CULV_OK;
        if (next != STEP_FAILED) continue;
        if (j.lacks == NULL) return result;
        if (!j.whole || j.memory.size > cache->whole_bytes)
            return culvi_x_fail(
                cache->device, cache->label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_PIN_SPACE,
                "%" PRIu64 " bytes at %#" PRIx64
                " could not be pinned: %s, and everything else that is pinned is in use",
                j.pending.end - j.pending.start, j.pending.start, j.lacks);
        j.whole = false; /* a smaller range may do */
    }
    return culvi_x_fail(cache->device, cache->label, CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED,
                        "culv_rdma_cache_get: the memory at %#" PRIx64
                        " was freed each time that it was being pinned",
                        (uint64_t)pointer);
}
