/* SPDX-License-Identifier: MIT */
/* What the files of culv_ring share. The way of a slot: free -> the producer's burst -> ready ->
 * the consumer's burst -> free. With MAILBOX the consumer keeps its last slot until it takes
 * another one. */
#ifndef CULVI_RING_H_
#define CULVI_RING_H_

#include "base/text.h"
#include "cuda/watch.h"
#include "culvert/ring.h"

enum {
    /* how many of a side's hand-overs are remembered; a power of two */
    CULVI_RING_PAST = 256,
    CULVI_RING_LEVELS = CULV_RING_MAX_DEPTH + 1,
    CULVI_RING_WINDOW = 8
};

typedef struct culvi_ring_slot {
    uint64_t number; /* of the frame in it */
    uint64_t ready;  /* the value that says that it is written */
    uint64_t done;   /* the value that says that its last reader is done; 0: nobody read it yet */
} culvi_ring_slot;

typedef struct culvi_ring_queue {
    uint32_t head, count;
    uint8_t slots[CULV_RING_MAX_DEPTH];
} culvi_ring_queue;

/* What was true when a value was handed out. */
typedef struct culvi_ring_past {
    uint64_t submitted; /* frames of the side so far */
    uint64_t through;   /* the consumer's: all frames below this number are consumed */
    uint64_t wait;      /* the other timeline's value that this one comes after */
} culvi_ring_past;

/* A side, and the timeline that it signals. The side's own fields belong to the thread that holds
 * `in_call`, without the ring's lock. The other side sees only `shown`, `next` and what is written
 * with the lock held. */
typedef struct culvi_ring_party {
    culv_ring_timeline api;
    char name[32];
    uint64_t promised; /* the last value that was handed out */
    uint64_t known;    /* a value that its counter has reached */
    culvi_ring_past past[CULVI_RING_PAST];
    uint64_t waits;
    /* The burst: slots[0..at) are released; slots[at] is held or is the next one. */
    uint8_t slots[CULV_RING_MAX_DEPTH];
    uint32_t length;
    uint64_t wait;           /* for all of the burst */
    culv_ring_policy policy; /* of the burst */
    bool again;              /* MAILBOX: the burst is the kept slot */
    /* the previous burst ended early, by a flush or because it began short after one */
    bool flushed;
    bool brief; /* the last burst began with fewer frames than the target */
    atomic_bool in_call;
    /* The side's own. */
    /* Number of the frame that the producer releases next, or that the consumer expects next */
    _Atomic uint64_t next;
    atomic_uint shown; /* culvi_ring_show() */
    uint64_t submitted;
    uint32_t at;
    bool held; /* slots[at], with frame `number` */
    uint64_t number;
    /* A frame that was handed over and whose submission failed: the side holds it again until it is
     * released with the same value. Written with the ring's lock held. */
    bool owes;
    culv_ring_frame owed;
} culvi_ring_party;

/* What the producer's thread saw of a GPU's burst: ring_auto.c. */
typedef struct culvi_ring_mark {
    uint64_t through; /* all frames below this number are consumed ... */
    uint64_t done;    /* ... which the host saw at this time; 0: nothing was seen */
    uint64_t ready;   /* when the next burst was produced; 0: not seen */
    /* the host waited until `done`: the frames were not consumed long before it */
    bool waited;
    bool timed; /* `ready` was looked for */
} culvi_ring_mark;

/* max_latency's choice: ring_auto.c. */
typedef struct culvi_ring_auto {
    uint64_t bound;      /* 0: off */
    uint32_t level, top; /* depth and burst: level frames */
    /* levels from this one on were found to exceed the bound */
    uint32_t ceiling;
    /* on this level; how many of the last ones exceeded the bound */
    uint32_t windows, over;
    /* of a burst, by side, measured; both 0: not measured yet */
    uint64_t half[CULVI_RING_LEVELS][2];
    uint64_t late[CULVI_RING_LEVELS]; /* how much longer the longer half may be */
    uint64_t usual;                   /* what a burst of this level takes; 0: not measured */
    uint64_t entered;                 /* the same when the level was measured first */
    uint64_t since;                   /* frames below this number are of the level before */
    culvi_ring_mark mark;             /* the last */
    bool cold;                        /* nothing was measured yet */
    uint32_t taken;
    uint64_t samples[2][CULVI_RING_WINDOW]; /* of halves */
    uint64_t periods[CULVI_RING_WINDOW];    /* of both together */
    uint32_t bursts;
    uint32_t odd; /* how many of the last bursts took much more or less than usual */
    uint64_t frame_time;
} culvi_ring_auto;

/* A side's own calls. `stream` is NULL in those without one; `out` and `frame` are there;
 * `signal_value` may be NULL where the side submits by itself. */
typedef culv_result culvi_ring_acquire_fn(void *context, const CUstream *stream, uint64_t timeout,
                                          culv_ring_frame *out, const char *call);
typedef culv_result culvi_ring_release_fn(void *context, const CUstream *stream,
                                          culv_ring_frame *frame, const char *call);
typedef culv_result culvi_ring_flush_fn(void *context, const CUstream *stream,
                                        uint64_t *signal_value, const char *call);

/* CUDA's side of an API's ring where it takes more than a wait and a signal: OpenGL's objects are
 * mapped, or copied. */
typedef struct culvi_ring_stream_api {
    culvi_ring_acquire_fn *acquire;
    culvi_ring_release_fn *release;
    culvi_ring_flush_fn *flush;
    culv_result (*cancel)(void *context, culv_ring_frame *frame, const char *call);
    /* NULL, both: the core's own. */
    culv_result (*drain)(void *context, uint64_t timeout, const char *call);
    void (*stats)(const void *context, culv_ring_stats *out);
} culvi_ring_stream_api;

/* What a slot has, whichever of these. */
typedef struct culvi_ring_objects {
    culv_shared_buffer *shared_buffer;
    culv_shared_image *shared_image;
    culv_buffer *buffer; /* CUDA's halves */
    culv_image *image;
} culvi_ring_objects;

/* What a graphics API does for its rings: its side's calls, the slots' objects, and the end. */
typedef struct culvi_ring_api {
    /* Public names, for messages: what makes the ring, and what hands a frame of this side over. */
    const char *create_call, *submit_call;
    culvi_ring_acquire_fn *acquire;
    culvi_ring_release_fn *release;
    culvi_ring_flush_fn *flush;
    /* NULL: they are not known. */
    culvi_ring_objects (*objects)(const void *context, uint32_t slot, uint32_t resource);
    /* Destroys the core, too. After an error nothing is done. */
    culv_result (*destroy)(void *context, const CUstream *last_use, const char *call);
} culvi_ring_api;

/* The ring of an API whose core this is. */
typedef struct culvi_ring_owner {
    culv_ring_side side;        /* the API's */
    culv_ring_side stream_side; /* CUDA's. The same one: the other side is in another process */
    const culvi_ring_api *api;
    /* NULL: CUDA's side waits and signals. */
    const culvi_ring_stream_api *stream;
    void *context;
} culvi_ring_owner;

struct culv_ring {
    culv_device *device; /* NULL: a side of a ring between processes that uses no CUDA */
    char label[64];
    const culvi_ring_owner *owner; /* NULL: the caller's own ring; set before anybody uses it */
    culvi_mutex lock; /* guards everything below; never held across a callback or a driver call */
    culvi_condition changed;
    uint64_t (*now)(void);
    /* used with the lock held, which the wait releases meanwhile */
    void (*nap)(culv_ring *ring, uint64_t ns);
    culv_ring_settings settings; /* every default made explicit */
    uint32_t max_depth;
    uint32_t depth, burst; /* targets: those of the settings, or what was chosen */
    uint32_t in_use;       /* slots that are not parked */
    uint64_t parked;       /* bits: slots that a smaller depth leaves unused */
    culvi_ring_party side[2];
    culvi_ring_slot slots[CULV_RING_MAX_DEPTH];
    culvi_ring_queue free;  /* longest free first */
    culvi_ring_queue ready; /* by number */
    bool keeps;             /* MAILBOX: the consumer keeps slot `kept` until it takes a newer one */
    uint32_t kept;
    _Atomic uint64_t consumed; /* written by the consumer */
    uint64_t skipped;
    uint64_t lead_from; /* a value of `done`: see culvi_ring_pace() */
    int last_side;      /* who signaled last; -1: nobody yet */
    uint32_t sleepers;  /* threads in culvi_condition_wait() */
    atomic_uint forced; /* how often draining took slots from the sides */
    atomic_bool ended;  /* `stopped` says why; for whoever does not take the lock */
    char stopped[192];  /* "": it runs */
    culvi_ring_auto automatic;
};

/* What keeps an acquire from its slot. */
typedef enum culvi_ring_lack {
    CULVI_RING_OTHER_SIDE, /* a hand-over by the other side */
    CULVI_RING_COUNTER,    /* timeline[side]'s counter */
    CULVI_RING_REACHED,    /* that this counter is `value` */
    /* The same, only to measure the time: polled, or skipped */
    CULVI_RING_TIMED
} culvi_ring_lack;

typedef struct culvi_ring_need {
    culvi_ring_lack lack;
    culv_ring_side side;
    uint64_t value;
    uint64_t further; /* REACHED: what to wait for if it must wait; at least `value` */
    bool asked[2];    /* counters that were read since anybody last slept */
    bool waited;      /* for the consumer's counter */
    bool untimed;     /* the counter to be timed did not get there */
    uint64_t before;  /* when it was last polled in vain; 0: not yet */
    culvi_ring_mark mark;
    uint64_t marked; /* the value of `done` that the mark belongs to */
} culvi_ring_need;

/* A call with a limit. */
typedef struct culvi_ring_limit {
    uint64_t timeout;
    uint64_t until;       /* culvi_now() at the end; 0: not asked yet */
    bool stopped;         /* the call is for a ring that is stopped, too */
    uint64_t begun, warn; /* when the log is next told who is late; 0: it is not */
} culvi_ring_limit;

uint64_t culvi_ring_until(culvi_ring_limit *limit);
uint64_t culvi_ring_left(culvi_ring_limit *limit); /* UINT64_MAX: without end */

static inline culvi_ring_party *culvi_ring_other(culv_ring *ring, culv_ring_side side)
{
    return &ring->side[1 - (int)side];
}

static inline uint32_t culvi_ring_peek(const culvi_ring_queue *queue, uint32_t index)
{
    return queue->slots[(queue->head + index) % CULV_RING_MAX_DEPTH];
}

static inline void culvi_ring_push(culvi_ring_queue *queue, uint32_t slot)
{
    queue->slots[(queue->head + queue->count++) % CULV_RING_MAX_DEPTH] = (uint8_t)slot;
}

static inline void culvi_ring_push_front(culvi_ring_queue *queue, uint32_t slot)
{
    queue->head = (queue->head + CULV_RING_MAX_DEPTH - 1) % CULV_RING_MAX_DEPTH;
    queue->slots[queue->head] = (uint8_t)slot;
    queue->count++;
}

static inline uint32_t culvi_ring_pop(culvi_ring_queue *queue)
{
    uint32_t slot = queue->slots[queue->head];
    queue->head = (queue->head + 1) % CULV_RING_MAX_DEPTH;
    queue->count--;
    return slot;
}

/* Whether the side holds this frame; asked by the thread that uses the side. */
static inline bool culvi_ring_holds(const culvi_ring_party *me, const culv_ring_frame *frame)
{
    return me->held && frame->slot == me->slots[me->at] && frame->number == me->number;
}

/* What anybody may read about a side at any time: whether it holds a frame, how many frames of an
 * open burst are released, and how long the burst is. */
static inline void culvi_ring_show(culvi_ring_party *me)
{
    const bool held = me->held || me->owes;
    atomic_store_explicit(&me->shown, held | me->at << 1 | me->length << 8, memory_order_relaxed);
}

static inline uint32_t culvi_ring_shown_released(uint32_t shown)
{
    return shown >> 1 & 127;
}

static inline bool culvi_ring_shown_held(uint32_t shown)
{
    return (shown & 1) != 0;
}

static inline uint64_t culvi_ring_get(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static inline const culvi_voice *culvi_ring_voice(const culv_ring *ring)
{
    return ring->device != NULL ? &ring->device->voice : NULL;
}

/* The call that ends a side's burst, for messages. */
static inline const char *culvi_ring_flush_name(const culv_ring *ring, int side)
{
    return ring->owner == NULL || side == (int)ring->owner->side ? "culv_ring_flush"
                                                                 : "culv_ring_flush_on";
}

/* The API whose side it is; NULL: it is CUDA's or the caller's. */
static inline const culvi_ring_api *culvi_ring_api_of(const culv_ring *ring, culv_ring_side side)
{
    return ring != NULL && ring->owner != NULL && side == ring->owner->side ? ring->owner->api
                                                                            : NULL;
}

/* What CUDA's side of the owner's ring does; NULL where it waits and signals, and for what is not
 * CUDA's side. */
static inline const culvi_ring_stream_api *culvi_ring_stream_of(const culv_ring *ring,
                                                                culv_ring_side side)
{
    return ring != NULL && ring->owner != NULL && side == ring->owner->stream_side
               ? ring->owner->stream
               : NULL;
}

/* Whether one side is in another process. Such a core has no slots and no timelines, and its
 * owner's tables have all of its calls. */
static inline bool culvi_ring_is_apart(const culv_ring *ring)
{
    return ring != NULL && ring->owner != NULL && ring->owner->side == ring->owner->stream_side;
}

static inline bool culvi_ring_is_ended(const culv_ring *ring)
{
    return atomic_load_explicit(&ring->ended, memory_order_relaxed);
}

uint32_t culvi_ring_remove(culvi_ring_queue *queue, uint32_t index);

/* ring.c. With the lock held, unless it says otherwise. */

/* culv_ring_create() for an API, whose semaphores say themselves whether they arrive. No lock. */
culv_result culvi_ring_create(culv_device *device, const culv_ring_desc *desc, culv_ring **out);
/* Makes one whose settings are complete. The device may be NULL. No lock. */
culv_result culvi_ring_create_core(culv_device *device, const culv_ring_desc *desc,
                                   const culv_ring_settings *settings, culv_ring **out);
/* Destroys the ring itself, which an API's ring does last. No lock. */
void culvi_ring_destroy_core(culv_ring **ring);
/* The API's own ring around this one. NULL: it is another API's or nobody's, which is refused by
 * the name `call`, or silently without one. */
void *culvi_ring_of_api(const culv_ring *ring, const culvi_ring_api *api, const char *call);

/* Takes the side and the lock. After an error it holds neither. */
culv_result culvi_ring_enter(culv_ring *ring, culv_ring_side side, const char *call);
/* The same where the ring may be stopped. */
culv_result culvi_ring_enter_any(culv_ring *ring, culv_ring_side side, const char *call);
void culvi_ring_leave(culv_ring *ring, culv_ring_side side);
/* Releases the lock, records an error, and takes the lock again. The side is in a call, which keeps
 * the ring alive. */
culv_result culvi_ring_fail(culv_ring *ring, culv_result result, culv_reason reason,
                            const char *format, ...) CULVI_PRINTF(4, 5);
void culvi_ring_wake(culv_ring *ring);
void culvi_ring_apply_depth(culv_ring *ring);
/* Sets depth and burst from the settings, or from what was chosen. */
void culvi_ring_aim(culv_ring *ring);

/* MAILBOX: takes the side's next burst or says what is missing. */
bool culvi_ring_begin_mailbox(culv_ring *ring, culv_ring_side side, culvi_ring_need *need);
/* The value of `done` that a side's next burst waits for on the host. */
uint64_t culvi_ring_pace(culv_ring *ring);
/* Gives the consumer's kept slot back. */
void culvi_ring_release_kept(culv_ring *ring);

/* What waits for what a burst waits for: the side's queue; the host, which acquires nothing if the
 * time is up (RING_LATE); or the one of them that culv_ring_settings::cuda_waits names. */
typedef enum culvi_ring_wait_by {
    CULVI_RING_BY_QUEUE,
    CULVI_RING_BY_HOST,
    CULVI_RING_AS_SET
} culvi_ring_wait_by;

/* culv_ring_acquire_on(), culv_ring_cancel() and culv_ring_acquire() by the name `call`. */
culv_result culvi_ring_acquire_on(culv_ring *ring, culv_ring_side side, CUstream stream,
                                  uint64_t timeout, culv_ring_frame *out, const char *call);
culv_result culvi_ring_cancel(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                              const char *call);
culv_result culvi_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                               culvi_ring_wait_by how, culv_ring_frame *out, const char *call);
/* ring_stream.c: gives a frame back that was acquired and could not be begun: `result`, whose error
 * stays the last one. A lost device stops the ring for the other side, too. */
culv_result culvi_ring_give_back(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                 culv_result result);
/* Takes a burst's next frame if nothing else is to be done; there is nothing to wait for then.
 * False: call culvi_ring_acquire(). */
bool culvi_ring_acquire_next(culv_ring *ring, culv_ring_side side, culv_ring_frame *out);

/* ring_flow.c: culv_ring_release() and culv_ring_flush() around a submission of the caller's, which
 * gets the value to signal, or 0. It is called without the lock. If it fails, nothing was released.
 * NULL: no submission. */
typedef culv_result (*culvi_ring_submit)(void *context, uint64_t value);
culv_result culvi_ring_release_by(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                  culvi_ring_submit submit, void *context, const char *call);
/* culv_ring_submit_failed() by the name `call`. */
culv_result culvi_ring_submit_failed(culv_ring *ring, culv_ring_side side,
                                     const culv_ring_frame *frame, const char *call);
culv_result culvi_ring_flush_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit,
                                void *context, uint64_t *signal_value, const char *call);

/* ring_stream.c: refuses a call without a stream where CUDA's side needs one, and on a side in
 * another process. */
culv_result culvi_ring_check_plain(const culv_ring *ring, culv_ring_side side, const char *call);

/* ring_apart.c: a ring whose other side is in another process. No lock. */

/* What this side of such a ring holds. */
typedef struct culvi_ring_hold {
    bool held;
    bool signaled; /* a release of it failed after a stream was told to signal it */
    uint32_t slot;
    uint64_t number;
} culvi_ring_hold;

/* The first member of an owner's side. */
typedef struct culvi_ring_apart {
    const struct culvi_ring_apart_api *api;
    culvi_ring_owner owner; /* the core's */
    culv_ring *core;        /* the caller's handle */
} culvi_ring_apart;

/* What the owner does. */
typedef struct culvi_ring_apart_api {
    culvi_ring_api ring; /* CULVI_RING_APART_CALLS() */
    culv_ring_side side;
    /* What else refuses calls than culv_ring_stop(). May be NULL. */
    culv_result (*check)(const culvi_ring_apart *side, const char *call);
    /* Why no call with, or without, a stream can be made; NULL: it can. */
    const char *(*refuses)(const culvi_ring_apart *side, bool has_stream);
    culvi_ring_hold (*hold)(const culvi_ring_apart *side);
    culvi_ring_acquire_fn *acquire;            /* `context` is the side */
    culvi_ring_release_fn *release;            /* of the frame that is held */
    void (*take_back)(culvi_ring_apart *side); /* as if it had not been acquired */
    culv_result (*drain)(culvi_ring_apart *side, uint64_t timeout, const char *call);
    void (*stats)(const culvi_ring_apart *side, culv_ring_stats *out);
    void (*end)(culvi_ring_apart *side);
} culvi_ring_apart_api;

culvi_ring_acquire_fn culvi_ring_apart_acquire;
culvi_ring_release_fn culvi_ring_apart_release;
culvi_ring_flush_fn culvi_ring_apart_flush;
culv_result culvi_ring_apart_destroy(void *context, const CUstream *last_use, const char *call);
#define CULVI_RING_APART_CALLS(create)                                                             \
    {                                                                                              \
        .create_call = (create), .acquire = culvi_ring_apart_acquire,                              \
        .release = culvi_ring_apart_release, .flush = culvi_ring_apart_flush,                      \
        .destroy = culvi_ring_apart_destroy                                                        \
    }

/* `device` may be NULL. */
culv_result culvi_ring_create_apart(culv_device *device, uint32_t slots, const char *label,
                                    const culvi_ring_apart_api *api, culvi_ring_apart *side);
/* Refuses what comes after culv_ring_stop(). */
culv_result culvi_ring_check_runs(const culv_ring *ring, const char *call);

/* ring_stop.c */

/* Stops the ring, unless it is stopped, and wakes both sides. The text says why. */
void culvi_ring_end(culv_ring *ring, const char *format, ...) CULVI_PRINTF(2, 3);
/* Does so because the ring is destroyed, and warns if a side still uses it. */
void culvi_ring_end_for_good(culv_ring *ring);
/* Stops the ring after an ASYNC error that a callback or the driver recorded. */
culv_result culvi_ring_note_failure(culv_ring *ring, culv_result result, const char *what);
culv_result culvi_ring_fail_stopped(culv_ring *ring);
/* Reads a counter; releases the lock meanwhile. */
culv_result culvi_ring_read(culv_ring *ring, culv_ring_side side);
/* Waits for a counter; TIMEOUT records no error. Releases the lock meanwhile. */
culv_result culvi_ring_wait(culv_ring *ring, culv_ring_side side, uint64_t value,
                            culvi_ring_limit *limit);
/* Tells the log who is late when a wait for the other side has lasted 1, 10, 100 s. True: it did,
 * without the lock, so that what lacked may be there. */
bool culvi_ring_warn_late_side(culv_ring *ring, culv_ring_side waiting, culvi_ring_limit *limit);
/* The error when the other side did not hand over in time: RING_FULL or RING_EMPTY. */
culv_result culvi_ring_fail_late_side(culv_ring *ring, culv_ring_side waiting, uint64_t timeout);
/* The error when a timeline's counter did not get there in time: RING_LATE. */
culv_result culvi_ring_fail_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                                      uint64_t timeout);

/* ring_auto.c: no lock, no clock of its own. */
void culvi_ring_auto_start(culvi_ring_auto *a, uint64_t bound, uint32_t max_depth, uint32_t burst);
/* Whether to time the next burst. */
bool culvi_ring_auto_times(culvi_ring_auto *a);
/* A burst begins; `next` is the number of the first frame after it. */
void culvi_ring_auto_note(culvi_ring_auto *a, const culvi_ring_mark *mark, uint64_t next);

#endif
