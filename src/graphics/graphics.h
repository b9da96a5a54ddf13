/* What every attachment of a graphics API is: which API, which GPU, who holds it.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_GRAPHICS_GRAPHICS_H_
#define CULVI_GRAPHICS_GRAPHICS_H_

#include "core/peer.h"
#include "core/words.h"

typedef struct culvi_graphics culvi_graphics;

/* What one API does by its own calls. One constant table an API. Native objects are numbers here: a handle, a pointer, a
 * GL name. */
typedef struct culvi_graphics_api {
    const culvi_words *words;
    /* Frees the attachment, whose last reference is gone. The base is done with by then, all but its device. */
    void (*free)(culvi_graphics *graphics);
    /* Attaches the same native device to another culv_device, which is its own GPU. */
    culv_result (*attach_again)(culvi_graphics *graphics, culv_device *device, culvi_graphics **out);
    /* Timelines on the host; NULL where the API has none. They answer the API's own code, 0 for success. A wait that ran
     * out answers a positive one. */
    int (*timeline_value)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out);
    int (*timeline_wait)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                         uint64_t timeout_ns);
    int (*timeline_signal)(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value);
} culvi_graphics_api;

/* The first member of every attachment. */
struct culvi_graphics {
    const culvi_graphics_api *api;
    atomic_uint refs; /* the caller's handle and each object made with it */
    uint64_t id;      /* of its device's attachments: another one may get this address */
    culv_device *device;
    char name[256];
    culv_uuid uuid;
    uint64_t luid; /* Windows'; 0: not known */
    uint32_t node_mask;
    bool foreign; /* another GPU than the device */
    char label[64];
    /* Its own GPU in CUDA, and the attachment to that, for copies (core/staging.h). Guarded by the device's lock. */
    culvi_peer *peer;
    culvi_graphics *there;
};

/* An attachment is made in this order; before culvi_graphics_attached() it holds nothing and is simply freed. */
void culvi_graphics_init(culvi_graphics *graphics, const culvi_graphics_api *api, culv_device *device,
                         const char *label);
/* Sets `foreign`. Without a fallback another GPU than the device is refused. The name and the UUID are set. */
culv_result culvi_graphics_identify(culvi_graphics *graphics, uint32_t fallback);
/* Counts it: from here on it goes by culvi_graphics_unref(). */
void culvi_graphics_attached(culvi_graphics *graphics);

void culvi_graphics_ref(culvi_graphics *graphics);
void culvi_graphics_unref(culvi_graphics *graphics);
/* Of objects that Culvert made with it. */
void culvi_graphics_count_created(culvi_graphics *graphics, bool more);

/* The attachment of this native device to the CUDA device that is its own GPU, kept; copies to it are verified. */
culv_result culvi_graphics_peer(culvi_graphics *graphics, const char *label, culvi_graphics **out);

#endif
