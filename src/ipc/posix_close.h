/* SPDX-License-Identifier: MIT */
/* The closing of file descriptors that another process sent. */
#ifndef CULVI_IPC_POSIX_CLOSE_H_
#define CULVI_IPC_POSIX_CLOSE_H_

/* Another thread closes it. */
void culvi_ipc_close_later(int fd);

#endif
