/* SPDX-License-Identifier: MIT */
/* Deferred release. */
#ifndef CULVI_CUDA_RETIRE_H_
#define CULVI_CUDA_RETIRE_H_

#include "cuda/device.h"

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
/* Leaves an object to a later collection. */
void culvi_defer(culv_device *device, culvi_deferred *object);
/* Takes an object back that no collection has released yet. */
void culvi_undefer(culv_device *device, culvi_deferred *object);
void culvi_collect(culv_device *device);
/* The same for the objects of one holder. */
void culvi_collect_for(culv_device *device, const void *holder);
/* Waits for everything that is deferred and releases it. Takes no lock: the device has no users
 * left. */
void culvi_wait_and_collect(culv_device *device);
/* The same for the objects of one holder. Takes the lock, but waits for streams and host functions
 * without it. */
void culvi_wait_and_collect_for(culv_device *device, const void *holder);
/* The same for those of a holder's that a predicate chooses. */
void culvi_wait_and_collect_chosen(culv_device *device, const void *holder,
                                   bool (*choose)(const culvi_deferred *object,
                                                  const void *context),
                                   const void *context);
/* Whether a release that the driver answered with `code` is over. Logs what was odd about it. */
bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try);

/* Whether only the owner of the object gives it up, by `owner_destroy_call` (NULL: it is the
 * caller's own); records OWNED then. For CUDA's half of an object, and for other parts of one. */
bool culvi_refuse_owned(const culv_device *device, const char *label,
                        const char *owner_destroy_call, const char *call);
bool culvi_refuse_part(const culv_device *device, const char *label, const char *owner_destroy_call,
                       const char *call);

#endif
