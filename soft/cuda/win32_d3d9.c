/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what resources of Direct3D 9 are, and their bytes to and fro, by surfaces
 * in system memory. Nothing reads a volume texture back, so the twin registers none. */
#include "win32_d3d.h"

#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d9.h>
#include <string.h>

static const GUID iid_d3d9_ex = {
    0x02177241, 0x69fc, 0x400c, {0x8f, 0xf1, 0x93, 0xa4, 0x4d, 0xf6, 0x86, 0x1d}};
static const GUID iid_device9_ex = {
    0xb18b10ce, 0x2649, 0x405a, {0x87, 0x0f, 0x95, 0xf7, 0x77, 0xd4, 0x31, 0x3a}};
static const GUID iid_resource9 = {
    0x05eec05d, 0x8f7d, 0x4362, {0xb9, 0x99, 0xd1, 0xba, 0xf3, 0x57, 0xc7, 0x04}};
static const GUID iid_swap_chain9 = {
    0x794950f2, 0xadfc, 0x458a, {0x90, 0x5e, 0x10, 0xa1, 0x0b, 0x0b, 0x50, 0x3b}};
static const GUID iid_base_texture9 = {
    0x580ca87e, 0x1d3c, 0x4d54, {0x99, 0x1d, 0xb7, 0xd3, 0xe3, 0xc2, 0x98, 0xce}};

/* Formats, as DXGI has them; 0: CUDA registers none of it. */
static unsigned dxgi_of(D3DFORMAT format)
{
    switch (format) {
    case D3DFMT_L8: return 61;
    case D3DFMT_A8: return 65;
    case D3DFMT_L16: return 56;
    case D3DFMT_A8L8: return 49;
    case D3DFMT_A8R8G8B8: return 87;
    case D3DFMT_X8R8G8B8: return 88;
    case D3DFMT_A8B8G8R8: return 28;
    case D3DFMT_Q8W8V8U8: return 31;
    case D3DFMT_G16R16: return 35;
    case D3DFMT_V16U16: return 37;
    case D3DFMT_A16B16G16R16: return 11;
    case D3DFMT_R16F: return 54;
    case D3DFMT_G16R16F: return 34;
    case D3DFMT_A16B16G16R16F: return 10;
    case D3DFMT_R32F: return 41;
    case D3DFMT_G32R32F: return 16;
    case D3DFMT_A32B32G32R32F: return 2;
    default: return 0;
    }
}

/* Devices -------------------------------------------------------------------------------------- */

static bool luid_of_adapter(IDirect3D9 *d3d, UINT number, uint8_t luid[8])
{
    IDirect3D9Ex *ex = NULL;
    LUID found;
    memset(&found, 0, sizeof(found));
    if (FAILED(IDirect3D9_QueryInterface(d3d, &iid_d3d9_ex, (void **)&ex))) return false;
    const HRESULT hr = IDirect3D9Ex_GetAdapterLUID(ex, number, &found);
    IDirect3D9Ex_Release(ex);
    memcpy(luid, &found, 8);
    return SUCCEEDED(hr);
}

bool soft_d3d9_device_luid(void *object, uint8_t luid[8])
{
    IDirect3DDevice9Ex *device = NULL;
    IDirect3D9 *d3d = NULL;
    D3DDEVICE_CREATION_PARAMETERS made;
    bool found = false;
    if (FAILED(IUnknown_QueryInterface((IUnknown *)object, &iid_device9_ex, (void **)&device)))
        return false;
    if (SUCCEEDED(IDirect3DDevice9Ex_GetCreationParameters(device, &made)) &&
        SUCCEEDED(IDirect3DDevice9Ex_GetDirect3D(device, &d3d))) {
        found = luid_of_adapter(d3d, made.AdapterOrdinal, luid);
        IDirect3D9_Release(d3d);
    }
    IDirect3DDevice9Ex_Release(device);
    return found;
}

bool soft_d3d9_adapter_luid(const char *name, uint8_t luid[8])
{
    HRESULT(WINAPI * create)(UINT, IDirect3D9Ex **) = NULL;
    IDirect3D9Ex *d3d = NULL;
    D3DADAPTER_IDENTIFIER9 id;
    bool found = false;
    HMODULE module = LoadLibraryExA("d3d9.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC proc = module != NULL ? GetProcAddress(module, "Direct3DCreate9Ex") : NULL;
    memcpy(&create, &proc, sizeof(create));
    if (create == NULL || FAILED(create(D3D_SDK_VERSION, &d3d))) return false;
    for (UINT i = 0; !found && i < IDirect3D9Ex_GetAdapterCount(d3d); i++)
        found = SUCCEEDED(IDirect3D9Ex_GetAdapterIdentifier(d3d, i, 0, &id)) &&
                strcmp(id.DeviceName, name) == 0 && luid_of_adapter((IDirect3D9 *)d3d, i, luid);
    IDirect3D9Ex_Release(d3d);
    return found;
}

/* Resources ------------------------------------------------------------------------------------ */

static bool is_in(IDirect3DSurface9 *surface, const GUID *container)
{
    IUnknown *found = NULL;
    if (FAILED(IDirect3DSurface9_GetContainer(surface, container, (void **)&found))) return false;
    IUnknown_Release(found);
    return true;
}

static CUresult look_at_surface(const D3DSURFACE_DESC *d, struct soft_graphics *out)
{
    out->is_image = true;
    out->desc.Width = d->Width;
    out->desc.Height = d->Height;
    return d->Pool == D3DPOOL_DEFAULT && !(d->Usage & D3DUSAGE_DEPTHSTENCIL) &&
                   d->MultiSampleType == D3DMULTISAMPLE_NONE &&
                   soft_d3d_format(dxgi_of(d->Format), &out->desc.Format, &out->desc.NumChannels)
               ? CUDA_SUCCESS
               : CUDA_ERROR_UNKNOWN;
}

static CUresult look(IDirect3DResource9 *resource, struct soft_graphics *out)
{
    void *object = resource;
    D3DVERTEXBUFFER_DESC vertices;
    D3DINDEXBUFFER_DESC indices;
    D3DSURFACE_DESC d;
    out->levels = 1;
    switch (IDirect3DResource9_GetType(resource)) {
    case D3DRTYPE_VERTEXBUFFER:
        IDirect3DVertexBuffer9_GetDesc((IDirect3DVertexBuffer9 *)object, &vertices);
        out->size = vertices.Size;
        return vertices.Pool == D3DPOOL_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    case D3DRTYPE_INDEXBUFFER:
        IDirect3DIndexBuffer9_GetDesc((IDirect3DIndexBuffer9 *)object, &indices);
        out->size = indices.Size;
        return indices.Pool == D3DPOOL_DEFAULT ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    case D3DRTYPE_SURFACE:
        /* A level of a texture, and the primary render target, are not to be registered. */
        if (is_in(object, &iid_base_texture9)) return CUDA_ERROR_INVALID_HANDLE;
        if (is_in(object, &iid_swap_chain9)) return CUDA_ERROR_UNKNOWN;
        IDirect3DSurface9_GetDesc((IDirect3DSurface9 *)object, &d);
        return look_at_surface(&d, out);
    case D3DRTYPE_TEXTURE:
        IDirect3DTexture9_GetLevelDesc((IDirect3DTexture9 *)object, 0, &d);
        out->levels = IDirect3DTexture9_GetLevelCount((IDirect3DTexture9 *)object);
        return look_at_surface(&d, out);
    case D3DRTYPE_CUBETEXTURE:
        IDirect3DCubeTexture9_GetLevelDesc((IDirect3DCubeTexture9 *)object, 0, &d);
        out->levels = IDirect3DCubeTexture9_GetLevelCount((IDirect3DCubeTexture9 *)object);
        out->desc.Depth = 6;
        out->desc.Flags = CUDA_ARRAY3D_CUBEMAP;
        return look_at_surface(&d, out);
    case D3DRTYPE_VOLUMETEXTURE: return CUDA_ERROR_UNKNOWN;
    default: return CUDA_ERROR_INVALID_HANDLE;
    }
}

static CUresult look9(void *object, struct soft_graphics *out, uint8_t luid[8], void **resource)
{
    IDirect3DResource9 *found = NULL;
    IDirect3DDevice9 *device = NULL;
    if (FAILED(IUnknown_QueryInterface((IUnknown *)object, &iid_resource9, (void **)&found)))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = CUDA_ERROR_UNKNOWN;
    if (SUCCEEDED(IDirect3DResource9_GetDevice(found, &device))) {
        /* Of an IDirect3DDevice9Ex alone. */
        if (soft_d3d9_device_luid(device, luid)) result = look(found, out);
        IDirect3DDevice9_Release(device);
    }
    if (result == CUDA_SUCCESS)
        *resource = found;
    else
        IDirect3DResource9_Release(found);
    return result;
}

/* Copies --------------------------------------------------------------------------------------- */

static void copy_buffer(struct soft_d3d *r, bool from_there)
{
    void *there = NULL;
    const DWORD flags = from_there ? D3DLOCK_READONLY : 0;
    const bool vertices =
        IDirect3DResource9_GetType((IDirect3DResource9 *)r->resource) == D3DRTYPE_VERTEXBUFFER;
    IDirect3DVertexBuffer9 *v = r->resource;
    IDirect3DIndexBuffer9 *i = r->resource;
    if (FAILED(vertices ? IDirect3DVertexBuffer9_Lock(v, 0, 0, &there, flags)
                        : IDirect3DIndexBuffer9_Lock(i, 0, 0, &there, flags)))
        return;
    memcpy(from_there ? (void *)r->base.start : there, from_there ? there : (void *)r->base.start,
           r->base.size);
    if (vertices)
        IDirect3DVertexBuffer9_Unlock(v);
    else
        IDirect3DIndexBuffer9_Unlock(i);
}

/* A level, or a face of one, with a reference; NULL: there is none. */
static IDirect3DSurface9 *surface_of(const struct soft_d3d *r, unsigned level, unsigned face)
{
    IDirect3DSurface9 *found = NULL;
    switch (IDirect3DResource9_GetType((IDirect3DResource9 *)r->resource)) {
    case D3DRTYPE_TEXTURE:
        IDirect3DTexture9_GetSurfaceLevel((IDirect3DTexture9 *)r->resource, level, &found);
        break;
    case D3DRTYPE_CUBETEXTURE:
        IDirect3DCubeTexture9_GetCubeMapSurface((IDirect3DCubeTexture9 *)r->resource,
                                                (D3DCUBEMAP_FACES)face, level, &found);
        break;
    default: found = r->resource; IDirect3DSurface9_AddRef(found);
    }
    return found;
}

static void copy_rows(const struct soft_d3d_rows *rows, IDirect3DSurface9 *stage, bool from_there)
{
    D3DLOCKED_RECT lock;
    if (FAILED(IDirect3DSurface9_LockRect(stage, &lock, NULL, from_there ? D3DLOCK_READONLY : 0)))
        return;
    soft_d3d_copy_rows(rows, lock.pBits, (size_t)lock.Pitch, 0, from_there);
    IDirect3DSurface9_UnlockRect(stage);
}

/* Wine also gives the data of surfaces that are no render targets. */
static void copy_surface(struct soft_d3d *r, IDirect3DDevice9 *device, unsigned level,
                         unsigned face, bool from_there)
{
    const struct soft_d3d_rows rows = soft_d3d_rows(r, level, face);
    IDirect3DSurface9 *stage = NULL, *surface = surface_of(r, level, face);
    D3DSURFACE_DESC d;
    if (surface == NULL) return;
    IDirect3DSurface9_GetDesc(surface, &d);
    if (SUCCEEDED(IDirect3DDevice9_CreateOffscreenPlainSurface(device, d.Width, d.Height, d.Format,
                                                               D3DPOOL_SYSTEMMEM, &stage, NULL))) {
        if (from_there) IDirect3DDevice9_GetRenderTargetData(device, surface, stage);
        copy_rows(&rows, stage, from_there);
        if (!from_there) IDirect3DDevice9_UpdateSurface(device, stage, NULL, surface, NULL);
        IDirect3DSurface9_Release(stage);
    }
    IDirect3DSurface9_Release(surface);
}

static void copy_all(struct soft_d3d *r, bool from_there)
{
    IDirect3DDevice9 *device = NULL;
    if (!r->base.is_image) {
        copy_buffer(r, from_there);
        return;
    }
    if (FAILED(IDirect3DResource9_GetDevice((IDirect3DResource9 *)r->resource, &device))) return;
    for (unsigned level = 0; level < r->base.levels; level++)
        for (unsigned face = 0; face < soft_graphics_layers(&r->base); face++)
            copy_surface(r, device, level, face, from_there);
    IDirect3DDevice9_Release(device);
}

static void read_all(struct soft_d3d *r)
{
    copy_all(r, true);
}

static void write_all(struct soft_d3d *r)
{
    copy_all(r, false);
}

const struct soft_d3d_calls soft_d3d9 = {.look = look9, .read = read_all, .write = write_all};
