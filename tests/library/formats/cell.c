/* SPDX-License-Identifier: MIT */
/* One image of the sweep, by all ways: three turns of Vulkan's and two of CUDA's.
 *
 *   Vulkan: the first release.          CUDA: arrays are written (1).
 *   Vulkan: reads (1); writes (2), and what its shaders read of that is kept.
 *   CUDA: arrays and surfaces are read, textures compared (2); surfaces are written (3).
 *   Vulkan: reads (3).
 * */
#include "sweep.h"

static void wrong(answer *a, const char *direction, const char *text)
{
    if (a->outcome == OUTCOME_RIGHT) answer_set(a, OUTCOME_WRONG, "%s: %s", direction, text);
}

/* Holds texels against the pattern of this seed, padding between levels apart. */
static void compare_bytes(sweep *s, const sweep_image *i, uint32_t seed, const unsigned char *found,
                          const char *direction, answer *a)
{
    size_t bad = 0, first = 0, all = 0;
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            uint32_t width, height, slices;
            sweep_image_blocks(i, plane, level, &width, &height, &slices);
            size_t size = (size_t)width * height * slices * i->planes[plane].format.bytes_per_block;
            size_t at = i->bytes_at[plane][level];
            all += size;
            if (memcmp(found + at, s->expected + at, size) == 0) continue;
            for (size_t k = at; k < at + size; k++)
                if (found[k] != s->expected[k] && bad++ == 0) first = k;
        }
    if (bad == 0 || a->outcome != OUTCOME_RIGHT) return;
    char where[160];
    sweep_image_where(i, first, where, sizeof where);
    answer_set(a, OUTCOME_WRONG,
               "%s: %zu of %zu bytes are wrong, the first in %s: 0x%02x, not 0x%02x", direction,
               bad, all, where, (unsigned)found[first], (unsigned)s->expected[first]);
}

/* Vulkan's turns ------------------------------------------------------------------------------- */

static void first_release(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, true, CULV_VK_USE_ANY, true);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
}

static void read_and_write(sweep *s, const sweep_image *i, uint32_t seed)
{
    VkImageView view = VK_NULL_HANDLE;
    bool fetch = sweep_can_fetch(i);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_pattern(i, seed, s->written.mapped);
    sweep_record_hand_over(commands, i, false, CULV_VK_USE_TRANSFER_SRC, false);
    sweep_record_copy_out(commands, i, s->read.buffer);
    sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                         VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    sweep_record_copy_in(commands, i, s->written.buffer);
    if (fetch) {
        sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                             VK_IMAGE_LAYOUT_GENERAL);
        view = sweep_record_fetch(s, commands, i);
    }
    sweep_record_hand_over(commands, i, true, fetch ? CULV_VK_USE_ANY : CULV_VK_USE_TRANSFER_DST,
                           false);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
    vkDestroyImageView(s->w.vk.device, view, NULL);
}

static void read_last(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, false, CULV_VK_USE_TRANSFER_SRC, false);
    sweep_record_copy_out(commands, i, s->read.buffer);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
}

/* Textures ------------------------------------------------------------------------------------- */

static uint32_t word(const unsigned char *values, size_t texel, uint32_t channel)
{
    uint32_t value;
    memcpy(&value, values + texel * 16 + (size_t)channel * 4, sizeof value);
    return value;
}

/* Where a shader has what CUDA stores as this channel; 4: nowhere. */
static uint32_t shaders_channel(const culv_format_info *f, uint32_t channel)
{
    switch (f->channel_order[channel]) {
    case 'R':
    case 'D':
    case 'S': return 0;
    case 'G': return 1;
    case 'B': return 2;
    case 'A': return 3;
    default: return 4;
    }
}

/* Kinds whose texture reads mean what a shader's do; of the others CUDA returns the stored
 * integers. */
static bool reads_as_shaders(const sweep_image *i)
{
    switch (i->what.format->kind) {
    case CULV_TEXEL_KIND_UINT:
    case CULV_TEXEL_KIND_SINT:
    case CULV_TEXEL_KIND_FLOAT:
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
    case CULV_TEXEL_KIND_SRGB:
    case CULV_TEXEL_KIND_DEPTH:
    case CULV_TEXEL_KIND_STENCIL:
    case CULV_TEXEL_KIND_BLOCKS: return true;
    case CULV_TEXEL_KIND_PACKED: return i->what.texels == CULV_TEXELS_NORMALIZED;
    default: return false;
    }
}

typedef struct value_check {
    sweep *s;
    const sweep_image *image;
    culv_texture_read read;
    size_t bad, all;
    char first[MAX_REASON / 2];
} value_check;

static void check_value(value_check *v, uint32_t plane, size_t block, size_t texel,
                        uint32_t channel, uint32_t wanted, const char *by)
{
    const sweep_image *i = v->image;
    uint32_t found = word(v->s->found, texel, channel);
    v->all++;
    if (sweep_value_right(&i->planes[plane].format, i->what.texels, v->read, channel, found,
                          wanted))
        return;
    if (v->bad++ > 0) return;
    char where[160];
    sweep_image_where(i, block, where, sizeof where);
    snprintf(v->first, sizeof v->first, "%s, channel %u: 0x%08x, %s 0x%08x", where,
             (unsigned)channel, (unsigned)found, by, (unsigned)wanted);
}

/* One texel, against the definition and against what Vulkan's shaders read. */
static void check_texel(value_check *v, uint32_t plane, size_t block, size_t texel)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t wanted[4] = {0}, count = sweep_reading(f, i->what.texels, v->read).channels;
    bool shaders =
        sweep_can_fetch(i) && v->read == CULV_TEXTURE_READ_AS_GRAPHICS && reads_as_shaders(i);
    bool defined = f->kind != CULV_TEXEL_KIND_BLOCKS;
    if (defined) sweep_decode(f, i->what.texels, v->read, v->s->expected + block, wanted);
    for (uint32_t c = 0; c < count; c++) {
        if (defined) check_value(v, plane, block, texel, c, wanted[c], "by definition");
        uint32_t shown = shaders ? shaders_channel(f, c) : 4;
        if (shown < 4)
            check_value(v, plane, block, texel, c, word(v->s->fetched.mapped, texel, shown),
                        "in Vulkan");
    }
}

static void check_level(value_check *v, uint32_t plane, uint32_t level)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t width, height, slices, blocks_across, blocks_down;
    size_t texel = i->texels_at[plane][level];
    sweep_image_blocks(i, plane, level, &blocks_across, &blocks_down, &slices);
    sweep_image_extent(i, plane, level, &width, &height, &slices);
    for (uint32_t z = 0; z < slices; z++)
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++, texel++) {
                size_t block = ((size_t)z * blocks_down + y / f->block_height) * blocks_across +
                               x / f->block_width;
                check_texel(v, plane, i->bytes_at[plane][level] + block * f->bytes_per_block,
                            texel);
            }
}

static void compare_texture(sweep *s, const sweep_image *i, uint32_t seed, culv_texture_read read,
                            answer *a)
{
    value_check v = {.s = s, .image = i, .read = read};
    const char *name = read == CULV_TEXTURE_READ_STORED ? "read as stored" : "read as graphics do";
    const char *text = sweep_texture_read(s, i, read, s->found);
    if (text != NULL) {
        wrong(a, name, text);
        return;
    }
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++)
            check_level(&v, plane, level);
    if (v.bad > 0 && a->outcome == OUTCOME_RIGHT)
        answer_set(a, OUTCOME_WRONG, "%s: %zu of %zu values are wrong, the first in %s", name,
                   v.bad, v.all, v.first);
}

/* What there is nothing to compare with, or that the twin leaves out. */
static bool texture_left_out(const sweep *s, const sweep_image *i, answer *a)
{
    const culv_format_info *f = i->what.format;
    if (f->kind == CULV_TEXEL_KIND_SUBSAMPLED)
        answer_set(a, OUTCOME_SKIPPED, "cuda.h does not say what textures return of 4:2:2 pairs");
    else if (f->kind == CULV_TEXEL_KIND_BLOCKS && s->w.cu->software)
        answer_set(a, OUTCOME_SKIPPED, "the software twin decodes no compressed blocks");
    else if (f->kind == CULV_TEXEL_KIND_BLOCKS && !sweep_can_fetch(i))
        answer_set(a, OUTCOME_SKIPPED,
                   "Vulkan samples no such images, so there is nothing to compare with");
    else
        return false;
    return true;
}

static void textures(sweep *s, const sweep_image *i, uint32_t seed, answer *a)
{
    if (texture_left_out(s, i, a)) return;
    compare_texture(s, i, seed, CULV_TEXTURE_READ_AS_GRAPHICS, a);
    if (!s->lost && i->what.texels == CULV_TEXELS_STORED &&
        i->what.format->kind != CULV_TEXEL_KIND_BLOCKS)
        compare_texture(s, i, seed, CULV_TEXTURE_READ_STORED, a);
}

/* All together --------------------------------------------------------------------------------- */

static bool has_surfaces(const sweep_image *i)
{
    return i->planes[0].format.surfaces != 0;
}

static void turns(sweep *s, const sweep_image *i, uint32_t seed, answer answers[NUM_WAYS])
{
    answer *array = &answers[WAY_ARRAY], *surface = &answers[WAY_SURFACE];
    const char *text;
    first_release(s, i);
    lib_turns_cuda_begin(&s->turns, s->stream);
    sweep_pattern(i, seed, s->expected);
    if ((text = sweep_array_write(s, i, s->expected)) != NULL) wrong(array, "CUDA to Vulkan", text);
    sweep_cuda_end(s);

    read_and_write(s, i, seed + 1);
    compare_bytes(s, i, seed, s->read.mapped, "CUDA to Vulkan", array);

    lib_turns_cuda_begin(&s->turns, s->stream);
    if ((text = sweep_array_read(s, i, s->found)) != NULL) wrong(array, "Vulkan to CUDA", text);
    lib_finish(&s->w, s->stream);
    compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", array);
    if (has_surfaces(i)) {
        if ((text = sweep_surface_read(s, i, s->found)) != NULL)
            wrong(surface, "Vulkan to CUDA", text);
        compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", surface);
    }
    if (!s->lost) textures(s, i, seed + 1, &answers[WAY_TEXTURE]);
    if (s->lost) return;
    if (has_surfaces(i)) {
        sweep_pattern(i, seed + 2, s->expected);
        if ((text = sweep_surface_write(s, i, s->expected)) != NULL)
            wrong(surface, "CUDA to Vulkan", text);
    }
    sweep_cuda_end(s);
    if (!has_surfaces(i)) return;
    read_last(s, i);
    compare_bytes(s, i, seed + 2, s->read.mapped, "CUDA to Vulkan", surface);
}

void sweep_cell(sweep *s, const cell *what, answer answers[NUM_WAYS])
{
    static uint32_t seed;
    sweep_image i;
    memset(answers, 0, sizeof answers[0] * NUM_WAYS);
    answer planned = sweep_image_plan(s, what, &i);
    if (planned.outcome == OUTCOME_RIGHT) {
        planned = sweep_image_create(s, &i);
        for (int by = 0; by < NUM_WAYS; by++)
            answers[by].outcome = OUTCOME_RIGHT;
        if (!has_surfaces(&i)) answers[WAY_SURFACE].outcome = OUTCOME_NONE;
        if (planned.outcome == OUTCOME_RIGHT) turns(s, &i, seed += 3, answers);
        if (!s->lost) sweep_image_destroy(s, &i);
        if (planned.outcome == OUTCOME_RIGHT) return;
    }
    for (int by = 0; by < NUM_WAYS; by++)
        if (by != WAY_SURFACE || what->format->surfaces != 0 || what->format->planes > 1)
            answers[by] = planned;
}
