/* SPDX-License-Identifier: MIT */
/* Unix sockets. */
#ifndef CULVI_IPC_POSIX_SOCKET_H_
#define CULVI_IPC_POSIX_SOCKET_H_

#include <stdatomic.h>

/* Set by tests: as if the kernel had no SO_PASSRIGHTS. */
extern atomic_bool culvi_ipc_old_kernel;

#endif
