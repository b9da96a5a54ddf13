/* SPDX-License-Identifier: MIT */
/* The caller's textures and buffers, and their keyed mutexes. */
#include "d3d/d3d11_core.h"
/* after it */
#include "cuda/format.h"
#include "d3d/keyed_mutex.h"

#include <string.h>

culvi_d3d_texture culvi_d3d11_texture_of(const D3D11_TEXTURE2D_DESC *desc)
{
    return (culvi_d3d_texture){.sides = 2,
                               .width = desc->Width,
                               .height = desc->Height,
                               .depth_or_layers = desc->ArraySize,
                               .levels = desc->MipLevels,
                               .samples = desc->SampleDesc.Count,
                               .format = (uint32_t)desc->Format,
                               .render_target = (desc->BindFlags & D3D11_BIND_RENDER_TARGET) != 0};
}

/* Adds up the bytes of the texels. The numbers after a TYPELESS format are of its family, and the
 * first that has a row tells the size of a texel. */
static uint64_t texels_size(const culvi_d3d_texture *t)
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

culvi_d3d11_shape culvi_d3d11_shape_of(ID3D11Resource *resource)
{
    culvi_d3d11_shape shape;
    D3D11_RESOURCE_DIMENSION dimension = D3D11_RESOURCE_DIMENSION_UNKNOWN;
    memset(&shape, 0, sizeof shape);
    ID3D11Resource_GetType(resource, &dimension);
    if (dimension == D3D11_RESOURCE_DIMENSION_BUFFER) {
        D3D11_BUFFER_DESC desc;
        ID3D11Buffer_GetDesc((ID3D11Buffer *)(void *)resource, &desc);
        shape.is_buffer = true;
        shape.size = desc.ByteWidth;
        shape.misc = desc.MiscFlags;
        shape.bind = desc.BindFlags;
        shape.usage = desc.Usage;
        return shape;
    }
    if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE1D) {
        D3D11_TEXTURE1D_DESC desc;
        ID3D11Texture1D_GetDesc((ID3D11Texture1D *)(void *)resource, &desc);
        shape.misc = desc.MiscFlags;
        shape.bind = desc.BindFlags;
        shape.usage = desc.Usage;
        shape.texture =
            (culvi_d3d_texture){.sides = 1,
                                .width = desc.Width,
                                .height = 1,
                                .depth_or_layers = desc.ArraySize,
                                .levels = desc.MipLevels,
                                .samples = 1,
                                .format = (uint32_t)desc.Format,
                                .render_target = (desc.BindFlags & D3D11_BIND_RENDER_TARGET) != 0};
    } else if (dimension == D3D11_RESOURCE_DIMENSION_TEXTURE3D) {
        D3D11_TEXTURE3D_DESC desc;
        ID3D11Texture3D_GetDesc((ID3D11Texture3D *)(void *)resource, &desc);
        shape.misc = desc.MiscFlags;
        shape.bind = desc.BindFlags;
        shape.usage = desc.Usage;
        shape.texture =
            (culvi_d3d_texture){.sides = 3,
                                .width = desc.Width,
                                .height = desc.Height,
                                .depth_or_layers = desc.Depth,
                                .levels = desc.MipLevels,
                                .samples = 1,
                                .format = (uint32_t)desc.Format,
                                .render_target = (desc.BindFlags & D3D11_BIND_RENDER_TARGET) != 0};
    } else {
        D3D11_TEXTURE2D_DESC desc;
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)(void *)resource, &desc);
        shape.misc = desc.MiscFlags;
        shape.bind = desc.BindFlags;
        shape.usage = desc.Usage;
        shape.texture = culvi_d3d11_texture_of(&desc);
    }
    shape.size = texels_size(&shape.texture);
    return shape;
}

culvi_d3d_texture culvi_d3d11_texture_in(void *resource)
{
    return culvi_d3d11_shape_of(resource).texture;
}

culv_result culvi_d3d11_ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                                   culvi_memory_ask *ask)
{
    void *resource = NULL;
    culv_result result = culvi_d3d_as(d3d, d->label, d->object, &culvi_d3d11.resource_iid,
                                      "ID3D11Resource", &resource);
    if (result != CULV_OK) return result;
    const culvi_d3d11_shape shape = culvi_d3d11_shape_of(resource);
    ask->dedicated = true;
    ask->memory = (uint64_t)(uintptr_t)resource;
    ask->identity = culvi_d3d_identity(resource);
    ask->size = d->size != 0 ? d->size : shape.size;
    if (ask->size != 0) return CULV_OK;
    return culvi_fail(culvi_d3d_voice(d3d), d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                      "no CUDA array has the texture's DXGI_FORMAT %u, so its size is unknown; "
                      "copy the texels into a buffer",
                      (unsigned)shape.texture.format);
}

/* Keyed mutexes -------------------------------------------------------------------------------- */

culv_result culv_d3d11_keyed_mutex_import(culv_d3d_device *d3d, ID3D11Resource *resource,
                                          const char *label, culv_keyed_mutex **out)
{
    culv_keyed_mutex_desc d = culv_keyed_mutex_desc_init();
    CULVI_REQUIRE(NULL, d3d);
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    CULVI_REQUIRE2(voice, resource, out);
    culv_result result = culvi_d3d_check_api(d3d, &culvi_d3d11, __func__);
    if (result != CULV_OK) return result;
    if (!(culvi_d3d11_shape_of(resource).misc & D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX))
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                          "the ID3D11Resource has no keyed mutex: it was created without "
                          "D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX; use a fence");
    result = culvi_d3d11_share(d3d, label, resource, NULL, &d.handle);
    if (result != CULV_OK) return result;
    d.handle.type = d.handle.type == CULV_HANDLE_D3D11_RESOURCE ? CULV_HANDLE_D3D11_KEYED_MUTEX
                                                                : CULV_HANDLE_D3D11_KEYED_MUTEX_KMT;
    d.label = label;
    return culvi_keyed_mutex_import_exported(d3d->base.device, &d, out);
}
