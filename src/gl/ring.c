/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and OpenGL: which way they take, and what their slots are made of. */
#include "gl/gl_register.h"
#include "gl/gl_ring.h"

#include <stdio.h>

_Static_assert(CULV_GL_RING_MAX_RESOURCES == CULVI_RING_RESOURCES, "as many as a slot has");

/* Ways as bits. */
enum {
    MEMORY = 1 << CULV_GL_WAY_MEMORY,
    REGISTER = 1 << CULV_GL_WAY_REGISTER,
    STAGED = 1 << CULV_GL_WAY_STAGED
};

/* What a ring is made from: its descriptors, read. */
typedef struct plan {
    const culv_gl_ring_desc *desc;
    culv_gl_buffer_create_desc buffers[CULVI_RING_RESOURCES];
    culv_gl_image_create_desc images[CULVI_RING_RESOURCES];
    uint32_t fallback; /* of all descriptors */
    unsigned ways;     /* those that the caller's objects leave */
} plan;

/* What make_object() gets. */
typedef struct part {
    const plan *plan;
    uint32_t index;
} part;

/* Objects in memory objects, and staged ones --------------------------------------------------- */

static culv_result make_object(culvi_graphics_ring *base, const void *description, uint32_t slot,
                               culvi_pair **out)
{
    culvi_gl_ring *ring = culvi_gl_ring_of(base);
    const part *p = description;
    const culv_gl_ring_resource *from = &p->plan->desc->resources[p->index];
    const bool staged = ring->way == CULV_GL_WAY_STAGED;
    culv_shared_image *image = from->images != NULL ? from->images[slot] : NULL;
    culv_shared_buffer *buffer = from->buffers != NULL ? from->buffers[slot] : NULL;
    culv_result result = CULV_OK;
    if (from->image != NULL) {
        culv_gl_image_create_desc d = p->plan->images[p->index];
        d.fallback &= CULV_FALLBACK_PEER;
        result = culvi_gl_make_image(ring->gl, &d, staged, &image);
    }
    if (from->buffer != NULL) {
        culv_gl_buffer_create_desc d = p->plan->buffers[p->index];
        d.fallback &= CULV_FALLBACK_PEER;
        result = culvi_gl_make_buffer(ring->gl, &d, staged, &buffer);
    }
    if (result != CULV_OK) return result;
    *out = image != NULL ? &image->pair : buffer != NULL ? &buffer->pair : NULL;
    if (*out == NULL || (*out)->graphics != base->graphics) return CULV_OK; /* refused next */
    ring->slots[slot].names[p->index] = culvi_gl_object_of(&(*out)->native)->name;
    const culv_sharing sharing = (*out)->image != NULL ? culv_image_sharing((*out)->image)
                                                       : culv_buffer_sharing((*out)->buffer);
    if (sharing != CULV_SHARING_SHARED) ring->copies = true;
    return CULV_OK;
}

static culvi_ring_objects objects(const void *context, uint32_t slot, uint32_t resource);
static culv_result destroy(void *context, const CUstream *last_use, const char *call);

static const culvi_graphics_ring_api ring_api = {
    .desc = "culv_gl_ring_desc",
    .attachment = "culv_gl",
    .ring = {.create_call = "culv_gl_ring_create",
             .submit_call = "culv_ring_release",
             .acquire = culvi_gl_ring_acquire,
             .release = culvi_gl_ring_release,
             .flush = culvi_gl_ring_flush,
             .objects = objects,
             .destroy = destroy},
    .make_object = make_object,
    .submit = culvi_gl_ring_submit,
};

static culv_result make_objects(culvi_gl_ring *ring, const plan *p)
{
    for (uint32_t i = 0; i < p->desc->num_resources; i++) {
        const culv_gl_ring_resource *from = &p->desc->resources[i];
        const part description = {p, i};
        CULVI_TRY(culvi_graphics_ring_make_resource(&ring->base, &description, ring->is_image[i],
                                                    from->image != NULL || from->buffer != NULL));
    }
    return CULV_OK;
}

/* Registered objects --------------------------------------------------------------------------- */

static culv_result check_registration(const culvi_gl_ring *ring, uint32_t i,
                                      const culv_registration *r)
{
    CULVI_REFUSE_IF(
        r == NULL, ring->gl->voice, ring->base.label, CULV_REASON_NULL_ARGUMENT,
        "culv_gl_ring_desc.resources[%" PRIu32 "] has a NULL among its max_depth objects", i);
    CULVI_REFUSE_IF(
        r->attachment != ring->gl, ring->gl->voice, ring->base.label, CULV_REASON_DEVICE_MISMATCH,
        "culv_gl_ring_desc.resources[%" PRIu32 "] is of another culv_gl than the ring", i);
    CULVI_REFUSE_IF(culv_registration_is_mapped(r), ring->gl->voice, ring->base.label,
                    CULV_REASON_MAPPED,
                    "culv_gl_ring_desc.resources[%" PRIu32
                    "] has a registration that is mapped; unmap it first",
                    i);
    return CULV_OK;
}

static culv_result register_object(culvi_gl_ring *ring, const plan *p, uint32_t i, uint32_t slot)
{
    culvi_gl_ring_slot *s = &ring->slots[slot];
    culv_gl *gl = ring->gl;
    culvi_gl_shape shape;
    culv_gl_register_desc d = culv_gl_register_desc_init();
    d.unchecked = 1;
    if (!ring->is_image[i]) {
        const culv_gl_buffer_create_desc *from = &p->buffers[i];
        d.label = from->label;
        CULVI_TRY(culvi_gl_check_buffer_size(gl, from));
        CULVI_TRY(culvi_gl_create_buffer(gl, d.label, from->size, 0, 0, &s->names[i]));
        return culv_gl_register_buffer(gl, s->names[i], &d, &s->registrations[i]);
    }
    const culv_gl_image_create_desc *from = &p->images[i];
    d.label = from->label;
    d.no_surfaces = from->no_surfaces;
    CULVI_TRY(culvi_gl_read_shape(gl, from, &shape));
    CULVI_UNSUPPORTED_IF(
        from->texels != CULV_TEXELS_STORED, gl->voice, d.label, CULV_REASON_FORMAT,
        "culv_gl_image_create_desc.texels: a registered image has its texels as they are stored");
    CULVI_TRY(culvi_gl_create_texture(gl, &shape, 0, &s->names[i]));
    return culv_gl_register_image(gl, s->names[i], shape.target, &d, &s->registrations[i]);
}

/* Nobody else has the object, so that no map needs to ask whether it is still there. But a caller
 * may be on the wrong thread. */
static culv_result register_made(culvi_gl_ring *ring, const plan *p, uint32_t i, uint32_t slot)
{
    CULVI_TRY(register_object(ring, p, i, slot));
    culv_registration *made = ring->slots[slot].registrations[i];
    made->asks_caller = true;
    culvi_registration_own(made, "culv_ring_destroy");
    return CULV_OK;
}

static culv_result check_given_twice(const culvi_gl_ring *ring, uint32_t i, uint32_t slot)
{
    const culv_registration *mine = ring->slots[slot].registrations[i];
    for (uint32_t resource = 0; resource <= i; resource++)
        for (uint32_t k = 0; k < (resource < i ? ring->base.depth : slot); k++)
            if (k != slot && ring->slots[k].registrations[resource] == mine)
                return culvi_graphics_ring_fail_twice(&ring->base, i, slot, resource, k);
    return CULV_OK;
}

static culv_result make_registered(culvi_gl_ring *ring, const plan *p)
{
    for (uint32_t i = 0; i < p->desc->num_resources; i++) {
        culv_registration *const *given = p->desc->resources[i].registrations;
        ring->base.num_resources = i + 1;
        ring->made[i] = given == NULL;
        for (uint32_t slot = 0; slot < ring->base.depth; slot++) {
            culvi_gl_ring_slot *s = &ring->slots[slot];
            CULVI_TRY(given != NULL ? check_registration(ring, i, given[slot])
                                    : register_made(ring, p, i, slot));
            if (given == NULL) continue;
            s->registrations[i] = given[slot];
            CULVI_TRY(check_given_twice(ring, i, slot));
            s->names[i] = culvi_gl_registration_of(given[slot])->object.name;
        }
    }
    return CULV_OK;
}

/* What of it is there. A refusal leaves the rest for the next try. */
static culv_result unregister(culvi_gl_ring *ring)
{
    const culvi_gl_table *t = &ring->gl->table;
    /* A CUDA context that is lost took its mappings along. */
    if (ring->mapped != 0 && culvi_gl_is_current(ring->gl) &&
        !culvi_lost(ring->base.graphics->device)) {
        CULVI_TRY(culvi_gl_ring_unmap(ring, ring->mapped, NULL));
    }
    for (uint32_t slot = 0; slot < ring->base.depth; slot++)
        for (uint32_t i = 0; i < ring->base.num_resources; i++) {
            culvi_gl_ring_slot *s = &ring->slots[slot];
            if (!ring->made[i]) continue;
            if (s->registrations[i] != NULL)
                CULVI_TRY(culvi_gl_unregister(&s->registrations[i], "culv_ring_destroy"));
            if (s->names[i] == 0 || !culvi_gl_is_current(ring->gl)) continue;
            if (ring->is_image[i])
                t->glDeleteTextures(1, &s->names[i]);
            else
                t->glDeleteBuffers(1, &s->names[i]);
            s->names[i] = 0;
        }
    return CULV_OK;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result make_clocks(culvi_gl_ring *ring, const culv_ring_settings *settings)
{
    const culv_ring_side cuda = culvi_gl_ring_cuda_side(ring), gl = ring->base.side;
    const bool staged = ring->way == CULV_GL_WAY_STAGED;
    culv_ring_timeline timelines[2];
    culvi_gl_clock_init(&ring->clocks[cuda], ring,
                        staged ? CULVI_GL_CLOCK_EVENTS : CULVI_GL_CLOCK_FENCES);
    culvi_gl_clock_init(&ring->clocks[gl], ring,
                        staged ? CULVI_GL_CLOCK_AT_ONCE : CULVI_GL_CLOCK_FENCES);
    for (int side = 0; side < 2; side++)
        timelines[side] = culvi_gl_clock_timeline(&ring->clocks[side],
                                                  side == CULV_RING_PRODUCER ? "ready" : "done");
    return culvi_graphics_ring_make_core_on(&ring->base, settings, timelines);
}

/* Whatever of the ring is there; OK without a context, too. */
static culv_result unmake(culvi_gl_ring *ring, const CUstream *last_use)
{
    const bool current = culvi_gl_is_current(ring->gl);
    if (ring->way == CULV_GL_WAY_REGISTER) CULVI_TRY(unregister(ring));
    for (int side = 0; side < 2; side++)
        CULVI_TRY(culvi_gl_clock_end(&ring->clocks[side]));
    culvi_graphics_ring_unmake(&ring->base, last_use);
    for (uint32_t slot = 0; slot < ring->base.depth; slot++)
        if (current && ring->slots[slot].fence != NULL)
            ring->gl->table.glDeleteSync(ring->slots[slot].fence);
    culvi_condition_destroy(&ring->nap);
    culvi_mutex_destroy(&ring->lock);
    culvi_free(ring);
    return CULV_OK;
}

static culv_result fill(culvi_gl_ring *ring, const plan *p)
{
    const culv_ring_settings *settings = p->desc->settings;
    if (ring->way == CULV_GL_WAY_MEMORY) {
        /* The objects say at once what is impossible here, the timelines may need a VkDevice. */
        CULVI_TRY(make_objects(ring, p));
        CULVI_TRY(
            culvi_graphics_ring_make_timelines(&ring->base, p->fallback & CULV_FALLBACK_PEER));
        for (int side = 0; side < 2; side++)
            ring->base.signal_first |= culvi_gl_semaphore_waits_on_host(
                (culv_shared_semaphore *)ring->base.timelines[side].pair);
        return culvi_graphics_ring_make_core(&ring->base, settings);
    }
    ring->base.signal_first = ring->way == CULV_GL_WAY_STAGED;
    CULVI_TRY(ring->base.signal_first ? make_objects(ring, p) : make_registered(ring, p));
    return make_clocks(ring, settings);
}

static culv_result make(culv_gl *gl, const plan *p, culv_gl_way way, culvi_gl_ring **out)
{
    const culv_gl_ring_desc *d = p->desc;
    CULVI_NEW(culvi_gl_ring, ring, gl->voice, d->label);
    culvi_graphics_ring_init(&ring->base, &ring_api, &gl->base, d->max_depth, d->side, d->label);
    ring->gl = gl;
    ring->way = way;
    for (uint32_t i = 0; i < d->num_resources; i++) {
        const culv_gl_ring_resource *r = &d->resources[i];
        ring->is_image[i] =
            r->image != NULL || r->images != NULL ||
            (r->registrations != NULL && culv_registration_image(r->registrations[0]) != NULL);
    }
    for (uint32_t i = 0; i < CULVI_GL_RING_OBJECTS; i++)
        ring->layouts[i] = CULVI_GL_LAYOUT_GENERAL_EXT;
    if (!culvi_condition_init(&ring->nap)) {
        culvi_free(ring);
        return culvi_fail_host_memory(gl->voice, d->label);
    }
    culvi_mutex_init(&ring->lock);
    culv_result result = fill(ring, p);
    if (result == CULV_OK) {
        if (way != CULV_GL_WAY_MEMORY || ring->copies)
            ring->base.owner.stream = &culvi_gl_ring_stream_api;
        *out = ring;
        return CULV_OK;
    }
    culv_error error = culv_error_init();
    culv_last_error(&error);
    /* A driver that refuses to give up what it registered refuses for good now. */
    if (unmake(ring, NULL) != CULV_OK)
        culvi_log(gl->voice, CULV_LOG_WARNING,
                  "a ring that could not be made could not be given up either, and stays");
    return culv_last_error_set(&error);
}

/* Descriptors ---------------------------------------------------------------------------------- */

/* The ways that an object of the caller's has. */
static unsigned ways_of(const culv_gl_ring_resource *r)
{
    culv_sharing sharing = CULV_SHARING_SHARED;
    if (r->registrations != NULL) return REGISTER;
    if (r->image != NULL || r->buffer != NULL) return MEMORY | REGISTER | STAGED;
    /* A NULL among them is told later. */
    if (r->images != NULL && r->images[0] != NULL)
        sharing = culv_image_sharing(culv_shared_image_cuda(r->images[0]));
    if (r->buffers != NULL && r->buffers[0] != NULL)
        sharing = culv_buffer_sharing(culv_shared_buffer_cuda(r->buffers[0]));
    return sharing == CULV_SHARING_HOST ? STAGED : MEMORY;
}

static culv_result read_resource(const culvi_voice *voice, plan *p, uint32_t i)
{
    const culv_gl_ring_resource *r = &p->desc->resources[i];
    CULVI_REFUSE_IF((r->image != NULL) + (r->buffer != NULL) + (r->images != NULL) +
                            (r->buffers != NULL) + (r->registrations != NULL) !=
                        1,
                    voice, p->desc->label, CULV_REASON_VALUE,
                    "culv_gl_ring_desc.resources[%" PRIu32
                    "] must have exactly one of buffer, image, buffers, images, registrations",
                    i);
    if (r->image != NULL) {
        CULVI_TRY(culvi_desc_read(voice, &p->images[i], sizeof p->images[i], r->image,
                                  "culv_gl_image_create_desc"));
        p->fallback |= p->images[i].fallback;
    }
    if (r->buffer != NULL) {
        CULVI_TRY(culvi_desc_read(voice, &p->buffers[i], sizeof p->buffers[i], r->buffer,
                                  "culv_gl_buffer_create_desc"));
        p->fallback |= p->buffers[i].fallback;
    }
    p->ways &= ways_of(r);
    if (p->ways != 0) return CULV_OK;
    return culvi_fail(
        voice, p->desc->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_gl_ring_desc.resources[%" PRIu32
        "] and those before it have no way in common: registrations are for REGISTER, objects that are copied through the host for STAGED, others of yours for MEMORY",
        i);
}

static culv_result read_plan(const culv_gl *gl, const culv_gl_ring_desc *d, plan *p)
{
    CULVI_TRY(culvi_graphics_ring_check(&ring_api, &gl->base, d->label, d->max_depth, d->side,
                                        d->resources, d->num_resources));
    CULVI_REFUSE_IF((uint32_t)d->way > CULV_GL_WAY_STAGED, gl->voice, d->label, CULV_REASON_VALUE,
                    "culv_gl_ring_desc.way is %d, which is not a culv_gl_way", (int)d->way);
    p->desc = d;
    /* Without an object nothing is mapped, and OpenGL would wait for nothing. */
    p->ways = d->num_resources > 0 ? MEMORY | REGISTER | STAGED : MEMORY | STAGED;
    for (uint32_t i = 0; i < d->num_resources; i++)
        CULVI_TRY(read_resource(gl->voice, p, i));
    CULVI_TRY(
        culvi_check_fallback(gl->voice, d->label, "culv_gl_ring_desc.resources", p->fallback));
    CULVI_REFUSE_IF(d->way != CULV_GL_WAY_NONE && !(p->ways >> d->way & 1), gl->voice, d->label,
                    CULV_REASON_VALUE,
                    "culv_gl_ring_desc.way is %s, which its resources do not have",
                    culv_gl_way_name(d->way));
    return CULV_OK;
}

/* The ways ------------------------------------------------------------------------------------- */

/* Whether another way may still work. What the caller did wrong is wrong in each. */
static bool refused(const culv_gl *gl, culv_result result)
{
    return result == CULV_ERROR_UNSUPPORTED || result == CULV_ERROR_NO_DEVICE ||
           result == CULV_ERROR_DRIVER ||
           (result == CULV_ERROR_INVALID && gl->base.foreign &&
            culvi_thread_state()->error.reason == CULV_REASON_DEVICE_MISMATCH);
}

/* Messages are of one line: "a\nb\n" becomes "a; b". */
static void join_lines(culvi_text *text, const char *lines)
{
    for (; *lines != '\0'; lines++) {
        if (*lines != '\n')
            culvi_text_add(text, "%c", *lines);
        else if (lines[1] != '\0')
            culvi_text_add(text, "; ");
    }
}

/* The best way that works. STAGED only where it is allowed, or where the objects are so. */
static culv_result make_best(culv_gl *gl, const plan *p, culvi_gl_ring **out)
{
    const bool staged = (p->fallback & CULV_FALLBACK_HOST) || p->ways == (unsigned)STAGED;
    char refusals[sizeof(*out)->refusals] = "";
    culvi_text text = {refusals, sizeof refusals, 0};
    culv_error first = culv_error_init();
    culv_result result = CULV_ERROR_UNSUPPORTED;
    unsigned tried = 0;
    culvi_attempt_begin();
    for (int way = CULV_GL_WAY_MEMORY; way <= CULV_GL_WAY_STAGED; way++) {
        if (!(p->ways >> way & 1) || (way == CULV_GL_WAY_STAGED && !staged)) continue;
        tried++;
        result = make(gl, p, (culv_gl_way)way, out);
        if (result == CULV_OK || !refused(gl, result)) break;
        if (tried == 1) culv_last_error(&first);
        culvi_text_add(&text, "%s: %.320s\n", culv_gl_way_name((culv_gl_way)way),
                       culv_last_error_message());
    }
    if (result == CULV_OK) memcpy((*out)->refusals, refusals, sizeof refusals);
    char line[sizeof refusals + 8] = "";
    join_lines(&(culvi_text){line, sizeof line, 0}, refusals);
    if (result != CULV_OK && tried > 1 && refused(gl, result))
        result = culvi_fail(gl->voice, p->desc->label, first.result, first.reason,
                            "no way works for the ring: %s%s", line,
                            staged ? "" : "; STAGED: no resource allows CULV_FALLBACK_HOST");
    result = culvi_attempt_end(gl->voice, result);
    if (result == CULV_OK && refusals[0] != '\0')
        culvi_log(gl->voice, CULV_LOG_INFO, "%s takes the way %s: %s",
                  culvi_named("ring", (*out)->base.label).text, culv_gl_way_name((*out)->way),
                  line);
    return result;
}

culv_result culv_gl_ring_create(culv_gl *gl, const culv_gl_ring_desc *desc, culv_ring **out)
{
    culvi_gl_ring *ring = NULL;
    CULVI_REQUIRE_WITH2(gl, gl->voice, desc, out);
    CULVI_READ(gl->voice, culv_gl_ring_desc, d, desc);
    CULVI_NEW(plan, p, gl->voice, d.label);
    culv_result result = read_plan(gl, &d, p);
    if (result == CULV_OK) result = culvi_gl_enter(gl, d.label, __func__);
    if (result == CULV_OK)
        result = d.way == CULV_GL_WAY_NONE ? make_best(gl, p, &ring) : make(gl, p, d.way, &ring);
    culvi_free(p);
    if (result != CULV_OK) return result;
    culvi_graphics_ref(&gl->base);
    if (ring->base.signal_first)
        culvi_log(gl->voice, CULV_LOG_INFO, "%s: OpenGL's side waits on the CPU",
                  culvi_named("ring", ring->base.label).text);
    *out = ring->base.core;
    return CULV_OK;
}

static culv_result destroy(void *context, const CUstream *last_use, const char *call)
{
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    culv_gl *gl = ring->gl;
    CULVI_TRY(culvi_gl_enter_to_destroy(gl, ring->base.label, call));
    CULVI_TRY(unmake(ring, last_use));
    culvi_graphics_unref(&gl->base);
    return CULV_OK;
}

/* What it is made of --------------------------------------------------------------------------- */

culv_result culv_gl_ring_get_info(const culv_ring *ring, culv_gl_ring_info *out)
{
    culv_gl_ring_info info = culv_gl_ring_info_init();
    CULVI_REQUIRE(NULL, ring);
    const culvi_gl_ring *mine = culvi_ring_of_api(ring, &ring_api.ring, __func__);
    if (mine == NULL) return CULV_ERROR_INVALID;
    CULVI_REQUIRE(mine->gl->voice, out);
    CULVI_TRY(culvi_struct_check(mine->gl->voice, out, "culv_gl_ring_info"));
    info.way = mine->way;
    info.waits_on_host = mine->base.signal_first;
    info.refusals = mine->refusals;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

static bool has(const culvi_gl_ring *ring, uint32_t slot, uint32_t resource)
{
    return slot < ring->base.depth && resource < ring->base.num_resources;
}

uint32_t culv_gl_ring_name(const culv_ring *ring, uint32_t slot, uint32_t resource)
{
    const culvi_gl_ring *mine = culvi_ring_of_api(ring, &ring_api.ring, NULL);
    return mine != NULL && has(mine, slot, resource) ? mine->slots[slot].names[resource] : 0;
}

static culvi_ring_objects objects(const void *context, uint32_t slot, uint32_t resource)
{
    const culvi_gl_ring *ring = context;
    if (ring->way != CULV_GL_WAY_REGISTER)
        return culvi_graphics_ring_objects(&ring->base, slot, resource);
    culvi_ring_objects o = {.buffer = NULL};
    if (has(ring, slot, resource)) {
        const culv_registration *r = ring->slots[slot].registrations[resource];
        o.buffer = culv_registration_buffer(r);
        o.image = culv_registration_image(r);
    }
    return o;
}
