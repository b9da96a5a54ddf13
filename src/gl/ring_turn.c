/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and OpenGL: the turns of both sides, in each way. */
#include "gl/gl_ring.h"

static const culvi_ring_party *party_of(const culvi_gl_ring *ring, culv_ring_side side)
{
    return &ring->base.core->side[side];
}

/* The semaphore of a side; there is one in the way MEMORY. */
static culv_shared_semaphore *semaphore_of(const culvi_gl_ring *ring, culv_ring_side side)
{
    return (culv_shared_semaphore *)ring->base.timelines[side].pair;
}

/* Copies --------------------------------------------------------------------------------------- */

/* CUDA's half of a copy of all objects of a slot. Nothing is done to those that are shared. */
static culv_result copy_by_cuda(const culvi_gl_ring *ring, uint32_t slot, bool up, CUstream stream)
{
    const culv_copy copy = up ? CULV_COPY_UPLOAD : CULV_COPY_DOWNLOAD;
    for (uint32_t i = 0; ring->copies && i < ring->base.num_resources; i++) {
        const culvi_pair *pair = ring->base.resources[i].objects[slot];
        CULVI_TRY(pair->image != NULL ? culv_image_copy(pair->image, copy, stream)
                                      : culv_buffer_copy(pair->buffer, copy, stream));
    }
    return CULV_OK;
}

/* OpenGL's half. Where the wait for CUDA was the CPU's, nothing is left to finish. */
static culv_result copy_by_gl(const culvi_gl_ring *ring, uint32_t slot, bool up)
{
    const char *call = up ? "culv_ring_acquire" : "culv_ring_release";
    for (uint32_t i = 0; ring->copies && i < ring->base.num_resources; i++)
        CULVI_TRY(culvi_gl_copy(ring->base.resources[i].objects[slot], up,
                                up && !ring->base.signal_first, call));
    return CULV_OK;
}

/* Registered objects --------------------------------------------------------------------------- */

static uint32_t list_slots(culvi_gl_ring *ring, uint64_t slots)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < ring->base.depth; slot++)
        for (uint32_t i = 0; (slots >> slot & 1) && i < ring->base.num_resources; i++)
            ring->list[count++] = ring->slots[slot].registrations[i];
    return count;
}

culv_result culvi_gl_ring_unmap(culvi_gl_ring *ring, uint64_t slots, CUstream stream)
{
    const uint32_t count = list_slots(ring, slots);
    CULVI_TRY(culv_registration_unmap(ring->list, count, stream));
    ring->mapped &= ~slots;
    return CULV_OK;
}

/* Each in the stream in which it was released: mostly one for all of them. */
static culv_result unmap_burst(culvi_gl_ring *ring, CUstream last)
{
    while (ring->mapped != 0) {
        CUstream stream = last;
        uint64_t together = 0;
        for (uint32_t slot = 0; slot < ring->base.depth; slot++) {
            if (!(ring->mapped >> slot & 1)) continue;
            if (together == 0) stream = ring->slots[slot].stream;
            if (ring->slots[slot].stream == stream) together |= UINT64_C(1) << slot;
        }
        CULVI_TRY(culvi_gl_ring_unmap(ring, together, stream));
    }
    return CULV_OK;
}

/* Maps the slots of CUDA's burst, by one call. */
static culv_result map_burst(culvi_gl_ring *ring, const culv_ring_frame *frame, CUstream stream)
{
    const culv_ring_side side = culvi_gl_ring_cuda_side(ring);
    const culvi_ring_party *me = party_of(ring, side);
    if (ring->mapped >> frame->slot & 1) return CULV_OK;
    uint64_t slots = 0;
    for (uint32_t i = me->at; i < me->length; i++)
        slots |= UINT64_C(1) << me->slots[i];
    slots &= ~ring->mapped;
    if (frame->wait_value != 0)
        CULVI_TRY(culvi_gl_clock_order(&ring->clocks[ring->base.side], frame->wait_value));
    CULVI_TRY(culv_registration_map(ring->list, list_slots(ring, slots), stream));
    ring->mapped |= slots;
    for (uint32_t slot = 0; slot < ring->base.depth; slot++)
        if (slots >> slot & 1) ring->slots[slot].stream = stream;
    return CULV_OK;
}

/* CUDA's turn ---------------------------------------------------------------------------------- */

static culv_result enter_for_cuda(const culvi_gl_ring *ring, const char *call)
{
    return ring->way == CULV_GL_WAY_REGISTER ? culvi_gl_enter(ring->gl, ring->base.label, call)
                                             : CULV_OK;
}

static culv_result take_for_cuda(culvi_gl_ring *ring, CUstream stream, uint64_t timeout,
                                 culv_ring_frame *out, const char *call)
{
    const culv_ring_side side = culvi_gl_ring_cuda_side(ring);
    if (ring->way == CULV_GL_WAY_MEMORY)
        return culvi_ring_acquire_on(ring->base.core, side, stream, timeout, out, call);
    /* With STAGED OpenGL reads and writes memory of its own, and each of its copies to or from the
     * host's memory is over when its call is. */
    if (culvi_ring_acquire_next(ring->base.core, side, out)) return CULV_OK;
    return culvi_ring_acquire(ring->base.core, side, timeout, CULVI_RING_AS_SET, out, call);
}

static culv_result acquire_by_cuda(void *context, const CUstream *stream, uint64_t timeout,
                                   culv_ring_frame *out, const char *call)
{
    culv_ring_frame frame;
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    const bool registered = ring->way == CULV_GL_WAY_REGISTER;
    const culv_ring_side side = culvi_gl_ring_cuda_side(ring);
    CULVI_TRY(enter_for_cuda(ring, call));
    CULVI_TRY(take_for_cuda(ring, *stream, timeout, &frame, call));
    culv_result result = CULV_OK;
    if (registered)
        result = map_burst(ring, &frame, *stream);
    else if (side == CULV_RING_CONSUMER)
        result = copy_by_cuda(ring, frame.slot, false, *stream);
    if (result != CULV_OK) return culvi_ring_give_back(ring->base.core, side, &frame, result);
    *out = frame;
    return CULV_OK;
}

typedef struct cuda_turn {
    culvi_gl_ring *ring;
    CUstream stream;
    const culv_ring_frame *frame; /* NULL: a flush */
} cuda_turn;

static culv_result hand_over_by_cuda(void *context, uint64_t value)
{
    const cuda_turn *t = context;
    culvi_gl_ring *ring = t->ring;
    const culv_ring_side side = culvi_gl_ring_cuda_side(ring);
    culv_result result = CULV_OK;
    if (ring->way == CULV_GL_WAY_REGISTER) {
        if (t->frame != NULL) ring->slots[t->frame->slot].stream = t->stream;
        if (value != 0) result = unmap_burst(ring, t->stream);
    } else if (t->frame != NULL && side == CULV_RING_PRODUCER) {
        result = copy_by_cuda(ring, t->frame->slot, true, t->stream);
    }
    if (result != CULV_OK || value == 0) return result;
    return ring->way == CULV_GL_WAY_MEMORY
               ? culv_semaphore_signal(ring->base.timelines[side].pair->cuda, t->stream, value)
               : culvi_gl_clock_push(&ring->clocks[side], value, t->stream);
}

static culv_result release_by_cuda(void *context, const CUstream *stream, culv_ring_frame *frame,
                                   const char *call)
{
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    CULVI_TRY(enter_for_cuda(ring, call));
    cuda_turn turn = {ring, *stream, frame};
    return culvi_ring_release_by(ring->base.core, culvi_gl_ring_cuda_side(ring), frame,
                                 hand_over_by_cuda, &turn, call);
}

static culv_result flush_by_cuda(void *context, const CUstream *stream, uint64_t *signal_value,
                                 const char *call)
{
    uint64_t value = 0;
    (void)signal_value;
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    CULVI_TRY(enter_for_cuda(ring, call));
    cuda_turn turn = {ring, *stream, NULL};
    return culvi_ring_flush_by(ring->base.core, culvi_gl_ring_cuda_side(ring), hand_over_by_cuda,
                               &turn, &value, call);
}

static culv_result cancel_by_cuda(void *context, culv_ring_frame *frame, const char *call)
{
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    const culv_ring_side side = culvi_gl_ring_cuda_side(ring);
    CULVI_TRY(enter_for_cuda(ring, call));
    /* The whole burst goes back with its first frame. */
    if (frame->burst_begins && culvi_ring_holds(party_of(ring, side), frame))
        CULVI_TRY(unmap_burst(ring, NULL));
    return culvi_ring_cancel(ring->base.core, side, frame, call);
}

const culvi_ring_stream_api culvi_gl_ring_stream_api = {
    .acquire = acquire_by_cuda,
    .release = release_by_cuda,
    .flush = flush_by_cuda,
    .cancel = cancel_by_cuda,
};

/* OpenGL's turn -------------------------------------------------------------------------------- */

/* What slots have, for GL_EXT_semaphore. */
static culv_gl_uses uses_of(culvi_gl_ring *ring, const uint32_t *slots, uint32_t num_slots)
{
    culv_gl_uses u = culv_gl_uses_init();
    for (uint32_t k = 0; k < num_slots; k++)
        for (uint32_t i = 0; i < ring->base.num_resources; i++) {
            const uint32_t name = ring->slots[slots[k]].names[i];
            if (ring->is_image[i])
                ring->textures[u.num_textures++] = name;
            else
                ring->buffers[u.num_buffers++] = name;
        }
    u.buffers = ring->buffers;
    u.textures = ring->textures;
    u.layouts = ring->layouts;
    return u;
}

/* The wait is for all slots of the burst, whose later frames have none. */
static culv_result wait_on_gpu(culvi_gl_ring *ring, const culv_ring_frame *frame)
{
    const culvi_ring_party *me = party_of(ring, ring->base.side);
    uint32_t slots[CULV_RING_MAX_DEPTH];
    for (uint32_t i = 0; i < me->length; i++)
        slots[i] = me->slots[i];
    const culv_gl_uses uses = uses_of(ring, slots, me->length);
    return culv_gl_semaphore_wait(semaphore_of(ring, culvi_gl_ring_cuda_side(ring)),
                                  frame->wait_value, 0, &uses);
}

/* OpenGL copies into what it drew from: it must not be further ahead than the ring is deep. */
static culv_result wait_for_last_use(culvi_gl_ring *ring, uint32_t slot)
{
    const culvi_gl_table *t = &ring->gl->table;
    void *fence = ring->slots[slot].fence;
    if (fence == NULL) return CULV_OK;
    while (t->glClientWaitSync(fence, CULVI_GL_SYNC_FLUSH_COMMANDS_BIT, CULVI_GL_WAIT_SLICE) ==
           CULVI_GL_TIMEOUT_EXPIRED)
        if (culvi_ring_is_ended(ring->base.core)) return culvi_gl_ring_fail_stopped(ring);
    ring->slots[slot].fence = NULL;
    t->glDeleteSync(fence);
    return culvi_gl_check(ring->gl, ring->base.label, "glClientWaitSync",
                          "OpenGL's last use of the slot was not waited for");
}

static culv_result begin_gl(culvi_gl_ring *ring, const culv_ring_frame *frame)
{
    const uint64_t value = frame->wait_value;
    switch (ring->way) {
    case CULV_GL_WAY_REGISTER:
        return value != 0
                   ? culvi_gl_clock_order(&ring->clocks[culvi_gl_ring_cuda_side(ring)], value)
                   : CULV_OK;
    case CULV_GL_WAY_STAGED: CULVI_TRY(wait_for_last_use(ring, frame->slot)); break;
    default:
        if (value != 0 && !ring->base.signal_first) CULVI_TRY(wait_on_gpu(ring, frame));
    }
    return ring->base.side == CULV_RING_CONSUMER ? copy_by_gl(ring, frame->slot, true) : CULV_OK;
}

culv_result culvi_gl_ring_acquire(void *context, const CUstream *stream, uint64_t timeout,
                                  culv_ring_frame *out, const char *call)
{
    culv_ring_frame frame;
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    CULVI_TRY(culvi_gl_enter(ring->gl, ring->base.label, call));
    CULVI_TRY(culvi_graphics_ring_acquire(context, stream, timeout, &frame, call));
    culv_result result = begin_gl(ring, &frame);
    if (result != CULV_OK)
        return culvi_ring_give_back(ring->base.core, ring->base.side, &frame, result);
    *out = frame;
    return CULV_OK;
}

culv_result culvi_gl_ring_submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                                 uint32_t count, uint64_t wait, uint64_t signal)
{
    culvi_gl_ring *ring = culvi_gl_ring_of(base);
    uint32_t slots[CULV_RING_MAX_DEPTH];
    (void)work;
    (void)wait; /* the acquire did */
    if (signal == 0) return CULV_OK;
    if (ring->way != CULV_GL_WAY_MEMORY)
        return culvi_gl_clock_push(&ring->clocks[base->side], signal, NULL);
    for (uint32_t i = 0; i < count; i++)
        slots[i] = (uint32_t)((const culvi_gl_ring_slot *)base->pending[i] - ring->slots);
    const culv_gl_uses uses = uses_of(ring, slots, count);
    return culv_gl_semaphore_signal(semaphore_of(ring, base->side), signal, &uses);
}

/* Finishes OpenGL's part before the slot is handed over. */
static culv_result finish_gl(culvi_gl_ring *ring, const culv_ring_frame *frame)
{
    const culvi_gl_table *t = &ring->gl->table;
    culvi_gl_ring_slot *slot = &ring->slots[frame->slot];
    if (ring->base.side == CULV_RING_PRODUCER) CULVI_TRY(copy_by_gl(ring, frame->slot, false));
    if (ring->way != CULV_GL_WAY_STAGED) return CULV_OK;
    if (slot->fence != NULL) t->glDeleteSync(slot->fence); /* the slot was released again */
    slot->fence = t->glFenceSync(CULVI_GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    return culvi_gl_check(ring->gl, ring->base.label, "glFenceSync",
                          "the slot could not be handed over");
}

culv_result culvi_gl_ring_release(void *context, const CUstream *stream, culv_ring_frame *frame,
                                  const char *call)
{
    (void)stream;
    culvi_gl_ring *ring = culvi_gl_ring_of(context);
    CULVI_TRY(culvi_gl_enter(ring->gl, ring->base.label, call));
    if (culvi_ring_holds(party_of(ring, ring->base.side), frame)) CULVI_TRY(finish_gl(ring, frame));
    const culvi_graphics_work work = {
        .commands = frame->slot < ring->base.depth ? &ring->slots[frame->slot] : NULL};
    return culvi_graphics_ring_submit(&ring->base, &work, frame, call);
}

culv_result culvi_gl_ring_flush(void *context, const CUstream *stream, uint64_t *signal_value,
                                const char *call)
{
    const culvi_gl_ring *ring = culvi_gl_ring_of(context);
    CULVI_TRY(culvi_gl_enter(ring->gl, ring->base.label, call));
    return culvi_graphics_ring_flush(context, stream, signal_value, call);
}
