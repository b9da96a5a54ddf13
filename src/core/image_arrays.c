/* SPDX-License-Identifier: MIT */
/* The arrays of an image: what CUDA is told of it, mapped on imported memory or made of its own. Of
 * several planes each is an array by itself: CUDA's own arrays of several planes look for the
 * second one in another place than where the graphics driver has it (docs/formats.md). */
#include "core/staging.h"

/* cuda.h, cuArray3DCreate: how the kinds of array are told apart. No graphics API ever draws into
 * CUDA's own. */
CUDA_ARRAY3D_DESCRIPTOR culvi_image_describe(const culv_image *image, uint32_t plane)
{
    const culv_image_desc *d = &image->desc;
    const culvi_format *row = image->row;
    bool normalized = d->texels == CULV_TEXELS_NORMALIZED;
    bool layered = d->array_layers > (d->type == CULV_IMAGE_CUBE ? 6u : 1u);
    uint32_t across = 1, down = 1;
    CUDA_ARRAY3D_DESCRIPTOR a = {0};
    if (row->planes > 1) row = culvi_format_plane(row, plane, &across, &down);
    a.Width = d->width / across;
    a.Height = d->type == CULV_IMAGE_1D ? 0 : d->height / down;
    if (d->type == CULV_IMAGE_3D) a.Depth = d->depth;
    if (layered || d->type == CULV_IMAGE_CUBE) a.Depth = d->array_layers;
    a.Format = normalized ? row->normalized_format : row->cuda_format;
    a.NumChannels = normalized ? row->normalized_channels : row->channels;
    a.Flags = (layered ? CUDA_ARRAY3D_LAYERED : 0u) |
              (d->type == CULV_IMAGE_CUBE ? CUDA_ARRAY3D_CUBEMAP : 0u) |
              (d->no_surfaces ? 0u : CUDA_ARRAY3D_SURFACE_LDST) |
              (d->color_attachment && !image->memory->own ? CUDA_ARRAY3D_COLOR_ATTACHMENT : 0u) |
              (d->texture_gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0u) |
              (d->video_encode_decode ? CUDA_ARRAY3D_VIDEO_ENCODE_DECODE : 0u);
    return a;
}

/* NVIDIA's Vulkan spaces the layers of an image of more levels than one as a whole chain of levels
 * needs, whatever it was created with, and CUDA as the levels that it is told need: it is told the
 * whole chain (measured, docs/measured/nvidia-measured.md; of one level a longer chain is refused).
 * Mesa, and the twin after it, counts the levels there are. */
static unsigned mapped_levels(const culv_image *image)
{
    const culv_image_desc *d = &image->desc;
    if (d->mip_levels == 1 || d->array_layers == 1 || image->memory->own ||
        image->memory->device->caps.is_software)
        return d->mip_levels;
    return culvi_image_most_levels(d->width, d->height, d->depth);
}

static uint64_t offset_of(const culv_image *image, uint32_t plane)
{
    return image->row->planes > 1 ? image->desc.plane_offsets[plane] : image->desc.offset;
}

static culv_result fail(const culv_image *image, uint32_t plane, CUresult r, const char *call)
{
    const culv_image_desc *d = &image->desc;
    const culv_memory *memory = image->memory;
    char whose[32] = "", where[192] = ", could not be made on CUDA's side";
    culvi_text what = {whose, sizeof whose, 0}, text = {where, sizeof where, 0};
    if (image->row->planes > 1) culvi_text_add(&what, "plane %" PRIu32 " of ", plane);
    if (mapped_levels(image) != d->mip_levels)
        culvi_text_add(
            &text,
            " (mapped with the %u levels of a whole chain, since NVIDIA's driver spaces the layers for those)",
            mapped_levels(image));
    if (!memory->own)
        culvi_text_add(&text, ", at offset %" PRIu64 " of %" PRIu64 " bytes could not be mapped",
                       offset_of(image, plane), memory->size);
    return culvi_fail_cuda(memory->device, image->label, r, call,
                           r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_EXTENT
                                                         : CULV_REASON_DRIVER_REFUSED,
                           "%sthe %s image of %" PRIu32 " x %" PRIu32 " x %" PRIu32 ", %" PRIu32
                           " layers, %" PRIu32 " levels%s",
                           whose, image->row->name, d->width, d->height, d->depth, d->array_layers,
                           d->mip_levels, where);
}

static culv_result make(culv_image *image, uint32_t plane)
{
    culv_memory *memory = image->memory;
    culv_device *device = memory->device;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC m = {0};
    CUmipmappedArray *out = &image->arrays[plane];
    m.offset = offset_of(image, plane);
    m.arrayDesc = culvi_image_describe(image, plane);
    m.numLevels = mapped_levels(image);
    CUresult r = memory->own
                     ? CULVI_CU(device, cuMipmappedArrayCreate, (out, &m.arrayDesc, m.numLevels))
                     : CULVI_CU(device, cuExternalMemoryGetMappedMipmappedArray,
                                (out, memory->external, &m));
    if (r == CUDA_SUCCESS) return CULV_OK;
    *out = NULL;
    return fail(image, plane, r,
                memory->own ? "cuMipmappedArrayCreate" : "cuExternalMemoryGetMappedMipmappedArray");
}

/* The first one, which counts, goes last. */
static bool destroy(culv_device *device, culv_image *image, bool last_try)
{
    for (uint32_t plane = CULVI_PLANES; plane-- > 0;) {
        if (image->arrays[plane] == NULL) continue;
        if (!CULVI_RELEASED(device, last_try, cuMipmappedArrayDestroy, (image->arrays[plane])))
            return false;
        image->arrays[plane] = NULL;
    }
    return culvi_image_destroy_packed(device, image, last_try);
}

culv_result culvi_image_make_arrays(culv_image *image)
{
    culv_memory *memory = image->memory;
    culv_device *device = memory->device;
    culvi_scope scope;
    culv_result result = culvi_enter(device, &scope, image->label);
    if (result != CULV_OK) return result;
    if (memory->own && image->row->kind == CULV_TEXEL_KIND_SUBSAMPLED) {
        CUresult r = culvi_image_create_packed(image);
        if (r != CUDA_SUCCESS) result = fail(image, 0, r, "cuArray3DCreate");
    } else
        for (uint32_t plane = 0; result == CULV_OK && plane < image->row->planes; plane++)
            result = make(image, plane);
    if (result == CULV_OK || image->arrays[0] != NULL)
        ++*(memory->own ? &device->counts.allocations : &device->counts.mappings);
    culvi_leave(device, &scope);
    return result;
}

bool culvi_image_release_arrays(culv_device *device, culv_image *image, bool last_try)
{
    bool has = image->arrays[0] != NULL || image->packed;
    if (!destroy(device, image, last_try)) return false;
    if (has) --*(image->memory->own ? &device->counts.allocations : &device->counts.mappings);
    return true;
}

/* What an image is reached by: arrays and surface objects of its levels and planes ------------- */

culv_result culvi_image_get_array(culv_image *image, uint32_t slot, CUarray *out)
{
    culv_device *device = image->memory->device;
    bool planes = image->row->planes > 1;
    CUmipmappedArray of = image->arrays[planes ? slot : 0];
    *out = atomic_load_explicit(&image->levels[slot].array, memory_order_relaxed);
    if (*out != NULL) return CULV_OK;
    CULVI_CU_TRY(device, image->label, cuMipmappedArrayGetLevel, (out, of, planes ? 0 : slot),
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
    CULVI_TRY(culvi_image_get_array(image, slot, &d.res.array.hArray));
    d.resType = CU_RESOURCE_TYPE_ARRAY;
    CULVI_CU_TRY(device, image->label, cuSurfObjectCreate, (out, &d), CULV_REASON_DRIVER_REFUSED,
                 "level or plane %" PRIu32 " could not be made a surface", slot);
    atomic_store_explicit(&image->levels[slot].surface, *out, memory_order_release);
    return CULV_OK;
}

/* The first call for a slot: asks the driver. */
static culv_result ask(culv_image *image, uint32_t slot, CUarray *array, CUsurfObject *surface)
{
    culv_device *device = image->memory->device;
    culvi_mutex_lock(&device->lock);
    culv_result result;
    CULVI_INSIDE(result, device, image->label,
                 surface != NULL ? culvi_image_get_surface(image, slot, surface)
                                 : culvi_image_get_array(image, slot, array));
    culvi_mutex_unlock(&device->lock);
    return result;
}

static culv_result check(const culv_image *image, uint32_t level, uint32_t plane, const void *out,
                         const char *call)
{
    CULVI_TRY(culvi_image_check_call(image, level, culvi_image_levels(image), "level", out, call));
    CULVI_TRY(culvi_image_check_call(image, plane, image->row->planes, "plane", out, call));
    return culvi_image_check_arrays(image);
}

culv_result culv_image_get_array(culv_image *image, uint32_t level, uint32_t plane, CUarray *out)
{
    CULVI_TRY(check(image, level, plane, out, "culv_image_get_array"));
    const uint32_t slot = culvi_image_slot(image, level, plane);
    CUarray array = atomic_load_explicit(&image->levels[slot].array, memory_order_acquire);
    if (array == NULL || image->memory->device->lost) CULVI_TRY(ask(image, slot, &array, NULL));
    *out = array;
    return CULV_OK;
}

culv_result culv_image_get_surface(culv_image *image, uint32_t level, uint32_t plane,
                                   CUsurfObject *out)
{
    CULVI_TRY(check(image, level, plane, out, "culv_image_get_surface"));
    const bool by_format = image->row->planes == 1 && !image->row->surfaces;
    CULVI_REFUSE_IF(
        !image->surfaces || by_format, &image->memory->device->voice, image->label,
        CULV_REASON_USAGE,
        by_format
            ? "kernels have no surfaces of the format %s; use copies of whole blocks or textures"
            : "the image (%s) was mapped with no_surfaces (without CUDA_ARRAY3D_SURFACE_LDST), so it has no surfaces",
        image->row->name);
    const uint32_t slot = culvi_image_slot(image, level, plane);
    CUsurfObject surface = atomic_load_explicit(&image->levels[slot].surface, memory_order_acquire);
    if (surface == 0 || image->memory->device->lost) CULVI_TRY(ask(image, slot, NULL, &surface));
    *out = surface;
    return CULV_OK;
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
