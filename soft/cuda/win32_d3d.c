/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: registers resources of Direct3D, and tells which device an adapter is. */
#include "win32_d3d.h"

#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d9.h>
#include <dxgi.h>
#include <stdlib.h>
#include <string.h>

static const GUID iid_dxgi_device = {
    0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};

/* All that are registered; under the driver's lock. */
static struct soft_d3d *first;

/* Formats -------------------------------------------------------------------------------------- */

#define ROWS(dxgi, format, channels)                                                               \
    {                                                                                              \
        dxgi, CU_AD_FORMAT_##format, channels                                                      \
    }
bool soft_d3d_format(unsigned dxgi, CUarray_format *format, unsigned *channels)
{
    static const struct {
        unsigned dxgi;
        CUarray_format format;
        unsigned channels;
    } rows[] = {
        ROWS(2, FLOAT, 4),           ROWS(3, UNSIGNED_INT32, 4),  ROWS(4, SIGNED_INT32, 4),
        ROWS(10, HALF, 4),           ROWS(11, UNSIGNED_INT16, 4), ROWS(12, UNSIGNED_INT16, 4),
        ROWS(13, SIGNED_INT16, 4),   ROWS(14, SIGNED_INT16, 4),   ROWS(16, FLOAT, 2),
        ROWS(17, UNSIGNED_INT32, 2), ROWS(18, SIGNED_INT32, 2),   ROWS(28, UNSIGNED_INT8, 4),
        ROWS(29, UNSIGNED_INT8, 4),  ROWS(30, UNSIGNED_INT8, 4),  ROWS(31, SIGNED_INT8, 4),
        ROWS(32, SIGNED_INT8, 4),    ROWS(34, HALF, 2),           ROWS(35, UNSIGNED_INT16, 2),
        ROWS(36, UNSIGNED_INT16, 2), ROWS(37, SIGNED_INT16, 2),   ROWS(38, SIGNED_INT16, 2),
        ROWS(41, FLOAT, 1),          ROWS(42, UNSIGNED_INT32, 1), ROWS(43, SIGNED_INT32, 1),
        ROWS(49, UNSIGNED_INT8, 2),  ROWS(50, UNSIGNED_INT8, 2),  ROWS(51, SIGNED_INT8, 2),
        ROWS(52, SIGNED_INT8, 2),    ROWS(54, HALF, 1),           ROWS(56, UNSIGNED_INT16, 1),
        ROWS(57, UNSIGNED_INT16, 1), ROWS(58, SIGNED_INT16, 1),   ROWS(59, SIGNED_INT16, 1),
        ROWS(61, UNSIGNED_INT8, 1),  ROWS(62, UNSIGNED_INT8, 1),  ROWS(63, SIGNED_INT8, 1),
        ROWS(64, SIGNED_INT8, 1),    ROWS(65, UNSIGNED_INT8, 1),  ROWS(87, UNSIGNED_INT8, 4),
        ROWS(88, UNSIGNED_INT8, 4)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].dxgi != dxgi) continue;
        *format = rows[i].format;
        *channels = rows[i].channels;
        return true;
    }
    return false;
}

/* Rows ----------------------------------------------------------------------------------------- */

struct soft_d3d_rows soft_d3d_rows(const struct soft_d3d *r, unsigned level, unsigned layer)
{
    const struct soft_array *array = &r->base.arrays->levels[level];
    const bool layers = soft_graphics_layers(&r->base) > 1;
    return (struct soft_d3d_rows){.start = array->start + (layers ? layer : 0) * array->level.slice,
                                  .row = array->level.width_bytes,
                                  .rows = array->level.rows,
                                  .slices = layers ? 1 : array->level.slices,
                                  .pitch = array->level.pitch,
                                  .slice = array->level.slice};
}

void soft_d3d_copy_rows(const struct soft_d3d_rows *rows, void *there, size_t pitch, size_t slice,
                        bool from_there)
{
    for (size_t z = 0; z < rows->slices; z++)
        for (size_t y = 0; y < rows->rows; y++) {
            uint8_t *mine = rows->start + z * rows->slice + y * rows->pitch;
            uint8_t *other = (uint8_t *)there + z * slice + y * pitch;
            memcpy(from_there ? mine : other, from_there ? other : mine, rows->row);
        }
}

/* The resource --------------------------------------------------------------------------------- */

static struct soft_d3d *of(const struct soft_graphics *r)
{
    return (struct soft_d3d *)(uintptr_t)r; /* its first member */
}

/* Direct3D is of no thread, and its objects never change. */
static CUresult current(void)
{
    return CUDA_SUCCESS;
}

static CUresult enter(const struct soft_graphics *r)
{
    (void)r;
    return CUDA_SUCCESS;
}

static void nothing(const struct soft_graphics *r)
{
    (void)r; /* the copies wait */
}

static void read_all(struct soft_graphics *r)
{
    of(r)->calls->read(of(r));
}

static void write_all(struct soft_graphics *r)
{
    of(r)->calls->write(of(r));
}

static void unregister(struct soft_graphics *r)
{
    (void)r;
}

static void end(struct soft_graphics *base)
{
    struct soft_d3d *r = of(base), **at = &first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    IUnknown_Release((IUnknown *)r->resource);
}

static const struct soft_graphics_api api = {.current = current,
                                             .enter = enter,
                                             .check = enter,
                                             .finish = nothing,
                                             .read = read_all,
                                             .write = write_all,
                                             .unregister = unregister,
                                             .end = end};

static bool is_registered(const void *resource, const struct soft_context *context)
{
    for (const struct soft_d3d *r = first; r != NULL; r = r->next)
        if (r->resource == resource && r->base.object.context == context) return true;
    return false;
}

static CUresult fill(const struct soft_d3d_calls *calls, struct soft_context *context, void *object,
                     unsigned flags, struct soft_d3d *r)
{
    uint8_t luid[8];
    struct soft_layout layout;
    SOFT_TRY(calls->look(object, &r->base, luid, &r->resource));
    if (flags & CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST)
        r->base.desc.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    if (flags & CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER)
        r->base.desc.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
    if (is_registered(r->resource, context))
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (memcmp(soft.devices[context->device].luid, luid, sizeof(luid)) != 0)
        result = CUDA_ERROR_UNKNOWN; /* another adapter's */
    else if (r->base.is_image && soft_layout_of(&r->base.desc, r->base.levels, &layout) != 0)
        result = CUDA_ERROR_INVALID_VALUE; /* gathering from what cannot be gathered from */
    if (result != CUDA_SUCCESS) IUnknown_Release((IUnknown *)r->resource);
    return result;
}

static CUresult register_resource(const char *call, const struct soft_d3d_calls *calls,
                                  CUgraphicsResource *out, void *object, unsigned flags)
{
    const unsigned known = (unsigned)(CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST |
                                      CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER);
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (out == NULL || object == NULL || (flags & ~known))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_d3d *r = calloc(1, sizeof(*r));
    if (r == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    result = fill(calls, context, object, flags, r);
    if (result != CUDA_SUCCESS) {
        free(r);
        return soft_end(result);
    }
    r->calls = calls;
    r->base.flags = flags;
    r->next = first;
    first = r;
    soft_graphics_add(&r->base, &api, context, out);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphicsD3D9RegisterResource(CUgraphicsResource *pCudaResource,
                                                void *pD3DResource, unsigned int Flags)
{
    return register_resource(__func__, &soft_d3d9, pCudaResource, pD3DResource, Flags);
}

CUresult CUDAAPI cuGraphicsD3D10RegisterResource(CUgraphicsResource *pCudaResource,
                                                 void *pD3DResource, unsigned int Flags)
{
    return register_resource(__func__, &soft_d3d10, pCudaResource, pD3DResource, Flags);
}

CUresult CUDAAPI cuGraphicsD3D11RegisterResource(CUgraphicsResource *pCudaResource,
                                                 void *pD3DResource, unsigned int Flags)
{
    return register_resource(__func__, &soft_d3d11, pCudaResource, pD3DResource, Flags);
}

/* Devices -------------------------------------------------------------------------------------- */

static bool adapter_luid(IDXGIAdapter *adapter, uint8_t luid[8])
{
    DXGI_ADAPTER_DESC desc;
    memset(&desc, 0, sizeof(desc));
    if (FAILED(IDXGIAdapter_GetDesc(adapter, &desc))) return false;
    memcpy(luid, &desc.AdapterLuid, 8);
    return true;
}

/* Of a device of Direct3D 10 or 11. */
static bool device_luid(void *device, uint8_t luid[8])
{
    IDXGIDevice *dxgi = NULL;
    IDXGIAdapter *adapter = NULL;
    bool found = false;
    if (FAILED(IUnknown_QueryInterface((IUnknown *)device, &iid_dxgi_device, (void **)&dxgi)))
        return false;
    if (SUCCEEDED(IDXGIDevice_GetAdapter(dxgi, &adapter))) {
        found = adapter_luid(adapter, luid);
        IDXGIAdapter_Release(adapter);
    }
    IDXGIDevice_Release(dxgi);
    return found;
}

/* All with that LUID: the nodes of linked GPUs. */
static unsigned find_all(const uint8_t luid[8], CUdevice *devices, unsigned capacity)
{
    unsigned count = 0;
    for (int i = 0; i < soft.device_count; i++) {
        if (memcmp(soft.devices[i].luid, luid, 8) != 0) continue;
        if (count < capacity) devices[count] = i;
        count++;
    }
    return count;
}

static CUresult get_device(const char *call, CUdevice *out, const void *adapter, bool of_9,
                           CUresult none)
{
    uint8_t luid[8];
    CUdevice device = 0;
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    if (out == NULL || adapter == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const bool told = of_9 ? soft_d3d9_adapter_luid(adapter, luid)
                           : adapter_luid((IDXGIAdapter *)(uintptr_t)adapter, luid);
    if (!told || find_all(luid, &device, 1) == 0) return soft_end(none);
    *out = device;
    return soft_end(CUDA_SUCCESS);
}

static CUresult get_devices(const char *call, unsigned *count, CUdevice *devices, unsigned capacity,
                            void *device, int list, bool (*luid_of)(void *, uint8_t[8]))
{
    uint8_t luid[8];
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    /* CU_D3D11_DEVICE_LIST_ALL, _CURRENT_FRAME, _NEXT_FRAME and the like. */
    if (count == NULL || device == NULL || list < 1 || list > 3 ||
        (devices == NULL && capacity != 0))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (!luid_of(device, luid)) return soft_end(CUDA_ERROR_UNKNOWN);
    unsigned found = find_all(luid, devices, capacity);
    if (found == 0) return soft_end(CUDA_ERROR_NO_DEVICE);
    /* One GPU draws a frame: the first, for linked ones take no turns here. */
    *count = list == 1 ? found : 1;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuD3D9GetDevice(CUdevice *pCudaDevice, const char *pszAdapterName)
{
    return get_device(__func__, pCudaDevice, pszAdapterName, true, CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuD3D9GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                  unsigned int cudaDeviceCount, void *pD3D9Device, int deviceList)
{
    return get_devices(__func__, pCudaDeviceCount, pCudaDevices, cudaDeviceCount, pD3D9Device,
                       deviceList, soft_d3d9_device_luid);
}

CUresult CUDAAPI cuD3D10GetDevice(CUdevice *pCudaDevice, void *pAdapter)
{
    return get_device(__func__, pCudaDevice, pAdapter, false, CUDA_ERROR_NOT_FOUND);
}

CUresult CUDAAPI cuD3D10GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, void *pD3D10Device, int deviceList)
{
    return get_devices(__func__, pCudaDeviceCount, pCudaDevices, cudaDeviceCount, pD3D10Device,
                       deviceList, device_luid);
}

CUresult CUDAAPI cuD3D11GetDevice(CUdevice *pCudaDevice, void *pAdapter)
{
    return get_device(__func__, pCudaDevice, pAdapter, false, CUDA_ERROR_NO_DEVICE);
}

CUresult CUDAAPI cuD3D11GetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, void *pD3D11Device, int deviceList)
{
    return get_devices(__func__, pCudaDeviceCount, pCudaDevices, cudaDeviceCount, pD3D11Device,
                       deviceList, device_luid);
}

/* What resources of Direct3D 9 are, and their bytes to and fro, by surfaces
 * in system memory. Nothing reads a volume texture back, so the twin registers none. */

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

static void read_all9(struct soft_d3d *r)
{
    copy_all(r, true);
}

static void write_all9(struct soft_d3d *r)
{
    copy_all(r, false);
}

const struct soft_d3d_calls soft_d3d9 = {.look = look9, .read = read_all9, .write = write_all9};
