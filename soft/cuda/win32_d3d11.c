/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what resources of Direct3D 11 and 10 are, and their bytes to and fro, by
 * staging copies on the device's immediate context. In Wine a resource of Direct3D 10 is one of
 * Direct3D 11 besides. */
#include "win32_d3d.h"

#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d11.h>
#include <dxgi.h>
#include <string.h>

static const GUID iid_d3d10_resource = {
    0x9b7e4c01, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}};
static const GUID iid_d3d11_resource = {
    0xdc8e63f3, 0xd12b, 0x4952, {0xb4, 0x7b, 0x5e, 0x45, 0x02, 0x6a, 0x86, 0x2d}};
static const GUID iid_dxgi_device = {
    0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};
static const GUID iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};

/* Of all kinds of resources. */
struct shape {
    D3D11_RESOURCE_DIMENSION dimension;
    D3D11_BUFFER_DESC buffer;
    D3D11_TEXTURE1D_DESC t1;
    D3D11_TEXTURE2D_DESC t2;
    D3D11_TEXTURE3D_DESC t3;
    D3D11_USAGE usage;
    unsigned bind, misc, format, levels, samples;
};

static struct shape shape_of(ID3D11Resource *resource)
{
    struct shape s;
    memset(&s, 0, sizeof(s));
    void *object = resource;
    s.samples = s.levels = 1;
    ID3D11Resource_GetType(resource, &s.dimension);
#define TAKE(desc)        (s.usage = (desc).Usage, s.bind = (desc).BindFlags, s.misc = (desc).MiscFlags)
#define TAKE_TEXELS(desc) (TAKE(desc), s.format = (desc).Format, s.levels = (desc).MipLevels)
    switch (s.dimension) {
    case D3D11_RESOURCE_DIMENSION_BUFFER:
        ID3D11Buffer_GetDesc((ID3D11Buffer *)object, &s.buffer);
        TAKE(s.buffer);
        break;
    case D3D11_RESOURCE_DIMENSION_TEXTURE1D:
        ID3D11Texture1D_GetDesc((ID3D11Texture1D *)object, &s.t1);
        TAKE_TEXELS(s.t1);
        break;
    case D3D11_RESOURCE_DIMENSION_TEXTURE2D:
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)object, &s.t2);
        TAKE_TEXELS(s.t2);
        s.samples = s.t2.SampleDesc.Count;
        break;
    default: ID3D11Texture3D_GetDesc((ID3D11Texture3D *)object, &s.t3); TAKE_TEXELS(s.t3);
    }
#undef TAKE_TEXELS
#undef TAKE
    return s;
}

static void fill_desc(const struct shape *s, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    size_t layers = 1;
    if (s->dimension == D3D11_RESOURCE_DIMENSION_TEXTURE1D) {
        out->Width = s->t1.Width;
        layers = s->t1.ArraySize;
    } else if (s->dimension == D3D11_RESOURCE_DIMENSION_TEXTURE2D) {
        out->Width = s->t2.Width;
        out->Height = s->t2.Height;
        layers = s->t2.ArraySize;
    } else {
        out->Width = s->t3.Width;
        out->Height = s->t3.Height;
        out->Depth = s->t3.Depth;
    }
    const bool cube = (s->misc & D3D11_RESOURCE_MISC_TEXTURECUBE) != 0;
    if (layers > 1) out->Depth = layers;
    if (cube) out->Flags |= CUDA_ARRAY3D_CUBEMAP;
    if (layers > (cube ? 6u : 1u)) out->Flags |= CUDA_ARRAY3D_LAYERED;
}

static bool is_back_buffer(ID3D11Resource *resource)
{
    IDXGIResource *dxgi = NULL;
    DXGI_USAGE usage = 0;
    if (FAILED(ID3D11Resource_QueryInterface(resource, &iid_dxgi_resource, (void **)&dxgi)))
        return false;
    const bool told = SUCCEEDED(IDXGIResource_GetUsage(dxgi, &usage));
    IDXGIResource_Release(dxgi);
    return told && (usage & DXGI_USAGE_BACK_BUFFER);
}

static bool luid_of(ID3D11Resource *resource, uint8_t luid[8])
{
    ID3D11Device *device = NULL;
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    DXGI_ADAPTER_DESC desc;
    memset(&desc, 0, sizeof(desc));
    ID3D11Resource_GetDevice(resource, &device);
    HRESULT hr = ID3D11Device_QueryInterface(device, &iid_dxgi_device, (void **)&dxgi);
    if (SUCCEEDED(hr)) {
        hr = IDXGIDevice_GetAdapter(dxgi, &adapter);
        IDXGIDevice_Release(dxgi);
    }
    if (SUCCEEDED(hr)) {
        hr = IDXGIAdapter_GetDesc(adapter, &desc);
        IDXGIAdapter_Release(adapter);
    }
    ID3D11Device_Release(device);
    memcpy(luid, &desc.AdapterLuid, 8);
    return SUCCEEDED(hr);
}

/* The reference lists what is refused; of Direct3D 10 it does not name shared ones. */
static CUresult look(ID3D11Resource *resource, bool of_10, struct soft_graphics *out,
                     uint8_t luid[8])
{
    const unsigned shared = D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX |
                            D3D11_RESOURCE_MISC_SHARED_NTHANDLE;
    const struct shape s = shape_of(resource);
    if (!luid_of(resource, luid)) return CUDA_ERROR_UNKNOWN;
    if ((s.misc & shared && !of_10) || s.usage == D3D11_USAGE_STAGING) return CUDA_ERROR_UNKNOWN;
    if (s.dimension == D3D11_RESOURCE_DIMENSION_BUFFER) {
        out->size = s.buffer.ByteWidth;
        return CUDA_SUCCESS;
    }
    out->is_image = true;
    out->levels = s.levels;
    fill_desc(&s, &out->desc);
    return !(s.bind & D3D11_BIND_DEPTH_STENCIL) && s.samples == 1 && !is_back_buffer(resource) &&
                   soft_d3d_format(s.format, &out->desc.Format, &out->desc.NumChannels)
               ? CUDA_SUCCESS
               : CUDA_ERROR_UNKNOWN;
}

static CUresult look_as(const GUID *id, void *object, struct soft_graphics *out, uint8_t luid[8],
                        void **resource)
{
    IUnknown *asked = NULL;
    ID3D11Resource *found = NULL;
    if (FAILED(IUnknown_QueryInterface((IUnknown *)object, id, (void **)&asked)))
        return CUDA_ERROR_INVALID_HANDLE;
    const HRESULT hr = IUnknown_QueryInterface(asked, &iid_d3d11_resource, (void **)&found);
    IUnknown_Release(asked);
    if (FAILED(hr)) return CUDA_ERROR_UNKNOWN;
    CUresult result = look(found, id == &iid_d3d10_resource, out, luid);
    if (result == CUDA_SUCCESS)
        *resource = found;
    else
        ID3D11Resource_Release(found);
    return result;
}

static CUresult look10(void *object, struct soft_graphics *out, uint8_t luid[8], void **resource)
{
    return look_as(&iid_d3d10_resource, object, out, luid, resource);
}

static CUresult look11(void *object, struct soft_graphics *out, uint8_t luid[8], void **resource)
{
    return look_as(&iid_d3d11_resource, object, out, luid, resource);
}

/* Copies --------------------------------------------------------------------------------------- */

/* Like the resource, for the CPU to read. NULL: no memory. */
static ID3D11Resource *staging_of(ID3D11Device *device, const struct shape *shape)
{
    struct shape s = *shape;
    void *made = NULL;
#define AS_STAGING(desc)                                                                           \
    ((desc).Usage = D3D11_USAGE_STAGING, (desc).BindFlags = (desc).MiscFlags = 0,                  \
     (desc).CPUAccessFlags = D3D11_CPU_ACCESS_READ)
    switch (s.dimension) {
    case D3D11_RESOURCE_DIMENSION_BUFFER:
        AS_STAGING(s.buffer);
        s.buffer.StructureByteStride = 0;
        ID3D11Device_CreateBuffer(device, &s.buffer, NULL, (ID3D11Buffer **)&made);
        break;
    case D3D11_RESOURCE_DIMENSION_TEXTURE1D:
        AS_STAGING(s.t1);
        ID3D11Device_CreateTexture1D(device, &s.t1, NULL, (ID3D11Texture1D **)&made);
        break;
    case D3D11_RESOURCE_DIMENSION_TEXTURE2D:
        AS_STAGING(s.t2);
        ID3D11Device_CreateTexture2D(device, &s.t2, NULL, (ID3D11Texture2D **)&made);
        break;
    default:
        AS_STAGING(s.t3);
        ID3D11Device_CreateTexture3D(device, &s.t3, NULL, (ID3D11Texture3D **)&made);
    }
#undef AS_STAGING
    return made;
}

static void read_parts(struct soft_d3d *r, ID3D11DeviceContext *context, ID3D11Resource *stage)
{
    D3D11_MAPPED_SUBRESOURCE map;
    const unsigned layers = soft_graphics_layers(&r->base);
    const unsigned levels = r->base.is_image ? r->base.levels : 1;
    for (unsigned i = 0; i < levels * layers; i++) {
        if (FAILED(ID3D11DeviceContext_Map(context, stage, i, D3D11_MAP_READ, 0, &map))) continue;
        if (r->base.is_image) {
            const struct soft_d3d_rows rows = soft_d3d_rows(r, i % levels, i / levels);
            soft_d3d_copy_rows(&rows, map.pData, map.RowPitch, map.DepthPitch, true);
        } else {
            memcpy(r->base.start, map.pData, r->base.size);
        }
        ID3D11DeviceContext_Unmap(context, stage, i);
    }
}

static void read_all(struct soft_d3d *r)
{
    ID3D11Resource *resource = r->resource;
    ID3D11Device *device = NULL;
    ID3D11DeviceContext *context = NULL;
    const struct shape shape = shape_of(resource);
    ID3D11Resource_GetDevice(resource, &device);
    ID3D11Device_GetImmediateContext(device, &context);
    ID3D11Resource *stage = staging_of(device, &shape);
    if (stage != NULL) {
        ID3D11DeviceContext_CopyResource(context, stage, resource);
        read_parts(r, context, stage);
        ID3D11Resource_Release(stage);
    }
    ID3D11DeviceContext_Release(context);
    ID3D11Device_Release(device);
}

/* One that the CPU writes is never updated, only mapped anew. */
static void write_dynamic(struct soft_d3d *r, ID3D11DeviceContext *context)
{
    D3D11_MAPPED_SUBRESOURCE map;
    if (FAILED(ID3D11DeviceContext_Map(context, r->resource, 0, D3D11_MAP_WRITE_DISCARD, 0, &map)))
        return;
    if (r->base.is_image) {
        const struct soft_d3d_rows rows = soft_d3d_rows(r, 0, 0);
        soft_d3d_copy_rows(&rows, map.pData, map.RowPitch, map.DepthPitch, false);
    } else {
        memcpy(map.pData, r->base.start, r->base.size);
    }
    ID3D11DeviceContext_Unmap(context, r->resource, 0);
}

static void write_parts(struct soft_d3d *r, ID3D11DeviceContext *context)
{
    const unsigned layers = soft_graphics_layers(&r->base);
    const unsigned levels = r->base.is_image ? r->base.levels : 1;
    if (!r->base.is_image) {
        ID3D11DeviceContext_UpdateSubresource(context, r->resource, 0, NULL, r->base.start, 0, 0);
        return;
    }
    for (unsigned i = 0; i < levels * layers; i++) {
        const struct soft_d3d_rows rows = soft_d3d_rows(r, i % levels, i / levels);
        ID3D11DeviceContext_UpdateSubresource(context, r->resource, i, NULL, rows.start,
                                              (UINT)rows.pitch, (UINT)rows.slice);
    }
}

static void write_all(struct soft_d3d *r)
{
    ID3D11Resource *resource = r->resource;
    ID3D11Device *device = NULL;
    ID3D11DeviceContext *context = NULL;
    const D3D11_USAGE usage = shape_of(resource).usage;
    ID3D11Resource_GetDevice(resource, &device);
    ID3D11Device_GetImmediateContext(device, &context);
    if (usage == D3D11_USAGE_DYNAMIC)
        write_dynamic(r, context);
    else if (usage == D3D11_USAGE_DEFAULT) /* an immutable one stays as it is */
        write_parts(r, context);
    ID3D11DeviceContext_Release(context);
    ID3D11Device_Release(device);
}

const struct soft_d3d_calls soft_d3d10 = {.look = look10, .read = read_all, .write = write_all};
const struct soft_d3d_calls soft_d3d11 = {.look = look11, .read = read_all, .write = write_all};
