/* SPDX-License-Identifier: MIT */
/* Shared handles for Wine's Direct3D 12: the replaced methods. */
#include "overlay.h"

#include "host_vulkan.h"
#include "vmm_label.h"
#include "win32_share.h"

#include <stdlib.h>
#include <string.h>

static const GUID iid_heap = {
    0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};
static const GUID iid_resource = {
    0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}};
static const GUID iid_fence = {
    0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}};

#define NAME_ALREADY_EXISTS ((HRESULT)0x887a002c)
#define DEVICE_REMOVED      ((HRESULT)0x887a0005)

/* What was shared. The process keeps it until overlay_clear(). */
typedef struct shared {
    struct shared *next;
    IUnknown *object;      /* a reference while something is imported */
    ID3D12Resource *alias; /* a buffer over the heap, which the host has mapped */
    LONG references;
} shared;

/* A committed resource that is a placed one: where its bytes are. It may be gone. */
typedef struct texture {
    struct texture *next;
    const void *object;
    ID3D12Heap *heap; /* a reference: Wine 8's placed resources hold none */
    ID3D12Resource *alias;
    void *pages;
    uint64_t size;
} texture;

static ID3D12DeviceVtbl real;
static CRITICAL_SECTION lock;
static shared *all;
static texture *textures;
static overlay_lie lie;
static unsigned fail_at, calls;
static bool installed;

static bool must_fail(void)
{
    calls++;
    return fail_at > 0 && --fail_at == 0;
}

/* The record's functions ----------------------------------------------------------------------- */

static void ref(void *object)
{
    shared *s = object;
    if (InterlockedIncrement(&s->references) == 1) IUnknown_AddRef(s->object);
}

static void unref(void *object)
{
    shared *s = object;
    if (InterlockedDecrement(&s->references) == 0) IUnknown_Release(s->object);
}

static int signal_fence(void *object, uint64_t value)
{
    ID3D12Fence *fence = (ID3D12Fence *)((shared *)object)->object;
    return FAILED(ID3D12Fence_Signal(fence, value)) ? -1 : 0;
}

static int wait_fence(void *object, uint64_t value, unsigned timeout_ms)
{
    ID3D12Fence *fence = (ID3D12Fence *)((shared *)object)->object;
    if (ID3D12Fence_GetCompletedValue(fence) >= value) return 1;
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    int reached = -1;
    if (event != NULL && SUCCEEDED(ID3D12Fence_SetEventOnCompletion(fence, value, event)))
        reached = WaitForSingleObject(event, timeout_ms) == WAIT_OBJECT_0;
    if (event != NULL) CloseHandle(event);
    return reached;
}

/* Memory that the host sees -------------------------------------------------------------------- */

static D3D12_HEAP_PROPERTIES visible(const D3D12_HEAP_PROPERTIES *asked)
{
    D3D12_HEAP_PROPERTIES p = *asked;
    if (p.Type == D3D12_HEAP_TYPE_DEFAULT) {
        p.Type = D3D12_HEAP_TYPE_CUSTOM;
        p.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
        p.MemoryPoolPreference = D3D12_MEMORY_POOL_L0;
    }
    return p;
}

typedef void(STDMETHODCALLTYPE *heap_desc_fn)(ID3D12Heap *, D3D12_HEAP_DESC *);
typedef void(STDMETHODCALLTYPE *resource_desc_fn)(ID3D12Resource *, D3D12_RESOURCE_DESC *);
typedef void(STDMETHODCALLTYPE *allocation_fn)(ID3D12Device *, D3D12_RESOURCE_ALLOCATION_INFO *,
                                               UINT, UINT, const D3D12_RESOURCE_DESC *);

static uint64_t size_of(ID3D12Device *device, const D3D12_RESOURCE_DESC *desc)
{
    D3D12_RESOURCE_ALLOCATION_INFO info = {0, 0};
    ((allocation_fn)(void (*)(void))real.GetResourceAllocationInfo)(device, &info, 0, 1, desc);
    return info.SizeInBytes;
}

/* A mapped buffer over all of a heap. */
static HRESULT alias_of(ID3D12Device *device, ID3D12Heap *heap, uint64_t size, ID3D12Resource **out,
                        void **pages)
{
    D3D12_RESOURCE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = size;
    desc.Height = 1;
    desc.DepthOrArraySize = 1;
    desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    HRESULT hr = ID3D12Device_CreatePlacedResource(
        device, heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON, NULL, &iid_resource, (void **)out);
    if (FAILED(hr)) return hr;
    hr = ID3D12Resource_Map(*out, 0, NULL, pages);
    if (FAILED(hr)) ID3D12Resource_Release(*out);
    return hr;
}

static HRESULT STDMETHODCALLTYPE create_heap(ID3D12Device *device, const D3D12_HEAP_DESC *desc,
                                             REFIID id, void **out)
{
    D3D12_HEAP_DESC d = *desc;
    if (d.Flags & D3D12_HEAP_FLAG_SHARED) d.Properties = visible(&desc->Properties);
    return real.CreateHeap(device, &d, id, out);
}

static void note_committed(texture *t, const void *object)
{
    t->object = object;
    EnterCriticalSection(&lock);
    t->next = textures;
    textures = t;
    LeaveCriticalSection(&lock);
}

static HRESULT create_placed(ID3D12Device *device, const D3D12_HEAP_PROPERTIES *properties,
                             D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc,
                             D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID id,
                             void **out)
{
    D3D12_HEAP_DESC d;
    ID3D12Heap *heap = NULL;
    texture *t = calloc(1, sizeof *t);
    if (t == NULL) return E_OUTOFMEMORY;
    memset(&d, 0, sizeof d);
    d.SizeInBytes = t->size = size_of(device, desc);
    d.Properties = visible(properties);
    d.Flags = flags;
    HRESULT hr = real.CreateHeap(device, &d, &iid_heap, (void **)&heap);
    if (FAILED(hr)) goto free_texture;
    hr = alias_of(device, heap, t->size, &t->alias, &t->pages);
    if (FAILED(hr)) goto release_heap;
    memset(t->pages, 0, (size_t)t->size);
    hr = ID3D12Device_CreatePlacedResource(device, heap, 0, desc, state, clear, id, out);
    if (FAILED(hr)) goto release_alias;
    t->heap = heap;
    note_committed(t, *out);
    return hr;

release_alias:
    ID3D12Resource_Release(t->alias);
release_heap:
    ID3D12Heap_Release(heap);
free_texture:
    free(t);
    return hr;
}

static HRESULT STDMETHODCALLTYPE
create_committed(ID3D12Device *device, const D3D12_HEAP_PROPERTIES *properties,
                 D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc,
                 D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID id, void **out)
{
    if (!(flags & D3D12_HEAP_FLAG_SHARED))
        return real.CreateCommittedResource(device, properties, flags, desc, state, clear, id, out);
    if (must_fail()) return E_OUTOFMEMORY;
    return create_placed(device, properties, flags, desc, state, clear, id, out);
}

static HRESULT STDMETHODCALLTYPE create_fence(ID3D12Device *device, UINT64 value,
                                              D3D12_FENCE_FLAGS flags, REFIID id, void **out)
{
    return must_fail() ? E_OUTOFMEMORY : real.CreateFence(device, value, flags, id, out);
}

/* Sharing -------------------------------------------------------------------------------------- */

/* The newest of that address: earlier ones are gone. */
static const texture *find_texture(const void *object)
{
    const texture *t = textures;
    while (t != NULL && t->object != object)
        t = t->next;
    return t;
}

static bool is_a(ID3D12DeviceChild *object, const GUID *id)
{
    IUnknown *found = NULL;
    if (FAILED(ID3D12DeviceChild_QueryInterface(object, id, (void **)&found))) return false;
    IUnknown_Release(found);
    return true;
}

static HRESULT fill(ID3D12Device *device, ID3D12DeviceChild *object, culv_soft_share *record,
                    shared *s)
{
    if (is_a(object, &iid_fence)) {
        record->type = CULV_SOFT_SHARE_SEMAPHORE + 4; /* D3D12_FENCE */
        record->signal = signal_fence;
        record->wait = wait_fence;
        return S_OK;
    }
    if (is_a(object, &iid_heap)) {
        ID3D12Heap *heap = (ID3D12Heap *)(void *)object;
        D3D12_HEAP_DESC desc;
        ((heap_desc_fn)(void (*)(void))heap->lpVtbl->GetDesc)(heap, &desc);
        if (!(desc.Flags & D3D12_HEAP_FLAG_SHARED)) return E_INVALIDARG;
        record->type = 4; /* D3D12_HEAP */
        record->size = desc.SizeInBytes;
        return alias_of(device, heap, desc.SizeInBytes, &s->alias, &record->pages);
    }
    if (!is_a(object, &iid_resource)) return E_INVALIDARG;
    ID3D12Resource *resource = (ID3D12Resource *)(void *)object;
    D3D12_RESOURCE_DESC desc;
    D3D12_HEAP_PROPERTIES properties;
    D3D12_HEAP_FLAGS flags = D3D12_HEAP_FLAG_NONE;
    ((resource_desc_fn)(void (*)(void))resource->lpVtbl->GetDesc)(resource, &desc);
    if (FAILED(ID3D12Resource_GetHeapProperties(resource, &properties, &flags)) ||
        !(flags & D3D12_HEAP_FLAG_SHARED))
        return E_INVALIDARG;
    record->type = 5; /* D3D12_RESOURCE */
    record->dedicated = 1;
    record->size = size_of(device, &desc);
    /* A placed one of the caller's has no handle of its own. */
    const texture *t = find_texture(object);
    if (t == NULL) return E_INVALIDARG;
    record->pages = t->pages;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE create_shared_handle(ID3D12Device *device,
                                                      ID3D12DeviceChild *object,
                                                      const SECURITY_ATTRIBUTES *security,
                                                      DWORD access, LPCWSTR name, HANDLE *out)
{
    culv_soft_share record;
    if (must_fail()) return E_OUTOFMEMORY;
    if (lie == OVERLAY_WRAPPER) return E_NOTIMPL;
    if (lie == OVERLAY_REMOVED) return DEVICE_REMOVED;
    if (access != GENERIC_ALL) return E_INVALIDARG;
    shared *s = calloc(1, sizeof *s);
    if (s == NULL) return E_OUTOFMEMORY;
    memset(&record, 0, sizeof record);
    memcpy(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic);
    record.process = GetCurrentProcessId();
    record.object = s;
    record.ref = ref;
    record.unref = unref;
    s->object = (IUnknown *)(void *)object;
    HRESULT hr = fill(device, object, &record, s);
    if (FAILED(hr)) goto free_share;
    SetLastError(0);
    const HANDLE section =
        CreateFileMappingW(INVALID_HANDLE_VALUE, (SECURITY_ATTRIBUTES *)(uintptr_t)security,
                           PAGE_READWRITE, 0, 4096, name);
    hr = section == NULL                          ? HRESULT_FROM_WIN32(GetLastError())
         : GetLastError() == ERROR_ALREADY_EXISTS ? NAME_ALREADY_EXISTS
                                                  : S_OK;
    void *page = SUCCEEDED(hr) ? MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 4096) : NULL;
    if (SUCCEEDED(hr) && page == NULL) hr = E_OUTOFMEMORY;
    if (FAILED(hr)) {
        if (section != NULL) CloseHandle(section);
        goto release_alias;
    }
    memcpy(page, &record, sizeof record);
    UnmapViewOfFile(page);
    EnterCriticalSection(&lock);
    s->next = all;
    all = s;
    LeaveCriticalSection(&lock);
    *out = section;
    return S_OK;

release_alias:
    if (s->alias != NULL) ID3D12Resource_Release(s->alias);
free_share:
    free(s);
    return hr;
}

/* Opening ------------------------------------------------------------------------------------- */

static struct {
    int (*next)(void *view, void *pages);
    unsigned (*imports)(void);
} host;

void overlay_load_host(const char *path)
{
    const HMODULE module = LoadLibraryA(path);
    FARPROC next = NULL, imports = NULL;
    if (module != NULL) next = GetProcAddress(module, "host_vulkan_next");
    if (module != NULL) imports = GetProcAddress(module, "host_vulkan_imports");
    memcpy(&host.next, &next, sizeof next);
    memcpy(&host.imports, &imports, sizeof imports);
}

unsigned overlay_opened(void)
{
    return host.imports != NULL ? host.imports() : 0;
}

/* An allocation of CUDA's: the section holds it, and the heap lies on a view of that. */
static HRESULT STDMETHODCALLTYPE open_shared_handle(ID3D12Device *device, HANDLE handle, REFIID id,
                                                    void **out)
{
    culv_soft_vmm_label label;
    D3D12_HEAP_DESC desc;
    if (must_fail()) return E_OUTOFMEMORY;
    if (lie == OVERLAY_WRAPPER) return E_NOTIMPL;
    if (lie == OVERLAY_REMOVED) return DEVICE_REMOVED;
    if (host.next == NULL) return E_NOTIMPL;
    unsigned char *view = MapViewOfFile(handle, FILE_MAP_WRITE, 0, 0, 0);
    if (view == NULL) return HRESULT_FROM_WIN32(GetLastError());
    memcpy(&label, view + CULV_SOFT_VMM_LABEL_AT, sizeof label);
    HRESULT hr = E_INVALIDARG;
    if (memcmp(label.magic, CULV_SOFT_VMM_LABEL_MAGIC, sizeof label.magic) != 0) goto unmap;
    memset(&desc, 0, sizeof desc);
    desc.SizeInBytes = lie == OVERLAY_SMALL ? label.size / 2 : label.size;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Properties = visible(&desc.Properties);
    desc.Flags = D3D12_HEAP_FLAG_SHARED;
    host.next(view, view + label.payload);
    hr = real.CreateHeap(device, &desc, id, out);
    if (host.next(NULL, NULL) == 0) return hr; /* the heap's memory has, or had, the view */
    if (SUCCEEDED(hr)) hr = E_FAIL;            /* it lies elsewhere */
unmap:
    UnmapViewOfFile(view);
    return hr;
}

static UINT STDMETHODCALLTYPE get_node_count(ID3D12Device *device)
{
    return lie == OVERLAY_LINKED ? 2 : real.GetNodeCount(device);
}

typedef void(STDMETHODCALLTYPE *luid_fn)(ID3D12Device *, LUID *);

static LUID *STDMETHODCALLTYPE get_adapter_luid(ID3D12Device *device, LUID *out)
{
    ((luid_fn)(void (*)(void))real.GetAdapterLuid)(device, out);
    if (lie == OVERLAY_STRANGER) out->LowPart ^= 0x40;
    return out;
}

/* Wine asserts that an object's table is its own, so the entries are replaced, not the table. */
static void replace(void *slot, const void *function)
{
    DWORD before;
    VirtualProtect(slot, sizeof(void *), PAGE_READWRITE, &before);
    memcpy(slot, function, sizeof(void *));
    VirtualProtect(slot, sizeof(void *), before, &before);
}
#define REPLACE(device, method, function)                                                          \
    do {                                                                                           \
        void (*f_)(void) = (void (*)(void))(function);                                             \
        replace(&(device)->lpVtbl->method, &f_);                                                   \
    } while (0)

void overlay_install(ID3D12Device *device)
{
    if (installed) return;
    installed = true;
    InitializeCriticalSection(&lock);
    real = *device->lpVtbl;
    REPLACE(device, CreateSharedHandle, create_shared_handle);
    REPLACE(device, OpenSharedHandle, open_shared_handle);
    REPLACE(device, CreateHeap, create_heap);
    REPLACE(device, CreateCommittedResource, create_committed);
    REPLACE(device, CreateFence, create_fence);
    REPLACE(device, GetNodeCount, get_node_count);
    REPLACE(device, GetAdapterLuid, get_adapter_luid);
}

void overlay_tell(overlay_lie what)
{
    lie = what;
}

void overlay_fail_at(unsigned n)
{
    fail_at = n;
}

unsigned overlay_calls(void)
{
    return calls;
}

int overlay_references(void)
{
    int sum = 0;
    for (const shared *s = all; s != NULL; s = s->next)
        sum += (int)s->references;
    return sum;
}

void overlay_clear(void)
{
    while (all != NULL) {
        shared *s = all;
        all = s->next;
        if (s->alias != NULL) ID3D12Resource_Release(s->alias);
        free(s);
    }
    while (textures != NULL) {
        texture *t = textures;
        textures = t->next;
        ID3D12Resource_Release(t->alias);
        ID3D12Heap_Release(t->heap);
        free(t);
    }
}
