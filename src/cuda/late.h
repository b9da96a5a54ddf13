/* SPDX-License-Identifier: MIT */
/* What goes after all work of the context, because nobody knows which streams use it. */
#ifndef CULVI_CUDA_LATE_H_
#define CULVI_CUDA_LATE_H_

#include "cuda/device.h"

/* Part of an object that was given up. */
typedef struct culvi_late {
    struct culvi_late *next;
    void (*release)(struct culvi_late *self); /* frees the object; no lock is held */
} culvi_late;

/* Allocates what a later wait needs, because no memory may be free then. */
void culvi_late_prepare(culv_device *device);
/* Waits for all work of the context, and breaks no capture. False: the driver refused for now. */
bool culvi_wait_for_all(culv_device *device, const char *kind, const char *label, uint64_t size);
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

#endif
