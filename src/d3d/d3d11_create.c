/* SPDX-License-Identifier: MIT */
/* Buffers and textures of Direct3D 11 that Culvert makes. */
#include "d3d/d3d11_core.h"
/* after it */
#include "base/desc.h"

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
    const culv_d3d11_device *d3d11 = culvi_d3d11_of(graphics);
    const culvi_d3d11_plan *what = plan->desc;
    ID3D11Buffer *buffer = NULL;
    ID3D11Texture2D *texture = NULL;
    const HRESULT hr =
        plan->is_image ? ID3D11Device_CreateTexture2D(d3d11->device, &what->texture, NULL, &texture)
                       : ID3D11Device_CreateBuffer(d3d11->device, &what->buffer, NULL, &buffer);
    if (FAILED(hr))
        return culvi_fail_d3d11(d3d11, plan->label, hr,
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

void culvi_d3d11_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    ID3D11Resource *resource = culvi_d3d_object(native->object);
    (void)graphics;
    if (resource != NULL) ID3D11Resource_Release(resource);
}

/* Buffers -------------------------------------------------------------------------------------- */

culv_result culv_d3d11_buffer_create(culv_d3d11_device *d3d11,
                                     const culv_d3d11_buffer_create_desc *desc,
                                     culv_shared_buffer **out)
{
    static const char name[] = "culv_d3d11_buffer_create_desc";
    culv_d3d11_buffer_create_desc d;
    culvi_d3d11_plan what;
    CULVI_REQUIRE(NULL, d3d11);
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.size == 0 || d.size > UINT32_MAX)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "%s.size is %" PRIu64 "; a buffer of Direct3D 11 has 1 to %" PRIu32
                          " bytes",
                          name, d.size, UINT32_MAX);
    memset(&what, 0, sizeof what);
    what.buffer.ByteWidth = (UINT)d.size;
    what.buffer.BindFlags =
        d.bind_flags != 0 ? (UINT)d.bind_flags : (UINT)D3D11_BIND_SHADER_RESOURCE;
    what.buffer.MiscFlags = ((UINT)d.misc_flags & ~(UINT)SHARING) | sharing(d.keyed_mutex, d.kmt);
    what.buffer.StructureByteStride = d.stride;
    culvi_plan plan = {.label = d.label, .desc = &what, .desc_name = name};
    return culvi_shared_buffer_create(&d3d11->base, &plan, out);
}

ID3D11Resource *culv_d3d11_buffer_resource(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_d3d11_api);
    return half != NULL ? culvi_d3d_object(half->object) : NULL;
}

/* Textures ------------------------------------------------------------------------------------- */

/* Direct3D itself answers E_INVALIDARG, which names nothing.
 * Source: D3D11_RESOURCE_MISC_FLAG, D3D11_RESOURCE_MISC_SHARED; D3D11_USAGE. */
static culv_result check_shared(const culvi_voice *voice, const char *label, const char *name,
                                const D3D11_TEXTURE2D_DESC *desc)
{
    if (desc->MipLevels != 1)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s.resource_desc->MipLevels is %u%s; Direct3D 11 shares textures of one "
                          "level alone",
                          name, (unsigned)desc->MipLevels,
                          desc->MipLevels == 0 ? " (all levels)" : "");
    if (desc->Usage != D3D11_USAGE_DEFAULT || desc->CPUAccessFlags != 0)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s.resource_desc->Usage is %d and CPUAccessFlags %#x; a shared texture "
                          "is of D3D11_USAGE_DEFAULT, without access of the CPU's",
                          name, (int)desc->Usage, (unsigned)desc->CPUAccessFlags);
    return CULV_OK;
}

culv_result culvi_d3d11_image_create(culv_d3d11_device *d3d11,
                                     const culv_d3d11_image_create_desc *d, const char *name,
                                     culv_shared_image **out)
{
    culvi_d3d11_plan what;
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    culv_result result = check_shared(voice, d->label, name, d->resource_desc);
    if (result != CULV_OK) return result;
    memset(&what, 0, sizeof what);
    what.texture = *d->resource_desc;
    what.texture.MiscFlags =
        (what.texture.MiscFlags & ~(UINT)SHARING) | sharing(d->keyed_mutex, d->kmt);
    what.view = (culvi_d3d_view){.desc = name,
                                 .label = d->label,
                                 .cube = d->cube != 0,
                                 .format = d->format,
                                 .texels = d->texels,
                                 .no_surfaces = d->no_surfaces != 0};
    culvi_plan plan = {.label = d->label, .desc = &what, .desc_name = name};
    return culvi_shared_image_create(&d3d11->base, &plan, out);
}

culv_result culv_d3d11_image_create(culv_d3d11_device *d3d11,
                                    const culv_d3d11_image_create_desc *desc,
                                    culv_shared_image **out)
{
    static const char name[] = "culv_d3d11_image_create_desc";
    culv_d3d11_image_create_desc d;
    CULVI_REQUIRE(NULL, d3d11);
    const culvi_voice *voice = culvi_d3d11_voice(d3d11);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.resource_desc == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource_desc is NULL", name);
    if (d.resource_desc->Width == 0 || d.resource_desc->Height == 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "%s.resource_desc->%s is 0", name,
                          d.resource_desc->Width == 0 ? "Width" : "Height");
    return culvi_d3d11_image_create(d3d11, &d, name, out);
}

ID3D11Resource *culv_d3d11_image_resource(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_d3d11_api);
    return half != NULL ? culvi_d3d_object(half->object) : NULL;
}
