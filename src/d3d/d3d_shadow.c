/* SPDX-License-Identifier: MIT */
/* culv_d3d_shadow: a shared twin of a texture that cannot be shared, and the copies between. */
#include "d3d/d3d_attach.h"
/* after it */
#include "base/alloc.h"
#include "base/desc.h"

culv_result culv_d3d_shadow_create(culv_d3d_device *d3d, const culv_d3d_shadow_desc *desc,
                                   culv_d3d_shadow **out)
{
    static const char name[] = "culv_d3d_shadow_desc";
    culv_d3d_shadow_desc d;
    culv_d3d_image_create_desc make = culv_d3d_image_create_desc_init();
    void *resource = NULL;
    CULVI_REQUIRE(NULL, d3d);
    const culvi_voice *voice = culvi_d3d_voice(d3d);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, name);
    if (result != CULV_OK) return result;
    if (d.resource == NULL)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "%s.resource is NULL", name);
    if (d.keyed_mutex != 0 && d3d->of != &culvi_d3d11)
        return culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.keyed_mutex is Direct3D 11's, and the device is an %s; leave it 0",
                          name, d3d->of->device_name);
    result = culvi_d3d_as(d3d, d.label, d.resource, &d3d->of->resource_iid, d3d->of->resource_name,
                          &resource);
    if (result != CULV_OK) return result;
    make.cube = d.cube;
    make.format = d.format;
    make.texels = d.texels;
    make.no_surfaces = d.no_surfaces;
    make.keyed_mutex = d.keyed_mutex;
    make.label = d.label;
    culv_d3d_shadow *shadow = culvi_alloc(sizeof *shadow);
    if (shadow == NULL) return culvi_fail_host_memory(voice, d.label);
    shadow->d3d = d3d;
    shadow->resource = resource;
    shadow->levels = 1;
    result = d3d->of->create_twin(shadow, &make, name);
    if (result != CULV_OK) {
        culvi_free(shadow);
        return result;
    }
    culvi_pair_set_owner(&shadow->image->pair, "culv_d3d_shadow_destroy");
    culvi_label_set(shadow->label, d.label);
    culvi_graphics_ref(&d3d->base);
    IUnknown_AddRef((IUnknown *)resource);
    culvi_log(voice, CULV_LOG_WARNING,
              "texture '%s' is shadowed: CUDA sees a twin of %s, and each frame that needs it "
              "costs a copy on the GPU; create it with %s%s where you can",
              shadow->label, shadow->levels > 1 ? "its first level" : "it", d3d->of->unshared,
              shadow->levels > 1 ? " and one level" : "");
    *out = shadow;
    return CULV_OK;
}

culv_result culv_d3d_shadow_record(culv_d3d_shadow *shadow, IUnknown *commands, uint32_t state,
                                   culv_bool from_twin)
{
    void *as = NULL;
    CULVI_REQUIRE(NULL, shadow);
    const culv_d3d_device *d3d = shadow->d3d;
    CULVI_REQUIRE(culvi_d3d_voice(d3d), commands);
    culv_result result = culvi_d3d_as(d3d, shadow->label, commands, &d3d->of->commands_iid,
                                      d3d->of->commands_name, &as);
    if (result == CULV_OK) result = d3d->of->record(shadow, as, state, from_twin != 0);
    return result;
}

const culv_shared_image *culv_d3d_shadow_image(const culv_d3d_shadow *shadow)
{
    return shadow != NULL ? shadow->image : NULL;
}

void culv_d3d_shadow_destroy(culv_d3d_shadow **shadow)
{
    if (shadow == NULL || *shadow == NULL) return;
    culv_d3d_shadow *mine = *shadow;
    *shadow = NULL;
    culvi_pair_destroy(&mine->image->pair, NULL);
    IUnknown_Release((IUnknown *)mine->resource);
    culvi_graphics_unref(&mine->d3d->base);
    culvi_free(mine);
}
