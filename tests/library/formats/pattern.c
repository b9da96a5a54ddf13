/* SPDX-License-Identifier: MIT */
/* What the sweep writes into images: bytes that differ by level, slice, place and seed, and among
 * them the values that are special of the format: 0, 1, the ends, infinities, NaNs, the
 * smallest. */
#include "sweep.h"

#include <cuda.h>

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
