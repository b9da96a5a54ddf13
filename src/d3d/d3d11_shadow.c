/* SPDX-License-Identifier: MIT */
/* culv_d3d11_shadow: a shared twin of a texture that cannot be shared, and the copies between. */
#include "d3d/d3d11_core.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"

#include <string.h>

struct culv_d3d11_shadow {
    culv_d3d11_device *d3d11; /* a reference, for messages */
    ID3D11Resource *resource; /* a reference */
    culv_shared_image *image;
    UINT layers, levels; /* of the texture */
    _Atomic uint64_t copies;
    char label[64];
};

static const GUID iid_texture = {
    0x6f15aaf2, 0xd208, 0x4e89, {0x9a, 0xb4, 0x48, 0x95, 0x35, 0xd3, 0x4f, 0x9c}};

static culv_result read_texture(const culvi_voice *voice, const culv_d3d11_shadow_desc *d,
                                D3D11_TEXTURE2D_DESC *out)
{
    ID3D11Texture2D *texture = NULL;
    if (FAILED(ID3D11Resource_QueryInterface(d->resource, &iid_texture, (void **)&texture)))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "culv_d3d11_shadow_desc.resource is no ID3D11Texture2D; Direct3D 11 "
                          "shares no other textures, and a buffer is copied into one of "
                          "culv_d3d11_buffer_create()'s");
    ID3D11Texture2D_GetDesc(texture, out);
    ID3D11Texture2D_Release(texture);
    return CULV_OK;
}

/* Whether `its` is the attached device; the call takes the caller's reference. Direct3D drops a
 * copy between devices in silence. */
static bool is_attached(const culv_d3d11_device *d3d11, ID3D11Device *its)
{
    const bool same = its != NULL && culvi_d3d_identity(its) == culvi_d3d_identity(d3d11->device);
    if (its != NULL) ID3D11Device_Release(its);
    return same;
}

static culv_result check_device(const culv_d3d11_device *d3d11, const culv_d3d11_shadow_desc *d)
{
    ID3D11Device *its = NULL;
    ID3D11Resource_GetDevice((ID3D11Resource *)d->resource, &its);
    return is_attached(d3d11, its)
               ? CULV_OK
               : culvi_fail(culvi_d3d11_voice(d3d11), d->label, CULV_ERROR_INVALID,
                            CULV_REASON_DEVICE_MISMATCH,
                            "culv_d3d11_shadow_desc.resource is of another ID3D11Device than the "
                            "attached one");
}

/* What the twin is made of: one level, nothing that only the engine needs. */
static D3D11_TEXTURE2D_DESC twin_of(const D3D11_TEXTURE2D_DESC *from)
{
    D3D11_TEXTURE2D_DESC desc = *from;
    desc.MipLevels = 1;
    desc.Usage = D3D11_USAGE_DEFAULT;
    desc.CPUAccessFlags = 0;
    desc.BindFlags &= D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET;
    if (desc.BindFlags == 0) desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.MiscFlags &= D3D11_RESOURCE_MISC_TEXTURECUBE;
    return desc;
}

culv_result culv_d3d11_shadow_create(culv_d3d11_device *d3d11, const culv_d3d11_shadow_desc *desc,
                                     culv_d3d11_shadow **out)
{
    static const char name[] = "culv_d3d11_shadow_desc";
    culv_d3d11_shadow_desc d;
    D3D11_TEXTURE2D_DESC engine, twin;
    culv_d3d11_image_create_desc make = culv_d3d11_image_create_desc_init();
    CULVI_REQUIRE(NULL, d3d11);
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.resource == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource is NULL", name);
    result = read_texture(voice, &d, &engine);
    if (result == CULV_OK) result = check_device(d3d11, &d);
    if (result != CULV_OK) return result;
    twin = twin_of(&engine);
    make.resource_desc = &twin;
    make.cube = d.cube;
    make.format = d.format;
    make.texels = d.texels;
    make.no_surfaces = d.no_surfaces;
    make.keyed_mutex = d.keyed_mutex;
    make.label = d.label;
    culv_d3d11_shadow *shadow = culvi_alloc(sizeof *shadow);
    if (shadow == NULL) return culvi_fail_host_memory(voice, d.label);
    result = culvi_d3d11_image_create(d3d11, &make, name, &shadow->image);
    if (result != CULV_OK) {
        culvi_free(shadow);
        return result;
    }
    culvi_pair_set_owner(&shadow->image->pair, "culv_d3d11_shadow_destroy");
    shadow->d3d11 = d3d11;
    shadow->resource = d.resource;
    shadow->layers = engine.ArraySize;
    shadow->levels = engine.MipLevels;
    atomic_init(&shadow->copies, 0);
    culvi_label_set(shadow->label, d.label);
    culvi_graphics_ref(&d3d11->base);
    ID3D11Resource_AddRef(shadow->resource);
    culvi_log(voice, CULV_LOG_WARNING,
              "texture '%s' is shadowed: CUDA sees a twin of %s, and each frame that needs it "
              "costs a copy on the GPU; create it with D3D11_RESOURCE_MISC_SHARED%s where you can",
              shadow->label, engine.MipLevels > 1 ? "its first level" : "it",
              engine.MipLevels > 1 ? " and one level" : "");
    *out = shadow;
    return CULV_OK;
}

culv_result culv_d3d11_shadow_record(culv_d3d11_shadow *shadow, ID3D11DeviceContext *context,
                                     culv_bool from_twin)
{
    ID3D11Device *device = NULL;
    CULVI_REQUIRE(NULL, shadow);
    const culvi_voice *voice = culvi_d3d11_voice(shadow->d3d11);
    CULVI_REQUIRE(voice, context);
    ID3D11DeviceContext_GetDevice(context, &device);
    if (!is_attached(shadow->d3d11, device))
        return culvi_fail(voice, shadow->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the ID3D11DeviceContext is of another ID3D11Device than the texture");
    ID3D11Resource *twin = culv_d3d11_image_resource(shadow->image);
    ID3D11Resource *to = from_twin ? shadow->resource : twin;
    ID3D11Resource *from = from_twin ? twin : shadow->resource;
    const UINT to_levels = from_twin ? shadow->levels : 1;
    const UINT from_levels = from_twin ? 1 : shadow->levels;
    if (shadow->levels == 1)
        ID3D11DeviceContext_CopyResource(context, to, from);
    else
        for (UINT layer = 0; layer < shadow->layers; layer++)
            ID3D11DeviceContext_CopySubresourceRegion(context, to, layer * to_levels, 0, 0, 0, from,
                                                      layer * from_levels, NULL);
    atomic_fetch_add(&shadow->copies, 1);
    return CULV_OK;
}

uint64_t culv_d3d11_shadow_copies(const culv_d3d11_shadow *shadow)
{
    return shadow != NULL ? atomic_load(&shadow->copies) : 0;
}

const culv_shared_image *culv_d3d11_shadow_image(const culv_d3d11_shadow *shadow)
{
    return shadow != NULL ? shadow->image : NULL;
}

void culv_d3d11_shadow_destroy(culv_d3d11_shadow **shadow)
{
    if (shadow == NULL || *shadow == NULL) return;
    culv_d3d11_shadow *mine = *shadow;
    *shadow = NULL;
    culvi_pair_destroy(&mine->image->pair, false, NULL);
    ID3D11Resource_Release(mine->resource);
    culvi_graphics_unref(&mine->d3d11->base);
    culvi_free(mine);
}
