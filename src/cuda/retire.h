/* SPDX-License-Identifier: MIT */
/* Deferred release. */
#ifndef CULVI_CUDA_RETIRE_H_
#define CULVI_CUDA_RETIRE_H_

#include "cuda/context.h"

/* Something that the caller gave up and the driver still holds. It is part of the object, so that
 * giving up allocates nothing and cannot fail. Guarded by the device's lock. */
typedef struct culvi_deferred {
    struct culvi_deferred *next, *last; /* of its lane; `last` is that of the first one alone */
    culvi_tree_node lane;               /* culv_device::deferred */
    CUevent event;                      /* passed once the GPU is done; NULL: nothing to wait for */
    CUstream stream;                    /* the one that the event is recorded in */
    /* Releases at the driver and frees the object. False: the driver refused for now, try again
     * later. */
    bool (*release)(struct culv_device *device, struct culvi_deferred *self, bool last_try);
    /* What the release needs; that drains it before it goes itself. NULL: only the device */
    const void *holder;
    /* What it is, for the log: "buffer", its label, its bytes (0: it has no size). */
    const char *kind, *label;
    uint64_t size;
    void (*finish)(
        /* waits, without the lock, for what no event covers; or NULL */
        struct culvi_deferred *self);
} culvi_deferred;

/* Says what an object is, and logs that it was made. */
void culvi_made(culv_device *device, culvi_deferred *object, const char *kind, const char *label,
                uint64_t size);

/* Deferred release. The caller holds the lock. Without a last use only the driver's own wait
 * applies. */
void culvi_release_or_defer(culv_device *device, culvi_deferred *object, const CUstream *last_use);
/* The same for objects that the driver does not wait for. If no event can be recorded on the
 * stream, the call is refused (CAPTURE, STREAM_DEVICE). Only after CULV_OK do later collections
 * release the object. Call it in the device's context. */
culv_result culvi_defer_after(culv_device *device, culvi_deferred *object, CUstream last_use,
                              const char *label, const char *call);
/* Releases this object and no other, for which the driver might wait, or leaves it to a later
 * collection. Takes the lock. */
void culvi_release_alone(culv_device *device, culvi_deferred *object);
/* Leaves an object to a later collection. */
void culvi_defer(culv_device *device, culvi_deferred *object);
/* Takes an object back that no collection has released yet. */
void culvi_undefer(culv_device *device, culvi_deferred *object);
/* Releases what is due of one holder's, or of all (NULL). */
void culvi_collect_for(culv_device *device, const void *holder);
/* Waits for everything that is deferred and releases it. Takes no lock: the device has no users
 * left. */
void culvi_wait_and_collect(culv_device *device);
/* The same for those of a holder's, or of all (NULL), that a predicate chooses; NULL: everything.
 * Takes the lock, but waits for streams and host functions without it. */
void culvi_wait_and_collect_for(culv_device *device, const void *holder,
                                bool (*choose)(const culvi_deferred *object, const void *context),
                                const void *context);
/* Whether a release that the driver answered with `code` is over. Logs what was odd about it. */
bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try);
/* Makes that call. */
#define CULVI_RELEASED(device, last_try, function, arguments)                                      \
    culvi_release_done((device), #function,                                                        \
                       CULVI_RELEASE_NAMED(device, #function, function, arguments), (last_try))
/* The same for what nobody tries again: at once, twice if need be. */
#define CULVI_RELEASE_SURELY(device, function, arguments)                                          \
    ((void)(CULVI_RELEASED(device, false, function, arguments) ||                                  \
            CULVI_RELEASED(device, true, function, arguments)))

/* Whether only the owner of the object gives it up, by `owner_destroy_call` (NULL: it is the
 * caller's own); records OWNED then. `what` it is: CUDA's half of an object, or another part of
 * one. */
bool culvi_refuse_owned(const culv_device *device, const char *label, const char *what,
                        const char *owner_destroy_call, const char *call);
#define CULVI_CUDA_HALF   "the CUDA half of an object that Culvert made"
#define CULVI_OTHERS_PART "a part of another object"

/* What goes after all work of the context, because nobody knows which streams use it. */

/* Part of an object that was given up. */
typedef struct culvi_late {
    struct culvi_late *next;
    void (*release)(struct culvi_late *self); /* frees the object; no lock is held */
} culvi_late;

/* Allocates what a later wait needs, because no memory may be free then. */
void culvi_late_prepare(culv_device *device);
/* Waits for all work of the context, and breaks no capture. False: the driver refused for now. */
bool culvi_wait_for_all(culv_device *device, const char *kind, const char *label, uint64_t size);
/* The same in the device's context: the driver's answer, and to which call. */
CUresult culvi_wait_in_context(culv_device *device, const char *kind, const char *label,
                               uint64_t size, const char **call);
/* Releases an object after all work: in this call, or in a later culvi_late_collect(). `kind`,
 * `label` and `size` are for the log. Call it without locks. */
void culvi_release_late(culv_device *device, culvi_late *object, const char *kind,
                        const char *label, uint64_t size);
/* Leaves it to a later culvi_late_collect(). Makes no driver call. */
void culvi_late_push(culv_device *device, culvi_late *object);
void culvi_late_collect(culv_device *device);
/* Frees what culvi_late_prepare() allocated. The device has no users left. */
void culvi_late_end(culv_device *device);

/* Whether an answer settles a call that waits or asks; another refusal may be a single one. */
bool culvi_cuda_answers(CUresult code);
/* Makes such a call, once more if the first answer does not. */
#define CULVI_ASK(r, call)                                                                         \
    do {                                                                                           \
        (r) = (call);                                                                              \
        if (!culvi_cuda_answers(r)) (r) = (call);                                                  \
    } while (0)

#endif
