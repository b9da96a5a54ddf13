/* SPDX-License-Identifier: MIT */
/* culv_sparse_array: made, asked, given up. */
#include "vmm/sparse.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "cuda/cig.h"
#include "cuda/context.h"

#include <inttypes.h>

/* These are as wide as any CUDA array is; the driver checks the device's own limits. They keep sums
 * within 64 bits. */
enum { MAX_SIDE = 131072, MAX_DEPTH = 16384, MAX_LAYERS = 2048 };

uint32_t culvi_sparse_side(const culv_sparse_array *array, uint32_t level, int axis)
{
    const culv_sparse_array_desc *d = &array->desc;
    return culvi_level_size(axis == 0 ? d->width : axis == 1 ? d->height : d->depth, level);
}

static culv_result check_extent(const culvi_voice *voice, const culv_sparse_array_desc *d)
{
    const char *rule = NULL;
    uint32_t most = culvi_image_most_levels(d->width, d->height, d->depth);
    if (d->type != CULV_IMAGE_2D && d->type != CULV_IMAGE_3D)
        return culvi_fail(
            voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "culv_sparse_array_desc.type is %u; CUDA has only 2D (0) sparse arrays, with or "
            "without layers, and 3D (2) ones (cuda.h, cuMemMapArrayAsync)",
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
    if (rule != NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "the sparse array has width %" PRIu32 ", height %" PRIu32
                          ", depth %" PRIu32 " and %" PRIu32 " array_layers, but %s",
                          d->width, d->height, d->depth, d->array_layers, rule);
    if (d->mip_levels > most)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                          "mip_levels is %" PRIu32 ", but %" PRIu32 " x %" PRIu32 " x %" PRIu32
                          " texels have at most %" PRIu32 " levels",
                          d->mip_levels, d->width, d->height, d->depth, most);
    return CULV_OK;
}

static culv_result check_format(culv_device *device, const culvi_format *row,
                                const culv_sparse_array_desc *d)
{
    if (row == NULL)
        return culvi_fail(
            &device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "culv_sparse_array_desc.format is %u, which is no format of culvert/format_list.h",
            (unsigned)d->format);
    if (!row->mapped)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_UNSUPPORTED, row->reason,
                          "culv_sparse_array_desc.format is %s: %s", row->name, row->why);
    if (row->kind == CULV_TEXEL_KIND_PLANES || row->kind == CULV_TEXEL_KIND_SUBSAMPLED)
        return culvi_fail(
            &device->voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "culv_sparse_array_desc.format is %s, a Y'CbCr format, and those have no sparse "
            "arrays; make one for each plane's format (culv_format_get_plane())",
            row->name);
    if ((uint32_t)d->texels > CULV_TEXELS_NORMALIZED)
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_sparse_array_desc.texels is %u, which is not a culv_texels",
                          (unsigned)d->texels);
    return culvi_format_supported(device, row, d->texels, d->label);
}

static culv_result check_device(const culv_device *device, const char *label)
{
    culv_result result =
        culvi_cig_refuse(device, label, "a sparse array", "use an array without memory of VMM");
    if (result != CULV_OK) return result;
    if (!device->caps.sparse_arrays)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "'%s' has no sparse arrays (CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED is 0)",
            device->caps.name);
    if (device->cuda->cuMemMapArrayAsync == NULL ||
        device->cuda->cuArrayGetSparseProperties == NULL ||
        device->cuda->cuMipmappedArrayGetSparseProperties == NULL)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
            "the CUDA driver of '%s' lacks cuMemMapArrayAsync, which came with CUDA 11.1",
            device->caps.name);
    if (device->ordinal >= 32)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "'%s' is CUDA device %d; cuMemMapArrayAsync names devices by the 32 bits of a mask",
            device->caps.name, (int)device->ordinal);
    return CULV_OK;
}

static CUDA_ARRAY3D_DESCRIPTOR describe(const culv_sparse_array *array)
{
    const culv_sparse_array_desc *d = &array->desc;
    const bool normalized = d->texels == CULV_TEXELS_NORMALIZED, layered = d->array_layers > 1;
    CUDA_ARRAY3D_DESCRIPTOR out;
    memset(&out, 0, sizeof out);
    out.Width = d->width;
    out.Height = d->height;
    out.Depth = layered ? d->array_layers : d->type == CULV_IMAGE_3D ? d->depth : 0;
    out.Format = normalized ? array->row->normalized_format : array->row->cuda_format;
    out.NumChannels = normalized ? array->row->normalized_channels : array->row->channels;
    out.Flags = CUDA_ARRAY3D_SPARSE | (layered ? (unsigned)CUDA_ARRAY3D_LAYERED : 0u) |
                (d->surfaces ? (unsigned)CUDA_ARRAY3D_SURFACE_LDST : 0u) |
                (d->texture_gather ? (unsigned)CUDA_ARRAY3D_TEXTURE_GATHER : 0u);
    return out;
}

/* False: the driver refused for now. The caller holds the lock. */
static bool release_array(culv_device *device, culv_sparse_array *array, bool last_try)
{
    if (array->array != NULL) {
        CUresult r = CULVI_RELEASE(device, cuArrayDestroy, (array->array));
        if (!culvi_release_done(device, "cuArrayDestroy", r, last_try)) return false;
    }
    if (array->mipmap != NULL) {
        CUresult r = CULVI_RELEASE(device, cuMipmappedArrayDestroy, (array->mipmap));
        if (!culvi_release_done(device, "cuMipmappedArrayDestroy", r, last_try)) return false;
    }
    return true;
}

static bool release(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_sparse_array *array = CULVI_CONTAINER(self, culv_sparse_array, deferred);
    if (!release_array(device, array, last_try)) return false;
    culvi_free(array);
    return true;
}

static culv_result refuse(const culv_sparse_array *array, CUresult r, const char *call)
{
    const culv_device *device = array->device;
    const culv_sparse_array_desc *d = &array->desc;
    if (r == CUDA_ERROR_INVALID_VALUE && d->surfaces)
        return culvi_fail_native(
            &device->voice, array->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
            CULV_NATIVE_CUDA, r, call,
            "%s of '%s' cannot make a sparse array of %s with culv_sparse_array_desc.surfaces: "
            "NVIDIA's driver refuses CUDA_ARRAY3D_SPARSE with CUDA_ARRAY3D_SURFACE_LDST (measured "
            "on an H200); leave it 0, and fill the array by copies",
            call, device->caps.name, array->row->name);
    return culvi_fail_cuda(
        device, array->label, r, call, CULV_REASON_FORMAT,
        "a sparse array of %" PRIu32 " x %" PRIu32 " x %" PRIu32 " texels %s, %" PRIu32
        " layers and %" PRIu32 " levels could not be made; "
        "the device's limits may be lower, or it has no sparse arrays of this format",
        d->width, d->height, d->depth, array->row->name, d->array_layers, d->mip_levels);
}

/* Runs in the device's context. */
static culv_result make(culv_sparse_array *array, CUDA_ARRAY_SPARSE_PROPERTIES *properties)
{
    culv_device *device = array->device;
    const CUDA_ARRAY3D_DESCRIPTOR desc = describe(array);
    const bool levels = array->desc.mip_levels > 0;
    const char *call = levels ? "cuMipmappedArrayCreate" : "cuArray3DCreate";
    CUresult r = levels ? CULVI_CU(device, cuMipmappedArrayCreate,
                                   (&array->mipmap, &desc, array->desc.mip_levels))
                        : CULVI_CU(device, cuArray3DCreate, (&array->array, &desc));
    if (r != CUDA_SUCCESS) {
        array->mipmap = NULL;
        array->array = NULL;
        return refuse(array, r, call);
    }
    memset(properties, 0, sizeof *properties);
    call = levels ? "cuMipmappedArrayGetSparseProperties" : "cuArrayGetSparseProperties";
    r = levels ? CULVI_CU(device, cuMipmappedArrayGetSparseProperties, (properties, array->mipmap))
               : CULVI_CU(device, cuArrayGetSparseProperties, (properties, array->array));
    if (r == CUDA_SUCCESS) return CULV_OK;
    return culvi_fail_cuda(device, array->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "the shape of the sparse array's tiles could not be queried");
}

static uint64_t up(uint64_t value, uint64_t of)
{
    return (value + of - 1) / of;
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
            tiles *= up(culvi_sparse_side(array, level, axis), tile[axis]);
        info->full_size += tiles * CULV_SPARSE_TILE_BYTES;
    }
    return true;
}

/* What a creation that failed has made. In the device's context. */
static void drop(culv_sparse_array *array)
{
    if (!release_array(array->device, array, false))
        (void)release_array(array->device, array, true);
    culvi_free(array);
}

culv_result culv_sparse_array_create(culv_device *device, const culv_sparse_array_desc *desc,
                                     culv_sparse_array **out)
{
    culv_sparse_array_desc d;
    culvi_scope scope;
    CULVI_REQUIRE(NULL, device);
    CULVI_REQUIRE2(&device->voice, desc, out);
    culv_result result =
        culvi_desc_read(&device->voice, &d, sizeof d, desc, "culv_sparse_array_desc");
    if (result != CULV_OK) return result;
    if (d.type != CULV_IMAGE_3D && d.depth == 0) d.depth = 1;
    if (d.array_layers == 0) d.array_layers = 1;
    const culvi_format *row = culvi_format_find((uint32_t)d.format);
    result = check_device(device, d.label);
    if (result == CULV_OK) result = check_extent(&device->voice, &d);
    if (result == CULV_OK) result = check_format(device, row, &d);
    if (result != CULV_OK) return result;
    culv_sparse_array *array = culvi_alloc(sizeof *array);
    if (array == NULL) return culvi_fail_host_memory(&device->voice, d.label);
    array->device = device;
    array->row = row;
    array->desc = d;
    array->desc.label = NULL;
    culvi_label_set(array->label, d.label);
    CUDA_ARRAY_SPARSE_PROPERTIES properties;
    result = culvi_enter(device, &scope, array->label);
    if (result != CULV_OK) {
        culvi_free(array);
        return result;
    }
    culvi_mutex_lock(&device->lock);
    result = make(array, &properties);
    if (result == CULV_OK && !note_shape(array, &properties))
        result = culvi_fail(
            &device->voice, array->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
            "the driver of '%s' reports tiles of %u x %u x %u texels and a mip tail of %llu "
            "bytes, which Culvert does not understand: tiles have 65,536 bytes",
            device->caps.name, properties.tileExtent.width, properties.tileExtent.height,
            properties.tileExtent.depth, properties.miptailSize);
    if (result != CULV_OK) drop(array);
    culvi_mutex_unlock(&device->lock);
    culvi_leave(device, &scope);
    if (result != CULV_OK) return result;
    culvi_device_ref(device);
    culvi_made(device, &array->deferred, "sparse array", array->label, array->info.full_size);
    *out = array;
    return CULV_OK;
}

void culv_sparse_array_destroy(culv_sparse_array **array, const CUstream *last_use)
{
    if (array == NULL || *array == NULL) return;
    culv_sparse_array *mine = *array;
    culv_device *device = mine->device;
    *array = NULL;
    culvi_mutex_lock(&device->lock);
    mine->deferred.release = release;
    culvi_release_or_defer(device, &mine->deferred, last_use);
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

culv_result culv_sparse_array_get_info(const culv_sparse_array *array, culv_sparse_array_info *out)
{
    CULVI_REQUIRE(NULL, array);
    CULVI_REQUIRE(&array->device->voice, out);
    culv_result result = culvi_struct_check(&array->device->voice, out, "culv_sparse_array_info");
    if (result != CULV_OK) return result;
    culv_sparse_array_info info = array->info;
    info.array = array->array;
    info.mipmapped_array = array->mipmap;
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}

culv_result culv_sparse_array_get_level(const culv_sparse_array *array, uint32_t level,
                                        CUarray *out)
{
    culvi_scope scope;
    CUarray found = NULL;
    CULVI_REQUIRE(NULL, array);
    CULVI_REQUIRE(&array->device->voice, out);
    if (level >= array->info.mip_levels)
        return culvi_fail(&array->device->voice, array->label, CULV_ERROR_INVALID,
                          CULV_REASON_LEVEL,
                          "culv_sparse_array_get_level: level is %" PRIu32
                          ", but the array has %" PRIu32 " levels",
                          level, array->info.mip_levels);
    if (array->mipmap == NULL && !culvi_lost(array->device)) {
        *out = array->array;
        return CULV_OK;
    }
    culv_result result = culvi_enter(array->device, &scope, array->label);
    if (result != CULV_OK) return result;
    CUresult r = CULVI_CU(array->device, cuMipmappedArrayGetLevel, (&found, array->mipmap, level));
    culvi_leave(array->device, &scope);
    if (r != CUDA_SUCCESS)
        return culvi_fail_cuda(
            array->device, array->label, r, "cuMipmappedArrayGetLevel", CULV_REASON_DRIVER_REFUSED,
            "level %" PRIu32 " of the sparse array could not be retrieved", level);
    *out = found;
    return CULV_OK;
}
