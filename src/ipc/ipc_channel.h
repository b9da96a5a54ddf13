/* SPDX-License-Identifier: MIT */
/* What carries the protocol's messages and handles between two processes, and pages that both map.
 *
 *   Linux    Unix sockets (SOCK_SEQPACKET); fds go by SCM_RIGHTS; sealed memfds: posix_socket.c,
 *            posix_door.c
 *   Windows  named pipes of messages; NT handles are fetched by DuplicateHandle; sections:
 *            win32_pipe.c, win32_door.c
 *
 * Nothing else of this room asks which system it is. */
#ifndef CULVI_IPC_CHANNEL_H_
#define CULVI_IPC_CHANNEL_H_

#include "base/handle.h"
#include "cuda/device.h"
#include "ipc/ipc_wire.h"

#ifdef _WIN32
typedef struct culvi_ipc_pipe *culvi_ipc_channel;
typedef void *culvi_ipc_native; /* a HANDLE */
#    define CULVI_IPC_NO_CHANNEL NULL
#    define CULVI_IPC_NO_NATIVE  NULL
#    define CULVI_IPC_TELLS_READ false /* whether the system tells that the other side has read */
#else
typedef int culvi_ipc_channel;
typedef int culvi_ipc_native; /* a file descriptor */
#    define CULVI_IPC_NO_CHANNEL (-1)
#    define CULVI_IPC_NO_NATIVE  (-1)
#    define CULVI_IPC_TELLS_READ true
#endif

/* Where errors are logged; a side that uses no CUDA has no device. */
static inline const culvi_voice *culvi_ipc_voice(const culv_device *device)
{
    return device != NULL ? &device->voice : NULL;
}

/* A handle of this type that another process sent, and what is sent for one. */
static inline culv_handle culvi_ipc_handle(culv_handle_type type, culvi_ipc_native native)
{
    culv_handle h = {.type = type};
#ifdef _WIN32
    h.value.win32 = native;
#else
    h.value.fd = native;
#endif
    return h;
}

static inline culvi_ipc_native culvi_ipc_native_of(const culv_handle *handle)
{
#ifdef _WIN32
    return handle->value.win32;
#else
    return handle->value.fd;
#endif
}

/* Whether handles of this type can be sent (culvi_handle_owns()) and are of a timeline: Vulkan's,
 * or on Windows a fence of Direct3D's. */
bool culvi_ipc_is_timeline(culv_handle_type type);

typedef enum culvi_ipc_io {
    CULVI_IPC_DONE,
    CULVI_IPC_LATER,   /* it would wait */
    CULVI_IPC_CROWDED, /* too many handles of this user are in flight: later */
    CULVI_IPC_GONE,    /* the other side closed, or its process ended */
    CULVI_IPC_BAD,     /* no message of this protocol: `why` says what is wrong */
    CULVI_IPC_NO_FD,   /* no handle is left here; the message, if any, is still to be received */
    CULVI_IPC_SHUT,    /* the other side lets no handles in now (culvi_ipc_let_handles()) */
    CULVI_IPC_OS       /* the system's error tells */
} culvi_ipc_io;

/* Who is admitted: this user, or a list. Users are uids. Windows has no numbers for them: 0 is this
 * process's user there, and any other number somebody else (the last part of the SID). */
typedef struct culvi_ipc_users {
    uint32_t *users; /* NULL: this one */
    size_t count;
} culvi_ipc_users;

culv_result culvi_ipc_users_copy(const culvi_voice *voice, const uint32_t *users, size_t count,
                                 const char *field, culvi_ipc_users *out);
void culvi_ipc_users_free(culvi_ipc_users *users);
bool culvi_ipc_user_admitted(const culvi_ipc_users *users, uint32_t user);
/* Who is at the other end; false: the system does not tell. */
bool culvi_ipc_peer(culvi_ipc_channel channel, uint32_t *user, int32_t *pid);
/* For messages, behind such a number; "" behind another one. */
const char *culvi_ipc_user_note(uint32_t user);
int32_t culvi_ipc_this_process(void);

/* Copies a name, 0 to its end. Refuses what is none: `where` and `between` are before "name". */
culv_result culvi_ipc_read_name(const culvi_voice *voice, const char *where, const char *between,
                                const char *name, char out[CULV_IPC_NAME_SIZE]);
/* The name of a part of a ring's slot. Refuses those that there are not. */
culv_result culvi_ipc_part_name(const culvi_voice *voice, const char *call, const char *ring,
                                uint32_t slots, uint32_t parts, uint32_t slot, uint32_t part,
                                char out[CULV_IPC_NAME_SIZE]);

/* Refuses names and directories that are none. `path` gets what to unlink, "" for abstract ones. */
enum { CULVI_IPC_PATH = 108 };
typedef struct culvi_ipc_address {
    char name[CULV_IPC_NAME_SIZE];
    char path[CULVI_IPC_PATH];
    unsigned char bytes[128]; /* a struct sockaddr_un */
    unsigned length;
} culvi_ipc_address;

culv_result culvi_ipc_address_make(const culvi_voice *voice, const char *name,
                                   const char *directory, const char *what, bool trusts,
                                   culvi_ipc_address *out);

/* A door is where a server is reached, with the set of what the server waits for. */
typedef struct culvi_ipc_door culvi_ipc_door;
enum { CULVI_IPC_AT_DOOR = CULV_IPC_MAX_CLIENTS }; /* the door's own number in the set */

culv_result culvi_ipc_door_open(const culvi_voice *voice, const char *label,
                                const culvi_ipc_address *address, culvi_ipc_door **out);
void culvi_ipc_door_close(culvi_ipc_door **door);
/* Lets in who waits: DONE, LATER (nobody), NO_FD or OS. */
culvi_ipc_io culvi_ipc_door_admit(culvi_ipc_door *door, culvi_ipc_channel *out);
/* Somebody may wait whom culvi_ipc_door_wait() does not tell of: admit now and then. */
bool culvi_ipc_door_behind(const culvi_ipc_door *door);
/* Adds a channel to the set, by a number below CULV_IPC_MAX_CLIENTS. It leaves when it closes. */
bool culvi_ipc_door_watch(culvi_ipc_door *door, culvi_ipc_channel channel, uint32_t number);
/* Waits until something of the set has something to read, and writes the numbers. None: the time is
 * over. */
culv_result culvi_ipc_door_wait(culvi_ipc_door *door, const culvi_voice *voice, const char *label,
                                uint64_t timeout, uint32_t *numbers, size_t room, size_t *count);

/* Names of servers, in order; with too little room the first ones stay. */
typedef struct culvi_ipc_names {
    char (*list)[CULV_IPC_NAME_SIZE];
    size_t room, count;
} culvi_ipc_names;

/* Leaves out what no server can be called. */
void culvi_ipc_names_add(culvi_ipc_names *names, const char *name);
/* Adds all that the system knows. */
culv_result culvi_ipc_names_read(const char *directory, culvi_ipc_names *out);

/* Connects to a server. Waits until it is there. */
culv_result culvi_ipc_reach(const culvi_voice *voice, const char *label,
                            const culvi_ipc_address *address, uint64_t until,
                            culvi_ipc_channel *out);
/* Waits for nothing, whatever is in its queue. Not `mine`: another process has the channel besides,
 * this one by its fork() only, and the connection goes on there. */
void culvi_ipc_channel_close(culvi_ipc_channel *channel, bool mine);
bool culvi_ipc_handle_dup(culvi_ipc_native handle, culvi_ipc_native *out);

/* No message waits: where there is no room for it, it is LATER or CROWDED. The handles stay the
 * caller's. */
culvi_ipc_io culvi_ipc_send(culvi_ipc_channel channel, const culvi_ipc_message *message,
                            const culvi_ipc_native *handles);
/* Does not wait. The handles are the caller's after DONE, and closed after anything else. After BAD
 * the channel is to be closed. */
culvi_ipc_io culvi_ipc_receive(culvi_ipc_channel channel, bool answer, culvi_ipc_message *out,
                               culvi_ipc_native handles[CULVI_IPC_FDS], culvi_text *why);
/* Closes whatever the other side may have sent, and waits for nothing. */
void culvi_ipc_close_fds(const culvi_ipc_native *handles, size_t count);

/* Monotonic nanoseconds at which a timeout from now on ends; UINT64_MAX: never. */
uint64_t culvi_ipc_until(uint64_t timeout);
/* Waits until the channel is readable: 1; 0: the time is over; -1: the system's error. Signals do
 * not end it. */
int culvi_ipc_wait(culvi_ipc_channel channel, uint64_t until);

/* A file or section of `size` bytes, which nobody can shrink or grow. False: the system's error. */
bool culvi_ipc_pages_make(size_t size, const char *name, culvi_ipc_native *out);
/* Another handle of it, for somebody who only reads. */
bool culvi_ipc_pages_lend(culvi_ipc_native pages, culvi_ipc_native *out);
/* Maps pages of another process's. NULL: the system's error, or *strange: they are not of this very
 * size, or not sealed. */
void *culvi_ipc_pages_map(culvi_ipc_native pages, size_t size, bool writable, bool *strange);
void culvi_ipc_pages_unmap(void *pages, size_t size);
/* What these calls left: of the system, for culv_error. */
int culvi_ipc_os_error(void);
extern const char *const culvi_ipc_pages_call; /* that makes pages */
extern const char *const culvi_ipc_send_call, *const culvi_ipc_receive_call;
extern const char *const culvi_ipc_wait_call, *const culvi_ipc_peer_call;

/* Another handle of what a process has by that number, after it proved to be the process that is
 * meant, and its user one of these. */
culv_result culvi_ipc_fetch(const culv_ipc_fetch_desc *desc, const culvi_ipc_users *users,
                            culvi_ipc_native *out);

#ifdef _WIN32
/* A handle comes as a number, which is not fetched before the message is found good. A server has
 * those of one answer to each client in its table, and nothing is in flight; the driver looks at
 * them, as there is no way to ask that may not wait. What is lent of pages only reads. */
#    define culvi_ipc_this_user()                                UINT32_C(0)
#    define culvi_ipc_user_is_one(user)                          ((void)(user), true)
#    define culvi_ipc_door_fd(door)                              ((void)(door), -1)
#    define culvi_ipc_door_listen(door, channel, number, listen) ((void)(door), (void)(listen))
#    define culvi_ipc_door_forget(door, channel)                 ((void)(door), (void)(channel))
#    define culvi_ipc_let_handles(channel, in)                   ((void)(channel), (void)(in), false)
#    define culvi_ipc_all_read(channel)                          ((void)(channel), true)
#    define culvi_ipc_most_in_flight()                           UINT64_MAX
#    define culvi_ipc_close_busy(many)                           ((void)(many), false)
#    define culvi_ipc_close_own                                  culvi_ipc_close_fds
#    define culvi_ipc_handles_good(handles, count, memory, why)                                    \
        ((void)(handles), (void)(why), CULVI_IPC_DONE)
#    define culvi_ipc_pages_freeze(pages) ((void)(pages), true)
#else
uint32_t culvi_ipc_this_user(void);
/* Whether this number is one user's. In a user namespace all whom it does not map have the same
 * one, and may be anybody. */
bool culvi_ipc_user_is_one(uint32_t user);
/* Readable when the set has something to do; -1 where there are no such things. */
int culvi_ipc_door_fd(const culvi_ipc_door *door);
/* Not `listen`: the set does not tell when the channel has something to read, but that the other
 * side has read something. */
void culvi_ipc_door_listen(culvi_ipc_door *door, culvi_ipc_channel channel, uint32_t number,
                           bool listen);
/* Before a channel is closed. From Linux 6.10 on, a wait holds each file of the set for a moment.
 * If another thread closes the file meanwhile, the wait ends it, for as long as its sender
 * likes. */
void culvi_ipc_door_forget(culvi_ipc_door *door, culvi_ipc_channel channel);
/* Whether messages with handles may come in. Else their sending is refused (SHUT), if the kernel
 * can do that: true. At first none may. */
bool culvi_ipc_let_handles(culvi_ipc_channel channel, bool in);
/* Whether the other side has read all that was sent. */
bool culvi_ipc_all_read(culvi_ipc_channel channel);
/* How many handles this user may have in flight, all processes together. */
uint64_t culvi_ipc_most_in_flight(void);
/* As many of these wait to be closed: somebody sends what takes long. */
bool culvi_ipc_close_busy(int many);
/* Closes what this process made. */
void culvi_ipc_close_own(const culvi_ipc_native *handles, size_t count);
/* Whether these may be semaphores, or with `memory` that: DONE. BAD: `why` says what else one is.
 * OS: they cannot be looked at. */
culvi_ipc_io culvi_ipc_handles_good(const culvi_ipc_native *handles, size_t count, bool memory,
                                    culvi_text *why);
/* Nobody maps it writable from now on, but those who did. */
bool culvi_ipc_pages_freeze(culvi_ipc_native pages);
#endif

#endif
