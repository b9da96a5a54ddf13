/* SPDX-License-Identifier: MIT */
/* Contract rows: formats of several planes, as arrays of CUDA's own and of Vulkan's images. */
#define TEST_GROUP "planes."
#include "images.h"

#define REPORTED "the twin's answers are required, NVIDIA's reported"

typedef struct plane_row {
    const char *name;
    int cu;      /* by number, as older cuda.h files lack the names */
    VkFormat vk; /* UNDEFINED: none of the same layout */
    unsigned channels, planes, bytes, half_width, half_height;
} plane_row;

static const plane_row rows[] = {
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
    {"YUY2", 0xa5, VK_FORMAT_G8B8G8R8_422_UNORM, 2, 0, 2, 1, 0},
    {"Y210", 0xa6, VK_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, 2, 0, 4, 1, 0},
    {"Y216", 0xa7, VK_FORMAT_G16B16G16R16_422_UNORM, 2, 0, 4, 1, 0},
    {"AYUV", 0xa8, VK_FORMAT_UNDEFINED, 4, 0, 4, 0, 0},
    {"Y410", 0xa9, VK_FORMAT_UNDEFINED, 4, 0, 4, 0, 0},
    {"Y416", 0xb1, VK_FORMAT_UNDEFINED, 4, 0, 8, 0, 0},
};
#define ROWS     (sizeof rows / sizeof rows[0])
#define NO_IMAGE "Vulkan exports no such image"
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
static void try_formats(size_t first, size_t end)
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
    pair p;
    pair_open(&p);
    if (p.cu->ArrayGetPlane == NULL) SKIP("this driver has no planes");
    for (size_t i = first; i < end; i++)
        for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
            const plane_row *row = &rows[i];
            const unsigned channels =
                variants[v].channels == 0 ? row->channels : variants[v].channels;
            CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(
                (CUarray_format)row->cu, channels, variants[v].width, variants[v].height);
            CUarray array = NULL;
            desc.Flags = variants[v].flags;
            const CUresult result = p.cu->Array3DCreate(&array, &desc);
            const bool odd = (row->half_width && desc.Width % 2 != 0) ||
                             (row->half_height && desc.Height % 2 != 0);
            answer_call(answer_key("%s, %s", row->name, variants[v].what), result);
            /* For the encoder and the decoder alone; of two formats there are none at all. */
            const bool there = desc.Flags == VIDEO && channels == row->channels && !odd &&
                               row->cu != 0xa5 && row->cu != 0xa9;
            CU_IS(result, there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
            if (result != CUDA_SUCCESS) continue;
            if (p.cu->software) report_planes(&p, row, variants[v].what, array);
            CU_OK(p.cu->ArrayDestroy(array));
        }
    pair_close(&p);
}

IMAGE_ROWS(formats, "planes.formats", "planes.formats_child", ROWS, (ROWS + 1) / 2, try_formats,
           .mark = TEST_TWIN_STRICTER, .reason = REPORTED)

/* Planes of a CUDA array hold what is copied to them, each for itself. */
TEST(copies_of_planes, .title = "planes.copies", .mark = TEST_TWIN_STRICTER, .reason = REPORTED)
{
    pair p;
    CUarray array, planes[2];
    unsigned char in[W * H], out[W * H];
    pair_open(&p);
    if (p.cu->ArrayGetPlane == NULL) SKIP("this driver has no planes");
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_NV12, 3, W, H);
    desc.Flags = 0;
    answer_is("cuArray3DCreate", p.cu->Array3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
    if (!p.cu->software) {
        pair_close(&p);
        return;
    }
    desc.Flags = VIDEO;
    array = raw_cuda_array(p.cu, &desc);
    for (unsigned i = 0; i < 2; i++) {
        const size_t height = i == 0 ? H : H / 2; /* W bytes a row, each of them */
        CU_OK(p.cu->ArrayGetPlane(&planes[i], array, i));
        for (size_t k = 0; k < sizeof in; k++)
            in[k] = (unsigned char)(k * 31 + i);
        CU_OK(raw_cuda_write_array(p.cu, planes[i], in, W, height));
    }
    for (unsigned i = 0; i < 2; i++) {
        const size_t height = i == 0 ? H : H / 2;
        CU_OK(raw_cuda_read_array(p.cu, planes[i], out, W, height));
        for (size_t k = 0; k < sizeof in; k++)
            in[k] = (unsigned char)(k * 31 + i);
        const size_t wrong = image_wrong_bytes(out, in, W * height);
        ANSWER(answer_key("plane %u", i), "%zu of %zu bytes wrong", wrong, W * height);
    }
    /* Of the whole, which has no elements of its own. */
    image_answer("copy", "the whole array", raw_cuda_read_array(p.cu, array, out, W, 1));
    pair_close(&p);
}

static const VkImageAspectFlagBits aspects[] = {
    VK_IMAGE_ASPECT_PLANE_0_BIT, VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};

/* Vulkan's image of several planes, mapped with the CUDA format of that layout. */
static void compare_planes(pair *p, const plane_row *row, const raw_vk_image *vk, CUarray array)
{
    unsigned char *found = test_memory(W * H * 4);
    raw_vk_buffer staging;
    raw_vk_buffer_create(&p->vk, W * H * 4, RAW_VK_HOST, &staging);
    unsigned char *bytes = staging.mapped;
    for (unsigned i = 0; i < row->planes; i++) {
        CUarray plane = NULL;
        const unsigned channels = i > 0 && row->planes == 2 ? 2 : 1;
        const VkExtent3D extent = {i > 0 && row->half_width ? W / 2 : W,
                                   i > 0 && row->half_height ? H / 2 : H, 1};
        const size_t across = extent.width * channels * row->bytes, size = across * extent.height;
        CUresult result = p->cu->ArrayGetPlane(&plane, array, i);
        if (result != CUDA_SUCCESS) {
            answer_call(answer_key("%s, plane %u", row->name, i), result);
            continue;
        }
        for (size_t k = 0; k < size; k++) /* 10 bits lie in the upper ones of 16 */
            bytes[k] =
                (unsigned char)((k * 29 + i) & (row->bytes == 2 && k % 2 == 0 ? 0xc0 : 0xff));
        unsigned char *expected = test_memory(size);
        memcpy(expected, bytes, size);
        image_copy_part(p, vk, aspects[i], 0, extent, &staging, true);
        memset(found, 0, size);
        result = raw_cuda_read_array(p->cu, plane, found, across, extent.height);
        ANSWER(answer_key("%s, plane %u read by CUDA", row->name, i), "%s, %zu of %zu bytes wrong",
               raw_cuda_result_name(result), image_wrong_bytes(found, expected, size), size);
        for (size_t k = 0; k < size; k++)
            found[k] = expected[k] =
                (unsigned char)(expected[k] ^ (row->bytes == 2 && k % 2 == 0 ? 0x40 : 0x33));
        result = raw_cuda_write_array(p->cu, plane, found, across, extent.height);
        CU_OK(p->cu->CtxSynchronize());
        memset(bytes, 0, size);
        image_copy_part(p, vk, aspects[i], 0, extent, &staging, false);
        ANSWER(answer_key("%s, plane %u written by CUDA", row->name, i),
               "%s, %zu of %zu bytes wrong", raw_cuda_result_name(result),
               image_wrong_bytes(bytes, expected, size), size);
    }
    raw_vk_buffer_destroy(&p->vk, &staging);
}

static void try_mapped(size_t first, size_t end)
{
    pair p;
    unsigned found = 0;
    pair_open(&p);
    if (p.cu->ArrayGetPlane == NULL) SKIP("this driver has no planes");
    static const unsigned flags[] = {0, CUDA_ARRAY3D_SURFACE_LDST, VIDEO};
    for (size_t i = first; i < end; i++) {
        const plane_row *row = &rows[i];
        const raw_vk_image_desc desc = {
            .format = row->vk, .width = W, .height = H, .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED};
        const CUDA_ARRAY3D_DESCRIPTOR array =
            raw_cuda_array_desc((CUarray_format)row->cu, row->channels, W, H);
        CUmipmappedArray mipmap = NULL;
        if (row->vk == VK_FORMAT_UNDEFINED || row->planes == 0) continue;
        if (!raw_vk_image_supported(&p.vk, &desc)) {
            for (size_t n = 0; n < sizeof flags / sizeof flags[0]; n++)
                ANSWER(answer_key("%s, flags 0x%x", row->name, flags[n]), NO_IMAGE);
            continue;
        }
        found++;
        raw_vk_image vk = pair_vk_image(&p, &desc);
        CUexternalMemory memory =
            raw_cuda_imported(p.cu, raw_vk_image_fd(&p.vk, &vk), vk.allocation_size, true);
        for (size_t n = 0; n < sizeof flags / sizeof flags[0]; n++) {
            CUDA_ARRAY3D_DESCRIPTOR wanted = array;
            wanted.Flags = flags[n];
            const CUresult result = raw_cuda_map_image(p.cu, memory, 0, &wanted, 1, &mipmap);
            answer_call(answer_key("%s, flags 0x%x", row->name, wanted.Flags), result);
            /* Without the flag for video NV12 alone is mapped, as an H200 has it. */
            const bool there = row->cu == CU_AD_FORMAT_NV12 || wanted.Flags == VIDEO;
            if (p.cu->software) CU_IS(result, there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
            if (result != CUDA_SUCCESS) continue;
            if (wanted.Flags == 0) {
                report_planes(&p, row, "mapped", image_level(&p, mipmap, 0));
                compare_planes(&p, row, &vk, image_level(&p, mipmap, 0));
            }
            CU_OK(p.cu->MipmappedArrayDestroy(mipmap));
        }
    }
    pair_close(&p);
    if (p.cu->software && found == 0) SKIP("lavapipe has no images of several planes");
}

IMAGE_ROWS(
    mapped, "planes.mapped", "planes.mapped_child", ROWS, (ROWS + 1) / 2, try_mapped,
    .mark = TEST_NVIDIA_ONLY,
    .reason =
        "reported; where Mesa puts the planes of an image the twin does not know, and refuses")
