/* SPDX-License-Identifier: MIT */
/* A buffer or an image of a graphics API that is registered with CUDA, and that CUDA has from a map
 * to an unmap. What it gives out is a culv_buffer or a culv_image like any other, which has nothing
 * behind it while it is not mapped. */
#ifndef CULVI_CORE_REGISTERED_H_
#define CULVI_CORE_REGISTERED_H_

#include "core/buffer.h"
#include "core/image.h"

typedef struct culvi_registered {
    /* What each map and unmap reads comes first and lies together: 64 of them in one call would
     * not stay in the cache otherwise. */
    culv_device *device;
    CUgraphicsResource resource;
    culv_image *image; /* NULL: it is a buffer */
    uint64_t size;     /* of the buffer */
    CUstream stream;   /* of the last map or unmap */
    unsigned flags;    /* CUgraphicsRegisterFlags */
    bool mapped;
    bool used; /* something was made on the image and must go before the next map */
    culv_buffer buffer;
    culv_memory memory; /* what its buffer or image lies in: no import, and never released */
    /* Passed when CUDA's last use of what was made on the image is over; NULL: not needed yet */
    CUevent last_use;
} culvi_registered;

/* Makes the driver's registration; in the device's context. */
typedef CUresult (*culvi_register_fn)(const culv_device *device, const void *what, unsigned flags,
                                      CUgraphicsResource *out);
typedef struct culvi_register_plan {
    const culvi_words *words;
    const char *destroy_call; /* of the registration */
    const char *label;
    const culv_image_desc *image; /* NULL: a buffer; every default made explicit */
    const culvi_format *row;
    uint64_t size; /* of a buffer */
    unsigned flags;
    culvi_register_fn make;
    const void *what;
    const char *call; /* the driver's, for messages */
    /* Explains the driver's answer in words: what it means and what to do. NULL: nothing to say */
    const char *(*explain)(CUresult code);
} culvi_register_plan;

/* `r` is all zeros. On failure nothing of it is left. */
culv_result culvi_registered_make(culv_device *device, const culvi_register_plan *plan,
                                  culvi_registered *r);
/* Unmaps it if need be, and gives it up. On failure it is as it was, but unmapped perhaps. With
 * `forget` no call reaches the driver's registration, which goes with its context. */
culv_result culvi_registered_release(culvi_registered *r, bool forget);

typedef struct culvi_registered_list {
    const void *list;
    uint32_t count; /* 1 or more */
    culvi_registered *(*of)(const void *list, uint32_t i);
    bool asks_capture; /* whether the stream is being captured, which a map would end */
} culvi_registered_list;

/* All or nothing, in one call of the driver. */
culv_result culvi_registered_map(const culvi_registered_list *list, CUstream stream,
                                 const char *call);
culv_result culvi_registered_unmap(const culvi_registered_list *list, CUstream stream,
                                   const char *call);
/* The array of one layer or face of a level, while it is mapped. */
culv_result culvi_registered_get_array(const culvi_registered *r, uint32_t layer, uint32_t level,
                                       CUarray *out, const char *call);
culv_result culvi_registered_set_flags(culvi_registered *r, unsigned map_flags);

#endif
