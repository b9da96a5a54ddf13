/* SPDX-License-Identifier: MIT */
/* A ring between CUDA and a graphics API: its slots, its timelines, who holds what, and when each
 * submission is made. src/ring decides the order of the frames. */
#ifndef CULVI_GRAPHICS_RING_H_
#define CULVI_GRAPHICS_RING_H_

#include "graphics/pair.h"
#include "ring/ring.h"

enum { CULVI_RING_RESOURCES = 16 }; /* images and buffers of a slot, at most */

/* A side's timeline. */
typedef struct culvi_graphics_timeline {
    culvi_graphics_ring *ring;
    culvi_semaphore_pair *pair;
} culvi_graphics_timeline;

/* An image or a buffer of every slot. */
typedef struct culvi_graphics_ring_resource {
    culvi_pair **objects;
    bool is_image;
    bool made; /* by the ring, which destroys them */
} culvi_graphics_ring_resource;

/* A submission of the API's side. */
typedef struct culvi_graphics_work {
    void *queue;    /* native */
    void *commands; /* native; NULL: only what is kept of the burst */
    uint64_t fence; /* native; 0: none */
} culvi_graphics_work;

/* What an API does for its rings. */
typedef struct culvi_graphics_ring_api {
    const char *desc;       /* "culv_vk_ring_desc" */
    const char *attachment; /* "culv_vk_device" */
    culvi_ring_api ring;    /* for src/ring */
    /* The object of a slot: a new one made from the caller's description, or the one that was
     * handed in, which may be NULL. */
    culv_result (*make_object)(culvi_graphics_ring *ring, const void *description, uint32_t slot,
                               culvi_pair **out);
    /* Submits: after the other side's timeline has reached `wait` (0: no wait) it runs
     * ring->pending[0..count), and then it signals `signal` (0: nothing). */
    culv_result (*submit)(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                          uint32_t count, uint64_t wait, uint64_t signal);
} culvi_graphics_ring_api;

/* The first member of an API's ring. */
struct culvi_graphics_ring {
    const culvi_graphics_ring_api *api;
    culvi_graphics *graphics;
    struct culvi_graphics_ring *next; /* of culvi_graphics::rings */
    culv_ring *core;
    culvi_ring_owner owner;               /* the core's: this ring */
    culvi_graphics_timeline timelines[2]; /* by side */
    culv_ring_side side;                  /* the API's */
    bool signal_first;                    /* its turn begins when CUDA's signal is reached */
    uint32_t depth;                       /* max_depth */
    uint32_t num_resources;
    uint32_t num_images;
    char label[64];
    culvi_graphics_ring_resource resources[CULVI_RING_RESOURCES];
    /* Data of a burst that is not submitted yet. Only the API's side touches it. */
    void *pending[CULV_RING_MAX_DEPTH]; /* native command lists */
    uint32_t num_pending;
    unsigned forced;       /* culv_ring::forced then */
    uint64_t pending_wait; /* 0: none */
    void *queue;           /* native: of the last submission */
    bool by_hand;          /* the last frame was released for a submission of the caller's */
};

/* Make a ring in this order. After any step culvi_graphics_ring_unmake() undoes what was done. */

/* The fields that every API's descriptor has. */
culv_result culvi_graphics_ring_check(const culvi_graphics_ring_api *api,
                                      const culvi_graphics *graphics, const char *label,
                                      uint32_t max_depth, culv_ring_side side,
                                      const void *resources, uint32_t num_resources);
/* Whether the API's turn waits on the host until CUDA's signal is reached. */
culv_result culvi_graphics_ring_set_waits(culvi_graphics_ring *ring, culv_ring_waits waits);
void culvi_graphics_ring_init(culvi_graphics_ring *ring, const culvi_graphics_ring_api *api,
                              culvi_graphics *graphics, uint32_t max_depth, culv_ring_side side,
                              const char *label);
/* `fallback`: the kinds of sharing that the timelines may use when they cannot be shared. */
culv_result culvi_graphics_ring_make_timelines(culvi_graphics_ring *ring, uint32_t fallback);
/* The next resource. `made`: by make_object(), not handed in. */
culv_result culvi_graphics_ring_make_resource(culvi_graphics_ring *ring, const void *description,
                                              bool is_image, bool made);
/* Refuses an object that two slots have: resource `i` for `slot`, and an earlier one. */
culv_result culvi_graphics_ring_fail_twice(const culvi_graphics_ring *ring, uint32_t i,
                                           uint32_t slot, uint32_t resource, uint32_t earlier);
culv_result culvi_graphics_ring_make_core(culvi_graphics_ring *ring,
                                          const culv_ring_settings *settings);
/* The same on timelines of the API's own, by side, which are no semaphores. */
culv_result culvi_graphics_ring_make_core_on(culvi_graphics_ring *ring,
                                             const culv_ring_settings *settings,
                                             const culv_ring_timeline timelines[2]);
/* With a last use it does not wait for CUDA's work. */
void culvi_graphics_ring_unmake(culvi_graphics_ring *ring, const CUstream *last_use);

/* The object of a slot; NULL: there is none of that kind. */
culvi_pair *culvi_graphics_ring_object(const culvi_graphics_ring *ring, uint32_t slot,
                                       uint32_t resource, bool is_image);

/* The entries of culvi_graphics_ring_api::ring of whoever has nothing to add; `context` is the
 * ring. */
culvi_ring_acquire_fn culvi_graphics_ring_acquire;
culvi_ring_release_fn culvi_graphics_ring_release;
/* Submits what is kept, to the queue of the last submission. */
culvi_ring_flush_fn culvi_graphics_ring_flush;
culvi_ring_objects culvi_graphics_ring_objects(const void *context, uint32_t slot,
                                               uint32_t resource);

/* The side that does not belong to the API. */
static inline culv_ring_side culvi_graphics_ring_cuda_side(const culvi_graphics_ring *ring)
{
    return 1 - ring->side;
}

/* Releases the frame and submits its commands. Commands within a burst are kept for the burst's
 * last submission. `call` is the public name for messages. */
culv_result culvi_graphics_ring_submit(culvi_graphics_ring *ring, const culvi_graphics_work *work,
                                       culv_ring_frame *frame, const char *call);
/* A submission failed that the caller made after culvi_graphics_ring_release(). */
culv_result culvi_graphics_ring_submit_failed(culvi_graphics_ring *ring,
                                              const culv_ring_frame *frame, const char *call);

/* A native device that is lost (lost.c) -------------------------------------------------------- */

/* Notes that the native device is lost: stops its rings, and signals what CUDA was told to wait for
 * in its place. Waits for nothing, and keeps the last error. */
void culvi_graphics_lose(culvi_graphics *graphics);
/* Call it before what may wait for CUDA's work: CUDA then waits for no lost device. */
void culvi_graphics_let_go(culvi_graphics *graphics);

/* Rings that stop with their device. */
void culvi_graphics_add_ring(culvi_graphics_ring *ring);
void culvi_graphics_remove_ring(culvi_graphics_ring *ring);

/* Asks the counter of a semaphore whether the device is lost, before the semaphore goes. The native
 * work with it is over, as its caller says: what CUDA waits for still comes soon or is signaled
 * here. */
void culvi_semaphore_pair_settle(culvi_semaphore_pair *pair);
/* The same at once. */
culv_result culvi_semaphore_pair_give_up(culvi_semaphore_pair *pair);

/* What a call of the API's answered, and its error is recorded: a lost device is noticed. One that
 * waited when a ring was stopped is not lost. */
culv_result culvi_graphics_notice(culvi_graphics *graphics, culv_result result);

#endif
