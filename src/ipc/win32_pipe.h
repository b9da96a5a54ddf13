/* SPDX-License-Identifier: MIT */
/* Named pipes of Windows: one end of a connection. */
#ifndef CULVI_IPC_WIN32_PIPE_H_
#define CULVI_IPC_WIN32_PIPE_H_

#include "ipc/ipc_channel.h"

#include <windows.h>

enum {
    /* Behind a message's bytes are the numbers that its handles have in the sender's process. */
    CULVI_IPC_FRAME = CULVI_IPC_BYTES + CULVI_IPC_FDS * 8,
    CULVI_IPC_PIPE_ROOM = 64 * CULVI_IPC_FRAME /* of messages that nobody has read */
};

/* What the kernel writes to while a read is under way, so it stays in place. */
typedef struct culvi_ipc_pipe {
    HANDLE pipe;
    HANDLE process; /* the other one: to fetch handles from; NULL: it may not be opened */
    HANDLE event;   /* set when a read is over; the door's, or its own */
    HANDLE own_event;
    struct culvi_ipc_pipe **place; /* in the door's set */
    bool server;
    FILETIME since; /* a client's: when it reached the server */
    bool reading;   /* a read was posted, and what came of it was not looked at */
    bool listening; /* the same of a client that is to come */
    OVERLAPPED read;
    unsigned char bytes[CULVI_IPC_FRAME];
    /* Handles that were sent: the other side fetches them. They stay until it must have done so: a
     * server's until the next question, a client's until its next one. */
    HANDLE sent[CULVI_IPC_FDS];
    size_t num_sent;
} culvi_ipc_pipe;

/* The name of every server's pipe begins so; the server's name follows. */
#define CULVI_IPC_PIPE_PREFIX "culvert."
enum { CULVI_IPC_PIPE_NAME = 16 + CULV_IPC_NAME_SIZE };
void culvi_ipc_pipe_name(const culvi_ipc_address *address, wchar_t out[CULVI_IPC_PIPE_NAME]);
/* Whether something is there to be read, or the connection is over. */
bool culvi_ipc_pipe_ready(culvi_ipc_pipe *pipe);
/* Posts the first read. */
bool culvi_ipc_pipe_begin(culvi_ipc_pipe *pipe);
/* Returns how long to wait until then: at most an hour, so ask again. */
DWORD culvi_ipc_milliseconds(uint64_t until);

/* The user of a process: 0 for this one's. False: the system does not tell. */
bool culvi_ipc_process_user(HANDLE process, uint32_t *user);

/* Another handle of this process's for what `process` has by that number. False: GetLastError(). */
bool culvi_ipc_pull(HANDLE process, uint64_t number, HANDLE *out);

#endif
