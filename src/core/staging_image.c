/* SPDX-License-Identifier: MIT */
/* Fallbacks of images: the parts that are copied, and images without arrays. */
#include "core/staging.h"

enum {
    ASPECT_COLOR = 1,
    ASPECT_DEPTH = 2,
    ASPECT_STENCIL = 4,
    ASPECT_PLANE_0 = 16
}; /* VkImageAspectFlagBits */

static bool has_depth_and_stencil(const culvi_format *row)
{
    return (row->aspects & (ASPECT_DEPTH | ASPECT_STENCIL)) == (ASPECT_DEPTH | ASPECT_STENCIL);
}

static uint32_t planes_of(const culvi_format *row)
{
    return has_depth_and_stencil(row) ? 2 : row->planes;
}

/* Vulkan specification, "Buffer and Image Addressing": of depth with stencil each is copied by
 * itself, depth as 16-bit or 32-bit words. */
static void fill_in_aspect(const culvi_format *row, culvi_part *part)
{
    bool stencil = part->plane == 1;
    part->aspect = stencil ? ASPECT_STENCIL : ASPECT_DEPTH;
    part->block_bytes = stencil ? 1 : row->format == CULV_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
    part->block_width = part->block_height = 1;
}

static void fill_in(const culvi_format *row, const culv_image_desc *d, culvi_part *part)
{
    uint32_t across = 1, down = 1;
    part->width = culvi_level_size(d->width, part->level);
    part->height = culvi_level_size(d->height, part->level);
    part->depth = culvi_level_size(d->depth, part->level);
    part->layers = d->array_layers;
    part->slot = row->planes > 1 ? part->plane : part->level;
    part->aspect = row->aspects != 0 ? row->aspects : ASPECT_COLOR;
    if (has_depth_and_stencil(row)) {
        fill_in_aspect(row, part);
    } else if (row->planes > 1) {
        const culvi_format *plane = culvi_format_plane(row, part->plane, &across, &down);
        part->aspect = (uint32_t)ASPECT_PLANE_0 << part->plane;
        part->width = d->width / across;
        part->height = d->height / down;
        part->block_bytes = plane->block_bytes;
        part->block_width = plane->block_width;
        part->block_height = plane->block_height;
    } else {
        part->block_bytes = row->block_bytes;
        part->block_width = row->block_width;
        part->block_height = row->block_height;
    }
    part->rows = (part->height + part->block_height - 1) / part->block_height;
    part->row_bytes =
        ((uint64_t)part->width + part->block_width - 1) / part->block_width * part->block_bytes;
}

uint32_t culvi_image_planes(const culv_image *image)
{
    return planes_of(image->row);
}

void culvi_part_describe(const culv_image *image, uint32_t level, uint32_t plane, culvi_part *out)
{
    *out = (culvi_part){.level = level, .plane = plane};
    fill_in(image->row, &image->desc, out);
}

culvi_staging *culvi_staging_new(culv_device *device, culv_sharing path, const char *label,
                                 const culvi_format *row, const culv_image_desc *desc,
                                 uint64_t *size)
{
    uint32_t planes = row != NULL ? planes_of(row) : 0;
    uint32_t count = row != NULL ? planes * desc->mip_levels : 0;
    culvi_staging *staging =
        culvi_alloc_for(&device->voice, label, sizeof *staging + count * sizeof staging->parts[0]);
    if (staging == NULL) return NULL;
    staging->path = path;
    staging->num_parts = count;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        culvi_part *part = &staging->parts[i];
        part->level = i / planes;
        part->plane = i % planes;
        fill_in(row, desc, part);
        /* VkBufferImageCopy::bufferOffset: a multiple of a block's bytes and of four. */
        uint64_t unit = UINT64_C(16) * part->block_bytes;
        part->offset = (end + unit - 1) / unit * unit;
        end = part->offset + culvi_part_size(part);
    }
    if (row != NULL) *size = end;
    staging->size = *size;
    return staging;
}

/* Packed texels -------------------------------------------------------------------------------- */

static CUresult create_array(culv_image *image, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    CUarray array = NULL;
    CUresult r = CULVI_CU(image->memory->device, cuArray3DCreate, (&array, d));
    if (r != CUDA_SUCCESS) return r;
    atomic_store_explicit(&image->levels[0].array, array, memory_order_release);
    image->packed = true;
    return r;
}

/* A driver may have a video format for encoding and decoding alone (format_support.c). */
CUresult culvi_image_create_packed(culv_image *image)
{
    CUDA_ARRAY3D_DESCRIPTOR d = culvi_image_describe(image, 0);
    CUresult r = create_array(image, &d);
    if (r != CUDA_ERROR_INVALID_VALUE && r != CUDA_ERROR_NOT_SUPPORTED) return r;
    d.Flags ^= CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    return create_array(image, &d);
}

bool culvi_image_destroy_packed(culv_device *device, culv_image *image, bool last_try)
{
    if (!image->packed) return true;
    CUarray array = atomic_load_explicit(&image->levels[0].array, memory_order_relaxed);
    if (!CULVI_RELEASED(device, last_try, cuArrayDestroy, (array))) return false;
    atomic_store_explicit(&image->levels[0].array, NULL, memory_order_relaxed);
    image->packed = false;
    return true;
}

/* Staging -------------------------------------------------------------------------------------- */

culv_result culvi_image_set_staging(culv_image *image, culvi_staging *staging)
{
    culv_result result = CULV_OK;
    for (uint32_t i = 0; result == CULV_OK && i < staging->num_parts; i++) {
        const culvi_part *part = &staging->parts[i];
        CUarray array = NULL;
        for (int side = 0; result == CULV_OK && side < 2; side++) {
            culv_image *one = side == 0 ? image : staging->peer_image;
            if (one != NULL) result = culv_image_get_array(one, part->level, part->plane, &array);
        }
    }
    if (result == CULV_OK) image->staging = staging;
    return result;
}

culv_result culvi_image_make_linear(culv_memory *memory, const culvi_format *row,
                                    const culv_image_desc *desc, culvi_staging *staging,
                                    culv_image **out)
{
    culv_device *device = memory->device;
    culv_image *image = culvi_image_new(memory, row, desc, memory->label);
    if (image == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    image->surfaces = false;
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_memory_map(memory);
    if (result == CULV_OK) {
        memory->refs++;
        memory->holders++;
        memory->buffers++; /* it uses the mapping */
        device->counts.images++;
    }
    culvi_mutex_unlock(&device->lock);
    CULVI_TRY_OR(result, culvi_free(image));
    staging->linear = true;
    image->staging = staging;
    culvi_device_ref(device);
    culvi_made(device, &image->deferred, "image", image->label, memory->size);
    *out = image;
    return CULV_OK;
}

culv_result culvi_image_check_arrays(const culv_image *image)
{
    CULVI_REFUSE_IF(
        atomic_load_explicit(&image->away, memory_order_relaxed), &image->memory->device->voice,
        image->label, CULV_REASON_NOT_MAPPED,
        "the registered image is not mapped, so it has no arrays, surfaces or textures; those of an earlier map are gone: map it, then ask anew");
    if (image->staging == NULL || !image->staging->linear) return CULV_OK;
    return culvi_fail(
        &image->memory->device->voice, image->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "no CUDA array has the format %s, so the image (HOST sharing) has no array; its texels are in linear memory: call culv_image_get_layout()",
        image->row->name);
}

culv_result culv_image_get_layout(const culv_image *image, uint32_t level, uint32_t plane,
                                  culv_subresource_layout *out)
{
    culvi_part part;
    CULVI_TRY(culvi_image_check_call(image, level, culvi_image_levels(image), "level", out,
                                     "culv_image_get_layout"));
    const uint32_t planes = culvi_image_planes(image);
    CULVI_TRY(culvi_image_check_call(image, plane, planes, "plane", out, "culv_image_get_layout"));
    CULVI_TRY(culvi_struct_check(&image->memory->device->voice, out, "culv_subresource_layout"));
    culvi_part_describe(image, level, plane, &part);
    culv_subresource_layout l = culv_subresource_layout_init();
    if (image->staging != NULL && image->staging->linear) {
        const uint64_t slice = part.row_bytes * part.rows;
        l.pointer = image->memory->base + image->staging->parts[level * planes + plane].offset;
        l.size = culvi_part_size(&part);
        l.row_pitch = part.row_bytes;
        l.depth_pitch = image->desc.type == CULV_IMAGE_3D ? slice : 0;
        l.layer_pitch = part.layers > 1 ? slice : 0;
    }
    l.width = part.width;
    l.height = part.height;
    l.depth = part.depth;
    l.array_layers = part.layers;
    l.bytes_per_block = part.block_bytes;
    l.block_width = part.block_width;
    l.block_height = part.block_height;
    culvi_struct_write(out, &l, sizeof l);
    return CULV_OK;
}
