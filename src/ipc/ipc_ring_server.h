/* SPDX-License-Identifier: MIT */
/* What a server knows of its rings. */
#ifndef CULVI_IPC_RING_SERVER_H_
#define CULVI_IPC_RING_SERVER_H_

#include "culvert/ipc_ring.h"
#include "ipc/ipc_server.h"

/* Admits a consumer of the connection number `link`. `handles` came with the question, and what is
 * to be kept is duplicated; `out` goes with the reply and is closed by the caller. */
culv_result culvi_ipc_ring_admit(culvi_ipc_ring *ring, uint32_t link,
                                 const culvi_ipc_message *question, const culvi_ipc_native *handles,
                                 culvi_ipc_message *reply, culvi_ipc_native out[CULVI_IPC_FDS]);
/* The next one of its server's. */
const culvi_ipc_ring *culvi_ipc_ring_next(const culvi_ipc_ring *ring);
/* Whether consumers bring the handles of their timelines. */
bool culvi_ipc_ring_takes_handles(const culvi_ipc_ring *ring);
/* What a ring is without its server: consumers are told, offers are gone. Only
 * culv_ring_destroy() is left to do. */
void culvi_ipc_ring_stop(culvi_ipc_ring *ring);
/* A client takes a JOIN back, or leaves what it made. */
void culvi_ipc_ring_leave(culv_ipc_server *server, uint32_t link, uint64_t sequence);
/* A connection is over: its consumers are gone. */
void culvi_ipc_rings_forget(culv_ipc_server *server, uint32_t link);

#endif
