/* SPDX-License-Identifier: MIT */
/* Semaphores that are not shared: signals and waits go through another GPU or through the host. */
#ifndef CULVI_CORE_RELAY_H_
#define CULVI_CORE_RELAY_H_

#include "core/semaphore.h"
#include "culvert/shared.h"

enum { CULVI_RELAY_LANES = 4 };

/* What the host does with a semaphore of the graphics API. These calls run in host functions, which
 * may not call CUDA (R3). 0 is success. */
typedef struct culvi_host_semaphore {
    void *context;
    const culvi_words *words;
    int (*signal)(void *context, uint64_t value);
    int (*wait)(void *context, uint64_t value);
    /* called before a wait is put into the stream */
    bool (*reached)(void *context, uint64_t value);
    void (*release)(void *context); /* destroys it once no host function will call it */
    const void *holder;             /* culvi_deferred::holder: what the calls need */
} culvi_host_semaphore;

/* A signal or wait under way; the struct is kept for the next one. */
typedef struct culvi_request {
    struct culvi_request *next;
    struct culvi_relay *relay;
    culvi_mutex running; /* held by the host function */
    CUevent done;        /* behind the host function */
    uint64_t value;
    bool wait;
    atomic_bool pending;
    atomic_bool begun; /* its host function has finished */
} culvi_request;

/* The order in which a peer's stream waits: no wait comes after one for a higher value. */
typedef struct culvi_lane {
    CUstream stream;
    CUevent event;
    uint64_t last;
} culvi_lane;

/* Data of a semaphore that is not shared. */
struct culvi_relay {
    culv_sharing path;
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
    atomic_bool released; /* `host` is gone; a host function that still runs does nothing */
};

/* A semaphore of the device that signals and waits through another GPU's semaphore, which it then
 * owns, or through `host`. */
culv_result culvi_relay_semaphore(culv_device *device, const culvi_words *words,
                                  culv_semaphore_type type, uint64_t value, bool untracked,
                                  const char *label, culv_semaphore *peer,
                                  const culvi_host_semaphore *host, culv_semaphore **out);
/* PREPARE makes every check and creates what the submission needs. SUBMIT is only for what was
 * prepared. */
enum { CULVI_RELAY_PREPARE = 1, CULVI_RELAY_SUBMIT = 2 };
culv_result culvi_relay_submit(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                               bool signal, unsigned steps);
/* HOST: waits until no host function is pending. The other kinds do not wait. Does not take the
 * device's lock. */
void culvi_relay_quiesce(culv_semaphore *semaphore);
/* False: the driver refused for now. In the device's context; the caller holds the lock. */
bool culvi_relay_release(culv_device *device, culvi_relay **relay, bool last_try);

#endif
