/* SPDX-License-Identifier: MIT */
/* culv_image_get_texture(): what each setting is to CUDA, that none is left out of what kept
 * textures are found by, and what reads by some of them return. */
#include "textures_room.h"

#include <math.h>

#define WRAPS   CULV_TEXTURE_ADDRESS_WRAP
#define MIRRORS CULV_TEXTURE_ADDRESS_MIRROR
#define BORDERS CULV_TEXTURE_ADDRESS_BORDER
#define LINEAR  CULV_TEXTURE_FILTER_LINEAR
#define STORED  CULV_TEXTURE_READ_STORED
#define INTEGER CU_TRSF_READ_AS_INTEGER
#define RATIOS  CU_TRSF_NORMALIZED_COORDINATES

typedef struct row {
    const char *what;
    culv_texture_desc asked;
    CUDA_TEXTURE_DESC told;
} row;

// clang-format off
#define ALL_LEVELS .maxMipmapLevelClamp = 3, .flags = RATIOS
#define MODES(x, y, z)                                                                             \
    .addressMode = {CU_TR_ADDRESS_MODE_##x, CU_TR_ADDRESS_MODE_##y, CU_TR_ADDRESS_MODE_##z}
#define CLAMPED MODES(CLAMP, CLAMP, CLAMP)
#define ADDRESS(x, y, z)                                                                           \
    {"address " #x " " #y " " #z,                                                                  \
     {.address = {CULV_TEXTURE_ADDRESS_##x, CULV_TEXTURE_ADDRESS_##y, CULV_TEXTURE_ADDRESS_##z}},  \
     {MODES(x, y, z), ALL_LEVELS}}
#define COLOR(r, g, b, a)                                                                          \
    {"border color " #r " " #g " " #b " " #a,                                                      \
     {.address = {BORDERS}, .border_color = {r, g, b, a}},                                         \
     {MODES(BORDER, CLAMP, CLAMP), .borderColor = {r, g, b, a}, ALL_LEVELS}}
// clang-format on

/* Of a 3D image of RGBA8 with four levels; one is unlike every other one. */
static const row rows[] = {
    {"nothing", {.clamp_lod = 0}, {CLAMPED, ALL_LEVELS}},
    ADDRESS(WRAP, CLAMP, CLAMP),
    ADDRESS(CLAMP, WRAP, CLAMP),
    ADDRESS(CLAMP, CLAMP, WRAP),
    ADDRESS(MIRROR, CLAMP, CLAMP),
    ADDRESS(CLAMP, MIRROR, CLAMP),
    ADDRESS(CLAMP, CLAMP, MIRROR),
    ADDRESS(BORDER, CLAMP, CLAMP),
    ADDRESS(CLAMP, BORDER, CLAMP),
    ADDRESS(CLAMP, CLAMP, BORDER),
    COLOR(0.5f, 0, 0, 0),
    COLOR(0, 0.5f, 0, 0),
    COLOR(0, 0, 0.5f, 0),
    COLOR(0, 0, 0, 0.5f),
    {"linear", {.filter = LINEAR}, {CLAMPED, .filterMode = CU_TR_FILTER_MODE_LINEAR, ALL_LEVELS}},
    {"linear between levels",
     {.mip_filter = LINEAR},
     {CLAMPED, .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR, ALL_LEVELS}},
    {"as it is stored",
     {.read = STORED},
     {CLAMPED, .maxMipmapLevelClamp = 3, .flags = RATIOS | INTEGER}},
    {"bias", {.mip_bias = 0.5f}, {CLAMPED, .mipmapLevelBias = 0.5f, ALL_LEVELS}},
    {"bias downwards", {.mip_bias = -2}, {CLAMPED, .mipmapLevelBias = -2, ALL_LEVELS}},
    {"anisotropy 1", {.max_anisotropy = 1}, {CLAMPED, .maxAnisotropy = 1, ALL_LEVELS}},
    {"anisotropy 16", {.max_anisotropy = 16}, {CLAMPED, .maxAnisotropy = 16, ALL_LEVELS}},
    {"level 0 alone by its limits", {.clamp_lod = 1}, {CLAMPED, .flags = RATIOS}},
    {"levels up to 2",
     {.clamp_lod = 1, .max_lod = 2},
     {CLAMPED, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"levels 0.5 to 2",
     {.clamp_lod = 1, .min_lod = 0.5f, .max_lod = 2},
     {CLAMPED, .minMipmapLevelClamp = 0.5f, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"levels 0.5 to 1.75",
     {.clamp_lod = 1, .min_lod = 0.5f, .max_lod = 1.75f},
     {CLAMPED, .minMipmapLevelClamp = 0.5f, .maxMipmapLevelClamp = 1.75f, .flags = RATIOS}},
    {"levels from 1 on, without a limit",
     {.clamp_lod = 1, .min_lod = 1, .max_lod = 1000},
     {CLAMPED, .minMipmapLevelClamp = 1, ALL_LEVELS}},
    {"levels that are not there",
     {.clamp_lod = 1, .min_lod = 5, .max_lod = 9},
     {CLAMPED, .minMipmapLevelClamp = 3, ALL_LEVELS}},
    {"the first level", {.level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the first two", {.level_count = 2}, {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"the first three", {.level_count = 3}, {CLAMPED, .maxMipmapLevelClamp = 2, .flags = RATIOS}},
    {"the second level", {.base_level = 1, .level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the last level", {.base_level = 3, .level_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the second and third",
     {.base_level = 1, .level_count = 2},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"the third and fourth",
     {.base_level = 2, .level_count = 2},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
    {"by texels", {.level_count = 1, .unnormalized_coordinates = 1}, {CLAMPED}},
};

/* Cubes; and what is filtered at their seams. */
static const row cube_rows[] = {
    {"a cube",
     {.clamp_lod = 0},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS | CU_TRSF_SEAMLESS_CUBEMAP}},
    {"a cube with seams",
     {.no_seamless_cube = 1},
     {CLAMPED, .maxMipmapLevelClamp = 1, .flags = RATIOS}},
};

/* sRGB: what is decoded is not what is stored. */
static const row srgb_rows[] = {
    {"sRGB", {.clamp_lod = 0}, {CLAMPED, .flags = RATIOS | CU_TRSF_SRGB}},
    {"sRGB, stored", {.read = STORED}, {CLAMPED, .flags = RATIOS | INTEGER}},
};

/* Layers: which of them no CUDA_TEXTURE_DESC tells. */
static const row layer_rows[] = {
    {"all layers", {.clamp_lod = 0}, {CLAMPED, .flags = RATIOS}},
    {"the first", {.layer_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the first two", {.layer_count = 2}, {CLAMPED, .flags = RATIOS}},
    {"the second", {.base_layer = 1, .layer_count = 1}, {CLAMPED, .flags = RATIOS}},
    {"the last two", {.base_layer = 1}, {CLAMPED, .flags = RATIOS}},
};

static bool same_settings(const CUDA_TEXTURE_DESC *a, const CUDA_TEXTURE_DESC *b)
{
    bool same = a->filterMode == b->filterMode && a->flags == b->flags &&
                a->maxAnisotropy == b->maxAnisotropy &&
                a->mipmapFilterMode == b->mipmapFilterMode &&
                a->mipmapLevelBias == b->mipmapLevelBias &&
                a->minMipmapLevelClamp == b->minMipmapLevelClamp &&
                a->maxMipmapLevelClamp == b->maxMipmapLevelClamp;
    for (int i = 0; i < 3; i++)
        same = same && a->addressMode[i] == b->addressMode[i];
    for (int i = 0; i < 4; i++)
        same = same && a->borderColor[i] == b->borderColor[i];
    return same;
}

/* As the driver tells of a texture that was made of the same with the row's settings. */
static void require_told(const row *r, CUtexObject texture)
{
    const raw_cuda *cu = room.s.w.cu;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC found, wanted;
    CUtexObject raw = 0;
    /* No driver tells borderColor: settings_read reads it by a kernel. */
    memset(&found, 0x55, sizeof found);
    memset(&wanted, 0x55, sizeof wanted);
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(cu->TexObjectGetTextureDesc(&found, texture));
    CU_OK(cu->TexObjectGetResourceDesc(&resource, texture));
    CU_OK(cu->TexObjectCreate(&raw, &resource, &r->told, NULL));
    CU_OK(cu->TexObjectGetTextureDesc(&wanted, raw));
    CU_OK(cu->TexObjectDestroy(raw));
    lib_leave(&room.s.w, before);
    CUDA_TEXTURE_DESC told = r->told;
    memcpy(told.borderColor, wanted.borderColor, sizeof told.borderColor);
    if (cu->software) REQUIRE(same_settings(&wanted, &told));
    if (!same_settings(&found, &wanted))
        FAIL("%s: modes %d %d %d, filters %d %d, flags %#x, anisotropy %u, bias %g, levels %g to "
             "%g, border %g %g %g %g",
             r->what, (int)found.addressMode[0], (int)found.addressMode[1],
             (int)found.addressMode[2], (int)found.filterMode, (int)found.mipmapFilterMode,
             found.flags, found.maxAnisotropy, (double)found.mipmapLevelBias,
             (double)found.minMipmapLevelClamp, (double)found.maxMipmapLevelClamp,
             (double)found.borderColor[0], (double)found.borderColor[1],
             (double)found.borderColor[2], (double)found.borderColor[3]);
}

/* Each is told as the row says, is another texture than those before, and is the same again. */
static void try_rows(const kind *k, VkFormat format, const row *list, size_t count)
{
    enum { MOST = 64 };
    CUtexObject seen[MOST];
    const VkImageCreateInfo info = kind_info(k, format);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    if (image == NULL) return;
    REQUIRE(count <= MOST);
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < count; i++) {
            CUtexObject texture = 0;
            culv_texture_desc d = list[i].asked;
            d.struct_size = sizeof d;
            LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texture));
            require_told(&list[i], texture);
            if (again && texture != seen[i]) FAIL("%s: another texture", list[i].what);
            for (size_t j = 0; !again && j < i; j++)
                if (seen[j] == texture) FAIL("%s: the texture of '%s'", list[i].what, list[j].what);
            seen[i] = texture;
        }
    culv_shared_image_destroy(&image, NULL);
}

TEST(told, .title = "textures.settings_told")
{
    static const kind box = {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 4},
                      flat = {SWEEP_2D, VK_IMAGE_TYPE_2D, {16, 16, 1}, 1, 0, 1},
                      layers = {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 3, 0, 1},
                      cube = {SWEEP_CUBE,
                              VK_IMAGE_TYPE_2D,
                              {16, 16, 1},
                              6,
                              VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                              2};
    open_room();
#define TRY(image, format, list) try_rows(&(image), format, list, sizeof(list) / sizeof(list)[0])
    TRY(box, VK_FORMAT_R8G8B8A8_UNORM, rows);
    TRY(cube, VK_FORMAT_R8G8B8A8_UNORM, cube_rows);
    TRY(flat, VK_FORMAT_R8G8B8A8_SRGB, srgb_rows);
    TRY(layers, VK_FORMAT_R8G8B8A8_UNORM, layer_rows);
#undef TRY
    close_room();
}

/* Values --------------------------------------------------------------------------------------- */

/* Texel (x, y) of level l of an image of WIDTH x HEIGHT floats is 100 * l + 10 * y + x. */
enum { WIDTH = 8, HEIGHT = 4, LEVELS = 3 };
static const kind floats = {SWEEP_2D, VK_IMAGE_TYPE_2D, {WIDTH, HEIGHT, 1}, 1, 0, LEVELS};

static void fill_floats(culv_image *image)
{
    stage_cuda_begin(&room.s);
    lib_finish(&room.s.w, room.s.stream);
    CUcontext before = lib_enter(&room.s.w);
    for (uint32_t level = 0; level < LEVELS; level++) {
        float texels[WIDTH * HEIGHT];
        CUarray array = NULL;
        const uint32_t w = side(WIDTH, level), h = side(HEIGHT, level);
        for (uint32_t i = 0; i < w * h; i++)
            texels[i] = (float)(100 * level + 10 * (i / w) + i % w);
        LIB_OK(culv_image_get_array(image, level, &array));
        CU_OK(raw_cuda_write_box(room.s.w.cu, array, texels, w * sizeof texels[0], h, 1));
    }
    lib_leave(&room.s.w, before);
    stage_cuda_end(&room.s);
}

/* In texels of level 0, of which the others are 0.5 and 0.25. */
typedef struct place {
    culv_texture_desc d;
    float x, y, level, wanted;
} place;

#define AT(x, y) (x) + 0.5f, (y) + 0.5f
static const place places[] = {
    {{.clamp_lod = 0}, AT(2, 1), 0, 12},
    {{.clamp_lod = 0}, 2.25f, 1.25f, 0, 12},
    {{.filter = LINEAR}, 2.25f, 1.5f, 0, 11.75f},
    {{.filter = LINEAR}, 2.5f, 1.25f, 0, 9.5f},
    {{.filter = LINEAR}, 3.0f, 3.0f, 0, 27.5f},
    /* Outside */
    {{.clamp_lod = 0}, AT(10, 1), 0, 17},
    {{.clamp_lod = 0}, AT(-3, 1), 0, 10},
    {{.clamp_lod = 0}, AT(2, 5), 0, 32},
    {{.clamp_lod = 0}, AT(2, -2), 0, 2},
    {{.address = {WRAPS}}, AT(10, 1), 0, 12},
    {{.address = {WRAPS}}, AT(-3, 1), 0, 15},
    {{.address = {WRAPS}}, AT(2, 5), 0, 32},
    {{.address = {0, WRAPS}}, AT(2, 5), 0, 12},
    {{.address = {0, WRAPS}}, AT(2, -1), 0, 32},
    {{.address = {0, WRAPS}}, AT(10, 1), 0, 17},
    {{.address = {MIRRORS}}, AT(10, 1), 0, 15},
    {{.address = {MIRRORS}}, AT(-3, 1), 0, 12},
    {{.address = {0, MIRRORS}}, AT(2, 5), 0, 22},
    {{.address = {0, MIRRORS}}, AT(2, -2), 0, 12},
    {{.address = {BORDERS}}, AT(10, 1), 0, 0},
    {{.address = {BORDERS}, .border_color = {77}}, AT(10, 1), 0, 77},
    {{.address = {BORDERS}, .border_color = {77}}, AT(-1, 1), 0, 77},
    {{.address = {BORDERS}, .border_color = {77}}, AT(2, 5), 0, 32},
    {{.address = {0, BORDERS}, .border_color = {-5}}, AT(2, 5), 0, -5},
    {{.address = {0, BORDERS}, .border_color = {-5}}, AT(2, 1), 0, 12},
    {{.address = {BORDERS}, .border_color = {32}, .filter = LINEAR}, 8.0f, 1.5f, 0, 24.5f},
    {{.address = {WRAPS}, .filter = LINEAR}, 8.0f, 1.5f, 0, 13.5f},
    /* Levels, and beyond the last one: (4, 2) of level 0 is (2, 1) of level 1 and (1, 0) of 2 */
    {{.clamp_lod = 0}, AT(4, 2), 1, 112},
    {{.clamp_lod = 0}, AT(4, 2), 2, 201},
    {{.clamp_lod = 0}, AT(4, 2), 9, 201},
    {{.clamp_lod = 0}, AT(4, 2), -1, 24},
    {{.clamp_lod = 0}, AT(4, 2), 1.25f, 112},
    {{.mip_filter = LINEAR}, AT(4, 2), 1.25f, 134.25f},
    {{.mip_filter = LINEAR}, AT(4, 2), 0.5f, 68},
    {{.filter = LINEAR}, AT(4, 2), 1.25f, 109.25f},
    {{.clamp_lod = 1, .max_lod = 1}, AT(4, 2), 9, 112},
    {{.clamp_lod = 1, .max_lod = 0}, AT(4, 2), 9, 24},
    {{.clamp_lod = 1, .min_lod = 1, .max_lod = 2}, AT(4, 2), 0, 112},
    {{.clamp_lod = 1, .min_lod = 2, .max_lod = 2}, AT(4, 2), 0, 201},
    {{.clamp_lod = 1, .min_lod = 7, .max_lod = 9}, AT(4, 2), 0, 201},
    {{.level_count = 2}, AT(4, 2), 9, 112},
    {{.level_count = 1}, AT(4, 2), 9, 24},
    {{.base_level = 1, .level_count = 1}, AT(4, 2), 9, 112},
    {{.base_level = 1, .level_count = 2}, AT(4, 2), 9, 201},
    {{.base_level = 1, .level_count = 2}, AT(4, 2), 0, 112},
};

/* By texels: those of level 0, whose coordinates are not divided. */
static const place by_texels[] = {
    {{.level_count = 1, .unnormalized_coordinates = 1}, AT(2, 1), 0, 12},
    {{.level_count = 1, .unnormalized_coordinates = 1}, AT(7, 3), 0, 37},
    {{.level_count = 1, .unnormalized_coordinates = 1}, AT(70, -9), 0, 7},
    {{.level_count = 1, .unnormalized_coordinates = 1, .filter = LINEAR}, 2.25f, 1.5f, 0, 11.75f},
};
#undef AT

static float read_at(CUtexObject texture, float u, float v, float level)
{
    const raw_cuda *cu = room.s.w.cu;
    const float at[3] = {u, v, level};
    float found = -1;
    int count = 1;
    CUdeviceptr from = room.values, to = room.values + 256;
    void *params[] = {&texture, &from, &count, &to};
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(raw_cuda_upload(cu, from, at, sizeof at));
    CU_OK(cu->LaunchKernel(raw_cuda_function(cu, room.s.module, "library_sample"), 1, 1, 1, 1, 1, 1,
                           0, room.s.stream, params, NULL));
    CU_OK(cu->MemcpyDtoHAsync(&found, to, sizeof found, room.s.stream));
    CU_OK(cu->StreamSynchronize(room.s.stream));
    lib_leave(&room.s.w, before);
    return found;
}

static unsigned wrong_places(culv_image *image, const place *list, size_t count, bool divided)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const place *p = &list[i];
        culv_texture_desc d = p->d;
        CUtexObject texture = 0;
        d.struct_size = sizeof d;
        LIB_OK(culv_image_get_texture(image, &d, &texture));
        const float found = read_at(texture, divided ? p->x / WIDTH : p->x,
                                    divided ? p->y / HEIGHT : p->y, p->level);
        /* A filter's weights have eight bits behind the point (CUDA guide, "Texture Fetching"), and
         * these need three. */
        if (fabsf(found - p->wanted) <= 0.05f) continue;
        printf("  row %zu, texel (%g, %g) of level %g: %g, not %g\n", i, (double)p->x, (double)p->y,
               (double)p->level, (double)found, (double)p->wanted);
        wrong++;
    }
    return wrong;
}

TEST(values, .title = "textures.settings_read")
{
    open_room();
    const VkImageCreateInfo info = kind_info(&floats, VK_FORMAT_R32_SFLOAT);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    REQUIRE(image != NULL);
    fill_floats(culv_shared_image_cuda(image));
    unsigned wrong =
        wrong_places(culv_shared_image_cuda(image), places, sizeof places / sizeof places[0], true);
    wrong += wrong_places(culv_shared_image_cuda(image), by_texels,
                          sizeof by_texels / sizeof by_texels[0], false);
    REQUIRE_EQ(wrong, 0);
    culv_shared_image_destroy(&image, NULL);
    close_room();
}
