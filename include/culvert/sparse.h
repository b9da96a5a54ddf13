/* SPDX-License-Identifier: MIT */
/* Culvert: sparse arrays: CUDA arrays whose texels have memory tile by tile.
 *
 * A sparse array is made without memory. Tiles of 64 KiB are mapped onto a pool (a
 * culv_vmm_allocation made with CULV_VMM_USAGE_TILE_POOL), and unmapped again, as work in a stream.
 * Levels that are smaller than a tile share the mip tail, which is mapped by its bytes. Copies fill
 * the array's levels, and texture objects made on it (cuTexObjectCreate) read them.
 *
 * Where nothing is mapped a read gives zeros and a write is lost (measured on an H200); cuda.h
 * promises neither. Of a level only what is mapped may be used.
 *
 * Culvert checks each region against the array and the pool before the driver sees it, since
 * cuMemMapArrayAsync answers one CUDA_ERROR_INVALID_VALUE for all of it. It does not keep account
 * of which tile is mapped where. */
#ifndef CULV_SPARSE_H_
#define CULV_SPARSE_H_

#include "image.h"
#include "vmm.h"

CULV_EXTERN_C_BEGIN

/** Opaque: a sparse array or mipmapped array. Creation and destruction of one object are ordered by
 * the caller; other calls may come from any thread. */
typedef struct culv_sparse_array culv_sparse_array;

#define CULV_SPARSE_TILE_BYTES 65536 /**< What each tile takes of a pool. */

/** A sparse array to make. Zero means the default. */
typedef struct culv_sparse_array_desc {
    size_t struct_size; /**< Set by culv_sparse_array_desc_init(). */
    culv_format format; /**< Required: one of one plane, blocks among them. */
    /** As which of CUDA's formats, where there are two (UNORM and SNORM). */
    culv_texels texels;
    culv_image_type type;  /**< 2D (the default) or 3D: CUDA has no other sparse arrays. */
    uint32_t width;        /**< Required: texels of level 0. */
    uint32_t height;       /**< Required: texels of level 0. */
    uint32_t depth;        /**< Required for 3D, else 0 or 1: texels of level 0. */
    uint32_t array_layers; /**< 2D: more than 1 make a layered array. 0: 1. */
    uint32_t mip_levels;   /**< 0: a CUarray. Else a CUmipmappedArray of so many levels. */
    /** Nonzero for CUDA_ARRAY3D_SURFACE_LDST. A driver may have no such sparse arrays (an H200's
     * has none): then UNSUPPORTED (USAGE). */
    culv_bool surfaces;
    culv_bool texture_gather; /**< Nonzero for CUDA_ARRAY3D_TEXTURE_GATHER: 2D of one layer. */
    const char *label;        /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_sparse_array_desc;

/** A default descriptor.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_sparse_array_desc culv_sparse_array_desc_init(void)
{
    culv_sparse_array_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** What a sparse array is. */
typedef struct culv_sparse_array_info {
    size_t struct_size;  /**< Set by culv_sparse_array_info_init(). */
    uint32_t tile_width; /**< Texels of a tile, also of blocks. */
    uint32_t tile_height;
    uint32_t tile_depth;
    uint32_t tile_bytes; /**< CULV_SPARSE_TILE_BYTES. */
    uint32_t array_layers;
    uint32_t mip_levels; /**< 1 of a CUarray. */
    /** The first level that lies in the mip tail and is mapped with it alone; mip_levels when none
     * does. */
    uint32_t mip_tail_first_level;
    /** Nonzero: one tail for all layers, mapped as layer 0. 0: one a layer. */
    culv_bool mip_tail_single;
    /** Bytes of that one, or of each; a multiple of tile_bytes. 0: there is none. */
    uint64_t mip_tail_size;
    uint64_t full_size; /**< Bytes of pool that all of it takes: every tile and every tail. */
} culv_sparse_array_info;

/** An empty culv_sparse_array_info with its struct_size set.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_sparse_array_info culv_sparse_array_info_init(void)
{
    culv_sparse_array_info i;
    memset(&i, 0, sizeof i);
    i.struct_size = sizeof i;
    return i;
}

/** Which tiles of a level, in texels. Offsets are multiples of the tile's sides; so are the
 * extents, or they end where the level ends. */
typedef struct culv_sparse_region {
    uint32_t level; /**< 0 of a CUarray. */
    uint32_t layer; /**< 0 unless layered. */
    uint32_t x;
    uint32_t y;
    uint32_t z;
    uint32_t width;  /**< 0: to the end of the level. */
    uint32_t height; /**< 0: to the end of the level. */
    uint32_t depth;  /**< 0: to the end of the level; 1 of 2D. */
} culv_sparse_region;

/** What a culv_sparse_bind speaks of. */
typedef enum culv_sparse_part {
    CULV_SPARSE_TILES = 0,    /**< Tiles of a level. */
    CULV_SPARSE_MIP_TAIL = 1, /**< Bytes of a mip tail. */
    CULV_SPARSE_PART_FORCE32 = 0x7fffffff
} culv_sparse_part;

/** One mapping or unmapping of several that are submitted together. */
typedef struct culv_sparse_bind {
    culv_sparse_array *array;
    culv_sparse_part part;     /**< Default: TILES. */
    culv_sparse_region region; /**< MIP_TAIL: its layer alone counts, 0 of a single tail. */
    uint64_t tail_offset;      /**< MIP_TAIL: bytes into it, a multiple of the tile's. TILES: 0. */
    /** MIP_TAIL: bytes, a multiple of the tile's; 0: to its end. TILES: 0. */
    uint64_t tail_size;
    culv_vmm_allocation *pool; /**< NULL: unmaps. */
    /** Bytes into the pool, a multiple of the tile's: where the first tile lies. The others follow
     * along x, then y, then z: so on the software twin. cuda.h tells no order; where what the pool
     * holds is to be found again by other tiles, map one at a time. 0 when it unmaps. */
    uint64_t pool_offset;
} culv_sparse_bind;

/** Makes a sparse array, without memory. 1D and cubes are refused: CUDA has no such ones (cuda.h,
 * cuMemMapArrayAsync).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, EXTENT), UNSUPPORTED (VMM: the device has no
 * sparse arrays; FORMAT: no CUDA array is like it, or not this driver's; USAGE: surfaces;
 * DRIVER_TOO_OLD), DRIVER (FORMAT: the driver makes no sparse array of this format or size), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_sparse_array_destroy().
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuArray3DCreate, cuMipmappedArrayCreate, CUDA_ARRAY3D_SPARSE. */
CULV_EXPORT culv_result culv_sparse_array_create(culv_device *device,
                                                 const culv_sparse_array_desc *desc,
                                                 culv_sparse_array **out);

/** Gives the array up and sets *array to NULL; NULL, or a pointer to NULL, is a no-op. What is
 * mapped in it is unmapped with it. The work that uses it should be done; the driver may wait for
 * the context's work (culv_sparse_array_destroy_after() does not wait).
 * Errors: none.
 * Ownership: *array is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1.
 * Source: measured, docs/nvidia-measured.md: cuMipmappedArrayDestroy waits for the context. */
CULV_EXPORT void culv_sparse_array_destroy(culv_sparse_array **array);

/** As culv_sparse_array_destroy(), but DEFERS and never waits: see culv_buffer_unmap_after().
 * Errors: none.
 * Ownership: *array is Culvert's again.
 * Threads: any, ordered with other calls on this object.
 * Since: 0.1 */
CULV_EXPORT void culv_sparse_array_destroy_after(culv_sparse_array **array, CUstream last_use);

/** Fills out with the shape of the array's tiles and of its mip tail.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Ownership: a copy, yours.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuArrayGetSparseProperties, cuMipmappedArrayGetSparseProperties. */
CULV_EXPORT culv_result culv_sparse_array_get_info(const culv_sparse_array *array,
                                                   culv_sparse_array_info *out);

/** The driver's array, for copies and texture objects; NULL for NULL and of a mipmapped one. Never
 * destroy it.
 * Errors: none.
 * Ownership: Culvert's, valid until the array is given up.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUarray culv_sparse_array_handle(const culv_sparse_array *array);

/** The driver's mipmapped array, for texture objects; NULL for NULL and of one without levels.
 * Never destroy it.
 * Errors: none.
 * Ownership: Culvert's, valid until the array is given up.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT CUmipmappedArray culv_sparse_array_mipmapped_handle(const culv_sparse_array *array);

/** The CUDA array of a level with all its layers (or slices), for copies; level 0 of a CUarray is
 * that itself. Copy to and from what is mapped.
 * Errors: INVALID (NULL_ARGUMENT, LEVEL), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert's, valid until the array is given up; never destroy it.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMipmappedArrayGetLevel. */
CULV_EXPORT culv_result culv_sparse_array_get_level(const culv_sparse_array *array, uint32_t level,
                                                    CUarray *out);

/** Bytes of pool that a region takes: its tiles, whole ones at the level's edges too.
 * Errors: INVALID (NULL_ARGUMENT; LEVEL: there is no such level, or it lies in the mip tail; RANGE:
 * layer, offsets or extents).
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
CULV_EXPORT culv_result culv_sparse_array_get_region_size(const culv_sparse_array *array,
                                                          const culv_sparse_region *region,
                                                          uint64_t *out);

/** Submits several mappings and unmappings, of one array or several of one device; all are checked
 * before any is submitted. Tiles that follow each other go to the driver in one call, each mip tail
 * in one of its own (in one list with tiles an H200 leaves it unmapped: measured). After an error
 * of the driver's those before the one that it refused are submitted; the message counts them. The
 * stream must be of that device's context, and not in capture: CUDA's graphs have no node for it.
 * None at all is no error.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: offsets or sizes that are no multiples; LEVEL: there is no
 * such level, or it is mapped with the mip tail, or there is no tail; RANGE: beyond the level, the
 * layers, the tail or the pool; USAGE: the pool was not made with CULV_VMM_USAGE_TILE_POOL;
 * DEVICE_MISMATCH: arrays or a pool of different devices; STREAM_DEVICE, CAPTURE), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuMemMapArrayAsync. */
CULV_EXPORT culv_result culv_sparse_bind_batch(const culv_sparse_bind *binds, uint32_t count,
                                               CUstream stream);

CULV_EXTERN_C_END

#endif
