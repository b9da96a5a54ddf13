/* SPDX-License-Identifier: MIT */
/* Whose part of a space is whose. */
#include "base/alloc.h"
#include "vulkan/vk_space.h"

#include <inttypes.h>
#include <string.h>

culv_result culvi_vk_space_check_locked(const culv_vk_space *space, uint64_t offset, uint64_t size,
                                        bool vectors_only, const char *call)
{
    for (size_t i = 0; i < space->num_claims; i++) {
        const culvi_vk_claim *c = &space->claims[i];
        if (c->offset >= offset + size || offset >= c->offset + c->size ||
            (vectors_only && !c->vector))
            continue;
        return culvi_fail(&space->base.device->voice, space->label, CULV_ERROR_BUSY,
                          CULV_REASON_MAPPED,
                          "%s: %" PRIu64 " bytes at offset %" PRIu64 " of the space are not free: "
                          "a %s has %" PRIu64 " bytes at offset %" PRIu64,
                          call, size, offset, c->vector ? "vector" : "buffer", c->size, c->offset);
    }
    return CULV_OK;
}

culv_result culvi_vk_space_check_claims(culv_vk_space *space, uint64_t offset, uint64_t size,
                                        bool vectors_only, const char *call)
{
    culvi_mutex_lock(&space->lock);
    culv_result result = culvi_vk_space_check_locked(space, offset, size, vectors_only, call);
    culvi_mutex_unlock(&space->lock);
    return result;
}

/* What lies in [offset, offset + size) and ends last; 0: nothing. */
static uint64_t end_of_others(const culv_vk_space *s, uint64_t offset, uint64_t size, bool vector)
{
    uint64_t end = 0;
    for (size_t i = 0; i < s->num_claims; i++) {
        const culvi_vk_claim *c = &s->claims[i];
        if (c->offset < offset + size && offset < c->offset + c->size && c->offset + c->size > end)
            end = c->offset + c->size;
    }
    for (size_t i = vector ? culvi_vk_space_find(s, offset) : s->num_chunks;
         i < s->num_chunks && s->chunks[i].offset < offset + size; i++)
        if (s->chunks[i].offset + s->chunks[i].size > end)
            end = s->chunks[i].offset + s->chunks[i].size;
    return end;
}

/* The first place that is free; UINT64_MAX: none. A vector also keeps away from memory that is
 * there. */
static uint64_t find_place(const culv_vk_space *s, uint64_t size, uint64_t alignment, bool vector)
{
    const uint64_t all = culv_vmm_range_size(s->base.range);
    uint64_t offset = 0, end;
    while (offset <= all && size <= all - offset) {
        end = end_of_others(s, offset, size, vector);
        if (end == 0) return offset;
        offset = (end + alignment - 1) & ~(alignment - 1);
    }
    return UINT64_MAX;
}

static culv_result enter(culv_vk_space *s, const char *label, uint64_t offset, uint64_t size,
                         bool vector)
{
    culvi_vk_claim *claims =
        culvi_vk_space_grow(s->claims, s->num_claims, &s->claim_capacity, sizeof *claims);
    if (claims == NULL) return culvi_fail_host_memory(&s->base.device->voice, label);
    size_t place = 0;
    s->claims = claims;
    while (place < s->num_claims && claims[place].offset < offset)
        place++;
    memmove(claims + place + 1, claims + place, (s->num_claims - place) * sizeof *claims);
    claims[place] = (culvi_vk_claim){.offset = offset, .size = size, .vector = vector};
    s->num_claims++;
    culvi_vk_space_ref(s);
    return CULV_OK;
}

static culv_result no_place(const culv_vk_space *s, const char *label, uint64_t size)
{
    return culvi_fail(&s->base.device->voice, label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_ADDRESS,
                      "the space%s%s%s of %" PRIu64 " bytes has no free place of %" PRIu64 " bytes",
                      s->label[0] != '\0' ? " '" : "", s->label, s->label[0] != '\0' ? "'" : "",
                      culv_vmm_range_size(s->base.range), size);
}

culv_result culvi_vk_space_take(culv_vk_space *space, const char *label, uint64_t size,
                                uint64_t alignment, uint64_t *offset)
{
    uint64_t place = *offset;
    culv_result result = CULV_OK;
    culvi_mutex_lock(&space->lock);
    if (place == CULV_VK_SPACE_ANYWHERE) {
        place = find_place(space, size, alignment, false);
        if (place == UINT64_MAX) result = no_place(space, label, size);
    } else {
        result =
            culvi_vk_space_check_locked(space, place, size, false, "culv_vk_space_buffer_create");
    }
    if (result == CULV_OK) result = enter(space, label, place, size, false);
    culvi_mutex_unlock(&space->lock);
    if (result == CULV_OK) *offset = place;
    return result;
}

static size_t find_claim(const culv_vk_space *space, uint64_t offset)
{
    size_t i = 0;
    while (i < space->num_claims && space->claims[i].offset != offset)
        i++;
    return i;
}

/* Whether CUDA's half was a vector's that has gone. */
static bool untake(culv_vk_space *space, uint64_t offset)
{
    culvi_mutex_lock(&space->lock);
    const size_t i = find_claim(space, offset);
    const bool found = i < space->num_claims, apart = found && space->claims[i].apart;
    if (found) {
        memmove(space->claims + i, space->claims + i + 1,
                (space->num_claims - i - 1) * sizeof *space->claims);
        space->num_claims--;
    }
    culvi_mutex_unlock(&space->lock);
    return apart;
}

void culvi_vk_space_untake(culv_vk_space *space, uint64_t offset)
{
    (void)untake(space, offset);
}

culv_result culvi_vk_space_claim(culv_space *space, const char *label, uint64_t least,
                                 uint64_t wish, uint64_t *offset, uint64_t *size)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    const uint64_t sizes[] = {wish, least};
    uint64_t place = UINT64_MAX;
    size_t i = 0;
    culvi_mutex_lock(&s->turn); /* somebody may be about to put memory there */
    culvi_mutex_lock(&s->lock);
    for (; i < 2; i++) {
        place = find_place(s, sizes[i], s->granularity, true);
        if (place != UINT64_MAX) break;
    }
    culv_result result =
        place != UINT64_MAX ? enter(s, label, place, sizes[i], true) : no_place(s, label, least);
    culvi_mutex_unlock(&s->lock);
    culvi_mutex_unlock(&s->turn);
    if (result != CULV_OK) return result;
    *offset = place;
    *size = sizes[i];
    return CULV_OK;
}

void culvi_vk_space_unclaim(culv_space *space, uint64_t offset)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    if (untake(s, offset))
        culvi_vk_space_end_half(s);
    else
        culvi_vk_space_unref(s);
}

void culvi_vk_space_part(culv_space *space, uint64_t offset)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    atomic_fetch_add(&s->halves, 1);
    culvi_mutex_lock(&s->lock);
    const size_t i = find_claim(s, offset);
    if (i < s->num_claims) s->claims[i].apart = true;
    culvi_mutex_unlock(&s->lock);
    culvi_vk_space_unref(s);
}
