/* SPDX-License-Identifier: MIT */
/* Contract rows: block-compressed images, formats of several planes, and where NVIDIA's driver puts
 * what arrays of another format than the image's find: depth and stencil, and planes, each as an
 * array of its own. */
#define TEST_GROUP "planes."
#include "contract.h"

#define NO_IMAGE "Vulkan exports no such image"

static const VkImageAspectFlagBits aspects[] = {
    VK_IMAGE_ASPECT_PLANE_0_BIT, VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};

/* A level or a plane, copied by both: Vulkan writes and CUDA reads, then the other way round. */
typedef struct part {
    const raw_vk_image *vk;
    VkImageAspectFlags aspect;
    uint32_t level;
    VkExtent3D extent;
    size_t across, down; /* bytes of a row, rows; CUDA counts `rows` */
    size_t rows;
    bool ten_bits;                                 /* which lie in the upper ones of 16 */
    enum { OF_BLOCKS, OF_PLANES, OF_PLACED } what; /* each with the bytes that were recorded with */
} part;

typedef struct part_result {
    CUresult read, written;
    size_t to_cuda, to_vulkan; /* bytes that are wrong */
} part_result;

static part_result copy_part(pair *p, const part *c, CUarray array, uint32_t seed)
{
    part_result out = {.written = CUDA_ERROR_NOT_READY};
    const size_t size = c->across * c->down;
    raw_vk_buffer staging;
    unsigned char *expected = test_memory(size), *found = test_memory(c->across * (c->rows + 4));
    raw_vk_buffer_create(&p->vk, size, RAW_VK_HOST, &staging);
    for (size_t k = 0; k < size; k++) {
        const size_t value = c->what == OF_BLOCKS
                                 ? (k * 2654435761u + seed) >> 7
                                 : k * 29 + (c->what == OF_PLACED ? k / 253 : seed);
        expected[k] = (unsigned char)(value & (c->ten_bits && k % 2 == 0 ? 0xc0 : 0xff));
    }
    memcpy(staging.mapped, expected, size);
    image_copy_part(p, c->vk, c->aspect, c->level, c->extent, &staging, true);
    out.read = raw_cuda_read_array(p->cu, array, found, c->across, c->rows);
    out.to_cuda = bytes_wrong(found, expected, size);
    if (out.read == CUDA_SUCCESS) {
        const unsigned flip = c->what == OF_BLOCKS ? 0x5a : 0x33;
        for (size_t k = 0; k < size; k++)
            found[k] = expected[k] =
                (unsigned char)(expected[k] ^ (c->ten_bits && k % 2 == 0 ? 0x40 : flip));
        out.written = raw_cuda_write_array(p->cu, array, found, c->across, c->rows);
        CU_OK(p->cu->CtxSynchronize());
        memset(staging.mapped, 0, size);
        image_copy_part(p, c->vk, c->aspect, c->level, c->extent, &staging, false);
        out.to_vulkan = bytes_wrong(staging.mapped, expected, size);
    }
    raw_vk_buffer_destroy(&p->vk, &staging);
    return out;
}

typedef struct block_row {
    const char *name;
    VkFormat vk;
    int cu; /* by number, as older cuda.h files lack the names */
    unsigned channels;
    size_t bytes; /* of a block */
} block_row;

static const block_row block_rows[] = {
    {"BC1", VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 0x91, 4, 8},
    {"BC1 sRGB", VK_FORMAT_BC1_RGBA_SRGB_BLOCK, 0x92, 4, 8},
    {"BC2", VK_FORMAT_BC2_UNORM_BLOCK, 0x93, 4, 16},
    {"BC2 sRGB", VK_FORMAT_BC2_SRGB_BLOCK, 0x94, 4, 16},
    {"BC3", VK_FORMAT_BC3_UNORM_BLOCK, 0x95, 4, 16},
    {"BC3 sRGB", VK_FORMAT_BC3_SRGB_BLOCK, 0x96, 4, 16},
    {"BC4", VK_FORMAT_BC4_UNORM_BLOCK, 0x97, 1, 8},
    {"BC4 signed", VK_FORMAT_BC4_SNORM_BLOCK, 0x98, 1, 8},
    {"BC5", VK_FORMAT_BC5_UNORM_BLOCK, 0x99, 2, 16},
    {"BC5 signed", VK_FORMAT_BC5_SNORM_BLOCK, 0x9a, 2, 16},
    {"BC6H", VK_FORMAT_BC6H_UFLOAT_BLOCK, 0x9b, 3, 16},
    {"BC6H signed", VK_FORMAT_BC6H_SFLOAT_BLOCK, 0x9c, 3, 16},
    {"BC7", VK_FORMAT_BC7_UNORM_BLOCK, 0x9d, 4, 16},
    {"BC7 sRGB", VK_FORMAT_BC7_SRGB_BLOCK, 0x9e, 4, 16},
};

static size_t blocks(uint32_t texels)
{
    return (texels + 3) / 4;
}

/* Rows are counted in blocks, not in texels: cuda.h does not say. */
static void try_blocks(pair *p, size_t i)
{
    enum { WIDTH = 61, HEIGHT = 38, LEVELS = 6 };
    const block_row *row = &block_rows[i];
    const raw_vk_image_desc desc =
        image_desc(&(image_format){.vk = row->vk}, WIDTH, HEIGHT, LEVELS, 0);
    CUDA_ARRAY3D_DESCRIPTOR array =
        raw_cuda_array_desc((CUarray_format)row->cu, row->channels, WIDTH, HEIGHT);
    CUmipmappedArray mipmap = NULL;
    array.Flags = 0;
    if (!raw_vk_image_supported(&p->vk, &desc)) {
        MEASURED("blocks", "%s: no such image", row->name);
        return;
    }
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    CU_OK(raw_cuda_map_image(p->cu, memory, 0, &array, LEVELS, &mipmap));
    for (uint32_t level = 0; level < LEVELS; level++) {
        const VkExtent3D e = raw_vk_image_extent(&vk, level);
        const part all =
            TEST_ROW(&vk, VK_IMAGE_ASPECT_COLOR_BIT, level, e, blocks(e.width) * row->bytes,
                     blocks(e.height), blocks(e.height), false, OF_BLOCKS);
        const part_result r = copy_part(p, &all, image_level(p, mipmap, level), level);
        CU_OK(r.read);
        CU_OK(r.written);
        answer_bytes(answer_key("%s, level %u", row->name, level), r.to_cuda + r.to_vulkan);
    }
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    array.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CU_IS(raw_cuda_map_image(p->cu, memory, 0, &array, LEVELS, &mipmap), CUDA_ERROR_NOT_SUPPORTED);
}

IMAGE_ROWS(compressed, "images.blocks", "images.blocks_child", COUNT_OF(block_rows), 7, try_blocks,
           .mark = TEST_BOTH)

typedef struct plane_row {
    const char *name;
    int cu;      /* by number, as older cuda.h files lack the names */
    VkFormat vk; /* UNDEFINED: none of the same layout */
    unsigned channels, planes, bytes, half_width, half_height;
} plane_row;

enum { YUY2 = 0xa5, Y410 = 0xa9 };
static const plane_row plane_rows[] = {
    {"NV12", 0xb0, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 3, 2, 1, 1, 1},
    {"P010", 0x9f, VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16, 3, 2, 2, 1, 1},
    {"P016", 0xa1, VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, 3, 2, 2, 1, 1},
    {"NV16", 0xa2, VK_FORMAT_G8_B8R8_2PLANE_422_UNORM, 3, 2, 1, 1, 0},
    {"P210", 0xa3, VK_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16, 3, 2, 2, 1, 0},
    {"P216", 0xa4, VK_FORMAT_G16_B16R16_2PLANE_422_UNORM, 3, 2, 2, 1, 0},
    {"Y444_PLANAR8", 0xb2, VK_FORMAT_G8_B8_R8_3PLANE_444_UNORM, 3, 3, 1, 0, 0},
    {"Y444_PLANAR10", 0xb3, VK_FORMAT_G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16, 3, 3, 2, 0, 0},
    {"YUV444_8bit_SemiPlanar", 0xb4, VK_FORMAT_G8_B8R8_2PLANE_444_UNORM, 3, 2, 1, 0, 0},
    {"YUV444_16bit_SemiPlanar", 0xb5, VK_FORMAT_G16_B16R16_2PLANE_444_UNORM, 3, 2, 2, 0, 0},
    {"YUY2", YUY2, VK_FORMAT_G8B8G8R8_422_UNORM, 2, 0, 2, 1, 0},
    {"Y210", 0xa6, VK_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, 2, 0, 4, 1, 0},
    {"Y216", 0xa7, VK_FORMAT_G16B16G16R16_422_UNORM, 2, 0, 4, 1, 0},
    {"AYUV", 0xa8, VK_FORMAT_UNDEFINED, 4, 0, 4, 0, 0},
    {"Y410", Y410, VK_FORMAT_UNDEFINED, 4, 0, 4, 0, 0},
    {"Y416", 0xb1, VK_FORMAT_UNDEFINED, 4, 0, 8, 0, 0},
};
#define ROWS COUNT_OF(plane_rows)
enum { W = 64, H = 32, VIDEO = 0x100 /* CUDA_ARRAY3D_VIDEO_ENCODE_DECODE */ };

static void report_planes(const pair *p, const plane_row *row, const char *what, CUarray array)
{
    for (unsigned i = 0; i <= row->planes; i++) {
        CUarray plane = NULL;
        CUDA_ARRAY3D_DESCRIPTOR desc;
        CUresult result = p->cu->ArrayGetPlane(&plane, array, i);
        const char *key = answer_key("planes of %s, %s: %u", row->name, what, i);
        if (result != CUDA_SUCCESS) {
            answer_call(key, result);
            if (p->cu->software) REQUIRE(i == row->planes && result == CUDA_ERROR_INVALID_VALUE);
            continue;
        }
        CU_OK(p->cu->Array3DGetDescriptor(&desc, plane));
        ANSWER(key, "%zu x %zu x %zu, format 0x%x, %u channels, flags 0x%x", desc.Width,
               desc.Height, desc.Depth, (unsigned)desc.Format, desc.NumChannels, desc.Flags);
        if (p->cu->software) REQUIRE(i < row->planes);
    }
}

/* Each number of channels, each kind of flags, odd sizes. */
static void try_format(pair *p, size_t i)
{
    static const struct {
        const char *what;
        size_t width, height;
        unsigned channels, flags; /* channels 0: the right number */
    } variants[] = {{"1 channel", W, H, 1, 0},
                    {"2 channels", W, H, 2, 0},
                    {"3 channels", W, H, 3, 0},
                    {"4 channels", W, H, 4, 0},
                    {"with SURFACE_LDST", W, H, 0, CUDA_ARRAY3D_SURFACE_LDST},
                    {"with VIDEO_ENCODE_DECODE", W, H, 0, VIDEO},
                    {"width 63", W - 1, H, 0, 0},
                    {"height 31", W, H - 1, 0, 0}};
    const plane_row *row = &plane_rows[i];
    for (size_t v = 0; v < COUNT_OF(variants); v++) {
        const unsigned channels = variants[v].channels == 0 ? row->channels : variants[v].channels;
        CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc((CUarray_format)row->cu, channels,
                                                           variants[v].width, variants[v].height);
        CUarray array = NULL;
        desc.Flags = variants[v].flags;
        const CUresult result = p->cu->Array3DCreate(&array, &desc);
        /* For the encoder and the decoder alone; of two formats there are none at all. */
        const bool made = variants[v].flags == VIDEO && row->cu != YUY2 && row->cu != Y410;
        test_answer_is(answer_key("%s, %s", row->name, variants[v].what),
                       result == (made ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE), "%s",
                       raw_cuda_result_name(result));
        if (!made) continue;
        if (p->cu->software) report_planes(p, row, variants[v].what, array);
        CU_OK(p->cu->ArrayDestroy(array));
    }
}

IMAGE_ROWS(formats, "planes.formats", "planes.formats_child", ROWS, (ROWS + 1) / 2, try_format,
           .mark = TEST_BOTH)

/* Planes of a CUDA array hold what is copied to them, each for itself. */
PAIR_CASE(copies, .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    CUarray array, planes[2];
    unsigned char in[2][W * H], out[W * H];
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_NV12, 3, W, H);
    desc.Flags = 0;
    answer_call("cuArray3DCreate", p->cu->Array3DCreate(&array, &desc));
    if (!p->cu->software) return;
    desc.Flags = VIDEO;
    array = raw_cuda_array(p->cu, &desc);
    for (unsigned i = 0; i < 2; i++) {
        CU_OK(p->cu->ArrayGetPlane(&planes[i], array, i));
        for (size_t k = 0; k < sizeof out; k++)
            in[i][k] = (unsigned char)(k * 31 + i);
        CU_OK(raw_cuda_write_array(p->cu, planes[i], in[i], W, i == 0 ? H : H / 2));
    }
    for (unsigned i = 0; i < 2; i++) {
        const size_t height = i == 0 ? H : H / 2; /* W bytes a row, each of them */
        CU_OK(raw_cuda_read_array(p->cu, planes[i], out, W, height));
        ANSWER(answer_key("plane %u", i), "%zu of %zu bytes wrong",
               bytes_wrong(out, in[i], W * height), W * height);
    }
    /* Of the whole, which has no elements of its own. */
    image_answer("copy", "the whole array", raw_cuda_read_array(p->cu, array, out, W, 1));
}

/* Vulkan's image of several planes, mapped with the CUDA format of that layout. */
static void compare_planes(pair *p, const plane_row *row, const raw_vk_image *vk, CUarray array)
{
    for (unsigned i = 0; i < row->planes; i++) {
        CUarray plane = NULL;
        const unsigned channels = i > 0 && row->planes == 2 ? 2 : 1;
        const VkExtent3D e = {i > 0 && row->half_width ? W / 2 : W,
                              i > 0 && row->half_height ? H / 2 : H, 1};
        const size_t across = e.width * channels * row->bytes;
        const part all = {vk,       aspects[i],      0,        e, across, e.height,
                          e.height, row->bytes == 2, OF_PLANES};
        const CUresult result = p->cu->ArrayGetPlane(&plane, array, i);
        if (result != CUDA_SUCCESS) {
            answer_call(answer_key("%s, plane %u", row->name, i), result);
            continue;
        }
        const part_result r = copy_part(p, &all, plane, i);
        answer_with(answer_key("%s, plane %u read by CUDA", row->name, i), r.read,
                    "%zu of %zu bytes wrong", r.to_cuda, across * e.height);
        answer_with(answer_key("%s, plane %u written by CUDA", row->name, i), r.written,
                    "%zu of %zu bytes wrong", r.to_vulkan, across * e.height);
    }
}

static void try_mapped(pair *p, size_t i)
{
    static const unsigned flags[] = {0, CUDA_ARRAY3D_SURFACE_LDST, VIDEO};
    static unsigned found;
    const plane_row *row = &plane_rows[i];
    const raw_vk_image_desc desc =
        image_desc(&(image_format){.vk = row->vk}, W, H, 1, RAW_VK_DEDICATED);
    CUDA_ARRAY3D_DESCRIPTOR array =
        raw_cuda_array_desc((CUarray_format)row->cu, row->channels, W, H);
    CUmipmappedArray mipmap = NULL;
    if (p->cu->software && i == ROWS - 1 && found == 0)
        SKIP("lavapipe has no images of several planes");
    if (row->vk == VK_FORMAT_UNDEFINED || row->planes == 0) return;
    if (!raw_vk_image_supported(&p->vk, &desc)) {
        for (size_t n = 0; n < COUNT_OF(flags); n++)
            ANSWER(answer_key("%s, flags 0x%x", row->name, flags[n]), NO_IMAGE);
        return;
    }
    found++;
    raw_vk_image vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &vk, true);
    for (size_t n = 0; n < COUNT_OF(flags); n++) {
        array.Flags = flags[n];
        const CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
        answer_call(answer_key("%s, flags 0x%x", row->name, array.Flags), result);
        /* Without the flag for video NV12 alone is mapped, as an H200 has it. */
        const bool there = row->cu == CU_AD_FORMAT_NV12 || array.Flags == VIDEO;
        if (p->cu->software) CU_IS(result, there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
        if (result != CUDA_SUCCESS) continue;
        if (array.Flags == 0) {
            report_planes(p, row, "mapped", image_level(p, mipmap, 0));
            compare_planes(p, row, &vk, image_level(p, mipmap, 0));
        }
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    }
}

IMAGE_ROWS(mapped, "planes.mapped", "planes.mapped_child", ROWS, (ROWS + 1) / 2, try_mapped,
           .mark = TEST_NVIDIA_ONLY,
           .reason = "reported; where Mesa puts the planes of an image the twin does not know")

#undef TEST_GROUP
#define TEST_GROUP "placed."

typedef struct depth_format {
    const char *name;
    VkFormat vk;
    VkImageAspectFlags aspect;
    unsigned bytes;    /* a texel of the aspect, in a buffer */
    uint32_t counts;   /* its bits that count */
    CUarray_format cu; /* one channel or more */
    unsigned channels;
    unsigned shifts;       /* how many bits up an element may have it: 0, and 8 where this is 2 */
    bool plain, dedicated; /* right in memory that is not dedicated, and in memory that is */
} depth_format;

#define DEPTH   VK_IMAGE_ASPECT_DEPTH_BIT
#define STENCIL VK_IMAGE_ASPECT_STENCIL_BIT
#define UINT(n) CU_AD_FORMAT_UNSIGNED_INT##n
#define FORMAT(name, ...)                                                                          \
    {                                                                                              \
#        name, VK_FORMAT_##name, __VA_ARGS__                                                       \
    }
static const depth_format depth_formats[] = {
    FORMAT(D16_UNORM, DEPTH, 2, 0xffff, UINT(16), 1, 1, false, true),
    FORMAT(S8_UINT, STENCIL, 1, 0xff, UINT(8), 1, 1, false, true),
    FORMAT(D32_SFLOAT, DEPTH, 4, 0xffffffff, CU_AD_FORMAT_FLOAT, 1, 1, true, true),
    /* The rest is only reported. */
    FORMAT(X8_D24_UNORM_PACK32, DEPTH, 4, 0xffffff, UINT(32), 1, 2, false, false),
    FORMAT(D24_UNORM_S8_UINT, DEPTH, 4, 0xffffff, UINT(32), 1, 2, false, false),
    FORMAT(D32_SFLOAT_S8_UINT, DEPTH, 4, 0xffffffff, UINT(32), 1, 1, false, false),
    FORMAT(D32_SFLOAT_S8_UINT, DEPTH, 4, 0xffffffff, UINT(32), 2, 1, false, false),
};
static const struct {
    uint32_t width, height;
} depth_sizes[] = {{256, 128}, {131, 67}};
enum { DEPTH_LEVELS = 5 };

typedef struct depth_image {
    pair *p;
    const depth_format *format;
    raw_vk_image vk;
    CUmipmappedArray mipmap;
    raw_vk_buffer staging;
    bool dedicated;
} depth_image;

static size_t element_of(const depth_format *f)
{
    return f->cu == CU_AD_FORMAT_UNSIGNED_INT8    ? 1
           : f->cu == CU_AD_FORMAT_UNSIGNED_INT16 ? 2
                                                  : 4 * f->channels;
}

/* Texel k of a level; floats in [0, 1]. */
static uint32_t depth_texel(const depth_format *f, size_t k, uint32_t seed)
{
    uint32_t value = (uint32_t)k * 2654435761u + seed * 40503u;
    value ^= value >> 15;
    return f->counts == 0xffffffff ? (value & 0x00ffffff) | 0x3d000000 : value & f->counts;
}

/* All of a level by Vulkan: writes `seed`'s texels, or counts those that are not. */
static size_t by_vulkan(depth_image *i, uint32_t level, uint32_t seed, bool write)
{
    const depth_format *f = i->format;
    const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
    const size_t texels = (size_t)extent.width * extent.height;
    unsigned char *bytes = i->staging.mapped;
    size_t wrong = 0;
    for (size_t k = 0; k < texels; k++) {
        const uint32_t texel = write ? depth_texel(f, k, seed) : 0;
        memcpy(bytes + k * f->bytes, &texel, f->bytes);
    }
    image_copy_part(i->p, &i->vk, f->aspect, level, extent, &i->staging, write);
    for (size_t k = 0; k < texels && !write; k++) {
        uint32_t texel = 0;
        memcpy(&texel, bytes + k * f->bytes, f->bytes);
        wrong += (texel & f->counts) != depth_texel(f, k, seed);
    }
    return wrong;
}

/* The same by CUDA, as elements that hold a texel from this bit on. */
static size_t by_cuda(depth_image *i, uint32_t level, uint32_t seed, unsigned shift, bool write)
{
    const depth_format *f = i->format;
    const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
    const size_t texels = (size_t)extent.width * extent.height, element = element_of(f);
    unsigned char *bytes = test_memory(texels * element);
    size_t wrong = 0;
    const CUarray array = image_level(i->p, i->mipmap, level);
    for (size_t k = 0; k < texels && write; k++) {
        const uint32_t texel = depth_texel(f, k, seed) << shift;
        memcpy(bytes + k * element, &texel, f->bytes);
    }
    if (write)
        CU_OK(raw_cuda_write_array(i->p->cu, array, bytes, extent.width * element, extent.height));
    else
        CU_OK(raw_cuda_read_array(i->p->cu, array, bytes, extent.width * element, extent.height));
    for (size_t k = 0; k < texels && !write; k++) {
        uint32_t texel = 0;
        memcpy(&texel, bytes + k * element, f->bytes);
        wrong += (texel >> shift & f->counts) != depth_texel(f, k, seed);
    }
    return wrong;
}

static void compare_depth(depth_image *i, const char *what, bool required)
{
    for (unsigned shift = 0; shift < i->format->shifts * 8; shift += 8) {
        size_t to_cuda = 0, to_vulkan = 0, all = 0;
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++) {
            const VkExtent3D extent = raw_vk_image_extent(&i->vk, level);
            all += (size_t)extent.width * extent.height;
            (void)by_vulkan(i, level, level + 1, true);
        }
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            to_cuda += by_cuda(i, level, level + 1, shift, false);
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            (void)by_cuda(i, level, level + 77, shift, true);
        for (uint32_t level = 0; level < DEPTH_LEVELS; level++)
            to_vulkan += by_vulkan(i, level, level + 77, false);
        const char *key = answer_key("%s, from bit %u on", what, shift);
        const bool right = to_cuda == 0 && to_vulkan == 0, wrong = to_cuda > 0 && to_vulkan > 0;
        if (required || !i->dedicated)
            test_answer_is(key, required ? right : wrong,
                           "of %zu texels wrong: read by CUDA %zu, by Vulkan %zu", all, to_cuda,
                           to_vulkan);
        else
            ANSWER(key, "%s", right ? "right" : wrong ? "wrong both ways" : "wrong one way");
    }
}

static void try_depth(pair *p, const depth_format *f, uint32_t width, uint32_t height,
                      bool dedicated)
{
    const raw_vk_image_desc desc =
        TEST_ROW(.format = f->vk, .width = width, .height = height, .levels = DEPTH_LEVELS,
                 .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                 .flags = RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0));
    CUDA_ARRAY3D_DESCRIPTOR array = raw_cuda_array_desc(f->cu, f->channels, width, height);
    depth_image i = {.p = p, .format = f, .dedicated = dedicated};
    char what[160];
    snprintf(what, sizeof what, "%s as %u of %u bytes, %ux%u%s", f->name, f->channels,
             (unsigned)element_of(f) / f->channels, (unsigned)width, (unsigned)height,
             dedicated ? " dedicated" : "");
    if (!raw_vk_image_supported(&p->vk, &desc)) {
        ANSWER(what, NO_IMAGE);
        return;
    }
    i.vk = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &i.vk, dedicated);
    i.staging = pair_vk_buffer(p, (VkDeviceSize)width * height * 4, RAW_VK_HOST);
    array.Flags = 0;
    CUresult result =
        raw_cuda_map_image(p->cu, memory, i.vk.offset, &array, DEPTH_LEVELS, &i.mipmap);
    if (f->plain || f->dedicated) CU_OK(result);
    if (result == CUDA_SUCCESS) {
        compare_depth(&i, what, dedicated ? f->dedicated : f->plain);
        CU_OK(p->cu->MipmappedArrayDestroy(i.mipmap));
    } else {
        answer_call(what, result);
    }
    array.Flags = CUDA_ARRAY3D_DEPTH_TEXTURE;
    result = raw_cuda_map_image(p->cu, memory, i.vk.offset, &array, DEPTH_LEVELS, &i.mipmap);
    CU_IS(result, CUDA_ERROR_INVALID_VALUE);
}

/* D16_UNORM and S8_UINT are what CUDA's arrays find in dedicated allocations alone, D32_SFLOAT in
 * all. No mapped image takes DEPTH_TEXTURE. */
PAIR_CASE(depth, .mark = TEST_BOTH,
          .reason = "what is wrong is reported; the twin has it wrong on purpose")
{
    for (size_t f = 0; f < COUNT_OF(depth_formats); f++)
        for (size_t size = 0; size < 2; size++)
            for (int dedicated = 0; dedicated < 2; dedicated++)
                try_depth(p, &depth_formats[f], depth_sizes[size].width, depth_sizes[size].height,
                          dedicated);
}

enum { PLANE_ALIGNMENT = 65536 }; /* of a plane of a disjoint image (measured) */

typedef struct plane_format {
    const char *name;
    VkFormat vk, of[2];
    unsigned bytes, half_width, half_height;
} plane_format;

#define EIGHT                                                                                      \
    {                                                                                              \
        VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM                                                   \
    }
static const plane_format plane_formats[] = {
    {"NV12", VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, EIGHT, 1, 1, 1},
    TEST_ROW("P010", VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16,
             {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM}, 2, 1, 1),
    {"NV16", VK_FORMAT_G8_B8R8_2PLANE_422_UNORM, EIGHT, 1, 1, 0},
    {"444", VK_FORMAT_G8_B8R8_2PLANE_444_UNORM, EIGHT, 1, 0, 0},
};
static const struct {
    uint32_t width, height;
} plane_sizes[] = {{130, 66}, {1920, 1080}};
typedef struct plane_image {
    pair *p;
    const plane_format *format;
    const char *what;
    raw_vk_image vk;
    raw_vk_buffer block; /* a disjoint image's memory */
    CUexternalMemory memory;
    uint64_t at[2]; /* where each plane begins */
} plane_image;

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

static VkMemoryRequirements plane_needs(const plane_image *i, VkImageAspectFlagBits aspect)
{
    const VkImagePlaneMemoryRequirementsInfo plane = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO, .planeAspect = aspect};
    const VkImageMemoryRequirementsInfo2 info =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .pNext = &plane,
                 .image = i->vk.image);
    VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    vkGetImageMemoryRequirements2(i->p->vk.device, &info, &needs);
    return needs.memoryRequirements;
}

/* In a buffer's memory, plane after plane. */
static void make_disjoint(plane_image *i)
{
    const raw_vk_image_desc *d = &i->vk.desc;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo info =
        raw_vk_image_info(d->format, d->width, d->height,
                          VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.pNext = &external;
    info.flags = d->create_flags;
    VkBindImagePlaneMemoryInfo planes[2];
    VkBindImageMemoryInfo binds[2];
    VK_OK(vkCreateImage(i->p->vk.device, &info, NULL, &i->vk.image));
    i->vk.desc.depth = i->vk.desc.levels = i->vk.desc.layers = 1;
    i->vk.desc.dimensions = 2;
    const VkMemoryRequirements a = plane_needs(i, aspects[0]), b = plane_needs(i, aspects[1]);
    i->at[1] = round_up(a.size, b.alignment);
    raw_vk_buffer_create(&i->p->vk, i->at[1] + b.size, RAW_VK_EXPORT, &i->block);
    for (int n = 0; n < 2; n++) {
        planes[n] =
            (VkBindImagePlaneMemoryInfo)TEST_ROW(.sType =
                                                     VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                                 .planeAspect = aspects[n]);
        binds[n] =
            (VkBindImageMemoryInfo)TEST_ROW(.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                            .pNext = &planes[n], .image = i->vk.image,
                                            .memory = i->block.memory, .memoryOffset = i->at[n]);
    }
    VK_OK(vkBindImageMemory2(i->p->vk.device, 2, binds));
    i->vk.memory = i->block.memory;
    i->vk.allocation_size = i->block.allocation_size;
    raw_vk_image_first_layout(&i->p->vk, &i->vk, NULL);
    CU_OK(raw_cuda_import_memory(i->p->cu, raw_vk_buffer_fd(&i->p->vk, &i->block),
                                 i->block.allocation_size, false, &i->memory));
}

/* One piece of memory: plane 1 begins where an image of plane 0's format would end, rounded up
 * (measured). */
static void make_whole(plane_image *i)
{
    const raw_vk_image_desc d = i->vk.desc;
    const raw_vk_image_desc first = {
        .format = i->format->of[0], .width = d.width, .height = d.height, .flags = RAW_VK_EXPORT};
    raw_vk_image_create(&i->p->vk, &d, &i->vk);
    i->at[1] = round_up(raw_vk_image_needs(&i->p->vk, &first).size, PLANE_ALIGNMENT);
    CU_OK(raw_cuda_import_memory(i->p->cu, raw_vk_image_fd(&i->p->vk, &i->vk),
                                 i->vk.allocation_size, false, &i->memory));
}

static void compare_plane(plane_image *i, unsigned n)
{
    const plane_format *f = i->format;
    const VkExtent3D extent = {n && f->half_width ? i->vk.desc.width / 2 : i->vk.desc.width,
                               n && f->half_height ? i->vk.desc.height / 2 : i->vk.desc.height, 1};
    const size_t across = (size_t)extent.width * f->bytes * (n + 1), size = across * extent.height;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(
        f->bytes == 1 ? CU_AD_FORMAT_UNSIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT16, n + 1,
        extent.width, extent.height);
    CUmipmappedArray mipmap;
    CUresult result =
        raw_cuda_map_image(i->p->cu, i->memory, i->vk.offset + i->at[n], &desc, 1, &mipmap);
    CU_OK(result);
    const part all = TEST_ROW(&i->vk, aspects[n], 0, extent, across, extent.height, extent.height,
                              f->bytes == 2, OF_PLACED);
    const part_result r = copy_part(i->p, &all, image_level(i->p, mipmap, 0), n);
    CU_OK(r.read);
    CU_OK(r.written);
    test_answer_is(answer_key("%s, plane %u", i->what, n), r.to_cuda == 0 && r.to_vulkan == 0,
                   "of %zu bytes wrong: read by CUDA %zu, by Vulkan %zu", size, r.to_cuda,
                   r.to_vulkan);
    CU_OK(i->p->cu->MipmappedArrayDestroy(mipmap));
}

static void try_planes(pair *p, const plane_format *f, uint32_t width, uint32_t height,
                       bool disjoint)
{
    plane_image i = {.p = p, .format = f};
    i.vk.desc = image_desc(&(image_format){.vk = f->vk}, width, height, 0, 0);
    i.vk.desc.create_flags = disjoint ? VK_IMAGE_CREATE_DISJOINT_BIT : 0;
    char what[80];
    snprintf(what, sizeof what, "%s %ux%u%s", f->name, (unsigned)width, (unsigned)height,
             disjoint ? " disjoint" : "");
    i.what = what;
    if (!raw_vk_image_supported(&p->vk, &i.vk.desc)) {
        answer_so(what, p->cu->software, NO_IMAGE); /* lavapipe's versions differ */
        return;
    }
    if (disjoint)
        make_disjoint(&i);
    else
        make_whole(&i);
    /* Of lavapipe's own layout nothing is said here. */
    for (unsigned n = 0; n < 2 && (disjoint || !p->cu->software); n++)
        compare_plane(&i, n);
    CU_OK(p->cu->DestroyExternalMemory(i.memory));
    if (!disjoint) {
        raw_vk_image_destroy(&p->vk, &i.vk);
        return;
    }
    vkDestroyImage(p->vk.device, i.vk.image, NULL);
    raw_vk_buffer_destroy(&p->vk, &i.block);
}

/* A plane of a disjoint image is an image of the plane's format, where it is bound, and one of
 * another image where NVIDIA's driver was seen to put it. */
PAIR_CASE(planes, .mark = TEST_BOTH, .reason = "of disjoint images, on the twin")
{
    for (size_t f = 0; f < COUNT_OF(plane_formats); f++)
        for (size_t size = 0; size < 2; size++)
            for (int disjoint = 1; disjoint >= 0; disjoint--)
                try_planes(p, &plane_formats[f], plane_sizes[size].width, plane_sizes[size].height,
                           disjoint);
}
