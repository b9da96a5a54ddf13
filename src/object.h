/* The objects behind the API, and what they share: contexts, driver calls, deferred release.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_OBJECT_H_
#define CULVI_OBJECT_H_

#include "cuda_driver.h"
#include "culvert/semaphore.h"
#include "culvert/texture.h"
#include "platform.h"

#include <stdatomic.h>

/* Something the caller gave up that the driver still holds. It is part of the object, so that giving up
 * allocates nothing and cannot fail. Guarded by the device's lock. */
typedef struct culvi_retired {
    struct culvi_retired *next;
    CUevent event; /* passed once the GPU is done; NULL: nothing to wait for */
    /* Releases at the driver and frees the object. False: the driver refused for now, try again later. */
    bool (*release)(struct culv_device *device, struct culvi_retired *self, bool last_try);
    const void *holder; /* what the release needs, which drains it before it goes; NULL: the device alone */
    void (*finish)(struct culvi_retired *self); /* waits for what no event tells, without the lock; or NULL */
} culvi_retired;

enum { CULVI_STREAM_SLOTS = 64, CULVI_STREAM_WAYS = 4, CULVI_SHARED_BUCKETS = 64 };
/* CUarray_format has numbers below this. */
enum { CULVI_ARRAY_FORMATS = 256 };

enum { CULVI_GRANULARITIES = 8 };
/* Of one kind of VMM allocation; bytes 0: none yet. */
typedef struct culvi_granularity {
    uint32_t kind;
    int32_t numa_node;
    uint64_t bytes;
} culvi_granularity;

struct culv_device {
    atomic_uint refs; /* the caller's handle and every object of the caller's made from it */
    culvi_voice voice;
    culvi_cuda *cuda;
    CUdevice ordinal;
    CUcontext context;
    bool retained;       /* the primary context, to be released */
    uint64_t context_id; /* tells a context from the next one behind the same handle */
    atomic_bool lost;    /* the context was seen to be reset or destroyed, and all in it */
    culv_device_caps caps;
    culvi_mutex
        lock; /* guards what follows, and the graph of memories and buffers; never taken in the frame path */
    culvi_retired *retired;
    culv_device_counts counts;
    culv_memory *shared[CULVI_SHARED_BUCKETS]; /* acquired imports, by key */
    culv_memory *mapped;                       /* imports with a buffer mapping */
    uint64_t attached;                         /* attachments ever, for culv_vk::id */
    struct culvi_peer *peers;                  /* fallback.h */
    CUdeviceptr probe; /* by which copies from and to other GPUs are verified; goes with the device */
    culvi_granularity granularities[CULVI_GRANULARITIES]; /* that the driver told: vmm/allocation.c */
    /* Streams that were found to be this device's: checked once, not each frame (R6). */
    atomic_uintptr_t streams[CULVI_STREAM_SLOTS];
    /* What the driver said of each CUarray_format that was asked about: format_support.c. */
    _Atomic(CUarray) array_formats[CULVI_ARRAY_FORMATS];
#if CUDA_VERSION >= 12090
    CUlogsCallbackHandle driver_log;
#endif
};

typedef struct culvi_peer culvi_peer;
typedef struct culvi_relay culvi_relay;

/* What the graphics side can say about a device that was not found: asked only then. */
typedef struct culvi_graphics_side {
    void (*describe)(const struct culvi_graphics_side *self, const culvi_voice *voice,
                     const culvi_probe *probe, culvi_text *description, culvi_text *hint);
    const void *context;
    const void *device;
} culvi_graphics_side;

culv_result culvi_device_open(const culv_uuid *uuid, int32_t ordinal, const culvi_graphics_side *side,
                              const culv_device_desc *desc, culv_device **out);
void culvi_device_ref(culv_device *device);
void culvi_device_unref(culv_device *device);

/* Makes the device's context current and lets CUDA calls pass in spite of a stream capture elsewhere (R8). */
typedef struct culvi_scope {
    bool pushed;
    bool relaxed;
    CUstreamCaptureMode mode;
} culvi_scope;

culv_result culvi_enter(culv_device *device, culvi_scope *scope, const char *object);
/* The same for destroys, which have no error to report (R2, R3). */
CUresult culvi_enter_quietly(culv_device *device, culvi_scope *scope);
void culvi_leave(culv_device *device, culvi_scope *scope);
/* The same for the frame path: nothing but the context, and that only when it is not current already. */
CUresult culvi_enter_frame(const culv_device *device, bool *pushed, const char **call);
void culvi_leave_frame(const culv_device *device, bool pushed);

/* Calls a driver function with a trace line. */
#define CULVI_CU(device, function, arguments)                                                                \
    (culvi_log(&(device)->voice, CULV_LOG_DEBUG, "%s%s", #function, #arguments),                             \
     (device)->cuda->function arguments)

/* The same for what a context takes with it: handles of a lost one must not reach the driver, which would crash on them
 * (measured). */
#define CULVI_RELEASE(device, function, arguments)                                                           \
    ((device)->lost ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CULVI_CU(device, function, arguments))

/* Records the failure of a driver call: `refused` is the reason unless the code itself tells a better one. */
culv_result culvi_fail_cuda(const culv_device *device, const char *object, CUresult code, const char *call,
                            culv_reason refused, const char *format, ...) CULVI_PRINTF(6, 7);
/* An error that stays with the context: work is over there, and destroying is all that is left (R2). */
bool culvi_cuda_sticky(CUresult code);
/* The context or the driver is gone: there is nothing left to release (R3). */
bool culvi_cuda_gone(CUresult code);

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

/* An import of a handle; `what` is "memory" or "semaphore". */
typedef struct culvi_import {
    const char *what;
    const char *call;  /* the driver's function */
    const char *field; /* where the handle came in */
    const culv_handle *handle;
    culvi_handle_facts facts; /* of the handle, by culvi_import_check() */
    const char *label;
    uint64_t *count; /* of the device's, counted up by a success */
    bool take;       /* close the caller's handle after a success */
    bool lent;       /* the driver does not keep file descriptors of this kind */
    CUresult (*give)(culv_device *device, const culv_handle *duplicate, void *object);
    void (*describe)(const void *object, culvi_text *text); /* what the handle should have been */
} culvi_import;

culv_result culvi_import_check(const culv_device *device, culvi_import *import, const culv_uuid *exporter);
/* On success the device has one reference more, the object's. */
culv_result culvi_import_run(culv_device *device, const culvi_import *import, void *object);

struct culv_memory {
    culv_device *device;
    char label[64];
    CUexternalMemory external;
    uint64_t size;
    bool own;        /* CUDA's own, for a fallback: no import; `base` is allocated, arrays are created */
    void *host;      /* or pages of the host's, of which `base` is CUDA's address: no import; NULL: neither */
    void *block;     /* those pages are Culvert's, and go last */
    bool registered; /* guarded by the device's lock: CUDA knows of those pages */
    bool dedicated;
    culv_handle_type handle_type; /* what it was imported by; CUDA maps no arrays on a dma-buf (cuda.h) */
    /* Guarded by the device's lock. */
    uint32_t refs;            /* the caller's handle, each buffer, each image */
    uint32_t buffers;         /* mapped ranges alive, deferred ones included */
    uint32_t holders;         /* as refs, without what was given up and is deferred */
    CUdeviceptr base;         /* the one mapping of all of it; 0 when not mapped */
    culv_memory *mapped_next; /* culv_device::mapped */
    bool waiting;             /* on the retired list after a refused release */
    /* An acquired import can be found while it has holders. */
    struct culv_memory *shared_next;
    uint64_t shared_owner; /* culv_vk::id; 0: it was not acquired */
    uint64_t shared_key;   /* VkDeviceMemory */
    culvi_retired retired;
};

/* Memory of CUDA's own, allocated by the first mapping. NULL: out of host memory (recorded). */
culv_memory *culvi_memory_own(culv_device *device, uint64_t size, const char *label);
/* Pages of the host's, `size` whole ones, registered by the first mapping. `block`: culvi_free() it in the end, or NULL.
 * NULL: out of host memory (recorded), and `block` is still the caller's. */
culv_memory *culvi_memory_host(culv_device *device, void *pages, uint64_t size, void *block,
                               const char *label);
/* Maps, allocates or registers all of it, once. The caller holds the lock. */
culv_result culvi_memory_map(culv_memory *memory);
/* Whether an import of the device's is mapped at this address. Takes the lock. */
bool culvi_memory_is_import(culv_device *device, CUdeviceptr pointer);

/* An acquired import, with one reference more, or NULL; and making one that can be found. The caller holds the lock. */
culv_memory *culvi_memory_find_shared(culv_device *device, uint64_t owner, uint64_t key);
void culvi_memory_share(culv_memory *memory, uint64_t owner, uint64_t key);
/* One holder less. The caller holds the lock. */
void culvi_memory_let_go(culv_memory *memory);

/* Releases at the driver what nobody needs any more, or leaves it to a later call. The caller holds the lock.
 */
void culvi_memory_settle(culv_memory *memory, bool entered, bool last_try);

struct culv_buffer {
    culv_memory *memory;
    uint64_t size;
    CUdeviceptr pointer;
    bool owned;                    /* by an object of Culvert's, which unmaps it */
    struct culvi_staging *staging; /* NULL: it is shared */
    char label[64];
    culvi_retired retired;
};

/* A row of the format table (format_rows.h). Of a format that is not mapped the CUDA fields are 0. */
typedef struct culvi_format {
    culv_format format;
    const char *name;
    bool mapped;
    bool surfaces;
    bool dedicated; /* CUDA finds it in dedicated allocations alone */
    culv_texel_kind kind;
    CUarray_format cuda_format;
    CUarray_format normalized_format; /* 0: there is none */
    CUarray_format srgb_format;       /* of sRGB blocks: what CUDA has besides cuda_format; 0 of others */
    uint8_t channels;
    uint8_t normalized_channels;
    uint8_t block_bytes; /* of a texel, or of a block; 0 of several planes */
    uint8_t block_width, block_height;
    uint8_t planes;
    uint8_t aspects; /* VkImageAspectFlags */
    /* Of several planes: the bits that count in a word of a plane, and by what chroma's size is divided. */
    uint8_t plane_bits, chroma_across, chroma_down;
    uint16_t dxgi, gl;
    const char *channel_order;
    const char *kernel_type; /* "" without surfaces */
    culv_reason reason;
    const char *why;
} culvi_format;

/* NULL: not a number of Vulkan 1.3. */
const culvi_format *culvi_format_find(uint32_t number);
/* Of what an image's width and height are multiples, so that its chroma has whole texels. */
void culvi_format_divisors(const culvi_format *row, uint32_t *across, uint32_t *down);
/* The CUDA version that brought a CUarray_format; 0: every driver has it. */
uint32_t culvi_array_format_version(CUarray_format format);
/* Whether the device's driver has the array format of this form of a row (format_support.c); records why not. Asks the
 * driver once for each array format that not every driver has. Takes the lock for that. */
culv_result culvi_format_supported(culv_device *device, const culvi_format *row, culv_texels texels,
                                   const char *label);
/* Releases the arrays by which the driver was asked. No lock: the device has no users left. */
void culvi_formats_forget(culv_device *device);

typedef struct culvi_level {
    _Atomic(CUarray) array; /* NULL until asked for */
    _Atomic CUsurfObject surface;
} culvi_level;

/* A texture object that an image keeps. */
typedef struct culvi_texture {
    struct culvi_texture *next;
    culv_texture_desc key; /* every default made explicit */
    CUtexObject object;
} culvi_texture;

enum { CULVI_PLANES = 3 }; /* at most */

struct culv_image {
    culv_memory *memory;
    CUmipmappedArray
        arrays[CULVI_PLANES]; /* one, or one of each plane; NULL from the first that there is not */
    const culvi_format *row;
    culv_image_desc desc; /* every default made explicit; no label */
    bool surfaces;
    bool owned;
    bool
        packed; /* its one array is of its own, not of a mipmapped array, which it has not (fallback_image.c) */
    struct culvi_staging *staging; /* NULL: it is shared */
    char label[64];
    _Atomic(culvi_texture *)
        textures; /* grows by the head under the device's lock; never shrinks before the end */
    culvi_retired retired;
    uint32_t slots;
    culvi_level levels[]; /* of each, or of each plane of a format of several, which has one level */
};

static inline uint32_t culvi_image_slot(const culv_image *image, uint32_t level, uint32_t plane)
{
    return image->row->planes > 1 ? plane : level;
}

/* Bytes that the texels alone need, whatever the layout adds; UINT64_MAX: more than that. */
uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height, uint32_t depth,
                                uint32_t layers, uint32_t levels);
/* What CUDA is told of it, or of a plane of several. */
CUDA_ARRAY3D_DESCRIPTOR culvi_image_describe(const culv_image *image, uint32_t plane);
/* The array of a slot. In the device's context; the caller holds the lock. */
culv_result culvi_image_get_array(culv_image *image, uint32_t slot, CUarray *out);
/* Of culv_image_desc and culv_vk_image_desc: what says nothing of an image of so many planes is 0. */
culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets);
/* All arrays of an image. After an error those that were made are still there, until culvi_image_release_arrays(), which
 * may wait. The caller holds the lock. */
culv_result culvi_image_make_arrays(culv_image *image);
/* False: the driver refused for now. In the device's context; the caller holds the lock. */
bool culvi_image_release_arrays(culv_device *device, culv_image *image, bool last_try);
/* Gives up what was made on the image. False: the driver refused for now. The caller holds the lock. */
bool culvi_image_release_views(culv_device *device, culv_image *image, bool last_try);
uint32_t culvi_level_size(uint32_t size, uint32_t level);
/* Refuses an image whose format no CUDA array has (fallback.h). */
culv_result culvi_image_check_arrays(const culv_image *image);
/* Whether a call names an image, a level or plane of it, and an output. */
culv_result culvi_image_check_call(const culv_image *image, uint32_t index, uint32_t count, const char *what,
                                   const void *out, const char *call);

struct culv_semaphore {
    culv_device *device;
    CUexternalSemaphore external;
    culv_semaphore_type type;
    bool untracked;
    bool owned;
    culvi_relay *relay; /* NULL: it is shared */
    /* Timelines: the highest value told of, and the last one signalled here, which signals alone write, one at
     * a time. */
    _Atomic uint64_t noted;
    _Atomic uint64_t signalled;
    _Atomic uint32_t state; /* binary ones */
    char label[64];
    culvi_retired retired;
};

/* signal.c: what signals, waits and graph nodes check alike. TIMELINE_BACKWARDS; and points that are NULL, too many, of
 * several devices or the same twice, with *relayed for whether some are not shared (fallback.h). */
culv_result culvi_semaphore_check_rise(const culv_semaphore *semaphore, uint64_t value);
culv_result culvi_semaphore_check_batch(const culv_semaphore_point *points, uint32_t count, const char *call,
                                        bool *relayed);

/* The highest value that is known of a timeline. In the frame path. */
static inline uint64_t culvi_semaphore_last(const culv_semaphore *semaphore)
{
    uint64_t noted = atomic_load_explicit(&semaphore->noted, memory_order_relaxed);
    uint64_t signalled = atomic_load_explicit(&semaphore->signalled, memory_order_relaxed);
    return noted > signalled ? noted : signalled;
}

/* Who has signalled a binary semaphore without a wait since. */
enum { CULVI_UNSIGNALLED = 0, CULVI_SIGNALLED_BY_CUDA = 1, CULVI_SIGNALLED_BY_PEER = 2 };

/* Giving up what an object of Culvert's owns. */
void culvi_buffer_give_up(culv_buffer *buffer, bool has_last_use, CUstream last_use);
void culvi_image_give_up(culv_image *image, bool has_last_use, CUstream last_use);
void culvi_semaphore_give_up(culv_semaphore *semaphore, bool has_last_use, CUstream last_use);
/* Refuses what only its owner may give up. */
bool culvi_refuse_owned(const culv_device *device, const char *label, bool owned, const char *call,
                        const char *instead);

/* For messages. */
void culvi_stream_name(CUstream stream, char out[40]);
/* What keeps an event, or work that no graph can hold, off a stream. */
typedef enum culvi_capture {
    CULVI_NOT_CAPTURED,
    CULVI_CAPTURED,
    CULVI_WAITS_FOR_CAPTURED /* the legacy stream, which waits for one that is being captured */
} culvi_capture;

/* Asks the driver. In the context that the stream was made in. */
CUresult culvi_stream_capture(const culv_device *device, CUstream stream, culvi_capture *out);
/* Whether a stream was found to be of the device's context before. */
bool culvi_stream_known(const culv_device *device, CUstream stream);
/* Makes the context current for one call on a stream, which must be of the device's. In the frame path. */
culv_result culvi_enter_stream(culv_device *device, const char *object, CUstream stream, bool *pushed);
/* After a refusal: the handle may by now be another stream's than the one that was checked. */
culv_result culvi_recheck_stream(culv_device *device, const char *object, CUstream stream);

/* Levels of a whole chain down to one texel. */
uint32_t culvi_image_most_levels(uint32_t width, uint32_t height, uint32_t depth);

#define CULVI_CONTAINER(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Refuses an exporter that is not this device. */
culv_result culvi_check_exporter(const culv_device *device, const char *object, const culv_uuid *exporter,
                                 const char *what);

#endif
