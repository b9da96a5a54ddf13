/* SPDX-License-Identifier: MIT */
/* Culvert: takes the settings of a CUDA texture object from a VkSamplerCreateInfo.
 *
 *   culv_texture_desc d = culv_texture_desc_init();
 *   culv_vk_texture_desc_from_sampler(&sampler_info, &d, &differences);
 *   culv_image_get_texture(image, &d, &texture); */
#ifndef CULV_VULKAN_TEXTURE_H_
#define CULV_VULKAN_TEXTURE_H_

#include "texture.h"

#include <vulkan/vulkan_core.h>

CULV_EXTERN_C_BEGIN

/* The settings of a VkSamplerCreateInfo that CUDA_TEXTURE_DESC lacks: (name, bit, what differs). */
#define CULV_VK_SAMPLER_DIFFERENCES(X)                                                             \
    X(MAG_FILTER, 0, "CUDA has one filter; minFilter was taken, and magFilter differs")            \
    X(CUBIC_FILTER, 1, "CUDA has no cubic filter; linear was taken")                               \
    X(MIRROR_CLAMP, 2, "CUDA does not mirror once; clamping to the edge was taken")                \
    X(COMPARE, 3, "CUDA's texture objects compare no depth; the kernel reads the depth itself")    \
    X(BORDER_INTEGER, 4, "the border color is an integer one; its values were taken as floats")    \
    X(BORDER_CUSTOM, 5, "a custom border color was not found in the pNext chain; black was taken") \
    X(REDUCTION, 6, "CUDA has no minimum or maximum reduction; the weighted average was taken")    \
    X(YCBCR, 7, "CUDA converts no Y'CbCr; the kernel reads the planes")                            \
    X(ANISOTROPY, 8,                                                                               \
      "CUDA's anisotropy is a whole number from 1 to 16; maxAnisotropy was rounded down")          \
    X(SUBSAMPLED, 9, "CUDA reads no subsampled image (a flag of VK_EXT_fragment_density_map)")     \
    X(CUBE_SEAMS, 10, "the flag of VK_EXT_non_seamless_cube_map was taken as no_seamless_cube")    \
    X(FLAGS, 11, "a flag or an extension in the pNext chain is not one that this version knows")   \
    X(UNNORMALIZED_BORDER, 12,                                                                     \
      "CUDA clamps unnormalized coordinates only to the edge; that was taken")

/** Bits for each difference: CULV_VK_SAMPLER_COMPARE and so on. */
typedef enum culv_vk_sampler_difference {
#define CULV_VK_SAMPLER_ENUM_(name, bit, text) CULV_VK_SAMPLER_##name = 1 << (bit),
    CULV_VK_SAMPLER_DIFFERENCES(CULV_VK_SAMPLER_ENUM_)
#undef CULV_VK_SAMPLER_ENUM_
        CULV_VK_SAMPLER_FORCE32 = 0x7fffffff
} culv_vk_sampler_difference;

/** Fills *out with the settings of a sampler, as far as CUDA has them. Sets a bit in *differences
 * (which may be NULL) for each setting that CUDA lacks. Levels, layers and plane stay as they are
 * in *out, because a view chooses them, not a sampler. Set out->struct_size first. A sampler has no
 * format: the border color is in the order R, G, B, A, so swap red and blue for a B8G8R8A8 image.
 * Errors: INVALID (NULL_ARGUMENT, STRUCT_SIZE; VALUE: not a VkSamplerCreateInfo, or a value that
 * Vulkan lacks).
 * Threads: any.
 * Source: VkSamplerCreateInfo; cuda.h, CUDA_TEXTURE_DESC. */
CULV_EXPORT culv_result culv_vk_texture_desc_from_sampler(const VkSamplerCreateInfo *sampler,
                                                          culv_texture_desc *out,
                                                          uint32_t *differences);

CULV_EXTERN_C_END

#endif
