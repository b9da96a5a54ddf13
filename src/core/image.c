/* SPDX-License-Identifier: MIT */
/* culv_image: mipmapped arrays on imported memory, what is mapped and when it goes. */
#include "core/image.h"

#include "core/staging.h"

uint32_t culvi_level_size(uint32_t size, uint32_t level)
{
    size = level < 32 ? size >> level : 0;
    return size != 0 ? size : 1;
}

uint32_t culvi_image_most_levels(uint32_t width, uint32_t height, uint32_t depth)
{
    uint32_t most = 1;
    while (most < 32 && (width >> most != 0 || height >> most != 0 || depth >> most != 0))
        most++;
    return most;
}

static void explicit_defaults(culv_image_desc *d)
{
    if (d->type == CULV_IMAGE_1D && d->height == 0) d->height = 1;
    if (d->type != CULV_IMAGE_3D && d->depth == 0) d->depth = 1;
    if (d->array_layers == 0) d->array_layers = d->type == CULV_IMAGE_CUBE ? 6 : 1;
    if (d->mip_levels == 0) d->mip_levels = 1;
}

/* The array first: its destruction waits for the context's work, that of a surface does not
 * (measured), so no surface goes while a kernel may still use it. */
static bool release_image(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_image *image = CULVI_CONTAINER(self, culv_image, deferred);
    culv_memory *memory = image->memory;
    if (!culvi_image_release_arrays(device, image, last_try)) return false;
    if (!culvi_image_release_views(device, image, last_try)) return false;
    bool linear = image->staging != NULL && image->staging->linear;
    if (image->staging != NULL && !culvi_staging_release(device, memory, &image->staging, last_try))
        return false;
    CULVI_LIST_REMOVE(image);
    if (linear) memory->buffers--;
    memory->refs--;
    culvi_free(image);
    culvi_memory_release_unused(memory, true, last_try);
    return true;
}

culv_image *culvi_image_new(culv_memory *memory, const culvi_format *row,
                            const culv_image_desc *desc, const char *label)
{
    const uint32_t slots = row->planes > 1 ? row->planes : desc->mip_levels;
    culv_image *image = culvi_alloc_for(&memory->device->voice, label,
                                        sizeof *image + slots * sizeof image->levels[0]);
    if (image == NULL) return NULL;
    image->memory = memory;
    image->row = row;
    image->desc = *desc;
    image->desc.label = NULL;
    image->surfaces = !desc->no_surfaces;
    image->slots = slots;
    culvi_label_set(image->label, label);
    return image;
}

culv_result culv_image_map(culv_memory *memory, const culv_image_desc *desc, culv_image **out)
{
    CULVI_REQUIRE_WITH2(memory, &memory->device->voice, desc, out);
    culv_device *device = memory->device;
    CULVI_READ(&device->voice, culv_image_desc, d, desc);
    const char *label = d.label != NULL ? d.label : memory->label;
    const culvi_format *row = culvi_format_find((uint32_t)d.format);
    char kept[64]; /* the caller's may be the last thing that d points to */
    culvi_label_set(kept, label);
    explicit_defaults(&d);
    CULVI_TRY(culvi_image_check_desc(memory, row, &d, kept));
    if (row->planes == 1 && !row->surfaces) d.no_surfaces = 1;
    culv_image *image = culvi_image_new(memory, row, &d, kept);
    if (image == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_image_make_arrays(image);
    if (result == CULV_OK) {
        memory->refs++;
        memory->holders++;
        device->counts.images++;
        CULVI_LIST_ADD(memory->first_image, image);
    } else if (image->arrays[0] !=
               NULL) { /* some planes' arrays: a collection releases them, since that may wait */
        memory->refs++;
        image->deferred.release = release_image;
        culvi_defer(device, &image->deferred);
        image = NULL;
    }
    culvi_mutex_unlock(&device->lock);
    CULVI_TRY_OR(result, culvi_free(image));
    culvi_device_ref(device);
    culvi_made(device, &image->deferred, "image", image->label, memory->size);
    *out = image;
    return CULV_OK;
}

void culvi_image_release_or_defer(culv_image *image, const CUstream *last_use)
{
    culv_device *device = image->memory->device;
    image->deferred.release = release_image;
    culvi_mutex_lock(&device->lock);
    device->counts.images--;
    culvi_memory_drop_holder(image->memory);
    culvi_release_or_defer(device, &image->deferred, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

culv_result culv_image_unmap(culv_image **image, const CUstream *last_use)
{
    if (image == NULL || *image == NULL) return CULV_OK;
    culv_image *mine = *image;
    if (culvi_refuse_owned(mine->memory->device, mine->label, CULVI_CUDA_HALF,
                           mine->owner_destroy_call, __func__))
        return CULV_ERROR_INVALID;
    *image = NULL;
    culvi_image_release_or_defer(mine, last_use);
    return CULV_OK;
}

culv_result culvi_image_check_call(const culv_image *image, uint32_t index, uint32_t count,
                                   const char *what, const void *out, const char *call)
{
    CULVI_REQUIRE_IN(NULL, call, image);
    CULVI_REQUIRE_IN(&image->memory->device->voice, call, out);
    if (index < count) return CULV_OK;
    return culvi_fail(&image->memory->device->voice, image->label, CULV_ERROR_INVALID,
                      CULV_REASON_LEVEL, "%s: %s %" PRIu32 " of an image that has %" PRIu32, call,
                      what, index, count);
}

culv_result culv_image_get_desc(const culv_image *image, culv_image_desc *out)
{
    CULVI_TRY(culvi_image_check_call(image, 0, 1, "level", out, "culv_image_get_desc"));
    CULVI_TRY(culvi_struct_check(&image->memory->device->voice, out, "culv_image_desc"));
    culvi_struct_write(out, &image->desc, sizeof image->desc);
    return CULV_OK;
}
