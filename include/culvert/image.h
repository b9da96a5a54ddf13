/* SPDX-License-Identifier: MIT */
/* Culvert: images in imported memory, as CUDA mipmapped arrays with a surface object per level.
 *
 * An image's texels lie in the graphics driver's own order (OPTIMAL tiling). CUDA therefore reaches
 * them only through arrays and surface objects, never through pointers. Kernels write with
 * surf2Dwrite(), whose x is in BYTES. CUDA may use an image while its layout is
 * VK_IMAGE_LAYOUT_GENERAL and VK_QUEUE_FAMILY_EXTERNAL owns it (vulkan_barrier.h).
 *
 * Culvert maps all kinds of image: 1D, 2D, 3D, cubes and arrays of these, with mip levels, in every
 * format that culvert/format.h maps. An image of several planes (NV12 ...) has one array for each
 * plane. */
#ifndef CULV_IMAGE_H_
#define CULV_IMAGE_H_

#include "format.h"
#include "memory.h"

CULV_EXTERN_C_BEGIN

/** Opaque: an image of an imported allocation, as a CUDA mipmapped array. */
typedef struct culv_image culv_image;

/** The type of an image, in the terms of VkImageCreateInfo::imageType and flags. An image with more
 * than one layer (a cube: more than six layers) is an array. */
typedef enum culv_image_type {
    CULV_IMAGE_2D = 0,
    CULV_IMAGE_1D = 1,
    CULV_IMAGE_3D = 2,
    CULV_IMAGE_CUBE = 3, /**< Created with VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT and 6n layers. */
    CULV_IMAGE_TYPE_FORCE32 = 0x7fffffff
} culv_image_type;

/** The image to map. Describe what the graphics API created, not a view of it. The driver checks no
 * field. culv_vk_image_map() takes the fields from Vulkan's own structs and checks them. */
typedef struct culv_image_desc {
    size_t struct_size;   /**< Set by culv_image_desc_init(). */
    uint64_t offset;      /**< Bytes into the allocation: the memoryOffset of vkBindImageMemory. */
    culv_format format;   /**< Required. */
    culv_texels texels;   /**< The CUDA format; UNORM and SNORM formats have two. */
    culv_image_type type; /**< Default: 2D. */
    uint32_t width;       /**< Required: texels of level 0. */
    uint32_t height;      /**< Required except for 1D (0 or 1): texels of level 0. */
    uint32_t depth;       /**< Required for 3D, otherwise 0 or 1: texels of level 0. */
    /** Number of layers that the image was created with. A cube has 6, an array of n cubes has 6n.
     * 0 means 1, or 6 for a cube. */
    uint32_t array_layers;
    uint32_t mip_levels; /**< Levels that the image was created with. 0 means 1. */
    /** 1 if the graphics API draws into it: CUDA_ARRAY3D_COLOR_ATTACHMENT. */
    culv_bool color_attachment;
    /** 1 for CUDA_ARRAY3D_TEXTURE_GATHER (2D of one layer; CUDA guide 3.2.14.1.7). */
    culv_bool texture_gather;
    /** 1 for CUDA_ARRAY3D_VIDEO_ENCODE_DECODE; not for images of several planes. */
    culv_bool video_encode_decode;
    /** 1 for no CUDA_ARRAY3D_SURFACE_LDST: the image then has no surfaces. Compressed formats have
     * no surfaces. If a format has several planes, each plane has surfaces, and the whole image has
     * none. */
    culv_bool no_surfaces;
    const char
        *label; /**< Copied (up to 63 bytes); appears in messages. Default: the import's label. */
    /** Formats of several planes: offset of each plane in the allocation, in bytes. This is the
     * memoryOffset of the VkBindImageMemoryInfo that has the plane's VkBindImagePlaneMemoryInfo.
     * The image must be DISJOINT; `offset` stays 0. */
    uint64_t plane_offsets[3];
} culv_image_desc;

CULV_INIT(culv_image_desc)

/** The layout of one level and plane of an image in linear memory. The first byte of block (x, y,
 * z) of layer l is at pointer + y * row_pitch + x * bytes_per_block + z * depth_pitch + l *
 * layer_pitch. x and y count blocks; a block is one texel in most formats. culv_image_get_layout()
 * and culv_vk_image_map_pitched() fill it. */
typedef struct culv_subresource_layout {
    size_t struct_size;   /**< Set by culv_subresource_layout_init(). */
    CUdeviceptr pointer;  /**< The first byte, in CUDA's address space. */
    uint64_t size;        /**< Bytes from the first block to the end of the last one. */
    uint64_t row_pitch;   /**< Bytes from one row of blocks to the next. */
    uint64_t depth_pitch; /**< Bytes from one slice of a 3D image to the next; otherwise 0. */
    uint64_t layer_pitch; /**< Bytes from one array layer to the next; 0 if there is one layer. */
    uint32_t width;       /**< Texels of this level and plane. */
    uint32_t height;      /**< Texels of this level and plane. */
    uint32_t depth;       /**< Slices of this level; 1 if the image is not 3D. */
    uint32_t array_layers;
    uint32_t bytes_per_block; /**< Bytes of a block of this plane. */
    uint32_t block_width;     /**< Texels. */
    uint32_t block_height;    /**< Texels. */
} culv_subresource_layout;

CULV_INIT(culv_subresource_layout)

/** Maps an image of the import. The image must have OPTIMAL tiling: CUDA maps a LINEAR image
 * without an error and reads wrong texels (measured on an H200). An image of several planes must be
 * DISJOINT, with all planes in this import: if it is not DISJOINT, Vulkan does not say where its
 * planes lie.
 * Errors: INVALID (RANGE: also planes that overlap; EXTENT; USAGE; DEDICATED: an image in a
 * dedicated allocation is DISJOINT or not at offset 0, or a D16_UNORM or S8_UINT image
 * (culv_format_info::dedicated) is not in one ...), UNSUPPORTED (FORMAT: no CUDA array has it, or
 * this driver's arrays lack it; HANDLE_TYPE: a dma-buf cannot have arrays), DRIVER, ASYNC,
 * OUT_OF_MEMORY.
 * Ownership: *out is yours, for culv_image_unmap(); it keeps the import alive.
 * Source: cuda.h, cuExternalMemoryGetMappedMipmappedArray. */
CULV_EXPORT culv_result culv_image_map(culv_memory *memory, const culv_image_desc *desc,
                                       culv_image **out);

/** Unmaps the image, with its level arrays and its surfaces. last_use is as in culv_buffer_unmap():
 * if it is NULL, the call may wait in the driver (measured: cuMipmappedArrayDestroy waits for the
 * context); otherwise it DEFERS the release.
 * Errors: INVALID (OWNED: Culvert made the image itself (culv_shared_image_cuda()); nothing
 * happens, and the pointer keeps its value). */
CULV_EXPORT culv_result culv_image_unmap(culv_image **image, const CUstream *last_use);

/** Gets the CUDA array of a mip level with all its layers (or slices), for copies (cuMemcpy2D,
 * cuMemcpy3D: dstZ is the layer). Culvert asks the driver once and keeps the answer. An image of
 * several planes has one level, and an array for each plane, in the plane's format
 * (culv_format_info::plane_formats); in NV12 plane 0 is luma, and plane 1 is chroma at half the
 * size. For other images pass 0 as `plane`.
 * Errors: INVALID (LEVEL: no such level or plane), UNSUPPORTED (FORMAT: no CUDA array has the
 * format: culvert/shared.h), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert owns it, until the image is unmapped; never destroy it.
 * Source: cuda.h, cuMipmappedArrayGetLevel. */
CULV_EXPORT culv_result culv_image_get_array(culv_image *image, uint32_t level, uint32_t plane,
                                             CUarray *out);

/** Gets the surface object of a mip level (or plane) with all its layers. Kernels read and write
 * through it: surf2Dwrite(), surf2DLayeredwrite(), surfCubemapwrite() ... The first call makes it,
 * and Culvert keeps it.
 * Errors: INVALID (LEVEL; USAGE: the image was mapped with no_surfaces, or its format has none),
 * DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert owns it, until the image is unmapped; never destroy it.
 * Source: cuda.h, cuSurfObjectCreate. */
CULV_EXPORT culv_result culv_image_get_surface(culv_image *image, uint32_t level, uint32_t plane,
                                               CUsurfObject *out);

/** Fills *out with the extent and the blocks of one level and plane. If no CUDA array has the
 * format (R32G32B32_SFLOAT, D24_UNORM_S8_UINT ...), it also gets the place of the texels in device
 * memory; otherwise `pointer`, `size` and the pitches are 0. Images without a CUDA array exist only
 * on the HOST path (culvert/shared.h), and have no surfaces or textures (UNSUPPORTED, FORMAT).
 * Their rows have no padding, and each level follows the one before. Depth and stencil are planes 0
 * and 1, as in vkCmdCopyImageToBuffer (D24 as 32-bit words).
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE, LEVEL).
 * Ownership: Culvert owns the memory, which is valid until the image is destroyed.
 * Source: Vulkan specification, "Buffer and Image Addressing". */
CULV_EXPORT culv_result culv_image_get_layout(const culv_image *image, uint32_t level,
                                              uint32_t plane, culv_subresource_layout *out);

/** Fills *out with the description of the mapped image. The real value replaces each default, and
 * label is NULL.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE). */
CULV_EXPORT culv_result culv_image_get_desc(const culv_image *image, culv_image_desc *out);

/* Textures ------------------------------------------------------------------------------------- */

/* CUDA texture objects for shared images. They sample as the graphics API does.
 *
 * The settings are CUDA's (CUDA_TEXTURE_DESC). culv_vk_texture_desc_from_sampler() takes them from
 * a VkSamplerCreateInfo and reports the settings that CUDA lacks.
 *
 *   culv_texture_desc d = culv_texture_desc_init();
 *   d.filter = CULV_TEXTURE_FILTER_LINEAR;
 *   culv_image_get_texture(image, &d, &texture);
 *   kernel<<<...>>>(texture);
 *
 * Texture reads are not coherent with writes of the same kernel (CUDA guide, "Texture and Surface
 * Memory"). */

/** The address mode: what a read outside the image returns. */
typedef enum culv_texture_address {
    CULV_TEXTURE_ADDRESS_CLAMP = 0, /**< VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE. */
    /** VK_SAMPLER_ADDRESS_MODE_REPEAT. Needs normalized coordinates. */
    CULV_TEXTURE_ADDRESS_WRAP = 1,
    /** VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT. Needs normalized coordinates. */
    CULV_TEXTURE_ADDRESS_MIRROR = 2,
    /** VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER. Needs normalized coordinates. */
    CULV_TEXTURE_ADDRESS_BORDER = 3,
    CULV_TEXTURE_ADDRESS_FORCE32 = 0x7fffffff
} culv_texture_address;

/** The filter that combines texels or levels. */
typedef enum culv_texture_filter {
    CULV_TEXTURE_FILTER_NEAREST = 0,
    CULV_TEXTURE_FILTER_LINEAR = 1, /**< Works only when reads return floating point. */
    CULV_TEXTURE_FILTER_FORCE32 = 0x7fffffff
} culv_texture_filter;

/** What a read returns. */
typedef enum culv_texture_read {
    /** As the graphics API's sampler returns it: UNORM as floats in [0, 1], SNORM as floats in [-1,
     * 1], sRGB as linear floats, UINT and SINT as integers, and floats as floats. But the channels
     * have the stored order: B comes first in B8G8R8A8. Formats that are packed into one integer
     * return that integer. Padded formats (R10X6) and scaled formats return the integers of their
     * channels, because CUDA cannot scale them. */
    CULV_TEXTURE_READ_AS_GRAPHICS = 0,
    /** The stored integers. Floats are returned as floats. Compressed blocks are decoded as by
     * AS_GRAPHICS, but sRGB blocks return the encoded values. */
    CULV_TEXTURE_READ_STORED = 1,
    CULV_TEXTURE_READ_FORCE32 = 0x7fffffff
} culv_texture_read;

/** The settings of a texture object. */
typedef struct culv_texture_desc {
    size_t struct_size;              /**< Set by culv_texture_desc_init(). */
    culv_texture_address address[3]; /**< One for each of x, y and z. */
    culv_texture_filter filter;      /**< Filter within a level, for minifying and magnifying. */
    culv_texture_filter mip_filter;  /**< Filter between levels. */
    culv_texture_read read;          /**< Values that a read returns. */
    float mip_bias;                  /**< Bias that is added to the level of detail. */
    culv_bool clamp_lod;             /**< Nonzero: min_lod and max_lod apply. 0: all levels. */
    float min_lod;                   /**< Least level, counted from base_level. */
    float max_lod;                   /**< Greatest level, counted from base_level. */
    uint32_t max_anisotropy;         /**< At most 16. 0 and 1: off. */
    /** Color for CULV_TEXTURE_ADDRESS_BORDER, with the channels in the stored order. */
    float border_color[4];
    /** Nonzero: coordinates are in texels instead of in [0, 1]. This needs one level and the
     * address CLAMP. It does not work for cubes, or for images with several layers and several
     * levels. */
    culv_bool unnormalized_coordinates;
    /** Nonzero: each cube face is filtered separately. 0: the filter crosses the seams, as in
     * Vulkan. */
    culv_bool no_seamless_cube;
    uint32_t base_level; /**< First level to read. */
    /** Number of levels. 0: all levels from base_level on. For NORMALIZED images
     * (culv_image_desc::texels), compressed blocks and 1D arrays, level_count must be 1 or
     * base_level must be 0. */
    uint32_t level_count;
    uint32_t base_layer; /**< First layer to read, for images with layers. 0 for cubes. */
    /** Number of layers. 0: all layers from base_layer on. Cubes need all layers, and so do
     * compressed blocks, 1D arrays and NORMALIZED images. */
    uint32_t layer_count;
    uint32_t plane; /**< Plane to read, for images with several planes. */
} culv_texture_desc;

/** culv_texture_desc_init(): filters NEAREST, addresses CLAMP, all levels and all layers. */
CULV_INIT(culv_texture_desc)

/** Gets a texture object of the image with these settings. desc may be NULL for the default.
 *
 * The image keeps the objects that it made. A second call with equal settings gets the same object
 * without asking the driver. Each different setting makes one more object, which exists as long as
 * the image, so do not animate settings.
 * Errors: INVALID (LEVEL: a range of levels or layers, or a plane, that the image lacks; VALUE:
 * settings that contradict each other or the format), UNSUPPORTED (LEVEL: a range that CUDA cannot
 * view, for blocks, cubes, 1D arrays and NORMALIZED images; unnormalized_coordinates for an image
 * with layers and several levels), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert owns the object, which is valid until the image is unmapped; never destroy it.
 * Source: cuda.h, cuTexObjectCreate. */
CULV_EXPORT culv_result culv_image_get_texture(culv_image *image, const culv_texture_desc *desc,
                                               CUtexObject *out);

CULV_EXTERN_C_END

#endif
