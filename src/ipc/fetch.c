/* SPDX-License-Identifier: MIT */
/* culv_ipc_fetch_dup: a handle by the number that another process has for it. */
#include "base/desc.h"
#include "ipc/ipc_channel.h"

#include <inttypes.h>

culv_result culv_ipc_fetch_dup(const culv_ipc_fetch_desc *desc, culv_handle *out)
{
    culv_ipc_fetch_desc d;
    culvi_ipc_users users;
    culvi_handle_facts facts;
    culvi_ipc_native native = CULVI_IPC_NO_NATIVE;
    CULVI_REQUIRE2(NULL, desc, out);
    culv_result result = culvi_desc_read(NULL, &d, sizeof d, desc, "culv_ipc_fetch_desc");
    if (result == CULV_OK)
        result = culvi_handle_type_check(NULL, NULL, "culv_ipc_fetch_desc.type", d.type);
    if (result != CULV_OK) return result;
    if (!culvi_ipc_travels(d.type))
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                          "culv_ipc_fetch_desc.type is %s, which is a number for every process; "
                          "there is nothing to fetch",
                          culvi_handle_type_name(d.type));
    if (d.pid <= 0)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_fetch_desc.pid is %d, which is no process", (int)d.pid);
    result = culvi_ipc_users_copy(NULL, d.users, d.num_users, "culv_ipc_fetch_desc", &users);
    if (result == CULV_OK) result = culvi_ipc_fetch(&d, &users, &native);
    culvi_ipc_users_free(&users);
    if (result != CULV_OK) return result;
    culv_handle handle = culvi_ipc_handle(d.type, native);
    result = culvi_handle_check(NULL, NULL, "what culv_ipc_fetch_dup() got",
                                culvi_handle_memory_source, &handle, &facts);
    if (result == CULV_OK && d.size > facts.size_limit)
        result =
            culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                       "culv_ipc_fetch_desc.size is %" PRIu64 " bytes, and the file of process %d "
                       "has %" PRIu64,
                       d.size, (int)d.pid, facts.size_limit);
    if (result == CULV_OK)
        *out = handle;
    else
        culvi_handle_close(&handle);
    return result;
}
