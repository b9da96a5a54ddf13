/* SPDX-License-Identifier: MIT */
/* A server's listening socket, and the epoll set of its connections. */
#include "base/alloc.h"
#include "ipc/ipc_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct culvi_ipc_door {
    culvi_ipc_address address;
    int listener, epoll;
};

static culv_result fail_os(const culvi_voice *voice, const char *label, const char *call,
                           const char *text)
{
    return culvi_fail_native(voice, label, CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS, errno,
                             call, "%s", text);
}

bool culvi_ipc_door_watch(culvi_ipc_door *door, int channel, uint32_t number)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = number}};
    return epoll_ctl(door->epoll, EPOLL_CTL_ADD, channel, &event) == 0;
}

/* A socket's file stays when its server was killed; nobody answers there. */
static bool remove_stale(const culvi_ipc_address *address)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    const bool stale =
        connect(fd, (const struct sockaddr *)(const void *)address->bytes, address->length) != 0 &&
        errno == ECONNREFUSED;
    close(fd);
    return stale && unlink(address->path) == 0;
}

static culv_result begin_listening(culvi_ipc_door *door, const culvi_voice *voice,
                                   const char *label)
{
    culvi_ipc_address *address = &door->address;
    const struct sockaddr *where = (const struct sockaddr *)(const void *)address->bytes;
    door->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->listener < 0) return fail_os(voice, label, "socket", "no socket could be made");
    int bound = bind(door->listener, where, address->length);
    if (bound != 0 && errno == EADDRINUSE && address->path[0] != 0 && remove_stale(address))
        bound = bind(door->listener, where, address->length);
    if (bound != 0) {
        const int error = errno;
        address->path[0] = 0; /* not ours to unlink */
        return culvi_fail_native(
            voice, label, error == EADDRINUSE ? CULV_ERROR_BUSY : CULV_ERROR_DRIVER,
            error == EADDRINUSE ? CULV_REASON_IPC_NAME : CULV_REASON_OS, CULV_NATIVE_OS, error,
            "bind", "culv_ipc_server_desc.name '%s' %s", address->name,
            error == EADDRINUSE ? "is another server's; choose another name, or end that one"
                                : "cannot be listened at");
    }
    if (listen(door->listener, CULV_IPC_MAX_CLIENTS) != 0)
        return fail_os(voice, label, "listen", "the socket does not listen");
    door->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (door->epoll < 0 || !culvi_ipc_door_watch(door, door->listener, CULVI_IPC_AT_DOOR))
        return fail_os(voice, label, "epoll_create1", "no set of sockets could be made");
    return CULV_OK;
}

culv_result culvi_ipc_door_open(const culvi_voice *voice, const char *label,
                                const culvi_ipc_address *address, culvi_ipc_door **out)
{
    culvi_ipc_door *door = culvi_alloc(sizeof *door);
    if (door == NULL) return culvi_fail_host_memory(voice, label);
    door->address = *address;
    door->listener = door->epoll = -1;
    culv_result result = begin_listening(door, voice, label);
    if (result == CULV_OK)
        *out = door;
    else
        culvi_ipc_door_close(&door);
    return result;
}

void culvi_ipc_door_close(culvi_ipc_door **door)
{
    culvi_ipc_door *d = *door;
    if (d == NULL) return;
    *door = NULL;
    if (d->address.path[0] != 0 && d->listener >= 0) unlink(d->address.path);
    if (d->listener >= 0) close(d->listener);
    if (d->epoll >= 0) close(d->epoll);
    culvi_free(d);
}

int culvi_ipc_door_fd(const culvi_ipc_door *door)
{
    return door->epoll;
}

culvi_ipc_io culvi_ipc_door_admit(culvi_ipc_door *door, int *out)
{
    const int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return errno == EMFILE || errno == ENFILE ? CULVI_IPC_NO_FD : CULVI_IPC_LATER;
    *out = fd;
    return CULVI_IPC_DONE;
}

culv_result culvi_ipc_door_wait(culvi_ipc_door *door, const culvi_voice *voice, const char *label,
                                uint64_t timeout, uint32_t *numbers, size_t room, size_t *count)
{
    struct epoll_event events[CULV_IPC_MAX_CLIENTS + 1];
    const int most = room < CULV_IPC_MAX_CLIENTS ? (int)room : CULV_IPC_MAX_CLIENTS;
    int ready = epoll_wait(door->epoll, events, most, 0);
    if (ready == 0 && timeout > 0) {
        ready = culvi_ipc_wait(door->epoll, culvi_ipc_until(timeout));
        if (ready > 0) ready = epoll_wait(door->epoll, events, most, 0);
    }
    if (ready < 0 && errno == EINTR) ready = 0;
    if (ready < 0)
        return fail_os(voice, label, "epoll_wait", "the clients could not be waited for");
    *count = (size_t)ready;
    for (int i = 0; i < ready; i++)
        numbers[i] = events[i].data.u32;
    return CULV_OK;
}
