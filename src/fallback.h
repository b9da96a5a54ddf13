/* What stands behind objects that are not shared: memory of CUDA's own, and what it is copied to and from.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_FALLBACK_H_
#define CULVI_FALLBACK_H_

#include "culvert/fallback.h"
#include "object.h"

/* One level of one plane of an image, as copies see it: rows of blocks without padding. */
typedef struct culvi_part {
    uint32_t level, plane;
    uint32_t slot;          /* of culv_image::levels */
    uint32_t aspect;        /* VkImageAspectFlagBits */
    uint32_t width, height; /* texels of the plane */
    uint32_t depth;
    uint32_t layers;
    uint32_t block_bytes, block_width, block_height;
    uint32_t rows;
    uint64_t row_bytes;
    uint64_t offset; /* in the block of all parts */
} culvi_part;

static inline uint32_t culvi_part_slices(const culvi_part *part)
{
    return part->depth * part->layers; /* one of them is 1 */
}

static inline uint64_t culvi_part_size(const culvi_part *part)
{
    return part->row_bytes * part->rows * culvi_part_slices(part);
}

/* Host-visible memory of the graphics API's: how to free it after CUDA has let go of it. All zero: none. */
typedef struct culvi_mapping {
    void (*release)(const struct culvi_mapping *self);
    void (*free_memory)(void); /* the API's function */
    void *device;
    uint64_t memory;
    const void *holder; /* culvi_retired::holder: the API's device must still be there */
} culvi_mapping;

/* Of a buffer or an image that is not shared. Immutable once made, until it is released. */
typedef struct culvi_staging {
    culv_path path;
    culv_buffer *peer_buffer; /* PEER: one of the two, shared on its own GPU; owned */
    culv_image *peer_image;
    void *block; /* HOST: pages of Culvert's, NULL where the memory is Vulkan's */
    void *host;  /* HOST: where the copies go, of `size` bytes */
    uint64_t size;
    culvi_mapping vulkans; /* HOST, where there is no block */
    bool registered;       /* at CUDA: the copies are asynchronous */
    bool counted;          /* among the device's allocations */
    bool linear;           /* an image without arrays: its device memory lies as the host's does */
    uint32_t num_parts;    /* images */
    culvi_part parts[];
} culvi_staging;

/* Room for an image's parts, all of them filled in; a buffer has none (row NULL) and *size in. NULL: out of host memory
 * (recorded). *size becomes that of the block of all parts. */
culvi_staging *culvi_staging_new(culv_device *device, culv_path path, const char *label,
                                 const culvi_format *row, const culv_image_desc *desc, uint64_t *size);
/* Tells CUDA of staging->host. Where CUDA takes it not, copies take a detour, and the log says so. */
culv_result culvi_staging_register(culv_device *device, culvi_staging *staging, const char *label);
/* Of one that has no buffer or image yet. */
void culvi_staging_discard(culv_device *device, culvi_staging *staging);
/* Frees CUDA's own memory first, which waits for the copies, then the rest and the staging itself. False: the driver
 * refused for now. In the device's context; the caller holds the lock. */
bool culvi_staging_release(culv_device *device, culv_memory *memory, culvi_staging **staging, bool last_try);

/* An image without arrays: as culv_image_map(), for formats that CUDA has not. `memory` is CUDA's own, as big as the
 * block of all parts. On success the image has the staging. */
culv_result culvi_image_make_linear(culv_memory *memory, const culvi_format *row, const culv_image_desc *desc,
                                    culvi_staging *staging, culv_image **out);
/* Packed 4:2:2 in CUDA's own memory is one array, which is no mipmapped one: drivers refuse those of video formats
 * (measured). In the device's context; the caller holds the lock. */
CUresult culvi_image_create_packed(culv_image *image);
/* True of others. False: the driver refused for now. */
bool culvi_image_destroy_packed(culv_device *device, culv_image *image, bool last_try);
/* Gives a mapped image its staging; all its arrays are known then, and copies ask for none. */
culv_result culvi_image_set_staging(culv_image *image, culvi_staging *staging);

/* Peers ------------------------------------------------------------------------------------------------------ */

/* Another GPU of the same driver, as a device's list has it. Guarded by that device's lock. */
struct culvi_peer {
    struct culvi_peer *next;
    culv_uuid uuid;
    culv_device *device; /* while it has users */
    uint32_t users;
    enum { CULVI_PEER_UNKNOWN, CULVI_PEER_GOOD, CULVI_PEER_WRONG } verdict;
    char why[400]; /* it is wrong */
};

/* Opens the GPU with this UUID. The caller holds the lock. */
culv_result culvi_peer_acquire(culv_device *device, const culv_uuid *uuid, const char *label,
                               culvi_peer **out);
/* Verifies copies by data, once a pair (R37). The caller holds the lock. */
culv_result culvi_peer_verify(culv_device *device, culvi_peer *peer, const char *label);
/* Returns the other GPU's device when this was its last user, or NULL: to be closed without the lock, since that may
 * wait. The caller holds the lock. */
culv_device *culvi_peer_release(culv_device *device, culvi_peer *peer);
/* With the device. */
void culvi_peers_free(culv_device *device);

/* Semaphores ------------------------------------------------------------------------------------------------- */

enum { CULVI_RELAY_LANES = 4 };

/* What a semaphore of the graphics API does by the host: run in host functions, where no CUDA call is allowed (R3).
 * 0 is success. */
typedef struct culvi_host_semaphore {
    void *context;
    const char *signal_call, *wait_call; /* for messages */
    culv_api api;
    int (*signal)(void *context, uint64_t value);
    int (*wait)(void *context, uint64_t value);
    bool (*reached)(void *context, uint64_t value); /* asked before a wait is put into the stream */
    void (*release)(void *context); /* destroys it, once no host function will call it any more */
    const void *holder;             /* culvi_retired::holder: what the calls need */
} culvi_host_semaphore;

/* A signal or wait on its way; kept for the next one. */
typedef struct culvi_request {
    struct culvi_request *next;
    struct culvi_relay *relay;
    culvi_mutex running; /* held by the host function */
    CUevent done;        /* behind the host function */
    uint64_t value;
    bool wait;
    atomic_bool pending;
    atomic_bool begun; /* its host function has */
} culvi_request;

/* In what order a peer's stream waits: no wait stands behind one for a higher value. */
typedef struct culvi_lane {
    CUstream stream;
    CUevent event;
    uint64_t last;
} culvi_lane;

/* Of a semaphore that is not shared. */
struct culvi_relay {
    culv_path path;
    culvi_mutex lock; /* guards what follows */
    /* PEER */
    culv_device *there;   /* the other GPU; a reference */
    culv_semaphore *peer; /* shared on its own GPU; owned */
    CUevent before;       /* the device's: where the signal was called */
    CUstream signals;     /* the peer's */
    uint32_t num_lanes;
    culvi_lane lanes[CULVI_RELAY_LANES];
    /* HOST */
    culvi_host_semaphore host;
    culvi_request *requests;
    atomic_int failed; /* what a host function was answered, the first failure */
    atomic_bool failed_wait;
    atomic_bool released; /* `host` is: a host function that comes all the same does nothing */
};

/* A semaphore of the device that signals and waits through another GPU's, which is its own then, or through `host`. */
culv_result culvi_relay_semaphore(culv_device *device, culv_semaphore_type type, uint64_t value,
                                  bool untracked, const char *label, culv_semaphore *peer,
                                  const culvi_host_semaphore *host, culv_semaphore **out);
culv_result culvi_relay_submit(culv_semaphore *semaphore, CUstream stream, uint64_t value, bool signal);
/* HOST: waits until no host function is on its way any more; other paths do not wait. Takes no lock of the device's. */
void culvi_relay_quiesce(culv_semaphore *semaphore);
/* False: the driver refused for now. In the device's context; the caller holds the lock. */
bool culvi_relay_release(culv_device *device, culvi_relay **relay, bool last_try);

/* Attempts --------------------------------------------------------------------------------------------------- */

/* Between the two, failures are logged as news, not as errors: something else may still be tried. */
void culvi_attempt_begin(void);
/* A failure is an error after all. */
culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result);

#endif
