/* SPDX-License-Identifier: MIT */
/* The producer's side of a ring: what it and its server know of its consumers. ring.c makes it and
 * lets them join, ring_frames.c hands the slots out. */
#ifndef CULVI_IPC_RING_SIDE_H_
#define CULVI_IPC_RING_SIDE_H_

#include "ipc/ipc_line.h"
#include "ipc/ipc_server.h"
#include "ring/ring.h"

enum { CULVI_IPC_COUNTERS, CULVI_IPC_CONSUMERS, CULVI_IPC_PRODUCERS }; /* who has the timelines */

typedef struct culvi_ipc_side {
    bool used;
    bool counts; /* it was seen to live: slots are kept for it */
    uint32_t link;
    uint64_t sequence; /* of its JOIN */
    uint32_t timelines;
    culv_ring_policy policy;
    uint64_t joined; /* number of the first frame that it gets */
    culvi_ipc_pages *pages;
    uint64_t arrived; /* counts joins: the oldest is known by it */
    culvi_ipc_line ready;
    /* How far the producer's graphics API has signaled `ready`; NULL: it does not tell. */
    culv_result (*reached)(void *context, uint64_t *value);
    void *context;
    /* These are the values that were seen last, and since when they are so. */
    uint64_t next, hold, done, taken, moved;
    /* Tells since when a slot is missing because of it; 0: none is. */
    culv_ipc_lag late;
    uint64_t late_since, logged;
} culvi_ipc_side;

struct culvi_ipc_ring {
    culvi_ring_apart side;
    culv_ipc_server *server;
    culvi_ipc_ring *next;
    char name[CULV_IPC_NAME_SIZE];
    uint32_t id; /* in the numbers of its consumers */
    uint32_t slots, parts, max_consumers;
    culv_ipc_ring_desc desc; /* its callbacks and its bound */
    culvi_ipc_native native; /* of the page, for those who join */
    culvi_ipc_pages *pages;
    culvi_ipc_line written; /* in the page, where streams write it */
    uint64_t head;
    bool held;
    bool late;       /* a consumer may be: its time is noted */
    bool stopped;    /* its server was destroyed; `server` is then what its own reference keeps */
    uint64_t logged; /* when it was told that this process itself is late */
    uint32_t slot;
    uint32_t left; /* pages that were given up, since they were collected */
    /* Pages that consumers have left. CUDA gives one up only when all streams are idle, so the next
     * consumer of that very process gets it. Nobody else does: whoever had it can still write. */
    culvi_ipc_pages *kept[CULV_IPC_MAX_CONSUMERS];
    uint32_t oldest; /* of these */
    culvi_ipc_side sides[CULV_IPC_MAX_CONSUMERS];
};

static inline culvi_ipc_ring_page *culvi_ipc_ring_page_of(const culvi_ipc_ring *ring)
{
    return ring->pages->map;
}

static inline culvi_ipc_consumer_page *culvi_ipc_page_of(const culvi_ipc_side *side)
{
    return side->pages->map;
}

static inline const culvi_voice *culvi_ipc_ring_voice(const culvi_ipc_ring *ring)
{
    return &ring->server->device->voice;
}

/* Whether consumers bring the handles of their timelines. */
static inline bool culvi_ipc_ring_takes_handles(const culvi_ipc_ring *ring)
{
    return ring->desc.make == NULL && !ring->desc.counters;
}

/* For its server ------------------------------------------------------------------------------- */

/* Admits a consumer of the connection number `link`. `handles` came with the question, and what is
 * to be kept is duplicated; `out` goes with the reply and is closed by the caller. */
culv_result culvi_ipc_ring_admit(culvi_ipc_ring *ring, uint32_t link,
                                 const culvi_ipc_message *question, const culvi_ipc_native *handles,
                                 culvi_ipc_message *reply, culvi_ipc_native out[CULVI_IPC_FDS]);
/* What a ring is without its server: consumers are told, offers are gone. Only
 * culv_ring_destroy() is left to do. */
void culvi_ipc_ring_stop(culvi_ipc_ring *ring);
/* A client takes a JOIN back, or leaves what it made. */
void culvi_ipc_ring_leave(culv_ipc_server *server, uint32_t link, uint64_t sequence);
/* A connection is over: its consumers are gone. */
void culvi_ipc_rings_forget(culv_ipc_server *server, uint32_t link);

/* For each other ------------------------------------------------------------------------------- */

/* The calls of the ring's core. */
extern const culvi_ring_apart_api culvi_ipc_ring_api;
void culvi_ipc_ring_end(culvi_ring_apart *side);
/* The producer's side that this is; NULL: it is another one, which is refused. */
culvi_ipc_ring *culvi_ipc_ring_of(const culv_ring *ring, const char *call);
/* Call it before what needs the server. */
culv_result culvi_ipc_ring_check_runs(const culvi_ring_apart *side, const char *call);
/* Consumers that have begun to live count from now on, those that have left are gone, and those
 * whose pages make no sense are dropped. */
void culvi_ipc_ring_look(culvi_ipc_ring *ring);
/* It looks at the pages. */
void culvi_ipc_ring_tell(const culvi_ipc_ring *ring, const culvi_ipc_side *side);

#endif
