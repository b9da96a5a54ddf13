/* SPDX-License-Identifier: MIT */
/* The registration cache: look-ups, and what takes registrations back. */
#include "rdma_cache.h"

enum { WHOLE_PARTS = 10 }; /* of the budget's, the most that is pinned as a whole is one */
enum { BATCH = 256 };      /* registrations that are taken out under one lock */

/* Life of a registration ----------------------------------------------------------------------- */

static void cache_unref(culv_rdma_cache *cache)
{
    if (atomic_fetch_sub(&cache->refs, 1) != 1) return;
    culvi_rdma_index_free(&cache->index);
    culvi_x_free(cache->heap);
    pthread_cond_destroy(&cache->pinned);
    culvi_x_mutex_destroy(&cache->lock);
    culv_addon_object_destroy(&cache->object, NULL);
    culvi_x_free(cache);
}

culv_rdma_range culvi_rdma_range_of(const culv_rdma_registration *e)
{
    culv_rdma_range r = culv_rdma_range_init();
    r.kind = (culv_pointer_kind)e->rest->kind;
    r.page_start = e->rest->page_start;
    r.page_size = e->rest->page_end - e->rest->page_start;
    r.start = e->start;
    r.size = e->end - e->start;
    r.allocation_start = e->rest->allocation_start;
    r.allocation_size = e->rest->allocation_size;
    r.buffer_id = e->buffer_id;
    return r;
}

/* Unpins what nobody uses and no look-up finds. Gives back what replaced it. */
static culv_rdma_registration *finish(culv_rdma_registration *e)
{
    culv_rdma_cache *cache = e->cache;
    const culv_rdma_range range = culvi_rdma_range_of(e);
    culv_rdma_registration *cover = e->rest->cover;
    cache->desc.unpin(cache->desc.user, &range, e->cookie, e->rest->why);
    culvi_x_mutex_lock(&cache->lock);
    cache->pinned_bytes -= e->rest->counted;
    cache->stats.unpins++;
    cache->stats.leaving--;
    culvi_rdma_entry_unuse(cache, e);
    culvi_x_mutex_unlock(&cache->lock);
    cache_unref(cache);
    return cover;
}

void culvi_rdma_give_use(culv_rdma_registration *e)
{
    while (e != NULL && atomic_fetch_sub_explicit(&e->state, 1, memory_order_acq_rel) == 1)
        e = finish(e);
}

/* Those that were taken out and that nobody uses. */
void culvi_rdma_finish_all(culv_rdma_registration *list)
{
    while (list != NULL) {
        culv_rdma_registration *e = list;
        list = e->rest->next;
        culvi_rdma_give_use(finish(e));
    }
}

/* Look-ups ------------------------------------------------------------------------------------- */

culv_rdma_registration *culvi_rdma_find(culv_rdma_cache *cache, uint64_t pointer, uint64_t end)
{
    culv_rdma_registration *e = culvi_rdma_index_find(&cache->index, pointer);
    if (e == NULL || !culvi_rdma_take_use(e)) return NULL;
    if (e->start <= pointer && end <= e->end) {
        const uint64_t turn = atomic_load_explicit(&cache->turn, memory_order_relaxed);
        if (atomic_load_explicit(&e->used, memory_order_relaxed) != turn)
            atomic_store_explicit(&e->used, turn, memory_order_relaxed);
        return e;
    }
    culvi_rdma_give_use(e);
    return NULL;
}

culv_result culvi_rdma_ask_id(culv_rdma_cache *cache, const culv_rdma_registration *e,
                              CUdeviceptr pointer, bool *same)
{
    culv_device *device = cache->device;
    unsigned long long id = 0;
    *same = CULV_CUDA(device)->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     pointer) == CUDA_SUCCESS &&
            id == e->buffer_id;
    if (*same) return CULV_OK;
    CULVI_X_CU_INSIDE(
        r, device,
        CULV_CUDA(device)->cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer));
    *same = r == CUDA_SUCCESS && id == e->buffer_id;
    if (r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_VALUE) return CULV_OK;
    return culvi_x_result(
        device, cache->label, r, "cuPointerGetAttribute", CULV_REASON_DRIVER_REFUSED,
        "the id of the buffer at %#" PRIx64 " could not be asked for", (uint64_t)pointer);
}

/* Takes it out, as its memory was freed, unless another thread was faster. The caller has a use. */
static void drop_freed(culv_rdma_cache *cache, culv_rdma_registration *e)
{
    culvi_x_mutex_lock(&cache->lock);
    if ((atomic_load(&e->state) & CULVI_RDMA_VALID) != 0)
        (void)culvi_rdma_entry_remove(cache, e, CULV_RDMA_UNPIN_FREED);
    culvi_x_mutex_unlock(&cache->lock);
}

/* *out is NULL where nothing valid is found. */
static culv_result look_up(culv_rdma_cache *cache, CUdeviceptr pointer, uint64_t size,
                           culv_rdma_registration **out)
{
    bool same = true;
    culv_rdma_registration *e = culvi_rdma_find(cache, pointer, pointer + size);
    culv_result result = CULV_OK;
    *out = NULL;
    if (e == NULL) return CULV_OK;
    if (cache->desc.validity == CULV_RDMA_VALIDITY_BUFFER_ID)
        result = culvi_rdma_ask_id(cache, e, pointer, &same);
    if (result == CULV_OK && same) {
        *out = e;
        return CULV_OK;
    }
    if (result == CULV_OK) drop_freed(cache, e);
    culvi_rdma_give_use(e);
    return result;
}

/* Calls ---------------------------------------------------------------------------------------- */

/* Another one in a child of fork() than in its parent, once watch() succeeded. */
static _Atomic(uint32_t) generation;
static bool watched;

static void note_fork(void)
{
    atomic_fetch_add(&generation, 1);
}

static void watch(void)
{
    watched = pthread_atfork(NULL, NULL, note_fork) == 0;
}

/* A child of fork() has a copy of the cache, and none of the card's registrations: it gets nothing,
 * and gives nothing back. It takes no lock, as a thread of the parent's may have held it. */
static bool is_parents(const culv_rdma_cache *cache)
{
    return cache->generation != atomic_load_explicit(&generation, memory_order_relaxed);
}

culv_result culv_rdma_cache_get(culv_rdma_cache *cache, CUdeviceptr pointer, uint64_t size,
                                culv_rdma_registration **out)
{
    culv_rdma_registration *found = NULL;
    CULVI_X_REQUIRE_WITH(cache, cache->device, out);
    CULVI_X_UNSUPPORTED_IF(
        is_parents(cache), cache->device, cache->label, CULV_REASON_FORKED,
        "culv_rdma_cache_get: this process is a child of fork(), and what the cache has pinned is its parent's, on whose card it works on: call exec, or start processes before the first CUDA call, each with a cache of its own");
    culv_result result = culvi_rdma_check_arguments(cache->device, __func__, pointer, size);
    if (result == CULV_OK) result = look_up(cache, pointer, size, &found);
    if (result == CULV_OK && found == NULL) result = culvi_rdma_pin(cache, pointer, size, &found);
    if (result == CULV_OK) *out = found;
    return result;
}

void culv_rdma_registration_put(culv_rdma_registration **registration)
{
    culv_rdma_registration *mine = culvi_x_take(registration);
    if (mine != NULL && !is_parents(mine->cache)) culvi_rdma_give_use(mine);
}

void *culv_rdma_registration_cookie(const culv_rdma_registration *registration)
{
    return registration != NULL ? registration->cookie : NULL;
}

culv_result culv_rdma_registration_get_range(const culv_rdma_registration *registration,
                                             culv_rdma_range *out)
{
    CULVI_X_REQUIRE(NULL, registration);
    culv_device *device = registration->cache->device;
    CULVI_X_TRY(culvi_x_out_check(device, __func__, out, "culv_rdma_range"));
    const culv_rdma_range range = culvi_rdma_range_of(registration);
    culvi_x_struct_write(out, &range, sizeof range);
    return CULV_OK;
}

/* Takes out and unpins all of a range, a batch at a time: others need the lock meanwhile. */
static void drop_range(culv_rdma_cache *cache, uint64_t start, uint64_t end,
                       culv_rdma_unpin_why why)
{
    for (size_t taken = BATCH; taken == BATCH;) {
        culv_rdma_registration *list = NULL, *e;
        taken = 0;
        culvi_x_mutex_lock(&cache->lock);
        while (taken < BATCH && (e = culvi_rdma_index_next(&cache->index, start, end)) != NULL) {
            start = e->end; /* they come by address, and do not overlap */
            taken++;
            if (culvi_rdma_entry_remove(cache, e, why)) culvi_rdma_push(&list, e);
        }
        culvi_x_mutex_unlock(&cache->lock);
        culvi_rdma_finish_all(list);
    }
}

culv_result culv_rdma_cache_invalidate(culv_rdma_cache *cache, CUdeviceptr pointer, uint64_t size)
{
    CULVI_X_REQUIRE(NULL, cache);
    culv_result result = culvi_rdma_check_arguments(cache->device, __func__, pointer, size);
    if (result != CULV_OK || is_parents(cache)) return result;
    culvi_x_mutex_lock(&cache->lock);
    for (culvi_rdma_pending *p = cache->pending; p != NULL; p = p->next)
        if (p->start < pointer + size && p->end > pointer) p->freed = true;
    culvi_x_mutex_unlock(&cache->lock);
    drop_range(cache, pointer, pointer + size, CULV_RDMA_UNPIN_FREED);
    return CULV_OK;
}

culv_result culv_rdma_cache_trim(culv_rdma_cache *cache, uint64_t bytes)
{
    CULVI_X_REQUIRE(NULL, cache);
    if (is_parents(cache)) return CULV_OK;
    for (size_t taken = BATCH; taken == BATCH;) {
        culv_rdma_registration *list = NULL, *victim;
        uint64_t leaving = 0;
        taken = 0;
        culvi_x_mutex_lock(&cache->lock);
        while (taken < BATCH && cache->pinned_bytes - leaving > bytes &&
               (victim = culvi_rdma_evict(cache)) != NULL) {
            taken++;
            leaving += victim->rest->counted;
            culvi_rdma_push(&list, victim);
        }
        culvi_x_mutex_unlock(&cache->lock);
        culvi_rdma_finish_all(list);
    }
    return CULV_OK;
}

culv_result culv_rdma_cache_get_stats(culv_rdma_cache *cache, culv_rdma_cache_stats *out)
{
    CULVI_X_REQUIRE(NULL, cache);
    CULVI_X_TRY(culvi_x_out_check(cache->device, __func__, out, "culv_rdma_cache_stats"));
    culvi_x_mutex_lock(&cache->lock);
    culv_rdma_cache_stats stats = cache->stats;
    stats.bytes = cache->pinned_bytes;
    stats.index_bytes = cache->index.bytes;
    culvi_x_mutex_unlock(&cache->lock);
    stats.struct_size = sizeof stats;
    culvi_x_struct_write(out, &stats, sizeof stats);
    return CULV_OK;
}

static culv_result check_desc(culv_device *device, const culv_rdma_cache_desc *d)
{
    CULVI_X_REFUSE_IF(d->pin == NULL || d->unpin == NULL, device, d->label,
                      CULV_REASON_NULL_ARGUMENT, "culv_rdma_cache_desc.%s is NULL",
                      d->pin == NULL ? "pin" : "unpin");
    CULVI_X_REFUSE_IF(d->validity != CULV_RDMA_VALIDITY_BUFFER_ID &&
                          d->validity != CULV_RDMA_VALIDITY_NOTIFICATION,
                      device, d->label, CULV_REASON_VALUE,
                      "culv_rdma_cache_desc.validity is %d; set one of culv_rdma_validity",
                      (int)d->validity);
    return CULV_OK;
}

culv_result culv_rdma_cache_create(culv_device *device, const culv_rdma_cache_desc *desc,
                                   culv_rdma_cache **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CULVI_X_REQUIRE_WITH2(device, device, desc, out);
    CULVI_X_READ(device, culv_rdma_cache_desc, d, desc);
    CULVI_X_TRY(check_desc(device, &d));
    CULVI_X_NEW(culv_rdma_cache, cache, device, d.label);
    cache->device = device;
    cache->desc = d;
    if (!d.exact_ranges)
        cache->whole_bytes =
            (d.max_bytes != 0 ? d.max_bytes : culvi_x_caps(device).total_memory) / WHOLE_PARTS;
    culvi_x_label_set(cache->label, d.label);
    cache->desc.label = NULL; /* the caller's, and perhaps gone */
    atomic_init(&cache->refs, 1);
    atomic_init(&cache->turn, 1);
    cache->generation = atomic_load(&generation);
    (void)pthread_once(&once, watch);
    if (!watched || pthread_cond_init(&cache->pinned, NULL) != 0) {
        culvi_x_free(cache);
        return culvi_x_fail_host_memory(device, d.label);
    }
    culvi_x_mutex_init(&cache->lock);
    culv_result result = culvi_rdma_index_init(&cache->index)
                             ? CULVI_X_OBJECT(device, &cache->object, .kind = "registration cache",
                                              .label = cache->label)
                             : culvi_x_fail_host_memory(device, d.label);
    CULVI_X_TRY_OR(result, cache_unref(cache));
    *out = cache;
    return CULV_OK;
}

void culv_rdma_cache_destroy(culv_rdma_cache **cache)
{
    culv_rdma_cache *mine = culvi_x_take(cache);
    if (mine == NULL || is_parents(mine)) return;
    drop_range(mine, 0, UINT64_MAX, CULV_RDMA_UNPIN_EVICTED);
    cache_unref(mine);
}
