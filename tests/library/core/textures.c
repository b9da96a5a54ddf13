/* SPDX-License-Identifier: MIT */
/* culv_image_get_texture(): what is made once and kept, what is refused, and samplers as texture
 * settings. What textures read is tested with the formats, and with the ranges. */
#define TEST_GROUP "textures."
#include "../formats/sweep_kernels.h" /* formats_texture's kernel reads the textures */
#include "image_stage.h"

#include <float.h>
#include <math.h>

enum { MOST_TEXELS = 32 * 16 * 12, CUBES = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT };

typedef struct reading {
    stage s;
    CUmodule module;
    CUfunction sample;
    CUdeviceptr values;
    uint32_t found[MOST_TEXELS][4];
} reading;

/* A kind of image and its texels: each byte of level l, layer n is 16 * l + n + 1. */
typedef struct kind {
    int dimension;
    VkImageType type;
    VkExtent3D extent;
    uint32_t layers;
    VkImageCreateFlags flags;
    uint32_t levels;
} kind;

static reading room;

static void open_room(void)
{
    stage_open(&room.s);
    const raw_cuda *cu = room.s.w.cu;
    CUcontext before = lib_enter(&room.s.w);
    room.module = raw_cuda_load(cu, "formats_texture");
    room.sample = raw_cuda_function(cu, room.module, "sweep_sample");
    CU_OK(cu->MemAlloc(&room.values, sizeof room.found));
    lib_leave(&room.s.w, before);
}

static void close_room(void)
{
    const raw_cuda *cu = room.s.w.cu;
    LIB_CU_OK(&room.s.w, cu->MemFree(room.values));
    LIB_CU_OK(&room.s.w, cu->ModuleUnload(room.module));
    stage_close(&room.s);
}

static uint32_t side(uint32_t whole, uint32_t level)
{
    return whole >> level != 0 ? whole >> level : 1;
}

static VkImageCreateInfo kind_info(const kind *k, VkFormat format)
{
    VkImageCreateInfo info = image_info(format, k->extent.width, k->extent.height, k->levels,
                                        VK_IMAGE_USAGE_SAMPLED_BIT, NULL);
    info.flags = k->flags;
    info.imageType = k->type;
    info.extent = k->extent;
    info.arrayLayers = k->layers;
    return info;
}

/* NULL: there is no such image here. */
static culv_shared_image *make(const VkImageCreateInfo *info, culv_texels texels)
{
    culv_shared_image *image = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = info;
    d.texels = texels;
    culv_result result = culv_vk_image_create(room.s.w.attachment, &d, &image);
    if (result == CULV_ERROR_UNSUPPORTED) {
        printf("  no such image here: %s\n", culv_last_error_message());
        return NULL;
    }
    LIB_OK(result);
    const shared_image its = {.image = culv_vk_image_handle(image)};
    image_first_release(&room.s, &its, 0, false);
    return image;
}

/* In CUDA's turn. With this block everywhere; or for NULL by bytes, as `kind` says; or for 0 bytes
 * with floats. */
static void fill(culv_image *image, const kind *k, const unsigned char *block, size_t bytes,
                 uint32_t across)
{
    stage_cuda_begin(&room.s);
    lib_finish(&room.s.w, room.s.stream);
    CUcontext before = lib_enter(&room.s.w);
    for (uint32_t level = 0; level < k->levels; level++) {
        const size_t w = (side(k->extent.width, level) + across - 1) / across,
                     h = (side(k->extent.height, level) + across - 1) / across,
                     n = k->type == VK_IMAGE_TYPE_3D ? side(k->extent.depth, level) : k->layers;
        const size_t texel = bytes != 0 ? bytes : sizeof(float);
        unsigned char *texels = malloc(w * h * n * texel);
        CUarray array = NULL;
        REQUIRE(texels != NULL);
        for (uint32_t i = 0; bytes == 0 && i < w * h; i++)
            ((float *)(void *)texels)[i] = (float)(100 * level + 10 * (i / w) + i % w);
        for (size_t i = 0; i < w * h * n * bytes; i++) {
            const size_t layer = k->type == VK_IMAGE_TYPE_3D ? 0 : i / (w * h * bytes);
            texels[i] = block != NULL ? block[i % bytes] : (unsigned char)(16 * level + layer + 1);
        }
        LIB_OK(culv_image_get_array(image, level, 0, &array));
        CU_OK(raw_cuda_write_box(room.s.w.cu, array, texels, w * texel, h, n));
        free(texels);
    }
    lib_leave(&room.s.w, before);
    stage_cuda_end(&room.s);
}

/* Texels of one level of the texture into room.found. */
static void read_level(CUtexObject texture, int dimension, int number, int channels, int level,
                       int w, int h, int n)
{
    const raw_cuda *cu = room.s.w.cu;
    void *params[] = {&texture, &dimension, &number, &channels, &level, &w, &h, &n, &room.values};
    const unsigned threads = (unsigned)(w * h * n);
    REQUIRE(threads <= MOST_TEXELS);
    CUcontext before = lib_enter(&room.s.w);
    CU_OK(cu->LaunchKernel(room.sample, (threads + 127) / 128, 1, 1, 128, 1, 1, 0, room.s.stream,
                           params, NULL));
    CU_OK(cu->MemcpyDtoHAsync(room.found, room.values, (size_t)threads * 16, room.s.stream));
    CU_OK(cu->StreamSynchronize(room.s.stream));
    lib_leave(&room.s.w, before);
}

static double as_double(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Equal settings are one object, whatever was said of what does not apply. */
IMAGE_CASE(kept)
{
    shared_image i;
    CUtexObject first = 0, again = 0, other = 0;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 32, 4, 0, &i);
    LIB_OK(culv_image_get_texture(i.cuda, NULL, &first));
    REQUIRE(first != 0);
    culv_texture_desc d = culv_texture_desc_init();
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(first, again);
    d.level_count = 4; /* the default, said */
    d.border_color[2] = 7;
    d.max_lod = 3; /* clamp_lod is not set */
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(first, again);
    d.address[0] = CULV_TEXTURE_ADDRESS_BORDER;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    REQUIRE(other != first);
    d.border_color[2] = 8;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE(again != other && again != first);
    d = culv_texture_desc_init();
    d.filter = d.mip_filter = CULV_TEXTURE_FILTER_LINEAR;
    d.base_level = 1;
    d.level_count = 2;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    d.base_level = 3;
    d.level_count = 0;
    d.unnormalized_coordinates = 1;
    d.address[2] = CULV_TEXTURE_ADDRESS_WRAP; /* of an axis that a 2D image has not */
    LIB_OK(culv_image_get_texture(i.cuda, &d, &other));
    d.address[2] = CULV_TEXTURE_ADDRESS_CLAMP;
    LIB_OK(culv_image_get_texture(i.cuda, &d, &again));
    REQUIRE_EQ(again, other);
    shared_image_close(s, &i);
}

static void refuse(culv_image *image, const culv_texture_desc *d, culv_reason reason,
                   const char *says)
{
    CUtexObject texture = 77;
    LIB_FAILS(culv_image_get_texture(image, d, &texture), CULV_ERROR_INVALID, reason, says);
    REQUIRE_EQ(texture, 77);
}

IMAGE_CASE(refused)
{
    shared_image i, integers;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 4, 0, &i);
    shared_image_open(s, CULVERTS, VK_FORMAT_R32_UINT, 64, 64, 2, 0, &integers);
    culv_texture_desc d = culv_texture_desc_init();
#define OF(image, change, why, says)                                                               \
    SPOILT(d, change, refuse((image).cuda, &d, CULV_REASON_##why, says))
#define ROW(change, why, says) OF(i, d.change, why, says)
    ROW(base_level = 4, LEVEL, "levels");
    ROW(base_level = UINT32_MAX, LEVEL, "levels");
    ROW(level_count = 5, LEVEL, "levels");
    ROW(level_count = UINT32_MAX, LEVEL, "levels");
    ROW(base_layer = 1, LEVEL, "layers");
    ROW(layer_count = 2, LEVEL, "layers");
    ROW(plane = 1, LEVEL, "plane");
    ROW(address[1] = (culv_texture_address)4, VALUE, "address");
    ROW(filter = (culv_texture_filter)2, VALUE, "filter");
    ROW(mip_filter = (culv_texture_filter)-1, VALUE, "filter");
    ROW(read = (culv_texture_read)2, VALUE, "read");
    ROW(max_anisotropy = 17, VALUE, "max_anisotropy");
    ROW(unnormalized_coordinates = 1, VALUE, "unnormalized_coordinates"); /* four levels */
    ROW(mip_bias = NAN, VALUE, "mip_bias");
    ROW(struct_size = 0, STRUCT_SIZE, "culv_texture_desc");
    static const float least[] = {2, -1, NAN};
    for (size_t n = 0; n < 3; n++)
        OF(i, (d.clamp_lod = 1, d.min_lod = least[n], d.max_lod = 1), VALUE, "min_lod");
    static const culv_texture_address far[] = {CULV_TEXTURE_ADDRESS_MIRROR,
                                               CULV_TEXTURE_ADDRESS_BORDER};
    for (size_t n = 0; n < 2; n++)
        OF(i, (d.level_count = 1, d.unnormalized_coordinates = 1, d.address[1] = far[n]), VALUE,
           "unnormalized_coordinates");
    OF(integers, (d.address[0] = CULV_TEXTURE_ADDRESS_BORDER, d.border_color[3] = 1), VALUE,
       "border_color");
    d.filter = CULV_TEXTURE_FILTER_LINEAR;
    OF(i, d.read = CULV_TEXTURE_READ_STORED, VALUE, "integers");
    OF(integers, d.read = CULV_TEXTURE_READ_AS_GRAPHICS, VALUE, "integers");
#undef ROW
#undef OF
    shared_image_close(s, &integers);
    shared_image_close(s, &i);
}

/* Samplers ------------------------------------------------------------------------------------- */

static VkSamplerCreateInfo plain(void)
{
    return (VkSamplerCreateInfo){.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                 .magFilter = VK_FILTER_LINEAR,
                                 .minFilter = VK_FILTER_LINEAR,
                                 .mipmapMode = VK_SAMPLER_MIPMAP_MODE_LINEAR,
                                 .addressModeU = VK_SAMPLER_ADDRESS_MODE_REPEAT,
                                 .addressModeV = VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
                                 .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                 .mipLodBias = 0.5f,
                                 .anisotropyEnable = VK_TRUE,
                                 .maxAnisotropy = 8,
                                 .minLod = 1,
                                 .maxLod = VK_LOD_CLAMP_NONE};
}

TEST(sampler_corresponds, .title = "samplers.correspond")
{
    VkSamplerCreateInfo info = plain();
    culv_texture_desc d = culv_texture_desc_init();
    uint32_t differences = 99;
    d.base_level = 2;
    d.layer_count = 3;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE_EQ(differences, 0);
    REQUIRE(d.address[0] == CULV_TEXTURE_ADDRESS_WRAP &&
            d.address[1] == CULV_TEXTURE_ADDRESS_MIRROR &&
            d.address[2] == CULV_TEXTURE_ADDRESS_CLAMP);
    REQUIRE(d.filter == CULV_TEXTURE_FILTER_LINEAR && d.mip_filter == CULV_TEXTURE_FILTER_LINEAR);
    REQUIRE(d.mip_bias == 0.5f && d.clamp_lod && d.min_lod == 1 && d.max_lod == VK_LOD_CLAMP_NONE);
    REQUIRE_EQ(d.max_anisotropy, 8);
    REQUIRE(d.base_level == 2 && d.layer_count == 3); /* the view's, as they were */
    info.minLod = -1000;                              /* "no limit" of other APIs */
    info.maxLod = -1;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE(differences == 0 && d.min_lod == 0 && d.max_lod == 0);
    info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    info.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, NULL));
    REQUIRE(d.border_color[0] == 1 && d.border_color[3] == 1);
    VkSamplerCustomBorderColorCreateInfoEXT custom = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
        .customBorderColor.float32 = {0.25f, 0.5f, 0.75f, 1}};
    info.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
    info.pNext = &custom;
    LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));
    REQUIRE_EQ(differences, 0);
    REQUIRE(d.border_color[1] == 0.5f);
}

TEST(sampler_differs, .title = "samplers.differ")
{
    const VkSamplerReductionModeCreateInfo most = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
        .reductionMode = VK_SAMPLER_REDUCTION_MODE_MAX};
    const VkSamplerYcbcrConversionInfo ycbcr = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO};
    const VkBaseInStructure unknown = {.sType = (VkStructureType)1234567890};
#define DIFFERS(bit, ...)                                                                          \
    do {                                                                                           \
        VkSamplerCreateInfo info = plain();                                                        \
        culv_texture_desc d = culv_texture_desc_init();                                            \
        uint32_t differences = 0;                                                                  \
        __VA_ARGS__;                                                                               \
        LIB_OK(culv_vk_texture_desc_from_sampler(&info, &d, &differences));                        \
        REQUIRE_EQ(differences, CULV_VK_SAMPLER_##bit);                                            \
    } while (0)
    DIFFERS(MAG_FILTER, info.magFilter = VK_FILTER_NEAREST);
    DIFFERS(CUBIC_FILTER, info.magFilter = info.minFilter = VK_FILTER_CUBIC_EXT);
    DIFFERS(MIRROR_CLAMP, info.addressModeW = VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE);
    DIFFERS(COMPARE, info.compareEnable = VK_TRUE);
    DIFFERS(BORDER_INTEGER, info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.borderColor = VK_BORDER_COLOR_INT_OPAQUE_BLACK);
    DIFFERS(BORDER_CUSTOM, info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT);
    DIFFERS(REDUCTION, info.pNext = &most);
    DIFFERS(YCBCR, info.pNext = &ycbcr);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = 2.5f);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = 1e10f);
    DIFFERS(ANISOTROPY, info.maxAnisotropy = NAN);
    DIFFERS(SUBSAMPLED, info.flags = VK_SAMPLER_CREATE_SUBSAMPLED_BIT_EXT);
    DIFFERS(CUBE_SEAMS, info.flags = VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT);
    DIFFERS(UNNORMALIZED_BORDER, info.unnormalizedCoordinates = VK_TRUE;
            info.minLod = info.maxLod = 0;
            info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
            info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
            info.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
    DIFFERS(FLAGS, info.pNext = &unknown);
    DIFFERS(FLAGS, info.flags = 0x40000000);
#undef DIFFERS
}

TEST(sampler_refused, .title = "samplers.refused")
{
    culv_texture_desc d = culv_texture_desc_init();
    uint32_t differences = 5;
#define WITH(field, value)                                                                         \
    do {                                                                                           \
        VkSamplerCreateInfo info = plain();                                                        \
        info.field = value;                                                                        \
        LIB_INVALID(culv_vk_texture_desc_from_sampler(&info, &d, &differences), VALUE, #field);    \
    } while (0)
    WITH(sType, VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    WITH(addressModeU, (VkSamplerAddressMode)5);
    WITH(addressModeV, (VkSamplerAddressMode)-1);
    WITH(addressModeW, (VkSamplerAddressMode)99);
    WITH(magFilter, (VkFilter)2);
    WITH(minFilter, (VkFilter)7);
    WITH(mipmapMode, (VkSamplerMipmapMode)2);
    WITH(minLod, NAN);
    WITH(minLod, FLT_MAX);
#undef WITH
    VkSamplerCreateInfo info = plain();
    info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    info.borderColor = (VkBorderColor)6;
    LIB_INVALID(culv_vk_texture_desc_from_sampler(&info, &d, NULL), VALUE);
    const culv_texture_desc untouched = culv_texture_desc_init();
    REQUIRE_EQ_BYTES(&d, &untouched, sizeof d);
    REQUIRE_EQ(differences, 5);
}

/* culv_image_get_texture(): what textures of some levels and layers read, by data: every kind of
 *image,
 * every format of CUDA's that views have; and what has none. */

/* Both ends of a range of levels, all of its layers. What is wrong is printed, so that one run
 * shows all of it. */
static bool range_right(const kind *k, const char *name, const culv_texture_desc *d,
                        CUtexObject texture)
{
    size_t bad = 0;
    for (uint32_t at = 0; at<d->level_count; at += d->level_count> 1 ? d->level_count - 1 : 1) {
        const uint32_t level = d->base_level + at;
        const bool deep = k->type == VK_IMAGE_TYPE_3D;
        const uint32_t w = side(k->extent.width, level), h = side(k->extent.height, level),
                       n = deep ? side(k->extent.depth, level) : d->layer_count;
        read_level(texture, k->dimension, SWEEP_FLOAT, 4, (int)at, (int)w, (int)h, (int)n);
        for (uint32_t i = 0; i < w * h * n; i++) {
            const uint32_t layer = deep ? 0 : d->base_layer + i / (w * h);
            const double wanted = (16 * level + layer + 1) / 255.0;
            for (int c = 0; c < 4; c++)
                if (fabs(as_double(room.found[i][c]) - wanted) > 1e-6 && bad++ == 0)
                    printf(
                        "  %s: levels %u + %u, layers %u + %u: texel %u of level %u, channel %d is %.6f, "
                        "not %.6f\n",
                        name, (unsigned)d->base_level, (unsigned)d->level_count,
                        (unsigned)d->base_layer, (unsigned)d->layer_count, (unsigned)i,
                        (unsigned)at, c, as_double(room.found[i][c]), wanted);
        }
    }
    return bad == 0;
}

/* Of cubes and of 1D arrays all layers, and of the latter one level or those from 0 on. */
static bool is_viewable(const kind *k, const culv_texture_desc *d)
{
    const bool lines = k->type == VK_IMAGE_TYPE_1D && k->layers > 1;
    if (d->layer_count == k->layers) return !lines || d->level_count == 1 || d->base_level == 0;
    return !k->flags && !lines;
}

static unsigned wrong_ranges(culv_image *image, const kind *k, const char *name)
{
    CUtexObject seen[64];
    size_t count = 0;
    unsigned wrong = 0;
    culv_texture_desc d = culv_texture_desc_init();
    for (d.base_level = 0; d.base_level < k->levels; d.base_level++)
        for (d.level_count = 1; d.base_level + d.level_count <= k->levels; d.level_count++)
            for (d.base_layer = 0; d.base_layer < k->layers; d.base_layer += 2)
                for (d.layer_count = k->layers % 2 ? 1 : 2;
                     d.base_layer + d.layer_count <= k->layers; d.layer_count += 2) {
                    if (!is_viewable(k, &d)) continue;
                    LIB_OK(culv_image_get_texture(image, &d, &seen[count]));
                    wrong += !range_right(k, name, &d, seen[count]);
                    for (size_t i = 0; i < count; i++)
                        REQUIRE(seen[i] != seen[count]);
                    count++;
                }
    MEASURED("texture_ranges", "%s, %u levels: %u of %zu wrong", name, (unsigned)k->levels, wrong,
             count);
    return wrong;
}

/* Every range of levels and layers that CUDA can view, of every kind. */
TEST(ranges)
{
    static const struct {
        const char *name;
        kind kind;
    } rows[] = {
        {"1D", {SWEEP_1D, VK_IMAGE_TYPE_1D, {32, 1, 1}, 1, 0, 3}},
        {"1D array", {SWEEP_1D_ARRAY, VK_IMAGE_TYPE_1D, {32, 1, 1}, 5, 0, 3}},
        {"2D", {SWEEP_2D, VK_IMAGE_TYPE_2D, {32, 16, 1}, 1, 0, 3}},
        {"2D array", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 3}},
        {"2D array", {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {32, 16, 1}, 5, 0, 1}},
        {"3D", {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 3}},
        {"cube", {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, CUBES, 3}},
        {"cube array", {SWEEP_CUBE_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 12, CUBES, 3}},
    };
    unsigned wrong = 0;
    open_room();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const kind *k = &rows[i].kind;
        const VkImageCreateInfo info = kind_info(k, VK_FORMAT_R8G8B8A8_UNORM);
        OWN(culv_shared_image) *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        fill(culv_shared_image_cuda(image), k, NULL, 4, 1);
        wrong += wrong_ranges(culv_shared_image_cuda(image), k, rows[i].name);
    }
    REQUIRE_EQ(wrong, 0);
    close_room();
}

/* Levels 1 and 2, layers 1 and 2. */
static const kind some_layers = {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {16, 8, 1}, 3, 0, 3};

static culv_texture_desc some_of_it(void)
{
    culv_texture_desc d = culv_texture_desc_init();
    d.base_level = d.base_layer = 1;
    d.level_count = d.layer_count = 2;
    return d;
}

/* What a channel of texels of one byte's value returns. */
static void require_channel(const culv_format_info *f, culv_texture_read read, uint32_t byte,
                            uint32_t found)
{
    const uint32_t bytes = f->bytes_per_block / f->channels;
    const uint32_t word = bytes == 4 ? byte * 0x01010101 : bytes == 2 ? byte * 0x0101 : byte;
    const bool stored = read == CULV_TEXTURE_READ_STORED;
    double wanted =
        byte / (f->kind == CULV_TEXEL_KIND_SNORM ? (bytes == 2 ? 127.4961 : 127.0) : 255.0);
    switch (f->kind) {
    case CULV_TEXEL_KIND_FLOAT:
        if (bytes == 4) {
            REQUIRE_EQ(found, word);
            return;
        }
        wanted = word >> 10 == 0 ? ldexp(word, -24)
                                 : ldexp(1024 + (word & 0x3ff), (int)(word >> 10) - 25);
        break;
    case CULV_TEXEL_KIND_SRGB:
        wanted = wanted <= 0.04045 ? wanted / 12.92 : pow((wanted + 0.055) / 1.055, 2.4);
    /* fall through */
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
        if (!stored) break;
    /* fall through */
    default: REQUIRE_EQ(found, word); return;
    }
    if (!(fabs(as_double(found) - wanted) < 0.002))
        FAIL("%s: %.7f, not %.7f", f->name, as_double(found), wanted);
}

/* Each array format that a view has a name for, and what the flags make of some. */
TEST(formats, .title = "textures.formats_of_ranges")
{
    static const VkFormat list[] = {
        VK_FORMAT_R8_UINT,        VK_FORMAT_R8G8_UINT,     VK_FORMAT_R8G8B8A8_UINT,
        VK_FORMAT_R8_SINT,        VK_FORMAT_R8G8_SINT,     VK_FORMAT_R8G8B8A8_SINT,
        VK_FORMAT_R16_UINT,       VK_FORMAT_R16G16_UINT,   VK_FORMAT_R16G16B16A16_UINT,
        VK_FORMAT_R16_SINT,       VK_FORMAT_R16G16_SINT,   VK_FORMAT_R16G16B16A16_SINT,
        VK_FORMAT_R32_UINT,       VK_FORMAT_R32G32_UINT,   VK_FORMAT_R32G32B32A32_UINT,
        VK_FORMAT_R32_SINT,       VK_FORMAT_R32G32_SINT,   VK_FORMAT_R32G32B32A32_SINT,
        VK_FORMAT_R16_SFLOAT,     VK_FORMAT_R16G16_SFLOAT, VK_FORMAT_R16G16B16A16_SFLOAT,
        VK_FORMAT_R32_SFLOAT,     VK_FORMAT_R32G32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT,
        VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8_SNORM,    VK_FORMAT_R16_UNORM,
        VK_FORMAT_R16G16_SNORM,   VK_FORMAT_R8G8B8A8_SRGB,
    };
    open_room();
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const VkImageCreateInfo info = kind_info(&some_layers, list[i]);
        OWN(culv_shared_image) *image = make(&info, CULV_TEXELS_STORED);
        if (image == NULL) continue;
        culv_format_info f = culv_format_info_init();
        LIB_OK(culv_format_get_info((culv_format)list[i], &f));
        fill(culv_shared_image_cuda(image), &some_layers, NULL, f.bytes_per_block, 1);
        for (int read = CULV_TEXTURE_READ_AS_GRAPHICS; read <= CULV_TEXTURE_READ_STORED; read++) {
            culv_texture_desc d = some_of_it();
            CUtexObject texture = 0;
            const bool is_signed =
                f.kind == CULV_TEXEL_KIND_SINT || f.kind == CULV_TEXEL_KIND_SNORM;
            const bool floats = f.kind == CULV_TEXEL_KIND_FLOAT ||
                                (read == CULV_TEXTURE_READ_AS_GRAPHICS &&
                                 f.kind != CULV_TEXEL_KIND_UINT && f.kind != CULV_TEXEL_KIND_SINT);
            d.read = (culv_texture_read)read;
            LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texture));
            for (uint32_t level = 0; level < 2; level++) {
                const uint32_t w = side(some_layers.extent.width, level + 1),
                               h = side(some_layers.extent.height, level + 1);
                read_level(texture, SWEEP_2D_ARRAY,
                           floats      ? SWEEP_FLOAT
                           : is_signed ? SWEEP_SINT
                                       : SWEEP_UINT,
                           (int)f.channels, (int)level, (int)w, (int)h, 2);
                for (uint32_t t = 0; t < w * h * 2; t++)
                    for (uint32_t c = 0;
                         c < f.channels && !(c == 3 && f.kind == CULV_TEXEL_KIND_SRGB); c++)
                        require_channel(&f, d.read, 16 * (level + 1) + t / (w * h) + 2,
                                        room.found[t][c]);
            }
        }
    }
    close_room();
}

static void refuse_range(culv_image *image, const culv_texture_desc *d, const char *says)
{
    CUtexObject texture = 77;
    LIB_ERROR(culv_image_get_texture(image, d, &texture), UNSUPPORTED, LEVEL, says);
    REQUIRE_EQ(texture, 77);
}

/* What cuda.h has no words for, or no views. */
TEST(ranges_refused, .title = "textures.ranges_refused")
{
    static const kind cubes = {SWEEP_CUBE_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 12, CUBES, 3};
    open_room();
    culv_texture_desc d = culv_texture_desc_init();
    VkImageCreateInfo info = kind_info(&cubes, VK_FORMAT_R8G8B8A8_UNORM);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 6;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "cubes");
    culv_shared_image_destroy(&image, NULL);
    info = kind_info(&some_layers, VK_FORMAT_BC1_RGBA_UNORM_BLOCK);
    image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 1;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "block-compressed");
    d = culv_texture_desc_init();
    d.base_level = 1;
    d.level_count = 2;
    if (image != NULL) refuse_range(culv_shared_image_cuda(image), &d, "block-compressed");
    culv_shared_image_destroy(&image, NULL);

    /* Layers of a level's own array. */
    CUtexObject texels = 0;
    info = kind_info(&some_layers, VK_FORMAT_R8G8B8A8_UNORM);
    image = make(&info, CULV_TEXELS_STORED);
    REQUIRE(image != NULL);
    d = culv_texture_desc_init();
    d.unnormalized_coordinates = 1;
    for (d.level_count = 1; d.layer_count < 3; d.layer_count++) /* all, and some */
        refuse_range(culv_shared_image_cuda(image), &d, "unnormalized_coordinates");
    culv_shared_image_destroy(&image, NULL);
    info.mipLevels = 1;
    image = make(&info, CULV_TEXELS_STORED);
    d.layer_count = 0;
    LIB_OK(culv_image_get_texture(culv_shared_image_cuda(image), &d, &texels));
    culv_shared_image_destroy(&image, NULL);

    /* CUDA's normalized arrays: one level, or those from 0 on. */
    static const VkFormat normalized[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R16G16_SNORM,
                                          VK_FORMAT_A2B10G10R10_UNORM_PACK32};
    for (size_t i = 0; i < sizeof normalized / sizeof normalized[0]; i++) {
        CUtexObject texture = 0;
        info = kind_info(&some_layers, normalized[i]);
        image = make(&info, CULV_TEXELS_NORMALIZED);
        if (image == NULL) continue;
        culv_image *cuda = culv_shared_image_cuda(image);
        d = some_of_it();
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.base_layer = 0;
        d.layer_count = 3;
        refuse_range(cuda, &d, "CULV_TEXELS_STORED");
        d.level_count = 1;
        LIB_OK(culv_image_get_texture(cuda, &d, &texture));
        LIB_OK(culv_image_get_texture(cuda, NULL, &texture));
        d.base_level = 0;
        d.level_count = 2;
        LIB_OK(culv_image_get_texture(cuda, &d, &texture));
        culv_shared_image_destroy(&image, NULL);
    }
    close_room();
}

/* sRGB blocks are read as graphics do, and as they are stored. The twin decodes none, but refuses
 * wrong flags before. */
TEST(srgb_blocks)
{
    static const kind flat = {SWEEP_2D, VK_IMAGE_TYPE_2D, {16, 8, 1}, 1, 0, 3};
    static const unsigned char block[8] = {0x10, 0x84, 0x10, 0x84}; /* red 16 of 31, 132 of 255 */
    open_room();
    const VkImageCreateInfo info = kind_info(&flat, VK_FORMAT_BC1_RGBA_SRGB_BLOCK);
    culv_shared_image *image = make(&info, CULV_TEXELS_STORED);
    if (image == NULL) SKIP("%s", culv_last_error_message());
    culv_image *cuda = culv_shared_image_cuda(image);
    fill(cuda, &flat, block, sizeof block, 4);
    for (int read = CULV_TEXTURE_READ_AS_GRAPHICS; read <= CULV_TEXTURE_READ_STORED; read++)
        for (int one_level = 0; one_level < 2; one_level++) {
            culv_texture_desc d = culv_texture_desc_init();
            CUtexObject texture = 0;
            const double wanted = read == CULV_TEXTURE_READ_STORED ? 132 / 255.0 : 0.2305;
            d.read = (culv_texture_read)read;
            d.level_count = (uint32_t)one_level;
            const culv_result result = culv_image_get_texture(cuda, &d, &texture);
            if (room.s.w.cu->software) {
                culv_error error = culv_error_init();
                REQUIRE_EQ(result, CULV_ERROR_DRIVER);
                culv_last_error(&error);
                REQUIRE_EQ(error.native_code, CUDA_ERROR_NOT_SUPPORTED);
                continue;
            }
            LIB_OK(result);
            read_level(texture, SWEEP_2D, SWEEP_FLOAT, 4, 0, 16, 8, 1);
            for (size_t i = 0; i < 16 * 8; i++)
                if (!(fabs(as_double(room.found[i][0]) - wanted) < 0.003))
                    FAIL("texel %zu is %.6f, not %.6f", i, as_double(room.found[i][0]), wanted);
        }
    culv_shared_image_destroy(&image, NULL);
    close_room();
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* culv_image_get_texture(): what each setting is to CUDA, that none is left out of what kept
 * textures are found by, and what reads by some of them return. */

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
    OWN(culv_shared_image) *image = make(&info, CULV_TEXELS_STORED);
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
}

TEST(told, .title = "textures.settings_told")
{
    static const kind box = {SWEEP_3D, VK_IMAGE_TYPE_3D, {32, 16, 8}, 1, 0, 4},
                      flat = {SWEEP_2D, VK_IMAGE_TYPE_2D, {16, 16, 1}, 1, 0, 1},
                      layers = {SWEEP_2D_ARRAY, VK_IMAGE_TYPE_2D, {16, 16, 1}, 3, 0, 1},
                      cube = {SWEEP_CUBE, VK_IMAGE_TYPE_2D, {16, 16, 1}, 6, CUBES, 2};
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
    fill(culv_shared_image_cuda(image), &floats, NULL, 0, 1);
    unsigned wrong =
        wrong_places(culv_shared_image_cuda(image), places, sizeof places / sizeof places[0], true);
    wrong += wrong_places(culv_shared_image_cuda(image), by_texels,
                          sizeof by_texels / sizeof by_texels[0], false);
    REQUIRE_EQ(wrong, 0);
    culv_shared_image_destroy(&image, NULL);
    close_room();
}
