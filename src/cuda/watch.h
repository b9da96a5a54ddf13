/* SPDX-License-Identifier: MIT */
/* Destroys that wait: who says so while the driver does not return.
 *
 * A release may wait in the driver for all work of the context (docs/ownership.md), and no event
 * covers that work without harm (cuda/retire.c), so that it cannot be asked for beforehand. A
 * thread of the device's looks at the clock instead. It starts with the first watched call, only
 * where somebody hears warnings, and sleeps until a call has lasted for a second. */
#ifndef CULVI_CUDA_WATCH_H_
#define CULVI_CUDA_WATCH_H_

#include "cuda/device.h"

/* What a semaphore was told to wait for on CUDA's side. It is part of the semaphore. */
typedef struct culvi_wait_note {
    struct culvi_wait_note *next, **link;
    const char *label;
    bool timeline;
    bool leaving;           /* its handle is being destroyed. Guarded by the watch's lock */
    _Atomic uint64_t value; /* the highest one; a binary semaphore: how many waits */
    atomic_uintptr_t stream;
    /* The highest values of a timeline that were reported and that CUDA signals. */
    const _Atomic uint64_t *noted, *signaled;
    /* Reads the counter, or is NULL. Guarded by the watch's lock. */
    bool (*counter)(void *context, uint64_t *out);
    void *context;
} culvi_wait_note;

/* Remembers a wait. Used in the frame path. */
static inline void culvi_note_wait(culvi_wait_note *note, CUstream stream, uint64_t value)
{
    if (value < atomic_load_explicit(&note->value, memory_order_relaxed)) return;
    atomic_store_explicit(&note->value, value, memory_order_relaxed);
    atomic_store_explicit(&note->stream, (uintptr_t)stream, memory_order_relaxed);
}

void culvi_wait_note_add(culv_device *device, culvi_wait_note *note);
void culvi_wait_note_remove(culv_device *device, culvi_wait_note *note);
/* How its counter is read, on another thread, until the context is forgotten. */
void culvi_wait_note_set_counter(culv_device *device, culvi_wait_note *note,
                                 bool (*counter)(void *context, uint64_t *out), void *context);
void culvi_wait_note_leave(culv_device *device, culvi_wait_note *note, bool leaving);
/* Visits the notes that are not leaving, with the watch's lock held. */
void culvi_wait_note_each(culv_device *device, void (*visit)(culvi_wait_note *note, void *context),
                          void *context);
void culvi_wait_note_forget(culv_device *device, const void *context);

/* A call that may wait. On its caller's stack; he sets the fields above the label. */
typedef struct culvi_watch {
    const char *kind; /* "buffer" */
    const char *deed; /* what is called; NULL: "its release" */
    const char *what; /* it waits for this; NULL: for a stream or for all work */
    uint64_t size;    /* bytes; 0: it has no size */
    CUstream stream;
    bool on_stream; /* the call waits for `stream` alone */
    char label[64];
    struct culvi_watch *next;
    bool armed;
    uint64_t begun, due;
    unsigned told; /* times */
} culvi_watch;

bool culvi_watch_init(culv_device *device);
/* Ends the thread. Nothing is watched any more. */
void culvi_watch_end(culv_device *device);

void culvi_watch_begin(culv_device *device, culvi_watch *watch, const char *label);
void culvi_watch_done(culv_device *device, culvi_watch *watch);

#endif
