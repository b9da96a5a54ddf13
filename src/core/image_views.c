/* SPDX-License-Identifier: MIT */
/* What an image is reached by: arrays and surface objects of its levels and planes. */
#include "base/alloc.h"
#include "core/image.h"
#include "cuda/context.h"

#include <inttypes.h>

culv_result culvi_image_get_array(culv_image *image, uint32_t slot, CUarray *out)
{
    culv_device *device = image->memory->device;
    bool planes = image->row->planes > 1;
    CUmipmappedArray of = image->arrays[planes ? slot : 0];
    *out = atomic_load_explicit(&image->levels[slot].array, memory_order_relaxed);
    if (*out != NULL) return CULV_OK;
    CUresult r = CULVI_CU(device, cuMipmappedArrayGetLevel, (out, of, planes ? 0 : slot));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, image->label, r, "cuMipmappedArrayGetLevel",
                               CULV_REASON_DRIVER_REFUSED, "%s %" PRIu32 " has no array",
                               planes ? "plane" : "level", slot);
    atomic_store_explicit(&image->levels[slot].array, *out, memory_order_release);
    return CULV_OK;
}

culv_result culvi_image_get_surface(culv_image *image, uint32_t slot, CUsurfObject *out)
{
    culv_device *device = image->memory->device;
    CUDA_RESOURCE_DESC d = {0};
    *out = atomic_load_explicit(&image->levels[slot].surface, memory_order_relaxed);
    if (*out != 0) return CULV_OK;
    culv_result result = culvi_image_get_array(image, slot, &d.res.array.hArray);
    if (result != CULV_OK) return result;
    d.resType = CU_RESOURCE_TYPE_ARRAY;
    CUresult r = CULVI_CU(device, cuSurfObjectCreate, (out, &d));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, image->label, r, "cuSurfObjectCreate",
                               CULV_REASON_DRIVER_REFUSED,
                               "level or plane %" PRIu32 " could not be made a surface", slot);
    atomic_store_explicit(&image->levels[slot].surface, *out, memory_order_release);
    return CULV_OK;
}

/* The first call for a slot: asks the driver. */
static culv_result ask(culv_image *image, uint32_t slot, CUarray *array, CUsurfObject *surface)
{
    culv_device *device = image->memory->device;
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_enter(device, &scope, image->label);
    if (result == CULV_OK) {
        result = surface != NULL ? culvi_image_get_surface(image, slot, surface)
                                 : culvi_image_get_array(image, slot, array);
        culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    return result;
}

static culv_result array_of(culv_image *image, uint32_t slot, CUarray *out)
{
    culv_result result = CULV_OK;
    CUarray array = atomic_load_explicit(&image->levels[slot].array, memory_order_acquire);
    if (array == NULL || image->memory->device->lost) result = ask(image, slot, &array, NULL);
    if (result == CULV_OK) *out = array;
    return result;
}

static culv_result surface_of(culv_image *image, uint32_t slot, CUsurfObject *out)
{
    culv_result result = CULV_OK;
    CUsurfObject surface = atomic_load_explicit(&image->levels[slot].surface, memory_order_acquire);
    if (surface == 0 || image->memory->device->lost) result = ask(image, slot, NULL, &surface);
    if (result == CULV_OK) *out = surface;
    return result;
}

static culv_result no_surfaces(const culv_image *image, bool by_format)
{
    return culvi_fail(
        &image->memory->device->voice, image->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
        by_format
            ? "kernels have no surfaces of the format %s; "
              "use copies of whole blocks or textures"
            : "the image (%s) was mapped with no_surfaces (without CUDA_ARRAY3D_SURFACE_LDST), so it has no surfaces",
        image->row->name);
}

static culv_result check(const culv_image *image, uint32_t level, uint32_t plane, const void *out,
                         const char *call)
{
    culv_result result =
        culvi_image_check_call(image, level, culvi_image_levels(image), "level", out, call);
    if (result == CULV_OK)
        result = culvi_image_check_call(image, plane, image->row->planes, "plane", out, call);
    return result == CULV_OK ? culvi_image_check_arrays(image) : result;
}

culv_result culv_image_get_array(culv_image *image, uint32_t level, uint32_t plane, CUarray *out)
{
    culv_result result = check(image, level, plane, out, "culv_image_get_array");
    return result == CULV_OK ? array_of(image, culvi_image_slot(image, level, plane), out) : result;
}

culv_result culv_image_get_surface(culv_image *image, uint32_t level, uint32_t plane,
                                   CUsurfObject *out)
{
    culv_result result = check(image, level, plane, out, "culv_image_get_surface");
    if (result != CULV_OK) return result;
    if (!image->surfaces || (image->row->planes == 1 && !image->row->surfaces))
        return no_surfaces(image, image->row->planes == 1 && !image->row->surfaces);
    return surface_of(image, culvi_image_slot(image, level, plane), out);
}

bool culvi_image_release_views(culv_device *device, culv_image *image, bool last_try)
{
    for (uint32_t i = 0; i < image->slots; i++) {
        CUsurfObject surface =
            atomic_load_explicit(&image->levels[i].surface, memory_order_relaxed);
        if (surface == 0) continue;
        if (!CULVI_RELEASED(device, last_try, cuSurfObjectDestroy, (surface))) return false;
        atomic_store_explicit(&image->levels[i].surface, 0, memory_order_relaxed);
    }
    culvi_texture *texture;
    while ((texture = atomic_load_explicit(&image->textures, memory_order_relaxed)) != NULL) {
        if (!CULVI_RELEASED(device, last_try, cuTexObjectDestroy, (texture->object))) return false;
        atomic_store_explicit(&image->textures, texture->next, memory_order_relaxed);
        culvi_free(texture);
    }
    return true;
}
