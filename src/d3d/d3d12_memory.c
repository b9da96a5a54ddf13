/* SPDX-License-Identifier: MIT */
/* The caller's heaps and committed resources, and textures in them. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/desc.h"
#include "d3d/d3d12_resource.h"

static culv_result read_desc(culv_d3d12_device *d3d12, const culv_d3d12_memory_desc *desc,
                             const void *out, const char *call, culvi_memory_ask *ask,
                             culv_d3d12_memory_desc *d)
{
    CULVI_REQUIRE_IN(NULL, call, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE_IN(voice, call, desc);
    CULVI_REQUIRE_IN(voice, call, out);
    culv_result result = culvi_desc_read(voice, d, sizeof *d, desc, "culv_d3d12_memory_desc");
    if (result != CULV_OK) return result;
    if ((d->heap == NULL) == (d->resource == NULL))
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_d3d12_memory_desc.heap and resource are %s; give one of them",
                          d->heap == NULL ? "both NULL" : "both given");
    ask->label = d->label;
    ask->dedicated = d->resource != NULL;
    if (d->heap != NULL) {
        ask->memory = (uint64_t)(uintptr_t)d->heap;
        ask->size = culvi_d3d12_heap_desc(d->heap).SizeInBytes;
    } else {
        const D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(d->resource);
        ask->memory = (uint64_t)(uintptr_t)d->resource;
        ask->identity = culvi_d3d_identity(d->resource);
        ask->size = culvi_d3d12_allocation_size(d3d12->device, &what);
    }
    return CULV_OK;
}

culv_result culv_d3d12_memory_import(culv_d3d12_device *d3d12, const culv_d3d12_memory_desc *desc,
                                     culv_memory **out)
{
    culv_d3d12_memory_desc d;
    culvi_memory_ask ask = {.callers_buffers = false};
    culv_result result = read_desc(d3d12, desc, out, __func__, &ask, &d);
    return result == CULV_OK ? culvi_graphics_import(&d3d12->base, &ask, out) : result;
}

culv_result culv_d3d12_memory_import_shared(culv_d3d12_device *d3d12,
                                            const culv_d3d12_memory_desc *desc, culv_memory **out)
{
    culv_d3d12_memory_desc d;
    culvi_memory_ask ask = {.callers_buffers = false};
    culv_result result = read_desc(d3d12, desc, out, __func__, &ask, &d);
    return result == CULV_OK ? culvi_graphics_acquire(&d3d12->base, &ask, out) : result;
}

culv_result culv_d3d12_get_allocation_size(const culv_d3d12_device *d3d12, ID3D12Resource *resource,
                                           uint64_t *out)
{
    CULVI_REQUIRE(NULL, d3d12);
    CULVI_REQUIRE2(culvi_d3d12_voice(d3d12), resource, out);
    const D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(resource);
    *out = culvi_d3d12_allocation_size(d3d12->device, &what);
    return CULV_OK;
}

culvi_d3d_texture culvi_d3d12_texture_of(const D3D12_RESOURCE_DESC *desc)
{
    return (culvi_d3d_texture){.sides = desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D   ? 1
                                        : desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE2D ? 2
                                        : desc->Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D ? 3
                                                                                                : 0,
                               .width = desc->Width,
                               .height = desc->Height,
                               .depth_or_layers = desc->DepthOrArraySize,
                               .levels = desc->MipLevels,
                               .samples = desc->SampleDesc.Count,
                               .format = (uint32_t)desc->Format,
                               .render_target =
                                   (desc->Flags & D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET) != 0,
                               .row_major = desc->Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
}

culv_result culv_d3d12_image_map(culv_d3d12_device *d3d12, culv_memory *memory,
                                 const culv_d3d12_image_desc *desc, culv_image **out)
{
    culv_d3d12_image_desc d;
    culv_image_desc map;
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, memory, desc);
    CULVI_REQUIRE(voice, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d12_image_desc");
    if (result != CULV_OK) return result;
    if (d.resource == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_d3d12_image_desc.resource is NULL");
    result =
        culvi_d3d_check_resource(memory, d.resource, d.label, "culv_d3d12_image_desc.resource");
    if (result != CULV_OK) return result;
    const D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(d.resource);
    const culvi_d3d_texture texture = culvi_d3d12_texture_of(&what);
    const culvi_d3d_view view = {.desc = "culv_d3d12_image_desc",
                                 .label = d.label,
                                 .offset = d.offset,
                                 .cube = d.cube != 0,
                                 .format = d.format,
                                 .texels = d.texels,
                                 .no_surfaces = d.no_surfaces != 0};
    result = culvi_d3d_describe_image(voice, &texture, &view, &map);
    return result == CULV_OK ? culv_image_map(memory, &map, out) : result;
}
