/* culv_image: mipmapped arrays on imported memory, their level arrays and surfaces.
 * SPDX-License-Identifier: MIT */
#include "object.h"

#include <inttypes.h>

static uint32_t level_size(uint32_t size, uint32_t level)
{
    size = level < 32 ? size >> level : 0;
    return size != 0 ? size : 1;
}

uint32_t culvi_image_most_levels(uint32_t width, uint32_t height)
{
    uint32_t most = 1;
    while (most < 32 && (width >> most != 0 || height >> most != 0))
        most++;
    return most;
}

/* CUDA's limit of a 2D surface is 131,072 texels a side; it also keeps the sizes below within 64 bits. */
enum { MAX_SIDE = 131072 };

/* Bytes that the texels alone need, whatever the layout adds. */
static uint64_t least_size(const culvi_format *format, const culv_image_desc *d)
{
    uint64_t bytes = 0;
    for (uint32_t level = 0; level < d->mip_levels; level++)
        bytes += (uint64_t)level_size(d->width, level) * level_size(d->height, level) * format->texel_bytes;
    return bytes;
}

static culv_result check_desc(const culv_memory *memory, const culvi_format *format, const culv_image_desc *d,
                              const char *label)
{
    const culvi_voice *voice = &memory->device->voice;
    if (format == NULL)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "culv_image_desc.format is %u, which this version does not map; culvert/format.h "
                          "lists the formats",
                          (unsigned)d->format);
    if (d->width == 0 || d->height == 0 || d->width > MAX_SIDE || d->height > MAX_SIDE)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "the image's extent is %" PRIu32 " x %" PRIu32 "; each side has 1 to %d texels",
                          d->width, d->height, (int)MAX_SIDE);
    uint32_t most = culvi_image_most_levels(d->width, d->height);
    if (d->mip_levels > most)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "mip_levels is %" PRIu32 ", but %" PRIu32 " x %" PRIu32 " texels have %" PRIu32
                          " levels at most",
                          d->mip_levels, d->width, d->height, most);
    if (memory->dedicated && d->offset != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "the import is dedicated, but the image is said to lie at offset %" PRIu64
                          "; a dedicated allocation holds its one resource at offset 0",
                          d->offset);
    uint64_t least = least_size(format, d);
    if (d->offset >= memory->size || least > memory->size - d->offset)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "the image's texels need %" PRIu64 " bytes from offset %" PRIu64
                          " on, but the allocation has %" PRIu64 " bytes; is the extent, the format or the "
                          "memoryOffset of vkBindImageMemory another one?",
                          least, d->offset, memory->size);
    return CULV_OK;
}

/* The caller holds the lock. */
static culv_result map_array(culv_image *image, const culvi_format *format, const culv_image_desc *d)
{
    culv_memory *memory = image->memory;
    culv_device *device = memory->device;
    culvi_scope scope;
    culv_result result = culvi_enter(device, &scope, image->label);
    if (result != CULV_OK) return result;
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC m = {0};
    m.offset = d->offset;
    m.arrayDesc.Width = d->width;
    m.arrayDesc.Height = d->height;
    m.arrayDesc.Format = format->cuda_format;
    m.arrayDesc.NumChannels = format->channels;
    m.arrayDesc.Flags = (d->no_surfaces ? 0u : CUDA_ARRAY3D_SURFACE_LDST) |
                        (d->attachment ? CUDA_ARRAY3D_COLOR_ATTACHMENT : 0u);
    m.numLevels = d->mip_levels;
    CUresult r =
        CULVI_CU(device, cuExternalMemoryGetMappedMipmappedArray, (&image->array, memory->external, &m));
    if (r != CUDA_SUCCESS)
        result =
            culvi_fail_cuda(device, image->label, r, "cuExternalMemoryGetMappedMipmappedArray",
                            r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_EXTENT : CULV_REASON_DRIVER_REFUSED,
                            "the %s image of %" PRIu32 " x %" PRIu32 ", %" PRIu32
                            " levels, at offset %" PRIu64 " of %" PRIu64 " bytes could not be mapped",
                            format->name, d->width, d->height, d->mip_levels, d->offset, memory->size);
    else
        device->counts.mappings++;
    culvi_leave(device, &scope);
    return result;
}

culv_result culv_image_map(culv_memory *memory, const culv_image_desc *desc, culv_image **out)
{
    culv_image_desc d;
    if (memory == NULL || desc == NULL || out == NULL)
        return culvi_fail(memory != NULL ? &memory->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "culv_image_map: %s is NULL",
                          memory == NULL ? "memory"
                          : desc == NULL ? "desc"
                                         : "out");
    culv_device *device = memory->device;
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_image_desc");
    if (result != CULV_OK) return result;
    const char *label = d.label != NULL ? d.label : memory->label;
    if (d.mip_levels == 0) d.mip_levels = 1;
    const culvi_format *format = culvi_format_find((uint32_t)d.format);
    result = check_desc(memory, format, &d, label);
    if (result != CULV_OK) return result;
    culv_image *image = culvi_alloc(sizeof *image + d.mip_levels * sizeof image->levels[0]);
    if (image == NULL) return culvi_fail_host_memory(&device->voice, label);
    image->memory = memory;
    image->format = format->format;
    image->width = d.width;
    image->height = d.height;
    image->mip_levels = d.mip_levels;
    image->surfaces = !d.no_surfaces;
    culvi_label_set(image->label, label);
    for (uint32_t i = 0; i < d.mip_levels; i++) {
        atomic_init(&image->levels[i].array, NULL);
        atomic_init(&image->levels[i].surface, 0);
    }
    culvi_mutex_lock(&device->lock);
    result = map_array(image, format, &d);
    if (result == CULV_OK) {
        memory->refs++;
        device->counts.images++;
    }
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK) {
        culvi_free(image);
        return result;
    }
    culvi_device_ref(device);
    *out = image;
    return CULV_OK;
}

/* The array first: its destruction waits for the context's work, that of a surface does not (measured), so no
 * surface goes while a kernel may still use it. */
static bool release_image(culv_device *device, culvi_retired *self, bool last_try)
{
    culv_image *image = CULVI_CONTAINER(self, culv_image, retired);
    culv_memory *memory = image->memory;
    if (image->array != NULL) {
        CUresult r = CULVI_RELEASE(device, cuMipmappedArrayDestroy, (image->array));
        if (!culvi_release_done(device, "cuMipmappedArrayDestroy", r, last_try)) return false;
        image->array = NULL;
        device->counts.mappings--;
    }
    for (uint32_t i = 0; i < image->mip_levels; i++) {
        CUsurfObject surface = atomic_load_explicit(&image->levels[i].surface, memory_order_relaxed);
        if (surface == 0) continue;
        CUresult r = CULVI_RELEASE(device, cuSurfObjectDestroy, (surface));
        if (!culvi_release_done(device, "cuSurfObjectDestroy", r, last_try)) return false;
        atomic_store_explicit(&image->levels[i].surface, 0, memory_order_relaxed);
    }
    memory->refs--;
    culvi_free(image);
    culvi_memory_settle(memory, true, last_try);
    return true;
}

void culvi_image_give_up(culv_image *image, bool has_last_use, CUstream last_use)
{
    culv_device *device = image->memory->device;
    image->retired.release = release_image;
    culvi_mutex_lock(&device->lock);
    device->counts.images--;
    culvi_retire(device, &image->retired, has_last_use, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

static void unmap(culv_image **image, const char *call, bool has_last_use, CUstream last_use)
{
    if (image == NULL || *image == NULL) return;
    culv_image *mine = *image;
    if (culvi_refuse_owned(mine->memory->device, mine->label, mine->owned, call, "culv_vk_image_destroy"))
        return;
    *image = NULL;
    culvi_image_give_up(mine, has_last_use, last_use);
}

void culv_image_unmap(culv_image **image)
{
    unmap(image, "culv_image_unmap", false, NULL);
}

void culv_image_unmap_after(culv_image **image, CUstream last_use)
{
    unmap(image, "culv_image_unmap_after", true, last_use);
}

CUmipmappedArray culv_image_mipmapped_array(const culv_image *image)
{
    return image != NULL ? image->array : NULL;
}

static culv_result check_call(const culv_image *image, uint32_t level, const void *out, const char *call)
{
    if (image == NULL || out == NULL)
        return culvi_fail(image != NULL ? &image->memory->device->voice : NULL, NULL, CULV_ERROR_INVALID,
                          CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL", call, image == NULL ? "image" : "out");
    if (level < image->mip_levels) return CULV_OK;
    return culvi_fail(&image->memory->device->voice, image->label, CULV_ERROR_INVALID, CULV_REASON_LEVEL,
                      "%s: level %" PRIu32 " of an image that has %" PRIu32, call, level, image->mip_levels);
}

/* In the device's context; the caller holds the lock. */
static culv_result get_array(culv_image *image, uint32_t level, CUarray *out)
{
    culv_device *device = image->memory->device;
    *out = atomic_load_explicit(&image->levels[level].array, memory_order_relaxed);
    if (*out != NULL) return CULV_OK;
    CUresult r = CULVI_CU(device, cuMipmappedArrayGetLevel, (out, image->array, level));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, image->label, r, "cuMipmappedArrayGetLevel",
                               CULV_REASON_DRIVER_REFUSED, "level %" PRIu32 " has no array", level);
    atomic_store_explicit(&image->levels[level].array, *out, memory_order_release);
    return CULV_OK;
}

static culv_result get_surface(culv_image *image, uint32_t level, CUsurfObject *out)
{
    culv_device *device = image->memory->device;
    CUDA_RESOURCE_DESC d = {0};
    *out = atomic_load_explicit(&image->levels[level].surface, memory_order_relaxed);
    if (*out != 0) return CULV_OK;
    culv_result result = get_array(image, level, &d.res.array.hArray);
    if (result != CULV_OK) return result;
    d.resType = CU_RESOURCE_TYPE_ARRAY;
    CUresult r = CULVI_CU(device, cuSurfObjectCreate, (out, &d));
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(device, image->label, r, "cuSurfObjectCreate", CULV_REASON_DRIVER_REFUSED,
                               "level %" PRIu32 " could not be made a surface", level);
    atomic_store_explicit(&image->levels[level].surface, *out, memory_order_release);
    return CULV_OK;
}

/* The first call for a level: asks the driver. */
static culv_result ask(culv_image *image, uint32_t level, CUarray *array, CUsurfObject *surface)
{
    culv_device *device = image->memory->device;
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_enter(device, &scope, image->label);
    if (result == CULV_OK) {
        result = surface != NULL ? get_surface(image, level, surface) : get_array(image, level, array);
        culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    return result;
}

culv_result culv_image_array(culv_image *image, uint32_t level, CUarray *out)
{
    culv_result result = check_call(image, level, out, "culv_image_array");
    if (result != CULV_OK) return result;
    CUarray array = atomic_load_explicit(&image->levels[level].array, memory_order_acquire);
    if (array == NULL) result = ask(image, level, &array, NULL);
    if (result == CULV_OK) *out = array;
    return result;
}

culv_result culv_image_surface(culv_image *image, uint32_t level, CUsurfObject *out)
{
    culv_result result = check_call(image, level, out, "culv_image_surface");
    if (result != CULV_OK) return result;
    if (!image->surfaces)
        return culvi_fail(&image->memory->device->voice, image->label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
                          "the image was mapped with no_surfaces (without CUDA_ARRAY3D_SURFACE_LDST), so its "
                          "levels make no surfaces");
    CUsurfObject surface = atomic_load_explicit(&image->levels[level].surface, memory_order_acquire);
    if (surface == 0) result = ask(image, level, NULL, &surface);
    if (result == CULV_OK) *out = surface;
    return result;
}

culv_result culv_image_extent(const culv_image *image, uint32_t level, uint32_t *width, uint32_t *height)
{
    culv_result result = check_call(image, level, image, "culv_image_extent");
    if (result != CULV_OK) return result;
    if (width != NULL) *width = level_size(image->width, level);
    if (height != NULL) *height = level_size(image->height, level);
    return CULV_OK;
}

uint32_t culv_image_mip_levels(const culv_image *image)
{
    return image != NULL ? image->mip_levels : 0;
}

culv_format culv_image_format(const culv_image *image)
{
    return image != NULL ? image->format : CULV_FORMAT_NONE;
}
