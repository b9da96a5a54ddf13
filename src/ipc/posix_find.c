/* SPDX-License-Identifier: MIT */
/* Which servers there are: the abstract sockets that the kernel lists, or those of a
 * directory. */
#include "ipc/ipc_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* An abstract socket's name, without the 0 before it. */
static void add_abstract(culvi_ipc_names *n, const char *bytes, size_t length)
{
    static const char prefix[] = "culvert/";
    char name[CULV_IPC_NAME_SIZE] = "";
    const size_t skip = sizeof prefix - 1;
    if (length <= skip || length - skip >= sizeof name || memcmp(bytes, prefix, skip) != 0) return;
    memcpy(name, bytes + skip, length - skip);
    if (strlen(name) == length - skip) culvi_ipc_names_add(n, name);
}

/* One answer of sock_diag(7): a listening socket and, among its attributes, its name. */
static void read_diag(culvi_ipc_names *n, const char *bytes, size_t size)
{
    struct unix_diag_msg what;
    if (size < sizeof what) return;
    memcpy(&what, bytes, sizeof what);
    if (what.udiag_type != SOCK_SEQPACKET) return;
    for (size_t at = NLMSG_ALIGN(sizeof what); at + sizeof(struct rtattr) <= size;) {
        struct rtattr one;
        memcpy(&one, bytes + at, sizeof one);
        if (one.rta_len < sizeof one || one.rta_len > size - at) return;
        const char *name = bytes + at + sizeof one;
        const size_t length = one.rta_len - sizeof one;
        if (one.rta_type == UNIX_DIAG_NAME && length > 1 && name[0] == 0)
            add_abstract(n, name + 1, length - 1);
        at += NLMSG_ALIGN(one.rta_len);
    }
}

/* The listening sockets of this network namespace, by netlink: a name may have line ends, and look
 * like lines of others in /proc/net/unix. Returns the system's error. */
static int read_netlink(culvi_ipc_names *n)
{
    enum { LISTEN = 10, ROOM = 16384 }; /* TCP_LISTEN; what the kernel sends is not longer */
    struct {
        struct nlmsghdr header;
        struct unix_diag_req question;
    } ask;
    union {
        struct nlmsghdr header;
        char bytes[ROOM];
    } got;
    const struct timeval second = {1, 0};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return errno;
    memset(&ask, 0, sizeof ask);
    ask.header.nlmsg_len = sizeof ask;
    ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    ask.question.sdiag_family = AF_UNIX;
    ask.question.udiag_states = 1u << LISTEN;
    ask.question.udiag_show = UDIAG_SHOW_NAME;
    bool done = false;
    int error = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) == 0 &&
                        send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask
                    ? 0
                    : errno;
    while (error == 0 && !done) {
        const ssize_t size = recv(fd, got.bytes, sizeof got, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) error = size < 0 ? errno : EPROTO;
        for (size_t at = 0; error == 0 && !done && at + NLMSG_HDRLEN <= (size_t)size;) {
            struct nlmsghdr one;
            memcpy(&one, got.bytes + at, sizeof one);
            if (one.nlmsg_len < NLMSG_HDRLEN || one.nlmsg_len > (size_t)size - at) break;
            done = one.nlmsg_type == NLMSG_DONE;
            if (one.nlmsg_type == NLMSG_ERROR)
                error = EOPNOTSUPP;
            else if (!done)
                read_diag(n, got.bytes + at + NLMSG_HDRLEN, one.nlmsg_len - NLMSG_HDRLEN);
            at += NLMSG_ALIGN(one.nlmsg_len);
        }
    }
    close(fd);
    return error;
}

/* By the system's calls: libc's would allocate. getdents64(2): an entry has its own length at byte
 * 16, and its name at byte 19. */
static int read_directory(culvi_ipc_names *n, const char *directory)
{
    enum { LENGTH = 16, NAME = 19 };
    char bytes[4096];
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    for (;;) {
        const long got = syscall(SYS_getdents64, fd, bytes, sizeof bytes);
        if (got <= 0) {
            const int error = got < 0 ? errno : 0;
            close(fd);
            return error;
        }
        for (long at = 0; at + NAME < got;) {
            uint16_t length;
            memcpy(&length, bytes + at + LENGTH, sizeof length);
            if (length <= NAME || length > got - at) break;
            struct stat st;
            const char *const name = bytes + at + NAME;
            if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode))
                culvi_ipc_names_add(n, name);
            at += length;
        }
    }
}

culv_result culvi_ipc_names_read(const char *directory, culvi_ipc_names *out)
{
    const int error = directory != NULL ? read_directory(out, directory) : read_netlink(out);
    if (error == 0) return CULV_OK;
    if (directory == NULL)
        return culvi_fail_os(
            NULL, NULL, error, "recv",
            "the system does not list its sockets (sock_diag(7)); a container's filter or a kernel without CONFIG_UNIX_DIAG keeps it from that");
    return culvi_fail_os(NULL, NULL, error, "open", "%s could not be read", directory);
}
