/* SPDX-License-Identifier: MIT */
/* Parts of a space and whose they are. A buffer is the space's VkBuffer at an offset. */
#include "vulkan/vk_space.h"

/* Whose part is whose -------------------------------------------------------------------------- */

culv_result culvi_vk_space_check_claims(const culv_vk_space *space, uint64_t offset, uint64_t size,
                                        bool vectors_only, const char *call)
{
    for (size_t i = 0; i < space->num_claims; i++) {
        const culvi_vk_claim *c = &space->claims[i];
        if (c->offset >= offset + size || offset >= c->offset + c->size ||
            (vectors_only && !c->vector))
            continue;
        return culvi_fail(
            &space->base.device->voice, space->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
            "%s: %" PRIu64 " bytes at offset %" PRIu64
            " of the space are not free: a %s has %" PRIu64 " bytes at offset %" PRIu64,
            call, size, offset, c->vector ? "vector" : "buffer", c->size, c->offset);
    }
    return CULV_OK;
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
        culvi_vk_space_grow(s->claims, s->num_claims, 1, &s->claim_capacity, sizeof *claims);
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
                      "the %s of %" PRIu64 " bytes has no free place of %" PRIu64 " bytes",
                      culvi_named("space", s->label).text, culv_vmm_range_size(s->base.range),
                      size);
}

/* Takes a place, or at CULV_VK_SPACE_ANYWHERE the first one that has `wish` bytes, or else the
 * first one that has `least`. */
static culv_result take(culv_vk_space *s, const char *label, uint64_t wish, uint64_t least,
                        uint64_t alignment, bool vector, uint64_t *offset, uint64_t *size)
{
    uint64_t place = *offset, got = wish;
    culv_result result = CULV_OK;
    culvi_mutex_lock(&s->lock);
    if (place == CULV_VK_SPACE_ANYWHERE) {
        place = find_place(s, wish, alignment, vector);
        if (place == UINT64_MAX) place = find_place(s, got = least, alignment, vector);
        if (place == UINT64_MAX) result = no_place(s, label, least);
    } else {
        result = culvi_vk_space_check_claims(s, place, wish, false, "culv_vk_space_buffer_create");
    }
    if (result == CULV_OK) result = enter(s, label, place, got, vector);
    culvi_mutex_unlock(&s->lock);
    if (result != CULV_OK) return result;
    *offset = place;
    *size = got;
    return CULV_OK;
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

culv_result culvi_vk_space_claim(culv_space *space, const char *label, uint64_t least,
                                 uint64_t wish, uint64_t *offset, uint64_t *size)
{
    culv_vk_space *s = culvi_vk_space_of(space);
    uint64_t place = CULV_VK_SPACE_ANYWHERE;
    culvi_mutex_lock(&s->turn); /* somebody may be about to put memory there */
    culv_result result = take(s, label, wish, least, s->granularity, true, &place, size);
    culvi_mutex_unlock(&s->turn);
    if (result == CULV_OK) *offset = place;
    return result;
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

/* Buffers -------------------------------------------------------------------------------------- */

struct culv_vk_space_buffer {
    culv_vk_space *space; /* a reference, by its claim */
    uint64_t offset, size;
};

/* Vertices, indices and inputs and storage of acceleration structures need 256 bytes at most
 * (vkCmdBuildAccelerationStructuresKHR); so do cuMemAlloc's pointers. */
enum { LEAST_ALIGNMENT = 256 };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t alignment_of(const culv_vk_space *s, const culv_vk_space_buffer_desc *d)
{
    const VkPhysicalDeviceLimits *limits = &s->vk->properties.limits;
    uint64_t a = larger(LEAST_ALIGNMENT, d->alignment);
    if (d->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
        a = larger(a, limits->minStorageBufferOffsetAlignment);
    if (d->usage & VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT)
        a = larger(a, limits->minUniformBufferOffsetAlignment);
    if (d->usage &
        (VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT))
        a = larger(a, limits->minTexelBufferOffsetAlignment);
    return a;
}

static culv_result check_desc(const culv_vk_space *s, const culv_vk_space_buffer_desc *d,
                              uint64_t alignment)
{
    const culvi_voice *voice = &s->base.device->voice;
    const uint64_t all = culv_vmm_range_size(s->base.range);
    CULVI_REFUSE_IF((d->alignment & (d->alignment - 1)) != 0 || alignment > s->granularity, voice,
                    d->label, CULV_REASON_VALUE,
                    "culv_vk_space_buffer_desc.alignment is %" PRIu64
                    "; give a power of two up to the granularity of %" PRIu64 " bytes",
                    d->alignment, s->granularity);
    CULVI_REFUSE_IF((d->usage & ~s->usage) != 0, voice, d->label, CULV_REASON_USAGE,
                    "culv_vk_space_buffer_desc.usage has %#" PRIx32
                    ", which the space's VkBuffer lacks; add it to culv_vk_space_desc.buffer_usage",
                    d->usage & ~s->usage);
    CULVI_REFUSE_IF(d->offset != CULV_VK_SPACE_ANYWHERE && d->offset % alignment != 0, voice,
                    d->label, CULV_REASON_VALUE,
                    "culv_vk_space_buffer_desc.offset is %" PRIu64
                    ", and its use needs a multiple of %" PRIu64,
                    d->offset, alignment);
    CULVI_REFUSE_IF(d->size == 0, voice, d->label, CULV_REASON_SIZE,
                    "culv_vk_space_buffer_desc.size is 0; a buffer has a byte or more");
    CULVI_REFUSE_IF(
        d->size > all || (d->offset != CULV_VK_SPACE_ANYWHERE && d->offset > all - d->size), voice,
        d->label, CULV_REASON_RANGE,
        "culv_vk_space_buffer_desc: %" PRIu64 " bytes leave the space, which has %" PRIu64 " bytes",
        d->size, all);
    return CULV_OK;
}

/* The first bytes in [at, end) that have no memory, up to the next memory. With the lock. */
static uint64_t find_gap(const culv_vk_space *s, uint64_t *at, uint64_t end)
{
    for (size_t i = culvi_vk_space_find(s, *at); i < s->num_chunks; i++) {
        const culvi_vk_chunk *c = &s->chunks[i];
        if (c->going || c->offset + c->size <= *at) continue;
        if (c->offset > *at) return c->offset < end ? c->offset : end;
        *at = c->offset + c->size;
        if (*at >= end) return end;
    }
    return end;
}

/* What was committed for a buffer. */
enum { MOST_GAPS = 64 };
typedef struct filled {
    size_t count;
    struct {
        uint64_t offset, size;
    } gaps[MOST_GAPS];
} filled;

static void undo(culv_vk_space *s, filled *f)
{
    for (; f->count > 0; f->count--)
        culvi_vk_space_empty(s, f->gaps[f->count - 1].offset, f->gaps[f->count - 1].size);
}

/* Commits what is missing. An error leaves in *f what undo() takes out. */
static culv_result fill_gaps(culv_vk_space *s, uint64_t offset, uint64_t size, filled *f)
{
    const uint64_t g = s->granularity;
    const uint64_t end = (offset + size + g - 1) / g * g;
    uint64_t at = offset / g * g;
    f->count = 0;
    while (at < end) {
        culvi_mutex_lock(&s->lock);
        const uint64_t stop = find_gap(s, &at, end);
        culvi_mutex_unlock(&s->lock);
        if (at >= end) break;
        if (f->count == MOST_GAPS)
            return culvi_fail(
                &s->base.device->voice, s->label, CULV_ERROR_BUSY, CULV_REASON_MAPPED,
                "the buffer would need more than %d chunks between those that are there; commit its bytes first",
                MOST_GAPS);
        CULVI_TRY(culvi_vk_space_fill(s, at, stop - at, NULL));
        f->gaps[f->count].offset = at;
        f->gaps[f->count++].size = stop - at;
        at = stop;
    }
    return CULV_OK;
}

culv_result culv_vk_space_buffer_create(culv_vk_space *space, const culv_vk_space_buffer_desc *desc,
                                        culv_vk_space_buffer **out)
{
    filled f = {.count = 0};
    CULVI_REQUIRE(NULL, space);
    const culvi_voice *voice = &space->base.device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    CULVI_READ(voice, culv_vk_space_buffer_desc, d, desc);
    if (d.label == NULL) d.label = space->label;
    const uint64_t alignment = alignment_of(space, &d);
    CULVI_TRY(check_desc(space, &d, alignment));
    CULVI_NEW(culv_vk_space_buffer, buffer, voice, d.label);
    culvi_mutex_lock(&space->turn);
    culv_result result = take(space, d.label, d.size, d.size, alignment, false, &d.offset, &d.size);
    const bool taken = result == CULV_OK;
    if (result == CULV_OK) result = fill_gaps(space, d.offset, d.size, &f);
    if (result != CULV_OK) undo(space, &f);
    if (result != CULV_OK && taken) (void)untake(space, d.offset);
    culvi_mutex_unlock(&space->turn);
    if (result != CULV_OK) {
        if (taken) culvi_vk_space_unref(space);
        culvi_free(buffer);
        return result;
    }
    buffer->space = space;
    buffer->offset = d.offset;
    buffer->size = d.size;
    culvi_log_object(voice, "made", "part of a space", d.label, d.size);
    *out = buffer;
    return CULV_OK;
}

void culv_vk_space_buffer_destroy(culv_vk_space_buffer **buffer)
{
    CULVI_TAKE(culv_vk_space_buffer, mine, buffer);
    culv_vk_space *space = mine->space;
    culvi_log_object(space->vk->voice, "destroyed", "part of a space", space->label, mine->size);
    culvi_vk_space_unclaim(&space->base, mine->offset);
    culvi_free(mine);
}

CULVI_GETTER(CUdeviceptr, culv_vk_space_buffer_pointer, culv_vk_space_buffer,
             culv_vk_space_pointer(self->space) + self->offset, 0)
