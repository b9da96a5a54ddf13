/* SPDX-License-Identifier: MIT */
/* Semaphores that are not shared: signals and waits go through another GPU's, or through the
 * host. */
#ifndef CULVI_CORE_RELAY_H_
#define CULVI_CORE_RELAY_H_

#include "core/semaphore.h"
#include "culvert/fallback.h"

enum { CULVI_RELAY_LANES = 4 };

/* What a semaphore of the graphics API does by the host: run in host functions, where no CUDA call
 * is allowed (R3). 0 is success. */
typedef struct culvi_host_semaphore {
    void *context;
    const culvi_words *words;
    int (*signal)(void *context, uint64_t value);
    int (*wait)(void *context, uint64_t value);
    bool (*reached)(void *context, uint64_t value); /* asked before a wait is put into the stream */
    void (*release)(void *context); /* destroys it, once no host function will call it any more */
    const void *holder;             /* culvi_deferred::holder: what the calls need */
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
    atomic_bool released; /* `host` is: a host function that comes all the same does nothing */
};

/* A semaphore of the device that signals and waits through another GPU's, which is its own then, or
 * through `host`. */
culv_result culvi_relay_semaphore(culv_device *device, const culvi_words *words,
                                  culv_semaphore_type type, uint64_t value, bool untracked,
                                  const char *label, culv_semaphore *peer,
                                  const culvi_host_semaphore *host, culv_semaphore **out);
/* PREPARE finds out all that is refused, and makes what the submission needs; SUBMIT alone is for
 * what was prepared. */
enum { CULVI_RELAY_PREPARE = 1, CULVI_RELAY_SUBMIT = 2 };
culv_result culvi_relay_submit(culv_semaphore *semaphore, CUstream stream, uint64_t value,
                               bool signal, unsigned steps);
/* HOST: waits until no host function is on its way any more; other paths do not wait. Takes no lock
 * of the device's. */
void culvi_relay_quiesce(culv_semaphore *semaphore);
/* False: the driver refused for now. In the device's context; the caller holds the lock. */
bool culvi_relay_release(culv_device *device, culvi_relay **relay, bool last_try);

#endif
