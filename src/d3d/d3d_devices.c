/* SPDX-License-Identifier: MIT */
/* Which CUDA devices a device or an adapter of Direct3D is, as CUDA's driver tells it. */
#include "d3d/d3d_register.h"
/* after it */
#include <dxgi.h>
#include <string.h>

static const GUID iid_dxgi_device = {
    0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};

const GUID culvi_iid_dxgi_adapter = {
    0x2411e7e1, 0x12ac, 0x4ccf, {0xbd, 0x14, 0x97, 0x98, 0xe8, 0x53, 0x4d, 0xc0}};

enum {
    MICROSOFT = 0x1414, /* DXGI_ADAPTER_DESC::VendorId of WARP and REF */
    MOST = 32           /* devices of a list */
};

culv_result culvi_d3d_read_adapter(const culvi_d3d_version *version, const culvi_voice *voice,
                                   const char *label, void *device, culv_luid *luid, bool *software)
{
    const char *call = "QueryInterface(IDXGIDevice)";
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    DXGI_ADAPTER_DESC desc;
    memset(&desc, 0, sizeof desc);
    HRESULT hr = IUnknown_QueryInterface((IUnknown *)device, &iid_dxgi_device, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        call = "IDXGIDevice::GetAdapter";
        hr = IDXGIDevice_GetAdapter(dxgi, &adapter);
        IDXGIDevice_Release(dxgi);
    }
    if (SUCCEEDED(hr)) {
        call = "IDXGIAdapter::GetDesc";
        hr = IDXGIAdapter_GetDesc(adapter, &desc);
        IDXGIAdapter_Release(adapter);
    }
    if (FAILED(hr))
        return culvi_fail_d3d(voice, label, hr, call, version->removed, CULV_REASON_DRIVER_REFUSED,
                              "the %s does not say which adapter it is", version->device);
    *luid = culvi_d3d_luid(&desc.AdapterLuid);
    if (software != NULL) *software = desc.VendorId == MICROSOFT;
    return CULV_OK;
}

/* The driver whose ordinals culv_device_open_by_ordinal() takes. */
static const culvi_cuda *driver_of(const culvi_probe *probe)
{
    return probe->drivers[0] != NULL ? probe->drivers[0] : probe->drivers[1];
}

static culv_result open_driver(const culvi_d3d_version *version, const char *call,
                               const char *function, culvi_probe *probe, const culvi_cuda **out)
{
    culv_result result = culvi_probe_open(NULL, CULV_DRIVER_AUTO, probe);
    if (result != CULV_OK) return result;
    const culvi_cuda *cuda = driver_of(probe);
    if (cuda == NULL)
        result = culvi_fail(NULL, NULL, CULV_ERROR_NO_DEVICE, probe->reason, "%s(): %s", call,
                            probe->problems);
    else if (!version->has(cuda))
        result = culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                            "%s(): the CUDA driver has no %s", call, function);
    if (result == CULV_OK)
        *out = cuda;
    else
        culvi_probe_close(probe);
    return result;
}

static culv_result fail_query(const culvi_cuda *cuda, const char *call, const char *function,
                              const char *what, CUresult code)
{
    const char *name = NULL;
    const bool none = code == CUDA_ERROR_NO_DEVICE || code == CUDA_ERROR_NOT_FOUND;
    if (cuda->cuGetErrorName(code, &name) != CUDA_SUCCESS || name == NULL)
        name = "an unknown error";
    return culvi_fail_native(NULL, NULL, none ? CULV_ERROR_NO_DEVICE : CULV_ERROR_DRIVER,
                             none ? CULV_REASON_DEVICE_UNKNOWN : CULV_REASON_DRIVER_REFUSED,
                             CULV_NATIVE_CUDA, code, function, "%s(): %s: %s answered %s (%d)",
                             call,
                             none ? "CUDA does not have the GPU, or one of linked ones" : what,
                             function, name, (int)code);
}

static culv_result get_devices(const culvi_d3d_version *version, const char *call, void *device,
                               culv_d3d_device_list list, uint32_t capacity, int32_t *ordinals,
                               uint32_t *count)
{
    culvi_probe probe;
    const culvi_cuda *cuda = NULL;
    CUdevice devices[MOST];
    unsigned found = 0;
    culv_result result = open_driver(version, call, version->cuda_get_devices, &probe, &cuda);
    if (result != CULV_OK) return result;
    const CUresult code = version->get_devices(cuda, device, (unsigned)list, MOST, devices, &found);
    if (code == CUDA_SUCCESS) {
        for (uint32_t i = 0; i < found && i < capacity && i < MOST; i++)
            ordinals[i] = devices[i];
        *count = found;
    } else {
        result = fail_query(cuda, call, version->cuda_get_devices,
                            "the devices that it draws with could not be told", code);
    }
    culvi_probe_close(&probe);
    return result;
}

static culv_result get_device(const char *call, const void *adapter, int32_t *ordinal)
{
    static const char function[] = "cuD3D11GetDevice";
    culvi_probe probe;
    const culvi_cuda *cuda = NULL;
    CUdevice found = 0;
    culv_result result = open_driver(&culvi_d3d11_version, call, function, &probe, &cuda);
    if (result != CULV_OK) return result;
    const CUresult code = cuda->cuD3D11GetDevice(&found, (void *)(uintptr_t)adapter);
    if (code == CUDA_SUCCESS)
        *ordinal = found;
    else
        result =
            fail_query(cuda, call, function, "the device of the adapter could not be told", code);
    culvi_probe_close(&probe);
    return result;
}

culv_result culv_d3d_get_devices(IUnknown *object, culv_d3d_device_list list, uint32_t capacity,
                                 int32_t *ordinals, uint32_t *count)
{
    static const culvi_d3d_version *const versions[] = {&culvi_d3d11_version, &culvi_d3d10_version,
                                                        &culvi_d3d9_version};
    const GUID *const ids[] = {&culvi_d3d11_version.device_iid, &culvi_d3d10_version.device_iid,
                               &culvi_d3d9_version.device_iid, &culvi_iid_dxgi_adapter};
    void *as = NULL;
    int32_t one = 0;
    CULVI_REQUIRE2(NULL, object, count);
    if (capacity != 0) CULVI_REQUIRE(NULL, ordinals);
    if ((uint32_t)list < CULV_D3D_DEVICES_ALL || (uint32_t)list > CULV_D3D_DEVICES_NEXT_FRAME)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s(): list is %d, which is no culv_d3d_device_list", __func__,
                          (int)list);
    const int found = culvi_d3d_pick(object, ids, 4, &as);
    if (found < 0)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s(): it is no ID3D11Device, ID3D10Device, IDirect3DDevice9 or "
                          "IDXGIAdapter",
                          __func__);
    if (found < 3)
        return get_devices(versions[found], __func__, as, list, capacity, ordinals, count);
    culv_result result = get_device(__func__, as, &one);
    if (result != CULV_OK) return result;
    if (capacity > 0) ordinals[0] = one;
    *count = 1;
    return CULV_OK;
}
