/* SPDX-License-Identifier: MIT */
/* What the two observers of culvert-check share: the model with its lock, call sites, the report.
 * cuda*.c stand before the CUDA driver, vulkan*.c are a layer, posix.c follows descriptors. */
#ifndef CHECK_SHIM_H_
#define CHECK_SHIM_H_

#include "model.h"

#include <stddef.h>

#define CHECK_EXPORT __attribute__((visibility("default")))

/* The model, with its lock held. NULL: this process is not watched (a child of fork, or no memory);
 * then there is no lock to give back. No driver is called while it is held. */
check_model *check_open(void);
void check_close(void);
/* Not in a child of vfork(): it has its parent's memory, and closes descriptors of its own. */
bool check_is_watched(void);

/* How deep this thread is in calls that are watched. A driver's own calls are not the program's. */
extern _Thread_local int check_inside;

check_site check_here(const char *call);
check_identity check_identify(int fd);
/* A call in which the host waits. Where it lasts, and nothing can end it, that is told. The slot is
 * for check_wait_end(). */
int check_wait_begin(const char *call, check_payload *payload, uint64_t value);
int check_wait_begin_at(const check_site *site, check_payload *payload, uint64_t value);
void check_wait_end(int slot);
void check_finish(void); /* the report's end; once */
/* A driver has come up. When the program leaves, the driver may wait for work that nothing ends
 * (NVIDIA's does), before any destructor of this library runs. What registers last runs first, so
 * leaving is watched as a wait of the host from a handler that is registered after the driver's. */
void check_will_leave(void);
void check_write_finding(void *user, const check_finding *finding);
void check_note(const char *text); /* a line for the report's end, each text once */

/* In a child of fork(): what the parent had is not the child's. */
void check_cuda_forget(void);
void check_vulkan_forget(void);
/* posix.c: the system's own dlsym(). */
void *check_find_symbol(void *library, const char *name);
/* cuda.c: what a program gets that looks a symbol of the driver up, and got `found`. */
void *check_cuda_found(const char *name, void *found);

/* tree.c: messages with descriptors. Before a message is sent: a number for check_sent(). */
struct msghdr;
unsigned check_sending(int socket, const struct msghdr *message, const char *call);
void check_sent(unsigned note, bool sent);
void check_received(int socket, const struct msghdr *message, size_t length, int flags,
                    const char *call);
bool check_any_message(void); /* with descriptors, was ever on its way */

/* A table from handles to what is known of them; a kind keeps handles of different types apart. */
typedef struct check_table check_table;
void *check_get(unsigned kind, uint64_t handle);
/* Returns what was there before. NULL takes the entry out. */
void *check_put(unsigned kind, uint64_t handle, void *value);

enum {
    CHECK_OF_CU_MEMORY,
    CHECK_OF_CU_SEMAPHORE,
    CHECK_OF_CU_STREAM,
    CHECK_OF_CU_EVENT,
    CHECK_OF_CU_MIPMAPS,
    CHECK_OF_CU_ARRAY,
    CHECK_OF_CU_ALLOCATION,
    CHECK_OF_CU_OBJECT,    /* a surface or texture object: its array */
    CHECK_OF_CU_KERNEL,    /* a library's kernel, which a launch takes for a function */
    CHECK_OF_CU_PARAMETER, /* of a kernel: it is no such object */
    CHECK_OF_CU_GRAPH,     /* an executable one */
    CHECK_OF_VK_MEMORY,
    CHECK_OF_VK_BUFFER,
    CHECK_OF_VK_IMAGE,
    CHECK_OF_VK_VIEW,
    CHECK_OF_VK_FRAMEBUFFER,
    CHECK_OF_VK_SEMAPHORE,
    CHECK_OF_VK_FENCE,
    CHECK_OF_VK_QUEUE,
    CHECK_OF_VK_COMMANDS,
    CHECK_OF_VK_SET,
    CHECK_OF_VK_POOL,
    CHECK_OF_VK_PASS,
    CHECK_OF_VK_SET_LAYOUT,
    CHECK_OF_VK_UPDATE,
    CHECK_OF_VK_SHADER,   /* what a module declares */
    CHECK_OF_VK_PIPELINE, /* what its shaders declare */
    CHECK_OF_VK_PART      /* a view that has not all of its image */
};

/* culvert-check's timeline of both sides: Chrome's JSON of trace events, which Perfetto opens. */

/* With the model's lock. Without --trace none of them does anything. */
void check_trace_begin(check_model *m, const char *path, unsigned long long most);
void check_trace_finding(const char *id, const char *sentence);
void check_trace_end(void);
void check_trace_forget(void); /* in a child of fork(), whose parent writes on */

/* A call of the program on this thread: what began at `since` ends now. */
uint64_t check_trace_now(void); /* nanoseconds; 0 without a timeline */
void check_trace_call(const char *call, uint64_t since);

#endif
