/* SPDX-License-Identifier: MIT */
/* Sections of Windows. They have one size for ever, so there is nothing to seal. */
#include "ipc/win32_pipe.h"

#include "base/platform.h"

const char *const culvi_ipc_pages_call = "CreateFileMapping";

int culvi_ipc_os_error(void)
{
    return (int)GetLastError();
}

bool culvi_ipc_pages_make(size_t size, const char *name, culvi_ipc_native *out)
{
    (void)name; /* nobody finds it by one */
    const HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
                                              (DWORD)((uint64_t)size >> 32), (DWORD)size, NULL);
    if (section == NULL) return false;
    *out = section;
    return true;
}

bool culvi_ipc_pages_lend(culvi_ipc_native pages, culvi_ipc_native *out)
{
    const HANDLE self = GetCurrentProcess();
    return DuplicateHandle(self, pages, self, out, FILE_MAP_READ, FALSE, 0) != FALSE;
}

void *culvi_ipc_pages_map(culvi_ipc_native pages, size_t size, bool writable, bool *strange)
{
    MEMORY_BASIC_INFORMATION info;
    const size_t page = (size_t)culvi_page_size();
    *strange = false;
    void *map =
        MapViewOfFile(pages, writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ, 0, 0, 0);
    if (map == NULL) {
        *strange = GetLastError() == ERROR_INVALID_HANDLE; /* no section */
        return NULL;
    }
    if (VirtualQuery(map, &info, sizeof info) == sizeof info &&
        info.RegionSize == (size + page - 1) / page * page)
        return map;
    UnmapViewOfFile(map);
    *strange = true;
    return NULL;
}

void culvi_ipc_pages_unmap(void *pages, size_t size)
{
    (void)size;
    if (pages != NULL) UnmapViewOfFile(pages);
}
