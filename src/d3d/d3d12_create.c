/* SPDX-License-Identifier: MIT */
/* Buffers and textures that Culvert makes. */
#include "d3d/d3d12_core.h"

#include <inttypes.h>
#include <string.h>

/* The seam ------------------------------------------------------------------------------------- */

culv_result culvi_d3d12_plan(culvi_graphics *graphics, culvi_plan *plan)
{
    const culvi_d3d12_shape *shape = plan->desc;
    plan->dedicated = true;
    plan->size = shape->desc.Width;
    if (!plan->is_image) return CULV_OK;
    const culvi_d3d_texture texture = culvi_d3d12_texture_of(&shape->desc);
    return culvi_d3d_describe_image(&graphics->device->voice, &texture, &shape->view, &plan->image);
}

culv_result culvi_d3d12_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    const culv_d3d_device *d3d = culvi_d3d_of(graphics);
    const culvi_d3d12_shape *shape = plan->desc;
    D3D12_HEAP_PROPERTIES heap;
    ID3D12Resource *resource = NULL;
    memset(&heap, 0, sizeof heap);
    heap.Type = D3D12_HEAP_TYPE_DEFAULT;
    const HRESULT hr = ID3D12Device_CreateCommittedResource(
        culvi_d3d12_device(d3d), &heap, D3D12_HEAP_FLAG_SHARED, &shape->desc,
        D3D12_RESOURCE_STATE_COMMON, NULL, &culvi_d3d12.resource_iid, (void **)&resource);
    if (FAILED(hr))
        return culvi_fail_d3d(
            &graphics->device->voice, plan->label, hr, "ID3D12Device::CreateCommittedResource",
            "ID3D12Device::GetDeviceRemovedReason", CULV_REASON_DRIVER_REFUSED,
            "a shared %s of DXGI_FORMAT %d, %" PRIu64 " x %u x %u, could not be made",
            plan->is_image ? "texture" : "buffer", (int)shape->desc.Format,
            (uint64_t)shape->desc.Width, (unsigned)shape->desc.Height,
            (unsigned)shape->desc.DepthOrArraySize);
    /* Reads the description of what was made, in which the driver has replaced the zeros. */
    const D3D12_RESOURCE_DESC made = culvi_d3d12_resource_desc(resource);
    *out = (culvi_native){.object = (uint64_t)(uintptr_t)resource,
                          .memory = (uint64_t)(uintptr_t)resource,
                          .size = culvi_d3d12_allocation_size(culvi_d3d12_device(d3d), &made),
                          .usage = (uint32_t)made.Flags,
                          .is_image = plan->is_image,
                          .dedicated = true};
    return CULV_OK;
}

/* Buffers -------------------------------------------------------------------------------------- */

/* Direct3D itself answers E_INVALIDARG, which names nothing. */
static culv_result check_buffer_size(const culv_d3d_device *d3d,
                                     const culv_d3d_buffer_create_desc *d)
{
    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT bits = {0, 0};
    const HRESULT hr = ID3D12Device_CheckFeatureSupport(
        culvi_d3d12_device(d3d), D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, &bits, sizeof bits);
    const UINT most = SUCCEEDED(hr) ? bits.MaxGPUVirtualAddressBitsPerResource : 0;
    if (most == 0 || most > 63 || d->size <= UINT64_C(1) << most) return CULV_OK;
    return culvi_fail(culvi_d3d_voice(d3d), d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "culv_d3d_buffer_create_desc.size is %" PRIu64
                      "; a resource of this device has %" PRIu64 " bytes at most",
                      d->size, UINT64_C(1) << most);
}

culv_result culvi_d3d12_create_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                      const char *name, culv_shared_buffer **out)
{
    culvi_d3d12_shape shape;
    if (d->size == 0)
        return culvi_fail(culvi_d3d_voice(d3d), d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_d3d_buffer_create_desc.size is 0");
    culv_result result = check_buffer_size(d3d, d);
    if (result != CULV_OK) return result;
    memset(&shape, 0, sizeof shape);
    shape.desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    shape.desc.Width = d->size;
    shape.desc.Height = 1;
    shape.desc.DepthOrArraySize = 1;
    shape.desc.MipLevels = 1;
    shape.desc.SampleDesc.Count = 1;
    shape.desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    shape.desc.Flags = (D3D12_RESOURCE_FLAGS)d->resource_flags;
    culvi_plan plan = {.label = d->label, .desc = &shape, .desc_name = name};
    return culvi_shared_buffer_create(&d3d->base, &plan, out);
}

/* Textures ------------------------------------------------------------------------------------- */

culv_result culvi_d3d12_create_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                     const char *name, culv_shared_image **out)
{
    const D3D12_RESOURCE_DESC *what = d->resource_desc;
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    if (what == NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource_desc is NULL", name);
    if (what->Width == 0 || what->Height == 0 || what->DepthOrArraySize == 0)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "%s.resource_desc->%s is 0", name,
                          what->Width == 0    ? "Width"
                          : what->Height == 0 ? "Height"
                                              : "DepthOrArraySize");
    if (what->Dimension == D3D12_RESOURCE_DIMENSION_BUFFER)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s is of a buffer, not of a texture; make a shared one by "
                          "culv_d3d_buffer_create()",
                          name);
    const culvi_d3d12_shape shape = {.desc = *what,
                                     .view = {.desc = name,
                                              .label = d->label,
                                              .cube = d->cube != 0,
                                              .format = d->format,
                                              .texels = d->texels,
                                              .no_surfaces = d->no_surfaces != 0}};
    culvi_plan plan = {.label = d->label, .desc = &shape, .desc_name = name};
    return culvi_shared_image_create(&d3d->base, &plan, out);
}

/* Shadows -------------------------------------------------------------------------------------- */

culv_result culvi_d3d12_create_twin(culv_d3d_shadow *shadow, culv_d3d_image_create_desc *make,
                                    const char *name)
{
    D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(shadow->resource);
    what.Alignment = 0; /* the other's place in its heap */
    make->resource_desc = &what;
    return culvi_d3d12_create_image(shadow->d3d, make, name, &shadow->image);
}

static D3D12_RESOURCE_BARRIER barrier_of(ID3D12Resource *resource, D3D12_RESOURCE_STATES before,
                                         D3D12_RESOURCE_STATES after)
{
    D3D12_RESOURCE_BARRIER barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = resource;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = before;
    barrier.Transition.StateAfter = after;
    return barrier;
}

culv_result culvi_d3d12_record(culv_d3d_shadow *shadow, void *commands, uint32_t state,
                               bool from_twin)
{
    D3D12_RESOURCE_BARRIER barriers[2];
    ID3D12GraphicsCommandList *list = commands;
    ID3D12Resource *twin = (ID3D12Resource *)culv_d3d_image_resource(shadow->image);
    const D3D12_RESOURCE_STATES yours = (D3D12_RESOURCE_STATES)state;
    const D3D12_RESOURCE_STATES in =
        from_twin ? D3D12_RESOURCE_STATE_COPY_DEST : D3D12_RESOURCE_STATE_COPY_SOURCE;
    barriers[0] =
        barrier_of(twin, D3D12_RESOURCE_STATE_COMMON,
                   from_twin ? D3D12_RESOURCE_STATE_COPY_SOURCE : D3D12_RESOURCE_STATE_COPY_DEST);
    barriers[1] = barrier_of(shadow->resource, yours, in);
    /* A transition from a state to itself is none, and Direct3D refuses it. */
    const UINT count = yours != in ? 2 : 1;
    ID3D12GraphicsCommandList_ResourceBarrier(list, count, barriers);
    ID3D12GraphicsCommandList_CopyResource(list, from_twin ? shadow->resource : twin,
                                           from_twin ? twin : shadow->resource);
    for (UINT i = 0; i < 2; i++) {
        const D3D12_RESOURCE_STATES before = barriers[i].Transition.StateBefore;
        barriers[i].Transition.StateBefore = barriers[i].Transition.StateAfter;
        barriers[i].Transition.StateAfter = before;
    }
    ID3D12GraphicsCommandList_ResourceBarrier(list, count, barriers);
    return CULV_OK;
}
