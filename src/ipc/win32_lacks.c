/* SPDX-License-Identifier: MIT */
/* What Windows has no call for: each says so. */
#include "base/message.h"
#include "culvert/ipc.h"

culv_result culv_ipc_find_servers(const char *directory, char (*names)[CULV_IPC_NAME_SIZE],
                                  size_t room, size_t *count)
{
    (void)directory;
    (void)names;
    (void)room;
    (void)count;
    return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,
                      "%s: this version does not list named pipes; connect by the server's name",
                      __func__);
}
