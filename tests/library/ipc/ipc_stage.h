/* SPDX-License-Identifier: MIT */
/* What the suites of other processes share: a second process, and servers that answer it. */
#ifndef CULVERT_TESTS_IPC_STAGE_H_
#define CULVERT_TESTS_IPC_STAGE_H_

#include "library.h"
#include "vmm_stage.h"

#include <sys/types.h>

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
/* A consumer, which receives all slots, and reads a frame; its number. */
void ipc_ring_join(ipc_end *e, culv_ring_policy policy);
uint64_t ipc_ring_consume(ipc_end *e);
/* A role: IPC_FRAMES frames. It says 'j' and 'd'. */
void ipc_read_every(ipc_child *parent, const char *name);
/* What the ring of an end holds; its stream is done. */
void ipc_ring_close(ipc_end *e);

#endif
