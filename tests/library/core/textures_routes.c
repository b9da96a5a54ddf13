/* SPDX-License-Identifier: MIT */
/* Every way in which CUDA reads some levels and layers of an image as a texture, by raw calls, and
 * which of them read the texels that were asked for. Culvert takes the ways that are right; on a
 * driver where another one is, this says so. */
#define TEST_GROUP "textures."
#include "textures_room.h"

#include <math.h>

enum { OWN, OWN_VIEWED, LOD, VIEWED, ROUTES };
static const char *const route_names[ROUTES] = {
    "a level's own array", "a view of a level's own array", "the whole, limited to a level",
    "a view of the whole"};

typedef struct range {
    uint32_t level, levels, layer, layers; /* the first ones and how many; of a cube, faces */
    uint32_t unit;                         /* a view counts this many layers as one */
} range;

typedef struct tally {
    unsigned right, wrong, refused;
} tally;

static bool applies(const kind *k, const range *r, int route)
{
    const bool whole = r->layers == k->layers && r->unit == 1;
    switch (route) {
    case OWN: return r->levels == 1 && whole;
    case OWN_VIEWED: return r->levels == 1;
    case LOD: return k->levels > 1 && r->levels == 1 && whole;
    default: return true;
    }
}

static CUresult open_route(culv_image *image, const kind *k, const range *r, int route,
                           CUtexObject *out)
{
    const bool whole = route == LOD || route == VIEWED,
               viewed = route == OWN_VIEWED || route == VIEWED;
    const bool layered = k->layers > (k->flags != 0 ? 6u : 1u);
    const uint32_t shrink = whole ? 0 : r->level;
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view;
    CUDA_TEXTURE_DESC how;
    memset(&resource, 0, sizeof resource);
    memset(&view, 0, sizeof view);
    memset(&how, 0, sizeof how);
    how.flags = CU_TRSF_NORMALIZED_COORDINATES;
    how.minMipmapLevelClamp = route == LOD ? (float)r->level : 0;
    how.maxMipmapLevelClamp = route == LOD ? (float)r->level : (float)(r->levels - 1);
    for (int i = 0; i < 3; i++)
        how.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
    if (whole) {
        resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        resource.res.mipmap.hMipmappedArray = culv_image_mipmapped_array(image);
        view.firstMipmapLevel = r->level;
        view.lastMipmapLevel = r->level + r->levels - 1;
    } else {
        resource.resType = CU_RESOURCE_TYPE_ARRAY;
        LIB_OK(culv_image_get_array(image, r->level, &resource.res.array.hArray));
    }
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    view.width = side(k->extent.width, shrink);
    view.height = k->type == VK_IMAGE_TYPE_1D ? 0 : side(k->extent.height, shrink);
    view.depth = k->type == VK_IMAGE_TYPE_3D ? side(k->extent.depth, shrink)
                 : k->layers > 1             ? k->layers
                                             : 0;
    if (layered) {
        view.firstLayer = r->layer / r->unit;
        view.lastLayer = (r->layer + r->layers) / r->unit - 1;
    }
    return room.s.w.cu->TexObjectCreate(out, &resource, &how, viewed ? &view : NULL);
}

/* Reads the first and the last level; says what is wrong, if anything. */
static bool reads_right(const kind *k, const range *r, CUtexObject texture, char *text, size_t size)
{
    size_t bad = 0, all = 0;
    for (uint32_t at = 0; at<r->levels; at += r->levels> 1 ? r->levels - 1 : 1) {
        const uint32_t level = r->level + at, w = side(k->extent.width, level),
                       h = side(k->extent.height, level),
                       n = k->type == VK_IMAGE_TYPE_3D ? side(k->extent.depth, level) : r->layers;
        read_level(texture, k->dimension, SWEEP_FLOAT, 4, (int)at, (int)w, (int)h, (int)n);
        for (uint32_t i = 0; i < w * h * n; i++) {
            const uint32_t layer = k->type == VK_IMAGE_TYPE_3D ? 0 : r->layer + i / (w * h);
            const int found = (int)lround(as_double(room.found[i][0]) * 255) - 1;
            all++;
            if (found == (int)(16 * level + layer) || bad++ > 0) continue;
            snprintf(text, size, "the first where level %u, layer %u is: level %d, layer %d",
                     (unsigned)level, (unsigned)layer, found / 16, found % 16);
        }
    }
    if (bad == 0) return true;
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "; %zu of %zu texels", bad, all);
    return false;
}

static void try_route(culv_image *image, const kind *k, const char *name, const range *r, int route,
                      tally *t)
{
    const raw_cuda *cu = room.s.w.cu;
    CUtexObject texture = 0;
    char text[160] = "";
    CUcontext before = lib_enter(&room.s.w);
    const CUresult result = open_route(image, k, r, route, &texture);
    if (result != CUDA_SUCCESS)
        snprintf(text, sizeof text, "refused, %s", raw_cuda_result_name(result));
    else if (reads_right(k, r, texture, text, sizeof text))
        t->right++;
    else
        t->wrong++;
    if (result == CUDA_SUCCESS)
        CU_OK(cu->TexObjectDestroy(texture));
    else
        t->refused++;
    lib_leave(&room.s.w, before);
    if (text[0] == '\0') return;
    MEASURED("texture_route", "%s, %s%s, levels %u + %u, layers %u + %u: %s", name,
             route_names[route], r->unit > 1 ? " in cubes" : "", (unsigned)r->level,
             (unsigned)r->levels, (unsigned)r->layer, (unsigned)r->layers, text);
}

static void try_ranges(culv_image *image, const kind *k, const char *name, uint32_t unit)
{
    const uint32_t step = k->flags != 0 ? 6 : 1;
    tally tallies[ROUTES] = {{0, 0, 0}};
    for (uint32_t level = 0; level < k->levels; level++)
        for (uint32_t levels = 1; level + levels <= k->levels; levels++)
            for (uint32_t layer = 0; layer < k->layers; layer += step == 1 ? 2 : step)
                for (uint32_t layers = step; layer + layers <= k->layers;
                     layers += step == 1 ? 2 : step) {
                    const range r = {level, levels, layer, layers, unit};
                    for (int route = 0; route < ROUTES; route++)
                        if (applies(k, &r, route))
                            try_route(image, k, name, &r, route, &tallies[route]);
                }
    for (int route = 0; route < ROUTES; route++) {
        const tally *t = &tallies[route];
        if (t->right + t->wrong + t->refused == 0) continue;
        MEASURED("texture_routes", "%s, %s%s: %u right, %u wrong, %u refused", name,
                 route_names[route], unit > 1 ? " in cubes" : "", t->right, t->wrong, t->refused);
        if (room.s.w.cu->software) REQUIRE_EQ(t->wrong, 0);
    }
}

TEST(routes)
{
    static const struct {
        const char *name;
        kind kind;
    } rows[] = {
        {"1D", {SWEEP_1D, VK_IMAGE_TYPE_1D, {32, 1, 1}, 1, 0, 3}},
        {"1D array", {SWEEP_1D_ARRAY, VK_IMAGE_TYPE_1D, {32, 1, 1}, 5, 0, 3}},
        {"1D array of one level", {SWEEP_1D_ARRAY, VK_IMAGE_TYPE_1D, {32, 1, 1}, 5, 0, 1}},
        {"2D", {SWEEP_2D, VK_IMAGE_TYPE_2D, {32, 16, 1}, 1, 0, 3}},
        {"2D array", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 3}},
        {"2D array of one level", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 1}},
        {"2D array of a whole chain", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 6}},
        {"3D", {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 3}},
        {"cube",
         {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 3}},
        {"cube of one level",
         {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 1}},
        {"cube array",
         {SWEEP_CUBE_ARRAY,
          VK_IMAGE_TYPE_2D,
          {16, 16, 1},
          12,
          VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
          3}},
        {"cube array of one level",
         {SWEEP_CUBE_ARRAY,
          VK_IMAGE_TYPE_2D,
          {16, 16, 1},
          12,
          VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
          1}},
    };
    open_room();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const kind *k = &rows[i].kind;
        const VkImageCreateInfo info = kind_info(k, VK_FORMAT_R8G8B8A8_UNORM);
        culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        fill(culv_shared_image_cuda(image), k, NULL, 4, 1);
        try_ranges(culv_shared_image_cuda(image), k, rows[i].name, 1);
        if (k->layers > 6) try_ranges(culv_shared_image_cuda(image), k, rows[i].name, 6);
        culv_shared_image_destroy(&image, NULL);
    }
    close_room();
}
