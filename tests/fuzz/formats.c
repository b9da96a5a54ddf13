/* SPDX-License-Identifier: MIT */
/* The format table by every number and in both directions, and samplers as texture settings. */
#include "fuzz.h"

#include <culvert/vulkan_texture.h>

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
        /* There and back: a format of the same bits. */
        culv_format back = culv_format_from(CULV_NATIVE_D3D, info->dxgi_format);
        FUZZ_REQUIRE((back != CULV_FORMAT_NONE) == (info->dxgi_format != 0), "%s: DXGI %u",
                     info->name, info->dxgi_format);
        back = culv_format_from(CULV_NATIVE_GL, info->gl_internal_format);
        FUZZ_REQUIRE((back != CULV_FORMAT_NONE) == (info->gl_internal_format != 0), "%s: GL %#x",
                     info->name, info->gl_internal_format);
        culv_format all[256];
        uint32_t count = 256, found = 0;
        FUZZ_REQUIRE(culv_format_from_cuda(info->cuda_array_format, info->channels, all, count,
                                           &count) == CULV_OK,
                     "%s", culv_last_error_message());
        for (uint32_t i = 0; i < count; i++)
            found += all[i] == format;
        FUZZ_REQUIRE(found == (info->mapped && info->cuda_array_format != 0),
                     "%s is %u times among its array format's", info->name, found);
    }
    fuzz_unbox(info);
}

static void run_plane(fuzz_reader *r)
{
    culv_format format = any_format(r), plane = CULV_FORMAT_FORCE32;
    uint32_t index = fuzz_value32(r, fuzz_pick(r, 3)), across = 99, down = 99;
    uint8_t left_out = fuzz_u8(r);
    culv_result result = FUZZ_CALL(culv_format_get_plane(
        format, index, (left_out & 0x80) ? NULL : &plane, (left_out & 0x40) ? NULL : &across,
        (left_out & 0x20) ? NULL : &down));
    if (result != CULV_OK)
        FUZZ_REQUIRE(plane == CULV_FORMAT_FORCE32 && across == 99 && down == 99,
                     "written after an error");
    else {
        culv_format_info info = culv_format_info_init();
        FUZZ_REQUIRE((left_out & 0x80) || culv_format_get_info(plane, &info) == CULV_OK,
                     "plane's format %d", (int)plane);
        FUZZ_REQUIRE((left_out & 0x40) || across == 1 || across == 2, "divided by %u", across);
        FUZZ_REQUIRE((left_out & 0x20) || down == 1 || down == 2, "divided by %u", down);
    }
}

static void run_from(fuzz_reader *r)
{
    uint32_t number = fuzz_value32(r, fuzz_u8(r)), channels = fuzz_value32(r, 1 + fuzz_pick(r, 4));
    uint32_t room = fuzz_pick(r, 64), count = room;
    /* As long as it is said to be. */
    fuzz_chain chain = {.count = 0};
    culv_format *list = fuzz_chain_alloc(&chain, room != 0 ? room * sizeof *list : 1);
    uint32_t total = 0;
    FUZZ_REQUIRE(FUZZ_CALL(culv_format_from_cuda(number, channels, list, count, &count)) == CULV_OK,
                 "it cannot fail");
    FUZZ_REQUIRE(FUZZ_CALL(culv_format_from_cuda(number, channels, NULL, 0, &total)) == CULV_OK,
                 "it cannot fail");
    FUZZ_REQUIRE(count == total, "%u of them, or %u", count, total);
    for (uint32_t i = 0; i < count && i < room; i++) {
        culv_format_info info = culv_format_info_init();
        FUZZ_REQUIRE(culv_format_get_info(list[i], &info) == CULV_OK && info.mapped, "format %d",
                     (int)list[i]);
        /* CUDA's arrays of the same blocks that are sRGB come after those that are not, which are
         * mapped. */
        bool srgb = info.kind == CULV_TEXEL_KIND_BLOCKS && strstr(info.name, "_SRGB_") != NULL;
        bool stored =
            info.cuda_array_format == number || (srgb && info.cuda_array_format + 1 == number);
        FUZZ_REQUIRE(
            (stored && info.channels == channels) ||
                (info.normalized_array_format == number && info.normalized_channels == channels),
            "%s is not %#x with %u channels", info.name, number, channels);
    }
    fuzz_chain_free(&chain);
    culv_format_info info = culv_format_info_init();
    culv_format format = culv_format_from(CULV_NATIVE_D3D, number);
    FUZZ_REQUIRE(format == CULV_FORMAT_NONE ||
                     (culv_format_get_info(format, &info) == CULV_OK && info.dxgi_format == number),
                 "DXGI %u is format %d", number, (int)format);
    number = fuzz_value32(r, 0x8000u + fuzz_u8(r));
    format = culv_format_from(CULV_NATIVE_GL, number);
    FUZZ_REQUIRE(format == CULV_FORMAT_NONE || (culv_format_get_info(format, &info) == CULV_OK &&
                                                info.gl_internal_format == number),
                 "GL %#x is format %d", number, (int)format);
}

static void run_supports(fuzz_reader *r)
{
    culv_format format = any_format(r);
    culv_texels texels = (culv_texels)fuzz_enum(r, 2);
    fuzz_arm(r);
    culv_result first = FUZZ_CALL(culv_check_format(fuzz.device, format, texels));
    fuzz_disarm();
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
    case 0: run_info(r); break;
    case 1: run_plane(r); break;
    case 2: run_from(r); break;
    case 3: run_supports(r); break;
    default: run_sampler(r);
    }
}
