/* SPDX-License-Identifier: MIT */
/* Handles of other processes: what differs between systems. */
#ifndef CULVI_IPC_FETCH_NATIVE_H_
#define CULVI_IPC_FETCH_NATIVE_H_

#include "culvert/handle.h"
#include "ipc/ipc_channel.h"

/* Gets another handle of what the process has by that number, after it proved to be the process
 * that is meant, and its user one of these. */
culv_result culvi_ipc_fetch(const culv_ipc_fetch_desc *desc, const culvi_ipc_users *users,
                            culvi_ipc_native *out);

#endif
