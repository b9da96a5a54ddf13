/* SPDX-License-Identifier: MIT */
/* ripple's scene. */
#include "scene.h"

#include "../common/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BASIN_AREA_ROOT  1.27f /* half sides multiply to the square of this */
#define DEEPEST          0.58f
#define WAVE_LENGTH      0.185f
#define PADDLE_AMPLITUDE 0.0080f

/* SplitMix64 (Steele, Lea, Flood 2014): a stream of its own for each use, told apart by `salt`. */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number in [0, 1). */
static float random_at(const scene *s, uint64_t salt, uint64_t index)
{
    return (float)(mix(mix(s->seed ^ (salt << 32)) + index) >> 40) / 16777216.0f;
}

static float between(float low, float high, float t)
{
    return low + (high - low) * t;
}

static float smooth(float low, float high, float v)
{
    float t = (v - low) / (high - low);
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return t * t * (3.0f - 2.0f * t);
}

static void add_stone(scene *s, float x, float z, float radius, float top)
{
    if (s->num_stones == SCENE_MAX_STONES) return;
    uint64_t n = s->num_stones;
    scene_stone *stone = &s->stones[s->num_stones++];
    stone->x = x;
    stone->z = z;
    stone->radius_x = radius * between(0.95f, 1.25f, random_at(s, 1, n));
    stone->radius_z = radius * between(0.85f, 1.05f, random_at(s, 2, n));
    stone->angle = between(0.0f, 3.14159f, random_at(s, 3, n));
    /* `radius` is wanted at the water's level; the boulder is widest well below. */
    stone->center_y = -0.22f;
    stone->radius_y = top + 0.22f;
    float waterline = sqrtf(1.0f - 0.22f * 0.22f / (stone->radius_y * stone->radius_y));
    stone->radius_x /= waterline;
    stone->radius_z /= waterline;
    stone->roughness = between(0.05f, 0.10f, random_at(s, 4, n));
}

/* Boulders along an arc from the far to the near wall, with two gaps: plane waves from the paddle
 * leave them as two fans of rings that interfere. */
static void add_breakwater(scene *s)
{
    const float arc_radius = 1.9f * s->half_z;
    const float center_x = -s->half_x - 1.22f * s->half_z;
    const float spacing = 0.118f, gap = 0.115f;
    const float first_gap = -0.34f * s->half_z, second_gap = 0.30f * s->half_z;
    float limit = asinf(1.02f * s->half_z / arc_radius);
    uint64_t n = 0;
    /* A sum's rounding moves a stone by less than a pixel. */
    /* NOLINTNEXTLINE(*FloatLoopCounter,cert-flp30-c) */
    for (float angle = -limit; angle <= limit; angle += spacing / arc_radius, n++) {
        float z = arc_radius * sinf(angle);
        if (fabsf(z - first_gap) < gap + 0.05f || fabsf(z - second_gap) < gap + 0.05f) continue;
        float shift = between(-0.012f, 0.012f, random_at(s, 5, n));
        add_stone(s, center_x + arc_radius * cosf(angle) + shift, z,
                  between(0.096f, 0.118f, random_at(s, 6, n)),
                  between(0.035f, 0.085f, random_at(s, 7, n)));
    }
}

static void add_group(scene *s, float x, float z, float radius)
{
    x *= s->half_x;
    z *= s->half_z;
    float turn = between(0.0f, 6.28f, random_at(s, 8, s->num_stones));
    add_stone(s, x, z, radius, 0.85f * radius);
    add_stone(s, x + 1.55f * radius * cosf(turn), z + 1.35f * radius * sinf(turn), 0.56f * radius,
              0.45f * radius);
    add_stone(s, x + 1.35f * radius * cosf(turn + 1.1f), z + 1.6f * radius * sinf(turn + 1.1f),
              0.36f * radius, 0.22f * radius);
}

void scene_init(scene *s, uint32_t width, uint32_t height, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->width = width;
    s->height = height;
    s->seed = seed;
    float aspect = sqrtf((float)width / (float)height);
    s->half_x = BASIN_AREA_ROOT * aspect;
    s->half_z = BASIN_AREA_ROOT / aspect;
    s->cell = 2.0f * s->half_x / (float)width;
    add_breakwater(s);
    add_group(s, 0.52f, -0.38f, 0.20f);
    add_group(s, 0.16f, 0.52f, 0.12f);
    add_stone(s, 0.86f * s->half_x, 0.62f * s->half_z, 0.11f, 0.05f);
}

static float stone_elevation(const scene_stone *stone, float x, float z)
{
    float dx = x - stone->x, dz = z - stone->z;
    float c = cosf(stone->angle), si = sinf(stone->angle);
    float u = (c * dx + si * dz) / stone->radius_x, v = (c * dz - si * dx) / stone->radius_z;
    float r2 = u * u + v * v;
    if (r2 >= 1.69f) return -1.0f;
    /* Bumps that differ from stone to stone. */
    float bump = sinf(4.1f * u + 9.0f * stone->angle) * sinf(3.7f * v + 5.0f * stone->angle) +
                 0.5f * sinf(8.3f * u - 3.0f * v + 7.0f * stone->angle);
    r2 *= 1.0f + stone->roughness * bump;
    if (r2 >= 1.0f) return -1.0f;
    return stone->center_y + stone->radius_y * sqrtf(1.0f - r2);
}

static float floor_elevation(const scene *s, float x, float z)
{
    float deep = smooth(-0.9f, 0.8f, x / s->half_x - 0.35f * z / s->half_z);
    float swell = sinf(5.1f * x + 1.3f * z + 0.7f) * sinf(4.3f * z - 1.1f * x + 1.9f);
    return -between(0.25f, DEEPEST - 0.02f, deep) + 0.02f * swell;
}

void scene_fill_bottom(const scene *s, float *bottom)
{
    for (uint32_t row = 0; row < s->height; row++) {
        float z = ((float)row + 0.5f) * s->cell - s->half_z;
        for (uint32_t column = 0; column < s->width; column++) {
            float x = ((float)column + 0.5f) * s->cell - s->half_x;
            bottom[(size_t)row * s->width + column] = floor_elevation(s, x, z);
        }
    }
    for (uint32_t n = 0; n < s->num_stones; n++) {
        const scene_stone *stone = &s->stones[n];
        float reach =
            1.3f * (stone->radius_x > stone->radius_z ? stone->radius_x : stone->radius_z);
        int64_t x0 = (int64_t)((stone->x - reach + s->half_x) / s->cell);
        int64_t x1 = (int64_t)((stone->x + reach + s->half_x) / s->cell) + 1;
        int64_t y0 = (int64_t)((stone->z - reach + s->half_z) / s->cell);
        int64_t y1 = (int64_t)((stone->z + reach + s->half_z) / s->cell) + 1;
        for (int64_t row = y0 < 0 ? 0 : y0; row <= y1 && row < (int64_t)s->height; row++) {
            for (int64_t column = x0 < 0 ? 0 : x0; column <= x1 && column < (int64_t)s->width;
                 column++) {
                float x = ((float)column + 0.5f) * s->cell - s->half_x;
                float z = ((float)row + 0.5f) * s->cell - s->half_z;
                float top = stone_elevation(stone, x, z);
                float *cell = &bottom[(size_t)row * s->width + (size_t)column];
                if (top > *cell) *cell = top;
            }
        }
    }
}

float scene_relative_speed2(float bottom)
{
    float depth = -bottom;
    if (depth < SCENE_SOLID_DEPTH) return 0.0f;
    float relative = depth / DEEPEST;
    return relative < 0.3f ? 0.3f : relative > 1.0f ? 1.0f : relative;
}

float scene_paddle(float travelled)
{
    return PADDLE_AMPLITUDE * smooth(0.0f, 0.5f, travelled) *
           sinf(6.2831853f * travelled / WAVE_LENGTH);
}

scene_drop scene_nth_drop(const scene *s, uint64_t n)
{
    scene_drop drop;
    drop.x = s->half_x * between(-0.30f, 0.92f, random_at(s, 16, n));
    drop.z = s->half_z * between(-0.88f, 0.88f, random_at(s, 17, n));
    drop.radius = between(0.066f, 0.104f, random_at(s, 18, n));
    drop.amplitude = -between(0.46f, 0.68f, random_at(s, 19, n)) * drop.radius;
    return drop;
}

/* ripple's meshes. */

/* Normals are per pixel, so the water's quads only have to follow its height. Small ones are dear:
 * pixels that edges cross are shaded once for each triangle. Stones show their outlines. */
#define WATER_PIXELS_A_QUAD 7u
#define STONE_PIXELS_A_QUAD 2u

static mesh choose_grid(const scene *basin, uint32_t picture_width, uint32_t pixels_a_quad)
{
    uint32_t limit = picture_width / pixels_a_quad;
    limit = limit < 32 ? 32 : limit > 1024 ? 1024 : limit;
    uint32_t longer = basin->width > basin->height ? basin->width : basin->height;
    mesh m = {.stride = (longer + limit - 1) / limit};
    /* The last vertex is the last cell, wherever the stride ends. */
    m.width = (basin->width - 1 + m.stride - 1) / m.stride + 1;
    m.height = (basin->height - 1 + m.stride - 1) / m.stride + 1;
    return m;
}

/* Stones are drawn where they reach out of the water, and as far below as waves lay bare. */
static bool has_stone(const scene *basin, const mesh *m, const float *bottom, uint32_t x,
                      uint32_t y)
{
    for (uint32_t corner = 0; corner < 4; corner++) {
        uint32_t column = (x + corner % 2) * m->stride, row = (y + corner / 2) * m->stride;
        if (column >= basin->width) column = basin->width - 1;
        if (row >= basin->height) row = basin->height - 1;
        if (bottom[(size_t)row * basin->width + column] > -0.08f) return true;
    }
    return false;
}

/* Two triangles for each quad; with `bottom`, only for those that show stone. */
static void fill(const scene *basin, mesh *m, uint32_t first, const float *bottom,
                 uint32_t *indices)
{
    m->first_index = first;
    for (uint32_t y = 0; y + 1 < m->height; y++) {
        for (uint32_t x = 0; x + 1 < m->width; x++) {
            if (bottom && !has_stone(basin, m, bottom, x, y)) continue;
            uint32_t a = y * m->width + x, b = a + 1, c = a + m->width, d = c + 1;
            const uint32_t corners[] = {a, c, b, b, c, d};
            for (uint32_t i = 0; i < 6; i++)
                indices[first + m->num_indices++] = corners[i];
        }
    }
}

static size_t most_indices(const mesh *m)
{
    return (size_t)(m->width - 1) * (m->height - 1) * 6u;
}

bool mesh_make(meshes *out, const scene *basin, uint32_t picture_width)
{
    out->water = choose_grid(basin, picture_width, WATER_PIXELS_A_QUAD);
    out->stones = choose_grid(basin, picture_width, STONE_PIXELS_A_QUAD);
    out->size = (most_indices(&out->water) + most_indices(&out->stones)) * sizeof(uint32_t);
    out->indices = malloc(out->size);
    float *bottom = malloc((size_t)basin->width * basin->height * sizeof *bottom);
    if (!bottom || !out->indices) {
        report("out of memory for a grid of %u x %u", basin->width, basin->height);
        free(bottom);
        free(out->indices);
        return false;
    }
    scene_fill_bottom(basin, bottom);
    fill(basin, &out->water, 0, NULL, out->indices);
    fill(basin, &out->stones, out->water.num_indices, bottom, out->indices);
    free(bottom);
    return true;
}
