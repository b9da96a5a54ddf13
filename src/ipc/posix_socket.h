/* SPDX-License-Identifier: MIT */
/* Unix sockets, and the closing of file descriptors that another process sent. */
#ifndef CULVI_IPC_POSIX_SOCKET_H_
#define CULVI_IPC_POSIX_SOCKET_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Set by tests: as if the kernel had no SO_PASSRIGHTS. */
extern atomic_bool culvi_ipc_old_kernel;

/* The descriptors of a message, at most so many, and whether it has more than those besides its
 * bytes. */
size_t culvi_ipc_fds_of(struct msghdr *header, int *fds, size_t most, bool *odd);
/* Another thread closes it. */
void culvi_ipc_close_later(int fd);
/* Reads the beginning of a file of /proc, and ends it with a 0. 0: errno. */
size_t culvi_ipc_read_proc(const char *path, char *out, size_t size);

#endif
