/* SPDX-License-Identifier: MIT */
/* Resources of the caller's, registered with CUDA: what is the same in all
 * versions of Direct3D. How one is registered differs (d3d9_register.c and so on). */
#include "d3d/d3d_register.h"
/* after it */
#include "base/alloc.h"
#include "base/attempt.h"
#include "base/desc.h"
#include "base/text.h"
#include "cuda/context.h"

static const culvi_words words = {
    .api = CULV_NATIVE_D3D,
    .name = "Direct3D",
    .physical_device = "adapter",
    .memory = "resource",
    .semaphore = "fence",
    .size = "the size of the resource",
    .dedicated = "every resource",
    .buffer_offset = "0, for a resource of Direct3D is its own memory",
    .image_offset = "0, for a resource of Direct3D is its own memory",
    .plane_offset = "which Direct3D has none of",
    .map_rows = "a staging texture",
    .read_call = "ID3D11Fence::GetCompletedValue",
    .wait_call = "ID3D11Fence::SetEventOnCompletion",
    .signal_call = "ID3D11DeviceContext4::Signal",
    .attach_desc = "culv_d3d_register_desc",
    .cross = "",
    .open_call = "culv_device_open_for_d3d",
    .memory_desc = "culv_d3d_register_desc",
    .memory_size = "size",
};

static const char *explain(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_INVALID_HANDLE:
        return "it is registered with this CUDA context already, or the driver takes no object of "
               "this kind";
    case CUDA_ERROR_INVALID_CONTEXT:
        return "drivers of CUDA before 5.0 wanted a context of cuD3D9CtxCreate() and the like; "
               "later ones want none";
    case CUDA_ERROR_INVALID_VALUE: return "the driver takes no such flags for it";
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
    case CUDA_ERROR_UNKNOWN:
        return "the driver cannot register it: was it created as shared, is it the primary render "
               "target, or is its device a wrapper's (Streamline, ReShade, PIX)? Pass the native "
               "one";
    default: return NULL;
    }
}

static culv_result destroy(culv_registration *r, const char *call)
{
    (void)call;
    culv_result result = culvi_registration_release(r, false);
    if (result == CULV_OK) culvi_free(r);
    return result;
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
    char buffer[512] = "";
    culvi_text text = {buffer, sizeof buffer, 0};
    if (device->caps.luid_valid && culvi_luid_equal(&device->caps.luid, luid)) return CULV_OK;
    culvi_text_add_luid(&text, luid, 1);
    culvi_text_add(&text, ", and the culv_device '%s' ", device->caps.name);
    if (device->caps.luid_valid) {
        culvi_text_add(&text, "has ");
        culvi_text_add_luid(&text, &device->caps.luid, device->caps.node_mask);
    } else {
        culvi_text_add(&text, "tells no LUID (it is in TCC mode)");
    }
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the resource is of the adapter of %s; %s", buffer,
        software ? "the adapter is a software rasterizer (WARP or REF), and CUDA registers "
                   "resources of hardware devices alone"
                 : "open the culv_device by culv_device_open_for_d3d(), which finds the one that "
                   "matches");
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
    culv_registration *made = culvi_alloc(sizeof *made);
    if (made == NULL) return culvi_fail_host_memory(&device->voice, d->label);
    culv_result result = culvi_registration_make(device, &plan, made);
    if (result != CULV_OK) {
        culvi_free(made);
        return result;
    }
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

/* NULL: it is no resource that CUDA registers. */
static const culvi_d3d_version *version_of(IUnknown *resource, void **as)
{
    static const culvi_d3d_version *const versions[] = {&culvi_d3d11_version, &culvi_d3d10_version,
                                                        &culvi_d3d9_version};
    const GUID *const ids[] = {&culvi_d3d11_version.resource_iid, &culvi_d3d10_version.resource_iid,
                               &culvi_d3d9_version.resource_iid};
    const int found = culvi_d3d_pick(resource, ids, 3, as);
    return found >= 0 ? versions[found] : NULL;
}

culv_result culv_d3d_register(culv_device *device, IUnknown *resource,
                              const culv_d3d_register_desc *desc, culv_registration **out)
{
    culv_d3d_register_desc d = culv_d3d_register_desc_init();
    culvi_d3d_candidate candidate = {.version = 0};
    culv_image_desc image = culv_image_desc_init();
    culv_luid luid;
    bool software = false;
    void *as = NULL;
    CULVI_REQUIRE(NULL, device);
    const culvi_voice *voice = &device->voice;
    CULVI_REQUIRE2(voice, resource, out);
    culv_result result = desc != NULL
                             ? culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d_register_desc")
                             : CULV_OK;
    if (result == CULV_OK)
        result = culvi_check_access(voice, d.label, "culv_d3d_register_desc.access", d.access);
    if (result != CULV_OK) return result;
    const culvi_d3d_version *version = version_of(resource, &as);
    if (version == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND,
                          "the object is no ID3D11Resource, ID3D10Resource or IDirect3DResource9, "
                          "and CUDA registers nothing else; share the memory of Direct3D 12's: "
                          "culv_d3d_memory_import()");
    if (!version->has(device->cuda) || device->cuda->cuGraphicsMapResources == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "%s(): the CUDA driver has no %s: it registers no resources of %s",
                          __func__, version->cuda_register, version->name);
    result = version->look(voice, d.label, as, &candidate, &luid, &software);
    if (result == CULV_OK) result = check_device(device, d.label, &luid, software);
    if (result == CULV_OK) result = culvi_d3d_check_candidate(voice, &candidate, &d, &image);
    return result == CULV_OK ? make(version, device, as, &d, &candidate, &image, out) : result;
}
