/* SPDX-License-Identifier: MIT */
/* Texture objects of images. */
#include "core/image.h"

static culv_result refuse(const culv_image *image, culv_result result, culv_reason reason,
                          const char *text)
{
    return culvi_fail(&image->memory->device->voice, image->label, result, reason,
                      "culv_texture_desc of an image of format %s: %s", image->row->name, text);
}

/* The format that is sampled: the plane's, of formats of several. */
static const culvi_format *sampled_row(const culv_image *image, uint32_t plane)
{
    uint32_t across, down;
    return culvi_format_plane(image->row, plane, &across, &down);
}

/* What a read of the array gives before any flag. */
static bool reads_floats(const culv_image *image, const culvi_format *row, culv_texture_read read)
{
    if (image->desc.texels == CULV_TEXELS_NORMALIZED) return true;
    switch (row->kind) {
    case CULV_TEXEL_KIND_FLOAT:
    case CULV_TEXEL_KIND_BLOCKS: return true;
    case CULV_TEXEL_KIND_DEPTH:
        return row->cuda_format == CU_AD_FORMAT_FLOAT || read == CULV_TEXTURE_READ_AS_GRAPHICS;
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
    case CULV_TEXEL_KIND_SRGB: return read == CULV_TEXTURE_READ_AS_GRAPHICS;
    default: return false;
    }
}

/* Some of the levels or layers of what the driver has as one resource, unless a sampler's limits
 * choose the levels: those from the first one on, or one. */
static bool needs_view(const culv_image *image, const culv_texture_desc *d)
{
    return d->layer_count != image->desc.array_layers ||
           (d->level_count != 1 && d->base_level != 0);
}

/* A texture of a level's own array takes the layers for those of an image of one level, and so
 * reads other levels' texels in all but the first (measured on an H200, of a 1D array; of other
 * kinds it is not known to be right). The level is chosen from the whole then. */
static bool has_layers_of_levels(const culv_image *image)
{
    return image->desc.array_layers > 1 && image->desc.mip_levels > 1;
}

static bool is_chosen_by_lod(const culv_image *image, const culv_texture_desc *d)
{
    return has_layers_of_levels(image) && d->level_count == 1 && !needs_view(image, d);
}

/* The view format that is the array's own. NVIDIA's driver takes no view without one (measured:
 * NONE is refused, whatever the rest). NONE: there is none, or not one that is known to read the
 * same. */
static CUresourceViewFormat view_format(const culv_image *image)
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
                                             CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
                                             CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
                                             CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
#define VIEWS(type, bits)                                                                          \
    {                                                                                              \
        CU_RES_VIEW_FORMAT_##type##_1X##bits, CU_RES_VIEW_FORMAT_##type##_2X##bits,                \
            CU_RES_VIEW_FORMAT_##type##_4X##bits                                                   \
    }
    static const CUresourceViewFormat views[][3] = {
        VIEWS(UINT, 8),  VIEWS(SINT, 8),  VIEWS(UINT, 16),  VIEWS(SINT, 16),
        VIEWS(UINT, 32), VIEWS(SINT, 32), VIEWS(FLOAT, 16), VIEWS(FLOAT, 32)};
    CUDA_ARRAY3D_DESCRIPTOR array = culvi_image_describe(image, 0);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (array.Format == formats[i])
            return views[i][array.NumChannels / 2]; /* 1, 2 or 4 channels */
    return CU_RES_VIEW_FORMAT_NONE;
}

static culv_result check_ranges(const culv_image *image, const culvi_format *row,
                                culv_texture_desc *d)
{
    const culvi_voice *voice = &image->memory->device->voice;
    uint32_t levels = image->desc.mip_levels;
    uint32_t layers = image->desc.array_layers;
    CULVI_REFUSE_IF(d->base_level >= levels || d->level_count > levels - d->base_level ||
                        d->base_layer >= layers || d->layer_count > layers - d->base_layer,
                    voice, image->label, CULV_REASON_LEVEL,
                    "culv_texture_desc names %" PRIu32 " levels from %" PRIu32 " on and %" PRIu32
                    " layers from %" PRIu32 " on (0: all the rest), but the image has %" PRIu32
                    " and %" PRIu32,
                    d->level_count, d->base_level, d->layer_count, d->base_layer, levels, layers);
    if (d->level_count == 0) d->level_count = levels - d->base_level;
    if (d->layer_count == 0) d->layer_count = layers - d->base_layer;
    if (image->desc.type == CULV_IMAGE_CUBE && d->layer_count != layers)
        return refuse(
            image, CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL,
            "a texture of cubes reads all layers, since cuda.h does not say whether a range counts cubes or faces; the kernel chooses the cube (texCubemapLayered())");
    if (d->unnormalized_coordinates && d->level_count == 1 && has_layers_of_levels(image))
        return refuse(
            image, CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL,
            "unnormalized_coordinates need a level's own array (cuda.h), and NVIDIA's driver reads texels of other levels in the layers of that array (measured on an H200): divide the coordinates by the level's extent, or give the image one level");
    if (!needs_view(image, d)) return CULV_OK;
    if (row->kind == CULV_TEXEL_KIND_BLOCKS)
        return refuse(
            image, CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL,
            "CUDA has no views of block-compressed arrays (cuda.h, cuTexObjectCreate): read one level, or levels from 0 on, with all layers");
    if (image->desc.type == CULV_IMAGE_1D && layers > 1)
        return refuse(
            image, CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL,
            "a view of part of a 1D array was seen to read another layer (measured on an H200): read one level, or levels from 0 on, with all layers");
    if (view_format(image) == CU_RES_VIEW_FORMAT_NONE)
        return refuse(
            image, CULV_ERROR_UNSUPPORTED, CULV_REASON_LEVEL,
            "CUDA needs a CUresourceViewFormat to view part of an array, and has none for its normalized array formats: map the image as CULV_TEXELS_STORED, or read one level, or levels from 0 on, with all layers");
    return CULV_OK;
}

/* Coordinates that are folded at an edge; a layer, a cube's direction and what the image has not
 * are none. */
static int num_axes(const culv_image *image)
{
    return image->desc.type == CULV_IMAGE_1D ? 1 : image->desc.type == CULV_IMAGE_3D ? 3 : 2;
}

static bool is_finite(float value)
{
    return value - value == 0;
}

/* The rules are cuda.h's, cuTexObjectCreate; NULL: none is broken. */
static const char *broken_rule(const culv_image *image, const culvi_format *row,
                               const culv_texture_desc *d)
{
    bool floats = reads_floats(image, row, d->read);
    bool clamps = true, border = false;
    for (int i = 0; i < num_axes(image); i++) {
        if ((uint32_t)d->address[i] > CULV_TEXTURE_ADDRESS_BORDER)
            return "address has a value that is not a culv_texture_address";
        clamps &= d->address[i] == CULV_TEXTURE_ADDRESS_CLAMP;
        border |= d->address[i] == CULV_TEXTURE_ADDRESS_BORDER;
    }
    if ((uint32_t)d->filter > CULV_TEXTURE_FILTER_LINEAR ||
        (uint32_t)d->mip_filter > CULV_TEXTURE_FILTER_LINEAR)
        return "filter or mip_filter is not a culv_texture_filter";
    if ((uint32_t)d->read > CULV_TEXTURE_READ_STORED) return "read is not a culv_texture_read";
    if (d->read == CULV_TEXTURE_READ_STORED && image->desc.texels == CULV_TEXELS_NORMALIZED)
        return "read is STORED, but the image was mapped as NORMALIZED, which reads only floats; map it as STORED";
    if (!floats &&
        (d->filter == CULV_TEXTURE_FILTER_LINEAR || d->mip_filter == CULV_TEXTURE_FILTER_LINEAR))
        return "linear filters need a read that returns floats; this one returns integers";
    if (!floats && border &&
        (d->border_color[0] != 0 || d->border_color[1] != 0 || d->border_color[2] != 0 ||
         d->border_color[3] != 0))
        return "border_color is not 0, which needs a read that returns floats; this one returns integers";
    if (d->unnormalized_coordinates && (!clamps || d->level_count > 1))
        return "unnormalized_coordinates allow only the address CLAMP and one level (level_count 1)";
    if (d->unnormalized_coordinates && image->desc.type == CULV_IMAGE_CUBE)
        return "a cube has no unnormalized_coordinates";
    if (d->max_anisotropy > 16) return "max_anisotropy is at most 16";
    if (!is_finite(d->mip_bias)) return "mip_bias is not a finite number";
    if (d->clamp_lod && !(d->min_lod >= 0 && d->min_lod <= d->max_lod))
        return "min_lod is not in [0, max_lod]";
    return NULL;
}

static CUDA_TEXTURE_DESC texture_desc(const culv_image *image, const culvi_format *row,
                                      const culv_texture_desc *d)
{
    static const CUaddress_mode modes[] = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_WRAP,
                                           CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER};
    CUDA_TEXTURE_DESC t = {0};
    for (int i = 0; i < 3; i++)
        t.addressMode[i] = modes[d->address[i]];
    t.filterMode = d->filter == CULV_TEXTURE_FILTER_LINEAR ? CU_TR_FILTER_MODE_LINEAR
                                                           : CU_TR_FILTER_MODE_POINT;
    t.mipmapFilterMode = d->mip_filter == CULV_TEXTURE_FILTER_LINEAR ? CU_TR_FILTER_MODE_LINEAR
                                                                     : CU_TR_FILTER_MODE_POINT;
    t.maxAnisotropy = d->max_anisotropy;
    t.mipmapLevelBias = d->mip_bias;
    t.minMipmapLevelClamp = d->clamp_lod ? d->min_lod : 0;
    /* The array may have more levels than the image (mapped_levels() in image_arrays.c). */
    t.maxMipmapLevelClamp = (float)(d->level_count - 1);
    if (d->clamp_lod && d->max_lod < t.maxMipmapLevelClamp) t.maxMipmapLevelClamp = d->max_lod;
    if (t.minMipmapLevelClamp > t.maxMipmapLevelClamp)
        t.minMipmapLevelClamp = t.maxMipmapLevelClamp;
    if (is_chosen_by_lod(image, d))
        t.minMipmapLevelClamp = t.maxMipmapLevelClamp = (float)d->base_level;
    memcpy(t.borderColor, d->border_color, sizeof t.borderColor);
    if (!reads_floats(image, row, d->read)) t.flags |= CU_TRSF_READ_AS_INTEGER;
    if (!d->unnormalized_coordinates) t.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    bool srgb = row->kind == CULV_TEXEL_KIND_SRGB || row->srgb_format != 0;
    if (srgb && d->read == CULV_TEXTURE_READ_AS_GRAPHICS) t.flags |= CU_TRSF_SRGB;
    if (image->desc.type == CULV_IMAGE_CUBE && !d->no_seamless_cube)
        t.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return t;
}

/* What the texture is of, and *viewed whether a view selects from that. In the device's context;
 * the caller holds the lock. */
static culv_result choose(culv_image *image, const culv_texture_desc *d,
                          CUDA_RESOURCE_DESC *resource, CUDA_RESOURCE_VIEW_DESC *view, bool *viewed)
{
    const culv_image_desc *whole = &image->desc;
    CUDA_ARRAY3D_DESCRIPTOR array = culvi_image_describe(image, d->plane);
    bool one_level = d->level_count == 1;
    memset(resource, 0, sizeof *resource);
    memset(view, 0, sizeof *view);
    *viewed = needs_view(image, d);
    view->format = view_format(image);
    /* The resource's extent, whatever levels and layers are chosen of it: any other is refused
     * (measured). */
    view->width = array.Width;
    view->height = array.Height;
    view->depth = array.Depth;
    if (array.Flags & CUDA_ARRAY3D_LAYERED) {
        view->firstLayer = d->base_layer;
        view->lastLayer = d->base_layer + d->layer_count - 1;
    }
    if (!one_level || has_layers_of_levels(image)) {
        resource->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource->res.mipmap.hMipmappedArray = image->arrays[0];
        view->firstMipmapLevel = d->base_level;
        view->lastMipmapLevel = d->base_level + d->level_count - 1;
        return CULV_OK;
    }
    uint32_t slot = culvi_image_slot(image, d->base_level, d->plane);
    resource->resType = CU_RESOURCE_TYPE_ARRAY;
    view->width = culvi_level_size(whole->width, d->base_level);
    if (array.Height != 0) view->height = culvi_level_size(whole->height, d->base_level);
    if (whole->type == CULV_IMAGE_3D) view->depth = culvi_level_size(whole->depth, d->base_level);
    return culvi_image_get_array(image, slot, &resource->res.array.hArray);
}

/* Runs in the device's context; the caller holds the lock. */
static culv_result create(culv_image *image, const culvi_format *row, const culv_texture_desc *d,
                          CUtexObject *out)
{
    culv_device *device = image->memory->device;
    CUDA_TEXTURE_DESC t = texture_desc(image, row, d);
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed = false;
    CULVI_TRY(choose(image, d, &resource, &view, &viewed));
    CUresult r = CULVI_CU(device, cuTexObjectCreate, (out, &resource, &t, viewed ? &view : NULL));
    return CULVI_CU_RESULT(device, image->label, r, "cuTexObjectCreate",
                           r == CUDA_ERROR_INVALID_VALUE ? CULV_REASON_VALUE
                                                         : CULV_REASON_DRIVER_REFUSED,
                           "levels %" PRIu32 " to %" PRIu32 ", layers %" PRIu32 " to %" PRIu32
                           " of the %s image could not be made a texture",
                           d->base_level, d->base_level + d->level_count - 1, d->base_layer,
                           d->base_layer + d->layer_count - 1, image->row->name);
}

/* So that equal settings are equal bytes: what does not apply is left out. There is no padding. */
static void leave_out(const culv_image *image, culv_texture_desc *d)
{
    _Static_assert(sizeof *d == sizeof d->struct_size + 22 * sizeof d->plane, "no padding");
    bool border = false;
    for (int i = 0; i < 3; i++) {
        if (i >= num_axes(image)) d->address[i] = CULV_TEXTURE_ADDRESS_CLAMP;
        border |= d->address[i] == CULV_TEXTURE_ADDRESS_BORDER;
    }
    d->clamp_lod = d->clamp_lod != 0;
    if (!d->clamp_lod) d->min_lod = d->max_lod = 0;
    if (!border) memset(d->border_color, 0, sizeof d->border_color);
    d->unnormalized_coordinates = d->unnormalized_coordinates != 0;
    d->no_seamless_cube = d->no_seamless_cube != 0;
}

/* Needs no lock: what is in the list stays as it is until the image goes. */
static CUtexObject find(culv_image *image, const culv_texture_desc *key)
{
    for (culvi_texture *t = atomic_load_explicit(&image->textures, memory_order_acquire); t != NULL;
         t = t->next)
        if (memcmp(&t->key, key, sizeof *key) == 0) return t->object;
    return 0;
}

/* The caller holds the lock. */
static culv_result add(culv_image *image, const culvi_format *row, const culv_texture_desc *key,
                       CUtexObject *out)
{
    culv_device *device = image->memory->device;
    *out = find(image, key); /* another thread may have been first */
    if (*out != 0 && !device->lost) return CULV_OK;
    CULVI_NEW(culvi_texture, texture, &device->voice, image->label);
    culv_result result;
    CULVI_INSIDE(result, device, image->label, create(image, row, key, &texture->object));
    CULVI_TRY_OR(result, culvi_free(texture));
    texture->key = *key;
    texture->next = atomic_load_explicit(&image->textures, memory_order_relaxed);
    atomic_store_explicit(&image->textures, texture, memory_order_release);
    *out = texture->object;
    return CULV_OK;
}

culv_result culv_image_get_texture(culv_image *image, const culv_texture_desc *desc,
                                   CUtexObject *out)
{
    CULVI_TRY(culvi_image_check_call(image, 0, 1, "level", out, "culv_image_get_texture"));
    CULVI_TRY(culvi_image_check_arrays(image));
    culv_device *device = image->memory->device;
    CULVI_READ(&device->voice, culv_texture_desc, d, desc);
    if (d.plane >= image->row->planes)
        return refuse(image, CULV_ERROR_INVALID, CULV_REASON_LEVEL, "it has no such plane");
    const culvi_format *row = sampled_row(image, d.plane);
    culv_result result = check_ranges(image, row, &d);
    if (result != CULV_OK) return result;
    const char *wrong = broken_rule(image, row, &d);
    if (wrong != NULL) return refuse(image, CULV_ERROR_INVALID, CULV_REASON_VALUE, wrong);
    leave_out(image, &d);
    CUtexObject object = find(image, &d);
    if (object == 0 || device->lost) {
        CULVI_LOCKED(&device->lock, result = add(image, row, &d, &object));
    }
    if (result == CULV_OK) *out = object;
    return result;
}
