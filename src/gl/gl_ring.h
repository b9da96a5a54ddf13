/* SPDX-License-Identifier: MIT */
/* A ring with OpenGL's slots, inside. Its timelines are semaphores of both sides in the way MEMORY.
 * In the other ways they are clocks: a list of what has to be over for each value. */
#ifndef CULVI_GL_RING_H_
#define CULVI_GL_RING_H_

#include "culvert/gl_ring.h"

#include "gl/gl_object.h"
#include "graphics/graphics_ring.h"

typedef struct culvi_gl_ring culvi_gl_ring;

/* A hand-over: what is over when its value is reached. */
typedef struct culvi_gl_mark {
    uint64_t value;
    void *fence;         /* GLsync, or NULL */
    const void *context; /* the GL context that made it */
    CUevent event;       /* or this; it stays with its place in the list */
    uint32_t waiters;    /* they use it without the lock */
} culvi_gl_mark;

typedef enum culvi_gl_clock_kind {
    CULVI_GL_CLOCK_FENCES, /* of OpenGL, behind the unmap on CUDA's side */
    CULVI_GL_CLOCK_EVENTS, /* of CUDA */
    CULVI_GL_CLOCK_AT_ONCE /* each value is reached when it is handed over */
} culvi_gl_clock_kind;

typedef struct culvi_gl_clock {
    culvi_gl_ring *ring;
    culvi_gl_clock_kind kind;
    uint64_t reached;
    uint32_t head, count;
    culvi_gl_mark marks[CULVI_RING_PAST];
} culvi_gl_clock;

typedef struct culvi_gl_ring_slot {
    culv_registration *registrations[CULVI_RING_RESOURCES];
    uint32_t names[CULVI_RING_RESOURCES];
    CUstream stream; /* REGISTER: of the release within a burst */
    void *fence;     /* STAGED: behind OpenGL's last use; only its side touches it */
} culvi_gl_ring_slot;

/* OpenGL or CUDA is waited for only so long at a time, in nanoseconds, so that a ring that is
 * stopped lets go. */
#define CULVI_GL_WAIT_SLICE UINT64_C(250000000)

enum { CULVI_GL_RING_OBJECTS = CULV_RING_MAX_DEPTH * CULVI_RING_RESOURCES };

struct culvi_gl_ring {
    culvi_graphics_ring base;
    culv_gl *gl; /* base.graphics: a reference */
    culv_gl_way way;
    bool copies; /* some object is not shared */
    bool is_image[CULVI_RING_RESOURCES];
    bool made[CULVI_RING_RESOURCES]; /* REGISTER: name and registration are the ring's */
    culvi_gl_ring_slot slots[CULV_RING_MAX_DEPTH];
    uint64_t mapped; /* REGISTER: bits of slots; only CUDA's side touches it, and the next */
    culv_registration *list[CULVI_GL_RING_OBJECTS];
    /* What OpenGL's side hands over; only that side touches it. */
    uint32_t buffers[CULVI_GL_RING_OBJECTS], textures[CULVI_GL_RING_OBJECTS];
    uint32_t layouts[CULVI_GL_RING_OBJECTS];
    culvi_mutex lock;         /* guards the clocks */
    culvi_condition nap;      /* nobody wakes it */
    culvi_gl_clock clocks[2]; /* by side; not in the way MEMORY */
    char refusals[1024];
};

static inline culvi_gl_ring *culvi_gl_ring_of(culvi_graphics_ring *base)
{
    return (culvi_gl_ring *)base; /* its first member */
}

static inline culv_ring_side culvi_gl_ring_cuda_side(const culvi_gl_ring *ring)
{
    return culvi_graphics_ring_cuda_side(&ring->base);
}

/* ring_clock.c */
culv_result culvi_gl_ring_fail_stopped(const culvi_gl_ring *ring);
void culvi_gl_clock_init(culvi_gl_clock *clock, culvi_gl_ring *ring, culvi_gl_clock_kind kind);
/* Ends a clock after the work of both sides; without a context OpenGL's part of it is gone already.
 * A driver's refusal leaves the rest for the next try. */
culv_result culvi_gl_clock_end(culvi_gl_clock *clock);
/* Gives src/ring the clock as a timeline. */
culv_ring_timeline culvi_gl_clock_timeline(culvi_gl_clock *clock, const char *name);
/* Marks a value behind what OpenGL, or the stream, was told to do before. */
culv_result culvi_gl_clock_push(culvi_gl_clock *clock, uint64_t value, CUstream stream);
/* OpenGL's later commands of this context wait for a value of fences. */
culv_result culvi_gl_clock_order(culvi_gl_clock *clock, uint64_t value);

/* ring_turn.c: culvi_graphics_ring_api::submit, and OpenGL's side of ::ring. */
culv_result culvi_gl_ring_submit(culvi_graphics_ring *base, const culvi_graphics_work *work,
                                 uint32_t count, uint64_t wait, uint64_t signal);
culvi_ring_acquire_fn culvi_gl_ring_acquire;
culvi_ring_release_fn culvi_gl_ring_release;
culvi_ring_flush_fn culvi_gl_ring_flush;
/* CUDA's side where slots are mapped or copied. */
extern const culvi_ring_stream_api culvi_gl_ring_stream_api;
/* Unmaps these slots. */
culv_result culvi_gl_ring_unmap(culvi_gl_ring *ring, uint64_t slots, CUstream stream);

#endif
