/* SPDX-License-Identifier: MIT */
/* Buffers and textures of Direct3D 11 that Culvert makes. */
#include "d3d/d3d11_core.h"

#include <inttypes.h>
#include <string.h>

enum {
    SHARING = D3D11_RESOURCE_MISC_SHARED | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX |
              D3D11_RESOURCE_MISC_SHARED_NTHANDLE
};

/* SHARED and SHARED_KEYEDMUTEX exclude one another; SHARED_NTHANDLE goes with either. */
static UINT sharing(culv_bool keyed_mutex, culv_bool kmt)
{
    return (UINT)(keyed_mutex ? D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX
                              : D3D11_RESOURCE_MISC_SHARED) |
           (kmt ? 0u : (UINT)D3D11_RESOURCE_MISC_SHARED_NTHANDLE);
}

/* The seam ------------------------------------------------------------------------------------- */

culv_result culvi_d3d11_make_plan(culvi_graphics *graphics, culvi_plan *plan)
{
    const culvi_d3d11_plan *what = plan->desc;
    plan->dedicated = true;
    plan->size = what->buffer.ByteWidth;
    if (!plan->is_image) return CULV_OK;
    const culvi_d3d_texture texture = culvi_d3d11_texture_of(&what->texture);
    return culvi_d3d_describe_image(&graphics->device->voice, &texture, &what->view, &plan->image);
}

culv_result culvi_d3d11_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    const culvi_d3d11_plan *what = plan->desc;
    ID3D11Buffer *buffer = NULL;
    ID3D11Texture2D *texture = NULL;
    const HRESULT hr =
        plan->is_image
            ? ID3D11Device_CreateTexture2D(culvi_d3d11_device(d3d), &what->texture, NULL, &texture)
            : ID3D11Device_CreateBuffer(culvi_d3d11_device(d3d), &what->buffer, NULL, &buffer);
    if (FAILED(hr))
        return culvi_d3d_fail(d3d, plan->label, hr,
                              plan->is_image ? "ID3D11Device::CreateTexture2D"
                                             : "ID3D11Device::CreateBuffer",
                              plan->is_image ? "a shared texture could not be made"
                                             : "a shared buffer could not be made");
    ID3D11Resource *resource =
        plan->is_image ? (ID3D11Resource *)(void *)texture : (ID3D11Resource *)(void *)buffer;
    *out = (culvi_native){.object = (uint64_t)(uintptr_t)resource,
                          .memory = (uint64_t)(uintptr_t)resource,
                          .size = culvi_d3d11_shape_of(resource).size,
                          .is_image = plan->is_image,
                          .dedicated = true};
    return CULV_OK;
}

/* Buffers -------------------------------------------------------------------------------------- */

culv_result culvi_d3d11_create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                      const char *name, culv_shared_buffer **out)
{
    culvi_d3d11_plan what;
    if (d->size == 0 || d->size > UINT32_MAX)
        return culvi_fail(culvi_d3d_voice(d3d), d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "%s.size is %" PRIu64 "; a buffer of Direct3D 11 has 1 to %" PRIu32
                          " bytes",
                          name, d->size, UINT32_MAX);
    memset(&what, 0, sizeof what);
    what.buffer.ByteWidth = (UINT)d->size;
    what.buffer.BindFlags =
        d->bind_flags != 0 ? (UINT)d->bind_flags : (UINT)D3D11_BIND_SHADER_RESOURCE;
    what.buffer.MiscFlags =
        ((UINT)d->misc_flags & ~(UINT)SHARING) | sharing(d->keyed_mutex, d->kmt);
    what.buffer.StructureByteStride = d->stride;
    culvi_plan plan = {.label = d->label, .desc = &what, .desc_name = name};
    return culvi_shared_buffer_create(&d3d->base, &plan, out);
}

/* Textures ------------------------------------------------------------------------------------- */

/* Direct3D itself answers E_INVALIDARG, which names nothing.
 * Source: D3D11_RESOURCE_MISC_FLAG, D3D11_RESOURCE_MISC_SHARED; D3D11_USAGE. */
static culv_result check_shared(const culvi_voice *voice, const char *label, const char *name,
                                const D3D11_TEXTURE2D_DESC *desc)
{
    if (desc->MipLevels != 1)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s.texture_desc->MipLevels is %u%s; Direct3D 11 shares textures of one "
                          "level alone",
                          name, (unsigned)desc->MipLevels,
                          desc->MipLevels == 0 ? " (all levels)" : "");
    if (desc->Usage != D3D11_USAGE_DEFAULT || desc->CPUAccessFlags != 0)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s.texture_desc->Usage is %d and CPUAccessFlags %#x; a shared texture "
                          "is of D3D11_USAGE_DEFAULT, without access of the CPU's",
                          name, (int)desc->Usage, (unsigned)desc->CPUAccessFlags);
    return CULV_OK;
}

static culv_result make_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                              const char *name, const D3D11_TEXTURE2D_DESC *texture,
                              culv_shared_image **out)
{
    culvi_d3d11_plan what;
    memset(&what, 0, sizeof what);
    what.texture = *texture;
    what.texture.MiscFlags =
        (what.texture.MiscFlags & ~(UINT)SHARING) | sharing(d->keyed_mutex, d->kmt);
    what.view = (culvi_d3d_view){.desc = name,
                                 .label = d->label,
                                 .cube = d->cube != 0,
                                 .format = d->format,
                                 .texels = d->texels,
                                 .no_surfaces = d->no_surfaces != 0};
    culvi_plan plan = {.label = d->label, .desc = &what, .desc_name = name};
    return culvi_shared_image_create(&d3d->base, &plan, out);
}

culv_result culvi_d3d11_create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                     const char *name, culv_shared_image **out)
{
    const D3D11_TEXTURE2D_DESC *texture = d->texture_desc;
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    if (texture == NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.texture_desc is NULL", name);
    if (texture->Width == 0 || texture->Height == 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "%s.texture_desc->%s is 0", name,
                          texture->Width == 0 ? "Width" : "Height");
    culv_result result = check_shared(voice, d->label, name, texture);
    return result == CULV_OK ? make_image(d3d, d, name, texture, out) : result;
}

/* Shadows -------------------------------------------------------------------------------------- */

static const GUID iid_texture = {
    0x6f15aaf2, 0xd208, 0x4e89, {0x9a, 0xb4, 0x48, 0x95, 0x35, 0xd3, 0x4f, 0x9c}};

/* Whether `its` is the attached device; the call takes the caller's reference. Direct3D drops a
 * copy between devices in silence. */
static bool is_attached(const culv_d3d_device *d3d, ID3D11Device *its)
{
    const bool same = its != NULL && culvi_d3d_identity(its) == culvi_d3d_identity(d3d->device);
    if (its != NULL) ID3D11Device_Release(its);
    return same;
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

culv_result culvi_d3d11_create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                                    const char *name)
{
    const culvi_voice *voice = culvi_d3d_voice(shadow->d3d);
    ID3D11Texture2D *texture = culvi_d3d_query(shadow->resource, &iid_texture);
    ID3D11Device *its = NULL;
    D3D11_TEXTURE2D_DESC engine;
    if (texture == NULL)
        return culvi_fail(
            voice, make->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "%s.resource is no ID3D11Texture2D; Direct3D 11 shares no other textures, "
            "and a buffer is copied into one of culv_d3d_buffer_create()'s",
            name);
    ID3D11Texture2D_GetDesc(texture, &engine);
    ID3D11Texture2D_GetDevice(texture, &its);
    if (!is_attached(shadow->d3d, its))
        return culvi_fail(voice, make->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "%s.resource is of another ID3D11Device than the attached one", name);
    const D3D11_TEXTURE2D_DESC twin = twin_of(&engine);
    make->texture_desc = &twin;
    shadow->layers = engine.ArraySize;
    shadow->levels = engine.MipLevels;
    return culvi_d3d11_create_image(shadow->d3d, make, name, &shadow->image);
}

culv_result culvi_d3d11_record(culv_d3d_shadow *shadow, void *commands, uint32_t state,
                               bool from_twin)
{
    const culvi_voice *voice = culvi_d3d_voice(shadow->d3d);
    ID3D11DeviceContext *context = commands;
    ID3D11Device *device = NULL;
    if (state != 0)
        return culvi_fail(voice, shadow->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "state is %#x, and resources of Direct3D 11 have no states; pass 0",
                          (unsigned)state);
    ID3D11DeviceContext_GetDevice(context, &device);
    if (!is_attached(shadow->d3d, device))
        return culvi_fail(voice, shadow->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "the ID3D11DeviceContext is of another ID3D11Device than the texture");
    ID3D11Resource *twin = (ID3D11Resource *)culv_d3d_image_resource(shadow->image);
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
    return CULV_OK;
}
