/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 11 that are registered with CUDA. */
#include "d3d/d3d11_core.h"
/* after it */
#include "d3d/d3d_register.h"

#include "cuda/context.h"

#include <dxgi.h>

static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};

static bool is_back_buffer(ID3D11Resource *resource)
{
    IDXGIResource *dxgi = NULL;
    DXGI_USAGE usage = 0;
    if (FAILED(ID3D11Resource_QueryInterface(resource, &iid_dxgi_resource, (void **)&dxgi)))
        return false;
    const HRESULT hr = IDXGIResource_GetUsage(dxgi, &usage);
    IDXGIResource_Release(dxgi);
    return SUCCEEDED(hr) && (usage & DXGI_USAGE_BACK_BUFFER) != 0;
}

static culv_result look(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software)
{
    const uint32_t sharing = D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX |
                             D3D11_RESOURCE_MISC_SHARED_NTHANDLE;
    const culvi_d3d11_shape shape = culvi_d3d11_shape_of(resource);
    ID3D11Device *device = NULL;
    *out = (culvi_d3d_candidate){.version = 11,
                                 .is_buffer = shape.is_buffer,
                                 .size = shape.size,
                                 .texture = shape.texture,
                                 .cube = (shape.misc & D3D11_RESOURCE_MISC_TEXTURECUBE) != 0,
                                 .back_buffer = is_back_buffer(resource),
                                 .depth = (shape.bind & D3D11_BIND_DEPTH_STENCIL) != 0,
                                 .shared = (shape.misc & sharing) != 0,
                                 .in_memory = shape.usage == D3D11_USAGE_STAGING,
                                 .immutable = shape.usage == D3D11_USAGE_IMMUTABLE};
    ID3D11Resource_GetDevice((ID3D11Resource *)resource, &device);
    culv_result result =
        culvi_d3d_read_adapter(&culvi_d3d11_version, voice, label, device, luid, software);
    ID3D11Device_Release(device);
    return result;
}

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    return culvi_d3d_read_adapter(&culvi_d3d11_version, voice, label, device, out, NULL);
}

/* The driver's calls --------------------------------------------------------------------------- */

static bool has(const culvi_cuda *cuda)
{
    return cuda->cuGraphicsD3D11RegisterResource != NULL && cuda->cuD3D11GetDevices != NULL &&
           cuda->cuD3D11GetDevice != NULL;
}

static CUresult make(const culv_device *device, const void *what, unsigned flags,
                     CUgraphicsResource *out)
{
    void *resource = (void *)(uintptr_t)what;
    return CULVI_CU(device, cuGraphicsD3D11RegisterResource, (out, resource, flags));
}

static CUresult get_devices(const culvi_cuda *cuda, void *device, unsigned list, unsigned capacity,
                            CUdevice *devices, unsigned *count)
{
    return cuda->cuD3D11GetDevices(count, devices, capacity, device, (int)list);
}

const culvi_d3d_version culvi_d3d11_version = {
    .name = "Direct3D 11",
    .device = "ID3D11Device",
    .removed = "ID3D11Device::GetDeviceRemovedReason",
    .cuda_register = "cuGraphicsD3D11RegisterResource",
    .cuda_get_devices = "cuD3D11GetDevices",
    .device_iid = {0xdb6f6ddb, 0xac77, 0x4e88, {0x82, 0x53, 0x81, 0x9d, 0xf9, 0xbb, 0xf1, 0x40}},
    .resource_iid = {0xdc8e63f3, 0xd12b, 0x4952, {0xb4, 0x7b, 0x5e, 0x45, 0x02, 0x6a, 0x86, 0x2d}},
    .read_luid = read_luid,
    .has = has,
    .make = make,
    .look = look,
    .get_devices = get_devices};
