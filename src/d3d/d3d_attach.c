/* SPDX-License-Identifier: MIT */
/* culv_d3d_device: the caller's device of Direct3D 11 or 12, attached; its CUDA match. */
#include "d3d/d3d_attach.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"
#include "d3d/d3d_register.h"
#include "graphics/lost.h"

#include <dxgi.h>
#include <string.h>

culv_result culvi_d3d_check_api(const culv_d3d_device *d3d, const culvi_d3d_api *api,
                                const char *call)
{
    return culvi_check_made_by(&d3d->base, api->graphics, d3d->base.label, call);
}

culv_result culvi_d3d_fail(const culv_d3d_device *d3d, const char *label, HRESULT code,
                           const char *call, const char *what)
{
    return culvi_fail_d3d(culvi_d3d_voice(d3d), label, code, call, d3d->of->removed,
                          CULV_REASON_DRIVER_REFUSED, "%s", what);
}

culv_result culvi_d3d_as(const culv_d3d_device *d3d, const char *label, void *object,
                         const GUID *id, const char *name, void **as)
{
    *as = culvi_d3d_query(object, id);
    return *as != NULL ? CULV_OK
                       : culvi_fail(culvi_d3d_voice(d3d), label, CULV_ERROR_INVALID,
                                    CULV_REASON_HANDLE_KIND, "the object is no %s", name);
}

/* The match ------------------------------------------------------------------------------------ */

static culv_result read_adapter(IDXGIAdapter *adapter, culv_luid *out)
{
    DXGI_ADAPTER_DESC found;
    memset(&found, 0, sizeof found);
    const HRESULT hr = IDXGIAdapter_GetDesc(adapter, &found);
    if (FAILED(hr))
        return culvi_fail_native(NULL, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                                 CULV_NATIVE_D3D, (int64_t)(uint32_t)hr, "IDXGIAdapter::GetDesc",
                                 "the adapter does not say what it is: IDXGIAdapter::GetDesc "
                                 "answered %#lx",
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
    void *as = NULL;
    culv_luid luid;
    culv_result result;
    CULVI_REQUIRE2(NULL, object, out);
    switch (culvi_d3d_pick(object, ids, KINDS, &as)) {
    case D12: result = culvi_d3d12.read_luid(NULL, NULL, as, &luid); break;
    case D11: result = culvi_d3d11.read_luid(NULL, NULL, as, &luid); break;
    case D10: result = culvi_d3d10_version.read_luid(NULL, NULL, as, &luid); break;
    case D9: result = culvi_d3d9_version.read_luid(NULL, NULL, as, &luid); break;
    case ADAPTER: result = read_adapter(as, &luid); break;
    default:
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s(): it is no ID3D12Device, ID3D11Device, ID3D10Device, "
                          "IDirect3DDevice9Ex or IDXGIAdapter",
                          __func__);
    }
    return result == CULV_OK ? culv_device_open_by_luid(&luid, 1, desc, out) : result;
}

culv_result culv_d3d_attach(culv_device *device, const culv_d3d_device_desc *desc,
                            culv_d3d_device **out)
{
    static const culvi_d3d_api *const apis[] = {&culvi_d3d12, &culvi_d3d11};
    const GUID *const ids[] = {&culvi_d3d12.device_iid, &culvi_d3d11.device_iid};
    culv_d3d_device_desc d;
    culv_luid luid;
    void *as = NULL;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d_device_desc");
    if (result != CULV_OK) return result;
    if (d.device == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_d3d_device_desc.device is NULL");
    const int found = culvi_d3d_pick(d.device, ids, 2, &as);
    if (found < 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_d3d_device_desc.device is no ID3D12Device and no ID3D11Device");
    const culvi_d3d_api *api = apis[found];
    result = api->read_luid(voice, d.label, as, &luid);
    if (result != CULV_OK) return result;
    culv_d3d_device *d3d = culvi_alloc(sizeof *d3d);
    if (d3d == NULL) return culvi_fail_host_memory(voice, d.label);
    culvi_graphics_init(&d3d->base, api->graphics, device, d.label);
    d3d->of = api;
    d3d->device = as;
    result = culvi_d3d_identify(&d3d->base, &luid, api->device_name);
    if (result != CULV_OK) {
        culvi_free(d3d);
        return result;
    }
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
    if (d3d == NULL || *d3d == NULL) return;
    culv_d3d_device *mine = *d3d;
    *d3d = NULL;
    culvi_graphics_unref(&mine->base);
}

/* Shared handles ------------------------------------------------------------------------------- */

culv_result culv_d3d_export_dup(culv_d3d_device *d3d, IUnknown *object, const wchar_t *name,
                                culv_handle *out)
{
    CULVI_REQUIRE(NULL, d3d);
    CULVI_REQUIRE2(culvi_d3d_voice(d3d), object, out);
    return d3d->of->share(d3d, d3d->base.label, object, name, out);
}

culv_result culvi_d3d_export(const culvi_graphics *graphics, const char *label, uint64_t object,
                             culv_handle *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    return d3d->of->share(d3d, label, culvi_d3d_object(object), NULL, out);
}

/* What was made -------------------------------------------------------------------------------- */

void culvi_d3d_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    IUnknown *resource = culvi_d3d_object(native->object);
    (void)graphics;
    if (resource != NULL) IUnknown_Release(resource);
}

void culvi_d3d_unmake_semaphore(culvi_graphics *graphics, uint64_t semaphore)
{
    IUnknown *fence = culvi_d3d_object(semaphore);
    (void)graphics;
    if (fence == NULL) return;
    culvi_d3d_forget_fence(fence);
    IUnknown_Release(fence);
}

int culvi_d3d_timeline_value(const culvi_graphics *graphics, uint64_t semaphore, uint64_t *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    return culvi_d3d_fence_value(&d3d->of->fence, culvi_d3d_object(semaphore), out);
}

int culvi_d3d_timeline_wait(const culvi_graphics *graphics, uint64_t semaphore, uint64_t value,
                            uint64_t timeout_ns)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    return culvi_d3d_wait(&d3d->of->fence, culvi_d3d_object(semaphore), value, timeout_ns);
}

culv_result culvi_d3d_fail_timeline(const culvi_graphics *graphics, const char *label, int code,
                                    const char *call, const char *what)
{
    return culvi_d3d_fail(culvi_d3d_of(graphics), label, (HRESULT)code, call, what);
}
