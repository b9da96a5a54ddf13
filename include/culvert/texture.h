/* SPDX-License-Identifier: MIT */
/* Culvert: CUDA texture objects on shared images. They sample as the graphics API does.
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
#ifndef CULV_TEXTURE_H_
#define CULV_TEXTURE_H_

#include "image.h"

CULV_EXTERN_C_BEGIN

/** The address mode: what a read outside the image returns. */
typedef enum culv_texture_address {
    CULV_TEXTURE_ADDRESS_CLAMP = 0, /**< VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE. */
    /** VK_SAMPLER_ADDRESS_MODE_REPEAT. Needs normalized coordinates. */
    CULV_TEXTURE_ADDRESS_WRAP = 1,
    /** VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT. Needs normalized coordinates. */
    CULV_TEXTURE_ADDRESS_MIRROR = 2,
    CULV_TEXTURE_ADDRESS_BORDER = 3, /**< VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER. */
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
     * 1], sRGB as linear floats, UINT and SINT as integers, and floats as floats. The channels come
     * in the order in which they are stored: B comes first in B8G8R8A8. Formats that are packed
     * into one integer return that integer. Padded formats (R10X6) and scaled formats return the
     * integers of their channels, because CUDA cannot scale them. */
    CULV_TEXTURE_READ_AS_GRAPHICS = 0,
    /** The stored integers. Floats are returned as floats. Compressed blocks are decoded as above,
     * but sRGB ones return the coded values, not linear ones. */
    CULV_TEXTURE_READ_STORED = 1,
    CULV_TEXTURE_READ_FORCE32 = 0x7fffffff
} culv_texture_read;

/** The settings of a texture object. */
typedef struct culv_texture_desc {
    size_t struct_size;              /**< Set by culv_texture_desc_init(). */
    culv_texture_address address[3]; /**< One for each of x, y and z. */
    culv_texture_filter filter;      /**< Filter within a level, for minifying and magnifying. */
    culv_texture_filter mip_filter;  /**< Filter between levels. */
    culv_texture_read read;          /**< What a read returns. */
    float mip_bias;                  /**< Added to the level. In levels. */
    culv_bool clamp_lod;             /**< Nonzero: min_lod and max_lod apply. 0: all levels. */
    float min_lod;                   /**< Least level, counted from base_level. */
    float max_lod;                   /**< Greatest level, counted from base_level. */
    uint32_t max_anisotropy;         /**< At most 16. 0 and 1: off. */
    /** The color for CULV_TEXTURE_ADDRESS_BORDER, with the channels in the order in which they are
     * stored. */
    float border_color[4];
    /** Nonzero: coordinates are in texels instead of in [0, 1]. This needs one level and the
     * address CLAMP. It does not work for cubes, nor for images that have several layers and
     * several levels. */
    culv_bool unnormalized_coordinates;
    /** Nonzero: each face of a cube is filtered by itself. 0: filtering crosses the seams, as in
     * Vulkan. */
    culv_bool no_seamless_cube;
    uint32_t base_level; /**< The first level to read. */
    /** Number of levels. 0: all levels from base_level on. Some images allow only one level, or
     * levels from 0 on: NORMALIZED ones (culv_image_desc::texels), compressed blocks and 1D
     * arrays. */
    uint32_t level_count;
    uint32_t base_layer; /**< The first layer to read, for images with layers. 0 for cubes. */
    /** Number of layers. 0: all layers from base_layer on. Cubes need all layers, and so do
     * compressed blocks, 1D arrays and NORMALIZED images. */
    uint32_t layer_count;
    uint32_t plane; /**< The plane to read, for images with several planes. */
} culv_texture_desc;

/** culv_texture_desc_init(): the nearest texel of the nearest level, clamped, with all levels and
 * layers. */
CULV_INIT(culv_texture_desc)

/** Gets a texture object of the image with these settings. desc may be NULL for the default.
 *
 * The image keeps the objects that it made. A second call with equal settings returns the same
 * object without asking the driver. Each different setting makes one more object, which lives as
 * long as the image, so do not animate settings.
 * Errors: INVALID (LEVEL: a range of levels or layers, or a plane, that the image lacks; VALUE:
 * settings that contradict each other or the format), UNSUPPORTED (LEVEL: a range that CUDA cannot
 * view, in blocks, cubes, 1D arrays and NORMALIZED images; unnormalized_coordinates in layers of
 * several levels), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert owns the object; it is valid until the image is unmapped; never destroy it.
 * Threads: any.
 * Source: cuda.h, cuTexObjectCreate. */
CULV_EXPORT culv_result culv_image_get_texture(culv_image *image, const culv_texture_desc *desc,
                                               CUtexObject *out);

CULV_EXTERN_C_END

#endif
