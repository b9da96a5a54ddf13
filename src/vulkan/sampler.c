/* SPDX-License-Identifier: MIT */
/* A VkSampler's settings as those of a texture object. */
#include "culvert/vulkan_memory.h"
#include "vulkan/vk_check.h"

/* Structs and flags that these headers may not have yet. */
enum {
    STYPE_BORDER_COLOR = 1000287000, /* VkSamplerCustomBorderColorCreateInfoEXT */
    STYPE_REDUCTION = 1000130001,    /* VkSamplerReductionModeCreateInfo */
    STYPE_YCBCR = 1000156001,        /* VkSamplerYcbcrConversionInfo */
    FLAG_SUBSAMPLED = 0x1,
    FLAG_SUBSAMPLED_RECONSTRUCTION = 0x2,
    FLAG_NON_SEAMLESS_CUBE = 0x4
};

static culv_result refuse(const char *field)
{
    return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "VkSamplerCreateInfo::%s has a value that Vulkan does not know", field);
}

static bool take_address(VkSamplerAddressMode mode, culv_texture_address *out,
                         uint32_t *differences)
{
    static const culv_texture_address as[] = {
        [VK_SAMPLER_ADDRESS_MODE_REPEAT] = CULV_TEXTURE_ADDRESS_WRAP,
        [VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT] = CULV_TEXTURE_ADDRESS_MIRROR,
        [VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE] = CULV_TEXTURE_ADDRESS_CLAMP,
        [VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER] = CULV_TEXTURE_ADDRESS_BORDER,
        [VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE] = CULV_TEXTURE_ADDRESS_CLAMP};
    if ((uint32_t)mode >= sizeof as / sizeof as[0]) return false;
    *out = as[mode];
    if (mode == VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE)
        *differences |= CULV_VK_SAMPLER_MIRROR_CLAMP;
    return true;
}

static bool take_filter(VkFilter filter, culv_texture_filter *out, uint32_t *differences)
{
    *out = filter == VK_FILTER_NEAREST ? CULV_TEXTURE_FILTER_NEAREST : CULV_TEXTURE_FILTER_LINEAR;
    if (filter == VK_FILTER_CUBIC_EXT) *differences |= CULV_VK_SAMPLER_CUBIC_FILTER;
    return filter == VK_FILTER_NEAREST || filter == VK_FILTER_LINEAR ||
           filter == VK_FILTER_CUBIC_EXT;
}

static bool take_border(const VkSamplerCreateInfo *s, culv_texture_desc *d, uint32_t *differences)
{
    const VkSamplerCustomBorderColorCreateInfoEXT *custom =
        culvi_vk_chain_find(s->pNext, (VkStructureType)STYPE_BORDER_COLOR);
    float *c = d->border_color;
    const VkBorderColor border = s->borderColor;
    const bool customs =
        border == VK_BORDER_COLOR_FLOAT_CUSTOM_EXT || border == VK_BORDER_COLOR_INT_CUSTOM_EXT;
    c[0] = c[1] = c[2] = c[3] = 0;
    if (d->address[0] != CULV_TEXTURE_ADDRESS_BORDER &&
        d->address[1] != CULV_TEXTURE_ADDRESS_BORDER &&
        d->address[2] != CULV_TEXTURE_ADDRESS_BORDER)
        return true; /* Vulkan does not look at it either */
    if (!customs && (uint32_t)border > VK_BORDER_COLOR_INT_OPAQUE_WHITE) return false;
    if (customs && custom == NULL) {
        *differences |= CULV_VK_SAMPLER_BORDER_CUSTOM;
        return true;
    }
    /* In turn: transparent black, opaque black, opaque white, each of floats and of integers. */
    const bool integers =
        customs ? border == VK_BORDER_COLOR_INT_CUSTOM_EXT : ((uint32_t)border & 1) != 0;
    if (integers) *differences |= CULV_VK_SAMPLER_BORDER_INTEGER;
    for (int i = 0; i < 4; i++)
        c[i] = !customs   ? (float)(border >= (i < 3 ? VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE
                                                     : VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK))
               : integers ? (float)custom->customBorderColor.int32[i]
                          : custom->customBorderColor.float32[i];
    return true;
}

static void take_anisotropy(const VkSamplerCreateInfo *s, culv_texture_desc *d,
                            uint32_t *differences)
{
    d->max_anisotropy = 0;
    if (!s->anisotropyEnable) return;
    float most = s->maxAnisotropy;
    d->max_anisotropy = most >= 16 ? 16 : most >= 1 ? (uint32_t)most : 1;
    if ((float)d->max_anisotropy != most) *differences |= CULV_VK_SAMPLER_ANISOTROPY;
}

static void take_extras(const VkSamplerCreateInfo *s, culv_texture_desc *d, uint32_t *differences)
{
    const VkSamplerReductionModeCreateInfo *reduction =
        culvi_vk_chain_find(s->pNext, (VkStructureType)STYPE_REDUCTION);
    if (s->compareEnable) *differences |= CULV_VK_SAMPLER_COMPARE;
    if (reduction != NULL && reduction->reductionMode != VK_SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE)
        *differences |= CULV_VK_SAMPLER_REDUCTION;
    if (culvi_vk_chain_find(s->pNext, (VkStructureType)STYPE_YCBCR) != NULL)
        *differences |= CULV_VK_SAMPLER_YCBCR;
    for (const VkBaseInStructure *e = s->pNext; e != NULL; e = e->pNext)
        if ((int)e->sType != STYPE_BORDER_COLOR && (int)e->sType != STYPE_REDUCTION &&
            (int)e->sType != STYPE_YCBCR)
            *differences |= CULV_VK_SAMPLER_FLAGS;
    d->no_seamless_cube = (s->flags & FLAG_NON_SEAMLESS_CUBE) != 0;
    if (d->no_seamless_cube) *differences |= CULV_VK_SAMPLER_CUBE_SEAMS;
    if (s->flags & (FLAG_SUBSAMPLED | FLAG_SUBSAMPLED_RECONSTRUCTION))
        *differences |= CULV_VK_SAMPLER_SUBSAMPLED;
    if (s->flags & ~(VkSamplerCreateFlags)(FLAG_SUBSAMPLED | FLAG_SUBSAMPLED_RECONSTRUCTION |
                                           FLAG_NON_SEAMLESS_CUBE))
        *differences |= CULV_VK_SAMPLER_FLAGS;
}

culv_result culv_vk_texture_desc_from_sampler(const VkSamplerCreateInfo *sampler,
                                              culv_texture_desc *out, uint32_t *differences)
{
    uint32_t found = 0;
    CULVI_REQUIRE2(NULL, sampler, out);
    CULVI_READ(NULL, culv_texture_desc, d, out);
    if (sampler->sType != VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO) return refuse("sType");
    if (!take_address(sampler->addressModeU, &d.address[0], &found)) return refuse("addressModeU");
    if (!take_address(sampler->addressModeV, &d.address[1], &found)) return refuse("addressModeV");
    if (!take_address(sampler->addressModeW, &d.address[2], &found)) return refuse("addressModeW");
    culv_texture_filter magnifying;
    uint32_t unused = 0;
    if (!take_filter(sampler->magFilter, &magnifying, &unused)) return refuse("magFilter");
    if (!take_filter(sampler->minFilter, &d.filter, &found)) return refuse("minFilter");
    if (sampler->magFilter != sampler->minFilter) found |= CULV_VK_SAMPLER_MAG_FILTER;
    if (sampler->mipmapMode != VK_SAMPLER_MIPMAP_MODE_NEAREST &&
        sampler->mipmapMode != VK_SAMPLER_MIPMAP_MODE_LINEAR)
        return refuse("mipmapMode");
    d.mip_filter = sampler->mipmapMode == VK_SAMPLER_MIPMAP_MODE_LINEAR
                       ? CULV_TEXTURE_FILTER_LINEAR
                       : CULV_TEXTURE_FILTER_NEAREST;
    if (!take_border(sampler, &d, &found)) return refuse("borderColor");
    if (!(sampler->minLod <= sampler->maxLod))
        return refuse("minLod"); /* or one of the two is no number */
    d.mip_bias = sampler->mipLodBias;
    d.clamp_lod = 1;
    d.min_lod = sampler->minLod > 0 ? sampler->minLod : 0; /* there are no levels below 0 */
    d.max_lod = sampler->maxLod > 0 ? sampler->maxLod : 0;
    d.unnormalized_coordinates = sampler->unnormalizedCoordinates != VK_FALSE;
    for (int i = 0; d.unnormalized_coordinates && i < 3; i++) {
        /* Vulkan allows clamping of U and V alone, to the edge or the border, and does not look at
         * W. */
        if (i < 2 && d.address[i] == CULV_TEXTURE_ADDRESS_BORDER)
            found |= CULV_VK_SAMPLER_UNNORMALIZED_BORDER;
        d.address[i] = CULV_TEXTURE_ADDRESS_CLAMP;
    }
    take_anisotropy(sampler, &d, &found);
    take_extras(sampler, &d, &found);
    culvi_struct_write(out, &d, sizeof d);
    if (differences != NULL) *differences = found;
    return CULV_OK;
}
