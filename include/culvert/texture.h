/* SPDX-License-Identifier: MIT */
/* Culvert: texture objects on images, which sample as the graphics API does.
 *
 * The settings are CUDA's (CUDA_TEXTURE_DESC). culv_vk_texture_desc_from_sampler() takes them from
 * a VkSamplerCreateInfo and says what has no counterpart. Texture reads are not coherent with
 * writes of the same kernel (CUDA guide, "Texture and Surface Memory": not within a kernel
 * call). */
#ifndef CULV_TEXTURE_H_
#define CULV_TEXTURE_H_

#include "image.h"

CULV_EXTERN_C_BEGIN

/** What a coordinate outside the image reads. */
typedef enum culv_texture_address {
    CULV_TEXTURE_ADDRESS_CLAMP = 0, /**< VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE */
    CULV_TEXTURE_ADDRESS_WRAP =
        1, /**< VK_SAMPLER_ADDRESS_MODE_REPEAT; normalized coordinates only */
    /** VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT; normalized coordinates only */
    CULV_TEXTURE_ADDRESS_MIRROR = 2,
    CULV_TEXTURE_ADDRESS_BORDER = 3, /**< VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER */
    CULV_TEXTURE_ADDRESS_FORCE32 = 0x7fffffff
} culv_texture_address;

/** How texels, or levels, are combined. */
typedef enum culv_texture_filter {
    CULV_TEXTURE_FILTER_NEAREST = 0,
    CULV_TEXTURE_FILTER_LINEAR = 1, /**< Only of what reads as floating point. */
    CULV_TEXTURE_FILTER_FORCE32 = 0x7fffffff
} culv_texture_filter;

/** What a read returns. */
typedef enum culv_texture_read {
    /** What the graphics API's sampler returns: UNORM and SNORM as floats in [0, 1] and [-1, 1],
     * sRGB made linear, UINT and SINT as integers, floats as floats. Channels come in the order in
     * which they are stored: B first of B8G8R8A8. Formats packed into one integer return that
     * integer; padded ones (R10X6) and scaled ones, which CUDA cannot scale, the integers of their
     * channels. */
    CULV_TEXTURE_READ_AS_GRAPHICS = 0,
    /** The integers that are stored. Floats as above; blocks too, but sRGB ones as the coded
     * values, not made linear. */
    CULV_TEXTURE_READ_STORED = 1,
    CULV_TEXTURE_READ_FORCE32 = 0x7fffffff
} culv_texture_read;

/** A texture object. Zero means the default. */
typedef struct culv_texture_desc {
    size_t struct_size;              /**< Set by culv_texture_desc_init(). */
    culv_texture_address address[3]; /**< Of x, y and z. */
    culv_texture_filter filter;      /**< Within a level, for minifying and magnifying. */
    culv_texture_filter mip_filter;  /**< Between levels. */
    culv_texture_read read;          /**< What a read returns. */
    float mip_bias;                  /**< Added to the level, in levels. */
    culv_bool clamp_lod;             /**< Nonzero: min_lod and max_lod apply. 0: all levels. */
    float min_lod;                   /**< Levels, counted from base_level. */
    float max_lod;                   /**< Levels, counted from base_level. */
    uint32_t max_anisotropy;         /**< 0 and 1: none; to 16. */
    /** CULV_TEXTURE_ADDRESS_BORDER; in the order of the channels stored. */
    float border_color[4];
    /** Nonzero: coordinates in texels rather than in [0, 1]. One level, CLAMP; not of images that
     * have both several layers and several levels. */
    culv_bool unnormalized_coordinates;
    /** Nonzero: a cube's faces are filtered each for itself. Vulkan's are not. */
    culv_bool no_seamless_cube;
    uint32_t base_level; /**< The first level. */
    /** 0: all from there on. Of NORMALIZED images (culv_image_desc::texels), of blocks and of 1D
     * arrays one, or those from level 0 on. */
    uint32_t level_count;
    uint32_t base_layer; /**< The first layer, of images that have layers; 0 of cubes. */
    /** 0: all from there on. Of cubes, of blocks, of 1D arrays and of NORMALIZED images all. */
    uint32_t layer_count;
    uint32_t plane; /**< Of images of several planes. */
} culv_texture_desc;

/** Returns a default descriptor: nearest texel of the nearest level, clamped, all levels and
 * layers.
 * Errors: none.
 * Ownership: none.
 * Threads: any.
 * Since: 0.1 */
static inline culv_texture_desc culv_texture_desc_init(void)
{
    culv_texture_desc d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d;
    return d;
}

/** A texture object of the image with these settings. desc may be NULL for the default. The image
 * keeps what it made: a second call with equal settings returns the same object without asking the
 * driver. Each other setting makes one more object that lives as long as the image: do not animate
 * settings.
 * Errors: INVALID (LEVEL: a range of levels or layers that the image has not, a plane; VALUE:
 * settings that contradict each other or the format), UNSUPPORTED (LEVEL: a range that CUDA cannot
 * view: of blocks, of cubes, of 1D arrays, of NORMALIZED images; unnormalized_coordinates in layers
 * of several levels), DRIVER, ASYNC, OUT_OF_MEMORY.
 * Ownership: Culvert's, valid until the image is given up; never destroy it.
 * Threads: any.
 * Since: 0.1.
 * Source: cuda.h, cuTexObjectCreate. */
CULV_EXPORT culv_result culv_image_get_texture(culv_image *image, const culv_texture_desc *desc,
                                               CUtexObject *out);

CULV_EXTERN_C_END

#endif
