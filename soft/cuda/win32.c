/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what it asks of the operating system, Windows half. Its files are in
 * win32_section.c, its addresses in vmm_win32.c, and what Direct3D shares in win32_share.c. */
#include "vmm.h"

#include <windows.h>

#define ALIGNMENT 256u

bool soft_thread_start(void *(*entry)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const int failed = pthread_create(&thread, &attr, entry, arg);
    pthread_attr_destroy(&attr);
    return failed == 0;
}

void soft_on_fork(void (*child)(void))
{
    (void)child; /* Windows has no fork() */
}

unsigned soft_processors(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwNumberOfProcessors < 1 ? 1u : (unsigned)info.dwNumberOfProcessors;
}

uint64_t soft_now_ns(void)
{
    LARGE_INTEGER now, each;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&each);
    const uint64_t ticks = (uint64_t)now.QuadPart, second = (uint64_t)each.QuadPart;
    return ticks / second * 1000000000u + ticks % second * 1000000000u / second;
}

size_t soft_page_size(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

static MEMORYSTATUSEX memory_status(void)
{
    MEMORYSTATUSEX status = {.dwLength = sizeof(status)};
    GlobalMemoryStatusEx(&status);
    return status;
}

uint64_t soft_memory_total(void)
{
    return memory_status().ullTotalPhys;
}

uint64_t soft_memory_free(void)
{
    return memory_status().ullAvailPhys;
}

void *soft_map_guarded(size_t size, void **map, size_t *map_size)
{
    const size_t page = soft_page_size();
    if (size == 0 || size > soft_memory_total()) return NULL;
    const size_t room = (size + page - 1) / page * page;
    uint8_t *base = VirtualAlloc(NULL, room + 2 * page, MEM_RESERVE, PAGE_NOACCESS);
    if (base == NULL) return NULL;
    if (VirtualAlloc(base + page, room, MEM_COMMIT, PAGE_READWRITE) == NULL) {
        VirtualFree(base, 0, MEM_RELEASE);
        return NULL;
    }
    *map = base;
    *map_size = room + 2 * page;
    const size_t aligned = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return base + page + (room - aligned);
}

/* Wherever it is: nothing of this twin goes by such blocks. */
void *soft_map_guarded_at(size_t size, size_t alignment, void **map, size_t *map_size)
{
    (void)alignment;
    return soft_map_guarded(size, map, map_size);
}

bool soft_pages_usable(const void *start, size_t size, bool read_only)
{
    const DWORD writable =
        PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    const DWORD readable = writable | PAGE_READONLY | PAGE_EXECUTE_READ;
    for (uintptr_t at = (uintptr_t)start, end = at + size; at < end;) {
        MEMORY_BASIC_INFORMATION there;
        if (VirtualQuery((const void *)at, &there, sizeof(there)) == 0) return false;
        if (there.State != MEM_COMMIT || !(there.Protect & (read_only ? readable : writable)))
            return false;
        at = (uintptr_t)there.BaseAddress + there.RegionSize;
    }
    return true;
}

void soft_futex_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds)
{
    if (atomic_load(word) == seen) Sleep(milliseconds < 1 ? milliseconds : 1);
}

void soft_futex_wake(_Atomic uint32_t *word)
{
    (void)word;
}
