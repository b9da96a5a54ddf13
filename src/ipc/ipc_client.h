/* SPDX-License-Identifier: MIT */
/* culv_ipc_client: a connection, and what was received by it. */
#ifndef CULVI_IPC_CLIENT_H_
#define CULVI_IPC_CLIENT_H_

#include "culvert/ipc_ring.h"
#include "ipc/ipc_channel.h"

typedef struct culvi_ipc_consumer culvi_ipc_consumer;

/* A LEAVE that is still to be sent: the socket was full. */
typedef struct culvi_ipc_leave {
    struct culvi_ipc_leave *next;
    uint32_t sequence; /* of the JOIN that it takes back */
} culvi_ipc_leave;

struct culv_ipc_client {
    atomic_uint refs;    /* the caller's handle, vectors and consumers */
    culv_device *device; /* or NULL */
    char label[64];
    int32_t process;           /* a child of fork() has the connection, and it is not the child's */
    culvi_ipc_channel channel; /* CULVI_IPC_NO_CHANNEL: the connection is over */
    uint32_t sequence;
    int32_t server_pid;
    int32_t server_own_pid; /* as it says itself: another one in another PID namespace */
    uint32_t server_user;
    culv_uuid server_device;
    char over[192]; /* why the connection is over */
    bool ended;     /* the other side has ended it */
    culvi_ipc_leave *leaves;
    culvi_ipc_consumer *consumers; /* that are there */
};

struct culv_ipc_object {
    culv_device *device; /* or NULL */
    culv_ipc_info info;
    culv_handle handle;
    int32_t server_pid, server_own_pid;
    unsigned char data[CULVI_IPC_DATA]; /* of kinds that have plain bytes for a handle */
};

culv_ipc_client *culvi_ipc_client_ref(culv_ipc_client *client);
void culvi_ipc_client_unref(culv_ipc_client *client);
/* Asks, and waits for the answer: reply->type is that of the question. The handles of the answer
 * are the caller's. `handles` go with the question. */
culv_result culvi_ipc_ask(culv_ipc_client *client, const char *call, culvi_ipc_message *question,
                          const culvi_ipc_native *handles, uint64_t until, culvi_ipc_message *reply,
                          culvi_ipc_native got[CULVI_IPC_FDS]);
/* Takes a join back, now or as soon as the socket has room. The allocation is the client's. */
void culvi_ipc_take_back(culv_ipc_client *client, culvi_ipc_leave *leave);
/* The client goes before its consumer, whose streams wait for the producer no more. */
void culvi_ipc_consumer_over(culvi_ipc_consumer *consumer);
/* Takes in what came without being asked for. False: the connection is over. */
bool culvi_ipc_look(culv_ipc_client *client);

#endif
