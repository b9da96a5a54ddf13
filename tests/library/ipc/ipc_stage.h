/* SPDX-License-Identifier: MIT */
/* What the suites of other processes share: a second process, and servers that answer it. */
#ifndef CULVERT_TESTS_IPC_STAGE_H_
#define CULVERT_TESTS_IPC_STAGE_H_

#include "library.h"
#include "vmm_stage.h"

#include "ipc/ipc_channel.h"
#include "ipc/ipc_line.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* Nanoseconds in which what must come does come. */
#define IPC_FAR (UINT64_C(1000000) * TEST_FAR_MS)

/* The other process of a case. Cases that have one are ".own": fork() must come before a driver is
 * opened. The child runs `role`, and ends as it returns. */
typedef struct ipc_child {
    pid_t pid;
    int told, tell; /* pipes: from it, to it */
} ipc_child;

typedef void (*ipc_role)(ipc_child *parent, const char *name);

void ipc_fork(ipc_child *child, ipc_role role, const char *name);
/* One byte to the other process, and one from it. ipc_heard() does not wait. */
void ipc_say(ipc_child *other, char word);
void ipc_hear(ipc_child *other, char word);
bool ipc_heard(ipc_child *other, char word);
/* Waits until it has ended, and requires that it did so well. */
void ipc_join(ipc_child *child);
/* The same, while the server answers it. */
void ipc_join_serving(ipc_child *child, culv_ipc_server *server);
void ipc_hear_serving(ipc_child *child, char word, culv_ipc_server *server);
void ipc_kill(ipc_child *child);
/* Closes the pipes, which stay open till then: who counts files counts them before and after. */
void ipc_forget(ipc_child *child);

/* The system call fails from now on (seccomp); skips where that cannot be. */
void ipc_forbid(unsigned call, unsigned error);
/* Whether this system lets the process make namespaces of these kinds (CLONE_NEW...). */
void ipc_need_namespaces(int kinds);
/* In a role: what follows runs in a child that is in such namespaces, and the role ends with it.
 * `offset`: the seconds by which a time namespace's clock is ahead. */
void ipc_contain(int kinds, unsigned offset);

/* A name for a server that no other test has at the same time. */
const char *ipc_name(char out[CULV_IPC_NAME_SIZE], const char *word);
culv_ipc_server *ipc_server(culv_device *device, const char *name);
culv_ipc_client *ipc_client(culv_device *device, const char *name);
culv_ipc_object *ipc_receive(culv_ipc_client *client, const char *name);
culv_ipc_info ipc_info_of(const culv_ipc_object *object);
void ipc_offer_vmm(culv_ipc_server *server, const char *name, culv_vmm_allocation *memory);
void ipc_serve(culv_ipc_server *server); /* what has come by now */

/* Has the twin play an IMEX channel; skips on hardware. Before a device is opened. */
void ipc_play_fabric(void);

/* In a stream, and waited for. */
void ipc_write(const lib_world *w, CUstream stream, CUdeviceptr at, size_t words, uint32_t seed);
void ipc_require(const lib_world *w, CUstream stream, CUdeviceptr at, size_t words, uint32_t seed);

/* One process of a case: a stage with a stream, a server or a client, and what the slots of a ring
 * "frames" of CUDA's hold. */
enum { IPC_SLOTS = 5, IPC_FRAMES = 40 };
typedef struct ipc_end {
    vmm_stage s;
    bool vulkan; /* s.w is a whole world */
    CUstream stream;
    ipc_child other;
    culv_ipc_server *server;
    culv_ipc_client *client;
    culv_ring *ring;
    uint32_t count, words; /* of the slots, and of each */
    uint32_t *data;        /* of the latest frames, which the stream copies from */
    culv_vmm_range *range;
    culv_vmm_allocation *memory[IPC_SLOTS];
    culv_buffer *buffers[IPC_SLOTS]; /* where the producer's slots are no VMM memory */
} ipc_end;

/* Forks `other`, whose server's name is made of `word`; NULL: `word` is the name. */
void ipc_end_serve(ipc_end *e, ipc_role other, const char *word, bool vulkan);
/* In a role. `gpu` 1: the second one. */
void ipc_end_connect(ipc_end *e, const ipc_child *parent, const char *name, int gpu);
/* Waits for the other process, which the server answers meanwhile. */
void ipc_end_join(ipc_end *e);
/* The same, and requires that nothing is left. */
void ipc_end_close(ipc_end *e);
extern culv_log ipc_log; /* of the device of the servers' that come */

/* A case with a server, and its other process, both with their end as `e`:
 *   IPC_ROLE(look)
 *   {
 *       culv_ipc_object *object = ipc_receive(e->client, "cells");
 *   }
 *   IPC_CASE(seen, look)
 *   {
 *       ipc_offer_vmm(e->server, "cells", memory);
 *   } */
#define IPC_ROLE(role)                                                                             \
    static void role##_in(ipc_end *e);                                                             \
    static void role(ipc_child *parent, const char *name)                                          \
    {                                                                                              \
        ipc_end end;                                                                               \
        ipc_end_connect(&end, parent, name, 0);                                                    \
        role##_in(&end);                                                                           \
        ipc_end_close(&end);                                                                       \
    }                                                                                              \
    static void role##_in(ipc_end *e)
#define IPC_CASE(name, ...)    IPC_CASE_(name, false, __VA_ARGS__, .own = true)
#define IPC_VK_CASE(name, ...) IPC_CASE_(name, true, __VA_ARGS__, .own = true)
#define IPC_CASE_(name, vulkan, role, ...)                                                         \
    TEST_ON(ipc_end, e, ipc_end_serve(e, role, #name, vulkan), ipc_end_close(e), name, __VA_ARGS__)

/* The ring: with culv_ipc_ring_desc.late_limit, and VMM memory of `words` words in each slot. */
void ipc_ring_offer(ipc_end *e, uint32_t count, uint32_t words, uint64_t limit);
void ipc_ring_wait_consumers(ipc_end *e, uint32_t count);
/* The words of the next frame; and of one that was acquired. */
void ipc_ring_produce(ipc_end *e, uint32_t frames);
void ipc_ring_write(ipc_end *e, culv_ring_frame *f);
/* A consumer, which receives all slots and says 'j'; and reads a frame: its number. */
void ipc_ring_join(ipc_end *e, culv_ring_policy policy);
uint64_t ipc_ring_consume(ipc_end *e);
/* A role: IPC_FRAMES frames. It says 'j' and 'd'. */
void ipc_read_every(ipc_child *parent, const char *name);
/* What the ring of an end holds; its stream is done. */
void ipc_ring_close(ipc_end *e);

/* Peers of the protocol that are no library's: any bytes with any descriptors; and a server for
 * them. */
struct sockaddr_un raw_address(const char *name, socklen_t *length);
int raw_socket(void);
int raw_listen(const char *name);
int raw_connect(const char *name);
/* False: the other side closed, or lets no descriptors in. */
bool raw_send(int fd, const void *bytes, size_t size, const int *fds, size_t count);
culvi_ipc_message raw_message(culvi_ipc_type type);
bool raw_send_message(int fd, const culvi_ipc_message *m, const int *fds);
/* A question that must go, and one that has a name. */
void raw_ask(int fd, culvi_ipc_type type, const char *name);
culvi_ipc_message raw_named(culvi_ipc_type type, const char *name);
/* What has come, with its descriptors. */
culvi_ipc_io raw_receive(int fd, bool answer, culvi_ipc_message *out, int fds[CULVI_IPC_FDS]);
/* A listener's first connection; -1: none came. */
int raw_accept(int listener);
/* A server's answer, which must be there. Its descriptors are closed. */
culvi_ipc_message raw_answer(int fd);
/* Whether the other side has closed the connection. */
bool raw_closed(int fd);

/* A TCP socket whose close() waits, for longer than the case lasts, till the gate is closed. */
typedef struct raw_linger {
    int fd, gate;
} raw_linger;

raw_linger raw_linger_make(void);
/* Puts it into the queue of a Unix socket, which takes its place. */
void raw_linger_wrap(raw_linger *l);
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
    atomic_bool over; /* of the thread */
    pthread_t thread;
    raw_linger linger[4];
    int pipe[2];
    int fds[RAW_MOST];
    size_t count;
} hostile;

void hostile_open(hostile *h);
void hostile_close(hostile *h);
/* The releases that are deferred on the server's device. */
void hostile_settle(const hostile *h);
/* A thread that serves from here to there. */
void hostile_begin(hostile *h);
void hostile_end(hostile *h);
/* Closes what was kept. */
void hostile_leave(hostile *h);
/* An honest client of the library: all of its calls succeed, and the data is right. */
void hostile_be_honest(hostile *h);
/* Closed with the attack. */
int hostile_keep(hostile *h, int fd);
/* A connection that was greeted; and as many that are kept. */
int hostile_greeted(hostile *h);
void hostile_crowd(hostile *h, size_t count);
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
