/* SPDX-License-Identifier: MIT */
/* Growing a vector: the calls, and how much a grow takes. How it takes it: vector_change.c. */
#include "vmm/vector.h"

uint64_t culvi_vector_policy(const culv_vector *v, uint64_t need)
{
    const uint64_t committed = atomic_load(&v->committed);
    uint64_t part = committed / 100 * v->growth_percent;
    if (v->growth_percent != 0 && part / v->growth_percent != committed / 100) part = UINT64_MAX;
    uint64_t least = part > v->min_chunk ? part : v->min_chunk;
    if (least > v->max_chunk) least = v->max_chunk;
    if (least > UINT64_MAX - v->granularity) least = UINT64_MAX - v->granularity;
    least = culvi_vector_round(v, least);
    return need > least ? need : least;
}

culv_result culvi_vector_commit(culv_vector *v, uint64_t need, uint64_t wish, uint64_t size,
                                bool may_move, CUdeviceptr *before)
{
    const uint64_t reserved = v->space->reserved;
    /* Twice the addresses: they cost nothing, and a move costs each chunk a mapping. */
    return culvi_vector_change(
        v,
        &(culvi_vector_plan){.addresses = atomic_load(&v->committed) + need,
                             .addresses_wish = reserved <= UINT64_MAX / 4 ? 2 * reserved : reserved,
                             .may_move = may_move,
                             .need = need,
                             .wish = wish,
                             .size = size},
        before);
}

/* The calls ------------------------------------------------------------------------------------ */

static void publish_size(culv_vector *v, uint64_t size)
{
    culvi_vector_raise(v, size);
    culvi_vector_ahead_wake(v);
}

static culv_result check(const culv_vector *v, uint64_t size, const char *call)
{
    if (v == NULL) return culvi_fail_null(NULL, call, "vector");
    CULVI_TRY(culvi_vector_check_own(v, call));
    CULVI_REFUSE_IF(
        size > UINT64_MAX - v->granularity, &v->device->voice, v->label, CULV_REASON_SIZE,
        "%s: %" PRIu64 " bytes overflow when they are rounded up to the granularity", call, size);
    return CULV_OK;
}

/* Tells of a move when the vector is nobody's any more. */
static culv_result leave(culv_vector *v, culv_result result, CUdeviceptr before)
{
    culvi_vector_give(v);
    if (result == CULV_OK && before != 0 && v->moved != NULL)
        v->moved(v->moved_context, v, before, (CUdeviceptr)atomic_load(&v->base));
    culvi_vector_ahead_wake(v);
    return result;
}

culv_result culv_vector_grow(culv_vector *vector, uint64_t size)
{
    CUdeviceptr before = 0;
    CULVI_TRY(check(vector, size, "culv_vector_grow"));
    if (size <= atomic_load(&vector->committed)) {
        publish_size(vector, size);
        return CULV_OK;
    }
    if (!culvi_vector_take(vector, size)) { /* the thread has been there meanwhile */
        publish_size(vector, size);
        return CULV_OK;
    }
    if (vector->ahead != 0) {
        CULVI_LOCKED(&vector->lock, vector->stats.ahead_misses++);
    }
    const uint64_t need = culvi_vector_round(vector, size) - atomic_load(&vector->committed);
    culv_result result =
        culvi_vector_commit(vector, need, culvi_vector_policy(vector, need), size, true, &before);
    return leave(vector, result, before);
}

culv_result culv_vector_reserve(culv_vector *vector, uint64_t size)
{
    CUdeviceptr before = 0;
    CULVI_TRY(check(vector, size, "culv_vector_reserve"));
    (void)culvi_vector_take(vector, UINT64_MAX);
    if (size <= vector->space->reserved) {
        culvi_vector_give(vector);
        return CULV_OK;
    }
    size = culvi_vector_round(vector, size);
    culv_result result = culvi_vector_change(
        vector, &(culvi_vector_plan){.addresses = size, .addresses_wish = size, .may_move = true},
        &before);
    return leave(vector, result, before);
}
