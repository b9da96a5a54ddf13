/* SPDX-License-Identifier: MIT */
/* Peers of the protocol that are no library's: any bytes with any descriptors; and a server for
 * them. */
#ifndef CULVERT_TESTS_IPC_RAW_H_
#define CULVERT_TESTS_IPC_RAW_H_

#include "ipc_stage.h"

#include "ipc/ipc_channel.h"
#include "ipc/ipc_line.h"

#include <stdatomic.h>
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

/* A server with memory, a vector and a ring, its log, and what an attack has. */
enum { RAW_MOST = 128 };
typedef struct hostile {
    vmm_stage s;
    culv_device *device; /* of the server's; its log is counted */
    size_t lines, left_out, blamed;
    char blame[40]; /* part of a line; they are counted in `blamed` */
    char name[CULV_IPC_NAME_SIZE], closed_name[CULV_IPC_NAME_SIZE];
    culv_ipc_server *server, *closed; /* the second one does not admit this user */
    culv_ring *ring;
    culv_vmm_allocation *memory;
    culv_vector *vector;
    atomic_bool over; /* of the honest client */
    raw_linger linger[4];
    int pipe[2];
    int fds[RAW_MOST];
    size_t count;
} hostile;

void hostile_open(hostile *h);
void hostile_close(hostile *h);
/* The releases that are deferred on the server's device. */
void hostile_settle(const hostile *h);
/* A thread that serves until `over`. */
void *hostile_serve(void *h);
/* An honest client of the library: all of its calls succeed, and the data is right. */
void hostile_be_honest(hostile *h);
/* Closed with the attack. */
int hostile_keep(hostile *h, int fd);
/* A connection that was greeted. */
int hostile_greeted(hostile *h);
/* Whether the kernel keeps descriptors out of a socket (SO_PASSRIGHTS). */
bool hostile_has_door(void);
/* Four descriptors whose close() waits; or that many times one of them. */
void hostile_lingering(hostile *h, bool nested, int *fds, size_t count);
/* They are the server's alone now, as many as were let in. */
void hostile_sent(hostile *h, size_t let_in);
/* A consumer of one's own making: its page, and in `ring` (unless NULL) the descriptors of the
 * producer's and of its own. It gives no sign of life yet. */
culvi_ipc_consumer_page *hostile_join(hostile *h, int fd, uint32_t sequence,
                                      culv_ring_policy policy, int ring[2]);

#endif
