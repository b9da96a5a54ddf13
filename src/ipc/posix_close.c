/* SPDX-License-Identifier: MIT */
/* File descriptors that another process sent: what they are, and their closing.
 *
 * close() may wait as long as the sender likes: a TCP socket lingers (SO_LINGER), a file of FUSE
 * asks its process, a Unix socket has others of these in its queue. Any call that takes a lock of
 * the file waits for a thread of the sender's that has it: one that is stopped in write() to a pipe
 * or a socket has it for as long as it likes. So a file is asked for nothing but F_GETFL,
 * F_GET_SEALS and statx(), which take no such lock, and a thread of Culvert's own closes what is
 * not known to be harmless, and does there what else has to be done with it. */
#include "base/platform.h"
#include "ipc/ipc_channel.h"
#include "ipc/posix_socket.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef O_PATH
#    define O_PATH 010000000
#endif

/* What they are -------------------------------------------------------------------------------- */

/* The kernel's struct statx (linux/stat.h). musl has it from 1.2.5 on; and glibc's statx() asks by
 * fstat(), which may wait for the sender, where a filter says that there is no such call. */
typedef struct statx_answer {
    uint32_t unread[7];
    uint16_t mode, spare;
    uint64_t inode, size, blocks, mask_and_times[9];
    uint32_t device_major, rest[31];
} statx_answer;
_Static_assert(sizeof(statx_answer) == 256, "the kernel writes 256 bytes");

/* A memfd, or another file of memory: nobody but the kernel is asked about it. */
static bool is_memory(int fd)
{
    return fcntl(fd, F_GET_SEALS) >= 0;
}

/* Reads what is known of the file without asking whoever keeps it. If a filter keeps statx() from
 * this process, that is known of files of memory alone. */
static bool look(int fd, statx_answer *out)
{
    enum { DONT_SYNC = 0x4000, TYPE_SIZE_BLOCKS = 0x601 };
    struct stat s;
    memset(out, 0, sizeof *out);
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | DONT_SYNC, TYPE_SIZE_BLOCKS, out) == 0)
        return true;
    const int error = errno;
    const bool may = (error == ENOSYS || error == EPERM) && is_memory(fd) && fstat(fd, &s) == 0;
    errno = error;
    if (!may) return false;
    out->mode = (uint16_t)s.st_mode;
    out->blocks = (uint64_t)s.st_blocks;
    return true;
}

/* What /proc says of a dma-buf, and of nothing else. Asked of regular files alone, none of which
 * has a say in that text. */
static bool is_dma_buf(int fd)
{
    char path[48], text[512];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    return culvi_ipc_read_proc(path, text, sizeof text) > 0 && strstr(text, "\nexp_name:") != NULL;
}

/* By the kernel's list of device numbers (Documentation/admin-guide/devices.txt): pseudo terminals,
 * consoles and serial lines. A driver that is handed one of another kind refuses it. */
static bool is_terminal(unsigned device)
{
    return (device >= 2 && device <= 5) || (device >= 128 && device <= 143) || device == 166 ||
           device == 188 || device == 204 || device == 216 || device == 229;
}

static culvi_ipc_io say(culvi_text *why, const char *what)
{
    culvi_text_add(why, "a file descriptor that came with it is %s", what);
    return CULVI_IPC_BAD;
}

static culvi_ipc_io look_at(int fd, bool memory, culvi_text *why)
{
    statx_answer s;
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_PATH) != 0) return say(why, "a place in a file system (O_PATH)");
    if (flags < 0 || !look(fd, &s)) return CULVI_IPC_OS;
    switch (s.mode & S_IFMT) {
    case S_IFIFO: return say(why, "a pipe");
    case S_IFSOCK: return say(why, "a socket");
    case S_IFDIR: return say(why, "a directory");
    case S_IFBLK: return say(why, "a block device");
    case S_IFCHR: return is_terminal(s.device_major) ? say(why, "a terminal") : CULVI_IPC_DONE;
    case S_IFREG:
        if (is_memory(fd)) return CULVI_IPC_DONE;
        if (errno == EPERM || errno == ENOSYS) return CULVI_IPC_OS; /* a filter's answer */
        return memory && is_dma_buf(fd) ? CULVI_IPC_DONE : say(why, "a file of a file system");
    default: return CULVI_IPC_DONE;
    }
}

culvi_ipc_io culvi_ipc_handles_good(const int *fds, size_t count, bool memory, culvi_text *why)
{
    culvi_ipc_io good = CULVI_IPC_DONE;
    for (size_t i = 0; i < count && good == CULVI_IPC_DONE; i++)
        good = look_at(fds[i], memory, why);
    return good;
}

/* Whether its close() waits for nobody. A large memfd takes the kernel its time. */
static bool harmless(int fd)
{
    enum { LARGE = 64 << 20, SECTOR = 512 };
    statx_answer s;
    return look(fd, &s) && (s.mode & S_IFMT) == S_IFREG && is_memory(fd) &&
           s.blocks <= LARGE / SECTOR;
}

/* Their closing -------------------------------------------------------------------------------- */

enum { CLOSERS = 16, PLACES = 2048 };

/* These need no lock: a child of fork() has them as they were, and none of the threads. */
static atomic_int places[PLACES]; /* a descriptor and 1; 0: free */
static atomic_int waiting; /* of the places that are taken, and those that are being closed */
static atomic_int closers; /* threads */
static atomic_int owner;   /* the process whose threads they are */

static bool close_one(void)
{
    static const struct linger none = {0, 0};
    for (size_t i = 0; i < PLACES; i++) {
        if (atomic_load(&places[i]) == 0) continue;
        const int fd = atomic_exchange(&places[i], 0) - 1;
        if (fd < 0) continue;
        /* Most of what lingers does not from now on; what is not a socket says no. */
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        close(fd);
        atomic_fetch_sub(&waiting, 1);
        return true;
    }
    return false;
}

static bool enter(void)
{
    int now = atomic_load(&closers);
    while (now < CLOSERS)
        if (atomic_compare_exchange_weak(&closers, &now, now + 1)) return true;
    return false;
}

static bool any(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (atomic_load(&places[i]) != 0) return true;
    return false;
}

static void *work(void *unused)
{
    (void)unused;
    do {
        while (close_one()) {
        }
        atomic_fetch_sub(&closers, 1);
    } while (any() && enter()); /* what came between the last look and the word */
    return NULL;
}

/* The code of a thread stays. */
static void keep_library(void)
{
    Dl_info self;
    if (dladdr((const void *)&closers, &self) != 0 && self.dli_fname != NULL)
        culvi_module_keep(self.dli_fname);
}

/* Where no thread can be had, the descriptors stay till there is one. */
static void start(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (!enter()) return;
    keep_library();
    sigfillset(&all);
    bool started = pthread_attr_init(&attributes) == 0;
    if (started) {
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, 128 << 10);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        started = pthread_create(&thread, &attributes, work, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!started) atomic_fetch_sub(&closers, 1);
}

void culvi_ipc_close_later(int fd)
{
    const int self = (int)getpid();
    int other = atomic_load(&owner);
    if (other != self && atomic_compare_exchange_strong(&owner, &other, self))
        atomic_store(&closers, 0);
    for (size_t i = 0; i < PLACES; i++) {
        int empty = 0;
        if (!atomic_compare_exchange_strong(&places[i], &empty, fd + 1)) continue;
        atomic_fetch_add(&waiting, 1);
        start();
        return;
    }
    /* More than any server admits (culvi_ipc_close_busy()): it stays open. */
}

bool culvi_ipc_close_busy(int many)
{
    return atomic_load(&waiting) >= many && atomic_load(&owner) == (int)getpid();
}

void culvi_ipc_close_fds(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] < 0) continue;
        if (harmless(fds[i]))
            close(fds[i]);
        else
            culvi_ipc_close_later(fds[i]);
    }
}

void culvi_ipc_close_own(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0) close(fds[i]);
}

/* Whether nothing is left in the queue of a socket to which nobody can write any more, but what is
 * harmless. An empty packet looks like the end, but has its sender's name besides. A long queue
 * takes its time, which is not the caller's. */
static bool emptied(int fd)
{
    enum { MOST = 16, MOST_FDS = 253 /* SCM_MAX_FD of linux/net/scm.h */ };
    const int one = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) != 0) return false;
    for (int i = 0; i < MOST; i++) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(MOST_FDS * sizeof(int))];
        } with;
        int fds[MOST_FDS];
        char byte;
        struct iovec data = {.iov_base = &byte, .iov_len = 1};
        struct msghdr header = {.msg_iov = &data,
                                .msg_iovlen = 1,
                                .msg_control = with.bytes,
                                .msg_controllen = sizeof with.bytes};
        const ssize_t got = recvmsg(fd, &header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
        if (got < 0 || (got == 0 && header.msg_controllen == 0)) return true;
        bool odd; /* its sender's name is */
        const size_t count = culvi_ipc_fds_of(&header, fds, MOST_FDS, &odd);
        bool good = (header.msg_flags & MSG_CTRUNC) == 0;
        for (size_t k = 0; k < count && good; k++)
            good = harmless(fds[k]);
        if (good) (void)recv(fd, &byte, 1, MSG_DONTWAIT);
        culvi_ipc_close_fds(fds, count);
        if (!good) return false;
    }
    return false;
}

void culvi_ipc_channel_close(culvi_ipc_channel *channel, bool mine)
{
    const int fd = *channel;
    *channel = CULVI_IPC_NO_CHANNEL;
    if (fd < 0) return;
    if (mine) (void)shutdown(fd, SHUT_RDWR);
    if (mine && emptied(fd))
        close(fd);
    else
        culvi_ipc_close_later(fd);
}
