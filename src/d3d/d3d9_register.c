/* SPDX-License-Identifier: MIT */
/* Resources of Direct3D 9 that are registered with CUDA, and its devices. */
#include "d3d/d3d_register.h"
/* after it */
#include <d3d9.h>

static const GUID iid_d3d9_ex = {
    0x02177241, 0x69fc, 0x400c, {0x8f, 0xf1, 0x93, 0xa4, 0x4d, 0xf6, 0x86, 0x1d}};
static const GUID iid_device9_ex = {
    0xb18b10ce, 0x2649, 0x405a, {0x87, 0x0f, 0x95, 0xf7, 0x77, 0xd4, 0x31, 0x3a}};
static const GUID iid_swap_chain9 = {
    0x794950f2, 0xadfc, 0x458a, {0x90, 0x5e, 0x10, 0xa1, 0x0b, 0x0b, 0x50, 0x3b}};
static const GUID iid_base_texture9 = {
    0x580ca87e, 0x1d3c, 0x4d54, {0x99, 0x1d, 0xb7, 0xd3, 0xe3, 0xc2, 0x98, 0xce}};

/* The device ----------------------------------------------------------------------------------- */

static culv_result fail_device(const culvi_voice *voice, const char *label, HRESULT hr,
                               const char *call)
{
    return culvi_fail_d3d(voice, label, hr, call, "IDirect3DDevice9Ex::CheckDeviceState",
                          CULV_REASON_DRIVER_REFUSED,
                          "the IDirect3DDevice9Ex does not say which adapter it is");
}

/* R35: what CUDA asks of the device. */
static const char *find_fault(const D3DDEVICE_CREATION_PARAMETERS *made)
{
    if (made->DeviceType != D3DDEVTYPE_HAL)
        return "was not created with D3DDEVTYPE_HAL: it draws in software";
    if (!(made->BehaviorFlags & D3DCREATE_HARDWARE_VERTEXPROCESSING))
        return "was not created with D3DCREATE_HARDWARE_VERTEXPROCESSING";
    return NULL;
}

static HRESULT read_luid(IDirect3DDevice9Ex *device, UINT adapter, const char **call,
                         culv_luid *luid)
{
    IDirect3D9 *d3d = NULL;
    IDirect3D9Ex *ex = NULL;
    LUID found;
    memset(&found, 0, sizeof found);
    *call = "IDirect3DDevice9Ex::GetDirect3D";
    HRESULT hr = IDirect3DDevice9Ex_GetDirect3D(device, &d3d);
    if (FAILED(hr)) return hr;
    *call = "IDirect3D9::QueryInterface(IDirect3D9Ex)";
    hr = IDirect3D9_QueryInterface(d3d, &iid_d3d9_ex, (void **)&ex);
    IDirect3D9_Release(d3d);
    if (FAILED(hr)) return hr;
    *call = "IDirect3D9Ex::GetAdapterLUID";
    hr = IDirect3D9Ex_GetAdapterLUID(ex, adapter, &found);
    IDirect3D9Ex_Release(ex);
    *luid = culvi_d3d_luid(&found);
    return hr;
}

static culv_result look_at_device(const culvi_voice *voice, const char *label,
                                  IDirect3DDevice9 *plain, bool registers, culv_luid *luid)
{
    IDirect3DDevice9Ex *device = NULL;
    D3DDEVICE_CREATION_PARAMETERS made;
    memset(&made, 0, sizeof made);
    CULVI_UNSUPPORTED_IF(
        FAILED(IDirect3DDevice9_QueryInterface(plain, &iid_device9_ex, (void **)&device)), voice,
        label, CULV_REASON_USAGE,
        "the device is no IDirect3DDevice9Ex, and CUDA works with those alone; create it by Direct3DCreate9Ex() and CreateDeviceEx()");
    const char *call = "IDirect3DDevice9Ex::GetCreationParameters";
    HRESULT hr = IDirect3DDevice9Ex_GetCreationParameters(device, &made);
    if (SUCCEEDED(hr)) hr = read_luid(device, made.AdapterOrdinal, &call, luid);
    IDirect3DDevice9Ex_Release(device);
    if (FAILED(hr)) return fail_device(voice, label, hr, call);
    const char *fault = registers ? find_fault(&made) : NULL;
    if (fault == NULL) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                      "the IDirect3DDevice9Ex %s, and CUDA registers nothing of such", fault);
}

static culv_result open_luid(const culvi_d3d_version *version, const culvi_voice *voice,
                             const char *label, void *device, culv_luid *out, bool *software)
{
    (void)version, (void)software;
    return look_at_device(voice, label, device, false, out);
}

/* The resource --------------------------------------------------------------------------------- */

static bool is_in(IDirect3DSurface9 *surface, const GUID *container)
{
    IUnknown *found = NULL;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, container, (void **)&found))) return false;
    IUnknown_Release(found);
    return true;
}

static void fill(culvi_d3d_candidate *out, D3DFORMAT format, DWORD usage, D3DPOOL pool)
{
    out->number = (uint32_t)format;
    out->texture.format = culvi_d3d_format_from_d3d9((uint32_t)format);
    out->texture.samples = 1;
    out->texture.render_target = (usage & D3DUSAGE_RENDERTARGET) != 0;
    out->depth = (usage & D3DUSAGE_DEPTHSTENCIL) != 0;
    out->in_memory = pool != D3DPOOL_DEFAULT;
}

static void fill_buffer(culvi_d3d_candidate *out, D3DFORMAT format, D3DPOOL pool, UINT size)
{
    fill(out, format, 0, pool);
    out->is_buffer = true;
    out->size = size;
}

static void fill_surface(culvi_d3d_candidate *out, const D3DSURFACE_DESC *d, uint32_t layers,
                         uint32_t levels)
{
    fill(out, d->Format, d->Usage, d->Pool);
    out->texture.sides = 2;
    out->texture.width = d->Width;
    out->texture.height = d->Height;
    out->texture.depth_or_layers = layers;
    out->texture.levels = levels;
    out->texture.samples = d->MultiSampleType != D3DMULTISAMPLE_NONE ? 2 : 1;
    out->cube = layers == 6;
}

static void look_at_volume(IDirect3DVolumeTexture9 *volume, culvi_d3d_candidate *out)
{
    D3DVOLUME_DESC d;
    memset(&d, 0, sizeof d);
    IDirect3DVolumeTexture9_GetLevelDesc(volume, 0, &d);
    fill(out, d.Format, d.Usage, d.Pool);
    out->texture.sides = 3;
    out->texture.width = d.Width;
    out->texture.height = d.Height;
    out->texture.depth_or_layers = d.Depth;
    out->texture.levels = IDirect3DVolumeTexture9_GetLevelCount(volume);
}

/* False: it is no kind that CUDA registers. */
static bool look_at_shape(void *object, culvi_d3d_candidate *out)
{
    D3DVERTEXBUFFER_DESC vertices;
    D3DINDEXBUFFER_DESC indices;
    D3DSURFACE_DESC d;
    memset(&vertices, 0, sizeof vertices);
    memset(&indices, 0, sizeof indices);
    memset(&d, 0, sizeof d);
    *out = (culvi_d3d_candidate){.version = 9};
    switch (IDirect3DResource9_GetType((IDirect3DResource9 *)object)) {
    case D3DRTYPE_VERTEXBUFFER:
        IDirect3DVertexBuffer9_GetDesc((IDirect3DVertexBuffer9 *)object, &vertices);
        fill_buffer(out, vertices.Format, vertices.Pool, vertices.Size);
        return true;
    case D3DRTYPE_INDEXBUFFER:
        IDirect3DIndexBuffer9_GetDesc((IDirect3DIndexBuffer9 *)object, &indices);
        fill_buffer(out, indices.Format, indices.Pool, indices.Size);
        return true;
    case D3DRTYPE_SURFACE:
        IDirect3DSurface9_GetDesc((IDirect3DSurface9 *)object, &d);
        fill_surface(out, &d, 1, 1);
        out->part = is_in(object, &iid_base_texture9);
        out->back_buffer = is_in(object, &iid_swap_chain9);
        return true;
    case D3DRTYPE_TEXTURE:
        IDirect3DTexture9_GetLevelDesc((IDirect3DTexture9 *)object, 0, &d);
        fill_surface(out, &d, 1, IDirect3DTexture9_GetLevelCount((IDirect3DTexture9 *)object));
        return true;
    case D3DRTYPE_CUBETEXTURE:
        IDirect3DCubeTexture9_GetLevelDesc((IDirect3DCubeTexture9 *)object, 0, &d);
        fill_surface(out, &d, 6,
                     IDirect3DCubeTexture9_GetLevelCount((IDirect3DCubeTexture9 *)object));
        return true;
    case D3DRTYPE_VOLUMETEXTURE: look_at_volume(object, out); return true;
    default: return false;
    }
}

static culv_result look(const culvi_voice *voice, const char *label, void *resource,
                        culvi_d3d_candidate *out, culv_luid *luid, bool *software)
{
    IDirect3DDevice9 *device = NULL;
    const HRESULT hr = IDirect3DResource9_GetDevice((IDirect3DResource9 *)resource, &device);
    if (FAILED(hr)) return fail_device(voice, label, hr, "IDirect3DResource9::GetDevice");
    culv_result result = look_at_device(voice, label, device, true, luid);
    IDirect3DDevice9_Release(device);
    *software = false; /* find_fault() has refused it */
    CULVI_UNSUPPORTED_IF(
        result == CULV_OK && !look_at_shape(resource, out), voice, label, CULV_REASON_USAGE,
        "CUDA registers buffers, textures and surfaces of Direct3D 9, and this is none of them; of a volume register its texture");
    return result;
}

/* The driver's calls --------------------------------------------------------------------------- */

CULVI_D3D_DRIVERS_CALLS(cuGraphicsD3D9RegisterResource, cuD3D9GetDevices, );

const culvi_d3d_version culvi_d3d9_version = {
    CULVI_D3D_DRIVERS(cuGraphicsD3D9RegisterResource, cuD3D9GetDevices),
    .name = "Direct3D 9",
    .device = "IDirect3DDevice9Ex",
    .removed = "IDirect3DDevice9Ex::CheckDeviceState",
    .device_iid = {0xd0223b96, 0xbf7a, 0x43fd, {0x92, 0xbd, 0xa4, 0x3b, 0x0d, 0x82, 0xb9, 0xeb}},
    .resource_iid = {0x05eec05d, 0x8f7d, 0x4362, {0xb9, 0x99, 0xd1, 0xba, 0xf3, 0x57, 0xc7, 0x04}},
    .read_luid = open_luid,
    .look = look};
