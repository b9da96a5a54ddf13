/* SPDX-License-Identifier: MIT */
/* culv_registration, inside: a buffer or an image of a graphics API that is registered with CUDA,
 * and that CUDA has from a map to an unmap. What it gives out is a culv_buffer or a culv_image like
 * any other, which has nothing behind it while it is not mapped. */
#ifndef CULVI_CORE_REGISTRATION_H_
#define CULVI_CORE_REGISTRATION_H_

#include "core/image.h"
#include "culvert/shared.h"

/* What differs by API: one constant table for each. */
typedef struct culvi_registrar {
    const culvi_words *words;
    /* Explains the driver's answer to a registration in words: what it means and what to do. NULL
     * is returned where there is nothing to say. */
    const char *(*explain)(CUresult code);
    /* Before a map or an unmap: refuses a thread that may not make it, or, for a map, objects that
     * are not what was registered any longer. All of the list is of one attachment, and none of it
     * is NULL. `asks`: one of them has asks_caller. NULL: the API has nothing to ask. */
    culv_result (*check)(culv_registration *const *list, uint32_t count, bool asks, bool map,
                         const char *call);
    /* Releases it and frees it. On failure it stays. */
    culv_result (*destroy)(culv_registration *registration, const char *call);
} culvi_registrar;

/* The first, or a later, member of what an API allocates for it. */
struct culv_registration {
    /* What each map and unmap reads comes first and lies together: 64 of them in one call would
     * not stay in the cache otherwise. */
    const culvi_registrar *registrar;
    void *attachment; /* it was registered with; NULL: with none */
    culv_device *device;
    CUgraphicsResource resource;
    culv_image *image; /* NULL: it is a buffer */
    uint64_t size;     /* of the buffer */
    CUstream stream;   /* of the last map or unmap */
    bool mapped;
    bool used;        /* something was made on the image and must go before the next map */
    bool asks_caller; /* whether the thread may map, and the stream is not captured */
    culv_buffer buffer;
    culv_memory memory; /* what its buffer or image lies in: no import, and never released */
    /* Passed when CUDA's last use of what was made on the image is over; NULL: not needed yet */
    CUevent last_use;
    const char *owner_destroy_call; /* of the ring that has it; or NULL */
};

/* Makes the driver's registration; in the device's context. */
typedef CUresult (*culvi_register_fn)(const culv_device *device, const void *what, unsigned flags,
                                      CUgraphicsResource *out);
typedef struct culvi_register_plan {
    const culvi_registrar *registrar;
    void *attachment;
    const char *label;
    const culv_image_desc *image; /* NULL: a buffer; every default made explicit */
    const culvi_format *row;
    uint64_t size; /* of a buffer */
    unsigned flags;
    bool unchecked; /* the caller answers for the thread and the stream of each map */
    culvi_register_fn make;
    const void *what;
    const char *call; /* the driver's, for messages */
} culvi_register_plan;

/* `r` is all zeros. On failure nothing of it is left. */
culv_result culvi_registration_make(culv_device *device, const culvi_register_plan *plan,
                                    culv_registration *r);
/* Unmaps it if need be, and gives it up. On failure it is as it was, but unmapped perhaps. With
 * `forget` no call reaches the driver's registration, which goes with its context. */
culv_result culvi_registration_release(culv_registration *r, bool forget);
/* It is a part of what that call destroys: the calls for its parts name it. */
void culvi_registration_own(culv_registration *r, const char *destroy_call);
/* Refuses a number that is no culv_access; `what` has it. */
culv_result culvi_check_access(const culvi_voice *voice, const char *label, const char *what,
                               culv_access access);
/* For the maps to come, where a registration itself takes no such flags. */
culv_result culvi_registration_set_access(culv_registration *r, culv_access access);

#endif
