/* SPDX-License-Identifier: MIT */
/* ripple's meshes. */
#include "mesh.h"

#include <stdlib.h>

#include "../common/report.h"

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
