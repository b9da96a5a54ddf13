/* SPDX-License-Identifier: MIT */
/* Shared handles, keyed mutexes and fences for Wine's Direct3D 11. */
#include "overlay11.h"

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
#define DEVICE_REMOVED      ((HRESULT)0x887a0005)
#define INVALID_CALL        ((HRESULT)0x887a0001)

enum { D3D11_RESOURCE = 6, D3D11_RESOURCE_KMT = 7 }; /* CUexternalMemoryHandleType */
enum { D3D11_FENCE = 5, D3D11_KEYED_MUTEX = 7, D3D11_MUTEX_KMT = 8 }; /* ...SemaphoreHandleType */

/* What was asked for sharing of a resource. It stays until overlay11_clear(). */
typedef struct shared {
    struct shared *next;
    IDXGIResource1 dxgi; /* its table is IDXGIResource's too */
    IDXGIKeyedMutex mutex;
    ID3D11Resource *resource; /* a reference while something is imported */
    LONG references;
    void *pages;
    uint64_t size;
    bool is_buffer;
    D3D11_TEXTURE2D_DESC desc;
    UINT misc;
    unsigned texel;
    HANDLE kmt; /* its section */
    uintptr_t kmt_number;
    uint64_t key;
    bool held;
} shared;

typedef struct fence {
    ID3D11Fence com;
    ULONG refs; /* of COM, and of imports: guarded by `lock` */
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
static ID3D11Device *the_device;         /* not a reference */
static ID3D11DeviceContext *the_context; /* not a reference */

static HRESULT(STDMETHODCALLTYPE *device_query)(ID3D11Device *, REFIID, void **);
static HRESULT(STDMETHODCALLTYPE *context_query)(ID3D11DeviceContext *, REFIID, void **);
static HRESULT(STDMETHODCALLTYPE *texture_query)(ID3D11Texture2D *, REFIID, void **);
static HRESULT(STDMETHODCALLTYPE *buffer_query)(ID3D11Buffer *, REFIID, void **);

static bool same(REFIID a, const GUID *b)
{
    return memcmp(a, b, sizeof(GUID)) == 0;
}

static HRESULT refusal(void)
{
    calls++;
    if (fail_at > 0 && --fail_at == 0) return E_OUTOFMEMORY;
    return lie == OVERLAY11_WRAPPER      ? E_NOTIMPL
           : lie == OVERLAY11_REMOVED    ? DEVICE_REMOVED
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

static void stage_of(const shared *s, ID3D11Resource **out, bool texture)
{
    HRESULT hr;
    if (texture) {
        D3D11_TEXTURE2D_DESC desc = s->desc;
        ID3D11Texture2D *made = NULL;
        desc.Usage = D3D11_USAGE_STAGING;
        desc.BindFlags = 0;
        desc.MiscFlags = 0;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        hr = ID3D11Device_CreateTexture2D(the_device, &desc, NULL, &made);
        *out = (ID3D11Resource *)(void *)made;
    } else {
        D3D11_BUFFER_DESC desc;
        ID3D11Buffer *made = NULL;
        memset(&desc, 0, sizeof desc);
        desc.ByteWidth = (UINT)s->size;
        desc.Usage = D3D11_USAGE_STAGING;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        hr = ID3D11Device_CreateBuffer(the_device, &desc, NULL, &made);
        *out = (ID3D11Resource *)(void *)made;
    }
    if (FAILED(hr)) abort();
}

/* What Direct3D wrote. */
static void give(shared *s)
{
    ID3D11Resource *stage = NULL;
    stage_of(s, &stage, !s->is_buffer);
    ID3D11DeviceContext_CopyResource(the_context, stage, s->resource);
    for (UINT layer = 0; layer < (s->is_buffer ? 1 : s->desc.ArraySize); layer++) {
        D3D11_MAPPED_SUBRESOURCE map;
        if (FAILED(ID3D11DeviceContext_Map(the_context, stage, layer, D3D11_MAP_READ, 0, &map)))
            abort();
        if (s->is_buffer) memcpy(s->pages, map.pData, (size_t)s->size);
        for (UINT y = 0; !s->is_buffer && y < s->desc.Height; y++)
            memcpy((char *)s->pages + layer * layer_size(s) + y * row_pitch(s),
                   (const char *)map.pData + (size_t)y * map.RowPitch,
                   (size_t)s->desc.Width * s->texel);
        ID3D11DeviceContext_Unmap(the_context, stage, layer);
    }
    ID3D11Resource_Release(stage);
}

/* What CUDA wrote. */
static void take(shared *s)
{
    for (UINT layer = 0; layer < (s->is_buffer ? 1 : s->desc.ArraySize); layer++)
        ID3D11DeviceContext_UpdateSubresource(the_context, s->resource, layer, NULL,
                                              (const char *)s->pages +
                                                  (s->is_buffer ? 0 : layer * layer_size(s)),
                                              s->is_buffer ? 0 : (UINT)row_pitch(s), 0);
}

static void for_all(void (*what)(shared *))
{
    for (shared *s = all; s != NULL; s = s->next)
        if (!(s->misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX) && s->references > 0) what(s);
}

void overlay11_give(void)
{
    for_all(give);
}

void overlay11_take(void)
{
    for_all(take);
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

static int release_key(void *object, uint64_t key)
{
    shared *s = object;
    EnterCriticalSection(&lock);
    const bool held = s->held;
    s->held = false;
    s->key = key;
    LeaveCriticalSection(&lock);
    WakeAllConditionVariable(&changed);
    return held ? 0 : -1;
}

static int acquire_key(void *object, uint64_t key, unsigned timeout_ms)
{
    shared *s = object;
    const ULONGLONG end = GetTickCount64() + timeout_ms;
    EnterCriticalSection(&lock);
    while (s->held || s->key != key) {
        const ULONGLONG now = GetTickCount64();
        if (timeout_ms != INFINITE && now >= end) break;
        SleepConditionVariableCS(&changed, &lock,
                                 timeout_ms == INFINITE ? INFINITE : (DWORD)(end - now));
    }
    const bool got = !s->held && s->key == key;
    if (got) s->held = true;
    LeaveCriticalSection(&lock);
    return got;
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

static HRESULT STDMETHODCALLTYPE dxgi_query(IDXGIResource1 *self, REFIID id, void **out)
{
    return ID3D11Resource_QueryInterface(OF(self, dxgi)->resource, id, out);
}

static ULONG STDMETHODCALLTYPE dxgi_add_ref(IDXGIResource1 *self)
{
    return ID3D11Resource_AddRef(OF(self, dxgi)->resource);
}

static ULONG STDMETHODCALLTYPE dxgi_release(IDXGIResource1 *self)
{
    return ID3D11Resource_Release(OF(self, dxgi)->resource);
}

static HRESULT STDMETHODCALLTYPE dxgi_get_shared(IDXGIResource1 *self, HANDLE *out)
{
    shared *s = OF(self, dxgi);
    wchar_t name[64];
    *out = NULL;
    HRESULT hr = refusal();
    if (hr != S_OK) return hr;
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
    if (access != (DXGI_SHARED_RESOURCE_READ | DXGI_SHARED_RESOURCE_WRITE) ||
        !(s->misc & D3D11_RESOURCE_MISC_SHARED_NTHANDLE))
        return E_INVALIDARG;
    const culv_soft_share record = record_of(s, false);
    return make_section(&record, security, name, out);
}

static HRESULT STDMETHODCALLTYPE mutex_query(IDXGIKeyedMutex *self, REFIID id, void **out)
{
    return ID3D11Resource_QueryInterface(OF(self, mutex)->resource, id, out);
}

static ULONG STDMETHODCALLTYPE mutex_add_ref(IDXGIKeyedMutex *self)
{
    return ID3D11Resource_AddRef(OF(self, mutex)->resource);
}

static ULONG STDMETHODCALLTYPE mutex_release(IDXGIKeyedMutex *self)
{
    return ID3D11Resource_Release(OF(self, mutex)->resource);
}

static HRESULT STDMETHODCALLTYPE mutex_acquire(IDXGIKeyedMutex *self, UINT64 key, DWORD ms)
{
    shared *s = OF(self, mutex);
    if (acquire_key(s, key, ms) == 0) return (HRESULT)WAIT_TIMEOUT;
    take(s);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE mutex_release_sync(IDXGIKeyedMutex *self, UINT64 key)
{
    shared *s = OF(self, mutex);
    give(s);
    return release_key(s, key) == 0 ? S_OK : INVALID_CALL;
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
    s->dxgi.lpVtbl = &dxgi_table;
    s->mutex.lpVtbl = &mutex_table;
    s->resource = resource;
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
    if (s->pages == NULL) abort();
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
    if (refs == 0) free(self);
    return refs;
}

static UINT64 STDMETHODCALLTYPE fence_value(ID3D11Fence *self)
{
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
    EnterCriticalSection(&lock);
    if (f->value >= value)
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
static ID3D11Device5 device5 = {&device_table};
static ID3D11DeviceContext4 context4 = {&context_table};

static ULONG STDMETHODCALLTYPE device5_add_ref(ID3D11Device5 *self)
{
    (void)self;
    return ID3D11Device_AddRef(the_device);
}

static ULONG STDMETHODCALLTYPE device5_release(ID3D11Device5 *self)
{
    (void)self;
    return ID3D11Device_Release(the_device);
}

static HRESULT STDMETHODCALLTYPE device5_create_fence(ID3D11Device5 *self, UINT64 value,
                                                      D3D11_FENCE_FLAG flags, REFIID id, void **out)
{
    (void)self;
    calls++;
    if (fail_at > 0 && --fail_at == 0) return E_OUTOFMEMORY;
    if (!same(id, &iid_fence)) return E_NOINTERFACE;
    fence *f = calloc(1, sizeof *f);
    if (f == NULL) return E_OUTOFMEMORY;
    f->com.lpVtbl = &fence_table;
    f->refs = 1;
    f->value = value;
    f->sharable = (flags & D3D11_FENCE_FLAG_SHARED) != 0;
    *out = f;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE context4_add_ref(ID3D11DeviceContext4 *self)
{
    (void)self;
    return ID3D11DeviceContext_AddRef(the_context);
}

static ULONG STDMETHODCALLTYPE context4_release(ID3D11DeviceContext4 *self)
{
    (void)self;
    return ID3D11DeviceContext_Release(the_context);
}

static HRESULT STDMETHODCALLTYPE context4_signal(ID3D11DeviceContext4 *self, ID3D11Fence *f,
                                                 UINT64 value)
{
    (void)self;
    overlay11_give();
    set_value((fence *)f, value);
    return S_OK;
}

/* The host waits in place of the queue. */
static HRESULT STDMETHODCALLTYPE context4_wait(ID3D11DeviceContext4 *self, ID3D11Fence *f,
                                               UINT64 value)
{
    (void)self;
    if (!wait_value((fence *)f, value, INFINITE)) return E_FAIL;
    overlay11_take();
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE query_device(ID3D11Device *self, REFIID id, void **out)
{
    if (!same(id, &iid_device5)) return device_query(self, id, out);
    if (lie == OVERLAY11_OLD) return E_NOINTERFACE;
    ID3D11Device_AddRef(self);
    *out = &device5;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE query_context(ID3D11DeviceContext *self, REFIID id, void **out)
{
    if (!same(id, &iid_context4)) return context_query(self, id, out);
    ID3D11DeviceContext_AddRef(self);
    *out = &context4;
    return S_OK;
}

/* Setting up ----------------------------------------------------------------------------------- */

/* Wine asserts that an object's table is its own, so the entries are replaced, not the table. */
static void replace(void *slot, const void *function, void *before)
{
    DWORD protection;
    VirtualProtect(slot, sizeof(void *), PAGE_READWRITE, &protection);
    memcpy(before, slot, sizeof(void *));
    memcpy(slot, function, sizeof(void *));
    VirtualProtect(slot, sizeof(void *), protection, &protection);
}
#define REPLACE_QUERY(object, function, before)                                                    \
    do {                                                                                           \
        void (*f_)(void) = (void (*)(void))(function);                                             \
        replace((void *)&(object)->lpVtbl->QueryInterface, &f_, &(before));                        \
    } while (0)

static void fill_tables(void)
{
    dxgi_table.QueryInterface = dxgi_query;
    dxgi_table.AddRef = dxgi_add_ref;
    dxgi_table.Release = dxgi_release;
    dxgi_table.GetSharedHandle = dxgi_get_shared;
    dxgi_table.CreateSharedHandle = dxgi_create_shared;
    mutex_table.QueryInterface = mutex_query;
    mutex_table.AddRef = mutex_add_ref;
    mutex_table.Release = mutex_release;
    mutex_table.AcquireSync = mutex_acquire;
    mutex_table.ReleaseSync = mutex_release_sync;
    fence_table.QueryInterface = fence_query;
    fence_table.AddRef = fence_add_ref;
    fence_table.Release = fence_release;
    fence_table.CreateSharedHandle = fence_create_shared;
    fence_table.GetCompletedValue = fence_value;
    fence_table.SetEventOnCompletion = fence_set_event;
    device_table.AddRef = device5_add_ref;
    device_table.Release = device5_release;
    device_table.CreateFence = device5_create_fence;
    context_table.AddRef = context4_add_ref;
    context_table.Release = context4_release;
    context_table.Signal = context4_signal;
    context_table.Wait = context4_wait;
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
    void (*f)(void) = (void (*)(void))get_adapter_desc;
    if (SUCCEEDED(ID3D11Device_QueryInterface(device, &iid_dxgi_device, (void **)&dxgi)) &&
        SUCCEEDED(IDXGIDevice_GetAdapter(dxgi, &adapter)))
        replace((void *)&adapter->lpVtbl->GetDesc, &f, &adapter_desc);
    if (adapter != NULL) IDXGIAdapter_Release(adapter);
    if (dxgi != NULL) IDXGIDevice_Release(dxgi);
}

void overlay11_install(ID3D11Device *device, ID3D11DeviceContext *context)
{
    the_device = device;
    the_context = context;
    if (device_query != NULL) return;
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
    fill_tables();
    replace_adapter(device);
    REPLACE_QUERY(device, query_device, device_query);
    REPLACE_QUERY(context, query_context, context_query);
    REPLACE_QUERY(texture, query_texture, texture_query);
    REPLACE_QUERY(buffer, query_buffer, buffer_query);
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
        free(s);
    }
}
