/* SPDX-License-Identifier: MIT */
/* culv_semaphore: an import, and what is known of its state. */
#ifndef CULVI_CORE_SEMAPHORE_H_
#define CULVI_CORE_SEMAPHORE_H_

#include "core/words.h"
#include "cuda/retire.h"
#include "culvert/semaphore.h"

typedef struct culvi_relay culvi_relay; /* core/relay.h */

struct culv_semaphore {
    culv_device *device;
    const culvi_words *words; /* of the API that made it */
    CUexternalSemaphore external;
    culv_semaphore_type type;
    bool untracked;
    bool owned;
    culvi_relay *relay; /* NULL: it is shared */
    /* Timelines: the highest value told of, and the last one signaled here, which signals alone
     * write, one at a time. */
    _Atomic uint64_t noted;
    _Atomic uint64_t signaled;
    _Atomic uint32_t state; /* binary ones */
    char label[64];
    culvi_deferred deferred;
};

/* Imports what an API has exported a moment ago for this call alone (culvi_import_trust()), of a
 * type that was checked; its words. The handle is gone, whatever the result. */
culv_result culvi_semaphore_import_exported(culv_device *device, const culvi_words *words,
                                            const culv_semaphore_desc *d, culv_semaphore **out);

/* signal.c: what signals, waits and graph nodes check alike. TIMELINE_BACKWARDS; and points that
 * are NULL, too many, of several devices or the same twice, with *relayed for whether some are not
 * shared (core/staging.h). */
culv_result culvi_semaphore_check_rise(const culv_semaphore *semaphore, uint64_t value);
culv_result culvi_semaphore_check_batch(const culv_semaphore_point *points, uint32_t count,
                                        const char *call, bool *relayed);

/* The highest value that is known of a timeline. In the frame path. */
static inline uint64_t culvi_semaphore_last(const culv_semaphore *semaphore)
{
    uint64_t noted = atomic_load_explicit(&semaphore->noted, memory_order_relaxed);
    uint64_t signaled = atomic_load_explicit(&semaphore->signaled, memory_order_relaxed);
    return noted > signaled ? noted : signaled;
}

/* Who has signaled a binary semaphore without a wait since. */
enum { CULVI_UNSIGNALED = 0, CULVI_SIGNALED_BY_CUDA = 1, CULVI_SIGNALED_BY_PEER = 2 };

/* Gives up what an object of Culvert's owns. */
void culvi_semaphore_release_or_defer(culv_semaphore *semaphore, bool has_last_use,
                                      CUstream last_use);

#endif
