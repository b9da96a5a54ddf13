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

/* A ring "frames" of CUDA's, whose slots are VMM memory with `words` words each. */
typedef struct ipc_slots {
    culv_ipc_server *server;
    culv_ring *ring;
    culv_vmm_range *range;
    culv_vmm_allocation *memory[5];
    uint32_t count, words;
} ipc_slots;

void ipc_slots_open(ipc_slots *slots, const vmm_stage *s, const char *name, uint32_t count,
                    uint32_t words);
/* With culv_ipc_ring_desc.late_limit. */
void ipc_slots_open_limited(ipc_slots *slots, const vmm_stage *s, const char *name, uint32_t count,
                            uint32_t words, uint64_t limit);
/* The server goes, too. The stream must be done. */
void ipc_slots_close(ipc_slots *slots, lib_world *w);
/* The words of the next frame. The stream copies them from `all`, `frames` times the words, which
 * stay until it has. */
void ipc_slots_produce(ipc_slots *slots, const lib_world *w, CUstream stream, uint32_t *all,
                       uint32_t frames);
/* The same, of a frame that was acquired. */
void ipc_slots_write(ipc_slots *slots, const lib_world *w, CUstream stream, uint32_t *all,
                     uint32_t frames, culv_ring_frame *f);

#endif
