/* Deferred release.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_CUDA_RETIRE_H_
#define CULVI_CUDA_RETIRE_H_

#include "cuda/device.h"

/* Something the caller gave up that the driver still holds. It is part of the object, so that giving up
 * allocates nothing and cannot fail. Guarded by the device's lock. */
typedef struct culvi_retired {
    struct culvi_retired *next;
    CUevent event;   /* passed once the GPU is done; NULL: nothing to wait for */
    CUstream stream; /* the one that the event is recorded in */
    /* Releases at the driver and frees the object. False: the driver refused for now, try again later. */
    bool (*release)(struct culv_device *device, struct culvi_retired *self, bool last_try);
    const void *holder; /* what the release needs, which drains it before it goes; NULL: the device alone */
    void (*finish)(struct culvi_retired *self); /* waits for what no event tells, without the lock; or NULL */
} culvi_retired;

/* Deferred release. The caller holds the lock. Without a last use the driver's own wait is all there is. */
void culvi_retire(culv_device *device, culvi_retired *object, bool has_last_use, CUstream last_use);
/* The same for what the driver does not wait for: without an event on the stream it is refused, and CULV_OK alone leaves the
 * object to later sweeps. CAPTURE, STREAM_DEVICE; in the device's context. */
culv_result culvi_defer(culv_device *device, culvi_retired *object, CUstream last_use, const char *label,
                        const char *call);
/* Leaves an object to a later sweep. */
void culvi_keep(culv_device *device, culvi_retired *object);
void culvi_reap(culv_device *device);
/* The same for what this holder has. */
void culvi_reap_for(culv_device *device, const void *holder);
/* Waits for all that is retired and releases it. No lock: the device has no users left. */
void culvi_drain(culv_device *device);
/* The same for what this holder has. Takes the lock, but waits for streams and host functions without it. */
void culvi_drain_for(culv_device *device, const void *holder);
/* The same for what is chosen. */
void culvi_drain_chosen(culv_device *device, bool (*choose)(const culvi_retired *object, const void *context),
                        const void *context);
/* Tells whether a release that the driver answered with `code` is over, and notes what was odd about it. */
bool culvi_release_done(culv_device *device, const char *call, CUresult code, bool last_try);

/* Refuses what only its owner may give up. */
bool culvi_refuse_owned(const culv_device *device, const char *label, bool owned, const char *call,
                        const char *instead);

#endif
