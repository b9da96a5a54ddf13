/* SPDX-License-Identifier: MIT */
/* What the files of culv_ring share. A frame's way: free -> the producer's burst -> ready -> the
 * consumer's burst -> free; MAILBOX keeps the consumer's last slot until it takes another. */
#ifndef CULVI_RING_H_
#define CULVI_RING_H_

#include "base/platform.h"
#include "cuda/device.h"
#include "culvert/ring.h"

#include <inttypes.h>

enum {
    CULVI_RING_PAST = 256, /* hand-overs of a side that are remembered; a power of two */
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
    uint64_t through;   /* the consumer's: all below this number are consumed */
    uint64_t wait;      /* the other timeline's value that this one comes after */
} culvi_ring_past;

/* A side, and the timeline that it signals. What is the side's own is whose thread has `in_call`,
 * without the ring's lock: the other side sees `shown` and `next` of it, and what is written with
 * the lock held. */
typedef struct culvi_ring_party {
    culv_ring_timeline api;
    char name[32];
    uint64_t promised; /* the last value that was handed out */
    uint64_t known;    /* a value that its counter has reached */
    culvi_ring_past past[CULVI_RING_PAST];
    uint64_t waits;
    /* The burst: slots[0..at) are released, slots[at] is the one held or the next. */
    uint8_t slots[CULV_RING_MAX_DEPTH];
    uint32_t length;
    uint64_t wait;           /* for all of the burst */
    culv_ring_policy policy; /* of the burst */
    bool again;              /* MAILBOX: it is the slot that is kept */
    bool flushed; /* the burst before ended early, by a flush or because it began short after one */
    bool brief;   /* the last burst began with fewer frames than are aimed at */
    atomic_bool in_call;
    /* The side's own. */
    /* Number of the frame: to be released by the producer, to be expected by the consumer */
    _Atomic uint64_t next;
    atomic_uint shown; /* culvi_ring_show() */
    uint64_t submitted;
    uint32_t at;
    bool held; /* slots[at], with frame `number` */
    uint64_t number;
} culvi_ring_party;

/* What the producer's thread saw of a burst of a GPU's: ring_auto.c. */
typedef struct culvi_ring_mark {
    uint64_t through; /* all frames below this number are consumed ... */
    uint64_t done;    /* ... which the host saw at this time; 0: nothing was seen */
    uint64_t ready;   /* when the burst after them was produced; 0: not seen */
    bool waited;      /* until `done`: it was not so long before */
    bool timed;       /* `ready` was looked for */
} culvi_ring_mark;

/* max_latency's choice: ring_auto.c. */
typedef struct culvi_ring_auto {
    uint64_t bound;                      /* 0: off */
    uint32_t level, top;                 /* depth and burst: level frames */
    uint32_t ceiling;                    /* levels from here on were found over the bound */
    uint32_t windows, over;              /* on this level; of them over the bound, the last ones */
    uint64_t half[CULVI_RING_LEVELS][2]; /* of a burst, by side, measured; both 0: not yet */
    uint64_t late[CULVI_RING_LEVELS];    /* how much longer the longer half may be */
    uint64_t usual;                      /* what a burst of this level takes; 0: not measured */
    uint64_t entered;                    /* the same when the level was measured first */
    uint64_t since;                      /* frames below this number are of the level before */
    culvi_ring_mark mark;                /* the last */
    bool cold;                           /* nothing was measured yet */
    uint32_t taken;
    uint64_t samples[2][CULVI_RING_WINDOW]; /* of halves */
    uint64_t periods[CULVI_RING_WINDOW];    /* of both together */
    uint32_t bursts;
    uint32_t odd; /* bursts that took much more or less than usual, the last ones */
    uint64_t frame_time;
} culvi_ring_auto;

/* What a call has to look after even within a burst. */
enum {
    CULVI_RING_ENDS = 1,  /* the ring is stopped, or being destroyed */
    CULVI_RING_CHECKS = 2 /* check_counters */
};

struct culv_ring {
    culv_device *device;
    char label[64];
    culvi_mutex lock; /* all that follows; never held across a callback or a driver's call */
    culvi_condition changed;
    uint64_t (*now)(void);
    void (*nap)(culv_ring *ring, uint64_t ns); /* with the lock held, which it gives up meanwhile */
    culv_ring_settings settings;               /* every default made explicit */
    uint32_t max_depth;
    uint32_t depth, burst; /* aimed at: the settings', or max_latency's choice */
    uint32_t in_use;       /* slots that are not parked */
    uint64_t parked;       /* bits: slots that a smaller depth leaves out */
    culvi_ring_party side[2];
    culvi_ring_slot slots[CULV_RING_MAX_DEPTH];
    culvi_ring_queue free;  /* longest free first */
    culvi_ring_queue ready; /* by number */
    bool keeps;             /* MAILBOX: slot `kept` is the consumer's until it takes a newer one */
    uint32_t kept;
    _Atomic uint64_t consumed; /* written by the consumer */
    uint64_t skipped;
    uint64_t lead_from; /* a value of `done`: see culvi_ring_pace() */
    int last_side;      /* who signaled last; -1: nobody yet */
    uint32_t sleepers;  /* threads in culvi_condition_wait() */
    atomic_uint forced; /* times that draining took slots from the sides */
    atomic_uint heed;   /* CULVI_RING_ENDS, CULVI_RING_CHECKS */
    char stopped[192];  /* why; "": it runs */
    culvi_ring_auto automatic;
};

/* What keeps an acquire from its slot. */
typedef enum culvi_ring_lack {
    CULVI_RING_OTHER_SIDE, /* a hand-over of the other side's */
    CULVI_RING_COUNTER,    /* timeline[side]'s counter */
    CULVI_RING_REACHED,    /* that this counter is `value` */
    /* The same, only to take the time: looked for again and again, or done without */
    CULVI_RING_TIMED
} culvi_ring_lack;

typedef struct culvi_ring_need {
    culvi_ring_lack lack;
    culv_ring_side side;
    uint64_t value;
    uint64_t further; /* REACHED: what to wait for, where waiting it must be; at least `value` */
    bool asked[2];    /* counters that were read since the last time that anybody slept */
    bool waited[2];   /* for this counter */
    bool untimed;     /* what was to be timed did not come */
    uint64_t before;  /* when it was looked for in vain the last time; 0: not yet */
    culvi_ring_mark mark;
    uint64_t marked; /* the value of `done` that the mark is of */
} culvi_ring_need;

/* A call with a limit. */
typedef struct culvi_ring_limit {
    uint64_t timeout;
    uint64_t until; /* culvi_now() at the end; 0: not asked yet */
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

/* What anybody may know of a side at any time: whether a frame is held, how many of an open burst
 * are released, and how long that is. */
static inline void culvi_ring_show(culvi_ring_party *me)
{
    atomic_store_explicit(&me->shown, me->held | me->at << 1 | me->length << 8,
                          memory_order_relaxed);
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

uint32_t culvi_ring_remove(culvi_ring_queue *queue, uint32_t index);

/* ring.c. With the lock held, unless it says otherwise. */

/* Takes the side and the lock; after an error it has neither. */
culv_result culvi_ring_enter(culv_ring *ring, culv_ring_side side, const char *call);
void culvi_ring_leave(culv_ring *ring, culv_ring_side side);
/* Records an error without the lock, and takes it again. The side is in a call, so that the ring
 * stays. */
culv_result culvi_ring_fail(culv_ring *ring, culv_result result, culv_reason reason,
                            const char *format, ...) CULVI_PRINTF(4, 5);
void culvi_ring_wake(culv_ring *ring);
void culvi_ring_apply_depth(culv_ring *ring);
/* Depth and burst as settings and max_latency have them now. */
void culvi_ring_aim(culv_ring *ring);

/* Each takes the side's next burst or says what is lacking. */
bool culvi_ring_begin_fifo(culv_ring *ring, culv_ring_side side, culvi_ring_need *need);
bool culvi_ring_begin_mailbox(culv_ring *ring, culv_ring_side side, culvi_ring_need *need);
/* The value of `done` that a side's next burst waits for on the host. */
uint64_t culvi_ring_pace(culv_ring *ring);
/* Gives the consumer's kept slot back. */
void culvi_ring_release_kept(culv_ring *ring);

/* ring_flow.c: culv_ring_acquire() by the name `call`. */
culv_result culvi_ring_acquire(culv_ring *ring, culv_ring_side side, uint64_t timeout,
                               culv_ring_frame *out, const char *call);
/* A burst's next frame, where that is all there is to do; it has nothing to be waited for. False:
 * culvi_ring_acquire(). */
bool culvi_ring_acquire_next(culv_ring *ring, culv_ring_side side, culv_ring_frame *out);

/* ring_flow.c: culv_ring_release() and culv_ring_flush() around a submission of the caller's, which
 * has the value to be signaled, or 0. It is called without the lock; after an error of its nothing
 * was released. NULL: none. */
typedef culv_result (*culvi_ring_submit)(void *context, uint64_t value);
culv_result culvi_ring_release_by(culv_ring *ring, culv_ring_side side, culv_ring_frame *frame,
                                  culvi_ring_submit submit, void *context, const char *call);
culv_result culvi_ring_flush_by(culv_ring *ring, culv_ring_side side, culvi_ring_submit submit,
                                void *context, uint64_t *signal_value, const char *call);

/* ring_stop.c */

/* An ASYNC error of a callback's or of the driver's, which was recorded, stops the ring. */
culv_result culvi_ring_note_failure(culv_ring *ring, culv_result result, const char *what);
culv_result culvi_ring_fail_stopped(culv_ring *ring);
/* Reads a counter: without the lock meanwhile. */
culv_result culvi_ring_read(culv_ring *ring, culv_ring_side side);
/* TIMEOUT without an error recorded. The same. */
culv_result culvi_ring_wait(culv_ring *ring, culv_ring_side side, uint64_t value,
                            culvi_ring_limit *limit);
/* The other side did not hand over in time: RING_FULL or RING_EMPTY. */
culv_result culvi_ring_fail_late_side(culv_ring *ring, culv_ring_side waiting, uint64_t timeout);
/* A timeline's counter did not get there in time: RING_LATE. */
culv_result culvi_ring_fail_late_work(culv_ring *ring, culv_ring_side side, uint64_t value,
                                      uint64_t timeout);

/* ring_auto.c: no lock, no clock of its own. */
void culvi_ring_auto_start(culvi_ring_auto *a, uint64_t bound, uint32_t max_depth, uint32_t burst);
/* Whether the next burst is to be timed, and how long the producer's half of it may take; 0: not
 * known. */
bool culvi_ring_auto_times(culvi_ring_auto *a);
uint64_t culvi_ring_auto_expects(const culvi_ring_auto *a);
/* A burst begins; `next` is the number of the first frame after it. */
void culvi_ring_auto_note(culvi_ring_auto *a, const culvi_ring_mark *mark, uint64_t next);

#endif
