/* SPDX-License-Identifier: MIT */
/* Handles of other processes: what differs between systems. */
#ifndef CULVI_IPC_FETCH_NATIVE_H_
#define CULVI_IPC_FETCH_NATIVE_H_

#include "culvert/ipc_fetch.h"
#include "ipc/ipc_channel.h"

/* After the process proved to be the one that is meant, and its user one of these: another handle
 * of what it has by that number. */
culv_result culvi_ipc_fetch(const culv_ipc_fetch_desc *desc, const culvi_ipc_users *users,
                            culvi_ipc_native *out);

#endif
