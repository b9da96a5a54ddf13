/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what virtual memory management asks of the operating system, Windows
 * half: addresses, and handles.
 *
 * Windows maps a section into a part of reserved addresses only where they are placeholders, which
 * Wine 8 lacks. So a reservation is the twin's own knowledge: its addresses lie where nothing else
 * does unless it asks for that very address. Windows learns of them when something is mapped. */
#include "vmm.h"

#include "../shared/labels.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>
/* after it */
#include <winternl.h>

#define ARENA_START ((uintptr_t)0x200000000000)
#define ARENA_END   ((uintptr_t)0x500000000000)
#define ARENA_GAP   ((uintptr_t)1 << 30)

/* Addresses ------------------------------------------------------------------------------------ */

static bool is_free(uintptr_t start, size_t size)
{
    MEMORY_BASIC_INFORMATION there;
    if (start > UINTPTR_MAX - size || soft_reservation_first(start, size) != NULL) return false;
    for (uintptr_t at = start; at < start + size;) {
        if (VirtualQuery((const void *)at, &there, sizeof(there)) == 0) return false;
        if (there.State != MEM_FREE || there.RegionSize == 0) return false;
        at = (uintptr_t)there.BaseAddress + there.RegionSize;
    }
    return true;
}

void *soft_reserve_at(uintptr_t start, size_t size)
{
    return is_free(start, size) ? (void *)start : NULL;
}

void *soft_reserve(size_t size, size_t alignment, uintptr_t hint)
{
    static uintptr_t next = ARENA_START;
    if (size > ARENA_END - ARENA_START || alignment > ARENA_END - ARENA_START) return NULL;
    if (hint != 0 && hint % alignment == 0 && is_free(hint, size)) return (void *)hint;
    for (int round = 0; round < 2; round++) { /* the rest of the arena, then from its start */
        uintptr_t place = (next + alignment - 1) / alignment * alignment;
        while (place <= ARENA_END - size && !is_free(place, size))
            place += (size + ARENA_GAP + alignment - 1) / alignment * alignment;
        if (place <= ARENA_END - size) {
            next = place + size + (size > ARENA_GAP ? size : ARENA_GAP);
            return (void *)place;
        }
        next = ARENA_START;
    }
    return NULL;
}

void *soft_reserve_anywhere(size_t size)
{
    return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);
}

/* Where the view that begins at `base` ends. */
static uintptr_t end_of_view(uintptr_t base)
{
    MEMORY_BASIC_INFORMATION there;
    uintptr_t end = base;
    while (VirtualQuery((const void *)end, &there, sizeof(there)) != 0 && there.State != MEM_FREE &&
           (uintptr_t)there.AllocationBase == base)
        end += there.RegionSize;
    return end;
}

/* Takes no look at addresses that it has given back: they may be another thread's by then. */
bool soft_blank(void *at, size_t size)
{
    MEMORY_BASIC_INFORMATION there;
    for (uintptr_t next = (uintptr_t)at, end = next + size; next < end;) {
        if (VirtualQuery((const void *)next, &there, sizeof(there)) == 0) return false;
        if (there.State == MEM_FREE) {
            next = (uintptr_t)there.BaseAddress + there.RegionSize;
        } else if (there.Type == MEM_MAPPED) {
            next = end_of_view((uintptr_t)there.AllocationBase);
            if (!UnmapViewOfFile(there.AllocationBase)) return false;
        } else { /* soft_reserve_anywhere()'s: all of it */
            return there.AllocationBase == at && VirtualFree(at, 0, MEM_RELEASE) != 0;
        }
    }
    return true;
}

void soft_unmap(void *map, size_t map_size)
{
    if (map != NULL && map_size > 0) (void)soft_blank(map, map_size);
}

void *soft_pages_make(size_t size)
{
    const int section = soft_make_file("culvert vmm", size);
    return section > 0 ? (void *)(intptr_t)section : NULL;
}

void soft_pages_free(void *pages, size_t size)
{
    (void)size;
    soft_close((int)(intptr_t)pages);
}

static DWORD protection_of(CUmemAccess_flags access)
{
    return access == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? PAGE_NOACCESS
           : access == CU_MEM_ACCESS_FLAGS_PROT_READ ? PAGE_READONLY
                                                     : PAGE_READWRITE;
}

bool soft_pages_place(void *at, size_t size, void *pages, int fd, uint64_t offset)
{
    DWORD before;
    const HANDLE section = fd > 0 ? (HANDLE)(intptr_t)fd : pages;
    if (!soft_blank(at, size) || MapViewOfFileEx(section, FILE_MAP_WRITE, (DWORD)(offset >> 32),
                                                 (DWORD)offset, size, at) == NULL)
        return false;
    return VirtualProtect(at, size, PAGE_NOACCESS, &before) != 0;
}

bool soft_protect(void *at, size_t size, CUmemAccess_flags access)
{
    MEMORY_BASIC_INFORMATION there;
    DWORD before;
    if (VirtualQuery(at, &there, sizeof(there)) == 0) return false;
    if (there.Type != MEM_MAPPED)
        return VirtualAlloc(at, size, MEM_COMMIT, protection_of(access)) != NULL;
    for (uintptr_t next = (uintptr_t)at, end = next + size; next < end;) { /* view by view */
        if (VirtualQuery((const void *)next, &there, sizeof(there)) == 0) return false;
        const uintptr_t stop = (uintptr_t)there.BaseAddress + there.RegionSize;
        const size_t part = (stop < end ? stop : end) - next;
        if (there.State == MEM_COMMIT &&
            !VirtualProtect((void *)next, part, protection_of(access), &before))
            return false;
        next += part;
    }
    return true;
}

bool soft_pages_show(void *at, size_t size, int fd, uint64_t offset, CUmemAccess_flags access)
{
    return soft_pages_place(at, size, NULL, fd, offset) && soft_protect(at, size, access);
}

uint64_t soft_random(void)
{
    return soft_now_ns() * UINT64_C(0x9e3779b97f4a7c15);
}

/* Handles -------------------------------------------------------------------------------------- */

#define NT  ((unsigned)CU_MEM_HANDLE_TYPE_WIN32)
#define KMT ((unsigned)CU_MEM_HANDLE_TYPE_WIN32_KMT)

size_t soft_share_alignment(void)
{
    return 65536; /* what a view of the memory must begin at */
}

CUresult soft_share_check(const CUmemAllocationProp *prop)
{
    const unsigned wanted = (unsigned)prop->requestedHandleTypes;
    const OBJECT_ATTRIBUTES *attributes = prop->win32HandleMetaData;
    if (wanted & ~(NT | KMT)) return CUDA_ERROR_INVALID_VALUE;
    /* cuda.h: required for NT handles, zero otherwise. */
    if (((wanted & NT) != 0) != (attributes != NULL) ||
        (attributes != NULL && attributes->Length != sizeof(*attributes)))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

int soft_share_make(const CUmemAllocationProp *prop, size_t size)
{
    HANDLE section = NULL;
    LARGE_INTEGER room = {.QuadPart = (LONGLONG)size};
    NTSTATUS(NTAPI * create)
    (HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, LARGE_INTEGER *, ULONG, ULONG, HANDLE) = NULL;
    if (prop->win32HandleMetaData == NULL) return soft_make_file("culvert vmm", size);
    /* So the security descriptor, the name and the inheritance are the system's to keep. */
    FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "NtCreateSection");
    memcpy(&create, &found, sizeof(create));
    if (create == NULL || create(&section, SECTION_ALL_ACCESS, prop->win32HandleMetaData, &room,
                                 PAGE_READWRITE, SEC_COMMIT, NULL) != 0)
        return -1;
    return (int)(intptr_t)section;
}

/* The record that a number leads to. */
static bool make_kmt(struct soft_physical *physical)
{
    static uint32_t next;
    wchar_t name[64];
    const culv_soft_vmm_kmt record = {.process = GetCurrentProcessId(),
                                      .section = (uint32_t)physical->fd};
    for (unsigned tries = 0; tries < 4096; tries++) {
        const uint32_t number = UINT32_C(0x40000000) | (++next & 0xffffff) << 2 | 2;
        swprintf(name, sizeof(name) / sizeof(name[0]), CULV_SOFT_VMM_KMT_NAME,
                 (unsigned long)number);
        SetLastError(0);
        const HANDLE section =
            CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, name);
        if (section == NULL) return false;
        const bool mine = GetLastError() != ERROR_ALREADY_EXISTS; /* another process's otherwise */
        const int fd = (int)(intptr_t)section;
        if (mine && soft_write_at(fd, &record, sizeof(record), 0) &&
            soft_write_at(fd, CULV_SOFT_VMM_KMT_MAGIC, sizeof(record.magic), 0)) {
            physical->kmt = number;
            physical->kmt_record = fd;
            return true;
        }
        soft_close(fd);
        if (mine) return false;
    }
    return false;
}

CUresult soft_share_export(struct soft_physical *physical, unsigned type, void *out)
{
    if (type == KMT) {
        if (physical->kmt_record <= 0 && !make_kmt(physical)) return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(out, &physical->kmt, sizeof(physical->kmt));
        return CUDA_SUCCESS;
    }
    const int fd = soft_reopen(physical->fd);
    const HANDLE handle = (HANDLE)(intptr_t)fd;
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(out, &handle, sizeof(handle));
    return CUDA_SUCCESS;
}

/* A handle of the section that the exporter has. */
static int open_kmt(uint32_t number)
{
    wchar_t name[64];
    culv_soft_vmm_kmt record;
    HANDLE ours = NULL;
    swprintf(name, sizeof(name) / sizeof(name[0]), CULV_SOFT_VMM_KMT_NAME, (unsigned long)number);
    const HANDLE section = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    if (section == NULL) return -1;
    const bool read = soft_read_at((int)(intptr_t)section, &record, sizeof(record), 0) &&
                      memcmp(record.magic, CULV_SOFT_VMM_KMT_MAGIC, sizeof(record.magic)) == 0;
    CloseHandle(section);
    if (!read) return -1;
    const HANDLE exporter = OpenProcess(PROCESS_DUP_HANDLE, FALSE, record.process);
    if (exporter == NULL) return -1;
    if (!DuplicateHandle(exporter, (HANDLE)(intptr_t)record.section, GetCurrentProcess(), &ours, 0,
                         FALSE, DUPLICATE_SAME_ACCESS))
        ours = NULL;
    CloseHandle(exporter);
    return ours != NULL ? (int)(intptr_t)ours : -1;
}

/* Whether the handle has the rights that memory needs. */
static bool is_writable(int fd)
{
    void *view = MapViewOfFile((HANDLE)(intptr_t)fd, FILE_MAP_WRITE, 0, 0, 1);
    if (view != NULL) UnmapViewOfFile(view);
    return view != NULL;
}

CUresult soft_share_import(void *handle, unsigned type, int *out, struct soft_shared_memory *memory)
{
    if (type != NT && type != KMT) return CUDA_ERROR_INVALID_VALUE;
    const uintptr_t number = (uintptr_t)handle;
    if (number == 0 || number > INT32_MAX) return CUDA_ERROR_INVALID_HANDLE;
    const int fd = type == KMT ? open_kmt((uint32_t)number) : soft_duplicate((int)number);
    if (fd < 0) return CUDA_ERROR_INVALID_HANDLE; /* nobody has measured the code */
    if (!soft_shared_memory_read(fd, memory) || !is_writable(fd)) {
        soft_close(fd);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *out = fd;
    return CUDA_SUCCESS;
}

void soft_share_forget(struct soft_physical *physical)
{
    if (physical->kmt_record > 0) soft_close(physical->kmt_record);
}
