/* SPDX-License-Identifier: MIT */
/* The closing of file descriptors that another process sent. */
#ifndef CULVI_IPC_POSIX_CLOSE_H_
#define CULVI_IPC_POSIX_CLOSE_H_

#include <stdbool.h>

/* Another thread closes it. */
void culvi_ipc_close_later(int fd);
/* Many of them wait to be closed: somebody sends what takes long. */
bool culvi_ipc_close_busy(void);

#endif
