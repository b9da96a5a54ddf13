/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what it asks of the operating system, Windows half. Its
 * addresses are in vmm_win32.c. */
#include "vmm.h"
#include "win32_share.h"

#include <string.h>
#include <wchar.h>
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

/* Its devices on Windows are the adapters that DXGI lists, by their LUIDs.
 * Their UUIDs are invented. */

#define COBJMACROS
#include <windows.h>
/* after it */
#include <dxgi.h>
#include <stdio.h>
#include <string.h>

static const GUID factory_id = {
    0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};

static void read_adapter(IDXGIAdapter1 *adapter, int ordinal, struct soft_found_device *out)
{
    DXGI_ADAPTER_DESC1 desc;
    memset(&desc, 0, sizeof(desc));
    if (SUCCEEDED(IDXGIAdapter1_GetDesc1(adapter, &desc))) {
        _Static_assert(sizeof(desc.AdapterLuid) == sizeof(out->luid), "a LUID has 8 bytes");
        memcpy(out->luid, &desc.AdapterLuid, sizeof(out->luid));
        out->has_luid = true;
    }
    snprintf(out->name, sizeof(out->name), "%ls", desc.Description);
    memcpy(out->uuid, "culvert\0windows", 15);
    out->uuid[15] = (uint8_t)(0xb0 + ordinal);
}

int soft_vulkan_devices(struct soft_found_device *found, int capacity)
{
    HRESULT(WINAPI * create)(REFIID, void **) = NULL;
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter1 *adapter = NULL;
    int count = 0;
    HMODULE dxgi = LoadLibraryExA("dxgi.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC proc = dxgi != NULL ? GetProcAddress(dxgi, "CreateDXGIFactory1") : NULL;
    memcpy(&create, &proc, sizeof(create));
    if (create == NULL || FAILED(create(&factory_id, (void **)&factory))) return 0;
    while (count < capacity &&
           SUCCEEDED(IDXGIFactory1_EnumAdapters1(factory, (UINT)count, &adapter))) {
        read_adapter(adapter, count, &found[count]);
        IDXGIAdapter1_Release(adapter);
        count++;
    }
    IDXGIFactory1_Release(factory);
    return count;
}

/* Its files, Windows half. Section objects stand for them, so that what is
 * exported has a real NT handle. A "file descriptor" is such a handle, which Windows keeps within
 * 32 bits for the sake of 32-bit programs. */

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

/* Handles and names of Direct3D's objects.
 *
 * As strict as cuda.h's text: exactly one of handle and name; no name for KMT handles. The codes
 * for handles that lead nowhere are the twin's own, nobody has measured them. */

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
