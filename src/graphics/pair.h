/* SPDX-License-Identifier: MIT */
/* Objects of two halves, a native one and CUDA's: buffers, images and semaphores that Culvert
 * makes. */
#ifndef CULVI_GRAPHICS_PAIR_H_
#define CULVI_GRAPHICS_PAIR_H_

#include "core/staging.h"
#include "culvert/shared.h"
#include "graphics/graphics.h"

/* A native buffer or image with memory of its own. */
struct culvi_native {
    uint64_t object;
    uint64_t memory; /* what is exported; an object that is its own memory */
    uint64_t size;   /* bytes of the memory */
    uint32_t usage;  /* it was made with, in the API's bits */
    bool is_image;
    bool dedicated;
    bool concurrent; /* several queue families share it: no barrier names one */
    uint64_t plane_offsets[CULVI_PLANES]; /* the offset of each plane that is bound separately */
};

/* What to make. */
struct culvi_plan {
    const char *label;
    const void *desc;      /* the API's own */
    const char *desc_name; /* "culv_vk_buffer_create_desc" */
    uint32_t fallback;
    bool only_host; /* copied through the host even where it could be shared */
    bool is_image;
    culv_sharing path;
    /* api->plan() fills in the rest. */
    uint32_t handle_types; /* the API's bits; 0: not exportable */
    bool dedicated;
    uint64_t size;           /* a buffer's */
    culv_image_desc image;   /* how CUDA maps it */
    const culvi_format *row; /* an image's */
    /* Tells on HOST whether CUDA has arrays of this format; otherwise its texels are in linear
     * memory */
    bool arrays;
};

/* What a culv_shared_buffer and a culv_shared_image are. */
typedef struct culvi_pair {
    culvi_graphics *graphics;
    culvi_native native;
    culvi_native stage;  /* HOST: what the native device copies from and to */
    culv_memory *import; /* or CUDA's own memory */
    culv_buffer *buffer; /* one of the two */
    culv_image *image;
    const char *owner_destroy_call; /* of the ring, bridge or shadow that has it; or NULL */
    bool borrowed;                  /* both halves are the caller's; there is no import */
} culvi_pair;

struct culv_shared_buffer {
    culvi_pair pair;
};

struct culv_shared_image {
    culvi_pair pair;
};

/* The native half of an object that this API made. NULL for NULL, and for another API's. */
static inline const culvi_native *culvi_buffer_half(const culv_shared_buffer *buffer,
                                                    const culvi_graphics_api *api)
{
    return buffer != NULL && buffer->pair.graphics->api == api ? &buffer->pair.native : NULL;
}

static inline const culvi_native *culvi_image_half(const culv_shared_image *image,
                                                   const culvi_graphics_api *api)
{
    return image != NULL && image->pair.graphics->api == api ? &image->pair.native : NULL;
}

static inline const char *culvi_pair_label(const culvi_pair *pair)
{
    return pair->image != NULL ? pair->image->label : pair->buffer->label;
}

/* Makes both halves, shared or with a fallback that the plan allows: all or nothing. `pair` must be
 * all zero. */
culv_result culvi_pair_make(culvi_graphics *graphics, culvi_plan *plan, culvi_pair *pair);
/* Both halves are made: counts the object and holds the attachment. */
void culvi_pair_made(culvi_pair *pair);
/* All of that. */
culv_result culvi_shared_buffer_create(culvi_graphics *graphics, culvi_plan *plan,
                                       culv_shared_buffer **out);
culv_result culvi_shared_image_create(culvi_graphics *graphics, culvi_plan *plan,
                                      culv_shared_image **out);
/* Releases both halves and frees the pair, or the struct whose first member it is. It may be
 * NULL. */
void culvi_pair_destroy(culvi_pair *pair, const CUstream *last_use);

/* Gives the object and its halves to another one, which `destroy_call` destroys. */
void culvi_pair_set_owner(culvi_pair *pair, const char *destroy_call);

/* Has CUDA map all of pair->import, only for this object. After an error the import is still
 * there. */
culv_result culvi_pair_map(culvi_pair *pair, const culvi_plan *plan);

struct culvi_semaphore_plan {
    const char *label;
    const char *desc_name;
    uint32_t fallback;
    culv_semaphore_type type;
    uint64_t initial_value;
    bool untracked;
};

/* What a culv_shared_semaphore is. */
typedef struct culvi_semaphore_pair {
    culvi_graphics *graphics;
    uint64_t native;
    culv_semaphore *cuda;
    const char *owner_destroy_call; /* as culvi_pair's */
} culvi_semaphore_pair;

struct culv_shared_semaphore {
    culvi_semaphore_pair pair;
};

/* As culvi_buffer_half(). 0: there is none. */
static inline uint64_t culvi_semaphore_half(const culv_shared_semaphore *semaphore,
                                            const culvi_graphics_api *api)
{
    return semaphore != NULL && semaphore->pair.graphics->api == api ? semaphore->pair.native : 0;
}

/* Refuses an object that another API made (shared.c). */
culv_result culvi_check_made_by(const culvi_graphics *maker, const culvi_graphics_api *api,
                                const char *label, const char *call);

/* Makes both halves, as culvi_shared_buffer_create(). */
culv_result culvi_shared_semaphore_create(culvi_graphics *graphics, culvi_semaphore_plan *plan,
                                          culv_shared_semaphore **out);
/* As culvi_pair_set_owner(). */
void culvi_semaphore_pair_set_owner(culvi_semaphore_pair *pair, const char *destroy_call);
void culvi_semaphore_pair_destroy(culvi_semaphore_pair *pair, const CUstream *last_use);
/* host_wait.c: the host waits, whichever side signals. As culvi_graphics_api::timeline_wait.
 * NVIDIA's vkWaitSemaphores returns up to 10 ms late for a value that CUDA signals (measured on an
 * H200, docs/waits.md), so for such a value this looks at the counter instead. Direct3D's waits are
 * not late, and Windows has no naps that are short enough. *call is the API's call that answered.
 */
int culvi_graphics_wait(const culvi_graphics *graphics, const culvi_semaphore_pair *pair,
                        uint64_t value, uint64_t timeout_ns, const char **call);

/* Chooses between sharing and the fallbacks (pair.c). */
culv_result culvi_check_fallback(const culvi_voice *voice, const char *label, const char *desc,
                                 uint32_t fallback);
/* Makes the object, in the ways SHARED, PEER and HOST: shared, or, if that is impossible, with a
 * fallback that `fallback` allows. The log says which one and why. */
typedef culv_result culvi_path_fn(void *object, void *plan);
culv_result culvi_try_paths(const culvi_graphics *graphics, const char *label, uint32_t fallback,
                            culvi_path_fn *const paths[3], void *object, void *plan);

#endif
