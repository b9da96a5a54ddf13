/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: its files, Windows half. Section objects stand for them, so that what is
 * exported has a real NT handle. A "file descriptor" is such a handle, which Windows keeps within
 * 32 bits for the sake of 32-bit programs. */
#include "vmm.h"

#include <string.h>
#include <windows.h>

static HANDLE section_of(int fd)
{
    return (HANDLE)(intptr_t)fd;
}

int soft_make_file(const char *name, size_t size)
{
    (void)name; /* a label for debuggers, whereas a section's name is for other processes */
    const HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
                                              (DWORD)((uint64_t)size >> 32), (DWORD)size, NULL);
    return section != NULL ? (int)(intptr_t)section : -1;
}

void soft_close(int fd)
{
    if (fd > 0) CloseHandle(section_of(fd));
}

int soft_duplicate(int fd)
{
    HANDLE again = NULL;
    return DuplicateHandle(GetCurrentProcess(), section_of(fd), GetCurrentProcess(), &again, 0,
                           FALSE, DUPLICATE_SAME_ACCESS)
               ? (int)(intptr_t)again
               : -1;
}

int soft_reopen(int fd)
{
    return soft_duplicate(fd); /* a section has no offset to share */
}

/* Windows tells a section's size by its view. */
bool soft_file_size(int fd, uint64_t *size)
{
    MEMORY_BASIC_INFORMATION there;
    if (fd <= 0) return false;
    void *view = MapViewOfFile(section_of(fd), FILE_MAP_READ, 0, 0, 0);
    if (view == NULL) return false;
    const bool known = VirtualQuery(view, &there, sizeof(there)) != 0;
    UnmapViewOfFile(view);
    if (known) *size = there.RegionSize;
    return known;
}

/* Views begin at multiples of 64 KiB. */
static size_t view_granularity(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwAllocationGranularity;
}

static uint8_t *map_view(int fd, DWORD access, uint64_t offset, size_t size, uint8_t **base)
{
    const size_t skip = (size_t)(offset % view_granularity());
    const uint64_t from = offset - skip;
    if (fd <= 0 || size > SIZE_MAX - skip) return NULL;
    *base = MapViewOfFile(section_of(fd), access, (DWORD)(from >> 32), (DWORD)from, size + skip);
    return *base != NULL ? *base + skip : NULL;
}

void *soft_map_file(int fd, uint64_t offset, size_t size, void **map, size_t *map_size)
{
    uint8_t *base;
    uint8_t *start = map_view(fd, FILE_MAP_WRITE, offset, size, &base);
    if (start == NULL) return NULL;
    *map = base;
    *map_size = size + (size_t)(start - base);
    return start;
}

void *soft_map_file_at_unit(int fd, uint64_t offset, size_t size, size_t unit, void **map,
                            size_t *map_size)
{
    (void)unit;
    return soft_map_file(fd, offset, size, map, map_size);
}

bool soft_file_stays(int fd)
{
    (void)fd; /* a section's size is for ever */
    return true;
}

bool soft_read_at(int fd, void *data, size_t size, uint64_t offset)
{
    uint8_t *base;
    const uint8_t *from = map_view(fd, FILE_MAP_READ, offset, size, &base);
    if (from == NULL) return false;
    memcpy(data, from, size);
    UnmapViewOfFile(base);
    return true;
}

bool soft_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
    uint8_t *base;
    uint8_t *to = map_view(fd, FILE_MAP_WRITE, offset, size, &base);
    if (to == NULL) return false;
    memcpy(to, data, size);
    UnmapViewOfFile(base);
    return true;
}

void soft_punch(int fd, uint64_t offset, uint64_t size)
{
    uint8_t *base;
    uint8_t *at = map_view(fd, FILE_MAP_WRITE, offset, (size_t)size, &base);
    if (at == NULL) return;
    memset(at, 0, (size_t)size);
    UnmapViewOfFile(base);
}
