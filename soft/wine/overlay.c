/* SPDX-License-Identifier: MIT */
/* Shared handles for Wine's Direct3D 12: the replaced methods. What Microsoft's pages refuse is
 * refused here too; each such rule has its page beside it, by the last part of its address:
 * https://learn.microsoft.com/en-us/windows/win32/api/d3d12/PAGE */
#include "overlay.h"

#include "host_vulkan.h"
#include "labels.h"
#include "part.h"
#include "removed.h"
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
#define INVALID_CALL        ((HRESULT)0x887a0001)

/* What was shared. The process keeps it until overlay12_clear(). */
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

static const GUID shared_key = {
    0x0b6f7d4c, 0x39a1, 0x4c57, {0x8d, 0x02, 0x5f, 0x71, 0xc8, 0x3a, 0x90, 0x6e}};

static ID3D12DeviceVtbl real;
static ID3D12FenceVtbl real_fence;
static ID3D12CommandQueueVtbl real_queue;
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

/* A removed device ----------------------------------------------------------------------------- */

static bool is_removed(ID3D12Device *device)
{
    UINT yes = 0, size = sizeof yes;
    return removed_some() &&
           SUCCEEDED(ID3D12Device_GetPrivateData(device, &removed_key, &size, &yes)) && yes != 0;
}

/* Whether the device is removed, or is so by this call. */
static bool gone(ID3D12Device *device, const char *call)
{
    const UINT yes = 1;
    if (removed_now(call)) {
        if (FAILED(ID3D12Device_SetPrivateData(device, &removed_key, sizeof yes, &yes))) abort();
        removed_wake();
    }
    return is_removed(device);
}

static ID3D12Device *device_of(void *child)
{
    static const GUID iid_device = {
        0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};
    ID3D12Device *device = NULL;
    if (FAILED(
            ID3D12DeviceChild_GetDevice((ID3D12DeviceChild *)child, &iid_device, (void **)&device)))
        abort();
    return device;
}

static bool child_gone(void *child, const char *call)
{
    ID3D12Device *device = device_of(child);
    const bool yes = call != NULL ? gone(device, call) : is_removed(device);
    ID3D12Device_Release(device);
    return yes;
}

/* nf-d3d12-id3d12device-getdeviceremovedreason */
static HRESULT STDMETHODCALLTYPE get_removed_reason(ID3D12Device *device)
{
    return is_removed(device) ? DXGI_HUNG : real.GetDeviceRemovedReason(device);
}

/* nf-d3d12-id3d12fence-getcompletedvalue: UINT64_MAX of a removed device. */
static UINT64 STDMETHODCALLTYPE get_completed_value(ID3D12Fence *fence)
{
    return removed_some() && child_gone(fence, NULL) ? UINT64_MAX
                                                     : real_fence.GetCompletedValue(fence);
}

static HRESULT STDMETHODCALLTYPE set_event(ID3D12Fence *fence, UINT64 value, HANDLE event)
{
    if (event != NULL) removed_remember(event);
    if (!removed_some() || !child_gone(fence, NULL))
        return real_fence.SetEventOnCompletion(fence, value, event);
    if (event != NULL) SetEvent(event); /* every value is reached */
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE host_signal(ID3D12Fence *fence, UINT64 value)
{
    return child_gone(fence, "ID3D12Fence::Signal") ? DXGI_REMOVED
                                                    : real_fence.Signal(fence, value);
}

static HRESULT STDMETHODCALLTYPE queue_signal(ID3D12CommandQueue *queue, ID3D12Fence *fence,
                                              UINT64 value)
{
    if (!child_gone(queue, "ID3D12CommandQueue::Signal"))
        return real_queue.Signal(queue, fence, value);
    /* A removed device runs nothing more. Wine's may, in memory that its program now releases. */
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    if (event != NULL && SUCCEEDED(real_queue.Signal(queue, fence, value)) &&
        SUCCEEDED(real_fence.SetEventOnCompletion(fence, value, event)))
        (void)WaitForSingleObject(event, 200); /* no longer: it may wait for CUDA */
    if (event != NULL) CloseHandle(event);
    return DXGI_REMOVED;
}

static HRESULT STDMETHODCALLTYPE queue_wait(ID3D12CommandQueue *queue, ID3D12Fence *fence,
                                            UINT64 value)
{
    return child_gone(queue, "ID3D12CommandQueue::Wait") ? DXGI_REMOVED
                                                         : real_queue.Wait(queue, fence, value);
}

static void STDMETHODCALLTYPE execute(ID3D12CommandQueue *queue, UINT count,
                                      ID3D12CommandList *const *lists)
{
    if (!child_gone(queue, "ID3D12CommandQueue::ExecuteCommandLists"))
        real_queue.ExecuteCommandLists(queue, count, lists);
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
    return FAILED(real_fence.Signal(fence, value)) ? -1 : 0;
}

static int wait_fence(void *object, uint64_t value, unsigned timeout_ms)
{
    ID3D12Fence *fence = (ID3D12Fence *)((shared *)object)->object;
    if (real_fence.GetCompletedValue(fence) >= value) return 1;
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    int reached = -1;
    if (event != NULL && SUCCEEDED(real_fence.SetEventOnCompletion(fence, value, event)))
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
    HRESULT hr = real.CreatePlacedResource(device, heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON,
                                           NULL, &iid_resource, (void **)out);
    if (FAILED(hr)) return hr;
    hr = ID3D12Resource_Map(*out, 0, NULL, pages);
    if (FAILED(hr)) ID3D12Resource_Release(*out);
    return hr;
}

static HRESULT STDMETHODCALLTYPE create_heap(ID3D12Device *device, const D3D12_HEAP_DESC *desc,
                                             REFIID id, void **out)
{
    D3D12_HEAP_DESC d = *desc;
    if (gone(device, "ID3D12Device::CreateHeap")) return DXGI_REMOVED;
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
    hr = real.CreatePlacedResource(device, heap, 0, desc, state, clear, id, out);
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
    if (gone(device, "ID3D12Device::CreateCommittedResource")) return DXGI_REMOVED;
    if (!(flags & D3D12_HEAP_FLAG_SHARED))
        return real.CreateCommittedResource(device, properties, flags, desc, state, clear, id, out);
    if (must_fail()) return E_OUTOFMEMORY;
    return create_placed(device, properties, flags, desc, state, clear, id, out);
}

static HRESULT STDMETHODCALLTYPE create_fence(ID3D12Device *device, UINT64 value,
                                              D3D12_FENCE_FLAGS flags, REFIID id, void **out)
{
    if (must_fail()) return E_OUTOFMEMORY;
    if (gone(device, "ID3D12Device::CreateFence")) return DXGI_REMOVED;
    const HRESULT hr = real.CreateFence(device, value, flags, id, out);
    if (FAILED(hr)) return hr;
    ID3D12Fence *fence = *out;
    const UINT sharable = (flags & D3D12_FENCE_FLAG_SHARED) != 0;
    EnterCriticalSection(&lock);
    if (real_fence.Signal == NULL) {
        real_fence = *fence->lpVtbl;
        void *before;
        PART_REPLACE(fence, GetCompletedValue, get_completed_value, before);
        PART_REPLACE(fence, SetEventOnCompletion, set_event, before);
        PART_REPLACE(fence, Signal, host_signal, before);
    }
    LeaveCriticalSection(&lock);
    if (FAILED(ID3D12Fence_SetPrivateData(fence, &shared_key, sizeof sharable, &sharable))) abort();
    return hr;
}

static HRESULT STDMETHODCALLTYPE create_queue(ID3D12Device *device,
                                              const D3D12_COMMAND_QUEUE_DESC *desc, REFIID id,
                                              void **out)
{
    if (gone(device, "ID3D12Device::CreateCommandQueue")) return DXGI_REMOVED;
    const HRESULT hr = real.CreateCommandQueue(device, desc, id, out);
    if (FAILED(hr)) return hr;
    ID3D12CommandQueue *queue = *out;
    EnterCriticalSection(&lock);
    if (real_queue.Signal == NULL) {
        real_queue = *queue->lpVtbl;
        void *before;
        PART_REPLACE(queue, Signal, queue_signal, before);
        PART_REPLACE(queue, Wait, queue_wait, before);
        PART_REPLACE(queue, ExecuteCommandLists, execute, before);
    }
    LeaveCriticalSection(&lock);
    return hr;
}

static HRESULT STDMETHODCALLTYPE create_allocator(ID3D12Device *device,
                                                  D3D12_COMMAND_LIST_TYPE type, REFIID id,
                                                  void **out)
{
    return gone(device, "ID3D12Device::CreateCommandAllocator")
               ? DXGI_REMOVED
               : real.CreateCommandAllocator(device, type, id, out);
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
        /* ne-d3d12-d3d12_fence_flags: D3D12_FENCE_FLAG_SHARED makes a fence a shared one. */
        UINT sharable = 0, size = sizeof sharable;
        if (FAILED(ID3D12DeviceChild_GetPrivateData(object, &shared_key, &size, &sharable)) ||
            sharable == 0)
            return E_INVALIDARG;
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
    /* nf-d3d12-id3d12device-createsharedhandle: heaps and committed resources can be shared, so
     * neither a placed resource of the caller's nor a reserved one. */
    const texture *t = find_texture(object);
    if (t == NULL) return E_INVALIDARG;
    record->pages = t->pages;
    return S_OK;
}

static bool good_name(const wchar_t *name)
{
    const size_t before = wcsncmp(name, L"Local\\", 6) == 0    ? 6
                          : wcsncmp(name, L"Global\\", 7) == 0 ? 7
                                                               : 0;
    return wcslen(name) <= MAX_PATH && wcschr(name + before, L'\\') == NULL;
}

static HRESULT STDMETHODCALLTYPE create_shared_handle(ID3D12Device *device,
                                                      ID3D12DeviceChild *object,
                                                      const SECURITY_ATTRIBUTES *security,
                                                      DWORD access, LPCWSTR name, HANDLE *out)
{
    culv_soft_share record;
    if (must_fail()) return E_OUTOFMEMORY;
    if (lie == OVERLAY_WRAPPER) return E_NOTIMPL;
    if (lie == OVERLAY_REMOVED || gone(device, "ID3D12Device::CreateSharedHandle"))
        return DXGI_REMOVED;
    /* nf-d3d12-id3d12device-createsharedhandle: GENERIC_ALL is the only access, a name has at most
     * MAX_PATH characters and no backslash but the one of "Local\\" or "Global\\", and an invalid
     * argument is DXGI_ERROR_INVALID_CALL. */
    if (access != GENERIC_ALL) return INVALID_CALL;
    if (name != NULL && !good_name(name)) return INVALID_CALL;
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

/* What this process shared by Direct3D 12; S_FALSE: it is something else. */
static HRESULT open_own(HANDLE handle, REFIID id, void **out)
{
    culv_soft_share record;
    const void *view = MapViewOfFile(handle, FILE_MAP_READ, 0, 0, sizeof record);
    if (view == NULL) return E_INVALIDARG;
    memcpy(&record, view, sizeof record);
    UnmapViewOfFile(view);
    if (memcmp(record.magic, CULV_SOFT_SHARE_MAGIC, sizeof record.magic) != 0 ||
        record.process != GetCurrentProcessId() || record.unref != unref)
        return S_FALSE;
    return IUnknown_QueryInterface(((shared *)record.object)->object, id, out);
}

static HRESULT STDMETHODCALLTYPE open_by_name(ID3D12Device *device, LPCWSTR name, DWORD access,
                                              HANDLE *out)
{
    if (gone(device, "ID3D12Device::OpenSharedHandleByName")) return DXGI_REMOVED;
    if (access != GENERIC_ALL)
        return E_INVALIDARG; /* nf-d3d12-id3d12device-opensharedhandlebyname */
    *out = OpenFileMappingW(FILE_MAP_ALL_ACCESS, FALSE, name);
    return *out != NULL ? S_OK : HRESULT_FROM_WIN32(GetLastError());
}

/* An allocation of CUDA's: the section holds it, and the heap lies on a view of that. */
static HRESULT STDMETHODCALLTYPE open_shared_handle(ID3D12Device *device, HANDLE handle, REFIID id,
                                                    void **out)
{
    culv_soft_vmm_label label;
    D3D12_HEAP_DESC desc;
    if (must_fail()) return E_OUTOFMEMORY;
    if (lie == OVERLAY_WRAPPER) return E_NOTIMPL;
    if (lie == OVERLAY_REMOVED || gone(device, "ID3D12Device::OpenSharedHandle"))
        return DXGI_REMOVED;
    HRESULT own = open_own(handle, id, out);
    if (own != S_FALSE) return own;
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

void overlay_install(ID3D12Device *device)
{
    if (installed) return;
    installed = true;
    InitializeCriticalSection(&lock);
    real = *device->lpVtbl;
    void *before;
    PART_REPLACE(device, CreateSharedHandle, create_shared_handle, before);
    PART_REPLACE(device, OpenSharedHandle, open_shared_handle, before);
    PART_REPLACE(device, OpenSharedHandleByName, open_by_name, before);
    PART_REPLACE(device, CreateHeap, create_heap, before);
    PART_REPLACE(device, CreateCommittedResource, create_committed, before);
    PART_REPLACE(device, CreateFence, create_fence, before);
    PART_REPLACE(device, CreateCommandQueue, create_queue, before);
    PART_REPLACE(device, CreateCommandAllocator, create_allocator, before);
    PART_REPLACE(device, GetDeviceRemovedReason, get_removed_reason, before);
    PART_REPLACE(device, GetNodeCount, get_node_count, before);
    PART_REPLACE(device, GetAdapterLuid, get_adapter_luid, before);
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

void overlay12_clear(void)
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
