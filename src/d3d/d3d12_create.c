/* SPDX-License-Identifier: MIT */
/* Buffers and textures that Culvert makes. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/desc.h"
#include "d3d/d3d12_resource.h"

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
    const culv_d3d12_device *d3d12 = culvi_d3d12_of(graphics);
    const culvi_d3d12_shape *shape = plan->desc;
    D3D12_HEAP_PROPERTIES heap;
    ID3D12Resource *resource = NULL;
    memset(&heap, 0, sizeof heap);
    heap.Type = D3D12_HEAP_TYPE_DEFAULT;
    const HRESULT hr = ID3D12Device_CreateCommittedResource(
        d3d12->device, &heap, D3D12_HEAP_FLAG_SHARED, &shape->desc, D3D12_RESOURCE_STATE_COMMON,
        NULL, &culvi_iid_d3d12_resource, (void **)&resource);
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
                          .size = culvi_d3d12_allocation_size(d3d12->device, &made),
                          .usage = (uint32_t)made.Flags,
                          .is_image = plan->is_image,
                          .dedicated = true};
    return CULV_OK;
}

void culvi_d3d12_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    ID3D12Resource *resource = culvi_d3d_object(native->object);
    (void)graphics;
    if (resource != NULL) ID3D12Resource_Release(resource);
}

/* Buffers -------------------------------------------------------------------------------------- */

/* Direct3D itself answers E_INVALIDARG, which names nothing. */
static culv_result check_buffer_size(const culv_d3d12_device *d3d12,
                                     const culv_d3d12_buffer_create_desc *d)
{
    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT bits = {0, 0};
    const HRESULT hr = ID3D12Device_CheckFeatureSupport(
        d3d12->device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, &bits, sizeof bits);
    const UINT most = SUCCEEDED(hr) ? bits.MaxGPUVirtualAddressBitsPerResource : 0;
    if (most == 0 || most > 63 || d->size <= UINT64_C(1) << most) return CULV_OK;
    return culvi_fail(culvi_d3d12_voice(d3d12), d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "culv_d3d12_buffer_create_desc.size is %" PRIu64
                      "; a resource of this device has %" PRIu64 " bytes at most",
                      d->size, UINT64_C(1) << most);
}

culv_result culv_d3d12_buffer_create(culv_d3d12_device *d3d12,
                                     const culv_d3d12_buffer_create_desc *desc,
                                     culv_shared_buffer **out)
{
    culv_d3d12_buffer_create_desc d;
    culvi_d3d12_shape shape;
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result =
        culvi_desc_read(voice, &d, sizeof d, desc, "culv_d3d12_buffer_create_desc");
    if (result != CULV_OK) return result;
    if (d.size == 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "culv_d3d12_buffer_create_desc.size is 0");
    result = check_buffer_size(d3d12, &d);
    if (result != CULV_OK) return result;
    memset(&shape, 0, sizeof shape);
    shape.desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    shape.desc.Width = d.size;
    shape.desc.Height = 1;
    shape.desc.DepthOrArraySize = 1;
    shape.desc.MipLevels = 1;
    shape.desc.SampleDesc.Count = 1;
    shape.desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    shape.desc.Flags = (D3D12_RESOURCE_FLAGS)d.resource_flags;
    culvi_plan plan = {
        .label = d.label, .desc = &shape, .desc_name = "culv_d3d12_buffer_create_desc"};
    return culvi_shared_buffer_create(&d3d12->base, &plan, out);
}

ID3D12Resource *culv_d3d12_buffer_resource(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_d3d12_api);
    return half != NULL ? culvi_d3d_object(half->object) : NULL;
}

/* Textures ------------------------------------------------------------------------------------- */

culv_result culvi_d3d12_image_create(culv_d3d12_device *d3d12,
                                     const culv_d3d12_image_create_desc *d, const char *name,
                                     culv_shared_image **out)
{
    const D3D12_RESOURCE_DESC *what = d->resource_desc;
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    if (what->Dimension == D3D12_RESOURCE_DIMENSION_BUFFER)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                          "%s is of a buffer, not of a texture; make a shared one by "
                          "culv_d3d12_buffer_create()",
                          name);
    const culvi_d3d12_shape shape = {.desc = *what,
                                     .view = {.desc = name,
                                              .label = d->label,
                                              .cube = d->cube != 0,
                                              .format = d->format,
                                              .texels = d->texels,
                                              .no_surfaces = d->no_surfaces != 0}};
    culvi_plan plan = {.label = d->label, .desc = &shape, .desc_name = name};
    return culvi_shared_image_create(&d3d12->base, &plan, out);
}

culv_result culv_d3d12_image_create(culv_d3d12_device *d3d12,
                                    const culv_d3d12_image_create_desc *desc,
                                    culv_shared_image **out)
{
    static const char name[] = "culv_d3d12_image_create_desc";
    culv_d3d12_image_create_desc d;
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.resource_desc == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource_desc is NULL", name);
    const D3D12_RESOURCE_DESC *what = d.resource_desc;
    if (what->Width == 0 || what->Height == 0 || what->DepthOrArraySize == 0)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "%s.resource_desc->%s is 0", name,
                          what->Width == 0    ? "Width"
                          : what->Height == 0 ? "Height"
                                              : "DepthOrArraySize");
    return culvi_d3d12_image_create(d3d12, &d, name, out);
}

ID3D12Resource *culv_d3d12_image_resource(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_d3d12_api);
    return half != NULL ? culvi_d3d_object(half->object) : NULL;
}
