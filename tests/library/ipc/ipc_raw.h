/* SPDX-License-Identifier: MIT */
/* Peers of the protocol that are no library's: any bytes with any descriptors. */
#ifndef CULVERT_TESTS_IPC_RAW_H_
#define CULVERT_TESTS_IPC_RAW_H_

#include "ipc_stage.h"

#include "ipc/ipc_channel.h"

#include <sys/socket.h>
#include <sys/un.h>

struct sockaddr_un raw_address(const char *name, socklen_t *length);
int raw_socket(void);
int raw_connect(const char *name);
/* False: the other side closed, or lets no descriptors in. */
bool raw_send(int fd, const void *bytes, size_t size, const int *fds, size_t count);
culvi_ipc_message raw_message(culvi_ipc_type type);
bool raw_send_message(int fd, const culvi_ipc_message *m, const int *fds);
/* A server's answer, which must be there. Its descriptors are closed. */
culvi_ipc_message raw_answer(int fd);
/* Whether the other side has closed the connection. */
bool raw_closed(int fd);

/* A TCP socket whose close() waits, for longer than the case lasts, till the gate is closed. */
typedef struct raw_linger {
    int fd, gate;
} raw_linger;

raw_linger raw_linger_make(void);
/* A Unix socket that has it in its queue. */
int raw_linger_wrap(const raw_linger *l);
/* Closes both. Whoever waits in close() goes on. */
void raw_linger_open(raw_linger *l);

#endif
