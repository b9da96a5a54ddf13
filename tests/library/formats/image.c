/* SPDX-License-Identifier: MIT */
/* The sweep's images: planned, asked for, made, and where their texels lie in a buffer. */
#include "sweep.h"

#include <cuda.h>

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

/* What the sweep writes into images: bytes that differ by level, slice, place and seed, and among
 * them the values that are special of the format: 0, 1, the ends, infinities, NaNs, the
 * smallest. */

static uint32_t mix(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}

/* Of a channel of one, two or four bytes, as many as fit; the rest of them are as any other. */
static bool special(const culv_format_info *f, uint32_t size, uint32_t which, uint32_t *value)
{
    static const uint32_t halves[] = {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e01, 0x0001, 0x7bff};
    static const uint32_t floats[] = {0,          0x80000000, 0x3f800000, 0x7f800000,
                                      0xff800000, 0x7fc00001, 0x00800000, 0x7f7fffff};
    static const uint32_t depths[] = {0,          0x3f800000, 0x3f000000, 0x00800000,
                                      0x3f7fffff, 0x3dcccccd, 0x3e800000, 0x3eaaaaab};
    const uint32_t top = size == 4 ? 0x80000000u : 1u << (8 * size - 1);
    const uint32_t integers[] = {0,       top | (top - 1),       top,     top - 1, 1,
                                 top + 1, (top | (top - 1)) - 1, top >> 1};
    if (which >= 8) return false;
    if (f->kind == CULV_TEXEL_KIND_DEPTH && size == 4)
        *value = depths[which];
    else if (f->cuda_array_format == CU_AD_FORMAT_HALF)
        *value = halves[which];
    else if (f->cuda_array_format == CU_AD_FORMAT_FLOAT)
        *value = floats[which];
    else
        *value = integers[which];
    return true;
}

/* Bits that the format leaves unused, which Vulkan's copies need not keep. */
static uint32_t unused(const culv_format_info *f, const culv_format_info *image)
{
    if (sweep_name_has(f, "10X6") || sweep_name_has(image, "10X6")) return 0x3f;
    if (sweep_name_has(f, "12X4") || sweep_name_has(image, "12X4")) return 0xf;
    return 0;
}

static uint32_t channel_size(const culv_format_info *f)
{
    if (f->kind == CULV_TEXEL_KIND_BLOCKS) return 4;
    if (f->kind == CULV_TEXEL_KIND_SUBSAMPLED) return f->bytes_per_block / 4;
    return f->bytes_per_block / f->channels;
}

static void put_block(const sweep_image *i, const culv_format_info *f, uint32_t hash,
                      uint32_t place, unsigned char *at)
{
    uint32_t size = channel_size(f), mask = unused(f, i->what.format);
    for (uint32_t c = 0; c * size < f->bytes_per_block; c++) {
        uint32_t value = mix(hash + c * 0x9e3779b9u);
        if (f->kind == CULV_TEXEL_KIND_DEPTH && size == 4) {
            float depth = (float)(value & 0xffffff) / (float)0x1000000;
            memcpy(&value, &depth, sizeof value);
        }
        if (f->kind != CULV_TEXEL_KIND_BLOCKS) (void)special(f, size, place + 3 * c, &value);
        value &= ~mask;
        if (size == 1) at[c] = (unsigned char)value;
        if (size == 2) memcpy(at + (size_t)2 * c, &(uint16_t){(uint16_t)value}, 2);
        if (size == 4) memcpy(at + (size_t)4 * c, &value, 4);
    }
}

static void put_level(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t seed,
                      unsigned char *at)
{
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t width, height, slices;
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    for (uint32_t z = 0; z < slices; z++)
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++, at += f->bytes_per_block) {
                uint32_t hash =
                    mix(seed + 31 * plane) ^ mix(level + 101) ^ mix(z + 1009) ^ mix(y * 65537 + x);
                /* The first texels of the first row, others in each slice, since a level may have
                 * one texel. */
                put_block(i, f, hash, y == 0 ? x + (z + level) % 8 : 8, at);
            }
}

void sweep_pattern(const sweep_image *i, uint32_t seed, unsigned char *bytes)
{
    memset(bytes, 0, i->bytes);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++)
            put_level(i, plane, level, seed, bytes + i->bytes_at[plane][level]);
}

/* Vulkan's half of the sweep: hand-overs with Culvert's barriers, copies of every level, layer and
 * plane. */

enum { MAX_REGIONS = MAX_PLANES * MAX_LEVELS };

static void record(VkCommandBuffer commands, const VkImageMemoryBarrier2 *barrier)
{
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

void sweep_record_hand_over(VkCommandBuffer commands, const sweep_image *i, bool to_cuda,
                            culv_vk_use use, bool discard)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    VkImageMemoryBarrier2 barrier;
    t.image = i->image;
    t.format = i->info.format;
    t.queue_family = 0;
    t.use = use;
    t.discard = discard ? VK_TRUE : VK_FALSE;
    if (to_cuda)
        LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
    else
        LIB_OK(culv_vk_image_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
    record(commands, &barrier);
}

/* Of formats of several planes COLOR stands for all. */
void sweep_record_between(VkCommandBuffer commands, const sweep_image *i, VkImageLayout from,
                          VkImageLayout to)
{
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = i->image,
        .subresourceRange = {i->what.format->aspects, 0, VK_REMAINING_MIP_LEVELS, 0,
                             VK_REMAINING_ARRAY_LAYERS}};
    record(commands, &barrier);
}

static uint32_t regions(const sweep_image *i, VkBufferImageCopy out[MAX_REGIONS])
{
    uint32_t count = 0;
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            uint32_t width, height, slices;
            sweep_image_extent(i, plane, level, &width, &height, &slices);
            bool is_3d = i->info.imageType == VK_IMAGE_TYPE_3D;
            out[count++] = (VkBufferImageCopy){
                .bufferOffset = i->bytes_at[plane][level],
                .imageSubresource = {i->planes[plane].aspect, level, 0, i->info.arrayLayers},
                .imageExtent = {width, height, is_3d ? slices : 1}};
        }
    return count;
}

void sweep_record_copy_out(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyImageToBuffer(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, count,
                           list);
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

void sweep_record_copy_in(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyBufferToImage(commands, buffer, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                           list);
}

/* What Vulkan's shaders read of an image: texelFetch() of every texel of every level. */

bool sweep_can_fetch(const sweep_image *i)
{
    return (i->info.usage & VK_IMAGE_USAGE_SAMPLED_BIT) != 0;
}

static int sweep_fetched_number(const culv_format_info *format)
{
    if (sweep_name_has(format, "_UINT")) return SWEEP_UINT;
    if (sweep_name_has(format, "_SINT")) return SWEEP_SINT;
    return SWEEP_FLOAT;
}

void sweep_open_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                         .maxLod = VK_LOD_CLAMP_NONE};
    VK_OK(vkCreateSampler(device, &sampler, NULL, &s->sampler));
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(device, &set, NULL, &s->set_layout));
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 5 * sizeof(int32_t)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &s->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &s->pipeline_layout));
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(device, &pool, NULL, &s->pool));
}

void sweep_close_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    for (int form = 0; form < NUM_FETCHES; form++)
        for (int number = 0; number < SWEEP_NUM_NUMBERS; number++)
            vkDestroyPipeline(device, s->fetches[form][number], NULL);
    vkDestroyDescriptorPool(device, s->pool, NULL);
    vkDestroyPipelineLayout(device, s->pipeline_layout, NULL);
    vkDestroyDescriptorSetLayout(device, s->set_layout, NULL);
    vkDestroySampler(device, s->sampler, NULL);
}

static VkPipeline pipeline(sweep *s, int form, int number)
{
    static const char *const forms[] = {"1d", "2d", "3d"}, *const numbers[] = {"float", "sint",
                                                                               "uint"};
    char name[96];
    VkPipeline *kept = &s->fetches[form][number];
    snprintf(name, sizeof name, "formats_fetch_%s_%s", forms[form], numbers[number]);
    if (*kept == VK_NULL_HANDLE)
        *kept = lib_compute_pipeline(s->w.vk.device, name, s->pipeline_layout);
    return *kept;
}

/* A shader can fetch from arrays of faces, never from a cube. */
static VkImageView make_view(sweep *s, const sweep_image *i)
{
    static const VkImageViewType types[] = {VK_IMAGE_VIEW_TYPE_1D_ARRAY,
                                            VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_VIEW_TYPE_3D};
    VkImageView view = VK_NULL_HANDLE;
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = i->image,
                                        .viewType = types[i->info.imageType],
                                        .format = i->info.format,
                                        .subresourceRange = {i->what.format->aspects, 0,
                                                             i->info.mipLevels, 0,
                                                             i->info.arrayLayers}};
    VK_OK(vkCreateImageView(s->w.vk.device, &info, NULL, &view));
    return view;
}

static VkDescriptorSet bind(sweep *s, VkImageView view)
{
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = s->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &s->set_layout};
    VK_OK(vkResetDescriptorPool(s->w.vk.device, s->pool, 0));
    VK_OK(vkAllocateDescriptorSets(s->w.vk.device, &allocate, &set));
    const VkDescriptorImageInfo image = {s->sampler, view, VK_IMAGE_LAYOUT_GENERAL};
    const VkDescriptorBufferInfo values = {s->fetched.buffer, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet writes[] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 0,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
         .pImageInfo = &image},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 1,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = &values},
    };
    vkUpdateDescriptorSets(s->w.vk.device, 2, writes, 0, NULL);
    return set;
}

VkImageView sweep_record_fetch(sweep *s, VkCommandBuffer commands, const sweep_image *i)
{
    VkImageView view = make_view(s, i);
    VkDescriptorSet set = bind(s, view);
    VkPipeline made = pipeline(s, (int)i->info.imageType, sweep_fetched_number(i->what.format));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline_layout, 0, 1,
                            &set, 0, NULL);
    for (uint32_t level = 0; level < i->info.mipLevels; level++) {
        uint32_t width, height, slices;
        sweep_image_extent(i, 0, level, &width, &height, &slices);
        const int32_t push[] = {(int32_t)width, (int32_t)height, (int32_t)slices, (int32_t)level,
                                (int32_t)i->texels_at[0][level]};
        vkCmdPushConstants(commands, s->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           sizeof push, push);
        vkCmdDispatch(commands, (width * height * slices + 63) / 64, 1, 1);
    }
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT);
    return view;
}

/* CUDA's half of the sweep: array copies, surface and texture kernels over every level, layer and
 * plane. */

static char said[MAX_REASON];

static const char *library_said(const char *call)
{
    snprintf(said, sizeof said, "%s: %s", call, culv_last_error_message());
    return said;
}

/* A kernel's fault stays with the context: it is told by every call from then on. The context is
 * current. */
static const char *driver_said(sweep *s, const char *call, CUresult r)
{
    s->lost = s->w.cu->StreamSynchronize(s->stream) != CUDA_SUCCESS;
    snprintf(said, sizeof said, "%s answers %s", call, raw_cuda_result_name(r));
    return said;
}

/* Levels of the image, or its planes, one after another; stops at the first that says something. */
typedef const char *(*visit_fn)(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                void *context);

static const char *visit(sweep *s, const sweep_image *i, visit_fn fn, void *context)
{
    const char *text = NULL;
    for (uint32_t plane = 0; plane < i->plane_count && text == NULL; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels && text == NULL; level++)
            text = fn(s, i, plane, level, context);
    return text;
}

/* Arrays --------------------------------------------------------------------------------------- */

typedef struct host_bytes {
    const unsigned char *from;
    unsigned char *to;
} host_bytes;

static const char *copy_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                              void *context)
{
    const host_bytes *b = context;
    const raw_cuda *cu = s->w.cu;
    uint32_t width, height, slices;
    CUarray array = NULL;
    culv_result result = culv_image_get_array(i->cuda, level, plane, &array);
    if (result != CULV_OK) return library_said("culv_image_get_array");
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    size_t row = (size_t)width * i->planes[plane].format.bytes_per_block,
           at = i->bytes_at[plane][level];
    CUDA_MEMCPY3D c = {.WidthInBytes = row, .Height = height, .Depth = slices};
    if (b->from != NULL) {
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = b->from + at;
        c.srcPitch = row;
        c.srcHeight = height;
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = b->to + at;
        c.dstPitch = row;
        c.dstHeight = height;
    }
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->Memcpy3DAsync(&c, s->stream);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "cuMemcpy3DAsync", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

const char *sweep_array_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    host_bytes b = {.from = bytes};
    return visit(s, i, copy_level, &b);
}

const char *sweep_array_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    host_bytes b = {.to = bytes};
    memset(bytes, 0xa5, i->bytes);
    return visit(s, i, copy_level, &b);
}

/* Kernels -------------------------------------------------------------------------------------- */

static const char *launch(sweep *s, CUfunction kernel, uint32_t threads, void **params)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->LaunchKernel(kernel, (threads + 127) / 128, 1, 1, 128, 1, 1, 0, s->stream,
                                  params, NULL);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "cuLaunchKernel", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

/* To or from s->device, where the kernels work, in their stream: cuMemcpyHtoD may return before the
 * bytes are there, and the stream waits for no other one. Pageable memory is read before the call
 * returns. */
static void to_device(sweep *s, const unsigned char *bytes, size_t size)
{
    LIB_CU_OK(&s->w, s->w.cu->MemcpyHtoDAsync(s->device, bytes, size, s->stream));
}

/* Waits. */
static const char *from_device(sweep *s, unsigned char *bytes, size_t size)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->MemcpyDtoHAsync(bytes, s->device, size, s->stream);
    if (r == CUDA_SUCCESS) r = cu->StreamSynchronize(s->stream);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "the kernel's stream", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

/* What the kernels call the type; the table's names are all there. */
static int type_of(const culv_format_info *f)
{
    static const char *const names[] = {
#define NAME(name, type) #name,
        SWEEP_TYPES(NAME)
#undef NAME
    };
    for (int k = 0; k < SWEEP_NUM_TYPES; k++)
        if (strcmp(names[k], f->kernel_type) == 0) return k;
    FAIL("%s has kernel_type \"%s\", which the sweep's kernels have not", f->name, f->kernel_type);
}

static const char *surface_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                 void *context)
{
    const CUfunction *kernel = context;
    uint32_t width, height, slices;
    CUsurfObject surface = 0;
    culv_result result = culv_image_get_surface(i->cuda, level, plane, &surface);
    if (result != CULV_OK) return library_said("culv_image_get_surface");
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    int dimension = i->what.dimension, type = type_of(&i->planes[plane].format);
    int w = (int)width, h = (int)height, d = (int)slices;
    CUdeviceptr texels = s->device + i->bytes_at[plane][level];
    void *params[] = {&surface, &dimension, &type, &w, &h, &d, &texels};
    return launch(s, *kernel, width * height * slices, params);
}

const char *sweep_surface_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    to_device(s, bytes, i->bytes);
    return visit(s, i, surface_level, &s->store);
}

const char *sweep_surface_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    memset(bytes, 0xa5, i->bytes);
    to_device(s, bytes, i->bytes);
    const char *text = visit(s, i, surface_level, &s->load);
    return text != NULL ? text : from_device(s, bytes, i->bytes);
}

static const char *texture_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                 void *context)
{
    const culv_texture_read *read = context;
    uint32_t width, height, slices;
    CUtexObject texture = 0;
    culv_texture_desc d = culv_texture_desc_init();
    d.read = *read;
    d.plane = plane;
    if (culv_image_get_texture(i->cuda, &d, &texture) != CULV_OK)
        return library_said("culv_image_get_texture");
    const reading r = sweep_reading(&i->planes[plane].format, i->what.texels, *read);
    sweep_image_extent(i, plane, level, &width, &height, &slices);
    int dimension = i->what.dimension, number = r.number, channels = (int)r.channels;
    int w = (int)width, h = (int)height, depth = (int)slices, which = (int)level;
    CUdeviceptr values = s->device + i->texels_at[plane][level] * 16;
    void *params[] = {&texture, &dimension, &number, &channels, &which, &w, &h, &depth, &values};
    return launch(s, s->sample, width * height * slices, params);
}

const char *sweep_texture_read(sweep *s, const sweep_image *i, culv_texture_read read,
                               unsigned char *values)
{
    memset(values, 0xa5, i->texels * 16);
    to_device(s, values, i->texels * 16);
    const char *text = visit(s, i, texture_level, &read);
    return text != NULL ? text : from_device(s, values, i->texels * 16);
}
