/* SPDX-License-Identifier: MIT */
/* Shared handles, keyed mutexes and fences for Wine's Direct3D 11. What Microsoft's pages refuse is
 * refused here too; each such rule has its page beside it, by the last part of its address:
 * https://learn.microsoft.com/en-us/windows/win32/api/d3d11/PAGE, or .../dxgi/PAGE. */
#include "overlay11.h"

#include "part.h"
#include "removed.h"

#include "win32_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const GUID iid_unknown = {
    0x00000000, 0x0000, 0x0000, {0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46}};
static const GUID iid_fence = {
    0xaffde9d1, 0x1df7, 0x4bb7, {0x8a, 0x34, 0x0f, 0x46, 0x25, 0x1d, 0xab, 0x80}};
static const GUID iid_device5 = {
    0x8ffde202, 0xa0e7, 0x45df, {0x9e, 0x01, 0xe8, 0x37, 0x80, 0x1b, 0x5e, 0xa0}};
static const GUID iid_context4 = {
    0x917600da, 0xf58c, 0x4c33, {0x98, 0xd8, 0x3e, 0x15, 0xb3, 0x90, 0xfa, 0x24}};
static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};
static const GUID iid_dxgi_resource1 = {
    0x30961379, 0x4609, 0x4a41, {0x99, 0x8e, 0x54, 0xfe, 0x56, 0x7e, 0xe0, 0xc1}};
static const GUID iid_mutex = {
    0x9d8e1289, 0xd7b3, 0x465f, {0x81, 0x26, 0x25, 0x0e, 0x34, 0x9a, 0xf8, 0x5d}};
static const GUID share_key = {
    0x63d1ae5a, 0x13a8, 0x4a7e, {0x9c, 0x1f, 0x5e, 0x3b, 0x2d, 0x77, 0x10, 0x42}};

#define NAME_ALREADY_EXISTS ((HRESULT)0x887a002c)

enum { D3D11_RESOURCE = 6, D3D11_RESOURCE_KMT = 7 }; /* CUexternalMemoryHandleType */
enum { D3D11_FENCE = 5, D3D11_KEYED_MUTEX = 7, D3D11_MUTEX_KMT = 8 }; /* ...SemaphoreHandleType */

/* What was asked for sharing of a resource. It stays until overlay11_clear(). */
typedef struct shared {
    struct shared *next;
    part dxgi;                /* IDXGIResource1, whose table is IDXGIResource's too */
    part mutex;               /* IDXGIKeyedMutex */
    ID3D11Device *device;     /* not a reference */
    ID3D11Resource *resource; /* a reference while something is imported */
    LONG references;
    void *pages;
    unsigned char *both; /* what the pages and Wine's resource had at the last turn */
    uint64_t size;
    bool is_buffer;
    D3D11_TEXTURE2D_DESC desc;
    UINT misc;
    unsigned texel;
    HANDLE kmt; /* its section */
    uintptr_t kmt_number;
    uint64_t key;
    enum { NOBODY, DIRECT3D, CUDA } owner;
} shared;

typedef struct fence {
    part com;             /* ID3D11Fence; its `real` is an object of Wine's for the private data */
    ID3D11Device *device; /* not a reference: `real` has one */
    ULONG refs;           /* of COM, and of imports: guarded by `lock` */
    LONG imports;
    uint64_t value;
    struct waiter {
        HANDLE event;
        uint64_t value;
    } waiters[16];
    unsigned num_waiters;
    bool sharable;
} fence;

static CRITICAL_SECTION lock;
static CONDITION_VARIABLE changed;
static shared *all;
static LONG fence_imports;
static overlay11_lie lie;
static unsigned fail_at, calls;
static uintptr_t next_kmt = 0x40000002;

static ID3D11DeviceVtbl real;
static ID3D11DeviceContextVtbl real_context;
static HRESULT(STDMETHODCALLTYPE *texture_query)(ID3D11Texture2D *, REFIID, void **);
static HRESULT(STDMETHODCALLTYPE *buffer_query)(ID3D11Buffer *, REFIID, void **);

static bool same(REFIID a, const GUID *b)
{
    return memcmp(a, b, sizeof(GUID)) == 0;
}

/* A removed device ----------------------------------------------------------------------------- */

static bool is_removed(ID3D11Device *device)
{
    UINT yes = 0, size = sizeof yes;
    return removed_some() &&
           SUCCEEDED(ID3D11Device_GetPrivateData(device, &removed_key, &size, &yes)) && yes != 0;
}

/* Whether the device is removed, or is so by this call. */
static bool gone(ID3D11Device *device, const char *call)
{
    const UINT yes = 1;
    if (removed_now(call)) {
        if (FAILED(ID3D11Device_SetPrivateData(device, &removed_key, sizeof yes, &yes))) abort();
        removed_wake();
    }
    return is_removed(device);
}

/* nf-d3d11-id3d11device-getdeviceremovedreason */
static HRESULT STDMETHODCALLTYPE get_removed_reason(ID3D11Device *device)
{
    return is_removed(device) ? DXGI_HUNG : real.GetDeviceRemovedReason(device);
}

static HRESULT refusal(void)
{
    calls++;
    if (fail_at > 0 && --fail_at == 0) return E_OUTOFMEMORY;
    return lie == OVERLAY11_WRAPPER      ? E_NOTIMPL
           : lie == OVERLAY11_REMOVED    ? DXGI_REMOVED
           : lie == OVERLAY11_UNSHARABLE ? E_INVALIDARG
                                         : S_OK;
}

/* Pages ---------------------------------------------------------------------------------------- */

/* The twin's arrays on memory of a software Vulkan: rows of 64 bytes' multiples, four rows
 * together, the layers one after the other. Shared textures have one level. */
static size_t row_pitch(const shared *s)
{
    return ((size_t)s->desc.Width * s->texel + 63) / 64 * 64;
}

static size_t layer_size(const shared *s)
{
    return row_pitch(s) * ((s->desc.Height + 3u) / 4u * 4u);
}

static unsigned texel_of(DXGI_FORMAT format)
{
    switch (format) {
    case DXGI_FORMAT_R32G32B32A32_TYPELESS:
    case DXGI_FORMAT_R32G32B32A32_FLOAT:
    case DXGI_FORMAT_R32G32B32A32_UINT: return 16;
    case DXGI_FORMAT_R16G16B16A16_FLOAT: return 8;
    case DXGI_FORMAT_R8_UNORM: return 1;
    default: return 4;
    }
}

static ID3D11DeviceContext *context_of(ID3D11Device *device)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11Device_GetImmediateContext(device, &context);
    ID3D11DeviceContext_Release(context); /* the device has one */
    return context;
}

/* Where the CPU reads a texture of Wine's, or buffers one after the other. */
static ID3D11Resource *stage_of(ID3D11Device *device, const D3D11_TEXTURE2D_DESC *texture,
                                uint64_t size)
{
    ID3D11Resource *stage = NULL;
    HRESULT hr;
    if (texture != NULL) {
        D3D11_TEXTURE2D_DESC desc = *texture;
        desc.Usage = D3D11_USAGE_STAGING;
        desc.BindFlags = desc.MiscFlags = 0;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        hr = real.CreateTexture2D(device, &desc, NULL, (ID3D11Texture2D **)(void *)&stage);
    } else {
        const D3D11_BUFFER_DESC desc = {.ByteWidth = (UINT)size,
                                        .Usage = D3D11_USAGE_STAGING,
                                        .CPUAccessFlags = D3D11_CPU_ACCESS_READ};
        hr = real.CreateBuffer(device, &desc, NULL, (ID3D11Buffer **)(void *)&stage);
    }
    if (FAILED(hr)) abort();
    return stage;
}

static const unsigned char *map_stage(ID3D11DeviceContext *context, ID3D11Resource *stage,
                                      UINT layer, size_t *pitch)
{
    D3D11_MAPPED_SUBRESOURCE map;
    if (FAILED(real_context.Map(context, stage, layer, D3D11_MAP_READ, 0, &map))) abort();
    *pitch = map.RowPitch;
    return map.pData;
}

/* A byte that is not what both sides had at the last turn was written since: by Direct3D, and goes
 * to the pages, or by CUDA, and is to go to Wine's resource, which is the answer. CUDA may write
 * into the pages meanwhile. */
static bool merge(shared *s, size_t at, const unsigned char *theirs, size_t size)
{
    volatile unsigned char *pages = (unsigned char *)s->pages + at;
    unsigned char *both = s->both + at;
    bool by_cuda = false;
    for (size_t i = 0; i < size; i++) {
        const unsigned char mine = pages[i];
        by_cuda |= theirs[i] == both[i] && mine != both[i];
        if (theirs[i] != both[i])
            pages[i] = both[i] = theirs[i];
        else
            both[i] = mine;
    }
    return by_cuda;
}

static void turn_texture(shared *s)
{
    ID3D11DeviceContext *context = context_of(s->device);
    ID3D11Resource *stage = stage_of(s->device, &s->desc, 0);
    ID3D11DeviceContext_CopyResource(context, stage, s->resource);
    for (UINT layer = 0; layer < s->desc.ArraySize; layer++) {
        const size_t begin = layer * layer_size(s);
        size_t pitch;
        const unsigned char *theirs = map_stage(context, stage, layer, &pitch);
        bool by_cuda = false;
        for (UINT y = 0; y < s->desc.Height; y++)
            by_cuda |= merge(s, begin + y * row_pitch(s), theirs + y * pitch,
                             (size_t)s->desc.Width * s->texel);
        ID3D11DeviceContext_Unmap(context, stage, layer);
        if (by_cuda)
            ID3D11DeviceContext_UpdateSubresource(context, s->resource, layer, NULL,
                                                  s->both + begin, (UINT)row_pitch(s), 0);
    }
    ID3D11Resource_Release(stage);
}

/* The one with a mutex, or all without one. Buffers go together: Map() takes a while. */
static void turn(ID3D11Device *device, const shared *one)
{
    ID3D11DeviceContext *context = context_of(device);
    ID3D11Resource *stage = NULL;
    const unsigned char *theirs = NULL;
    size_t at = 0, unused;
    if (is_removed(device)) return;
    for (int step = 0; step < 3; step++) { /* their size, a copy of them, the bytes */
        if (step > 0 && at == 0) break;
        if (step == 1) stage = stage_of(device, NULL, at);
        if (step == 2) theirs = map_stage(context, stage, 0, &unused);
        at = 0;
        for (shared *s = all; s != NULL; s = s->next) {
            const bool alone = (s->misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX) != 0;
            if (one != NULL ? s != one : s->device != device || alone || s->references == 0)
                continue;
            if (!s->is_buffer) {
                if (step == 0) turn_texture(s);
                continue;
            }
            if (step == 1)
                ID3D11DeviceContext_CopySubresourceRegion(context, stage, 0, (UINT)at, 0, 0,
                                                          s->resource, 0, NULL);
            if (step == 2 && merge(s, 0, theirs + at, (size_t)s->size))
                ID3D11DeviceContext_UpdateSubresource(context, s->resource, 0, NULL, s->both, 0, 0);
            at += (size_t)s->size;
        }
    }
    if (theirs != NULL) ID3D11DeviceContext_Unmap(context, stage, 0);
    if (stage != NULL) ID3D11Resource_Release(stage);
}

void overlay11_turn(ID3D11Device *device)
{
    turn(device, NULL);
}

/* The record's functions ----------------------------------------------------------------------- */

static void ref(void *object)
{
    shared *s = object;
    if (InterlockedIncrement(&s->references) == 1) ID3D11Resource_AddRef(s->resource);
}

static void unref(void *object)
{
    shared *s = object;
    if (InterlockedDecrement(&s->references) == 0) ID3D11Resource_Release(s->resource);
}

/* nf-dxgi-idxgikeyedmutex-releasesync: only who owns it. */
static int release_as(shared *s, int who, uint64_t key)
{
    EnterCriticalSection(&lock);
    const bool held = (int)s->owner == who;
    if (held) {
        s->owner = NOBODY;
        s->key = key;
    }
    LeaveCriticalSection(&lock);
    WakeAllConditionVariable(&changed);
    return held ? 0 : -1;
}

/* nf-dxgi-idxgikeyedmutex-acquiresync: nobody owns it at first, and the key is 0 then. Who owns it
 * waits for itself. */
static int acquire_as(shared *s, int who, uint64_t key, unsigned timeout_ms)
{
    const ULONGLONG end = GetTickCount64() + timeout_ms;
    EnterCriticalSection(&lock);
    while (s->owner != NOBODY || s->key != key) {
        const ULONGLONG now = GetTickCount64();
        if (timeout_ms != INFINITE && now >= end) break;
        SleepConditionVariableCS(&changed, &lock,
                                 timeout_ms == INFINITE ? INFINITE : (DWORD)(end - now));
    }
    const bool got = s->owner == NOBODY && s->key == key;
    if (got) s->owner = who == CUDA ? CUDA : DIRECT3D;
    LeaveCriticalSection(&lock);
    return got;
}

static int release_key(void *object, uint64_t key)
{
    return release_as(object, CUDA, key);
}

static int acquire_key(void *object, uint64_t key, unsigned timeout_ms)
{
    return acquire_as(object, CUDA, key, timeout_ms);
}

/* Sections ------------------------------------------------------------------------------------- */

static HRESULT make_section(const culv_soft_share *record, const SECURITY_ATTRIBUTES *security,
                            const wchar_t *name, HANDLE *out)
{
    SetLastError(0);
    HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, (SECURITY_ATTRIBUTES *)security,
                                        PAGE_READWRITE, 0, 4096, name);
    const DWORD error = GetLastError();
    if (section == NULL) return HRESULT_FROM_WIN32(error);
    if (error == ERROR_ALREADY_EXISTS) {
        CloseHandle(section);
        return NAME_ALREADY_EXISTS;
    }
    void *page = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 4096);
    if (page == NULL) {
        CloseHandle(section);
        return E_OUTOFMEMORY;
    }
    memcpy(page, record, sizeof *record);
    UnmapViewOfFile(page);
    *out = section;
    return S_OK;
}

static culv_soft_share record_of(shared *s, bool kmt)
{
    culv_soft_share record;
    memset(&record, 0, sizeof record);
    memcpy(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic);
    record.process = GetCurrentProcessId();
    record.type = kmt ? D3D11_RESOURCE_KMT : D3D11_RESOURCE;
    if (s->misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)
        record.mutex =
            CULV_SOFT_SHARE_SEMAPHORE + (uint32_t)(kmt ? D3D11_MUTEX_KMT : D3D11_KEYED_MUTEX);
    record.dedicated = 1;
    record.object = s;
    record.ref = ref;
    record.unref = unref;
    record.pages = s->pages;
    record.size = s->size;
    record.signal = release_key;
    record.wait = acquire_key;
    return record;
}

/* IDXGIResource1 and IDXGIKeyedMutex, parts of a resource -------------------------------------- */

#define OF(pointer, member) ((shared *)(void *)((char *)(pointer)-offsetof(shared, member)))

#define QUERY_OF(name, member)                                                                     \
    static HRESULT STDMETHODCALLTYPE name##_query(void *self, REFIID id, void **out)               \
    {                                                                                              \
        return ID3D11Resource_QueryInterface(OF(self, member)->resource, id, out);                 \
    }                                                                                              \
    static ULONG STDMETHODCALLTYPE name##_add_ref(void *self)                                      \
    {                                                                                              \
        return ID3D11Resource_AddRef(OF(self, member)->resource);                                  \
    }                                                                                              \
    static ULONG STDMETHODCALLTYPE name##_release(void *self)                                      \
    {                                                                                              \
        return ID3D11Resource_Release(OF(self, member)->resource);                                 \
    }
QUERY_OF(dxgi, dxgi)
QUERY_OF(mutex, mutex)

static HRESULT STDMETHODCALLTYPE dxgi_get_shared(IDXGIResource1 *self, HANDLE *out)
{
    shared *s = OF(self, dxgi);
    wchar_t name[64];
    *out = NULL;
    HRESULT hr = refusal();
    if (hr != S_OK) return hr;
    if (gone(s->device, "IDXGIResource::GetSharedHandle")) return DXGI_REMOVED;
    /* nf-dxgi-idxgiresource-getsharedhandle: not of a resource with NT handles. */
    if (!(s->misc & (D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)) ||
        (s->misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE))
        return E_INVALIDARG;
    if (s->kmt == NULL) {
        const culv_soft_share record = record_of(s, true);
        s->kmt_number = next_kmt;
        next_kmt += 4;
        _snwprintf(name, sizeof name / sizeof name[0], CULV_SOFT_SHARE_KMT,
                   (unsigned long)GetCurrentProcessId(), (unsigned long)s->kmt_number);
        hr = make_section(&record, NULL, name, &s->kmt);
    }
    if (hr == S_OK) *out = (HANDLE)s->kmt_number;
    return hr;
}

static HRESULT STDMETHODCALLTYPE dxgi_create_shared(IDXGIResource1 *self,
                                                    const SECURITY_ATTRIBUTES *security,
                                                    DWORD access, const WCHAR *name, HANDLE *out)
{
    shared *s = OF(self, dxgi);
    *out = NULL;
    const HRESULT hr = refusal();
    if (hr != S_OK) return hr;
    if (gone(s->device, "IDXGIResource1::CreateSharedHandle")) return DXGI_REMOVED;
    /* dxgi1_2/nf-dxgi1_2-idxgiresource1-createsharedhandle: READ, WRITE and generic rights. CUDA
     * writes, so that WRITE must be among them. */
    const DWORD rights = DXGI_SHARED_RESOURCE_READ | DXGI_SHARED_RESOURCE_WRITE | GENERIC_ALL |
                         GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE;
    if ((access & ~rights) != 0 ||
        !(access & (DXGI_SHARED_RESOURCE_WRITE | GENERIC_ALL | GENERIC_WRITE)) ||
        !(s->misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE))
        return E_INVALIDARG;
    const culv_soft_share record = record_of(s, false);
    return make_section(&record, security, name, out);
}

static HRESULT STDMETHODCALLTYPE mutex_acquire(IDXGIKeyedMutex *self, UINT64 key, DWORD ms)
{
    shared *s = OF(self, mutex);
    if (gone(s->device, "IDXGIKeyedMutex::AcquireSync")) return DXGI_REMOVED;
    if (acquire_as(s, DIRECT3D, key, ms) == 0) return (HRESULT)WAIT_TIMEOUT;
    turn(s->device, s);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE mutex_release_sync(IDXGIKeyedMutex *self, UINT64 key)
{
    shared *s = OF(self, mutex);
    if (gone(s->device, "IDXGIKeyedMutex::ReleaseSync")) return DXGI_REMOVED;
    if (s->owner != DIRECT3D) return E_FAIL; /* nf-dxgi-idxgikeyedmutex-releasesync */
    turn(s->device, s);
    return release_as(s, DIRECT3D, key) == 0 ? S_OK : E_FAIL;
}

static IDXGIResource1Vtbl dxgi_table;
static IDXGIKeyedMutexVtbl mutex_table;

/* The record of a resource. Its private data says when it is gone: the address may come again. */
static shared *shared_of(ID3D11Resource *resource, const D3D11_TEXTURE2D_DESC *texture,
                         const D3D11_BUFFER_DESC *buffer)
{
    shared *s = NULL;
    UINT size = sizeof s;
    if (SUCCEEDED(ID3D11Resource_GetPrivateData(resource, &share_key, &size, &s))) return s;
    s = calloc(1, sizeof *s);
    if (s == NULL) abort();
    s->dxgi.table = &dxgi_table;
    s->dxgi.name = "IDXGIResource1";
    s->mutex.table = &mutex_table;
    s->mutex.name = "IDXGIKeyedMutex";
    s->resource = resource;
    ID3D11Resource_GetDevice(resource, &s->device);
    ID3D11Device_Release(s->device); /* the resource has one */
    /* Wine's own IDXGIResource, for what is not about sharing. It lives as long as the resource. */
    IDXGIResource *dxgi = NULL;
    const HRESULT hr =
        texture != NULL
            ? texture_query((ID3D11Texture2D *)(void *)resource, &iid_dxgi_resource, (void **)&dxgi)
            : buffer_query((ID3D11Buffer *)(void *)resource, &iid_dxgi_resource, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        s->dxgi.real = s->mutex.real = dxgi;
        IDXGIResource_Release(dxgi);
    }
    if (texture != NULL) {
        s->desc = *texture;
        s->misc = texture->MiscFlags;
        s->texel = texel_of(texture->Format);
        s->size = layer_size(s) * texture->ArraySize;
    } else {
        s->is_buffer = true;
        s->misc = buffer->MiscFlags;
        s->size = buffer->ByteWidth;
    }
    s->pages = VirtualAlloc(NULL, (size_t)s->size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    s->both = calloc(1, (size_t)s->size);
    if (s->pages == NULL || s->both == NULL) abort();
    if (FAILED(ID3D11Resource_SetPrivateData(resource, &share_key, sizeof s, &s))) abort();
    EnterCriticalSection(&lock);
    s->next = all;
    all = s;
    LeaveCriticalSection(&lock);
    return s;
}

/* What is asked of a texture or a buffer; false: ask Wine. */
static bool query_shared(ID3D11Resource *resource, const D3D11_TEXTURE2D_DESC *texture,
                         const D3D11_BUFFER_DESC *buffer, REFIID id, void **out, HRESULT *hr)
{
    const UINT misc = texture != NULL ? texture->MiscFlags : buffer->MiscFlags;
    *hr = E_NOINTERFACE;
    if (same(id, &iid_dxgi_resource1) || same(id, &iid_dxgi_resource)) {
        if (lie == OVERLAY11_OLD) return true;
        *out = &shared_of(resource, texture, buffer)->dxgi;
    } else if (same(id, &iid_mutex)) {
        if (!(misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX)) return true;
        *out = &shared_of(resource, texture, buffer)->mutex;
    } else {
        return false;
    }
    ID3D11Resource_AddRef(resource);
    *hr = S_OK;
    return true;
}

static HRESULT STDMETHODCALLTYPE query_texture(ID3D11Texture2D *self, REFIID id, void **out)
{
    D3D11_TEXTURE2D_DESC desc;
    HRESULT hr;
    ID3D11Texture2D_GetDesc(self, &desc);
    return query_shared((ID3D11Resource *)(void *)self, &desc, NULL, id, out, &hr)
               ? hr
               : texture_query(self, id, out);
}

static HRESULT STDMETHODCALLTYPE query_buffer(ID3D11Buffer *self, REFIID id, void **out)
{
    D3D11_BUFFER_DESC desc;
    HRESULT hr;
    ID3D11Buffer_GetDesc(self, &desc);
    return query_shared((ID3D11Resource *)(void *)self, NULL, &desc, id, out, &hr)
               ? hr
               : buffer_query(self, id, out);
}

/* Fences --------------------------------------------------------------------------------------- */

static ID3D11FenceVtbl fence_table;

static HRESULT STDMETHODCALLTYPE fence_query(ID3D11Fence *self, REFIID id, void **out)
{
    if (!same(id, &iid_fence) && !same(id, &iid_unknown)) return E_NOINTERFACE;
    ID3D11Fence_AddRef(self);
    *out = self;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE fence_add_ref(ID3D11Fence *self)
{
    EnterCriticalSection(&lock);
    const ULONG refs = ++((fence *)self)->refs;
    LeaveCriticalSection(&lock);
    return refs;
}

static ULONG STDMETHODCALLTYPE fence_release(ID3D11Fence *self)
{
    EnterCriticalSection(&lock);
    const ULONG refs = --((fence *)self)->refs;
    LeaveCriticalSection(&lock);
    if (refs == 0) {
        IUnknown_Release((IUnknown *)((fence *)self)->com.real);
        free(self);
    }
    return refs;
}

/* nf-d3d11_3-id3d11fence-getcompletedvalue: UINT64_MAX of a removed device. */
static UINT64 STDMETHODCALLTYPE fence_value(ID3D11Fence *self)
{
    if (is_removed(((fence *)self)->device)) return UINT64_MAX;
    EnterCriticalSection(&lock);
    const UINT64 value = ((fence *)self)->value;
    LeaveCriticalSection(&lock);
    return value;
}

static HRESULT STDMETHODCALLTYPE fence_set_event(ID3D11Fence *self, UINT64 value, HANDLE event)
{
    fence *f = (fence *)self;
    HRESULT hr = S_OK;
    HANDLE copy = NULL;
    removed_remember(event);
    EnterCriticalSection(&lock);
    if (f->value >= value || is_removed(f->device))
        SetEvent(event);
    else if (f->num_waiters == sizeof f->waiters / sizeof f->waiters[0] ||
             !DuplicateHandle(GetCurrentProcess(), event, GetCurrentProcess(), &copy, 0, FALSE,
                              DUPLICATE_SAME_ACCESS))
        hr = E_OUTOFMEMORY;
    else
        f->waiters[f->num_waiters++] = (struct waiter){copy, value};
    LeaveCriticalSection(&lock);
    return hr;
}

static void set_value(fence *f, uint64_t value)
{
    EnterCriticalSection(&lock);
    f->value = value;
    for (unsigned i = 0; i < f->num_waiters;) {
        if (f->waiters[i].value > value) {
            i++;
            continue;
        }
        SetEvent(f->waiters[i].event);
        CloseHandle(f->waiters[i].event);
        f->waiters[i] = f->waiters[--f->num_waiters];
    }
    LeaveCriticalSection(&lock);
    WakeAllConditionVariable(&changed);
}

static int wait_value(fence *f, uint64_t value, unsigned timeout_ms)
{
    const ULONGLONG end = GetTickCount64() + timeout_ms;
    EnterCriticalSection(&lock);
    while (f->value < value) {
        const ULONGLONG now = GetTickCount64();
        if (timeout_ms != INFINITE && now >= end) break;
        SleepConditionVariableCS(&changed, &lock,
                                 timeout_ms == INFINITE ? INFINITE : (DWORD)(end - now));
    }
    const bool reached = f->value >= value;
    LeaveCriticalSection(&lock);
    return reached;
}

static void ref_fence(void *object)
{
    InterlockedIncrement(&fence_imports);
    fence_add_ref(object);
}

static void unref_fence(void *object)
{
    InterlockedDecrement(&fence_imports);
    fence_release(object);
}

static int signal_fence(void *object, uint64_t value)
{
    set_value(object, value);
    return 0;
}

static int wait_fence(void *object, uint64_t value, unsigned timeout_ms)
{
    return wait_value(object, value, timeout_ms);
}

static HRESULT STDMETHODCALLTYPE fence_create_shared(ID3D11Fence *self,
                                                     const SECURITY_ATTRIBUTES *security,
                                                     DWORD access, const WCHAR *name, HANDLE *out)
{
    culv_soft_share record;
    *out = NULL;
    const HRESULT hr = refusal();
    if (hr != S_OK) return hr;
    if (gone(((fence *)self)->device, "ID3D11Fence::CreateSharedHandle")) return DXGI_REMOVED;
    /* nf-d3d11_3-id3d11fence-createsharedhandle; ne-d3d11_3-d3d11_fence_flag */
    if (access != GENERIC_ALL || !((fence *)self)->sharable) return E_INVALIDARG;
    memset(&record, 0, sizeof record);
    memcpy(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic);
    record.process = GetCurrentProcessId();
    record.type = CULV_SOFT_SHARE_SEMAPHORE + (uint32_t)D3D11_FENCE;
    record.object = self;
    record.ref = ref_fence;
    record.unref = unref_fence;
    record.signal = signal_fence;
    record.wait = wait_fence;
    return make_section(&record, security, name, out);
}

/* ID3D11Device5 and ID3D11DeviceContext4, parts of Wine's device and context ------------------- */

static ID3D11Device5Vtbl device_table;
static ID3D11DeviceContext4Vtbl context_table;

/* The part of a device or a context. It stays when that has gone. */
static part *part_of(void *object, const void *table, const char *name)
{
    static const GUID key = {
        0x1f3c9b62, 0x60de, 0x4b1c, {0xa7, 0x35, 0x02, 0x98, 0xce, 0x5d, 0x44, 0x70}};
    part *p = NULL;
    UINT size = sizeof p;
    const bool device = table == &device_table;
    if (SUCCEEDED(device ? ID3D11Device_GetPrivateData((ID3D11Device *)object, &key, &size, &p)
                         : ID3D11DeviceContext_GetPrivateData((ID3D11DeviceContext *)object, &key,
                                                              &size, &p)))
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL) abort();
    *p = (part){table, object, name};
    if (FAILED(device ? ID3D11Device_SetPrivateData((ID3D11Device *)object, &key, sizeof p, &p)
                      : ID3D11DeviceContext_SetPrivateData((ID3D11DeviceContext *)object, &key,
                                                           sizeof p, &p)))
        abort();
    return p;
}

static HRESULT STDMETHODCALLTYPE device5_create_fence(ID3D11Device5 *self, UINT64 value,
                                                      D3D11_FENCE_FLAG flags, REFIID id, void **out)
{
    ID3D11Device *device = ((part *)self)->real;
    D3D11_QUERY_DESC query = {D3D11_QUERY_EVENT, 0};
    ID3D11Query *carrier = NULL;
    calls++;
    if (fail_at > 0 && --fail_at == 0) return E_OUTOFMEMORY;
    if (gone(device, "ID3D11Device5::CreateFence")) return DXGI_REMOVED;
    if (!same(id, &iid_fence)) return E_NOINTERFACE;
    fence *f = calloc(1, sizeof *f);
    if (f == NULL || FAILED(ID3D11Device_CreateQuery(device, &query, &carrier))) {
        free(f);
        return E_OUTOFMEMORY;
    }
    f->com = (part){&fence_table, carrier, "ID3D11Fence"};
    f->device = device;
    f->refs = 1;
    f->value = value;
    f->sharable = (flags & D3D11_FENCE_FLAG_SHARED) != 0;
    *out = f;
    return S_OK;
}

/* In the process that shared it. */
static HRESULT STDMETHODCALLTYPE device5_open_fence(ID3D11Device5 *self, HANDLE handle, REFIID id,
                                                    void **out)
{
    culv_soft_share record;
    if (gone(((part *)self)->real, "ID3D11Device5::OpenSharedFence")) return DXGI_REMOVED;
    const void *view = MapViewOfFile(handle, FILE_MAP_READ, 0, 0, sizeof record);
    if (view == NULL) return E_INVALIDARG;
    memcpy(&record, view, sizeof record);
    UnmapViewOfFile(view);
    if (memcmp(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic) != 0 ||
        record.process != GetCurrentProcessId() || record.unref != unref_fence)
        return E_INVALIDARG;
    return fence_query(record.object, id, out);
}

static ID3D11Device *device_of(ID3D11DeviceContext4 *self)
{
    ID3D11Device *device = NULL;
    ID3D11DeviceContext_GetDevice((ID3D11DeviceContext *)((part *)self)->real, &device);
    ID3D11Device_Release(device); /* the context has one */
    return device;
}

static HRESULT STDMETHODCALLTYPE context4_signal(ID3D11DeviceContext4 *self, ID3D11Fence *f,
                                                 UINT64 value)
{
    ID3D11Device *device = device_of(self);
    if (gone(device, "ID3D11DeviceContext4::Signal")) return DXGI_REMOVED;
    turn(device, NULL);
    set_value((fence *)f, value);
    return S_OK;
}

/* The host waits in place of the queue. */
static HRESULT STDMETHODCALLTYPE context4_wait(ID3D11DeviceContext4 *self, ID3D11Fence *f,
                                               UINT64 value)
{
    ID3D11Device *device = device_of(self);
    if (gone(device, "ID3D11DeviceContext4::Wait")) return DXGI_REMOVED;
    if (!wait_value((fence *)f, value, INFINITE)) return E_FAIL;
    turn(device, NULL);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE query_device(ID3D11Device *self, REFIID id, void **out)
{
    if (!same(id, &iid_device5)) return real.QueryInterface(self, id, out);
    *out = NULL;
    if (lie == OVERLAY11_OLD) return E_NOINTERFACE;
    *out = part_of(self, &device_table, "ID3D11Device5");
    ID3D11Device_AddRef(self);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE query_context(ID3D11DeviceContext *self, REFIID id, void **out)
{
    if (!same(id, &iid_context4)) return real_context.QueryInterface(self, id, out);
    *out = part_of(self, &context_table, "ID3D11DeviceContext4");
    ID3D11DeviceContext_AddRef(self);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE map_resource(ID3D11DeviceContext *self, ID3D11Resource *resource,
                                              UINT subresource, D3D11_MAP type, UINT flags,
                                              D3D11_MAPPED_SUBRESOURCE *out)
{
    ID3D11Device *device = NULL;
    if (removed_some()) {
        ID3D11DeviceContext_GetDevice(self, &device);
        ID3D11Device_Release(device); /* the context has one */
        if (is_removed(device)) return DXGI_REMOVED;
    }
    return real_context.Map(self, resource, subresource, type, flags, out);
}

/* Creation ------------------------------------------------------------------------------------- */

/* ne-d3d11-d3d11_resource_misc_flag: 2D textures without levels are shared, and no others (buffers
 * are not named there; drivers take them); SHARED and SHARED_KEYEDMUTEX exclude one another;
 * SHARED_NTHANDLE goes with one of them. ne-d3d11-d3d11_usage: what the CPU maps is not in the
 * GPU's memory. */
static bool may_share(UINT misc, UINT levels, UINT samples, D3D11_USAGE usage, bool textures_2d)
{
    const UINT one = misc & (D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX);
    if (!(misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE) && one == 0) return true;
    return (one & (one - 1)) == 0 && one != 0 && levels == 1 && samples == 1 &&
           usage == D3D11_USAGE_DEFAULT && textures_2d;
}

static HRESULT STDMETHODCALLTYPE create_buffer(ID3D11Device *self, const D3D11_BUFFER_DESC *desc,
                                               const D3D11_SUBRESOURCE_DATA *data,
                                               ID3D11Buffer **out)
{
    if (gone(self, "ID3D11Device::CreateBuffer")) return DXGI_REMOVED;
    if (desc != NULL && !may_share(desc->MiscFlags, 1, 1, desc->Usage, true)) return E_INVALIDARG;
    return real.CreateBuffer(self, desc, data, out);
}

static HRESULT STDMETHODCALLTYPE create_texture1d(ID3D11Device *self,
                                                  const D3D11_TEXTURE1D_DESC *desc,
                                                  const D3D11_SUBRESOURCE_DATA *data,
                                                  ID3D11Texture1D **out)
{
    if (gone(self, "ID3D11Device::CreateTexture1D")) return DXGI_REMOVED;
    if (desc != NULL && !may_share(desc->MiscFlags, desc->MipLevels, 1, desc->Usage, false))
        return E_INVALIDARG;
    return real.CreateTexture1D(self, desc, data, out);
}

static HRESULT STDMETHODCALLTYPE create_texture2d(ID3D11Device *self,
                                                  const D3D11_TEXTURE2D_DESC *desc,
                                                  const D3D11_SUBRESOURCE_DATA *data,
                                                  ID3D11Texture2D **out)
{
    if (gone(self, "ID3D11Device::CreateTexture2D")) return DXGI_REMOVED;
    if (desc != NULL &&
        !may_share(desc->MiscFlags, desc->MipLevels, desc->SampleDesc.Count, desc->Usage, true))
        return E_INVALIDARG;
    return real.CreateTexture2D(self, desc, data, out);
}

static HRESULT STDMETHODCALLTYPE create_texture3d(ID3D11Device *self,
                                                  const D3D11_TEXTURE3D_DESC *desc,
                                                  const D3D11_SUBRESOURCE_DATA *data,
                                                  ID3D11Texture3D **out)
{
    if (gone(self, "ID3D11Device::CreateTexture3D")) return DXGI_REMOVED;
    if (desc != NULL && !may_share(desc->MiscFlags, desc->MipLevels, 1, desc->Usage, false))
        return E_INVALIDARG;
    return real.CreateTexture3D(self, desc, data, out);
}

/* Setting up ----------------------------------------------------------------------------------- */

/* How many slots of `interfaces`' longest table an object of Wine's has. */
typedef struct version {
    GUID id;
    size_t size;
} version;

static unsigned slots_of(IUnknown *object, const version *versions, size_t count)
{
    size_t size = versions[0].size;
    for (size_t i = 1; i < count; i++) {
        IUnknown *found = NULL;
        if (FAILED(IUnknown_QueryInterface(object, &versions[i].id, (void **)&found))) continue;
        if (found == object) size = versions[i].size; /* the same table, longer */
        IUnknown_Release(found);
    }
    return (unsigned)(size / sizeof(void *));
}

static const version devices[] = {
    {{0xdb6f6ddb, 0xac77, 0x4e88, {0x82, 0x53, 0x81, 0x9d, 0xf9, 0xbb, 0xf1, 0x40}},
     sizeof(ID3D11DeviceVtbl)},
    {{0xa04bfb29, 0x08ef, 0x43d6, {0xa4, 0x9c, 0xa9, 0xbd, 0xbd, 0xcb, 0xe6, 0x86}},
     sizeof(ID3D11Device1Vtbl)},
    {{0x9d06dffa, 0xd1e5, 0x4d07, {0x83, 0xa8, 0x1b, 0xb1, 0x23, 0xf2, 0xf8, 0x41}},
     sizeof(ID3D11Device2Vtbl)},
    {{0xa05c8c37, 0xd2c6, 0x4732, {0xb3, 0xa0, 0x9c, 0xe0, 0xb0, 0xdc, 0x9a, 0xe6}},
     sizeof(ID3D11Device3Vtbl)},
    {{0x8992ab71, 0x02e6, 0x4b8d, {0xba, 0x48, 0xb0, 0x56, 0xdc, 0xda, 0x42, 0xc4}},
     sizeof(ID3D11Device4Vtbl)},
};
static const version contexts[] = {
    {{0xc0bfa96c, 0xe089, 0x44fb, {0x8e, 0xaf, 0x26, 0xf8, 0x79, 0x61, 0x90, 0xda}},
     sizeof(ID3D11DeviceContextVtbl)},
    {{0xbb2c6faa, 0xb5fb, 0x4082, {0x8e, 0x6b, 0x38, 0x8b, 0x8c, 0xfa, 0x90, 0xe1}},
     sizeof(ID3D11DeviceContext1Vtbl)},
    {{0x420d5b32, 0xb90c, 0x4da4, {0xbe, 0xf0, 0x35, 0x9f, 0x6a, 0x24, 0xa8, 0x3a}},
     sizeof(ID3D11DeviceContext2Vtbl)},
    {{0xb4e3c01d, 0xe79e, 0x4637, {0x91, 0xb2, 0x51, 0x0e, 0x9f, 0x4c, 0x9b, 0x8f}},
     sizeof(ID3D11DeviceContext3Vtbl)},
};

#define SET(table, method, function)                                                               \
    do {                                                                                           \
        void (*f_)(void) = (void (*)(void))(function);                                             \
        memcpy((void *)&(table).method, &f_, sizeof f_);                                           \
    } while (0)

/* IDXGIResource's slots up to GetEvictionPriority() are Wine's; those of a keyed mutex up to
 * GetDevice(), and a fence's up to SetPrivateDataInterface(). */
static void fill_tables(ID3D11Device *device, ID3D11DeviceContext *context)
{
    part_fill(&dxgi_table, sizeof dxgi_table, 12);
    SET(dxgi_table, QueryInterface, dxgi_query);
    SET(dxgi_table, AddRef, dxgi_add_ref);
    SET(dxgi_table, Release, dxgi_release);
    SET(dxgi_table, GetSharedHandle, dxgi_get_shared);
    SET(dxgi_table, CreateSharedHandle, dxgi_create_shared);
    part_fill(&mutex_table, sizeof mutex_table, 8);
    SET(mutex_table, QueryInterface, mutex_query);
    SET(mutex_table, AddRef, mutex_add_ref);
    SET(mutex_table, Release, mutex_release);
    SET(mutex_table, AcquireSync, mutex_acquire);
    SET(mutex_table, ReleaseSync, mutex_release_sync);
    part_fill(&fence_table, sizeof fence_table, 7);
    SET(fence_table, QueryInterface, fence_query);
    SET(fence_table, AddRef, fence_add_ref);
    SET(fence_table, Release, fence_release);
    SET(fence_table, CreateSharedHandle, fence_create_shared);
    SET(fence_table, GetCompletedValue, fence_value);
    SET(fence_table, SetEventOnCompletion, fence_set_event);
    part_fill(&device_table, sizeof device_table,
              slots_of((IUnknown *)device, devices, sizeof devices / sizeof devices[0]));
    SET(device_table, CreateFence, device5_create_fence);
    SET(device_table, OpenSharedFence, device5_open_fence);
    part_fill(&context_table, sizeof context_table,
              slots_of((IUnknown *)context, contexts, sizeof contexts / sizeof contexts[0]));
    SET(context_table, Signal, context4_signal);
    SET(context_table, Wait, context4_wait);
}

static HRESULT(STDMETHODCALLTYPE *adapter_desc)(IDXGIAdapter *, DXGI_ADAPTER_DESC *);

static HRESULT STDMETHODCALLTYPE get_adapter_desc(IDXGIAdapter *adapter, DXGI_ADAPTER_DESC *out)
{
    const HRESULT hr = adapter_desc(adapter, out);
    if (lie == OVERLAY11_STRANGER) out->AdapterLuid.LowPart ^= 0x40;
    return hr;
}

static void replace_adapter(ID3D11Device *device)
{
    static const GUID iid_dxgi_device = {
        0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    if (SUCCEEDED(ID3D11Device_QueryInterface(device, &iid_dxgi_device, (void **)&dxgi)) &&
        SUCCEEDED(IDXGIDevice_GetAdapter(dxgi, &adapter)))
        PART_REPLACE(adapter, GetDesc, get_adapter_desc, adapter_desc);
    if (adapter != NULL) IDXGIAdapter_Release(adapter);
    if (dxgi != NULL) IDXGIDevice_Release(dxgi);
}

void overlay11_install(ID3D11Device *device, ID3D11DeviceContext *context)
{
    static bool installed;
    if (installed) return;
    installed = true;
    D3D11_TEXTURE2D_DESC texture_desc;
    D3D11_BUFFER_DESC buffer_desc;
    ID3D11Texture2D *texture = NULL;
    ID3D11Buffer *buffer = NULL;
    memset(&texture_desc, 0, sizeof texture_desc);
    memset(&buffer_desc, 0, sizeof buffer_desc);
    texture_desc.Width = texture_desc.Height = 4;
    texture_desc.MipLevels = texture_desc.ArraySize = texture_desc.SampleDesc.Count = 1;
    texture_desc.Format = DXGI_FORMAT_R8G8B8A8_UNORM;
    texture_desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    buffer_desc.ByteWidth = 64;
    buffer_desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    if (FAILED(ID3D11Device_CreateTexture2D(device, &texture_desc, NULL, &texture)) ||
        FAILED(ID3D11Device_CreateBuffer(device, &buffer_desc, NULL, &buffer)))
        abort();
    InitializeCriticalSection(&lock);
    InitializeConditionVariable(&changed);
    real = *device->lpVtbl;
    real_context = *context->lpVtbl;
    fill_tables(device, context);
    replace_adapter(device);
    void *before;
    PART_REPLACE(device, QueryInterface, query_device, before);
    PART_REPLACE(device, CreateBuffer, create_buffer, before);
    PART_REPLACE(device, CreateTexture1D, create_texture1d, before);
    PART_REPLACE(device, CreateTexture2D, create_texture2d, before);
    PART_REPLACE(device, CreateTexture3D, create_texture3d, before);
    PART_REPLACE(device, GetDeviceRemovedReason, get_removed_reason, before);
    PART_REPLACE(context, QueryInterface, query_context, before);
    PART_REPLACE(context, Map, map_resource, before);
    PART_REPLACE(texture, QueryInterface, query_texture, texture_query);
    PART_REPLACE(buffer, QueryInterface, query_buffer, buffer_query);
    ID3D11Texture2D_Release(texture);
    ID3D11Buffer_Release(buffer);
}

void overlay11_tell(overlay11_lie what)
{
    lie = what;
}

void overlay11_fail_at(unsigned n)
{
    fail_at = n;
}

unsigned overlay11_calls(void)
{
    return calls;
}

int overlay11_references(void)
{
    int sum = (int)fence_imports;
    for (const shared *s = all; s != NULL; s = s->next)
        sum += (int)s->references;
    return sum;
}

void overlay11_clear(void)
{
    while (all != NULL) {
        shared *s = all;
        all = s->next;
        if (s->kmt != NULL) CloseHandle(s->kmt);
        VirtualFree(s->pages, 0, MEM_RELEASE);
        free(s->both);
        free(s);
    }
}
