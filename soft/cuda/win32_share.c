/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: handles and names of Direct3D's objects.
 *
 * As strict as cuda.h's text: exactly one of handle and name; no name for KMT handles. The codes
 * for handles that lead nowhere are the twin's own, nobody has measured them. */
#include "win32_share.h"

#include <string.h>
#include <wchar.h>
#include <windows.h>

#define WAIT_INTERVAL_MS 20u /* how soon a wait sees that its context ends */

static bool is_kmt(uint32_t type)
{
    return type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT ||
           type ==
               CULV_SOFT_SHARE_SEMAPHORE + CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT;
}

/* Of a record that has all inside: the section, mapped. */
static void keep(void *object)
{
    (void)object;
}

static void unmap(void *object)
{
    UnmapViewOfFile(object);
}

static volatile LONG64 *value_of(void *object)
{
    return (volatile LONG64 *)(void *)((uint8_t *)object + CULV_SOFT_SHARE_INSIDE);
}

static int signal_inside(void *object, uint64_t value)
{
    InterlockedExchange64(value_of(object), (LONG64)value);
    return 0;
}

/* Another process signals, so there is nothing to wait for but time. */
static int wait_inside(void *object, uint64_t value, unsigned timeout_ms)
{
    for (unsigned i = 0; (uint64_t)InterlockedCompareExchange64(value_of(object), 0, 0) < value;
         i++) {
        if (i == timeout_ms) return 0;
        Sleep(1);
    }
    return 1;
}

static bool open_inside(HANDLE section, culv_soft_share *share)
{
    MEMORY_BASIC_INFORMATION info;
    uint8_t *map = MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0);
    if (map == NULL) return false;
    const uint64_t least = share->type < CULV_SOFT_SHARE_SEMAPHORE ? share->size : sizeof(uint64_t);
    if (VirtualQuery(map, &info, sizeof(info)) != sizeof(info) ||
        info.RegionSize < CULV_SOFT_SHARE_INSIDE ||
        info.RegionSize - CULV_SOFT_SHARE_INSIDE < least) {
        UnmapViewOfFile(map);
        return false;
    }
    share->object = map;
    share->pages = map + CULV_SOFT_SHARE_INSIDE;
    share->ref = keep;
    share->unref = unmap;
    share->signal = signal_inside;
    share->wait = wait_inside;
    return true;
}

static bool read_section(HANDLE section, culv_soft_share *out)
{
    const culv_soft_share *there = MapViewOfFile(section, FILE_MAP_READ, 0, 0, sizeof(*there));
    if (there == NULL) return false;
    *out = *there;
    UnmapViewOfFile(there);
    return memcmp(out->magic, CULV_SOFT_SHARE_MAGIC, sizeof(out->magic)) == 0 &&
           (out->inside || out->process == GetCurrentProcessId());
}

CUresult soft_share_open(uint32_t type, void *handle, const void *name, culv_soft_share *out)
{
    wchar_t number[64];
    culv_soft_share found;
    HANDLE own = NULL;
    if ((handle == NULL) == (name == NULL) || (is_kmt(type) && name != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    if (is_kmt(type)) {
        swprintf(number, sizeof(number) / sizeof(number[0]), CULV_SOFT_SHARE_KMT,
                 (unsigned long)GetCurrentProcessId(), (unsigned long)(uintptr_t)handle);
        name = number;
    }
    if (name != NULL) {
        own = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
        if (own == NULL) return CUDA_ERROR_INVALID_HANDLE;
        handle = own;
    }
    bool good = read_section(handle, &found);
    if (good && found.inside && found.type == type) good = open_inside(handle, &found);
    if (good && (found.type == type || found.mutex == type)) found.ref(found.object);
    if (own != NULL) CloseHandle(own);
    if (!good) return CUDA_ERROR_INVALID_HANDLE;
    if (found.type != type && found.mutex != type) return CUDA_ERROR_INVALID_VALUE;
    *out = found;
    return CUDA_SUCCESS;
}

void soft_share_close(const culv_soft_share *share)
{
    share->unref(share->object);
}

CUresult soft_share_wait(const culv_soft_share *share, uint64_t value, unsigned timeout_ms,
                         const struct soft_context *context)
{
    const uint64_t end = soft_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        unsigned step = WAIT_INTERVAL_MS;
        if (timeout_ms != INFINITE) {
            const uint64_t now = soft_now_ns();
            const uint64_t left = now < end ? (end - now + 999999u) / 1000000u : 0;
            if (left < step) step = (unsigned)left;
        }
        const int reached = share->wait(share->object, value, step);
        if (reached > 0) return CUDA_SUCCESS;
        if (reached < 0) return CUDA_ERROR_UNKNOWN;
        if (context->dying) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (context->error != 0) return CUDA_SUCCESS;
        if (timeout_ms != INFINITE && soft_now_ns() >= end) return CUDA_ERROR_TIMEOUT;
    }
}
