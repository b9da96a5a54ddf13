/* SPDX-License-Identifier: MIT */
/* The caller's heaps and committed resources, and textures in them. */
#include "d3d/d3d12_core.h"

culv_result culvi_d3d12_ask_memory(const culv_d3d_device *d3d, const culv_d3d_memory_desc *d,
                                   culvi_memory_ask *ask)
{
    const GUID *const ids[] = {&culvi_d3d12.resource_iid, &culvi_iid_d3d12_heap};
    void *object = NULL;
    const int found = culvi_d3d_pick(d->object, ids, 2, &object);
    if (found < 0)
        return culvi_fail(culvi_d3d_voice(d3d), d->label, CULV_ERROR_INVALID,
                          CULV_REASON_HANDLE_KIND,
                          "the object is no ID3D12Heap and no ID3D12Resource");
    ask->memory = (uint64_t)(uintptr_t)object;
    ask->dedicated = found == 0;
    if (found == 0) {
        const D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(object);
        ask->identity = culvi_d3d_identity(object);
        ask->size = culvi_d3d12_allocation_size(culvi_d3d12_device(d3d), &what);
    } else {
        ask->size = culvi_d3d12_heap_desc(object).SizeInBytes;
    }
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

culvi_d3d_texture culvi_d3d12_texture_in(void *resource)
{
    const D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(resource);
    return culvi_d3d12_texture_of(&what);
}
