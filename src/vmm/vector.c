/* SPDX-License-Identifier: MIT */
/* culv_vector: made and destroyed, and what it tells. Growing: vector_grow.c decides,
 * vector_change.c carries it out; its addresses: vector_space.c; shrinking and retiring:
 * vector_shrink.c; the thread that commits ahead: vector_ahead.c. */
#include "vmm/vector.h"

#include "base/handle.h"

bool culvi_vector_take(culv_vector *v, uint64_t unless_committed)
{
    culvi_mutex_lock(&v->lock);
    while (v->busy && atomic_load(&v->committed) < unless_committed)
        culvi_condition_wait(&v->changed, &v->lock, UINT64_MAX);
    const bool needed = atomic_load(&v->committed) < unless_committed;
    if (needed) v->busy = true;
    culvi_mutex_unlock(&v->lock);
    return needed;
}

void culvi_vector_give(culv_vector *v)
{
    culvi_mutex_lock(&v->lock);
    v->busy = false;
    culvi_condition_wake_all(&v->changed);
    culvi_mutex_unlock(&v->lock);
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result refuse(culv_device *device, const culv_vector_desc *d, culv_reason reason,
                          const char *field, uint64_t value, const char *why)
{
    return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, reason,
                      "culv_vector_desc.%s is %" PRIu64 "; %s", field, value, why);
}

static culv_result check_sizes(const culv_vector *v, const culv_vector_desc *d)
{
    const uint64_t most = UINT64_MAX - v->granularity;
    const char *const large = "rounded up to the granularity it overflows";
    if (d->size > most) return refuse(v->device, d, CULV_REASON_SIZE, "size", d->size, large);
    if (d->reserve > most)
        return refuse(v->device, d, CULV_REASON_SIZE, "reserve", d->reserve, large);
    if (d->min_chunk > most)
        return refuse(v->device, d, CULV_REASON_VALUE, "min_chunk", d->min_chunk, large);
    if (d->max_chunk != 0 && d->min_chunk > d->max_chunk)
        return refuse(v->device, d, CULV_REASON_VALUE, "min_chunk", d->min_chunk,
                      "it is more than max_chunk");
    if (d->max_chunk != 0 && d->max_chunk < v->granularity)
        return refuse(
            v->device, d, CULV_REASON_VALUE, "max_chunk", d->max_chunk,
            "a chunk is at least as large as the granularity (culv_vmm_get_granularity())");
    if (d->usage & CULV_VMM_USAGE_TILE_POOL)
        return refuse(v->device, d, CULV_REASON_VALUE, "usage", d->usage,
                      "tile pools are not mapped");
    return CULV_OK;
}

static culv_result read_desc(culv_vector *v, const culv_vector_desc *d)
{
    culv_device *device = v->device;
    CULVI_REFUSE_IF(d->space != NULL && d->space->device != device, &device->voice, d->label,
                    CULV_REASON_DEVICE_MISMATCH,
                    "culv_vector_desc.space was made with another culv_device than '%s'",
                    device->caps.name);
    v->chunk = culv_vmm_allocation_desc_init();
    v->chunk.handle_types = d->handle_types;
    if (d->space != NULL) v->chunk.handle_types |= UINT32_C(1) << CULVI_HANDLE_OPAQUE;
    v->chunk.usage = d->usage;
    CULVI_TRY(culv_vmm_get_granularity(device, &v->chunk, &v->granularity));
    CULVI_TRY(check_sizes(v, d));
    v->min_chunk = d->min_chunk != 0 ? culvi_vector_round(v, d->min_chunk) : v->granularity;
    v->max_chunk = d->max_chunk != 0 ? d->max_chunk / v->granularity * v->granularity : UINT64_MAX;
    if (v->min_chunk > v->max_chunk) v->min_chunk = v->max_chunk;
    v->growth_percent = d->growth_percent;
    v->ahead = d->commit_ahead < UINT64_MAX / 4
                   ? d->commit_ahead
                   : UINT64_MAX / 4; /* more than there is of anything */
    v->fixed = d->no_move != 0 || d->space != NULL;
    v->home = d->space;
    v->moved = d->moved;
    v->moved_context = d->moved_context;
    culvi_label_set(v->label, d->label);
    CULVI_REFUSE_IF(d->access == NULL && d->access_count != 0, &device->voice, d->label,
                    CULV_REASON_NULL_ARGUMENT,
                    "culv_vector_desc.access is NULL, but access_count is %zu", d->access_count);
    v->access_count = d->access_count != 0 ? d->access_count : 1;
    if (v->access_count > SIZE_MAX / sizeof *v->access)
        return culvi_fail_host_memory(&device->voice, d->label);
    v->access = culvi_alloc(v->access_count * sizeof *v->access);
    if (v->access == NULL) return culvi_fail_host_memory(&device->voice, d->label);
    return culvi_vmm_access_resolve(device, d->access, d->access_count, v->access);
}

/* Addresses, and the first chunks. */
static culv_result begin(culv_vector *v, const culv_vector_desc *d)
{
    CUdeviceptr before = 0;
    const uint64_t need = culvi_vector_round(v, d->size);
    uint64_t least = culvi_vector_round(v, d->reserve), wish = least;
    if (d->reserve == 0) {
        wish = need <= UINT64_MAX / 32 ? 16 * need : need;
        if (wish < UINT64_C(1) << 30) wish = UINT64_C(1) << 30;
        /* A space is not all this one's. */
        const uint64_t part = v->home != NULL ? culv_vmm_range_size(v->home->range) / 4 : wish;
        if (wish > part) wish = part > need ? part : need;
        wish = culvi_vector_round(v, wish);
        least = v->granularity;
    }
    if (least < need) least = need;
    v->next_id = 1;
    return culvi_vector_change(
        v,
        &(culvi_vector_plan){.addresses = least,
                             .addresses_wish = wish,
                             .may_move = true,
                             .need = need,
                             .wish = need != 0 ? culvi_vector_policy(v, need) : 0,
                             .size = d->size},
        &before);
}

void culvi_vector_ref(culv_vector *v)
{
    atomic_fetch_add(&v->refs, 1);
}

void culvi_vector_unref(culv_vector *v)
{
    if (atomic_fetch_sub(&v->refs, 1) != 1) return;
    culv_device *device = v->device;
    culvi_free(v);
    culvi_device_unref(device);
}

static void log_it(const culv_vector *v, const char *deed)
{
    culvi_log_object(&v->device->voice, deed, "vector", v->label, culv_vector_committed(v));
}

void culvi_vector_free_all(culv_vector *v, bool unmap)
{
    atomic_store(&v->gone, true);
    while (v->retiring != NULL) {
        culvi_vector_space *space = v->retiring;
        v->retiring = space->next;
        culvi_vector_space_free(space, unmap);
    }
    if (v->space != NULL) culvi_vector_space_free(v->space, unmap);
    for (size_t i = 0; i < v->num_chunks; i++)
        culvi_vmm_allocation_give_up(&v->chunks[i].allocation);
    culvi_free(v->chunks);
    culvi_free(v->access);
    culvi_condition_destroy(&v->changed);
    culvi_mutex_destroy(&v->lock);
    if (v->source != NULL) v->free_source(v->source);
    culvi_vector_unref(v);
}

culv_result culvi_vector_new(culv_device *device, const culv_vector_desc *d, culv_vector **out)
{
    CULVI_NEW(culv_vector, v, &device->voice, d->label);
    if (!culvi_condition_init(&v->changed)) {
        culvi_free(v);
        return culvi_fail_host_memory(&device->voice, d->label);
    }
    culvi_mutex_init(&v->lock);
    v->device = device;
    culvi_vector_ref(v);
    culvi_device_ref(device);
    culv_result result = read_desc(v, d);
    if (result == CULV_OK)
        *out = v;
    else
        culvi_vector_free_all(v, true);
    return result;
}

culv_result culvi_vector_check_own(const culv_vector *v, const char *call)
{
    if (v->source == NULL) return CULV_OK;
    return culvi_fail(
        &v->device->voice, v->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
        "%s: the vector is another process's, which alone changes it; culv_ipc_vector_update() takes in what it has",
        call);
}

culv_result culv_vector_create(culv_device *device, const culv_vector_desc *desc, culv_vector **out)
{
    culv_vector *v = NULL;
    CULVI_REQUIRE_WITH(device, &device->voice, out);
    CULVI_READ(&device->voice, culv_vector_desc, d, desc);
    CULVI_TRY(culvi_vector_new(device, &d, &v));
    culv_result result = begin(v, &d);
    if (result == CULV_OK) result = culvi_vector_ahead_start(v);
    CULVI_TRY_OR(result, culvi_vector_free_all(v, true));
    log_it(v, "made");
    *out = v;
    return CULV_OK;
}

/* What the driver refuses once is tried again, as its caller cannot. */
static culv_result unmap_all_after(culvi_vector_space *space, CUstream last_use)
{
    static const char call[] = "culv_vector_destroy";
    culv_result result = culvi_vector_unmap_after(space, 0, last_use, call);
    if (result == CULV_ERROR_DRIVER || result == CULV_ERROR_OUT_OF_MEMORY)
        result = culvi_vector_unmap_after(space, 0, last_use, call);
    return result;
}

static void unmap_after(culv_vector *v, CUstream last_use)
{
    const culv_error error = culvi_thread_state()->error;
    culvi_attempt_begin();
    culv_result result = unmap_all_after(v->space, last_use);
    for (culvi_vector_space *s = v->retiring; s != NULL; s = s->next) {
        const culv_result old = unmap_all_after(s, last_use);
        if (result == CULV_OK) result = old;
    }
    (void)culvi_attempt_end(&v->device->voice, CULV_OK);
    if (result != CULV_OK)
        culvi_log(
            &v->device->voice, CULV_LOG_WARNING,
            "%s was destroyed, and its memory is released with the device, not after its stream: %s",
            culvi_named("vector", v->label).text, culvi_thread_state()->error.message);
    culvi_thread_state()->error = error;
}

void culv_vector_destroy(culv_vector **vector, const CUstream *last_use)
{
    CULVI_TAKE(culv_vector, v, vector);
    if (!culvi_vector_ahead_stop(v)) return;
    log_it(v, "destroyed"); /* before it may be another thread's, which may free it */
    if (culvi_vector_leave_to_pins(v)) return;
    if (last_use != NULL) unmap_after(v, *last_use);
    culvi_vector_free_all(v, last_use == NULL);
}

/* What it tells -------------------------------------------------------------------------------- */

CULVI_GETTER(CUdeviceptr, culv_vector_pointer, culv_vector, (CUdeviceptr)atomic_load(&self->base),
             0)
CULVI_GETTER(uint64_t, culv_vector_size, culv_vector, atomic_load(&self->size), 0)
CULVI_GETTER(uint64_t, culv_vector_committed, culv_vector, atomic_load(&self->committed), 0)
CULVI_GETTER(uint64_t, culv_vector_generation, culv_vector, atomic_load(&self->generation), 0)

culv_result culv_vector_get_parts(const culv_vector *vector, culv_part *parts, size_t capacity,
                                  size_t *count, uint64_t *generation)
{
    CULVI_REQUIRE_WITH(vector, &vector->device->voice, count);
    if (capacity > 0) CULVI_REQUIRE(&vector->device->voice, parts);
    culv_vector *v = (culv_vector *)vector; /* its lock */
    culvi_mutex_lock(&v->lock);
    for (size_t i = 0; i < v->num_chunks && i < capacity; i++)
        parts[i] = v->chunks[i];
    *count = v->num_chunks;
    if (generation != NULL) *generation = atomic_load(&v->generation);
    culvi_mutex_unlock(&v->lock);
    return CULV_OK;
}

culv_result culv_vector_get_stats(const culv_vector *vector, culv_vector_stats *out)
{
    CULVI_REQUIRE_WITH(vector, &vector->device->voice, out);
    CULVI_TRY(culvi_struct_check(&vector->device->voice, out, "culv_vector_stats"));
    culv_vector *v = (culv_vector *)vector; /* its lock */
    culvi_mutex_lock(&v->lock);
    culv_vector_stats s = v->stats;
    s.size = atomic_load(&v->size);
    s.committed = atomic_load(&v->committed);
    s.reserved = v->space->reserved;
    s.chunks = v->num_chunks;
    culvi_mutex_unlock(&v->lock);
    culvi_struct_write(out, &s, sizeof s);
    return CULV_OK;
}
