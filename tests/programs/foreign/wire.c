/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <string.h>
#include <sys/socket.h>

typedef union control {
    struct cmsghdr header; /* aligns it */
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

bool wire_send(int socket, const wire_message *message, int fd)
{
    wire_message copy = *message;
    struct iovec data = {.iov_base = &copy, .iov_len = sizeof copy};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    control with;

    if (fd >= 0) {
        memset(&with, 0, sizeof with);
        header.msg_control = with.bytes;
        header.msg_controllen = sizeof with.bytes;
        with.header.cmsg_level = SOL_SOCKET;
        with.header.cmsg_type = SCM_RIGHTS;
        with.header.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&with.header), &fd, sizeof fd);
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

bool wire_receive(int socket, wire_message *message, int *fd)
{
    struct iovec data = {.iov_base = message, .iov_len = sizeof *message};
    control with;
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = with.bytes,
                            .msg_controllen = sizeof with.bytes};
    const struct cmsghdr *first;

    *fd = -1;
    memset(&with, 0, sizeof with);
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *message) return false;
    first = CMSG_FIRSTHDR(&header);
    if (first && first->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(first), sizeof *fd);
    return true;
}
