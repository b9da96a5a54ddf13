/* SPDX-License-Identifier: MIT */
/* culv_d3d_device: the caller's device of Direct3D 11 or 12, attached; its CUDA match, shared
 * handles and fences. */
#include "d3d/d3d_attach.h"
/* after it */
#include "d3d/d3d_register.h"
#include "graphics/graphics_ring.h"

#include <dxgi.h>
#include <stdio.h>

culv_result culvi_d3d_check_api(const culv_d3d_device *d3d, const culvi_d3d_api *api,
                                const char *call)
{
    return culvi_check_made_by(&d3d->base, api->graphics, d3d->base.label, call);
}

culv_result culvi_d3d_fail(const culv_d3d_device *d3d, const char *label, HRESULT code,
                           const char *call, const char *what)
{
    return culvi_fail_d3d(d3d->voice, label, code, call, d3d->of->removed,
                          CULV_REASON_DRIVER_REFUSED, "%s", what);
}

culv_result culvi_d3d_as(const culv_d3d_device *d3d, const char *label, void *object,
                         const GUID *id, const char *name, void **as)
{
    *as = culvi_d3d_query(object, id);
    return *as != NULL ? CULV_OK
                       : culvi_fail(d3d->voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                                    "the object is no %s", name);
}

/* The match ------------------------------------------------------------------------------------ */

/* Holds an adapter's LUID against the attachment's device, and completes the attachment. */
static culv_result identify(culvi_graphics *graphics, const culv_luid *luid, const char *native)
{
    const culv_device *device = graphics->device;
    CULVI_TEXT(text, 768);
    graphics->luid = *luid;
    graphics->node_mask = 1;
    culvi_text_add(&text, "adapter of ");
    culvi_text_add_luid(&text, luid, 1);
    snprintf(graphics->name, sizeof graphics->name, "%s", text.data);
    if (device->caps.luid_valid && culvi_luid_equal(&device->caps.luid, luid)) {
        /* Direct3D tells no UUID. */
        graphics->uuid = device->caps.uuid;
        return culvi_graphics_identify(graphics, 0, false);
    }
    culvi_text_add(&text, ", but ");
    culvi_d3d_add_device(&text, device, "it is in TCC mode, or this is not Windows");
    return culvi_fail(
        &device->voice, graphics->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the %s is on the %s; open the device by %s(), which finds the one that matches", native,
        text.data, graphics->api->words->open_call);
}

static culv_result read_adapter(IDXGIAdapter *adapter, culv_luid *out)
{
    DXGI_ADAPTER_DESC found;
    memset(&found, 0, sizeof found);
    const HRESULT hr = IDXGIAdapter_GetDesc(adapter, &found);
    if (FAILED(hr))
        return culvi_fail_native(
            NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED, CULV_NATIVE_D3D,
            (int64_t)(uint32_t)hr, "IDXGIAdapter::GetDesc",
            "the adapter does not say what it is: IDXGIAdapter::GetDesc answered %#lx",
            (unsigned long)hr);
    *out = culvi_d3d_luid(&found.AdapterLuid);
    return CULV_OK;
}

culv_result culv_device_open_for_d3d(IUnknown *object, const culv_device_desc *desc,
                                     culv_device **out)
{
    enum { D12, D11, D10, D9, ADAPTER, KINDS };
    const GUID *const ids[KINDS] = {&culvi_d3d12.device_iid, &culvi_d3d11.device_iid,
                                    &culvi_d3d10_version.device_iid, &culvi_d3d9_version.device_iid,
                                    &culvi_iid_dxgi_adapter};
    const culvi_d3d_version *const versions[KINDS] = {
        [D11] = &culvi_d3d11_version, [D10] = &culvi_d3d10_version, [D9] = &culvi_d3d9_version};
    void *as = NULL;
    culv_luid luid;
    CULVI_REQUIRE2(NULL, object, out);
    const int kind = culvi_d3d_pick(object, ids, KINDS, &as);
    CULVI_REFUSE_IF(
        kind < 0, NULL, NULL, CULV_REASON_VALUE,
        "%s(): it is no ID3D12Device, ID3D11Device, ID3D10Device, IDirect3DDevice9Ex or IDXGIAdapter",
        __func__);
    CULVI_TRY(kind == D12 ? culvi_d3d12.read_luid(NULL, NULL, as, &luid)
              : kind == ADAPTER
                  ? read_adapter(as, &luid)
                  : versions[kind]->read_luid(versions[kind], NULL, NULL, as, &luid, NULL));
    return culv_device_open_by_luid(&luid, 1, desc, out);
}

culv_result culv_d3d_attach(culv_device *device, const culv_d3d_device_desc *desc,
                            culv_d3d_device **out)
{
    static const culvi_d3d_api *const apis[] = {&culvi_d3d12, &culvi_d3d11};
    const GUID *const ids[] = {&culvi_d3d12.device_iid, &culvi_d3d11.device_iid};
    culv_luid luid;
    void *as = NULL;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    CULVI_READ(voice, culv_d3d_device_desc, d, desc);
    CULVI_REQUIRE_FIELD(voice, culv_d3d_device_desc, d, device);
    const int found = culvi_d3d_pick(d.device, ids, 2, &as);
    CULVI_REFUSE_IF(found < 0, voice, d.label, CULV_REASON_VALUE,
                    "culv_d3d_device_desc.device is no ID3D12Device and no ID3D11Device");
    const culvi_d3d_api *api = apis[found];
    CULVI_TRY(api->read_luid(voice, d.label, as, &luid));
    CULVI_NEW(culv_d3d_device, d3d, voice, d.label);
    culvi_graphics_init(&d3d->base, api->graphics, device, d.label);
    d3d->voice = voice;
    d3d->of = api;
    d3d->device = as;
    CULVI_TRY_OR(identify(&d3d->base, &luid, api->device_name), culvi_free(d3d));
    IUnknown_AddRef((IUnknown *)d3d->device);
    culvi_graphics_attached(&d3d->base);
    *out = d3d;
    return CULV_OK;
}

void culvi_d3d_free(culvi_graphics *graphics)
{
    culv_d3d_device *d3d = culvi_d3d_of(graphics);
    IUnknown_Release((IUnknown *)d3d->device);
    culvi_free(d3d);
}

culv_result culv_d3d_device_lost(culv_d3d_device *d3d)
{
    CULVI_REQUIRE(NULL, d3d);
    culvi_graphics_lose(&d3d->base);
    return CULV_OK;
}

void culv_d3d_detach(culv_d3d_device **d3d)
{
    CULVI_TAKE(culv_d3d_device, mine, d3d);
    culvi_graphics_unref(&mine->base);
}

/* Shared handles ------------------------------------------------------------------------------- */

/* Whose Direct3D has no shared handles, unless tests or the rig put them there. */
static bool is_wine(void)
{
    const HMODULE system = GetModuleHandleA("ntdll.dll");
    return system != NULL && GetProcAddress(system, "wine_get_version") != NULL;
}

culv_result culvi_d3d_fail_share(const culv_d3d_device *d3d, const char *label, HRESULT code,
                                 const char *call, const char *what, const wchar_t *name,
                                 const char *advice)
{
    const int hr = (int)code;
    if (name != NULL && (hr == CULVI_D3D_NAME_THERE || hr == CULVI_D3D_ALREADY_EXISTS ||
                         hr == CULVI_D3D_INVALID_HANDLE))
        return culvi_fail_native(
            d3d->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE, CULV_NATIVE_D3D,
            (int64_t)(uint32_t)code, call,
            "another object has the name '%ls' already (%#lx); choose one that is unique, for example with the process's number",
            name, (unsigned long)code);
    if (name != NULL && (hr == CULVI_D3D_INVALID_CALL || hr == CULVI_D3D_BAD_ARGUMENT))
        return culvi_fail_native(
            d3d->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE, CULV_NATIVE_D3D,
            (int64_t)(uint32_t)code, call,
            "Direct3D refused the name '%ls' (%#lx): it has at most 260 characters, and no backslash but the one of Local\\ or Global\\",
            name, (unsigned long)code);
    if (hr == CULVI_D3D_BAD_ARGUMENT || hr == CULVI_D3D_NOT_IMPLEMENTED ||
        hr == CULVI_D3D_NO_INTERFACE || SUCCEEDED(code))
        return culvi_fail_native(
            d3d->voice, label,
            hr == CULVI_D3D_BAD_ARGUMENT ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_D3D, (int64_t)(uint32_t)code, call,
            "the %s cannot be shared: %s answered %#lx%s; %s. A wrapper of the device (Streamline, ReShade, PIX) answers so too: pass the native %s and its objects%s",
            what, call, (unsigned long)code,
            SUCCEEDED(code) ? " and no handle" : culvi_d3d_code_name(code), advice,
            d3d->of->device_name,
            hr != CULVI_D3D_BAD_ARGUMENT && is_wine()
                ? ". This is Wine, whose Direct3D has no shared handles: run the program by scripts/wine-run, which puts them in place"
                : "");
    return culvi_fail_d3d(d3d->voice, label, code, call, d3d->of->removed,
                          CULV_REASON_DRIVER_REFUSED, "the %s could not be shared", what);
}

culv_result culv_d3d_export_dup(culv_d3d_device *d3d, IUnknown *object, const wchar_t *name,
                                culv_handle *out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, object, out);
    return d3d->of->share(d3d, d3d->base.label, object, name, out);
}

culv_result culvi_d3d_export(const culvi_graphics *graphics, const char *label, uint64_t object,
                             culv_handle *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    return d3d->of->share(d3d, label, culvi_d3d_object(object), NULL, out);
}

/* Fences --------------------------------------------------------------------------------------- */

/* A wait that times out leaves its event armed at the fence, which holds it until the value comes.
 * The next wait for that value takes it again, so that a loop of short waits leaves one. Only
 * fences that Culvert made are waited for. */
enum { ARMED = 64 };
typedef struct armed {
    void *fence; /* NULL: free */
    uint64_t value;
    HANDLE event; /* manual-reset: several threads may wait */
    unsigned waiting;
} armed;
static armed kept[ARMED];
static SRWLOCK kept_lock = SRWLOCK_INIT;

static void drop(armed *a)
{
    CloseHandle(a->event); /* the fence holds its own reference */
    *a = (armed){0};
}

/* The place of this wait, or else a free one, or else NULL. */
static armed *find_armed(void *fence, uint64_t value)
{
    armed *empty = NULL;
    for (armed *a = kept; a < kept + ARMED; a++) {
        if (a->fence == fence && a->value == value) return a;
        if (a->fence != NULL && a->waiting == 0 && WaitForSingleObject(a->event, 0) == 0) drop(a);
        if (a->fence == NULL) empty = a;
    }
    return empty;
}

/* The event to wait for. *shared is NULL if nobody keeps it. */
static HANDLE take_armed(const culvi_d3d_api *api, void *fence, uint64_t value, armed **shared,
                         int *code)
{
    AcquireSRWLockExclusive(&kept_lock);
    armed *a = find_armed(fence, value);
    HANDLE event = a != NULL ? a->event : NULL;
    if (event == NULL) {
        event = CreateEventW(NULL, TRUE, FALSE, NULL);
        const HRESULT hr = event != NULL ? api->fence.arm(fence, value, event) : E_OUTOFMEMORY;
        *code = FAILED(hr) ? (int)hr : 0;
        if (*code != 0 && event != NULL) CloseHandle(event);
        if (*code != 0) a = NULL, event = NULL;
        if (a != NULL) *a = (armed){fence, value, event, 0};
    }
    if (a != NULL) a->waiting++;
    ReleaseSRWLockExclusive(&kept_lock);
    *shared = a;
    return event;
}

static void give_armed(armed *a, HANDLE event, bool done)
{
    AcquireSRWLockExclusive(&kept_lock);
    if (a != NULL) a->waiting--;
    if (a == NULL)
        CloseHandle(event);
    else if (done && a->waiting == 0)
        drop(a);
    ReleaseSRWLockExclusive(&kept_lock);
}

/* Before the fence goes. */
static void forget(void *fence)
{
    AcquireSRWLockExclusive(&kept_lock);
    for (armed *a = kept; a < kept + ARMED; a++)
        if (a->fence == fence) drop(a);
    ReleaseSRWLockExclusive(&kept_lock);
}

int culvi_d3d_fence_value(const culvi_d3d_api *api, void *fence, uint64_t *out)
{
    const uint64_t value = api->fence.value(fence);
    /* ID3D11Fence::GetCompletedValue and ID3D12Fence::GetCompletedValue: the device is removed. */
    if (value == UINT64_MAX) return CULVI_D3D_REMOVED;
    *out = value;
    return 0;
}

/* 1: not yet. */
static int look(const culvi_d3d_api *api, void *fence, uint64_t value)
{
    uint64_t now = 0;
    const int code = culvi_d3d_fence_value(api, fence, &now);
    return code != 0 ? code : now < value;
}

int culvi_d3d_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                            uint64_t timeout_ns)
{
    const culvi_d3d_api *api = culvi_d3d_of(graphics)->of;
    void *fence = culvi_d3d_object(semaphore);
    armed *a = NULL;
    int code = look(api, fence, value);
    if (code != 1 || timeout_ns == 0) return code;
    const HANDLE event = take_armed(api, fence, value, &a, &code);
    if (event == NULL) return code;
    const uint64_t ms = timeout_ns / 1000000u + (timeout_ns % 1000000u != 0);
    const bool woken = WaitForSingleObject(event, ms < INFINITE ? (DWORD)ms : INFINITE) == 0;
    /* A removal sets the events too, and nothing says that it does so after the counters. */
    for (int i = 0; (code = look(api, fence, value)) == 1 && woken && i < 1000; i++)
        Sleep(1);
    give_armed(a, event, woken);
    return code;
}

int culvi_d3d_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    return culvi_d3d_fence_value(culvi_d3d_of(graphics)->of, culvi_d3d_object(semaphore), out);
}

void culvi_d3d_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    IUnknown *fence = culvi_d3d_object(semaphore);
    (void)graphics;
    if (fence == NULL) return;
    forget(fence);
    IUnknown_Release(fence);
}

culv_result culvi_d3d_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                    const char *call, const char *what)
{
    return culvi_d3d_fail(culvi_d3d_of(graphics), label, (HRESULT)code, call, what);
}
