/* SPDX-License-Identifier: MIT */
/* The format table by every number and in both directions, and samplers as texture settings. */
#include "fuzz.h"

#include <culvert/vulkan_memory.h>

void fuzz_target_open(void)
{
    fuzz_open_cuda();
}

static culv_format any_format(fuzz_reader *r)
{
    return (culv_format)fuzz_format(r, VK_FORMAT_R8G8B8A8_UNORM);
}

/* What every row of the table keeps to. */
static void check_info(const culv_format_info *i, culv_format format)
{
    FUZZ_REQUIRE(i->format == format && i->vk_format == (uint32_t)format, "it is of format %d",
                 (int)i->format);
    FUZZ_REQUIRE(memchr(i->name, '\0', sizeof i->name) != NULL && i->name[0] != '\0', "no name");
    FUZZ_REQUIRE(i->mapped <= 1 && (i->mapped != 0) == (i->reason == CULV_REASON_NONE),
                 "%s: mapped %u, reason %d", i->name, i->mapped, (int)i->reason);
    FUZZ_REQUIRE((i->mapped != 0) == (i->reason_text[0] == '\0'), "%s: why is \"%s\"", i->name,
                 i->reason_text);
    FUZZ_REQUIRE(i->block_width != 0 && i->block_height != 0 && i->planes >= 1 && i->planes <= 3,
                 "%s: %u x %u, %u", i->name, i->block_width, i->block_height, i->planes);
    FUZZ_REQUIRE(!i->mapped || i->planes > 1 || /* of which each has its own */
                     (i->cuda_array_format != 0 && i->channels >= 1 && i->channels <= 4),
                 "%s: %#x, %u", i->name, i->cuda_array_format, i->channels);
    FUZZ_REQUIRE(!i->mapped || (i->planes > 1) == (i->bytes_per_block == 0), "%s: %u bytes",
                 i->name, i->bytes_per_block);
    FUZZ_REQUIRE((i->surfaces != 0) == (i->kernel_type[0] != '\0'), "%s: kernel type \"%s\"",
                 i->name, i->kernel_type);
}

static void run_info(fuzz_reader *r)
{
    culv_format format = any_format(r);
    culv_format_info *info = fuzz_box_out(r, sizeof *info);
    culv_result result = FUZZ_CALL(culv_format_get_info(format, info));
    if (result != CULV_OK)
        fuzz_require_untouched(info);
    else if (fuzz_box_whole(info)) {
        check_info(info, format);
    }
    fuzz_unbox(info);
}

static void run_supports(fuzz_reader *r)
{
    culv_format format = any_format(r);
    culv_texels texels = (culv_texels)fuzz_enum(r, 2);
    culv_result first = FUZZ_ARMED(r, culv_check_format(fuzz.device, format, texels));
    culv_result second = FUZZ_CALL(culv_check_format(fuzz.device, format, texels));
    FUZZ_REQUIRE(first == second || fuzz_injected(), "%s, and then %s", culv_result_name(first),
                 culv_result_name(second));
}

/* Samplers ------------------------------------------------------------------------------------- */

static void sampler_chain(fuzz_reader *r, fuzz_chain *chain, VkSamplerCreateInfo *out)
{
    const VkBaseInStructure *head = NULL;
    for (uint8_t more = fuzz_u8(r); more >= 160 && chain->count < 16; more = fuzz_u8(r)) {
        /* As long as the longest of them. */
        VkBaseOutStructure *s = fuzz_chain_alloc(chain, 256);
        s->pNext = (VkBaseOutStructure *)(uintptr_t)head;
        switch (fuzz_pick(r, 4)) {
        case 0: {
            VkSamplerCustomBorderColorCreateInfoEXT *border =
                (VkSamplerCustomBorderColorCreateInfoEXT *)(void *)s;
            s->sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT;
            for (int i = 0; i < 4; i++)
                border->customBorderColor.float32[i] = fuzz_float(r);
            break;
        }
        case 1:
            s->sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO;
            ((VkSamplerReductionModeCreateInfo *)(void *)s)->reductionMode =
                (VkSamplerReductionMode)fuzz_enum(r, 3);
            break;
        case 2: s->sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO; break;
        default: s->sType = (VkStructureType)fuzz_u32(r);
        }
        head = (const VkBaseInStructure *)s;
    }
    out->pNext = head;
}

static void run_sampler(fuzz_reader *r)
{
    fuzz_chain chain = {.count = 0};
    VkSamplerCreateInfo s = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    if (fuzz_rarely(r, 64)) s.sType = (VkStructureType)fuzz_u32(r);
    s.flags = fuzz_bits(r, 0);
    s.magFilter = (VkFilter)(fuzz_rarely(r, 8) ? (uint32_t)VK_FILTER_CUBIC_EXT : fuzz_enum(r, 2));
    s.minFilter = (VkFilter)(fuzz_rarely(r, 8) ? (uint32_t)VK_FILTER_CUBIC_EXT : fuzz_enum(r, 2));
    s.mipmapMode = (VkSamplerMipmapMode)fuzz_enum(r, 2);
    s.addressModeU = (VkSamplerAddressMode)fuzz_enum(r, 5);
    s.addressModeV = (VkSamplerAddressMode)fuzz_enum(r, 5);
    s.addressModeW = (VkSamplerAddressMode)fuzz_enum(r, 5);
    s.mipLodBias = fuzz_float(r);
    s.anisotropyEnable = fuzz_value32(r, 0);
    s.maxAnisotropy = fuzz_float(r);
    s.compareEnable = fuzz_value32(r, 0);
    s.minLod = fuzz_float(r);
    s.maxLod = fuzz_float(r);
    s.borderColor =
        (VkBorderColor)(fuzz_rarely(r, 8) ? 1000287003u + fuzz_pick(r, 2) : fuzz_enum(r, 6));
    s.unnormalizedCoordinates = fuzz_value32(r, 0);
    sampler_chain(r, &chain, &s);
    culv_texture_desc d = culv_texture_desc_init();
    d.base_level = fuzz_u8(r);
    culv_texture_desc *out = fuzz_box(r, &d, sizeof d);
    unsigned char before[sizeof d];
    bool whole = fuzz_box_whole(out);
    if (whole) memcpy(before, out, sizeof d);
    uint32_t differences = 0x5a5a5a5a;
    culv_result result = FUZZ_CALL(
        culv_vk_texture_desc_from_sampler(&s, out, fuzz_rarely(r, 8) ? NULL : &differences));
    if (result != CULV_OK) {
        FUZZ_REQUIRE(differences == 0x5a5a5a5a, "written after an error");
        FUZZ_REQUIRE(!whole || memcmp(before, out, sizeof d) == 0, "written after an error");
    } else {
#define KNOWN(name, bit, text) | CULV_VK_SAMPLER_##name
        FUZZ_REQUIRE(differences == 0x5a5a5a5a ||
                         (differences & ~(0u CULV_VK_SAMPLER_DIFFERENCES(KNOWN))) == 0,
                     "a difference without a text: 0x%x", differences);
#undef KNOWN
        if (whole) {
            FUZZ_REQUIRE(out->base_level == d.base_level, "the levels are the view's");
            FUZZ_REQUIRE(out->min_lod >= 0 && out->min_lod <= out->max_lod, "levels %g to %g",
                         (double)out->min_lod, (double)out->max_lod);
            FUZZ_REQUIRE(out->max_anisotropy <= 16, "anisotropy %u", out->max_anisotropy);
        }
    }
    fuzz_unbox(out);
    fuzz_chain_free(&chain);
}

void fuzz_target_run(fuzz_reader *r)
{
    switch (fuzz_pick(r, 5)) {
    case 0:
    case 1:
    case 2: run_info(r); break;
    case 3: run_supports(r); break;
    default: run_sampler(r);
    }
}
