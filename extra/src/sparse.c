/* SPDX-License-Identifier: MIT */
/* culv_sparse_array: made, asked, given up. */
#include "sparse.h"

/* These are as wide as any CUDA array is; the driver checks the device's own limits. They keep sums
 * within 64 bits. */
enum { MAX_SIDE = 131072, MAX_DEPTH = 16384, MAX_LAYERS = 2048 };

uint32_t culvi_sparse_side(const culv_sparse_array *array, uint32_t level, int axis)
{
    const culv_sparse_array_desc *d = &array->desc;
    const uint32_t size = (axis == 0 ? d->width : axis == 1 ? d->height : d->depth) >> level;
    return size > 0 ? size : 1;
}

static culv_result check_extent(culv_device *device, const culv_sparse_array_desc *d)
{
    const char *rule = NULL;
    uint32_t most = 1;
    while ((d->width | d->height | d->depth) >> most != 0)
        most++;
    CULVI_X_REFUSE_IF(
        d->type != CULV_IMAGE_2D && d->type != CULV_IMAGE_3D, device, d->label, CULV_REASON_VALUE,
        "culv_sparse_array_desc.type is %u; CUDA has only 2D (0) sparse arrays, with or without layers, and 3D (2) ones (cuda.h, cuMemMapArrayAsync)",
        (unsigned)d->type);
    if (d->width == 0 || d->height == 0 || d->depth == 0)
        rule = "no side may be 0";
    else if (d->width > MAX_SIDE || d->height > MAX_SIDE || d->depth > MAX_DEPTH ||
             d->array_layers > MAX_LAYERS)
        rule = "no CUDA array has more than 131,072 texels a side, 16,384 slices or 2,048 layers";
    else if (d->type != CULV_IMAGE_3D && d->depth != 1)
        rule = "only a 3D array has a depth";
    else if (d->type == CULV_IMAGE_3D && d->array_layers != 1)
        rule = "a 3D array has one layer";
    else if (d->texture_gather && (d->type != CULV_IMAGE_2D || d->array_layers != 1))
        rule = "gather is for 2D arrays of one layer (cuda.h, CUDA_ARRAY3D_TEXTURE_GATHER)";
    CULVI_X_REFUSE_IF(rule != NULL, device, d->label, CULV_REASON_EXTENT,
                      "the sparse array has width %" PRIu32 ", height %" PRIu32 ", depth %" PRIu32
                      " and %" PRIu32 " array_layers, but %s",
                      d->width, d->height, d->depth, d->array_layers, rule);
    CULVI_X_REFUSE_IF(d->mip_levels > most, device, d->label, CULV_REASON_EXTENT,
                      "mip_levels is %" PRIu32 ", but %" PRIu32 " x %" PRIu32 " x %" PRIu32
                      " texels have at most %" PRIu32 " levels",
                      d->mip_levels, d->width, d->height, d->depth, most);
    return CULV_OK;
}

static culv_result check_format(culv_device *device, const culv_sparse_array_desc *d,
                                culv_format_info *format)
{
    CULVI_X_TRY(culv_format_get_info(d->format, format));
    if (format->mapped) CULVI_X_TRY(culv_check_format(device, d->format, d->texels));
    CULVI_X_UNSUPPORTED_IF(!format->mapped, device, d->label, format->reason,
                           "culv_sparse_array_desc.format is %s: %s", format->name,
                           format->reason_text);
    if (format->kind != CULV_TEXEL_KIND_PLANES && format->kind != CULV_TEXEL_KIND_SUBSAMPLED)
        return CULV_OK;
    return culvi_x_fail(
        device, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "culv_sparse_array_desc.format is %s, a Y'CbCr format, and those have no sparse arrays; make one for each plane's format (culv_format_info.plane_formats)",
        format->name);
}

static culv_result check_device(culv_device *device, const char *label)
{
    const culv_device_caps caps = culvi_x_caps(device);
    CULVI_X_UNSUPPORTED_IF(
        caps.cig_context, device, label, CULV_REASON_CIG,
        "a CUDA-in-graphics (CIG) context has no sparse arrays; use an array without memory of VMM, or a device with another context");
    CULVI_X_UNSUPPORTED_IF(
        !caps.sparse_arrays, device, label, CULV_REASON_VMM,
        "'%s' has no sparse arrays (CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED is 0)",
        caps.name);
    CULVI_X_UNSUPPORTED_IF(
        caps.ordinal >= 32, device, label, CULV_REASON_VMM,
        "'%s' is CUDA device %d; cuMemMapArrayAsync names devices by the 32 bits of a mask",
        caps.name, (int)caps.ordinal);
    return CULV_CUDA_CHECK(device, cuMemMapArrayAsync);
}

static CUDA_ARRAY3D_DESCRIPTOR describe(const culv_sparse_array *array,
                                        const culv_format_info *format)
{
    const culv_sparse_array_desc *d = &array->desc;
    const bool normalized = d->texels == CULV_TEXELS_NORMALIZED, layered = d->array_layers > 1;
    return (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = d->width,
        .Height = d->height,
        .Depth = layered                    ? d->array_layers
                 : d->type == CULV_IMAGE_3D ? d->depth
                                            : 0,
        .Format = (CUarray_format)(normalized ? format->normalized_array_format
                                              : format->cuda_array_format),
        .NumChannels = normalized ? format->normalized_channels : format->channels,
        .Flags = CUDA_ARRAY3D_SPARSE | (layered ? (unsigned)CUDA_ARRAY3D_LAYERED : 0u) |
                 (d->surfaces ? (unsigned)CUDA_ARRAY3D_SURFACE_LDST : 0u) |
                 (d->texture_gather ? (unsigned)CUDA_ARRAY3D_TEXTURE_GATHER : 0u)};
}

/* Gives the array back to the driver. */
static int32_t release(void *user, const char **call)
{
    culv_sparse_array *a = user;
    *call = a->mipmap != NULL ? "cuMipmappedArrayDestroy" : "cuArrayDestroy";
    return a->mipmap != NULL ? (int32_t)CULV_CUDA(a->device)->cuMipmappedArrayDestroy(a->mipmap)
                             : (int32_t)CULV_CUDA(a->device)->cuArrayDestroy(a->array);
}

static culv_result refuse(const culv_sparse_array *array, const culv_format_info *format,
                          CUresult r, const char *call)
{
    culv_device *device = array->device;
    const culv_sparse_array_desc *d = &array->desc;
    if (r == CUDA_ERROR_INVALID_VALUE && d->surfaces)
        return culvi_x_fail_native(
            device, array->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE, r, call,
            "%s of '%s' cannot make a sparse array of %s with culv_sparse_array_desc.surfaces: NVIDIA's driver refuses CUDA_ARRAY3D_SPARSE with CUDA_ARRAY3D_SURFACE_LDST (measured on an H200); leave it 0, and fill the array by copies",
            call, culvi_x_caps(device).name, format->name);
    return culvi_x_result(
        device, array->label, r, call, CULV_REASON_FORMAT,
        "a sparse array of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " texels %s, %" PRIu32
        " layers and %" PRIu32
        " levels could not be made; the device's limits may be lower, or it has no sparse arrays of this format",
        d->width, d->height, d->depth, format->name, d->array_layers, d->mip_levels);
}

/* Fills array->info. False: what the driver tells makes no sense. */
static bool note_shape(culv_sparse_array *array, const CUDA_ARRAY_SPARSE_PROPERTIES *p)
{
    culv_sparse_array_info *info = &array->info;
    const uint32_t levels = array->desc.mip_levels > 0 ? array->desc.mip_levels : 1;
    const uint32_t tile[3] = {p->tileExtent.width, p->tileExtent.height, p->tileExtent.depth};
    if (tile[0] == 0 || tile[1] == 0 || tile[2] == 0 ||
        p->miptailSize % CULV_SPARSE_TILE_BYTES != 0)
        return false;
    *info = culv_sparse_array_info_init();
    info->tile_width = tile[0];
    info->tile_height = tile[1];
    info->tile_depth = tile[2];
    info->tile_bytes = CULV_SPARSE_TILE_BYTES;
    info->array_layers = array->desc.array_layers;
    info->mip_levels = levels;
    /* cuda.h: the first level is valid only with a tail. One may begin behind the levels that there
     * are. */
    info->mip_tail_first_level =
        p->miptailSize != 0 && p->miptailFirstLevel < levels ? p->miptailFirstLevel : levels;
    info->mip_tail_size = info->mip_tail_first_level < levels ? p->miptailSize : 0;
    info->mip_tail_single =
        info->mip_tail_size != 0 && (p->flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL);
    /* cuda.h: not of layers, it is one in any case. */
    if (info->mip_tail_size != 0 && info->array_layers == 1) info->mip_tail_single = 1;
    info->full_size = info->mip_tail_size * (info->mip_tail_single ? 1 : info->array_layers);
    for (uint32_t level = 0; level < info->mip_tail_first_level; level++) {
        uint64_t tiles = info->array_layers;
        for (int axis = 0; axis < 3; axis++)
            tiles *=
                ((uint64_t)culvi_sparse_side(array, level, axis) + tile[axis] - 1) / tile[axis];
        info->full_size += tiles * CULV_SPARSE_TILE_BYTES;
    }
    return true;
}

static culv_result finish(culv_sparse_array *array)
{
    culv_device *device = array->device;
    const bool levels = array->mipmap != NULL;
    CUDA_ARRAY_SPARSE_PROPERTIES properties = {0};
    CUresult r =
        levels ? CULV_CUDA(device)->cuMipmappedArrayGetSparseProperties(&properties, array->mipmap)
               : CULV_CUDA(device)->cuArrayGetSparseProperties(&properties, array->array);
    CULVI_X_TRY(culvi_x_result(
        device, array->label, r,
        levels ? "cuMipmappedArrayGetSparseProperties" : "cuArrayGetSparseProperties",
        CULV_REASON_DRIVER_REFUSED, "the shape of the sparse array's tiles could not be queried"));
    CULVI_X_UNSUPPORTED_IF(
        !note_shape(array, &properties), device, array->label, CULV_REASON_VMM,
        "the driver of '%s' reports tiles of %u x %u x %u texels and a mip tail of %llu bytes, which Culvert does not understand: tiles have 65,536 bytes",
        culvi_x_caps(device).name, properties.tileExtent.width, properties.tileExtent.height,
        properties.tileExtent.depth, properties.miptailSize);
    return CULVI_X_OBJECT(device, &array->object, .kind = "sparse array", .label = array->label,
                          .size = array->info.full_size, .release = release, .free = culvi_x_free,
                          .user = array);
}

/* Runs in the device's context. */
static culv_result make(culv_sparse_array *array, const culv_format_info *format)
{
    const culv_cuda_api *cuda = CULV_CUDA(array->device);
    const CUDA_ARRAY3D_DESCRIPTOR desc = describe(array, format);
    const uint32_t levels = array->desc.mip_levels;
    const char *call = levels > 0 ? "cuMipmappedArrayCreate" : "cuArray3DCreate";
    CUresult r = levels > 0 ? cuda->cuMipmappedArrayCreate(&array->mipmap, &desc, levels)
                            : cuda->cuArray3DCreate(&array->array, &desc);
    if (r != CUDA_SUCCESS) return refuse(array, format, r, call);
    CULVI_X_TRY_OR(finish(array), CULVI_X_RELEASE(release(array, &call)));
    return CULV_OK;
}

culv_result culv_sparse_array_create(culv_device *device, const culv_sparse_array_desc *desc,
                                     culv_sparse_array **out)
{
    CULVI_X_REQUIRE_WITH2(device, device, desc, out);
    CULVI_X_READ(device, culv_sparse_array_desc, d, desc);
    if (d.type != CULV_IMAGE_3D && d.depth == 0) d.depth = 1;
    if (d.array_layers == 0) d.array_layers = 1;
    culv_format_info format = culv_format_info_init();
    CULVI_X_TRY(check_device(device, d.label));
    CULVI_X_TRY(check_extent(device, &d));
    CULVI_X_TRY(check_format(device, &d, &format));
    CULVI_X_NEW(culv_sparse_array, array, device, d.label);
    array->device = device;
    array->desc = d;
    array->desc.label = NULL;
    culvi_x_label_set(array->label, d.label);
    CULVI_X_INSIDE(result, device, make(array, &format));
    CULVI_X_TRY_OR(result, culvi_x_free(array));
    *out = array;
    return CULV_OK;
}

void culv_sparse_array_destroy(culv_sparse_array **array, const CUstream *last_use)
{
    culv_sparse_array *mine = culvi_x_take(array);
    culv_addon_object *object = mine != NULL ? mine->object : NULL;
    if (object != NULL) culv_addon_object_destroy(&object, last_use);
}

culv_result culv_sparse_array_get_info(const culv_sparse_array *array, culv_sparse_array_info *out)
{
    CULVI_X_REQUIRE(NULL, array);
    CULVI_X_TRY(culvi_x_out_check(array->device, __func__, out, "culv_sparse_array_info"));
    culv_sparse_array_info info = array->info;
    info.array = array->array;
    info.mipmapped_array = array->mipmap;
    culvi_x_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

culv_result culv_sparse_array_get_level(const culv_sparse_array *array, uint32_t level,
                                        CUarray *out)
{
    CULVI_X_REQUIRE_WITH(array, array->device, out);
    CULVI_X_REFUSE_IF(
        level >= array->info.mip_levels, array->device, array->label, CULV_REASON_LEVEL,
        "culv_sparse_array_get_level: level is %" PRIu32 ", but the array has %" PRIu32 " levels",
        level, array->info.mip_levels);
    CUarray found = array->array;
    CULVI_X_CU_INSIDE(
        r, array->device,
        array->mipmap == NULL
            ? CUDA_SUCCESS
            : CULV_CUDA(array->device)->cuMipmappedArrayGetLevel(&found, array->mipmap, level));
    CULVI_X_TRY(culvi_x_result(
        array->device, array->label, r, "cuMipmappedArrayGetLevel", CULV_REASON_DRIVER_REFUSED,
        "level %" PRIu32 " of the sparse array could not be retrieved", level));
    *out = found;
    return CULV_OK;
}
