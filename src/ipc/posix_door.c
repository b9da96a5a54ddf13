/* SPDX-License-Identifier: MIT */
/* A server's listening socket, its file and the lock beside it, and the epoll set of its
 * connections. */
#include "ipc/ipc_channel.h"
#include "ipc/posix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct culvi_ipc_door {
    culvi_ipc_address address;
    int32_t process; /* a child by fork() has this door, and it is not the child's */
    int listener, epoll;
    const char *failed; /* the call that refused the name */
    int lock; /* a file beside the socket, locked: the name is this server's; -1: abstract */
    bool bound;
    bool shut;    /* no handles come in by it */
    dev_t device; /* of the socket's file */
    ino_t inode;
    bool behind; /* somebody waits who could not be let in: nothing new tells of that one */
};

static bool set_events(culvi_ipc_door *door, int what, int channel, uint32_t number,
                       uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u32 = number}};
    return epoll_ctl(door->epoll, what, channel, &event) == 0;
}

bool culvi_ipc_door_watch(culvi_ipc_door *door, int channel, uint32_t number)
{
    return set_events(door, EPOLL_CTL_ADD, channel, number, EPOLLIN);
}

void culvi_ipc_door_listen(culvi_ipc_door *door, int channel, uint32_t number, bool listen)
{
    (void)set_events(door, EPOLL_CTL_MOD, channel, number, listen ? EPOLLIN : EPOLLOUT | EPOLLET);
}

void culvi_ipc_door_forget(culvi_ipc_door *door, int channel)
{
    (void)set_events(door, EPOLL_CTL_DEL, channel, 0, 0);
}

/* The socket's file ---------------------------------------------------------------------------- */

typedef char lock_path[CULVI_IPC_PATH + 8];

/* DIRECTORY/.NAME.lock: no server's name begins with a dot. */
static void lock_path_of(const culvi_ipc_address *address, lock_path out)
{
    const size_t directory = strlen(address->path) - strlen(address->name);
    culvi_text t = {out, sizeof(lock_path), 0};
    culvi_text_add(&t, "%.*s.%s.lock", (int)directory, address->path, address->name);
}

static bool same_file(int fd, const char *path)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* Locks as libwayland does. Whoever holds the lock takes the file away, so look at it again. */
static bool lock_name(culvi_ipc_door *door)
{
    lock_path path;
    lock_path_of(&door->address, path);
    for (;;) {
        const int fd =
            open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
        if (fd < 0) {
            door->failed = "open";
            return false;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno == EWOULDBLOCK ? EADDRINUSE : errno;
            door->failed = "flock";
            close(fd);
            errno = error;
            return false;
        }
        if (same_file(fd, path)) {
            door->lock = fd;
            door->failed = "bind";
            return true;
        }
        close(fd);
    }
}

static void unlock_name(culvi_ipc_door *door)
{
    lock_path path;
    lock_path_of(&door->address, path);
    if (same_file(door->lock, path)) (void)unlink(path);
    close(door->lock);
    door->lock = -1;
}

/* The file of a socket stays when its server was killed; nobody answers there. What is not a
 * socket, or somebody's, stays. The lock is held: no server of ours comes between. */
static int remove_stale(const culvi_ipc_address *address)
{
    struct stat found, now;
    if (lstat(address->path, &found) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISSOCK(found.st_mode)) return EEXIST;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return errno;
    const bool stale =
        connect(fd, (const struct sockaddr *)(const void *)address->bytes, address->length) != 0 &&
        errno == ECONNREFUSED;
    close(fd);
    if (!stale) return EADDRINUSE;
    if (lstat(address->path, &now) != 0 || now.st_dev != found.st_dev || now.st_ino != found.st_ino)
        return EADDRINUSE;
    return unlink(address->path) == 0 ? 0 : errno;
}

/* Only if it is what this door made: the directory may have been replaced. */
static void remove_own(const culvi_ipc_door *door)
{
    struct stat now;
    if (lstat(door->address.path, &now) == 0 && S_ISSOCK(now.st_mode) &&
        now.st_dev == door->device && now.st_ino == door->inode)
        (void)unlink(door->address.path);
}

/* 0, or errno. */
static int take_name(culvi_ipc_door *door)
{
    struct stat now;
    const culvi_ipc_address *address = &door->address;
    if (address->path[0] != 0) {
        if (!lock_name(door)) return errno;
        const int error = remove_stale(address);
        if (error != 0) return error;
    }
    if (bind(door->listener, (const struct sockaddr *)(const void *)address->bytes,
             address->length) != 0)
        return errno;
    if (address->path[0] == 0) return 0;
    if (lstat(address->path, &now) != 0) return errno;
    door->device = now.st_dev;
    door->inode = now.st_ino;
    door->bound = true;
    return 0;
}

/* Listening ------------------------------------------------------------------------------------ */

static culv_result fail_name(const culvi_ipc_door *door, const culvi_voice *voice,
                             const char *label, int error)
{
    const culvi_ipc_address *a = &door->address;
    CULVI_REFUSE_IF(
        error == EEXIST, voice, label, CULV_REASON_IPC_NAME,
        "culv_ipc_server_desc.name '%s': there is a file '%s' that is no socket, and it stays; choose another name or another directory",
        a->name, a->path);
    const bool taken = error == EADDRINUSE, no_room = error == ENOSPC || error == EDQUOT;
    char text[CULVI_IPC_PATH + 200];
    culvi_text t = {text, sizeof text, 0};
    if (taken) {
        culvi_text_add(&t, " is another server's; choose another name, or end that one");
    } else if (a->path[0] != 0 && door->lock < 0) {
        lock_path path;
        lock_path_of(a, path);
        culvi_text_add(
            &t, ": its lock '%s' %s", path,
            error == ELOOP || error == EISDIR || error == ENXIO
                ? "is a link, a directory or no file to be locked; it stays: remove it, or choose another name or directory"
            : no_room        ? "finds no room in the directory's file system"
            : error == EROFS ? "cannot be made: the file system is read-only"
                             : "cannot be opened and locked");
    } else {
        culvi_text_add(&t, " cannot be listened at%s",
                       no_room ? ": the directory's file system has no room" : "");
    }
    return culvi_fail_native(voice, label, taken ? CULV_ERROR_BUSY : CULV_ERROR_DRIVER,
                             taken ? CULV_REASON_IPC_NAME : CULV_REASON_OS, CULV_NATIVE_OS, error,
                             door->failed, "culv_ipc_server_desc.name '%s'%s", a->name, text);
}

static culv_result begin_listening(culvi_ipc_door *door, const culvi_voice *voice,
                                   const char *label)
{
    door->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->listener < 0)
        return culvi_fail_os(
            voice, label, errno, "socket",
            "no socket could be made; a filter on this process (seccomp) may forbid it");
    /* Connections begin with this, so nobody sends handles before it is known who that is. */
    door->shut = culvi_ipc_let_handles(door->listener, false);
    const int error = take_name(door);
    if (error != 0) return fail_name(door, voice, label, error);
    if (listen(door->listener, CULV_IPC_MAX_CLIENTS) != 0)
        return culvi_fail_os(voice, label, errno, "listen", "the socket does not listen");
    door->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (door->epoll < 0 || !culvi_ipc_door_watch(door, door->listener, CULVI_IPC_AT_DOOR))
        return culvi_fail_os(
            voice, label, errno, "epoll_create1",
            "no set of sockets could be made; a filter on this process (seccomp) may forbid it");
    return CULV_OK;
}

culv_result culvi_ipc_door_open(const culvi_voice *voice, const char *label,
                                const culvi_ipc_address *address, culvi_ipc_door **out)
{
    CULVI_NEW(culvi_ipc_door, door, voice, label);
    door->address = *address;
    door->process = culvi_ipc_this_process();
    door->listener = door->epoll = door->lock = -1;
    door->failed = "bind";
    culv_result result = begin_listening(door, voice, label);
    if (result == CULV_OK)
        *out = door;
    else
        culvi_ipc_door_close(&door);
    return result;
}

/* Who waits is let go one by one: nobody knows what is in their queues. */
static void stop_listening(int listener)
{
    culvi_ipc_channel fd;
    (void)shutdown(listener, SHUT_RDWR);
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        culvi_ipc_channel_close(&fd, true);
    if (errno == EMFILE || errno == ENFILE)
        culvi_ipc_close_later(listener);
    else
        close(listener);
}

void culvi_ipc_door_close(culvi_ipc_door **door)
{
    culvi_ipc_door *d = *door;
    if (d == NULL) return;
    *door = NULL;
    const bool mine = d->process == culvi_ipc_this_process();
    if (mine && d->bound) remove_own(d);
    if (d->listener >= 0 && mine)
        stop_listening(d->listener);
    else if (d->listener >= 0)
        close(d->listener);
    if (d->epoll >= 0) close(d->epoll);
    if (d->lock >= 0 && mine)
        unlock_name(d);
    else if (d->lock >= 0)
        close(d->lock);
    culvi_free(d);
}

int culvi_ipc_door_fd(const culvi_ipc_door *door)
{
    return door->epoll;
}

bool culvi_ipc_door_behind(const culvi_ipc_door *door)
{
    return door->behind;
}

/* Who could not be let in still waits. Told again and again the server would spin, so the set only
 * tells of new ones meanwhile. */
culvi_ipc_io culvi_ipc_door_admit(culvi_ipc_door *door, int *out)
{
    enum { MANY = 64 };
    const bool busy = !door->shut && culvi_ipc_close_busy(MANY);
    const int fd = busy ? -1 : accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool behind =
        busy ||
        (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM));
    if (behind != door->behind) {
        door->behind = behind;
        (void)set_events(door, EPOLL_CTL_MOD, door->listener, CULVI_IPC_AT_DOOR,
                         behind ? EPOLLIN | EPOLLET : EPOLLIN);
    }
    if (behind) return CULVI_IPC_NO_FD;
    if (fd < 0) return errno == ENOSYS || errno == EPERM ? CULVI_IPC_OS : CULVI_IPC_LATER;
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
        return culvi_fail_os(
            voice, label, errno, "epoll_wait, or ppoll",
            "the clients could not be waited for; a filter on this process (seccomp) may forbid it");
    *count = (size_t)ready;
    for (int i = 0; i < ready; i++)
        numbers[i] = events[i].data.u32;
    return CULV_OK;
}
