/* SPDX-License-Identifier: MIT */
/* Mapping tiles and mip tails of sparse arrays. */
#include "sparse.h"

#include <stdio.h>

/* Refuses what is wrong with `array`. The message begins with `at`, which says where a region came
 * from: "the_call: ", or "the_call: binds[3].". */
#define REFUSE_IF(condition, reason, ...)                                                          \
    CULVI_X_REFUSE_IF(condition, array->device, array->label, reason, __VA_ARGS__)

static culv_result check_level(const culv_sparse_array *array, const culv_sparse_region *region,
                               const char *at)
{
    const culv_sparse_array_info *info = &array->info;
    REFUSE_IF(region->level >= info->mip_levels, CULV_REASON_LEVEL,
              "%sregion.level is %" PRIu32 ", but the array has %" PRIu32 " levels", at,
              region->level, info->mip_levels);
    REFUSE_IF(region->level >= info->mip_tail_first_level, CULV_REASON_LEVEL,
              "%sregion.level is %" PRIu32
              ", which is smaller than a tile and lies in the mip tail (from level %" PRIu32
              " on, %" PRIu64
              " bytes); map that with a culv_sparse_bind whose part is CULV_SPARSE_MIP_TAIL",
              at, region->level, info->mip_tail_first_level, info->mip_tail_size);
    REFUSE_IF(region->layer >= info->array_layers, CULV_REASON_RANGE,
              "%sregion.layer is %" PRIu32 ", but the array has %" PRIu32 " layers", at,
              region->layer, info->array_layers);
    return CULV_OK;
}

/* Checks a region and makes its extents explicit; *bytes is what its tiles take of a pool. */
static culv_result check_region(const culv_sparse_array *array, culv_sparse_region *region,
                                const char *at, uint64_t *bytes)
{
    static const char *const offset_names[] = {"x", "y", "z"};
    static const char *const extent_names[] = {"width", "height", "depth"};
    const uint32_t tile[3] = {array->info.tile_width, array->info.tile_height,
                              array->info.tile_depth};
    const uint32_t offset[3] = {region->x, region->y, region->z};
    uint32_t *extent[3] = {&region->width, &region->height, &region->depth};
    CULVI_X_TRY(check_level(array, region, at));
    *bytes = CULV_SPARSE_TILE_BYTES;
    for (int i = 0; i < 3; i++) {
        const uint32_t side = culvi_sparse_side(array, region->level, i);
        REFUSE_IF(offset[i] >= side, CULV_REASON_RANGE,
                  "%sregion.%s is %" PRIu32 ", but level %" PRIu32 " ends at %" PRIu32, at,
                  offset_names[i], offset[i], region->level, side);
        REFUSE_IF(offset[i] % tile[i] != 0, CULV_REASON_VALUE,
                  "%sregion.%s is %" PRIu32 ", which is not a multiple of the tile's %" PRIu32
                  " texels",
                  at, offset_names[i], offset[i], tile[i]);
        if (*extent[i] == 0) *extent[i] = side - offset[i];
        REFUSE_IF(*extent[i] > side - offset[i], CULV_REASON_RANGE,
                  "%sregion.%s is %" PRIu32 " from %" PRIu32 " on, but level %" PRIu32
                  " ends at %" PRIu32
                  "; for a tile at the edge pass only the part within the level (0: to the edge)",
                  at, extent_names[i], *extent[i], offset[i], region->level, side);
        REFUSE_IF(*extent[i] % tile[i] != 0 && offset[i] + *extent[i] != side, CULV_REASON_VALUE,
                  "%sregion.%s is %" PRIu32 ", which is not a multiple of the tile's %" PRIu32
                  " texels, and it does not end where level %" PRIu32 " does, at %" PRIu32,
                  at, extent_names[i], *extent[i], tile[i], region->level, side);
        *bytes *= (*extent[i] + tile[i] - 1) / tile[i];
    }
    return CULV_OK;
}

/* Checks which part of a tail is meant and makes its size explicit. */
static culv_result check_tail(culv_sparse_bind *bind, const char *at)
{
    const culv_sparse_array *array = bind->array;
    const culv_sparse_array_info *info = &array->info;
    const uint32_t layers = info->mip_tail_single ? 1 : info->array_layers;
    REFUSE_IF(info->mip_tail_size == 0, CULV_REASON_LEVEL,
              "%sarray has no mip tail: each of its %" PRIu32 " levels has whole tiles", at,
              info->mip_levels);
    REFUSE_IF(bind->region.layer >= layers, CULV_REASON_RANGE, "%slayer is %" PRIu32 ", but %s", at,
              bind->region.layer,
              info->mip_tail_single ? "the array has one mip tail for all layers, layer 0's"
                                    : "the array has no such layer");
    REFUSE_IF(bind->tail_offset % CULV_SPARSE_TILE_BYTES != 0 ||
                  bind->tail_size % CULV_SPARSE_TILE_BYTES != 0,
              CULV_REASON_VALUE,
              "%stail_offset is %" PRIu64 " and tail_size %" PRIu64
              "; both must be multiples of %d bytes",
              at, bind->tail_offset, bind->tail_size, CULV_SPARSE_TILE_BYTES);
    REFUSE_IF(bind->tail_offset >= info->mip_tail_size ||
                  bind->tail_size > info->mip_tail_size - bind->tail_offset,
              CULV_REASON_RANGE,
              "%stail_size is %" PRIu64 " from tail_offset %" PRIu64
              " on, but the mip tail has %" PRIu64 " bytes",
              at, bind->tail_size, bind->tail_offset, info->mip_tail_size);
    if (bind->tail_size == 0) bind->tail_size = info->mip_tail_size - bind->tail_offset;
    return CULV_OK;
}

/* *handle is the driver's, 0 for an unmapping. */
static culv_result check_pool(const culv_sparse_bind *bind, uint64_t bytes, const char *at,
                              uint64_t *handle)
{
    const culv_sparse_array *array = bind->array;
    culv_device *device = array->device;
    culv_vmm_allocation_info pool = culv_vmm_allocation_info_init();
    *handle = 0;
    REFUSE_IF(bind->pool == NULL && bind->pool_offset != 0, CULV_REASON_VALUE,
              "%spool_offset is %" PRIu64 ", but pool is NULL, which unmaps", at,
              bind->pool_offset);
    if (bind->pool == NULL) return CULV_OK;
    CULVI_X_TRY(culv_vmm_allocation_get_info(bind->pool, &pool));
    REFUSE_IF(
        (pool.usage & CULV_VMM_USAGE_TILE_POOL) == 0, CULV_REASON_USAGE,
        "%spool is not a tile pool; allocate it with CULV_VMM_USAGE_TILE_POOL in culv_vmm_allocation_desc.usage",
        at);
    const culv_device_caps caps = culvi_x_caps(device);
    REFUSE_IF(
        memcmp(&pool.device, &caps.uuid, sizeof pool.device) != 0, CULV_REASON_DEVICE_MISMATCH,
        "%spool lies on another GPU than the array, which is on device %d '%s'; tiles need memory of their array's device",
        at, (int)caps.ordinal, caps.name);
    REFUSE_IF(bind->pool_offset % CULV_SPARSE_TILE_BYTES != 0, CULV_REASON_VALUE,
              "%spool_offset is %" PRIu64 ", which is not a multiple of the tile's %d bytes", at,
              bind->pool_offset, CULV_SPARSE_TILE_BYTES);
    REFUSE_IF(bind->pool_offset > pool.size || bytes > pool.size - bind->pool_offset,
              CULV_REASON_RANGE,
              "%spool_offset is %" PRIu64 ", and %" PRIu64
              " bytes are needed from there on, but the pool has %" PRIu64,
              at, bind->pool_offset, bytes, pool.size);
    *handle = pool.native_handle;
    return CULV_OK;
}

/* Checks a bind, makes its defaults explicit and says it in CUDA's terms. */
static culv_result translate(culv_sparse_bind *bind, culv_device *device, const char *at,
                             CUarrayMapInfo *out)
{
    const culv_sparse_array *array = bind->array;
    const bool tail = bind->part == CULV_SPARSE_MIP_TAIL;
    uint64_t bytes = 0, handle = 0;
    CULVI_X_REFUSE_IF(array == NULL, device, NULL, CULV_REASON_NULL_ARGUMENT, "%sarray is NULL",
                      at);
    REFUSE_IF(
        array->device != device, CULV_REASON_DEVICE_MISMATCH,
        "%sarray is of another culv_device ('%s', CUDA device %d) than the first one's ('%s', CUDA device %d); make one call for each",
        at, culvi_x_caps(array->device).name, (int)culvi_x_caps(array->device).ordinal,
        culvi_x_caps(device).name, (int)culvi_x_caps(device).ordinal);
    REFUSE_IF((uint32_t)bind->part > CULV_SPARSE_MIP_TAIL, CULV_REASON_VALUE,
              "%spart is %u, which is not a culv_sparse_part", at, (unsigned)bind->part);
    REFUSE_IF(!tail && (bind->tail_offset != 0 || bind->tail_size != 0), CULV_REASON_VALUE,
              "%stail_offset is %" PRIu64 " and tail_size %" PRIu64
              ", but part is TILES; leave them 0",
              at, bind->tail_offset, bind->tail_size);
    culv_result result =
        tail ? check_tail(bind, at) : check_region(array, &bind->region, at, &bytes);
    if (tail) bytes = bind->tail_size;
    if (result == CULV_OK) result = check_pool(bind, bytes, at, &handle);
    if (result != CULV_OK) return result;
    const culv_sparse_region *region = &bind->region;
    *out = (CUarrayMapInfo){.resourceType = array->mipmap != NULL ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
                                                                  : CU_RESOURCE_TYPE_ARRAY,
                            .subresourceType = tail ? CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL
                                                    : CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL,
                            .memOperationType = bind->pool != NULL ? CU_MEM_OPERATION_TYPE_MAP
                                                                   : CU_MEM_OPERATION_TYPE_UNMAP,
                            .memHandleType = CU_MEM_HANDLE_TYPE_GENERIC,
                            .memHandle.memHandle = handle,
                            .offset = bind->pool_offset,
                            .deviceBitMask = 1u << culvi_x_caps(device).ordinal};
    if (array->mipmap != NULL)
        out->resource.mipmap = array->mipmap;
    else
        out->resource.array = array->array;
    if (tail) {
        out->subresource.miptail.layer = region->layer;
        out->subresource.miptail.offset = bind->tail_offset;
        out->subresource.miptail.size = bind->tail_size;
    } else {
        out->subresource.sparseLevel.level = region->level;
        out->subresource.sparseLevel.layer = region->layer;
        out->subresource.sparseLevel.offsetX = region->x;
        out->subresource.sparseLevel.offsetY = region->y;
        out->subresource.sparseLevel.offsetZ = region->z;
        out->subresource.sparseLevel.extentWidth = region->width;
        out->subresource.sparseLevel.extentHeight = region->height;
        out->subresource.sparseLevel.extentDepth = region->depth;
    }
    return CULV_OK;
}

/* Entries from the first on that go in one call: tiles together, each tail alone. An H200 leaves a
 * tail unmapped, without a word, that follows tiles in a list (measured, docs/vmm-more.md). */
static uint32_t together(const CUarrayMapInfo *list, uint32_t count)
{
    uint32_t n = 0;
    while (n < count && list[n].subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        n++;
    return n > 0 ? n : 1;
}

static culv_result submit(const culv_sparse_array *array, CUarrayMapInfo *list, uint32_t count,
                          CUstream stream)
{
    culv_device *device = array->device;
    uint64_t scope;
    CUresult r = CUDA_SUCCESS;
    uint32_t done = 0;
    CULVI_X_TRY(culv_device_enter(device, 0, &scope));
    /* A capture has no node for it, and the driver's refusal would invalidate the capture. */
    culv_result result = culv_device_check_stream(device, array->label, stream,
                                                  "CUDA's graphs have no node that maps tiles");
    while (result == CULV_OK && r == CUDA_SUCCESS && done < count) {
        uint32_t n = together(list + done, count - done);
        r = CULV_CUDA(device)->cuMemMapArrayAsync(list + done, n, stream);
        if (r == CUDA_SUCCESS) done += n;
    }
    culv_device_leave(device, scope);
    if (result != CULV_OK || r == CUDA_SUCCESS) return result;
    return culvi_x_result(
        device, array->label, r, "cuMemMapArrayAsync", CULV_REASON_DRIVER_REFUSED,
        "%" PRIu32 " of %" PRIu32
        " regions could not be mapped or unmapped, those after the first %" PRIu32,
        count - done, count, done);
}

culv_result culv_sparse_bind_batch(const culv_sparse_bind *binds, uint32_t count, CUstream stream)
{
    static const char call[] = "culv_sparse_bind_batch";
    if (count == 0) return CULV_OK;
    CULVI_X_REFUSE_IF(binds == NULL, NULL, NULL, CULV_REASON_NULL_ARGUMENT, "%s: binds is NULL",
                      call);
    culv_device *device = binds[0].array != NULL ? binds[0].array->device : NULL;
    culv_result result = CULV_OK;
    CUarrayMapInfo *list = culvi_x_alloc(count * sizeof *list);
    if (list == NULL) return culvi_x_fail_host_memory(device, NULL);
    for (uint32_t i = 0; result == CULV_OK && i < count; i++) {
        culv_sparse_bind bind = binds[i];
        char at[64];
        snprintf(at, sizeof at, "%s: binds[%" PRIu32 "].", call, i);
        result = translate(&bind, device, at, &list[i]);
    }
    if (result == CULV_OK) result = submit(binds[0].array, list, count, stream);
    culvi_x_free(list);
    return result;
}

culv_result culv_sparse_array_get_region_size(const culv_sparse_array *array,
                                              const culv_sparse_region *region, uint64_t *out)
{
    uint64_t bytes;
    CULVI_X_REQUIRE_WITH2(array, array->device, region, out);
    culv_sparse_region copy = *region;
    culv_result result = check_region(array, &copy, "culv_sparse_array_get_region_size: ", &bytes);
    if (result == CULV_OK) *out = bytes;
    return result;
}
