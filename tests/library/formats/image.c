/* SPDX-License-Identifier: MIT */
/* The sweep's images: planned, asked for, made, and where their texels lie in a buffer. */
#include "sweep.h"

/* Culvert's images have odd sides, the caller's even ones: GPUs lay the two out in different
 * ways. */
typedef struct shape {
    uint32_t width, height, depth, layers;
} shape;

static const struct {
    VkImageType type;
    VkImageCreateFlags flags;
    shape odd, even;
} shapes[SWEEP_NUM_DIMENSIONS] = {
    [SWEEP_1D] = {VK_IMAGE_TYPE_1D, 0, {1021, 1, 1, 1}, {512, 1, 1, 1}},
    [SWEEP_2D] = {VK_IMAGE_TYPE_2D, 0, {131, 67, 1, 1}, {96, 160, 1, 1}},
    [SWEEP_3D] = {VK_IMAGE_TYPE_3D, 0, {37, 21, 11, 1}, {16, 64, 20, 1}},
    [SWEEP_CUBE] = {VK_IMAGE_TYPE_2D,
                    VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                    {45, 45, 1, 6},
                    {64, 64, 1, 6}},
    [SWEEP_1D_ARRAY] = {VK_IMAGE_TYPE_1D, 0, {333, 1, 1, 5}, {128, 1, 1, 9}},
    [SWEEP_2D_ARRAY] = {VK_IMAGE_TYPE_2D, 0, {67, 35, 1, 5}, {64, 64, 1, 4}},
    [SWEEP_CUBE_ARRAY] = {VK_IMAGE_TYPE_2D,
                          VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                          {21, 21, 1, 12},
                          {16, 16, 1, 24}},
};

static uint32_t level_side(uint32_t side, uint32_t level)
{
    return side >> level != 0 ? side >> level : 1;
}

void sweep_image_extent(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t *width,
                        uint32_t *height, uint32_t *slices)
{
    *width = level_side(i->info.extent.width / i->planes[plane].across, level);
    *height = level_side(i->info.extent.height / i->planes[plane].down, level);
    *slices = i->what.dimension == SWEEP_3D ? level_side(i->info.extent.depth, level)
                                            : i->info.arrayLayers;
}

void sweep_image_blocks(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t *width,
                        uint32_t *height, uint32_t *slices)
{
    const culv_format_info *f = &i->planes[plane].format;
    sweep_image_extent(i, plane, level, width, height, slices);
    *width = (*width + f->block_width - 1) / f->block_width;
    *height = (*height + f->block_height - 1) / f->block_height;
}

static void lay_out(sweep_image *i)
{
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            uint32_t width, height, slices;
            i->bytes_at[plane][level] = i->bytes;
            i->texels_at[plane][level] = i->texels;
            sweep_image_blocks(i, plane, level, &width, &height, &slices);
            i->bytes += (size_t)width * height * slices * i->planes[plane].format.bytes_per_block;
            i->bytes = (i->bytes + 15) / 16 * 16; /* bufferOffset */
            sweep_image_extent(i, plane, level, &width, &height, &slices);
            i->texels += (size_t)width * height * slices;
        }
    REQUIRE(i->bytes <= SWEEP_BYTES && i->texels <= SWEEP_TEXELS);
}

void sweep_image_where(const sweep_image *i, size_t byte, char *text, size_t size)
{
    uint32_t plane = 0, level = 0, width, height, slices;
    for (uint32_t p = 0; p < i->plane_count; p++)
        for (uint32_t l = 0; l < i->info.mipLevels; l++)
            if (i->bytes_at[p][l] <= byte) plane = p, level = l;
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    size_t block = (byte - i->bytes_at[plane][level]) / i->planes[plane].format.bytes_per_block;
    size_t row = block / width;
    snprintf(text, size, "plane %u, level %u of %u, slice or layer %zu of %u, x %zu, y %zu",
             (unsigned)plane, (unsigned)level, (unsigned)i->info.mipLevels, row / height,
             (unsigned)slices, block % width, row % height);
}

/* Planning ------------------------------------------------------------------------------------- */

static void plan_planes(sweep_image *i, const culv_format_info *format)
{
    i->plane_count = format->planes;
    REQUIRE(format->planes >= 1 && format->planes <= MAX_PLANES);
    for (uint32_t plane = 0; plane < format->planes; plane++) {
        i->planes[plane].across = plane > 0 ? format->plane_width_divisor : 1;
        i->planes[plane].down = plane > 0 ? format->plane_height_divisor : 1;
        i->planes[plane].format = culv_format_info_init();
        LIB_OK(culv_format_get_info(format->plane_formats[plane], &i->planes[plane].format));
        i->planes[plane].aspect = format->planes > 1
                                      ? (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << plane
                                      : format->aspects;
    }
}

static uint32_t whole_chain(const VkExtent3D *e)
{
    uint32_t levels = 1;
    while (e->width >> levels != 0 || e->height >> levels != 0 || e->depth >> levels != 0)
        levels++;
    return levels;
}

/* Formats that require a sampler Y'CbCr conversion (Vulkan's table of them) have 2D images of one
 * level and layer alone, and views that are sampled through a conversion alone. The two RGBA ones
 * are named by their packing. */
static bool is_video(const culv_format_info *f)
{
    return f->kind == CULV_TEXEL_KIND_PLANES || f->kind == CULV_TEXEL_KIND_SUBSAMPLED ||
           sweep_name_has(f, "_4PACK16");
}

/* Drivers lay out what is drawn into in ways of its own. */
static void plan_attachment(sweep_image *i)
{
    if ((i->features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) != 0)
        i->info.usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if ((i->features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) != 0)
        i->info.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
}

static void plan_info(sweep *s, sweep_image *i, const cell *what)
{
    const shape *its = what->origin == ORIGIN_CALLERS ? &shapes[what->dimension].even
                                                      : &shapes[what->dimension].odd;
    const culv_format_info *f = what->format;
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(s->w.vk.physical, (VkFormat)f->vk_format, &properties);
    i->features = properties.optimalTilingFeatures;
    i->info = (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                  .flags = shapes[what->dimension].flags,
                                  .imageType = shapes[what->dimension].type,
                                  .format = (VkFormat)f->vk_format,
                                  .extent = {its->width, its->height, its->depth},
                                  .arrayLayers = its->layers,
                                  .samples = VK_SAMPLE_COUNT_1_BIT,
                                  .tiling = VK_IMAGE_TILING_OPTIMAL,
                                  .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                           VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                                  .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    if (f->planes > 1) i->info.flags |= VK_IMAGE_CREATE_DISJOINT_BIT;
    if (is_video(f)) {
        /* Odd sizes cannot be halved. One level: VUID-VkImageCreateInfo-format-06410. */
        i->info.extent.width = i->info.extent.width / 2 * 2;
        i->info.extent.height = i->info.extent.height / 2 * 2;
        i->info.mipLevels = 1;
    } else {
        i->info.mipLevels = whole_chain(&i->info.extent);
        /* Drivers lay layers out for a whole chain, or for the levels that there are. */
        if (what->origin == ORIGIN_CALLERS && i->info.mipLevels > 3) i->info.mipLevels -= 2;
    }
    if ((i->features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) != 0 &&
        !is_video(f)) /* VUID-VkImageViewCreateInfo-format-06415 */
        i->info.usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (what->origin != ORIGIN_CALLERS) return;
    if (what->dimension == SWEEP_2D || what->dimension == SWEEP_2D_ARRAY) plan_attachment(i);
    i->external = (VkExternalMemoryImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    i->info.pNext = &i->external;
}

static bool is_disjoint(const sweep_image *i)
{
    return (i->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT) != 0;
}

/* What Vulkan says; the chain of levels is cut to what it has. */
static answer ask_vulkan(sweep *s, sweep_image *i)
{
    answer a = {.outcome = OUTCOME_RIGHT};
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkPhysicalDeviceImageFormatInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external,
        .format = i->info.format,
        .type = i->info.imageType,
        .tiling = i->info.tiling,
        .usage = i->info.usage,
        .flags = i->info.flags};
    VkExternalImageFormatProperties exported = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &exported};
    VkResult r = vkGetPhysicalDeviceImageFormatProperties2(s->w.vk.physical, &info, &properties);
    const VkImageFormatProperties *limits = &properties.imageFormatProperties;
    if (r == VK_ERROR_FORMAT_NOT_SUPPORTED) {
        answer_set(&a, OUTCOME_SKIPPED,
                   "Vulkan has no such images (VK_ERROR_FORMAT_NOT_SUPPORTED)");
        return a;
    }
    if (is_disjoint(i) && (i->features & VK_FORMAT_FEATURE_DISJOINT_BIT) == 0) {
        answer_set(&a, OUTCOME_SKIPPED,
                   "Vulkan has no such images whose planes are bound each by itself (DISJOINT)");
        return a;
    }
    VK_OK(r);
    if (i->info.mipLevels > limits->maxMipLevels) i->info.mipLevels = limits->maxMipLevels;
    if (!(exported.externalMemoryProperties.externalMemoryFeatures &
          VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        answer_set(&a, OUTCOME_SKIPPED, "Vulkan exports no such images");
    else if (i->info.arrayLayers > limits->maxArrayLayers)
        answer_set(&a, OUTCOME_SKIPPED, "Vulkan has no such images of more than %u layers",
                   (unsigned)limits->maxArrayLayers);
    else if (i->info.extent.width > limits->maxExtent.width ||
             i->info.extent.height > limits->maxExtent.height ||
             i->info.extent.depth > limits->maxExtent.depth)
        answer_set(&a, OUTCOME_SKIPPED, "Vulkan has such images up to %u x %u x %u only",
                   (unsigned)limits->maxExtent.width, (unsigned)limits->maxExtent.height,
                   (unsigned)limits->maxExtent.depth);
    return a;
}

answer sweep_image_plan(sweep *s, const cell *what, sweep_image *out)
{
    const culv_format_info *f = what->format;
    answer a = {.outcome = OUTCOME_RIGHT};
    memset(out, 0, sizeof *out);
    out->what = *what;
    if (is_video(f) && what->dimension != SWEEP_2D) {
        /* VUID-VkImageCreateInfo-format-06412 and -06413 */
        answer_set(
            &a, OUTCOME_SKIPPED,
            "Vulkan has Y'CbCr formats as 2D images of one layer (arrays: with VK_EXT_ycbcr_image_arrays, which is not enabled here)");
        return a;
    }
    plan_planes(out, f);
    plan_info(s, out, what);
    a = ask_vulkan(s, out);
    if (a.outcome != OUTCOME_RIGHT) return a;
    culv_result r = culv_check_format(s->w.device, f->format, what->texels);
    if (r == CULV_ERROR_UNSUPPORTED)
        answer_set(&a, OUTCOME_SKIPPED, "%s", culv_last_error_message());
    else
        LIB_OK(r);
    if (a.outcome != OUTCOME_RIGHT) return a;
    culv_vk_check_desc check = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    check.texels = what->texels;
    r = culv_vk_check_image(s->w.attachment, &out->info, &check, &sharing);
    if (r != CULV_OK) {
        answer_set(&a, OUTCOME_REFUSED, "%s", culv_last_error_message());
        return a;
    }
    REQUIRE_EQ(sharing.access, CULV_VK_ACCESS_ARRAY);
    lay_out(out);
    return a;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result create_culverts(sweep *s, sweep_image *i)
{
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &i->info;
    d.texels = i->what.texels;
    culv_result r = culv_vk_image_create(s->w.attachment, &d, &i->made);
    if (r != CULV_OK) return r;
    i->image = culv_vk_image_handle(i->made);
    i->cuda = culv_shared_image_cuda(i->made);
    return CULV_OK;
}

/* Somewhere in its memory, unless Vulkan or CUDA wants it dedicated. */
static culv_result create_callers(sweep *s, sweep_image *i)
{
    static const unsigned ways[] = {RAW_VK_EXPORT | RAW_VK_UNTOUCHED,
                                    RAW_VK_EXPORT | RAW_VK_UNTOUCHED | RAW_VK_DEDICATED};
    raw_vk_image_desc d = {.format = i->info.format,
                           .width = i->info.extent.width,
                           .height = i->info.extent.height,
                           .depth = i->info.extent.depth,
                           .levels = i->info.mipLevels,
                           .layers = i->info.arrayLayers,
                           .dimensions = (uint32_t)i->info.imageType + 1,
                           .create_flags = i->info.flags,
                           .usage = i->info.usage,
                           .min_offset = 70000,
                           .planes = i->plane_count,
                           .flags = ways[0]};
    if (i->what.format->dedicated || !raw_vk_image_supported(&s->w.vk, &d)) {
        d.flags = ways[1];
        d.min_offset = 0;
    }
    raw_vk_image_create(&s->w.vk, &d, &i->caller);
    i->image = i->caller.image;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = i->caller.memory;
    md.allocation_size = i->caller.allocation_size;
    md.dedicated = (d.flags & RAW_VK_DEDICATED) != 0;
    if (!is_disjoint(i)) md.image = i->caller.image;
    md.image_offset = i->caller.offset;
    culv_result r = culv_vk_memory_import(s->w.attachment, &md, &i->memory);
    if (r != CULV_OK) return r;
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = i->caller.image;
    id.create_info = &i->info;
    id.offset = is_disjoint(i) ? 0 : i->caller.offset;
    id.texels = i->what.texels;
    memcpy(id.plane_offsets, i->caller.plane_offsets, sizeof id.plane_offsets);
    return culv_vk_image_map(s->w.attachment, i->memory, &id, &i->cuda);
}

answer sweep_image_create(sweep *s, sweep_image *i)
{
    answer a = {.outcome = OUTCOME_RIGHT};
    culv_result r = i->what.origin == ORIGIN_CALLERS ? create_callers(s, i) : create_culverts(s, i);
    if (r != CULV_OK)
        answer_set(&a, OUTCOME_WRONG, "the gate has it, but it could not be %s: %s",
                   i->what.origin == ORIGIN_CALLERS ? "mapped" : "made", culv_last_error_message());
    else
        REQUIRE_EQ(lib_image(i->cuda).format, i->what.format->format);
    return a;
}

void sweep_image_destroy(sweep *s, sweep_image *i)
{
    lib_finish(&s->w, s->stream);
    if (i->made != NULL) culv_shared_image_destroy(&i->made, NULL);
    if (i->what.origin != ORIGIN_CALLERS) return;
    culv_image_unmap(&i->cuda, NULL);
    culv_memory_destroy(&i->memory);
    if (i->caller.image != VK_NULL_HANDLE) raw_vk_image_destroy(&s->w.vk, &i->caller);
}
