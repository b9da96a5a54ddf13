/* SPDX-License-Identifier: MIT */
/* What an image must be, whichever API made it: extents, formats, and where it lies in its
 * memory. */
#include "core/image.h"

/* The widest that any CUDA array is; the device's own limits, which the driver checks, are lower
 * for some. They also keep the sizes below within 64 bits. */
enum { MAX_SIDE = 131072, MAX_DEPTH = 16384, MAX_LAYERS = 2048 };

/* a * b + c, or UINT64_MAX. */
static uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    if (b != 0 && a > (UINT64_MAX - c) / b) return UINT64_MAX;
    return a * b + c;
}

/* Returns the least size of one plane, in bytes. */
static uint64_t least_plane_size(const culvi_format *row, uint32_t plane, uint32_t width,
                                 uint32_t height, uint32_t depth, uint32_t layers, uint32_t levels)
{
    uint64_t sum = 0;
    uint32_t across, down;
    const culvi_format *p = culvi_format_plane(row, plane, &across, &down);
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

uint64_t culvi_image_least_size(const culvi_format *row, uint32_t width, uint32_t height,
                                uint32_t depth, uint32_t layers, uint32_t levels)
{
    uint64_t sum = 0;
    for (uint32_t plane = 0; plane < row->planes; plane++)
        sum = multiply_add(least_plane_size(row, plane, width, height, depth, layers, levels), 1,
                           sum);
    return sum;
}

static culv_result check_extent(const culvi_voice *voice, const culv_image_desc *d,
                                const char *label)
{
    const char *rule = NULL;
    CULVI_REFUSE_IF((uint32_t)d->type > CULV_IMAGE_CUBE, voice, label, CULV_REASON_VALUE,
                    "culv_image_desc.type is %u, which is not a culv_image_type",
                    (unsigned)d->type);
    if (d->width == 0 || d->height == 0 || d->depth == 0)
        rule = "no side may be 0";
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
        rule =
            "a cube is square and has six layers, an array of n cubes 6n (cuda.h, CUDA_ARRAY3D_CUBEMAP)";
    else if (d->texture_gather && (d->type != CULV_IMAGE_2D || d->array_layers != 1))
        rule = "gather is for 2D images of one layer (cuda.h, CUDA_ARRAY3D_TEXTURE_GATHER)";
    CULVI_REFUSE_IF(rule != NULL, voice, label, CULV_REASON_EXTENT,
                    "the image has width %" PRIu32 ", height %" PRIu32 ", depth %" PRIu32
                    " and %" PRIu32 " array_layers, but %s",
                    d->width, d->height, d->depth, d->array_layers, rule);
    uint32_t most = culvi_image_most_levels(d->width, d->height, d->depth);
    CULVI_REFUSE_IF(d->mip_levels > most, voice, label, CULV_REASON_EXTENT,
                    "mip_levels is %" PRIu32 ", but %" PRIu32 " x %" PRIu32 " x %" PRIu32
                    " texels have at most %" PRIu32 " levels",
                    d->mip_levels, d->width, d->height, d->depth, most);
    return CULV_OK;
}

static culv_result check_format(const culvi_voice *voice, const culvi_format *row,
                                const culv_image_desc *d, const char *label)
{
    CULVI_UNSUPPORTED_IF(
        row == NULL, voice, label, CULV_REASON_FORMAT,
        "culv_image_desc.format is %u, which is no format of culvert/format_list.h",
        (unsigned)d->format);
    CULVI_UNSUPPORTED_IF(!row->mapped, voice, label, row->reason,
                         "culv_image_desc.format is %s: %s", row->name,
                         culvi_format_tell_why(row).text);
    CULVI_REFUSE_IF(
        row->planes > 1 && d->video_encode_decode != 0, voice, label, CULV_REASON_USAGE,
        "culv_image_desc.video_encode_decode is set, but the planes of %s are arrays of plain formats, and CUDA has no video arrays of those; leave it 0",
        row->name);
    CULVI_REFUSE_IF((uint32_t)d->texels > CULV_TEXELS_NORMALIZED, voice, label, CULV_REASON_VALUE,
                    "culv_image_desc.texels is %u, which is not a culv_texels",
                    (unsigned)d->texels);
    CULVI_UNSUPPORTED_IF(
        d->texels == CULV_TEXELS_NORMALIZED && row->normalized_format == 0, voice, label,
        CULV_REASON_FORMAT,
        "culv_image_desc.texels is NORMALIZED, but CUDA has no normalized array format like %s; map it as STORED",
        row->name);
    return CULV_OK;
}

/* What holds of Y'CbCr formats: chroma at half the size has whole texels, and no text tells of
 * other kinds. */
static culv_result check_chroma(const culvi_voice *voice, const culvi_format *row,
                                const culv_image_desc *d, const char *label)
{
    uint32_t across = 1, down = 1;
    if (row->kind != CULV_TEXEL_KIND_PLANES && row->kind != CULV_TEXEL_KIND_SUBSAMPLED)
        return CULV_OK;
    if (culvi_format_whole_chroma(row, d->width, d->height, &across, &down) &&
        d->type == CULV_IMAGE_2D && d->mip_levels == 1 && d->array_layers == 1)
        return CULV_OK;
    return culvi_fail(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
        "%s is a Y'CbCr format: such images are 2D, with one layer and one level, a width that is a multiple of %" PRIu32
        " and a height that is a multiple of %" PRIu32,
        row->name, across, down);
}

culv_result culvi_image_check_planes(const culv_memory *memory, const char *label,
                                     const culvi_format *row, uint64_t offset,
                                     const uint64_t *plane_offsets, const uint64_t *size)
{
    const culvi_voice *voice = &memory->device->voice;
    CULVI_REFUSE_IF(
        memory->dedicated, voice, label, CULV_REASON_DEDICATED,
        "the import is dedicated, but an image of format %s is bound plane by plane (in Vulkan DISJOINT), and a dedicated allocation cannot hold such an image",
        row->name);
    CULVI_REFUSE_IF(
        offset != 0, voice, label, CULV_REASON_RANGE,
        "offset is %" PRIu64
        ", but the format %s has several planes, and plane_offsets say where each was bound; leave offset 0",
        offset, row->name);
    for (uint32_t i = 0; i < row->planes; i++) {
        uint64_t at = plane_offsets[i];
        CULVI_REFUSE_IF(
            at >= memory->size || size[i] > memory->size - at, voice, label, CULV_REASON_RANGE,
            "plane %" PRIu32 " of the %s image needs %" PRIu64 " bytes from plane_offsets[%" PRIu32
            "] on, which is %" PRIu64 ", but the allocation has %" PRIu64 " bytes",
            i, row->name, size[i], i, at, memory->size);
        for (uint32_t k = 0; k < i; k++) {
            uint64_t other = plane_offsets[k];
            if (at >= other + size[k] || other >= at + size[i]) continue;
            return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                              "planes %" PRIu32 " and %" PRIu32
                              " of the %s image overlap: plane_offsets are %" PRIu64 " and %" PRIu64
                              ", and the planes have at least %" PRIu64 " and %" PRIu64
                              " bytes; pass where each plane was bound (%s)",
                              k, i, row->name, other, at, size[k], size[i],
                              memory->words->plane_offset);
        }
    }
    return CULV_OK;
}

/* Checks where the planes of a format of several lie, by what their texels need at the least. */
static culv_result check_planes(const culv_memory *memory, const culvi_format *row,
                                const culv_image_desc *d, const char *label)
{
    uint64_t size[CULVI_PLANES] = {0};
    for (uint32_t i = 0; i < row->planes; i++)
        size[i] = least_plane_size(row, i, d->width, d->height, 1, 1, 1);
    return culvi_image_check_planes(memory, label, row, d->offset, d->plane_offsets, size);
}

culv_result culvi_image_check_unused(const culvi_voice *voice, const char *label, uint32_t planes,
                                     const uint64_t *plane_offsets)
{
    for (uint32_t i = planes > 1 ? planes : 0; i < CULVI_PLANES; i++)
        CULVI_REFUSE_IF(
            plane_offsets[i] != 0, voice, label, CULV_REASON_RANGE,
            "plane_offsets[%" PRIu32 "] is %" PRIu64 ", but the image has %s; leave it 0", i,
            plane_offsets[i],
            planes > 1 ? "two planes" : "no planes that are bound separately (set offset instead)");
    return CULV_OK;
}

static culv_result check_place(const culv_memory *memory, const culvi_format *row,
                               const culv_image_desc *d, const char *label)
{
    CULVI_TRY(
        culvi_image_check_unused(&memory->device->voice, label, row->planes, d->plane_offsets));
    if (row->planes > 1) return check_planes(memory, row, d, label);
    uint64_t least =
        culvi_image_least_size(row, d->width, d->height, d->depth, d->array_layers, d->mip_levels);
    if (d->offset < memory->size && least <= memory->size - d->offset) return CULV_OK;
    return culvi_fail(
        &memory->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
        "the image's texels need %" PRIu64 " bytes from offset %" PRIu64
        " on, but the allocation has %" PRIu64
        " bytes; check the extent, the format and the offset at which the image was bound (%s)",
        least, d->offset, memory->size, memory->words->image_offset);
}

culv_result culvi_image_check_desc(const culv_memory *memory, const culvi_format *row,
                                   const culv_image_desc *d, const char *label)
{
    const culvi_voice *voice = &memory->device->voice;
    CULVI_UNSUPPORTED_IF(
        memory->handle_type == CULV_HANDLE_DMA_BUF_FD, voice, label, CULV_REASON_HANDLE_TYPE,
        "CUDA maps no images on an imported dma-buf (cuda.h, cuImportExternalMemory); share a buffer, or an image by its rows (%s)",
        memory->words->map_rows);
    CULVI_UNSUPPORTED_IF(
        memory->way != CULVI_MEMORY_IMPORTED, voice, label, CULV_REASON_DEVICE_MISMATCH,
        "the memory lies on another GPU than '%s', and drivers map images as arrays on their own GPU alone (measured); share a buffer and copy it into the image on that GPU",
        memory->device->caps.name);
    CULVI_TRY(check_format(voice, row, d, label));
    CULVI_TRY(check_extent(voice, d, label));
    CULVI_TRY(check_chroma(voice, row, d, label));
    CULVI_REFUSE_IF(memory->dedicated && d->offset != 0, voice, label, CULV_REASON_DEDICATED,
                    "the import is dedicated, but offset is %" PRIu64
                    "; a dedicated allocation holds its one resource at offset 0",
                    d->offset);
    CULVI_REFUSE_IF(
        row->dedicated && !memory->own && !memory->dedicated, voice, label, CULV_REASON_DEDICATED,
        "CUDA finds the texels of %s images only in a dedicated allocation, and reads wrong bytes from other memory without an error (measured on an H200): make it a dedicated allocation (%s) and import it with dedicated set",
        row->name, memory->words->dedicated);
    CULVI_TRY(memory->own ? CULV_OK : check_place(memory, row, d, label));
    return culvi_format_supported(memory->device, row, d->texels, label);
}
