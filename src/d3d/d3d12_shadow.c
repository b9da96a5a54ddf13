/* SPDX-License-Identifier: MIT */
/* culv_d3d12_shadow: a shared twin of a texture that cannot be shared, and the copies between. */
#include "d3d/d3d12_core.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"
#include "d3d/d3d12_resource.h"

#include <inttypes.h>
#include <string.h>

struct culv_d3d12_shadow {
    culv_d3d12_device *d3d12; /* a reference, for messages */
    ID3D12Resource *resource; /* a reference */
    culv_shared_image *image;
    _Atomic uint64_t copies;
    char label[64];
};

culv_result culv_d3d12_shadow_create(culv_d3d12_device *d3d12, const culv_d3d12_shadow_desc *desc,
                                     culv_d3d12_shadow **out)
{
    static const char name[] = "culv_d3d12_shadow_desc";
    culv_d3d12_shadow_desc d;
    culv_d3d12_image_create_desc make = culv_d3d12_image_create_desc_init();
    CULVI_REQUIRE(NULL, d3d12);
    const culvi_voice *voice = culvi_d3d12_voice(d3d12);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.resource == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource is NULL", name);
    D3D12_RESOURCE_DESC what = culvi_d3d12_resource_desc(d.resource);
    what.Alignment = 0; /* the other's place in its heap */
    make.resource_desc = &what;
    make.cube = d.cube;
    make.format = d.format;
    make.texels = d.texels;
    make.no_surfaces = d.no_surfaces;
    make.label = d.label;
    culv_d3d12_shadow *shadow = culvi_alloc(sizeof *shadow);
    if (shadow == NULL) return culvi_fail_host_memory(voice, d.label);
    result = culvi_d3d12_image_create(d3d12, &make, name, &shadow->image);
    if (result != CULV_OK) {
        culvi_free(shadow);
        return result;
    }
    culvi_pair_set_owner(&shadow->image->pair, "culv_d3d12_shadow_destroy");
    shadow->d3d12 = d3d12;
    shadow->resource = d.resource;
    atomic_init(&shadow->copies, 0);
    culvi_label_set(shadow->label, d.label);
    culvi_graphics_ref(&d3d12->base);
    ID3D12Resource_AddRef(shadow->resource);
    culvi_log(
        voice, CULV_LOG_WARNING,
        "texture '%s' is shadowed: CUDA sees a twin of it, and each frame that needs it costs "
        "a copy on the GPU; create it with D3D12_HEAP_FLAG_SHARED where you can",
        shadow->label);
    *out = shadow;
    return CULV_OK;
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

culv_result culv_d3d12_shadow_record(culv_d3d12_shadow *shadow, ID3D12GraphicsCommandList *list,
                                     uint32_t state, culv_bool from_twin)
{
    D3D12_RESOURCE_BARRIER barriers[2];
    CULVI_REQUIRE(NULL, shadow);
    CULVI_REQUIRE(culvi_d3d12_voice(shadow->d3d12), list);
    ID3D12Resource *twin = culv_d3d12_image_resource(shadow->image);
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
    atomic_fetch_add(&shadow->copies, 1);
    return CULV_OK;
}

uint64_t culv_d3d12_shadow_copies(const culv_d3d12_shadow *shadow)
{
    return shadow != NULL ? atomic_load(&shadow->copies) : 0;
}

const culv_shared_image *culv_d3d12_shadow_image(const culv_d3d12_shadow *shadow)
{
    return shadow != NULL ? shadow->image : NULL;
}

void culv_d3d12_shadow_destroy(culv_d3d12_shadow **shadow)
{
    if (shadow == NULL || *shadow == NULL) return;
    culv_d3d12_shadow *mine = *shadow;
    *shadow = NULL;
    culvi_pair_destroy(&mine->image->pair, false, NULL);
    ID3D12Resource_Release(mine->resource);
    culvi_graphics_unref(&mine->d3d12->base);
    culvi_free(mine);
}
