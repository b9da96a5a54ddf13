/* SPDX-License-Identifier: MIT */
/* culv_ipc_server: its offers and its connections. */
#ifndef CULVI_IPC_SERVER_H_
#define CULVI_IPC_SERVER_H_

#include "cuda/device.h"
#include "culvert/ipc_cuda.h"
#include "culvert/ipc_ring.h"
#include "ipc/ipc_channel.h"

/* The server's end of a connection. */
typedef struct culvi_ipc_link {
    culvi_ipc_channel channel; /* CULVI_IPC_NO_CHANNEL: free */
    bool greeted;
    uint64_t arrived; /* counts connections: the oldest is known by it */
    int32_t pid;
    uint32_t user;
    culv_uuid device; /* all zero: it has none */
} culvi_ipc_link;

typedef struct culvi_ipc_offer {
    struct culvi_ipc_offer *next;
    culv_ipc_info info;
    culv_handle handle;     /* of one thing, owned */
    culv_vector *vector;    /* the caller's */
    culv_ipc_ring *ring;    /* a ring's own offer */
    culv_ipc_ring *belongs; /* a thing in a slot of this ring */
    unsigned char data[CULVI_IPC_DATA];
} culvi_ipc_offer;

struct culv_ipc_server {
    uint32_t refs; /* the caller's handle, and rings */
    culv_device *device;
    char label[64];
    culvi_ipc_users users;
    culvi_ipc_door *door;
    int32_t driver; /* CUDA's version, for the greeting */
    uint64_t arrivals;
    uint32_t max_clients;
    uint64_t num_offers;
    culvi_ipc_offer *offers; /* in the order of their making */
    culv_ipc_ring *rings;
    culvi_ipc_link links[CULV_IPC_MAX_CLIENTS];
};

void culvi_ipc_server_unref(culv_ipc_server *server);
/* Begins an offer with what the caller says of it. */
culv_result culvi_ipc_offer_begin(culv_ipc_server *server, const culv_ipc_info *info,
                                  culvi_ipc_offer *out);
/* Takes the offer, whose info is complete. Refuses what makes no sense and names that are taken;
 * the handle is the caller's then. */
culv_result culvi_ipc_offer_add(culv_ipc_server *server, const char *call,
                                const culvi_ipc_offer *offer);
culvi_ipc_offer *culvi_ipc_offer_find(culv_ipc_server *server, const char *name);
void culvi_ipc_offer_remove(culv_ipc_server *server, const culvi_ipc_offer *offer);
/* Ends a connection; `why` is for the log, NULL when the client left by itself. */
void culvi_ipc_link_drop(culv_ipc_server *server, culvi_ipc_link *link, const char *why);

#endif
