/* SPDX-License-Identifier: MIT */
/* Peers of the protocol that are no library's: any bytes with any descriptors. */
#include "ipc_raw.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct sockaddr_un raw_address(const char *name, socklen_t *length)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strcpy(a.sun_path + 1, "culvert/");
    strcat(a.sun_path + 1, name);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a.sun_path + 1));
    return a;
}

int raw_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    REQUIRE(fd >= 0);
    return fd;
}

int raw_connect(const char *name)
{
    socklen_t length;
    const struct sockaddr_un a = raw_address(name, &length);
    const int fd = raw_socket();
    REQUIRE_EQ(connect(fd, (const struct sockaddr *)&a, length), 0);
    return fd;
}

/* Any bytes with any number of descriptors; false: the other side closed. */
bool raw_send(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(253 * sizeof(int))]; /* SCM_MAX_FD */
    } with;
    struct iovec data = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    if (count > 0) {
        memset(&with, 0, sizeof with);
        header.msg_control = with.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        with.header.cmsg_level = SOL_SOCKET;
        with.header.cmsg_type = SCM_RIGHTS;
        with.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&with.header), fds, count * sizeof(int));
    }
    return sendmsg(fd, &header, MSG_NOSIGNAL) == (ssize_t)size;
}

culvi_ipc_message raw_message(culvi_ipc_type type)
{
    culvi_ipc_message m;
    memset(&m, 0, sizeof m);
    m.type = type;
    m.sequence = 1;
    return m;
}

bool raw_send_message(int fd, const culvi_ipc_message *m, const int *fds)
{
    unsigned char bytes[CULVI_IPC_BYTES];
    culvi_ipc_encode(m, bytes);
    return raw_send(fd, bytes, sizeof bytes, fds, m->fds);
}

/* A server's answer, which must be there. Its descriptors are closed. */
culvi_ipc_message raw_answer(int fd)
{
    culvi_ipc_message m;
    int fds[CULVI_IPC_FDS];
    char text[200] = "";
    culvi_text why = {text, sizeof text, 0};
    const culvi_ipc_io io = culvi_ipc_receive(fd, true, &m, fds, &why);
    if (io != CULVI_IPC_DONE) FAIL("no answer: %d %s", (int)io, text);
    culvi_ipc_close_fds(fds, m.fds);
    return m;
}

/* Whether the server has closed the connection. */
bool raw_closed(int fd)
{
    char bytes[CULVI_IPC_BYTES];
    ssize_t n;
    do
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    while (n > 0 || (n < 0 && errno == ECONNRESET));
    return n == 0;
}

raw_linger raw_linger_make(void)
{
    enum { SECONDS = 3600 }; /* the case ends before */
    raw_linger l = {-1, -1};
    static const char rest[65536];
    const struct linger wait = {1, SECONDS};
    const int small = 2048, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    REQUIRE(door >= 0 && setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    REQUIRE_EQ(bind(door, (const struct sockaddr *)&a, length), 0);
    REQUIRE_EQ(listen(door, 1), 0);
    REQUIRE_EQ(getsockname(door, (struct sockaddr *)&a, &length), 0);
    l.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(l.fd >= 0 && connect(l.fd, (const struct sockaddr *)&a, length) == 0);
    l.gate = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(l.gate >= 0);
    close(door);
    while (send(l.fd, rest, sizeof rest, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    REQUIRE_EQ(setsockopt(l.fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    return l;
}

int raw_linger_wrap(const raw_linger *l)
{
    int pair[2];
    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    REQUIRE(raw_send(pair[0], "x", 1, &l->fd, 1));
    close(pair[0]);
    return pair[1];
}

void raw_linger_open(raw_linger *l)
{
    close(l->gate);
    close(l->fd);
}
