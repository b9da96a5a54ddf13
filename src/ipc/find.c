/* SPDX-License-Identifier: MIT */
/* Which servers there are: their names in order. culvi_ipc_names_read() is the system's list. */
#include "base/desc.h"
#include "ipc/ipc_channel.h"

#include <string.h>

void culvi_ipc_names_add(culvi_ipc_names *n, const char *name)
{
    char one[CULV_IPC_NAME_SIZE] = "";
    const size_t length = strlen(name);
    if (length >= sizeof one) return;
    memcpy(one, name, length);
    if (!culvi_ipc_name_good(one)) return;
    size_t at = n->count < n->room ? n->count : n->room;
    n->count++;
    while (at > 0 && strcmp(n->list[at - 1], one) > 0) {
        if (at < n->room) memcpy(n->list[at], n->list[at - 1], sizeof one);
        at--;
    }
    if (at < n->room) memcpy(n->list[at], one, sizeof one);
}

culv_result culv_ipc_find_servers(const char *directory, char (*names)[CULV_IPC_NAME_SIZE],
                                  size_t room, size_t *count)
{
    culvi_ipc_names n = {names, room, 0};
    CULVI_REQUIRE(NULL, count);
    if (room > 0) CULVI_REQUIRE(NULL, names);
    culv_result result = culvi_ipc_names_read(directory, &n);
    if (result == CULV_OK) *count = n.count;
    return result;
}
