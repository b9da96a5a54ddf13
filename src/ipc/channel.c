/* SPDX-License-Identifier: MIT */
/* Who is admitted, names, times, which servers there are, and handles by the number that another
 * process has for them: what is the same on every system. */
#include "ipc/ipc_channel.h"

culv_result culvi_ipc_users_copy(const culvi_voice *voice, const uint32_t *users, size_t count,
                                 const char *field, culvi_ipc_users *out)
{
    memset(out, 0, sizeof *out);
    CULVI_UNSUPPORTED_IF(
        users != NULL && (int)CULVI_SYSTEM == CULVI_SYSTEM_WINDOWS, voice, NULL,
        CULV_REASON_NOT_BUILT,
        "%s.users is given, and Windows has no numbers for users; leave it NULL, then only the user of this process is admitted",
        field);
    CULVI_REFUSE_IF((users == NULL) != (count == 0) || count > 4096, voice, NULL, CULV_REASON_VALUE,
                    "%s.users is %s and num_users is %zu; give both (at most 4096) or neither",
                    field, users == NULL ? "NULL" : "given", count);
    const uint32_t self = culvi_ipc_this_user();
    for (size_t i = 0; i < (users != NULL ? count : 1); i++) {
        const uint32_t user = users != NULL ? users[i] : self;
        if (culvi_ipc_user_is_one(user)) continue;
        return culvi_fail(
            voice, NULL, users != NULL ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
            CULV_REASON_IPC_REFUSED,
            "%s.users %s %" PRIu32
            ", which is the number of everybody whom this user namespace does not map, so that nobody could be told from a stranger; %s that /proc/self/uid_map has (in a container another USER than nobody)",
            field, users != NULL ? "names user" : "is NULL, and this process runs as user", user,
            users != NULL ? "name users" : "run it as a user");
    }
    if (users == NULL) return CULV_OK;
    out->users = culvi_alloc(count * sizeof *users);
    if (out->users == NULL) return culvi_fail_host_memory(voice, NULL);
    memcpy(out->users, users, count * sizeof *users);
    out->count = count;
    return CULV_OK;
}

culv_result culvi_ipc_read_name(const culvi_voice *voice, const char *where, const char *between,
                                const char *name, char out[CULV_IPC_NAME_SIZE])
{
    memset(out, 0, CULV_IPC_NAME_SIZE);
    for (size_t i = 0; i < CULV_IPC_NAME_SIZE && name[i] != 0; i++)
        out[i] = name[i];
    if (culvi_ipc_name_good(out)) return CULV_OK;
    return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE, "%s%s%s", where, between,
                      culvi_ipc_name_rule);
}

culv_result culvi_ipc_part_name(const culvi_voice *voice, const char *call, const char *ring,
                                uint32_t slots, uint32_t parts, uint32_t slot, uint32_t part,
                                char out[CULV_IPC_NAME_SIZE])
{
    culvi_text t = {out, CULV_IPC_NAME_SIZE, 0};
    CULVI_REFUSE_IF(slot >= slots || part >= parts, voice, ring, CULV_REASON_RANGE,
                    "%s: there is no part %" PRIu32 " of slot %" PRIu32 "; the ring has %" PRIu32
                    " slots of %" PRIu32 " parts",
                    call, part, slot, slots, parts);
    memset(out, 0, CULV_IPC_NAME_SIZE);
    culvi_text_add(&t, "%s.%" PRIu32 ".%" PRIu32, ring, slot, part);
    return CULV_OK;
}

void culvi_ipc_users_free(culvi_ipc_users *users)
{
    culvi_free(users->users);
    memset(users, 0, sizeof *users);
}

const char *culvi_ipc_user_note(uint32_t user)
{
    return culvi_ipc_user_is_one(user)
               ? ""
               : " (the number of everybody whom this user namespace does not map)";
}

bool culvi_ipc_user_admitted(const culvi_ipc_users *users, uint32_t user)
{
    bool named = users->users == NULL && user == culvi_ipc_this_user();
    for (size_t i = 0; i < users->count && !named; i++)
        named = users->users[i] == user;
    return named && culvi_ipc_user_is_one(user);
}

uint64_t culvi_ipc_until(uint64_t timeout)
{
    const uint64_t now = culvi_now();
    return timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

bool culvi_ipc_is_timeline(culv_handle_type type)
{
    return culvi_handle_owns(type) && culvi_handle_number(type, CULVI_USE_TIMELINE) != 0;
}

/* Which servers there are ---------------------------------------------------------------------- */

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

/* Handles of other processes ------------------------------------------------------------------- */

culv_result culv_ipc_fetch_dup(const culv_ipc_fetch_desc *desc, culv_handle *out)
{
    culvi_ipc_users users;
    culvi_handle_facts facts;
    culvi_ipc_native native = CULVI_IPC_NO_NATIVE;
    CULVI_REQUIRE2(NULL, desc, out);
    CULVI_READ(NULL, culv_ipc_fetch_desc, d, desc);
    CULVI_TRY(culvi_handle_type_check(NULL, NULL, "culv_ipc_fetch_desc.type", d.type));
    CULVI_REFUSE_IF(
        !culvi_handle_owns(d.type), NULL, NULL, CULV_REASON_HANDLE_TYPE,
        "culv_ipc_fetch_desc.type is %s, which is a number for every process; there is nothing to fetch",
        culvi_handle_type_name(d.type));
    CULVI_REFUSE_IF(d.pid <= 0, NULL, NULL, CULV_REASON_VALUE,
                    "culv_ipc_fetch_desc.pid is %d, which is no process", (int)d.pid);
    culv_result result =
        culvi_ipc_users_copy(NULL, d.users, d.num_users, "culv_ipc_fetch_desc", &users);
    if (result == CULV_OK) result = culvi_ipc_fetch(&d, &users, &native);
    culvi_ipc_users_free(&users);
    if (result != CULV_OK) return result;
    culv_handle handle = culvi_ipc_handle(d.type, native);
    result = culvi_handle_check(NULL, NULL, "what culv_ipc_fetch_dup() got",
                                culvi_handle_memory_source, &handle, &facts);
    if (result == CULV_OK && d.size > facts.size_limit)
        result = culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                            "culv_ipc_fetch_desc.size is %" PRIu64
                            " bytes, and the file of process %d has %" PRIu64,
                            d.size, (int)d.pid, facts.size_limit);
    if (result == CULV_OK)
        *out = handle;
    else
        culvi_handle_close(&handle);
    return result;
}
