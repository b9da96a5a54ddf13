/* SPDX-License-Identifier: MIT */
/* Unix sockets and sealed files of Linux. posix_door.c has the server's listening. */
#include "ipc/ipc_channel.h"

#include "ipc/posix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#    define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif
#ifndef SO_PASSRIGHTS
#    define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/* Who ------------------------------------------------------------------------------------------ */

uint32_t culvi_ipc_this_user(void)
{
    return (uint32_t)geteuid();
}

int32_t culvi_ipc_this_process(void)
{
    return (int32_t)getpid();
}

size_t culvi_ipc_read_proc(const char *path, char *out, size_t size)
{
    size_t length = 0;
    out[0] = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int error = ESRCH; /* an empty file is that of a process that has ended */
    for (ssize_t got = 1; got != 0 && length < size - 1;) {
        got = read(fd, out + length, size - 1 - length);
        if (got < 0) error = errno;
        if (got < 0 && error != EINTR) break;
        length += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    out[length] = 0;
    errno = error;
    return length;
}

/* user_namespaces(7): an unmapped user has this number, in credentials and in file systems. */
static uint32_t overflow_user(void)
{
    static atomic_uint known; /* and 1 */
    char text[16];
    if (atomic_load(&known) == 0) {
        unsigned user = 65534;
        if (culvi_ipc_read_proc("/proc/sys/kernel/overflowuid", text, sizeof text) > 0)
            user = (unsigned)strtoul(text, NULL, 10);
        atomic_store(&known, user + 1);
    }
    return atomic_load(&known) - 1;
}

bool culvi_ipc_user_is_one(uint32_t user)
{
    enum { EACH = 3 }; /* numbers in a line: inside, outside, how many */
    char map[4096];
    uint64_t users = 0;
    if (user != overflow_user()) return true;
    if (culvi_ipc_read_proc("/proc/self/uid_map", map, sizeof map) == 0) return false;
    char *at = map, *end = NULL;
    for (unsigned i = 0;; i++, at = end) {
        const uint64_t number = strtoull(at, &end, 10);
        if (end == at) break;
        if (i % EACH == EACH - 1) users += number;
    }
    return users >= UINT32_MAX; /* all but -1, which is nobody's */
}

bool culvi_ipc_peer(int fd, uint32_t *user, int32_t *pid)
{
    struct ucred who;
    socklen_t size = sizeof who;
    memset(&who, 0, sizeof who);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || size != sizeof who)
        return false;
    *user = (uint32_t)who.uid;
    *pid = (int32_t)who.pid;
    return true;
}

/* Where ---------------------------------------------------------------------------------------- */

/* A directory that others can write to, or that another user made, may hold another socket a moment
 * later. A client only needs to reach it. */
static culv_result check_directory(const culvi_voice *voice, const char *directory,
                                   const char *what)
{
    struct stat st;
    if (lstat(directory, &st) != 0)
        return culvi_fail_native(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE, CULV_NATIVE_OS,
                                 errno, "lstat", "%s.directory is '%s', which cannot be looked at",
                                 what, directory);
    CULVI_REFUSE_IF(!S_ISDIR(st.st_mode), voice, NULL, CULV_REASON_VALUE,
                    "%s.directory is '%s', which is no directory", what, directory);
    CULVI_REFUSE_IF(
        !culvi_ipc_user_is_one(st.st_uid), voice, NULL, CULV_REASON_IPC_REFUSED,
        "%s.directory is '%s', of a user that this user namespace does not map, as far as anybody can tell: its number is %u; choose a directory of a user that is mapped (/proc/self/uid_map)",
        what, directory, (unsigned)st.st_uid);
    if (st.st_uid == geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0) return CULV_OK;
    return culvi_fail(
        voice, NULL, CULV_ERROR_INVALID, CULV_REASON_IPC_REFUSED,
        "%s.directory is '%s', of user %u with mode %04o; it must be yours (%u) and closed to others (chmod 0700)",
        what, directory, (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777), (unsigned)geteuid());
}

culv_result culvi_ipc_address_make(const culvi_voice *voice, const char *name,
                                   const char *directory, const char *what, bool trusts,
                                   culvi_ipc_address *out)
{
    struct sockaddr_un a;
    size_t length;
    memset(out, 0, sizeof *out);
    memset(&a, 0, sizeof a);
    a.sun_family = AF_UNIX;
    CULVI_TRY(culvi_ipc_read_name(voice, what, ".", name, out->name));
    char *text = a.sun_path;
    if (directory == NULL) {
        culvi_text t = {text + 1, sizeof a.sun_path - 1, 0};
        culvi_text_add(&t, "culvert/%s", out->name);
        length = 1 + t.length;
    } else {
        const size_t bytes = strlen(directory) + 1 + strlen(out->name) + 1;
        CULVI_REFUSE_IF(
            bytes > sizeof a.sun_path, voice, NULL, CULV_REASON_VALUE,
            "%s.directory and name have %zu bytes together, and a socket's path has at most %zu",
            what, bytes, sizeof a.sun_path - 1);
        CULVI_TRY(trusts ? CULV_OK : check_directory(voice, directory, what));
        culvi_text t = {text, sizeof a.sun_path, 0};
        culvi_text_add(&t, "%s/%s", directory, out->name);
        memcpy(out->path, text, bytes);
        length = bytes;
    }
    out->length = (unsigned)(offsetof(struct sockaddr_un, sun_path) + length);
    memcpy(out->bytes, &a, sizeof a);
    return CULV_OK;
}

/* Reaching a server ---------------------------------------------------------------------------- */

/* A container has its own network and its own files, so that a server may be there all the same. */
static culv_result fail_name(const culvi_voice *voice, const char *label,
                             const culvi_ipc_address *address, int error)
{
    char directory[CULVI_IPC_PATH];
    culvi_text t = {directory, sizeof directory, 0};
    if (address->path[0] == 0)
        return culvi_fail_native(
            voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_NAME, CULV_NATIVE_OS, error,
            "connect",
            "there is no server '%s' in this network namespace; start it, or give culv_ipc_client_connect() more time. A container has its own: give both sides a directory (culv_ipc_server_desc.directory)",
            address->name);
    culvi_text_add(&t, "%.*s", (int)(strlen(address->path) - strlen(address->name) - 1),
                   address->path);
    if (access(directory, F_OK) != 0)
        return culvi_fail_native(
            voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_NAME, CULV_NATIVE_OS, error,
            "connect",
            "there is no server '%s', and no directory '%s' here; if the server is in another container, mount it into both",
            address->name, directory);
    return culvi_fail_native(
        voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_NAME, CULV_NATIVE_OS, error, "connect",
        "there is no server '%s' in the directory '%s'; start it, or give culv_ipc_client_connect() more time. If it is in another container, mount it into both",
        address->name, directory);
}

culv_result culvi_ipc_reach(const culvi_voice *voice, const char *label,
                            const culvi_ipc_address *address, uint64_t until,
                            culvi_ipc_channel *out)
{
    const struct sockaddr *where = (const struct sockaddr *)(const void *)address->bytes;
    for (;;) {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            return culvi_fail_os(
                voice, label, errno, "socket",
                "no socket could be made; a filter on this process (seccomp) may forbid it");
        (void)culvi_ipc_let_handles(fd, false); /* till an answer may have some */
        if (connect(fd, where, address->length) == 0) {
            *out = fd;
            return CULV_OK;
        }
        const int error = errno;
        close(fd);
        /* EAGAIN: more clients wait at the door than it has room for. */
        if (error != ECONNREFUSED && error != ENOENT && error != EAGAIN && error != EINTR)
            return culvi_fail_native(
                voice, label,
                error == EACCES || error == EPERM ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_DRIVER,
                error == EACCES || error == EPERM ? CULV_REASON_IPC_REFUSED : CULV_REASON_OS,
                CULV_NATIVE_OS, error, "connect", "the server '%s' cannot be reached",
                address->name);
        if (culvi_now() >= until && error == EAGAIN)
            return culvi_fail_native(
                voice, label, CULV_ERROR_TIMEOUT, CULV_REASON_IPC_GONE, CULV_NATIVE_OS, error,
                "connect",
                "the server '%s' has as many clients at its door as find room there, and lets none of them in; does it call culv_ipc_server_poll()?",
                address->name);
        if (culvi_now() >= until) return fail_name(voice, label, address, error);
        culvi_sleep_ms(2);
    }
}

/* Descriptors ---------------------------------------------------------------------------------- */

atomic_bool culvi_ipc_old_kernel;

/* An older kernel has no such option. What comes there all the same harms nobody: posix_close.c. */
bool culvi_ipc_let_handles(culvi_ipc_channel channel, bool in)
{
    const int value = in;
    return !atomic_load_explicit(&culvi_ipc_old_kernel, memory_order_relaxed) &&
           setsockopt(channel, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof value) == 0;
}

bool culvi_ipc_all_read(culvi_ipc_channel channel)
{
    int bytes = 0;
    return ioctl(channel, SIOCOUTQ, &bytes) != 0 || bytes == 0; /* a filter may forbid to ask */
}

bool culvi_ipc_handle_dup(culvi_ipc_native handle, culvi_ipc_native *out)
{
    *out = fcntl(handle, F_DUPFD_CLOEXEC, 0);
    return *out >= 0;
}

uint64_t culvi_ipc_most_in_flight(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

/* Messages ------------------------------------------------------------------------------------- */

typedef union control {
    struct cmsghdr header; /* aligns it */
    char bytes[CMSG_SPACE(CULVI_IPC_FDS * sizeof(int))];
} control;

culvi_ipc_io culvi_ipc_send(int fd, const culvi_ipc_message *message, const int *fds)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    control with;
    struct iovec data = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    culvi_ipc_encode(message, bytes);
    if (message->fds > 0) {
        const size_t size = message->fds * sizeof(int);
        memset(&with, 0, sizeof with);
        header.msg_control = with.bytes;
        header.msg_controllen = CMSG_SPACE(size);
        with.header.cmsg_level = SOL_SOCKET;
        with.header.cmsg_type = SCM_RIGHTS;
        with.header.cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(&with.header), fds, size);
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent == (ssize_t)sizeof bytes) return CULVI_IPC_DONE;
    switch (errno) {
    case EAGAIN:
    case ENOBUFS: return CULVI_IPC_LATER;
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN: return CULVI_IPC_GONE;
    /* More of this user's are in flight than RLIMIT_NOFILE, in whatever sockets they lie. */
    case ETOOMANYREFS: return CULVI_IPC_CROWDED;
    /* Linux says so of handles that the other end does not take; else a filter does. */
    case EPERM: return header.msg_controllen > 0 ? CULVI_IPC_SHUT : CULVI_IPC_OS;
    default: return CULVI_IPC_OS;
    }
}

size_t culvi_ipc_fds_of(struct msghdr *header, int *fds, size_t most, bool *odd)
{
    size_t count = 0;
    *odd = false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            *odd = true;
            continue;
        }
        const size_t size = c->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= size && count < most; at += sizeof(int))
            memcpy(&fds[count++], CMSG_DATA(c) + at, sizeof(int));
    }
    return count;
}

/* Looks at the next message. A peer that closed without reading all leaves ECONNRESET first, and
 * then what it said. */
static ssize_t look(int fd, struct msghdr *header)
{
    ssize_t got = -1;
    for (unsigned resets = 0; got < 0 && resets < 2; resets++) {
        do
            got = recvmsg(fd, header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno != ECONNRESET) break;
    }
    return got;
}

/* A message is looked at before it is taken. Whoever lets go of a foreign file as the last one may
 * wait for it, and the kernel lets go of what does not fit. So nothing is taken whose descriptors
 * are not all here; what stays in the queue goes with the channel. */
culvi_ipc_io culvi_ipc_receive(int fd, bool answer, culvi_ipc_message *out, int fds[CULVI_IPC_FDS],
                               culvi_text *why)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    control with;
    struct iovec data = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = with.bytes,
                            .msg_controllen = sizeof with.bytes};
    bool odd, good = false;
    memset(&with, 0, sizeof with);
    const ssize_t got = look(fd, &header);
    if (got < 0)
        return errno == EAGAIN       ? CULVI_IPC_LATER
               : errno == ECONNRESET ? CULVI_IPC_GONE
                                     : CULVI_IPC_OS;
    const size_t count = culvi_ipc_fds_of(&header, fds, CULVI_IPC_FDS, &odd);
    const bool cut = (header.msg_flags & MSG_CTRUNC) != 0;
    const int left = cut ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    culvi_ipc_io io = CULVI_IPC_BAD;
    /* A packet without bytes and the end of a connection look the same, and neither is a message.
     * Nor is one with a second control message. */
    if (got == 0)
        io = CULVI_IPC_GONE;
    else if (cut && left < 0 && count < CULVI_IPC_FDS)
        io = CULVI_IPC_NO_FD; /* this process has no number left for them */
    else if (cut)
        culvi_text_add(why, "it has more than %d file descriptors, or some that could not be taken",
                       (int)CULVI_IPC_FDS);
    else if (odd)
        culvi_text_add(why, "it has more than file descriptors besides its bytes");
    else if (header.msg_flags & MSG_TRUNC)
        culvi_text_add(why, "it has more than %d bytes", (int)CULVI_IPC_BYTES);
    else
        good = culvi_ipc_decode(bytes, (size_t)got, count, answer, out, why);
    if (left >= 0) close(left);
    if (!good) {
        culvi_ipc_close_fds(fds, count);
        return io;
    }
    /* Its files are held here, so it can go. */
    for (int resets = 0; resets < 2 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) < 0; resets++) {
    }
    return CULVI_IPC_DONE;
}

/* Time ----------------------------------------------------------------------------------------- */

static int wait_for(int fd, uint64_t until)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    for (;;) {
        const uint64_t now = culvi_now(), left = until > now ? until - now : 0;
        const uint64_t second = UINT64_C(1000000000);
        struct timespec time = {.tv_sec = (time_t)(left / second < 3600 ? left / second : 3600),
                                .tv_nsec = (long)(left % second)};
        const int n = ppoll(&one, 1, &time, NULL);
        if (n > 0) return 1;
        if (n < 0 && errno != EINTR) return -1;
        if (n == 0 && culvi_now() >= until) return 0;
    }
}

int culvi_ipc_wait(int fd, uint64_t until)
{
    const int cancel = culvi_cancel_disable();
    const int ready = wait_for(fd, until);
    culvi_cancel_restore(cancel);
    return ready;
}

/* Pages ---------------------------------------------------------------------------------------- */

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

const char *const culvi_ipc_pages_call = "memfd_create";
const char *const culvi_ipc_send_call = "sendmsg";
const char *const culvi_ipc_receive_call = "recvmsg, or statx";
const char *const culvi_ipc_wait_call = "ppoll";
const char *const culvi_ipc_peer_call = "getsockopt";

int culvi_ipc_os_error(void)
{
    return errno;
}

bool culvi_ipc_pages_make(size_t size, const char *name, int *out)
{
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return false;
    if (ftruncate(fd, (off_t)size) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0) {
        *out = fd;
        return true;
    }
    const int error = errno;
    close(fd);
    errno = error;
    return false;
}

bool culvi_ipc_pages_freeze(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
}

bool culvi_ipc_pages_lend(int fd, int *out)
{
    return culvi_ipc_handle_dup(fd, out);
}

void *culvi_ipc_pages_map(int fd, size_t size, bool writable, bool *strange)
{
    struct stat st;
    const int seals = fcntl(fd, F_GET_SEALS);
    *strange = seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || st.st_size < 0 ||
               (uint64_t)st.st_size != size;
    if (*strange) return NULL;
    void *pages =
        mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void culvi_ipc_pages_unmap(void *pages, size_t size)
{
    if (pages != NULL) munmap(pages, size);
}
