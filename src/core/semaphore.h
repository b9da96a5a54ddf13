/* SPDX-License-Identifier: MIT */
/* culv_semaphore: an import, and what is known about its state. */
#ifndef CULVI_CORE_SEMAPHORE_H_
#define CULVI_CORE_SEMAPHORE_H_

#include "core/import.h"
#include "cuda/retire.h"
#include "cuda/watch.h"
#include "culvert/semaphore.h"

typedef struct culvi_relay culvi_relay; /* core/relay.h */

struct culv_semaphore {
    culv_device *device;
    const culvi_words *words; /* of the API that made it */
    CUexternalSemaphore external;
    culv_semaphore_type type;
    bool untracked;
    bool across;          /* it is another GPU's */
    _Atomic bool arrives; /* culvi_arrive() comes before a signal */
    uint64_t exporter;    /* culvi_graphics::id of the attachment that exported it; 0: another's */
    const char *owner_destroy_call; /* as culv_buffer's */
    culvi_relay *relay;             /* NULL: it is shared */
    /* Timelines: the highest reported value, and the last value signaled here. Only signals write
     * the latter, one at a time. */
    _Atomic uint64_t noted;
    _Atomic uint64_t signaled;
    _Atomic uint32_t state;    /* binary ones */
    _Atomic uint64_t released; /* the same: the waits up to this one have CUDA's own signal */
    /* Reads the counter of a timeline where that costs no more than a look; NULL: it is not asked.
     * False: there is no answer. `release`, if there is one, ends the context's life. */
    struct {
        bool (*read)(void *context, uint64_t *out);
        void (*release)(void *context);
        void *context;
    } present;
    char label[64];
    culvi_wait_note waits;
    struct culv_semaphore *next, **link; /* culv_device::semaphores; NULL: it has a relay */
    culvi_source source;                 /* as culv_memory's */
    bool away;
    culvi_deferred deferred;
};

/* As culvi_memory_suspend() and its like. */
bool culvi_semaphore_suspend(culv_semaphore *semaphore);
culv_result culvi_semaphore_resume(culv_semaphore *semaphore);

/* Has culvi_arrive() come before each signal. */
culv_result culvi_semaphore_arrives(culv_semaphore *semaphore);
culv_result culvi_semaphore_check_type(const culvi_voice *voice, const char *label,
                                       const char *desc, culv_semaphore_type type);
/* Makes it known to the log and to whoever looks for waits. */
void culvi_semaphore_made(culv_semaphore *semaphore);

/* Remembers a wait that was submitted. The waits of a binary one are counted. Used in the frame
 * path. */
static inline void culvi_semaphore_waits(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    if (semaphore->type != CULV_SEMAPHORE_TIMELINE)
        value = atomic_load_explicit(&semaphore->waits.value, memory_order_relaxed) + 1;
    culvi_note_wait(&semaphore->waits, stream, value);
}

/* Whether CUDA was told to wait for this value of a timeline, or for a higher one. */
static inline bool culvi_semaphore_waits_for(const culv_semaphore *semaphore, uint64_t value)
{
    return atomic_load_explicit(&semaphore->waits.value, memory_order_relaxed) >= value;
}

/* Imports a handle that an API has just exported, only for this call (culvi_import_trust()). Its
 * type was checked; `words` are that API's, `exporter` is as in the struct. The handle is gone,
 * whatever the result. */
culv_result culvi_semaphore_import_exported(culv_device *device, const culvi_words *words,
                                            uint64_t exporter, const culv_semaphore_desc *d,
                                            culv_semaphore **out);

/* signal.c: the checks that signals, waits and graph nodes share. One refuses TIMELINE_BACKWARDS.
 * The other refuses points that are NULL, too many, of several devices, or the same twice; *relayed
 * says whether some are not shared (core/staging.h). */
culv_result culvi_semaphore_check_rise(const culv_semaphore *semaphore, uint64_t value);
culv_result culvi_semaphore_check_batch(const culv_semaphore_point *points, uint32_t count,
                                        const char *call, bool *relayed);

/* The highest known value of a timeline. Used in the frame path. */
static inline uint64_t culvi_semaphore_last(const culv_semaphore *semaphore)
{
    uint64_t noted = atomic_load_explicit(&semaphore->noted, memory_order_relaxed);
    uint64_t signaled = atomic_load_explicit(&semaphore->signaled, memory_order_relaxed);
    return noted > signaled ? noted : signaled;
}

/* Whether CUDA has been told to signal this value. */
static inline bool culvi_semaphore_is_to_signal(const culv_semaphore *semaphore, uint64_t value)
{
    return atomic_load_explicit(&semaphore->signaled, memory_order_relaxed) >= value;
}

/* Who has signaled a binary semaphore that nobody has waited for since. */
enum { CULVI_UNSIGNALED = 0, CULVI_SIGNALED_BY_CUDA = 1, CULVI_SIGNALED_BY_PEER = 2 };

/* Releases what an object of Culvert's owns. */
void culvi_semaphore_release_or_defer(culv_semaphore *semaphore, const CUstream *last_use);
/* Leaves it to a later collection, in which the driver waits by itself. */
void culvi_semaphore_put_off(culv_semaphore *semaphore);

/* Signals a timeline with `value`, on a stream of the call's own, in place of the side that was to
 * do it and never will. Does nothing where CUDA was told to signal as much. `value` of a binary
 * semaphore is the number of a wait. Waits for nothing and takes no lock. */
culv_result culvi_semaphore_unblock(culv_semaphore *semaphore, uint64_t value);
/* The value that streams were told to wait for and CUDA does not signal itself; 0: none. */
uint64_t culvi_semaphore_owed(culv_semaphore *semaphore);
/* The same for all semaphores of a lost exporter (culv_semaphore::exporter) that a stream was told
 * to wait for. A binary one is signaled once, since a second signal is lost while the first is
 * there; with `again` also where no wait came since the last time. */
void culvi_semaphores_unblock(culv_device *device, uint64_t exporter, bool again);

#endif
