/* SPDX-License-Identifier: MIT */
/* Resources of the caller's, registered with CUDA, and which CUDA devices a device or an adapter of
 * Direct3D is: what is the same in all versions. How one is registered differs (d3d9_register.c and
 * so on). */
#include "d3d/d3d_register.h"
/* after it */
#include <dxgi.h>

/* Messages name nothing else of what is registered. */
static const culvi_words words = {.api = CULV_NATIVE_D3D, .name = "Direct3D"};

static const char *explain(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_INVALID_HANDLE:
        return "it is registered with this CUDA context already, or the driver takes no object of this kind";
    case CUDA_ERROR_INVALID_CONTEXT:
        return "drivers of CUDA before 5.0 wanted a context of cuD3D9CtxCreate() and the like; later ones want none";
    case CUDA_ERROR_INVALID_VALUE: return "the driver takes no such flags for it";
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
    case CUDA_ERROR_UNKNOWN:
        return "the driver cannot register it: was it created as shared, is it the primary render target, or is its device a wrapper's (Streamline, ReShade, PIX)? Pass the native one";
    default: return NULL;
    }
}

static culv_result destroy(culv_registration *r, const char *call)
{
    (void)call;
    CULVI_TRY(culvi_registration_release(r, false));
    culvi_free(r);
    return CULV_OK;
}

/* Direct3D needs no attachment, and Culvert asks nothing of it before a map. */
static const culvi_registrar registrar = {
    .words = &words, .explain = explain, .check = NULL, .destroy = destroy};

static unsigned flags_of(const culv_image_desc *image)
{
    /* Access is no flag of these registrations: it comes by cuGraphicsResourceSetMapFlags. */
    unsigned flags = CU_GRAPHICS_REGISTER_FLAGS_NONE;
    if (image != NULL && !image->no_surfaces) flags |= CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST;
    if (image != NULL && image->texture_gather) flags |= CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER;
    return flags;
}

static culv_result check_device(const culv_device *device, const char *label, const culv_luid *luid,
                                bool software)
{
    CULVI_TEXT(text, 512);
    if (device->caps.luid_valid && culvi_luid_equal(&device->caps.luid, luid)) return CULV_OK;
    culvi_text_add_luid(&text, luid, 1);
    culvi_text_add(&text, ", and ");
    culvi_d3d_add_device(&text, device, "it is in TCC mode");
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the resource is of the adapter of %s; %s", text.data,
        software
            ? "the adapter is a software rasterizer (WARP or REF), and CUDA registers resources of hardware devices alone"
            : "open the culv_device by culv_device_open_for_d3d(), which finds the one that matches");
}

static culv_result make(const culvi_d3d_version *version, culv_device *device, void *resource,
                        const culv_d3d_register_desc *d, const culvi_d3d_candidate *c,
                        culv_image_desc *image, culv_registration **out)
{
    const culv_image_desc *described = c->is_buffer ? NULL : image;
    const culvi_register_plan plan = {
        .registrar = &registrar,
        .label = d->label,
        .image = described,
        .row = described != NULL ? culvi_format_find((uint32_t)image->format) : NULL,
        .size = c->size,
        .flags = flags_of(described),
        .make = version->make,
        .what = resource,
        .call = version->cuda_register};
    CULVI_NEW(culv_registration, made, &device->voice, d->label);
    culv_result result = culvi_registration_make(device, &plan, made);
    CULVI_TRY_OR(result, culvi_free(made));
    if (d->access != CULV_ACCESS_READ_WRITE)
        result = culvi_registration_set_access(made, d->access);
    if (result != CULV_OK) {
        /* Refused, it is tried once more, for nobody else knows of it. */
        culvi_attempt_begin();
        culv_result again = culvi_registration_release(made, false);
        if (again != CULV_OK) again = culvi_registration_release(made, false);
        if (again != CULV_OK) again = culvi_registration_release(made, true);
        (void)culvi_attempt_end(&device->voice, again);
        culvi_free(made);
        return result;
    }
    *out = made;
    return CULV_OK;
}

culv_result culv_d3d_register(culv_device *device, IUnknown *resource,
                              const culv_d3d_register_desc *desc, culv_registration **out)
{
    const culvi_d3d_version *const versions[] = {&culvi_d3d11_version, &culvi_d3d10_version,
                                                 &culvi_d3d9_version};
    const GUID *const ids[] = {&culvi_d3d11_version.resource_iid, &culvi_d3d10_version.resource_iid,
                               &culvi_d3d9_version.resource_iid};
    culvi_d3d_candidate candidate = {.version = 0};
    culv_image_desc image = culv_image_desc_init();
    culv_luid luid;
    bool software = false;
    void *as = NULL;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, resource, out);
    CULVI_READ(voice, culv_d3d_register_desc, d, desc);
    CULVI_TRY(culvi_check_access(voice, d.label, "culv_d3d_register_desc.access", d.access));
    const int found = culvi_d3d_pick(resource, ids, 3, &as);
    CULVI_REFUSE_IF(
        found < 0, voice, d.label, CULV_REASON_HANDLE_KIND,
        "the object is no ID3D11Resource, ID3D10Resource or IDirect3DResource9, and CUDA registers nothing else; share the memory of Direct3D 12's: culv_d3d_memory_import()");
    const culvi_d3d_version *version = versions[found];
    if (!version->has(device->cuda) || device->cuda->cuGraphicsMapResources == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "%s(): the CUDA driver has no %s: it registers no resources of %s",
                          __func__, version->cuda_register, version->name);
    CULVI_TRY(version->look(voice, d.label, as, &candidate, &luid, &software));
    CULVI_TRY(check_device(device, d.label, &luid, software));
    CULVI_TRY(culvi_d3d_check_candidate(voice, &candidate, &d, &image));
    return make(version, device, as, &d, &candidate, &image, out);
}

/* Devices -------------------------------------------------------------------------------------- */

static const GUID iid_dxgi_device = {
    0x54ec77fa, 0x1377, 0x44e6, {0x8c, 0x32, 0x88, 0xfd, 0x5f, 0x44, 0xc8, 0x4c}};

const GUID culvi_iid_dxgi_adapter = {
    0x2411e7e1, 0x12ac, 0x4ccf, {0xbd, 0x14, 0x97, 0x98, 0xe8, 0x53, 0x4d, 0xc0}};

const GUID culvi_iid_dxgi_resource = {
    0x035f3ab4, 0x482e, 0x4e50, {0xb4, 0x1f, 0x8a, 0x7f, 0x8b, 0xd8, 0x96, 0x0b}};

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

/* Whether it is of a swap chain. */
static bool is_back_buffer(void *resource)
{
    IDXGIResource *dxgi = culvi_d3d_query(resource, &culvi_iid_dxgi_resource);
    DXGI_USAGE usage = 0;
    return dxgi != NULL && SUCCEEDED(IDXGIResource_GetUsage(dxgi, &usage)) &&
           (usage & DXGI_USAGE_BACK_BUFFER) != 0;
}

/* Adds up the bytes of the texels. The numbers after a TYPELESS format are of its family, and the
 * first that has a row tells the size of a texel. */
uint64_t culvi_d3d_texels_size(const culvi_d3d_texture *t)
{
    uint64_t sum = 0;
    const culvi_format *row = NULL;
    for (uint32_t number = t->format; row == NULL && number <= t->format + 2; number++) {
        const culv_format format = culvi_format_from(CULV_NATIVE_D3D, number);
        if (format != CULV_FORMAT_NONE) row = culvi_format_find((uint32_t)format);
    }
    if (row == NULL || row->block_bytes == 0) return 0;
    for (uint32_t level = 0; level < t->levels; level++) {
        const uint64_t w = t->width >> level > 0 ? t->width >> level : 1;
        const uint64_t h = t->height >> level > 0 ? t->height >> level : 1;
        const uint64_t d = t->sides < 3                      ? t->depth_or_layers
                           : t->depth_or_layers >> level > 0 ? t->depth_or_layers >> level
                                                             : 1;
        sum += (w + row->block_width - 1u) / row->block_width *
               ((h + row->block_height - 1u) / row->block_height) * d * row->block_bytes;
    }
    return sum;
}

culvi_d3d_candidate culvi_d3d_candidate_of(int version, const culvi_d3d_shape *shape,
                                           uint32_t sharing, void *resource)
{
    enum { TEXTURECUBE = 0x4, DEPTH_STENCIL = 0x40, IMMUTABLE = 1, STAGING = 3 };
    return (culvi_d3d_candidate){.version = version,
                                 .is_buffer = shape->is_buffer,
                                 .size = shape->size,
                                 .texture = shape->texture,
                                 .cube = (shape->misc & TEXTURECUBE) != 0,
                                 .back_buffer = is_back_buffer(resource),
                                 .depth = (shape->bind & DEPTH_STENCIL) != 0,
                                 .shared = (shape->misc & sharing) != 0,
                                 .in_memory = shape->usage == STAGING,
                                 .immutable = shape->usage == IMMUTABLE};
}

static culv_result open_driver(const culvi_d3d_version *version, const char *call,
                               const char *function, culvi_probe *probe, const culvi_cuda **out)
{
    CULVI_TRY(culvi_probe_open(NULL, CULV_DRIVER_AUTO, probe));
    /* The driver whose ordinals culv_device_open_by_ordinal() takes. */
    const culvi_cuda *cuda = probe->drivers[probe->drivers[0] == NULL];
    culv_result result = CULV_OK;
    if (cuda == NULL)
        result = culvi_fail(NULL, NULL, CULV_ERROR_NO_DEVICE, probe->reason, "%s(): %s", call,
                            probe->problems);
    else if (!version->has(cuda))
        result = culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                            "%s(): the CUDA driver has no %s", call, function);
    CULVI_TRY_OR(result, culvi_probe_close(probe));
    *out = cuda;
    return CULV_OK;
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

/* Of a device, or the one of an adapter. */
static culv_result get_devices(const culvi_d3d_version *version, const char *call, void *of,
                               bool adapter, culv_d3d_device_list list, uint32_t capacity,
                               int32_t *ordinals, uint32_t *count)
{
    const char *function = adapter ? "cuD3D11GetDevice" : version->cuda_get_devices;
    culvi_probe probe;
    const culvi_cuda *cuda = NULL;
    CUdevice devices[MOST];
    unsigned found = 1;
    culv_result result = CULV_OK;
    CULVI_TRY(open_driver(version, call, function, &probe, &cuda));
    const CUresult code =
        adapter ? cuda->cuD3D11GetDevice(devices, of)
                : version->get_devices(cuda, of, (unsigned)list, MOST, devices, &found);
    if (code == CUDA_SUCCESS) {
        for (uint32_t i = 0; i < found && i < capacity && i < MOST; i++)
            ordinals[i] = devices[i];
        *count = found;
    } else {
        result = fail_query(cuda, call, function,
                            adapter ? "the device of the adapter could not be told"
                                    : "the devices that it draws with could not be told",
                            code);
    }
    culvi_probe_close(&probe);
    return result;
}

culv_result culv_d3d_get_devices(IUnknown *object, culv_d3d_device_list list, uint32_t capacity,
                                 int32_t *ordinals, uint32_t *count)
{
    const culvi_d3d_version *const versions[] = {&culvi_d3d11_version, &culvi_d3d10_version,
                                                 &culvi_d3d9_version, &culvi_d3d11_version};
    const GUID *const ids[] = {&culvi_d3d11_version.device_iid, &culvi_d3d10_version.device_iid,
                               &culvi_d3d9_version.device_iid, &culvi_iid_dxgi_adapter};
    void *as = NULL;
    CULVI_REQUIRE2(NULL, object, count);
    if (capacity != 0) CULVI_REQUIRE(NULL, ordinals);
    CULVI_REFUSE_IF((uint32_t)list < CULV_D3D_DEVICES_ALL ||
                        (uint32_t)list > CULV_D3D_DEVICES_NEXT_FRAME,
                    NULL, NULL, CULV_REASON_VALUE,
                    "%s(): list is %d, which is no culv_d3d_device_list", __func__, (int)list);
    const int found = culvi_d3d_pick(object, ids, 4, &as);
    CULVI_REFUSE_IF(found < 0, NULL, NULL, CULV_REASON_VALUE,
                    "%s(): it is no ID3D11Device, ID3D10Device, IDirect3DDevice9 or IDXGIAdapter",
                    __func__);
    return get_devices(versions[found], __func__, as, found == 3, list, capacity, ordinals, count);
}
