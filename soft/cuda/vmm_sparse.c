/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: sparse arrays.
 *
 * An array's texels lie in rows, whose parts cannot be mapped page by page. So a sparse array has
 * memory of its own, and mapping a tile copies the pool's bytes in, unmapping it copies them back
 * and leaves zeros: a tile shows what the pool held, and the pool what the tile held when it went.
 * Meanwhile they are two. What is written where nothing is mapped is zeros again after the copy. */
#include "array.h"
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

#define TILE_BYTES 65536u

struct backing { /* of one tile, or of as many bytes of a mip tail; physical NULL: none */
    struct soft_physical *physical;
    uint64_t offset;
};

struct soft_sparse {
    const struct soft_array *levels;
    unsigned num_levels, first_tail, layers;
    bool layered, array; /* array: not a mipmapped one */
    unsigned tile[3];    /* in elements of the array: texels, or blocks of a compressed format */
    struct soft_element element;
    uint64_t tail_bytes, tail_tiles; /* of a layer */
    /* Of each level in `backings`; the tails of the layers come last */
    size_t first_tile[SOFT_MAX_LEVELS + 1];
    struct backing *backings; /* as the calls say */
    bool *mapped;             /* as the streams have done; under `lock` */
    size_t count;
};

/* Work in several streams may map tiles of an array and copy to others of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned up(size_t value, unsigned of)
{
    return (unsigned)((value + of - 1) / of);
}

/* Vulkan's standard sparse image block shapes: 64 KiB, which are those of NVIDIA's devices. */
static void tile_of(unsigned bytes, bool three, unsigned tile[3])
{
    static const unsigned flat[][3] = {
        {256, 256, 1}, {256, 128, 1}, {128, 128, 1}, {128, 64, 1}, {64, 64, 1}};
    static const unsigned deep[][3] = {
        {64, 32, 32}, {32, 32, 32}, {32, 32, 16}, {32, 16, 16}, {16, 16, 16}};
    unsigned i = 0;
    while (1u << i < bytes)
        i++;
    memcpy(tile, three ? deep[i] : flat[i], 3 * sizeof(*tile));
}

/* Of a level, in elements. */
static void extent_of(const struct soft_sparse *sparse, unsigned level, size_t extent[3])
{
    const struct soft_level *at = &sparse->levels[level].level;
    extent[0] = at->width_bytes / sparse->element.bytes;
    extent[1] = at->rows;
    extent[2] = sparse->layered ? 1 : at->slices;
}

static void tiles_of(const struct soft_sparse *sparse, unsigned level, unsigned tiles[3])
{
    size_t extent[3];
    extent_of(sparse, level, extent);
    for (size_t i = 0; i < 3; i++)
        tiles[i] = up(extent[i], sparse->tile[i]);
}

CUresult soft_sparse_new(struct soft_array *levels, unsigned num_levels, bool array,
                         struct soft_sparse **out)
{
    const CUDA_ARRAY3D_DESCRIPTOR *desc = &levels[0].level.desc;
    *out = NULL;
    if (!(desc->Flags & CUDA_ARRAY3D_SPARSE)) return CUDA_SUCCESS;
    const bool layered = desc->Flags & CUDA_ARRAY3D_LAYERED;
    const struct soft_element *element = &levels[0].element;
    /* R22: 2D, layered 2D and 3D only. Surfaces an H200 refuses. */
    if (desc->Height == 0 || (desc->Flags & (CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_SURFACE_LDST)) ||
        (element->bytes & (element->bytes - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct soft_sparse *sparse = calloc(1, sizeof(*sparse));
    if (sparse == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    sparse->levels = levels;
    sparse->num_levels = num_levels;
    sparse->layered = layered;
    sparse->array = array;
    sparse->element = *element;
    sparse->layers = layered ? (unsigned)desc->Depth : 1;
    tile_of(element->bytes, !layered && desc->Depth != 0, sparse->tile);
    sparse->first_tail = num_levels;
    for (unsigned i = 0; i < num_levels; i++) {
        size_t extent[3];
        unsigned tiles[3];
        extent_of(sparse, i, extent);
        tiles_of(sparse, i, tiles);
        if (sparse->first_tail == num_levels &&
            (extent[0] < sparse->tile[0] || extent[1] < sparse->tile[1] ||
             extent[2] < sparse->tile[2]))
            sparse->first_tail = i;
        sparse->first_tile[i] = sparse->count;
        if (sparse->first_tail == num_levels)
            sparse->count += (size_t)tiles[0] * tiles[1] * tiles[2] * sparse->layers;
        else
            sparse->tail_bytes += levels[i].level.slice * extent[2];
    }
    sparse->tail_tiles = (sparse->tail_bytes + TILE_BYTES - 1) / TILE_BYTES;
    sparse->first_tile[num_levels] = sparse->count;
    sparse->count += sparse->tail_tiles * sparse->layers;
    sparse->backings = calloc(sparse->count, sizeof(*sparse->backings));
    sparse->mapped = calloc(sparse->count, sizeof(*sparse->mapped));
    if (sparse->backings == NULL || sparse->mapped == NULL) {
        free(sparse->backings);
        free(sparse->mapped);
        free(sparse);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < num_levels; i++) {
        levels[i].sparse = sparse;
        levels[i].sparse_level = i;
    }
    *out = sparse;
    return CUDA_SUCCESS;
}

void soft_sparse_free(struct soft_sparse *sparse)
{
    if (sparse == NULL) return;
    for (size_t i = 0; i < sparse->count; i++)
        if (sparse->backings[i].physical != NULL) soft_physical_unuse(sparse->backings[i].physical);
    free(sparse->backings);
    free(sparse->mapped);
    free(sparse);
}

/* Bytes in a row, of the array and of the pool. */
typedef void (*piece_fn)(uint8_t *of_array, uint8_t *of_pool, size_t size);

static void tail_pieces(const struct soft_sparse *sparse, size_t index, uint8_t *pool,
                        piece_fn piece)
{
    const unsigned layer = (unsigned)(index / sparse->tail_tiles);
    const uint64_t first = index % sparse->tail_tiles * TILE_BYTES, end = first + TILE_BYTES;
    uint64_t at = 0; /* in the layer's tail */
    for (unsigned i = sparse->first_tail; i < sparse->num_levels; i++) {
        const struct soft_level *level = &sparse->levels[i].level;
        const uint64_t size = level->slice * (sparse->layered ? 1 : level->slices);
        const uint64_t from = at > first ? at : first, to = at + size < end ? at + size : end;
        if (from < to)
            piece(sparse->levels[i].start + layer * level->slice + (from - at),
                  pool + (from - first), (size_t)(to - from));
        at += size;
    }
}

static void tile_pieces(const struct soft_sparse *sparse, size_t index, uint8_t *pool,
                        piece_fn piece)
{
    unsigned level = 0, tiles[3];
    size_t extent[3], start[3], size[3];
    while (index >= sparse->first_tile[level + 1])
        level++;
    index -= sparse->first_tile[level];
    tiles_of(sparse, level, tiles);
    extent_of(sparse, level, extent);
    const size_t each = (size_t)tiles[0] * tiles[1] * tiles[2], layer = index / each,
                 inside = index % each;
    const size_t place[3] = {inside % tiles[0], inside / tiles[0] % tiles[1],
                             inside / tiles[0] / tiles[1]};
    for (size_t i = 0; i < 3; i++) {
        start[i] = place[i] * sparse->tile[i];
        size[i] = extent[i] - start[i] < sparse->tile[i] ? extent[i] - start[i] : sparse->tile[i];
    }
    const struct soft_level *in = &sparse->levels[level].level;
    const size_t bytes = sparse->element.bytes;
    for (size_t z = 0; z < size[2]; z++)
        for (size_t y = 0; y < size[1]; y++)
            piece(sparse->levels[level].start + (layer + start[2] + z) * in->slice +
                      (start[1] + y) * in->pitch + start[0] * bytes,
                  pool + (z * sparse->tile[1] + y) * sparse->tile[0] * bytes, size[0] * bytes);
}

static void all_pieces(const struct soft_sparse *sparse, size_t index, uint8_t *pool,
                       piece_fn piece)
{
    const size_t tails = sparse->first_tile[sparse->num_levels];
    if (index >= tails)
        tail_pieces(sparse, index - tails, pool, piece);
    else
        tile_pieces(sparse, index, pool, piece);
}

static void fill_array(uint8_t *of_array, uint8_t *of_pool, size_t size)
{
    memcpy(of_array, of_pool, size);
}

static void empty_array(uint8_t *of_array, uint8_t *of_pool, size_t size)
{
    memcpy(of_pool, of_array, size);
    memset(of_array, 0, size);
}

static void clear_array(uint8_t *of_array, uint8_t *of_pool, size_t size)
{
    (void)of_pool;
    memset(of_array, 0, size);
}

void soft_sparse_settle(struct soft_sparse *sparse, unsigned level)
{
    static uint8_t nowhere[TILE_BYTES]; /* all_pieces() points into it */
    const bool tail = level >= sparse->first_tail;
    const size_t tails = sparse->first_tile[sparse->num_levels];
    const size_t first = tail ? tails : sparse->first_tile[level],
                 end = tail ? sparse->count : sparse->first_tile[level + 1];
    pthread_mutex_lock(&lock);
    for (size_t i = first; i < end; i++)
        if (!sparse->mapped[i]) all_pieces(sparse, i, nowhere, clear_array);
    pthread_mutex_unlock(&lock);
}

struct move {
    struct soft_sparse *sparse;
    size_t index;
    struct backing before, after;
};

struct sparse_op {
    struct soft_op op;
    size_t count;
    struct move *moves;
};

static CUresult run_moves(struct soft_op *op)
{
    const struct sparse_op *these = (const struct sparse_op *)(const void *)op;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < these->count; i++) {
        const struct move *move = &these->moves[i];
        const struct backing *before = &move->before, *after = &move->after;
        if (before->physical != NULL)
            all_pieces(move->sparse, move->index,
                       (uint8_t *)before->physical->window + before->offset, empty_array);
        if (after->physical != NULL)
            all_pieces(move->sparse, move->index,
                       (uint8_t *)after->physical->window + after->offset, fill_array);
        move->sparse->mapped[move->index] = after->physical != NULL;
    }
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static void retire_moves(struct soft_op *op)
{
    struct sparse_op *these = (struct sparse_op *)(void *)op;
    for (size_t i = 0; i < these->count; i++) {
        if (these->moves[i].before.physical != NULL)
            soft_physical_unuse(these->moves[i].before.physical);
        if (these->moves[i].after.physical != NULL)
            soft_physical_unuse(these->moves[i].after.physical);
    }
    free(these->moves);
}

/* The tiles that an entry of the list means: `first[z][y][x]` and so many of them, in x, y and
 * z. */
struct region {
    struct soft_sparse *sparse;
    size_t first, count[3], step[3];
    struct soft_physical *physical; /* NULL: unmapped */
    uint64_t offset;
};

static CUresult check_level(const CUarrayMapInfo *info, struct region *out)
{
    const struct soft_sparse *sparse = out->sparse;
    const unsigned level = info->subresource.sparseLevel.level,
                   layer = info->subresource.sparseLevel.layer;
    const unsigned offsets[3] = {info->subresource.sparseLevel.offsetX,
                                 info->subresource.sparseLevel.offsetY,
                                 info->subresource.sparseLevel.offsetZ};
    const unsigned extents[3] = {info->subresource.sparseLevel.extentWidth,
                                 info->subresource.sparseLevel.extentHeight,
                                 info->subresource.sparseLevel.extentDepth};
    const unsigned block[3] = {sparse->element.width, sparse->element.height, 1};
    unsigned tiles[3], place[3];
    uint64_t limit[3];
    if (level >= sparse->first_tail || layer >= sparse->layers) return CUDA_ERROR_INVALID_VALUE;
    tiles_of(sparse, level, tiles);
    const CUDA_ARRAY3D_DESCRIPTOR *desc = &sparse->levels[level].level.desc;
    limit[0] = desc->Width;
    limit[1] = desc->Height;
    limit[2] = sparse->layered || desc->Depth == 0 ? 1 : desc->Depth;
    for (size_t i = 0; i < 3; i++) {
        const unsigned tile = sparse->tile[i] * block[i]; /* in texels, as the list has it */
        const uint64_t end = (uint64_t)offsets[i] + extents[i];
        /* Whole tiles, or what there is of them at the edge (measured). */
        if (offsets[i] % tile != 0 || extents[i] == 0 || end > limit[i] ||
            (end % tile != 0 && end != limit[i]))
            return CUDA_ERROR_INVALID_VALUE;
        place[i] = offsets[i] / tile;
        out->count[i] = up(extents[i], tile);
    }
    out->step[0] = 1;
    out->step[1] = tiles[0];
    out->step[2] = (size_t)tiles[0] * tiles[1];
    out->first = sparse->first_tile[level] + layer * out->step[2] * tiles[2] +
                 place[2] * out->step[2] + place[1] * out->step[1] + place[0];
    return CUDA_SUCCESS;
}

static CUresult check_tail(const CUarrayMapInfo *info, struct region *out)
{
    const struct soft_sparse *sparse = out->sparse;
    const uint64_t offset = info->subresource.miptail.offset, size = info->subresource.miptail.size;
    const unsigned layer = info->subresource.miptail.layer;
    /* An array's tail is one for all layers, a mipmapped array's is a layer's. */
    const uint64_t tiles = sparse->array ? sparse->tail_tiles * sparse->layers : sparse->tail_tiles;
    if (layer >= (sparse->array ? 1 : sparse->layers) || offset % TILE_BYTES != 0 || size == 0 ||
        size % TILE_BYTES != 0 || offset / TILE_BYTES >= tiles ||
        size / TILE_BYTES > tiles - offset / TILE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    out->first =
        sparse->first_tile[sparse->num_levels] + layer * sparse->tail_tiles + offset / TILE_BYTES;
    out->count[0] = size / TILE_BYTES;
    out->count[1] = out->count[2] = 1;
    out->step[0] = 1;
    return CUDA_SUCCESS;
}

static CUresult find_resource(const CUarrayMapInfo *info, struct soft_sparse **out)
{
    if (info->resourceType == CU_RESOURCE_TYPE_ARRAY) {
        const struct soft_array *array = soft_object_find(info->resource.array, SOFT_ARRAY);
        if (array == NULL)
            return soft_array_find(info->resource.array) != NULL ? CUDA_ERROR_INVALID_VALUE
                                                                 : CUDA_ERROR_INVALID_HANDLE;
        *out = array->sparse;
    } else if (info->resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        const struct soft_mipmap *mipmap = soft_object_find(info->resource.mipmap, SOFT_MIPMAP);
        if (mipmap == NULL) return CUDA_ERROR_INVALID_HANDLE;
        *out = mipmap->sparse;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check(const CUarrayMapInfo *info, int device, struct region *out)
{
    *out = (struct region){0};
    SOFT_TRY(find_resource(info, &out->sparse));
    if (info->flags != 0 || info->reserved[0] != 0 || info->reserved[1] != 0 ||
        info->deviceBitMask != 1u << device || info->memHandleType != CU_MEM_HANDLE_TYPE_GENERIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL)
        result = check_level(info, out);
    else if (info->subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL)
        result = check_tail(info, out);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
    if (info->memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
        return info->memHandle.memHandle == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (info->memOperationType != CU_MEM_OPERATION_TYPE_MAP) return CUDA_ERROR_INVALID_VALUE;
    struct soft_physical *physical = soft_physical_find(info->memHandle.memHandle);
    const uint64_t size = (uint64_t)out->count[0] * out->count[1] * out->count[2] * TILE_BYTES;
    if (physical == NULL || physical->team != NULL ||
        !(physical->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) ||
        physical->prop.location.id != device || info->offset % TILE_BYTES != 0 ||
        size > physical->size || info->offset > physical->size - size)
        return CUDA_ERROR_INVALID_VALUE;
    out->physical = physical;
    out->offset = info->offset;
    return soft_physical_open(physical) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* What is backed by what from now on. */
static CUresult admit_moves(struct soft_op *op, const struct soft_context *context)
{
    struct sparse_op *these = (struct sparse_op *)(void *)op;
    (void)context;
    for (size_t i = 0; i < these->count; i++) {
        struct move *move = &these->moves[i];
        struct backing *now = &move->sparse->backings[move->index];
        move->before = *now; /* with its use */
        *now = move->after;
        if (now->physical != NULL) now->physical->uses++;
    }
    return CUDA_SUCCESS;
}

static void recall_moves(struct soft_op *op)
{
    struct sparse_op *these = (struct sparse_op *)(void *)op;
    for (size_t i = these->count; i-- > 0;) {
        struct move *move = &these->moves[i];
        if (move->after.physical != NULL) soft_physical_unuse(move->after.physical);
        move->sparse->backings[move->index] = move->before;
        move->before = (struct backing){0};
    }
}

/* What the stream will do. */
static void plan(const struct region *region, struct sparse_op *op)
{
    uint64_t offset = region->offset;
    for (size_t z = 0; z < region->count[2]; z++)
        for (size_t y = 0; y < region->count[1]; y++)
            for (size_t x = 0; x < region->count[0]; x++, offset += TILE_BYTES) {
                const size_t index =
                    region->first + z * region->step[2] + y * region->step[1] + x * region->step[0];
                op->moves[op->count++] = (struct move){
                    .sparse = region->sparse, .index = index, .after = {region->physical, offset}};
                if (region->physical != NULL) region->physical->uses++;
            }
}

CUresult CUDAAPI cuMemMapArrayAsync(CUarrayMapInfo *mapInfoList, unsigned int count,
                                    CUstream hStream)
{
    struct soft_stream *stream;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (mapInfoList == NULL || count == 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(soft_stream_get(context, hStream, &stream));
    SOFT_STEP(soft_capture_refuse(stream));
    const int device = soft_stream_context(stream)->device;
    struct region region;
    size_t tiles = 0;
    bool after_tiles = false;
    for (unsigned i = 0; i < count; i++) { /* all of them before anything is done */
        SOFT_STEP(check(&mapInfoList[i], device, &region));
        tiles += region.count[0] * region.count[1] * region.count[2];
    }
    struct sparse_op *op = soft_op_new(sizeof(*op), run_moves, retire_moves);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    op->moves = calloc(tiles, sizeof(*op->moves));
    if (op->moves == NULL) {
        soft_op_drop(op);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    op->op.admit = admit_moves;
    op->op.recall = recall_moves;
    for (unsigned i = 0; i < count; i++) {
        const bool tail =
            mapInfoList[i].subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
        if (check(&mapInfoList[i], device, &region) != CUDA_SUCCESS) continue;
        /* An H200 maps no mip tail that comes after tiles in one list, and says nothing. */
        if (!tail || region.physical == NULL || !after_tiles) plan(&region, op);
        after_tiles |= !tail;
    }
    return soft_end(soft_submit(stream, op));
}

/* Unlocks in any case. */
static CUresult properties_and_end(const struct soft_sparse *sparse,
                                   CUDA_ARRAY_SPARSE_PROPERTIES *out)
{
    if (sparse == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    memset(out, 0, sizeof(*out));
    out->tileExtent.width = sparse->tile[0] * sparse->element.width;
    out->tileExtent.height = sparse->tile[1] * sparse->element.height;
    out->tileExtent.depth = sparse->tile[2];
    out->miptailSize = sparse->tail_tiles * TILE_BYTES * (sparse->array ? sparse->layers : 1);
    /* cuda.h: an array that is smaller than a tile is one tail, and its first level is 0 in any
     * case. */
    if (!sparse->array && out->miptailSize > 0) out->miptailFirstLevel = sparse->first_tail;
    if (sparse->array && out->miptailSize > 0)
        out->flags = CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                            CUarray array)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_array *found = soft_object_find(array, SOFT_ARRAY);
    if (sparseProperties == NULL || found == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    return properties_and_end(found->sparse, sparseProperties);
}

CUresult CUDAAPI cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                                     CUmipmappedArray mipmap)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_mipmap *found = soft_object_find(mipmap, SOFT_MIPMAP);
    if (sparseProperties == NULL || found == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    return properties_and_end(found->sparse, sparseProperties);
}
