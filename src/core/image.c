/* culv_image: mipmapped arrays on imported memory, what is mapped and when it goes.
 * SPDX-License-Identifier: MIT */
#include "core/image.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "core/staging.h"

#include <inttypes.h>

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

/* The widest that any CUDA array is; the device's own limits, which the driver checks, are lower for some. They also
 * keep the sizes below within 64 bits. */
enum { MAX_SIDE = 131072, MAX_DEPTH = 16384, MAX_LAYERS = 2048 };

/* a * b + c, or UINT64_MAX. */
static uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    if (b != 0 && a > (UINT64_MAX - c) / b) return UINT64_MAX;
    return a * b + c;
}

/* Of one plane. */
static uint64_t least_plane_size(const culvi_format *row, uint32_t plane, uint32_t width, uint32_t height,
                                 uint32_t depth, uint32_t layers, uint32_t levels)
{
    uint64_t sum = 0;
    culv_format format = row->format;
    uint32_t across = 1, down = 1;
    if (culv_format_plane(row->format, plane, &format, &across, &down) != CULV_OK) return 0;
    const culvi_format *p = culvi_format_find((uint32_t)format);
    for (uint32_t level = 0; level < levels; level++) {
        uint64_t columns = culvi_level_size(width / across, level);
        uint64_t rows = culvi_level_size(height / down, level);
        uint64_t bytes = (columns + p->block_width - 1) / p->block_width * p->block_bytes;
        bytes = multiply_add(bytes, (rows + p->block_height - 1) / p->block_height, 0);
        bytes = multiply_add(bytes, culvi_level_size(depth, level), 0);
        sum = multiply_add(bytes, layers, sum);
    }
    return sum;
}

uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height, uint32_t depth,
                                uint32_t layers, uint32_t levels)
{
    uint64_t sum = 0;
    for (uint32_t plane = 0; plane < row->planes; plane++)
        sum = multiply_add(least_plane_size(row, plane, width, height, depth, layers, levels), 1, sum);
    return sum;
}

static void explicit_defaults(culv_image_desc *d)
{
    if (d->type == CULV_IMAGE_1D && d->height == 0) d->height = 1;
    if (d->type != CULV_IMAGE_3D && d->depth == 0) d->depth = 1;
    if (d->array_layers == 0) d->array_layers = d->type == CULV_IMAGE_CUBE ? 6 : 1;
    if (d->mip_levels == 0) d->mip_levels = 1;
    d->label = NULL;
}

static culv_result check_extent(const culvi_voice *voice, const culv_image_desc *d, const char *label)
{
    const char *rule = NULL;
    if ((uint32_t)d->type > CULV_IMAGE_CUBE)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_image_desc.type is %u, which is no culv_image_type", (unsigned)d->type);
    if (d->width == 0 || d->height == 0 || d->depth == 0)
        rule = "no side is 0";
    else if (d->width > MAX_SIDE || d->height > MAX_SIDE || d->depth > MAX_DEPTH ||
             d->array_layers > MAX_LAYERS)
        rule = "no CUDA array has more than 131,072 texels a side, 16,384 slices or 2,048 layers";
    else if (d->type == CULV_IMAGE_1D && d->height != 1)
        rule = "a 1D image has a height of 1";
    else if (d->type != CULV_IMAGE_3D && d->depth != 1)
        rule = "only a 3D image has a depth";
    else if (d->type == CULV_IMAGE_3D && d->array_layers != 1)
        rule = "a 3D image has one layer";
    else if (d->type == CULV_IMAGE_CUBE && (d->width != d->height || d->array_layers % 6 != 0))
        rule = "a cube is square and has six layers, an array of n cubes 6n (cuda.h, CUDA_ARRAY3D_CUBEMAP)";
    else if (d->gather && (d->type != CULV_IMAGE_2D || d->array_layers != 1))
        rule = "gather is for 2D images of one layer (cuda.h, CUDA_ARRAY3D_TEXTURE_GATHER)";
    if (rule != NULL)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "the image has width %" PRIu32 ", height %" PRIu32 ", depth %" PRIu32
                          " and %" PRIu32 " array_layers, but %s",
                          d->width, d->height, d->depth, d->array_layers, rule);
    uint32_t most = culvi_image_most_levels(d->width, d->height, d->depth);
    if (d->mip_levels > most)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "mip_levels is %" PRIu32 ", but %" PRIu32 " x %" PRIu32 " x %" PRIu32
                          " texels have %" PRIu32 " levels at most",
                          d->mip_levels, d->width, d->height, d->depth, most);
    return CULV_OK;
}

static culv_result check_format(const culvi_voice *voice, const culvi_format *row, const culv_image_desc *d,
                                const char *label)
{
    if (row == NULL)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "culv_image_desc.format is %u, which is no format of culvert/format_list.h",
                          (unsigned)d->format);
    if (!row->mapped)
        return culvi_fail(voice, label, CULV_ERROR_UNSUPPORTED, row->reason,
                          "culv_image_desc.format is %s: %s", row->name, row->why);
    if (row->planes > 1 && d->video != 0)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_USAGE,
            "culv_image_desc.video is set, but the planes of %s are arrays of plain formats, which "
            "CUDA has no video arrays of; leave it 0",
            row->name);
    if ((uint32_t)d->texels > CULV_TEXELS_NORMALIZED)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_image_desc.texels is %u, which is no culv_texels", (unsigned)d->texels);
    if (d->texels == CULV_TEXELS_NORMALIZED && row->normalized_format == 0)
        return culvi_fail(
            voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "culv_image_desc.texels is NORMALIZED, but CUDA has no normalized array format like %s; "
            "map it as STORED",
            row->name);
    return CULV_OK;
}

/* What holds of Y'CbCr formats: chroma at half the size has whole texels, and no text tells of other kinds. */
static culv_result check_chroma(const culvi_voice *voice, const culvi_format *row, const culv_image_desc *d,
                                const char *label)
{
    uint32_t across = 1, down = 1;
    if (row->kind != CULV_TEXEL_KIND_PLANES && row->kind != CULV_TEXEL_KIND_SUBSAMPLED) return CULV_OK;
    culvi_format_divisors(row, &across, &down);
    if (d->width % across == 0 && d->height % down == 0 && d->type == CULV_IMAGE_2D && d->mip_levels == 1 &&
        d->array_layers == 1)
        return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
        "%s is a Y'CbCr format: such images are 2D, of one layer and level, of a width that is a "
        "multiple of %" PRIu32 " and a height that is one of %" PRIu32,
        row->name, across, down);
}

/* Where the planes of a format of several lie: each by itself, none over another. */
static culv_result check_planes(const culv_memory *memory, const culvi_format *row, const culv_image_desc *d,
                                const char *label)
{
    const culvi_voice *voice = &memory->device->voice;
    uint64_t size[CULVI_PLANES];
    if (memory->dedicated)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "the import is dedicated, but an image of format %s is bound plane by plane, "
                          "DISJOINT, and no dedicated allocation is for such "
                          "(VUID-VkMemoryDedicatedAllocateInfo-image-01797)",
                          row->name);
    if (d->offset != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                          "offset is %" PRIu64
                          ", but of a format of several planes (%s) plane_offsets tell where "
                          "each was bound; leave offset 0",
                          d->offset, row->name);
    for (uint32_t i = 0; i < row->planes; i++) {
        uint64_t at = d->plane_offsets[i];
        size[i] = least_plane_size(row, i, d->width, d->height, 1, 1, 1);
        if (at >= memory->size || size[i] > memory->size - at)
            return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                              "plane %" PRIu32 " of the %s image needs %" PRIu64
                              " bytes from plane_offsets[%" PRIu32 "] on, which is %" PRIu64
                              ", but the allocation has %" PRIu64 " bytes",
                              i, row->name, size[i], i, at, memory->size);
        for (uint32_t k = 0; k < i; k++) {
            uint64_t other = d->plane_offsets[k];
            if (at >= other + size[k] || other >= at + size[i]) continue;
            return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                              "planes %" PRIu32 " and %" PRIu32 " of the %s image lie over each other: "
                              "plane_offsets are %" PRIu64 " and %" PRIu64 ", and the planes have %" PRIu64
                              " and %" PRIu64 " bytes or more; pass the memoryOffset of each "
                              "VkBindImagePlaneMemoryInfo's bind (the image must be DISJOINT)",
                              k, i, row->name, other, at, size[k], size[i]);
        }
    }
    return CULV_OK;
}

culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets)
{
    for (uint32_t i = planes > 1 ? planes : 0; i < CULVI_PLANES; i++)
        if (plane_offsets[i] != 0)
            return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                              "plane_offsets[%" PRIu32 "] is %" PRIu64 ", but the image has %s; leave it 0",
                              i, plane_offsets[i],
                              planes > 1 ? "two planes"
                                         : "no planes that are bound by themselves (offset is its own)");
    return CULV_OK;
}

static culv_result check_place(const culv_memory *memory, const culvi_format *row, const culv_image_desc *d,
                               const char *label)
{
    culv_result result =
        culvi_image_check_unused(&memory->device->voice, label, row->planes, d->plane_offsets);
    if (result != CULV_OK || row->planes > 1)
        return result == CULV_OK ? check_planes(memory, row, d, label) : result;
    uint64_t least =
        culvi_image_least_size(row, d->width, d->height, d->depth, d->array_layers, d->mip_levels);
    if (d->offset < memory->size && least <= memory->size - d->offset) return CULV_OK;
    return culvi_fail(&memory->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "the image's texels need %" PRIu64 " bytes from offset %" PRIu64
                      " on, but the allocation has %" PRIu64 " bytes; is the extent, the format or the "
                      "memoryOffset of vkBindImageMemory another one?",
                      least, d->offset, memory->size);
}

static culv_result check_desc(const culv_memory *memory, const culvi_format *row, const culv_image_desc *d,
                              const char *label)
{
    const culvi_voice *voice = &memory->device->voice;
    if (memory->handle_type == CULV_HANDLE_DMA_BUF_FD)
        return culvi_fail(
            voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
            "CUDA maps no images on an imported dma-buf (cuda.h, cuImportExternalMemory); share a "
            "buffer, or a LINEAR image by its rows (culv_vk_image_map_pitched())");
    culv_result result = check_format(voice, row, d, label);
    if (result == CULV_OK) result = check_extent(voice, d, label);
    if (result == CULV_OK) result = check_chroma(voice, row, d, label);
    if (result != CULV_OK) return result;
    if (memory->dedicated && d->offset != 0)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
                          "the import is dedicated, but the image is said to lie at offset %" PRIu64
                          "; a dedicated allocation holds its one resource at offset 0",
                          d->offset);
    if (row->dedicated && !memory->own && !memory->dedicated)
        return culvi_fail(
            voice, label, CULV_ERROR_INVALID, CULV_REASON_DEDICATED,
            "CUDA finds the texels of %s images in a dedicated allocation alone, and in other memory reads "
            "wrong bytes without an error (measured on an H200): allocate with "
            "VkMemoryDedicatedAllocateInfo and import with dedicated set",
            row->name);
    if (!memory->own) result = check_place(memory, row, d, label);
    return result == CULV_OK ? culvi_format_supported(memory->device, row, d->texels, label) : result;
}

/* The array first: its destruction waits for the context's work, that of a surface does not (measured), so no
 * surface goes while a kernel may still use it. */
static bool release_image(culv_device *device, culvi_retired *self, bool last_try)
{
    culv_image *image = CULVI_CONTAINER(self, culv_image, retired);
    culv_memory *memory = image->memory;
    if (!culvi_image_release_arrays(device, image, last_try)) return false;
    if (!culvi_image_release_views(device, image, last_try)) return false;
    bool linear = image->staging != NULL && image->staging->linear;
    if (image->staging != NULL && !culvi_staging_release(device, memory, &image->staging, last_try))
        return false;
    if (linear) memory->buffers--;
    memory->refs--;
    culvi_free(image);
    culvi_memory_settle(memory, true, last_try);
    return true;
}

culv_result culv_image_map(culv_memory *memory, const culv_image_desc *desc, culv_image **out)
{
    culv_image_desc d;
    CULVI_REQUIRE(NULL, memory);
    CULVI_REQUIRE2(&memory->device->voice, desc, out);
    culv_device *device = memory->device;
    culv_result result = culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_image_desc");
    if (result != CULV_OK) return result;
    const char *label = d.label != NULL ? d.label : memory->label;
    const culvi_format *row = culvi_format_find((uint32_t)d.format);
    char kept[64]; /* the caller's may be the last thing that d points to */
    culvi_label_set(kept, label);
    explicit_defaults(&d);
    result = check_desc(memory, row, &d, kept);
    if (result != CULV_OK) return result;
    if (row->planes == 1 && !row->surfaces) d.no_surfaces = 1;
    uint32_t slots = row->planes > 1 ? row->planes : d.mip_levels;
    culv_image *image = culvi_alloc(sizeof *image + slots * sizeof image->levels[0]);
    if (image == NULL) return culvi_fail_host_memory(&device->voice, kept);
    image->memory = memory;
    image->row = row;
    image->desc = d;
    image->surfaces = !d.no_surfaces;
    image->slots = slots;
    culvi_label_set(image->label, kept);
    for (uint32_t i = 0; i < slots; i++) {
        atomic_init(&image->levels[i].array, NULL);
        atomic_init(&image->levels[i].surface, 0);
    }
    culvi_mutex_lock(&device->lock);
    result = culvi_image_make_arrays(image);
    if (result == CULV_OK) {
        memory->refs++;
        memory->holders++;
        device->counts.images++;
    } else if (image->arrays[0] !=
               NULL) { /* some planes' arrays: a sweep releases them, since that may wait */
        memory->refs++;
        image->retired.release = release_image;
        culvi_keep(device, &image->retired);
        image = NULL;
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

void culvi_image_give_up(culv_image *image, bool has_last_use, CUstream last_use)
{
    culv_device *device = image->memory->device;
    image->retired.release = release_image;
    culvi_mutex_lock(&device->lock);
    device->counts.images--;
    culvi_memory_let_go(image->memory);
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

culv_result culvi_image_check_call(const culv_image *image, uint32_t index, uint32_t count, const char *what,
                                   const void *out, const char *call)
{
    if (image == NULL || out == NULL)
        return culvi_fail_null(image != NULL ? &image->memory->device->voice : NULL, call,
                               image == NULL ? "image" : "out");
    if (index < count) return CULV_OK;
    return culvi_fail(&image->memory->device->voice, image->label, CULV_ERROR_INVALID, CULV_REASON_LEVEL,
                      "%s: %s %" PRIu32 " of an image that has %" PRIu32, call, what, index, count);
}

culv_result culv_image_extent(const culv_image *image, uint32_t level, uint32_t *width, uint32_t *height,
                              uint32_t *depth)
{
    culv_result result = culvi_image_check_call(image, level, culv_image_mip_levels(image), "level", image,
                                                "culv_image_extent");
    if (result != CULV_OK) return result;
    if (width != NULL) *width = culvi_level_size(image->desc.width, level);
    if (height != NULL) *height = culvi_level_size(image->desc.height, level);
    if (depth != NULL) *depth = culvi_level_size(image->desc.depth, level);
    return CULV_OK;
}

culv_result culv_image_get_desc(const culv_image *image, culv_image_desc *out)
{
    culv_result result = culvi_image_check_call(image, 0, 1, "level", out, "culv_image_get_desc");
    if (result == CULV_OK) result = culvi_struct_check(&image->memory->device->voice, out, "culv_image_desc");
    if (result != CULV_OK) return result;
    culvi_struct_write(out, &image->desc, sizeof image->desc);
    return CULV_OK;
}

uint32_t culv_image_mip_levels(const culv_image *image)
{
    return image != NULL ? image->desc.mip_levels : 0;
}

culv_format culv_image_format(const culv_image *image)
{
    return image != NULL ? image->desc.format : CULV_FORMAT_NONE;
}
