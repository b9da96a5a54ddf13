/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 10 that are registered with CUDA, and its devices. */
#include "d3d/d3d_register.h"
/* after it */
#include "cuda/context.h"

#include <d3d10.h>
#include <dxgi.h>

static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};

static bool is_back_buffer(ID3D10Resource *resource)
{
    IDXGIResource *dxgi = NULL;
    DXGI_USAGE usage = 0;
    if (FAILED(ID3D10Resource_QueryInterface(resource, &iid_dxgi_resource, (void **)&dxgi)))
        return false;
    const HRESULT hr = IDXGIResource_GetUsage(dxgi, &usage);
    IDXGIResource_Release(dxgi);
    return SUCCEEDED(hr) && (usage & DXGI_USAGE_BACK_BUFFER) != 0;
}

/* What all textures have. */
static void fill(culvi_d3d_candidate *out, D3D10_USAGE usage, UINT bind, UINT misc)
{
    out->in_memory = usage == D3D10_USAGE_STAGING;
    out->immutable = usage == D3D10_USAGE_IMMUTABLE;
    out->depth = (bind & D3D10_BIND_DEPTH_STENCIL) != 0;
    out->cube = (misc & D3D10_RESOURCE_MISC_TEXTURECUBE) != 0;
    out->texture.render_target = (bind & D3D10_BIND_RENDER_TARGET) != 0;
}

static void look_at_shape(void *object, culvi_d3d_candidate *out)
{
    culvi_d3d_texture *t = &out->texture;
    D3D10_RESOURCE_DIMENSION dimension = D3D10_RESOURCE_DIMENSION_UNKNOWN;
    ID3D10Resource_GetType((ID3D10Resource *)object, &dimension);
    *out = (culvi_d3d_candidate){.version = 10};
    if (dimension == D3D10_RESOURCE_DIMENSION_BUFFER) {
        D3D10_BUFFER_DESC d;
        ID3D10Buffer_GetDesc((ID3D10Buffer *)object, &d);
        fill(out, d.Usage, d.BindFlags, 0);
        out->is_buffer = true;
        out->size = d.ByteWidth;
    } else if (dimension == D3D10_RESOURCE_DIMENSION_TEXTURE1D) {
        D3D10_TEXTURE1D_DESC d;
        ID3D10Texture1D_GetDesc((ID3D10Texture1D *)object, &d);
        *t = (culvi_d3d_texture){.sides = 1,
                                 .width = d.Width,
                                 .height = 1,
                                 .depth_or_layers = d.ArraySize,
                                 .levels = d.MipLevels,
                                 .samples = 1,
                                 .format = (uint32_t)d.Format};
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    } else if (dimension == D3D10_RESOURCE_DIMENSION_TEXTURE3D) {
        D3D10_TEXTURE3D_DESC d;
        ID3D10Texture3D_GetDesc((ID3D10Texture3D *)object, &d);
        *t = (culvi_d3d_texture){.sides = 3,
                                 .width = d.Width,
                                 .height = d.Height,
                                 .depth_or_layers = d.Depth,
                                 .levels = d.MipLevels,
                                 .samples = 1,
                                 .format = (uint32_t)d.Format};
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    } else {
        D3D10_TEXTURE2D_DESC d;
        ID3D10Texture2D_GetDesc((ID3D10Texture2D *)object, &d);
        *t = (culvi_d3d_texture){.sides = 2,
                                 .width = d.Width,
                                 .height = d.Height,
                                 .depth_or_layers = d.ArraySize,
                                 .levels = d.MipLevels,
                                 .samples = d.SampleDesc.Count,
                                 .format = (uint32_t)d.Format};
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    }
}

static culv_result look(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software)
{
    ID3D10Device *device = NULL;
    look_at_shape(resource, out);
    out->back_buffer = is_back_buffer(resource);
    ID3D10Resource_GetDevice((ID3D10Resource *)resource, &device);
    culv_result result =
        culvi_d3d_read_adapter(&culvi_d3d10_version, voice, label, device, luid, software);
    ID3D10Device_Release(device);
    return result;
}

static culv_result read_luid(const culvi_voice *voice, const char *label, void *device,
                             culv_luid *out)
{
    return culvi_d3d_read_adapter(&culvi_d3d10_version, voice, label, device, out, NULL);
}

/* The driver's calls --------------------------------------------------------------------------- */

static bool has(const culvi_cuda *cuda)
{
    return cuda->cuGraphicsD3D10RegisterResource != NULL && cuda->cuD3D10GetDevices != NULL;
}

static CUresult make(const culv_device *device, const void *what, unsigned flags,
                     CUgraphicsResource *out)
{
    void *resource = (void *)(uintptr_t)what;
    return CULVI_CU(device, cuGraphicsD3D10RegisterResource, (out, resource, flags));
}

static CUresult get_devices(const culvi_cuda *cuda, void *device, unsigned list, unsigned capacity,
                            CUdevice *devices, unsigned *count)
{
    return cuda->cuD3D10GetDevices(count, devices, capacity, device, (int)list);
}

const culvi_d3d_version culvi_d3d10_version = {
    .name = "Direct3D 10",
    .device = "ID3D10Device",
    .removed = "ID3D10Device::GetDeviceRemovedReason",
    .cuda_register = "cuGraphicsD3D10RegisterResource",
    .cuda_get_devices = "cuD3D10GetDevices",
    .device_iid = {0x9b7e4c0f, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .resource_iid = {0x9b7e4c01, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .read_luid = read_luid,
    .has = has,
    .make = make,
    .look = look,
    .get_devices = get_devices};
