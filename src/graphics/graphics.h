/* SPDX-License-Identifier: MIT */
/* What every attachment of a graphics API has: which API, which GPU, who holds it. */
#ifndef CULVI_GRAPHICS_GRAPHICS_H_
#define CULVI_GRAPHICS_GRAPHICS_H_

#include "core/import.h"
#include "core/memory.h"
#include "core/peer.h"
#include "culvert/semaphore.h"

typedef struct culvi_graphics culvi_graphics;
typedef struct culvi_graphics_ring culvi_graphics_ring;   /* graphics/graphics_ring.h */
typedef struct culvi_native culvi_native;                 /* graphics/pair.h */
typedef struct culvi_plan culvi_plan;                     /* graphics/pair.h */
typedef struct culvi_semaphore_plan culvi_semaphore_plan; /* graphics/pair.h */
typedef struct culvi_staging culvi_staging;               /* core/staging.h */

/* What one API does with its own calls: one constant table for each API. Native objects are numbers
 * here: a handle, a pointer, a GL name; 0 is none. A call that fails records the error and leaves
 * nothing behind. Calls that an API lacks are NULL where the comment says so. */
typedef enum culvi_host_use {
    CULVI_HOST_READS,
    CULVI_HOST_WAITS,  /* and reads */
    CULVI_HOST_SIGNALS /* and waits */
} culvi_host_use;

typedef struct culvi_graphics_api {
    const culvi_words *words;
    /* Frees the attachment after its last reference. The base has given up everything but its
     * device. */
    void (*free)(culvi_graphics *graphics);
    /* Attaches the same native device to another culv_device, the one of its own GPU. NULL: no
     * copies to other GPUs. */
    culv_result (*attach_again)(culvi_graphics *graphics, culv_device *device,
                                culvi_graphics **out);
    /* Whether the native device was made so that its memory, or its semaphores, can be exported.
     * NULL: each object says it for itself. */
    culv_result (*check_exports)(const culvi_graphics *graphics, const char *label,
                                 bool semaphores);
    /* A new handle of this system's opaque type, for its caller to close. */
    culv_result (*export_memory)(const culvi_graphics *graphics, const char *label, uint64_t memory,
                                 culv_handle *out);
    culv_result (*export_semaphore)(const culvi_graphics *graphics, const char *label,
                                    uint64_t semaphore, culv_handle *out);
    /* Buffers and images. plan() is the gate: for plan->path, SHARED or HOST, it says what to make
     * and how CUDA maps it, or refuses. UNSUPPORTED lets another path be tried. make() makes it
     * with memory of its own. unmake() takes what make() or stage() made. */
    culv_result (*plan)(culvi_graphics *graphics, culvi_plan *plan);
    culv_result (*make)(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out);
    void (*unmake)(culvi_graphics *graphics, const culvi_native *native);
    /* Refuses an unmake on this thread, for `call`. NULL: any thread will do. */
    culv_result (*may_unmake)(culvi_graphics *graphics, const char *label, const char *call);
    /* Memory of staging->size bytes that the host and the native device both reach; fills
     * staging->host, and staging->block or staging->native. NULL: no copies through the host. */
    culv_result (*stage)(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                         culvi_native *out);
    culv_result (*make_semaphore)(culvi_graphics *graphics, const culvi_semaphore_plan *plan,
                                  bool exportable, uint64_t *out);
    void (*unmake_semaphore)(culvi_graphics *graphics, uint64_t semaphore);
    /* Timelines on the host. check_timelines() refuses a device whose timelines the host cannot use
     * like that. The other calls may only follow it, on any thread. They return the API's own code:
     * 0 for success, a positive one for a wait that timed out. */
    culv_result (*check_timelines)(const culvi_graphics *graphics, const char *label,
                                   culvi_host_use use);
    int (*timeline_value)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
    int (*timeline_wait)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                         uint64_t timeout_ns);
    /* timeline_wait() may return late for what CUDA signals (graphics/host_wait.c). */
    bool waits_late;
    /* An object can be exported as often as one wants, on any thread (core/suspend.c). */
    bool exports_again;
    /* A signal of CUDA's can overtake what its stream has written inline (culvi_arrive()). */
    bool overtaken;
    int (*timeline_signal)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);
    /* Records such a code as an error of the class that it belongs to. */
    culv_result (*fail)(const culvi_graphics *graphics, const char *label, int code,
                        const char *call, const char *what);
} culvi_graphics_api;

/* The first member of every attachment. */
struct culvi_graphics {
    const culvi_graphics_api *api;
    atomic_uint refs; /* the caller's handle and each object made with it */
    /* among its device's attachments; another attachment may get this address later */
    uint64_t id;
    culv_device *device;
    char name[256];
    culv_uuid uuid;
    culv_luid luid;     /* Windows'; all zero: not known */
    uint32_t node_mask; /* its node among linked GPUs, if the LUID is known */
    bool foreign;       /* another GPU than the device */
    bool across;        /* and the device works on its memory in place all the same */
    atomic_bool lost;   /* the native device, as somebody was told */
    /* Guarded by culv_device::rings_lock. */
    culvi_graphics_ring *rings;
    char label[64];
    /* Its own GPU in CUDA, and the attachment to that, for copies (core/staging.h). Guarded by the
     * device's lock. */
    culvi_peer *peer;
    culvi_graphics *there;
};

/* Whether this thread may unmake what the API has of an object. */
static inline culv_result culvi_graphics_may_unmake(culvi_graphics *graphics, const char *label,
                                                    const char *call)
{
    return graphics->api->may_unmake != NULL ? graphics->api->may_unmake(graphics, label, call)
                                             : CULV_OK;
}

/* Make an attachment in this order. Before culvi_graphics_attached() it holds nothing and is simply
 * freed. */
void culvi_graphics_init(culvi_graphics *graphics, const culvi_graphics_api *api,
                         culv_device *device, const char *label);
/* Whether two devices with the same UUID are one node, and not several nodes of linked GPUs. A
 * device that reports no LUID is taken as the same node. */
bool culvi_graphics_same_node(const culv_luid *a, uint32_t a_mask, const culv_luid *b,
                              uint32_t b_mask);
/* Sets `foreign` and `across`. Refuses another GPU than the device unless there is a fallback, or
 * the caller allows it and the device reaches its memory, and always refuses another node of linked
 * GPUs. The name, the UUID, the LUID and the node must be set. */
culv_result culvi_graphics_identify(culvi_graphics *graphics, uint32_t fallback,
                                    bool allow_other_gpu);
/* Counts the attachment. From here on culvi_graphics_unref() frees it. */
void culvi_graphics_attached(culvi_graphics *graphics);

void culvi_graphics_ref(culvi_graphics *graphics);
void culvi_graphics_unref(culvi_graphics *graphics);
/* An object that Culvert made with the attachment is counted, and holds it. */
void culvi_graphics_object_made(culvi_graphics *graphics);
void culvi_graphics_object_gone(culvi_graphics *graphics);

/* What is shared. Another GPU's attachment shares the first two where the caller allows it. */
typedef enum culvi_share {
    CULVI_SHARE_BUFFERS, /* the API's memory, in CUDA */
    CULVI_SHARE_SEMAPHORES,
    CULVI_SHARE_IMAGES,
    CULVI_SHARE_CUDAS /* CUDA's memory in the API, one address, dma-bufs */
} culvi_share;

/* Whether such things can be shared through this attachment at all. */
culv_result culvi_graphics_check_shares(const culvi_graphics *graphics, const char *label,
                                        culvi_share what);

/* The attachment of this native device to the CUDA device of its own GPU. It is kept, and copies to
 * it are verified. */
culv_result culvi_graphics_peer(culvi_graphics *graphics, const char *label, culvi_graphics **out);

/* Imports of the caller's own objects (memory.c, semaphore.c). */
typedef struct culvi_memory_ask {
    const char *label;
    uint64_t memory;   /* native */
    uint64_t identity; /* culv_memory's */
    uint64_t size;
    bool dedicated;
    bool callers_buffers; /* the caller allocated it, and not for an image alone */
    bool stays;           /* the native memory is there while the import is */
    const char *warning;  /* of this kind of memory, for the log of a new import; or NULL */
} culvi_memory_ask;

/* A new import. */
culv_result culvi_graphics_import(culvi_graphics *graphics, const culvi_memory_ask *ask,
                                  culv_memory **out);
/* The one import of this native memory; all who acquire it share it. */
culv_result culvi_graphics_acquire(culvi_graphics *graphics, const culvi_memory_ask *ask,
                                   culv_memory **out);
/* `desc` has everything but handle, value and exporter; `desc_name` is the API's descriptor. */
culv_result culvi_graphics_import_semaphore(culvi_graphics *graphics, uint64_t semaphore,
                                            const culv_semaphore_desc *desc, const char *desc_name,
                                            culv_semaphore **out);

#endif
