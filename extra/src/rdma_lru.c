/* SPDX-License-Identifier: MIT */
/* What is in the cache, what it counts for, and what goes first.
 *
 * The order is a heap by the turn of the last use, as far as it was known when the registration
 * was put there. Look-ups write the turn of their use into the registration and leave the heap
 * alone. So what comes out of it may have been used since: it goes back with its new turn. */
#include "rdma_cache.h"

/* The heap ------------------------------------------------------------------------------------- */

static bool before(const culv_rdma_registration *a, const culv_rdma_registration *b)
{
    return a->rest->heap_used != b->rest->heap_used ? a->rest->heap_used < b->rest->heap_used
                                                    : a->rest->heap_order < b->rest->heap_order;
}

static void place(culv_rdma_cache *cache, size_t at, culv_rdma_registration *entry)
{
    cache->heap[at] = entry;
    entry->rest->heap_at = at;
}

static void rise(culv_rdma_cache *cache, size_t at, culv_rdma_registration *entry)
{
    while (at > 0 && before(entry, cache->heap[(at - 1) / 2])) {
        place(cache, at, cache->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(cache, at, entry);
}

static void sink(culv_rdma_cache *cache, size_t at, culv_rdma_registration *entry)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= cache->heap_count) break;
        if (child + 1 < cache->heap_count && before(cache->heap[child + 1], cache->heap[child]))
            child++;
        if (!before(cache->heap[child], entry)) break;
        place(cache, at, cache->heap[child]);
        at = child;
    }
    place(cache, at, entry);
}

static void heap_remove(culv_rdma_cache *cache, culv_rdma_registration *entry)
{
    const size_t at = entry->rest->heap_at;
    culv_rdma_registration *last = cache->heap[--cache->heap_count];
    if (last == entry) return;
    if (at > 0 && before(last, cache->heap[(at - 1) / 2]))
        rise(cache, at, last);
    else
        sink(cache, at, last);
}

/* Structs -------------------------------------------------------------------------------------- */

static bool grow(culv_rdma_cache *cache)
{
    const size_t more = cache->structs == 0 ? 64 : cache->structs > 65536 ? 65536 : cache->structs;
    const size_t room = cache->structs + more;
    culv_rdma_registration **heap = culvi_x_alloc(room * sizeof(culv_rdma_registration *));
    if (heap == NULL) return false;
    culv_rdma_registration *slab =
        culvi_rdma_index_alloc(&cache->index, more * sizeof(culv_rdma_registration));
    culvi_rdma_rest *rests =
        slab != NULL ? culvi_rdma_index_alloc(&cache->index, more * sizeof(culvi_rdma_rest)) : NULL;
    if (rests == NULL) {
        culvi_x_free(heap);
        return false;
    }
    if (cache->heap_count > 0)
        memcpy(heap, cache->heap, cache->heap_count * sizeof(culv_rdma_registration *));
    culvi_x_free(cache->heap);
    cache->heap = heap;
    cache->structs = room;
    for (size_t i = 0; i < more; i++) {
        slab[i].cache = cache;
        slab[i].rest = &rests[i];
        rests[i].next = cache->unused;
        cache->unused = &slab[i];
    }
    return true;
}

culv_rdma_registration *culvi_rdma_entry_new(culv_rdma_cache *cache)
{
    if (cache->unused == NULL && !grow(cache)) return NULL;
    culv_rdma_registration *entry = cache->unused;
    cache->unused = entry->rest->next;
    entry->rest->next = entry->rest->cover = NULL;
    entry->cookie = NULL;
    entry->rest->counted = 0;
    return entry;
}

void culvi_rdma_entry_unuse(culv_rdma_cache *cache, culv_rdma_registration *entry)
{
    entry->rest->next = cache->unused;
    cache->unused = entry;
}

/* What is counted ------------------------------------------------------------------------------ */

/* Two allocations may lie in one chunk, which is pinned once (R39). */
static void count(culv_rdma_cache *cache, culv_rdma_registration *e)
{
    const bool one = e->rest->page_end - e->rest->page_start == CULV_RDMA_CHUNK;
    e->rest->owns_first = culvi_rdma_index_neighbour(&cache->index, e->start, e) == NULL;
    e->rest->owns_last = one || culvi_rdma_index_neighbour(&cache->index, e->end - 1, e) == NULL;
    e->rest->counted = e->rest->page_end - e->rest->page_start;
    if (!e->rest->owns_first) e->rest->counted -= CULV_RDMA_CHUNK;
    if (!e->rest->owns_last) e->rest->counted -= CULV_RDMA_CHUNK;
    cache->pinned_bytes += e->rest->counted;
}

/* Somebody else's from now on, if somebody else is there. */
static void leave_chunk(culv_rdma_cache *cache, culv_rdma_registration *e, uint64_t address)
{
    culv_rdma_registration *other = culvi_rdma_index_neighbour(&cache->index, address, e);
    if (other == NULL) return;
    if (other->rest->page_start == address / CULV_RDMA_CHUNK * CULV_RDMA_CHUNK)
        other->rest->owns_first = true;
    else
        other->rest->owns_last = true;
    other->rest->counted += CULV_RDMA_CHUNK;
    e->rest->counted -= CULV_RDMA_CHUNK;
}

static void uncount(culv_rdma_cache *cache, culv_rdma_registration *e)
{
    const bool one = e->rest->page_end - e->rest->page_start == CULV_RDMA_CHUNK;
    if (e->rest->owns_first) leave_chunk(cache, e, e->start);
    if (!one && e->rest->owns_last) leave_chunk(cache, e, e->end - 1);
}

/* Registrations -------------------------------------------------------------------------------- */

void culvi_rdma_entry_add(culv_rdma_cache *cache, culv_rdma_registration *entry, uint64_t uses)
{
    atomic_store_explicit(&entry->used, atomic_load_explicit(&cache->turn, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_fetch_add(&cache->refs, 1);
    count(cache, entry);
    entry->rest->heap_used = atomic_load_explicit(&entry->used, memory_order_relaxed);
    entry->rest->heap_order = ++cache->order;
    rise(cache, cache->heap_count++, entry);
    cache->stats.entries++;
    atomic_store_explicit(&entry->state, CULVI_RDMA_VALID | uses, memory_order_release);
    culvi_rdma_index_add(&cache->index, entry);
}

/* It is not valid any more. The caller unpins it, or its last user does. */
static void take_out(culv_rdma_cache *cache, culv_rdma_registration *entry, culv_rdma_unpin_why why)
{
    culvi_rdma_index_remove(&cache->index, entry);
    heap_remove(cache, entry);
    uncount(cache, entry);
    entry->rest->why = why;
    cache->stats.entries--;
    cache->stats.leaving++;
    if (why == CULV_RDMA_UNPIN_EVICTED) {
        cache->stats.evictions++;
        return;
    }
    *(why == CULV_RDMA_UNPIN_FREED ? &cache->stats.freed : &cache->stats.replaced) += 1;
    /* The driver has taken freed memory back, and what replaces another one counts for it. */
    cache->pinned_bytes -= entry->rest->counted;
    entry->rest->counted = 0;
}

bool culvi_rdma_entry_remove(culv_rdma_cache *cache, culv_rdma_registration *entry,
                             culv_rdma_unpin_why why)
{
    take_out(cache, entry, why);
    return atomic_fetch_and_explicit(&entry->state, ~CULVI_RDMA_VALID, memory_order_acq_rel) ==
           CULVI_RDMA_VALID;
}

/* Back into the heap with another turn. */
static void move(culv_rdma_cache *cache, culv_rdma_registration *entry, uint64_t turn)
{
    entry->rest->heap_used = turn;
    entry->rest->heap_order = ++cache->order;
    sink(cache, entry->rest->heap_at, entry);
}

culv_rdma_registration *culvi_rdma_evict(culv_rdma_cache *cache)
{
    /* It does not go on while the lock is held. */
    const uint64_t turn = atomic_load_explicit(&cache->turn, memory_order_relaxed);
    for (size_t tries = cache->heap_count; tries > 0;) {
        culv_rdma_registration *entry = cache->heap[0];
        const uint64_t used = atomic_load_explicit(&entry->used, memory_order_relaxed);
        uint64_t unused = CULVI_RDMA_VALID;
        if (used > entry->rest->heap_used) {
            move(cache, entry, used);
        } else if (atomic_compare_exchange_strong_explicit(
                       &entry->state, &unused, 0, memory_order_acq_rel, memory_order_relaxed)) {
            take_out(cache, entry, CULV_RDMA_UNPIN_EVICTED);
            return entry;
        } else {
            move(cache, entry, turn); /* in use now; behind all others */
            tries--;
        }
    }
    return NULL;
}
