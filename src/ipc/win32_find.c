/* SPDX-License-Identifier: MIT */
/* Which servers there are: the names of all pipes, as the pipes' file system lists them. That
 * opens none of them. A name is there once, however many instances its pipe has. */
#include "ipc/win32_pipe.h"

/* The server of a pipe's name; false: it is nobody of Culvert's. */
static bool server_of(const wchar_t *pipe, char out[CULV_IPC_NAME_SIZE])
{
    static const char prefix[] = CULVI_IPC_PIPE_PREFIX;
    const size_t skip = sizeof prefix - 1;
    size_t n = 0;
    for (size_t i = 0; i < skip; i++)
        if (pipe[i] != (wchar_t)prefix[i]) return false;
    for (; pipe[skip + n] != 0; n++) {
        if (n == CULV_IPC_NAME_SIZE - 1 || pipe[skip + n] > 0x7f) return false;
        out[n] = (char)pipe[skip + n];
    }
    out[n] = 0;
    return true;
}

culv_result culvi_ipc_names_read(const char *directory, culvi_ipc_names *out)
{
    WIN32_FIND_DATAW found;
    char name[CULV_IPC_NAME_SIZE];
    if (directory != NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_BUILT,
                          "culv_ipc_find_servers: directory is given, and named pipes lie in no "
                          "directory; pass NULL");
    /* All of them: patterns other than this one are not what every version takes here. */
    const HANDLE search = FindFirstFileW(L"\\\\.\\pipe\\*", &found);
    DWORD error = search != INVALID_HANDLE_VALUE ? ERROR_SUCCESS : GetLastError();
    while (error == ERROR_SUCCESS) {
        if (server_of(found.cFileName, name)) culvi_ipc_names_add(out, name);
        if (!FindNextFileW(search, &found)) error = GetLastError();
    }
    if (search != INVALID_HANDLE_VALUE) FindClose(search);
    if (error == ERROR_NO_MORE_FILES || error == ERROR_FILE_NOT_FOUND) return CULV_OK;
    return culvi_fail_native(
        NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS, (int)error, "FindFirstFile",
        "the system does not list its named pipes%s",
        error == ERROR_BAD_DEV_TYPE ? " (Wine 8 does not); connect by the server's name" : "");
}
