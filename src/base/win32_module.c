/* SPDX-License-Identifier: MIT */
/* Shared libraries, Windows half. */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

const char *const culvi_cuda_library = "nvcuda.dll";
const char *const culvi_soft_library = "culvert-soft.dll";

void *culvi_module_open(const char *path, char *why, size_t why_size)
{
    /* A bare name is NVIDIA's driver: from the system directory only, so that nothing can be
     * planted before it. */
    bool bare = strchr(path, '\\') == NULL && strchr(path, '/') == NULL;
    HMODULE module = LoadLibraryExA(
        path, NULL, bare ? LOAD_LIBRARY_SEARCH_SYSTEM32 : LOAD_WITH_ALTERED_SEARCH_PATH);
    if (module == NULL)
        snprintf(why, why_size, "%s: error %lu", path, (unsigned long)GetLastError());
    return (void *)module;
}

void *culvi_module_loaded(const char *name)
{
    return (void *)GetModuleHandleA(name);
}

void *culvi_module_symbol(void *module, const char *name)
{
    FARPROC proc = GetProcAddress((HMODULE)module, name);
    void *address = NULL;
    memcpy(&address, &proc, sizeof address);
    return address;
}

bool culvi_module_exists(const char *path)
{
    return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

void culvi_module_close(void *module)
{
    /* CUDA drivers keep threads and cannot be unloaded safely. */
    (void)module;
}

bool culvi_module_keep(const char *name)
{
    HMODULE module = NULL;
    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN, name, &module) != 0;
}

int culvi_file_head(const char *path, void *out, size_t size, size_t *out_size)
{
    int fd = _open(path, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    if (fd < 0) return errno;
    int error = 0, got = _read(fd, out, (unsigned)size);
    if (got < 0) error = errno;
    (void)_close(fd);
    *out_size = got > 0 ? (size_t)got : 0;
    return error;
}

bool culvi_module_self_dir(char *out, size_t size)
{
    HMODULE self = NULL;
    DWORD flags =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExA(flags, (LPCSTR)(const void *)&culvi_cuda_library, &self)) return false;
    DWORD length = GetModuleFileNameA(self, out, (DWORD)size);
    if (length == 0 || length >= size) return false;
    char *slash = strrchr(out, '\\');
    if (slash == NULL) return false;
    *slash = '\0';
    return true;
}
