/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 10 that are registered with CUDA, and its devices. */
#include "d3d/d3d_register.h"
/* after it */
#include <d3d10.h>

/* What all textures have. */
static void fill(culvi_d3d_candidate *out, D3D10_USAGE usage, UINT bind, UINT misc)
{
    out->in_memory = usage == D3D10_USAGE_STAGING;
    out->immutable = usage == D3D10_USAGE_IMMUTABLE;
    out->depth = (bind & D3D10_BIND_DEPTH_STENCIL) != 0;
    out->cube = (misc & D3D10_RESOURCE_MISC_TEXTURECUBE) != 0;
}

static void look_at_shape(void *object, culvi_d3d_candidate *out)
{
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
        out->texture = CULVI_D3D_TEXTURE_1D(d);
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    } else if (dimension == D3D10_RESOURCE_DIMENSION_TEXTURE3D) {
        D3D10_TEXTURE3D_DESC d;
        ID3D10Texture3D_GetDesc((ID3D10Texture3D *)object, &d);
        out->texture = CULVI_D3D_TEXTURE_3D(d);
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    } else {
        D3D10_TEXTURE2D_DESC d;
        ID3D10Texture2D_GetDesc((ID3D10Texture2D *)object, &d);
        out->texture = CULVI_D3D_TEXTURE_2D(d);
        fill(out, d.Usage, d.BindFlags, d.MiscFlags);
    }
}

static culv_result look(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software)
{
    ID3D10Device *device = NULL;
    look_at_shape(resource, out);
    out->back_buffer = culvi_d3d_is_back_buffer(resource);
    ID3D10Resource_GetDevice((ID3D10Resource *)resource, &device);
    culv_result result =
        culvi_d3d_read_adapter(&culvi_d3d10_version, voice, label, device, luid, software);
    ID3D10Device_Release(device);
    return result;
}

CULVI_D3D_DRIVERS_CALLS(cuGraphicsD3D10RegisterResource, cuD3D10GetDevices, );

const culvi_d3d_version culvi_d3d10_version = {
    CULVI_D3D_DRIVERS(cuGraphicsD3D10RegisterResource, cuD3D10GetDevices),
    .name = "Direct3D 10",
    .device = "ID3D10Device",
    .removed = "ID3D10Device::GetDeviceRemovedReason",
    .device_iid = {0x9b7e4c0f, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .resource_iid = {0x9b7e4c01, 0x342c, 0x4106, {0xa1, 0x9f, 0x4f, 0x27, 0x04, 0xf6, 0x89, 0xf0}},
    .read_luid = culvi_d3d_read_adapter,
    .look = look};
