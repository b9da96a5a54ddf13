/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: registers resources of Direct3D, and tells which device an adapter is. */
#include "win32_d3d.h"

#define COBJMACROS
#include <windows.h>
/* after it */
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
    CUresult result = calls->look(object, &r->base, luid, &r->resource);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(call, SOFT_NEED_CONTEXT, &context);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
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
    CUresult result = soft_begin(call, SOFT_NEED_INIT, NULL);
    if (result != CUDA_SUCCESS) return result;
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
