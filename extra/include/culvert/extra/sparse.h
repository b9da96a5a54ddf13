/* SPDX-License-Identifier: MIT */
/* Culvert: sparse arrays, which are CUDA arrays whose texels get memory tile by tile.
 *
 * A sparse array begins without memory. culv_sparse_bind_batch() maps tiles of 64 KiB onto a pool
 * (a culv_vmm_allocation made with CULV_VMM_USAGE_TILE_POOL) and unmaps them again, as work in a
 * stream. Levels that are smaller than a tile share the mip tail, which is mapped by bytes. Copies
 * fill the array's levels, and texture objects on the array (cuTexObjectCreate) read them.
 *
 * Outside of mapped tiles, a read returns zeros and a write is lost (measured on an H200). cuda.h
 * promises neither: use only the mapped part of a level.
 *
 * Culvert checks each region against the array and the pool before the driver sees it, because
 * cuMemMapArrayAsync answers CUDA_ERROR_INVALID_VALUE for every mistake. Culvert does not record
 * which tile is mapped where. */
#ifndef CULV_EXTRA_SPARSE_H_
#define CULV_EXTRA_SPARSE_H_

#include "extra.h"
#include <culvert/image.h>
#include <culvert/vmm.h>

CULV_EXTERN_C_BEGIN

/** Opaque: a sparse array or mipmapped array. Order its destruction with other calls on it. Other
 * calls may come from any thread. */
typedef struct culv_sparse_array culv_sparse_array;

#define CULV_SPARSE_TILE_BYTES 65536 /**< Bytes that each tile takes of a pool. */

/** A sparse array to make. */
typedef struct culv_sparse_array_desc {
    size_t struct_size;    /**< Set by culv_sparse_array_desc_init(). */
    culv_format format;    /**< Required: a format of one plane; blocks are allowed. */
    culv_texels texels;    /**< CUDA format to use, if there are two (UNORM and SNORM). */
    culv_image_type type;  /**< 2D (the default) or 3D: CUDA has no other sparse arrays. */
    uint32_t width;        /**< Required: texels of level 0. */
    uint32_t height;       /**< Required: texels of level 0. */
    uint32_t depth;        /**< Required for 3D, otherwise 0 or 1: texels of level 0. */
    uint32_t array_layers; /**< 2D: more than 1 for a layered array. 0: 1. */
    uint32_t mip_levels;   /**< Levels of a CUmipmappedArray. 0: a CUarray. */
    /** 1 for CUDA_ARRAY3D_SURFACE_LDST. If the driver has no such sparse arrays (as on an H200),
     * the result is UNSUPPORTED (USAGE). */
    culv_bool surfaces;
    culv_bool texture_gather; /**< 1 for CUDA_ARRAY3D_TEXTURE_GATHER: 2D of one layer. */
    const char *label;        /**< Copied (up to 63 bytes); appears in messages. Default: none. */
} culv_sparse_array_desc;

CULV_INIT(culv_sparse_array_desc)

/** The properties of a sparse array. */
typedef struct culv_sparse_array_info {
    size_t struct_size;  /**< Set by culv_sparse_array_info_init(). */
    uint32_t tile_width; /**< Texels of a tile, also for formats of blocks. */
    uint32_t tile_height;
    uint32_t tile_depth;
    uint32_t tile_bytes; /**< CULV_SPARSE_TILE_BYTES. */
    uint32_t array_layers;
    uint32_t mip_levels; /**< 1 for a CUarray. */
    /** First level of the mip tail. Its levels are mapped only together. mip_levels if there is no
     * tail. */
    uint32_t mip_tail_first_level;
    /** 1: one tail for all layers, which you map as layer 0. 0: one tail for each layer. */
    culv_bool mip_tail_single;
    /** Bytes of one tail, a multiple of tile_bytes. 0: there is no tail. */
    uint64_t mip_tail_size;
    uint64_t full_size; /**< Bytes of pool that the whole array takes: every tile and every tail. */
    /** Array of the driver, for copies and texture objects. NULL for a mipmapped array. Culvert
     * owns it; it is valid until the sparse array is destroyed. Never destroy it. */
    CUarray array;
    /** Mipmapped array of the driver, for texture objects. NULL for an array without levels.
     * Culvert owns it, like `array`. */
    CUmipmappedArray mipmapped_array;
} culv_sparse_array_info;

CULV_INIT(culv_sparse_array_info)

/** Some tiles of a level, in texels. Offsets are multiples of the tile's sides. Extents are
 * multiples too, or end where the level ends. */
typedef struct culv_sparse_region {
    uint32_t level; /**< 0 for a CUarray. */
    uint32_t layer; /**< 0 if the array is not layered. */
    uint32_t x;
    uint32_t y;
    uint32_t z;
    uint32_t width;  /**< 0: to the end of the level. */
    uint32_t height; /**< 0: to the end of the level. */
    uint32_t depth;  /**< 0: to the end of the level; 1 for 2D. */
} culv_sparse_region;

/** The part of an array that a culv_sparse_bind maps or unmaps. */
typedef enum culv_sparse_part {
    CULV_SPARSE_TILES = 0,    /**< Tiles of a level. */
    CULV_SPARSE_MIP_TAIL = 1, /**< Bytes of a mip tail. */
    CULV_SPARSE_PART_FORCE32 = 0x7fffffff
} culv_sparse_part;

/** One mapping or unmapping. culv_sparse_bind_batch() submits several together. */
typedef struct culv_sparse_bind {
    culv_sparse_array *array;
    culv_sparse_part part;     /**< Default: TILES. */
    culv_sparse_region region; /**< MIP_TAIL: only the layer counts; 0 for a single tail. */
    uint64_t tail_offset; /**< MIP_TAIL: bytes into the tail, a multiple of tile_bytes. TILES: 0. */
    /** MIP_TAIL: bytes, a multiple of tile_bytes; 0: to the end of the tail. TILES: 0. */
    uint64_t tail_size;
    /** Pool to map onto. Keep it until the stream has unmapped its tiles. NULL: unmap; the pool
     * keeps the contents of its tiles. */
    culv_vmm_allocation *pool;
    /** Offset of the first tile in the pool in bytes, a multiple of tile_bytes. On the software
     * twin the other tiles follow along x, then y, then z. cuda.h promises no order: if you map the
     * contents of the pool again later, map one tile at a time. Unmapping: 0. */
    uint64_t pool_offset;
} culv_sparse_bind;

/** Makes a sparse array, without memory. Culvert refuses 1D arrays and cubes, because CUDA has no
 * sparse ones (cuda.h, cuMemMapArrayAsync).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, VALUE, EXTENT), UNSUPPORTED (VMM: the device has no
 * sparse arrays; FORMAT: no CUDA array has it, or this driver's arrays lack it; USAGE: surfaces;
 * DRIVER_TOO_OLD), DRIVER (FORMAT: the driver makes no sparse array of this format or size), ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_sparse_array_destroy().
 * Source: cuda.h, cuArray3DCreate, cuMipmappedArrayCreate, CUDA_ARRAY3D_SPARSE. */
CULV_EXTRA culv_result culv_sparse_array_create(culv_device *device,
                                                const culv_sparse_array_desc *desc,
                                                culv_sparse_array **out);

/** Destroys the array and unmaps its tiles. If last_use is NULL, the work that uses the array
 * should have finished: the driver may wait for the context's work. If it is not NULL, the call
 * DEFERS the release until the work in *last_use has finished, and never waits: see
 * culv_buffer_unmap().
 * Source: measured, docs/measured/nvidia-measured.md: cuMipmappedArrayDestroy waits for the
 * context. */
CULV_EXTRA void culv_sparse_array_destroy(culv_sparse_array **array, const CUstream *last_use);

/** Fills *out with the shape of the array's tiles and of its mip tail, and with its handles.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE).
 * Source: cuda.h, cuArrayGetSparseProperties, cuMipmappedArrayGetSparseProperties. */
CULV_EXTRA culv_result culv_sparse_array_get_info(const culv_sparse_array *array,
                                                  culv_sparse_array_info *out);

/** Gets the CUDA array of a level with all its layers (or slices), for copies. Level 0 of a CUarray
 * is the CUarray itself. Copy only to and from mapped tiles.
 * Errors: INVALID (NULL_ARGUMENT, LEVEL), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert owns it, until the sparse array is destroyed; never destroy it.
 * Source: cuda.h, cuMipmappedArrayGetLevel. */
CULV_EXTRA culv_result culv_sparse_array_get_level(const culv_sparse_array *array, uint32_t level,
                                                   CUarray *out);

/** Gets the number of bytes of a pool that a region takes. Tiles at the level's edges count as
 * whole tiles.
 * Errors: INVALID (NULL_ARGUMENT; LEVEL: the level does not exist, or lies in the mip tail; RANGE:
 * layer, offsets or extents). */
CULV_EXTRA culv_result culv_sparse_array_get_region_size(const culv_sparse_array *array,
                                                         const culv_sparse_region *region,
                                                         uint64_t *out);

/** Submits mappings and unmappings of one or several arrays of one device, as work in `stream`:
 * later work in the stream may use the tiles. If a tile is already mapped, it is mapped again.
 * Culvert checks all binds before it submits any. Consecutive binds of tiles go to the driver in
 * one call, and each mip tail goes in its own call (measured: an H200 leaves a tail unmapped if it
 * is in one list with tiles). If the driver refuses a bind, the binds before it are submitted, and
 * the message says how many. The stream must belong to that device's context and must not be in
 * capture, because CUDA's graphs have no node for this. count may be 0.
 * Errors: INVALID (NULL_ARGUMENT; VALUE: offsets or sizes are not the required multiples; LEVEL:
 * the level does not exist or lies in the mip tail, or there is no tail; RANGE: beyond the level,
 * the layers, the tail or the pool; USAGE: the pool was not made with CULV_VMM_USAGE_TILE_POOL;
 * DEVICE_MISMATCH: arrays or a pool of different devices; STREAM_DEVICE, CAPTURE), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Source: cuda.h, cuMemMapArrayAsync. */
CULV_EXTRA culv_result culv_sparse_bind_batch(const culv_sparse_bind *binds, uint32_t count,
                                              CUstream stream);

CULV_EXTERN_C_END

#endif
