/* SPDX-License-Identifier: MIT */
/* ripple's meshes. */
#include "mesh.h"

#include <stdlib.h>

#include "../common/report.h"

/* Normals are per pixel, so the water's quads only have to follow its height. Small ones are dear:
 * pixels that edges cross are shaded once for each triangle. Stones show their outlines. */
#define WATER_PIXELS_A_QUAD 7u
#define STONE_PIXELS_A_QUAD 2u

static mesh choose_grid(const renderer *r, uint32_t pixels_a_quad)
{
    uint32_t limit = r->targets.extent.width / pixels_a_quad;
    limit = limit < 32 ? 32 : limit > 1024 ? 1024 : limit;
    uint32_t longer = r->scene->width > r->scene->height ? r->scene->width : r->scene->height;
    mesh m = {.stride = (longer + limit - 1) / limit};
    /* The last vertex is the last cell, wherever the stride ends. */
    m.width = (r->scene->width - 1 + m.stride - 1) / m.stride + 1;
    m.height = (r->scene->height - 1 + m.stride - 1) / m.stride + 1;
    return m;
}

/* Stones are drawn where they reach out of the water, and as far below as waves lay bare. */
static bool has_stone(const renderer *r, const float *bottom, uint32_t x, uint32_t y)
{
    for (uint32_t corner = 0; corner < 4; corner++) {
        uint32_t column = (x + corner % 2) * r->stones.stride,
                 row = (y + corner / 2) * r->stones.stride;
        if (column >= r->scene->width) column = r->scene->width - 1;
        if (row >= r->scene->height) row = r->scene->height - 1;
        if (bottom[(size_t)row * r->scene->width + column] > -0.08f) return true;
    }
    return false;
}

/* Two triangles for each quad; with `bottom`, only for those that show stone. */
static void fill(const renderer *r, mesh *m, uint32_t first, const float *bottom, uint32_t *indices)
{
    m->first_index = first;
    for (uint32_t y = 0; y + 1 < m->height; y++) {
        for (uint32_t x = 0; x + 1 < m->width; x++) {
            if (bottom && !has_stone(r, bottom, x, y)) continue;
            uint32_t a = y * m->width + x, b = a + 1, c = a + m->width, d = c + 1;
            const uint32_t corners[] = {a, c, b, b, c, d};
            for (uint32_t i = 0; i < 6; i++)
                indices[first + m->num_indices++] = corners[i];
        }
    }
}

static VkDeviceSize most_indices(const mesh *m)
{
    return (VkDeviceSize)(m->width - 1) * (m->height - 1) * 6u;
}

bool mesh_create(renderer *r)
{
    r->water = choose_grid(r, WATER_PIXELS_A_QUAD);
    r->stones = choose_grid(r, STONE_PIXELS_A_QUAD);
    VkDeviceSize size = (most_indices(&r->water) + most_indices(&r->stones)) * sizeof(uint32_t);
    if (!vulkan_buffer_create(r->vulkan, size, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, true, &r->indices))
        return false;
    float *bottom = malloc((size_t)r->scene->width * r->scene->height * sizeof *bottom);
    if (!bottom) {
        report("out of memory for a grid of %u x %u", r->scene->width, r->scene->height);
        return false;
    }
    scene_fill_bottom(r->scene, bottom);
    fill(r, &r->water, 0, NULL, r->indices.mapped);
    fill(r, &r->stones, r->water.num_indices, bottom, r->indices.mapped);
    free(bottom);
    return true;
}
