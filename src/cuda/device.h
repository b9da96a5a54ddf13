/* SPDX-License-Identifier: MIT */
/* culv_device: the driver, its context, and what belongs to them. */
#ifndef CULVI_CUDA_DEVICE_H_
#define CULVI_CUDA_DEVICE_H_

#include "base/platform.h"
#include "base/tree.h"
#include "cuda/driver.h"
#include "culvert/cuda_api.h"
#include "culvert/memory.h"

#include <stdatomic.h>

typedef struct culvi_deferred culvi_deferred;       /* cuda/retire.h */
typedef struct culvi_late culvi_late;               /* cuda/retire.h */
typedef struct culvi_order_block culvi_order_block; /* cuda/order.c */
typedef struct culvi_detour culvi_detour;
typedef struct culvi_peer culvi_peer;     /* core/peer.h */
typedef struct culvi_fields culvi_fields; /* core/field.c */
typedef struct culvi_watch culvi_watch;   /* cuda/watch.h */
typedef struct culvi_wait_note culvi_wait_note;

enum { CULVI_STREAM_SLOTS = 64, CULVI_STREAM_WAYS = 4 };
/* CUarray_format has numbers below this. */
enum { CULVI_ARRAY_FORMATS = 256 };

/* The granularity of one kind of VMM allocation; bytes 0: not known yet. */
typedef struct culvi_granularity {
    uint32_t kind;
    int32_t numa_node;
    uint64_t bytes;
} culvi_granularity;

/* Zero behind what this library fills, for callers with a later header. */
typedef union culvi_cuda_table {
    culv_cuda_api api;
    unsigned char room[CULV_CUDA_API_ROOM];
} culvi_cuda_table;

/* Part of an object that a checkpoint would break, and that nobody could make again
 * (core/suspend.c). Guarded by the device's lock. */
typedef struct culvi_tie {
    struct culvi_tie *next, **link; /* `link` is NULL: it is on no list */
    const char *what;               /* "VMM allocation 'x' was exported": "was exported" */
    const char *kind, *label;
} culvi_tie;

/* Says which destroys wait: cuda/watch.h. */
typedef struct culvi_watchman {
    culvi_mutex lock; /* guards what follows; no other lock is taken under it */
    culvi_condition changed;
    culvi_worker worker;
    atomic_bool started;
    bool stop;
    uint64_t until; /* the thread sleeps until then; 0: it is awake */
    culvi_watch *watches;
    culvi_wait_note *notes;
} culvi_watchman;

struct culv_device {
    atomic_uint refs; /* the caller's handle and every object that the caller made from it */
    culvi_voice voice;
    culvi_cuda *cuda;
    CUdevice ordinal;
    CUcontext context;
    bool retained;       /* the primary context, to be released */
    uint64_t context_id; /* distinguishes a context from the next one behind the same handle */
    atomic_bool lost;    /* the context was seen to be reset or destroyed, and all in it */
    culv_device_caps caps;
    atomic_bool fabric_works; /* fabric handles were tried: vmm/fabric.c */
    /* Guards what follows, and the graph of memories and buffers; never taken in the frame path */
    culvi_mutex lock;
    culvi_tree deferred; /* the first culvi_deferred of each lane: cuda/retire.c */
    culv_device_counts counts;
    culvi_tree shared; /* acquired imports: culv_memory, by owner and key */
    culvi_tree mapped; /* imports with a buffer mapping: culv_memory, by address */
    /* What a checkpoint asks for (core/suspend.c): imports, and what forbids it */
    culv_memory *memories;
    struct culv_semaphore *semaphores;
    culvi_tie *ties;
    atomic_bool suspended; /* all imports are given up, and calls are refused */
    uint64_t attached;     /* attachments ever, for culvi_graphics::id */
    /* Chunks of others' that are adopted now: culvi_adopted_chunk, by address and handle */
    culvi_tree adopted;
    uint64_t adopted_ever;                   /* for their ids */
    culvi_peer *peers;                       /* other GPUs that it copies to: core/peer.h */
    void (*free_peers)(culv_device *device); /* set with the first of them */
    _Atomic(culvi_fields *) fields;          /* kernels of culv_image_write(): core/field.c */
    void (*free_fields)(culv_device *device);
    /* Used to verify copies from and to other GPUs; freed with the device */
    CUdeviceptr probe;
    /* Memory of cuMemAlloc, whose cuMemFree waits for all work, and what waits for that, which the
     * driver's threads push, too: cuda/retire.c */
    _Atomic uint64_t waiter;
    _Atomic(culvi_late *) late;
    /* Words that order streams: cuda/order.c */
    culvi_mutex orders_lock; /* no other lock is taken under it */
    culvi_order_block *orders;
    atomic_bool orders_by_event; /* the driver has no such words */
    CUdeviceptr arrived;         /* culvi_arrive() writes to it; 0: no semaphore needs it */
    /* Streams of this context in place of green ones, which take no semaphores */
    culvi_detour *detours;
    culvi_granularity granularity[2]; /* of what ranges are for; the last other: vmm/property.c */
    /* Streams that are known to be this device's: they are checked once, not in each frame (R6). */
    atomic_uintptr_t streams[CULVI_STREAM_SLOTS];
    /* The driver's answer for each CUarray_format that was asked about: format_support.c. */
    _Atomic(CUarray) array_formats[CULVI_ARRAY_FORMATS];
    /* The driver's functions for the caller, filled when they are first asked for: cuda_api.c. One
     * for the legacy default stream, one for that of each thread. */
    culvi_cuda_table tables[2];
    atomic_bool tables_filled[2];
    culvi_watchman watchman;
    culvi_mutex rings_lock; /* of culvi_graphics::rings; a ring's lock may be taken under it */
#if CUDA_VERSION >= 12090
    CUlogsCallbackHandle driver_log;
#endif
};

/* Describes the device that was asked for, when it was not found; `asker` knows it. */
typedef void (*culvi_describe_fn)(const void *asker, const culvi_voice *voice,
                                  const culvi_probe *probe, culvi_text *description,
                                  culvi_text *hint);

/* Without `describe` the message names the UUID or the ordinal. */
culv_result culvi_device_open(const culv_uuid *uuid, int32_t ordinal, culvi_describe_fn describe,
                              const void *asker, const culv_device_desc *desc, culv_device **out);
void culvi_device_ref(culv_device *device);
void culvi_device_unref(culv_device *device);

/* Ties an object to the device, once, and unties it. The caller holds the lock. */
void culvi_tie_add(culv_device *device, culvi_tie *tie, const char *kind, const char *label,
                   const char *what);
void culvi_tie_remove(culvi_tie *tie);

/* The ordinal of the CUDA device with this UUID; -1: this process sees none. `call` is the one that
 * was made last. */
CUresult culvi_device_find(const culv_device *device, const culv_uuid *uuid, int *ordinal,
                           const char **call);

/* Refuses an exporter that is not this device. */
culv_result culvi_check_exporter(const culv_device *device, const char *object,
                                 const culv_uuid *exporter, const char *what);

#endif
