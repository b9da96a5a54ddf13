/* SPDX-License-Identifier: MIT */
/* Images of several planes: an array each, on plain memory, which any Vulkan exports, and on
 * DISJOINT images where Vulkan has such. */
#include "library.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

/* Planes at multiples of what NVIDIA's driver aligns them to; chroma lies first. */
enum { WIDTH = 48, HEIGHT = 24, UNIT = 65536, MEMORY = 4 * UNIT };

typedef struct plane {
    uint32_t width, height, channels, bytes; /* of a texel */
    CUarray_format format;
} plane;

typedef struct row {
    culv_format format;
    uint32_t planes;
    plane plane[3];
    uint64_t offsets[3];
} row;

#define FULL  WIDTH, HEIGHT
#define HALF  WIDTH / 2, HEIGHT
#define SMALL WIDTH / 2, HEIGHT / 2
#define U8    CU_AD_FORMAT_UNSIGNED_INT8
#define U16   CU_AD_FORMAT_UNSIGNED_INT16

/* Restated from the formats' definitions, not taken from Culvert's table. */
static const row rows[] = {
    {CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, {{FULL, 1, 1, U8}, {SMALL, 2, 2, U8}}, {UNIT, 0, 0}},
    {CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM,
     3,
     {{FULL, 1, 1, U8}, {SMALL, 1, 1, U8}, {SMALL, 1, 1, U8}},
     {2 * UNIT, UNIT, 0}},
    {CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16,
     2,
     {{FULL, 1, 2, U16}, {HALF, 2, 4, U16}},
     {0, 3 * UNIT, 0}},
    {CULV_FORMAT_G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16,
     3,
     {{FULL, 1, 2, U16}, {FULL, 1, 2, U16}, {FULL, 1, 2, U16}},
     {3 * UNIT, 0, UNIT}},
    {CULV_FORMAT_G16_B16R16_2PLANE_444_UNORM,
     2,
     {{FULL, 1, 2, U16}, {FULL, 2, 4, U16}},
     {2 * UNIT, 0, 0}},
};

typedef struct scene {
    lib_world w;
    raw_vk_buffer buffer;
    culv_memory *memory;
} scene;

static void scene_open(scene *s)
{
    lib_open(&s->w);
    raw_vk_buffer_create(&s->w.vk, MEMORY, RAW_VK_EXPORT, &s->buffer);
    s->memory = lib_import(&s->w, &s->buffer);
}

static void scene_close(scene *s)
{
    culv_memory_destroy(&s->memory);
    raw_vk_buffer_destroy(&s->w.vk, &s->buffer);
    lib_close(&s->w);
}

static culv_image_desc describe(const row *r)
{
    culv_image_desc d = culv_image_desc_init();
    d.format = r->format;
    d.width = WIDTH;
    d.height = HEIGHT;
    memcpy(d.plane_offsets, r->offsets, sizeof d.plane_offsets);
    return d;
}

static void fill(unsigned char *bytes, size_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(lib_word(i, seed) >> 24);
}

/* Of images of several planes alike, whatever they are on. */
static void check_planes(const lib_world *w, culv_image *image, const row *r)
{
    static unsigned char texels[WIDTH * HEIGHT * 4], expected[WIDTH * HEIGHT * 4];
    const raw_cuda *cu = w->cu;
    CUarray array = NULL, again = NULL;
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    LIB_INVALID(culv_image_get_array(image, 0, r->planes, &array), LEVEL);
    LIB_INVALID(culv_image_get_surface(image, 0, r->planes, &surface), LEVEL);
    LIB_INVALID(culv_image_get_array(image, 1, 0, &array), LEVEL);
    REQUIRE(array == NULL && surface == 0);
    for (uint32_t pass = 0; pass < 2; pass++) /* all are written before one is read */
        for (uint32_t i = 0; i < r->planes; i++) {
            const plane *p = &r->plane[i];
            const size_t row_bytes = (size_t)p->width * p->bytes, size = row_bytes * p->height;
            CUDA_ARRAY3D_DESCRIPTOR d;
            LIB_OK(culv_image_get_array(image, 0, i, &array));
            LIB_OK(culv_image_get_array(image, 0, i, &again));
            REQUIRE(array == again);
            fill(expected, size, 40 + i);
            CUcontext before = lib_enter(w);
            CU_OK(cu->Array3DGetDescriptor(&d, array));
            if (pass == 0)
                CU_OK(raw_cuda_write_box(cu, array, expected, row_bytes, p->height, 1));
            else
                CU_OK(raw_cuda_read_box(cu, array, texels, row_bytes, p->height, 1));
            lib_leave(w, before);
            REQUIRE(d.Width == p->width && d.Height == p->height && d.NumChannels == p->channels &&
                    d.Format == p->format);
            if (pass == 1) REQUIRE(memcmp(texels, expected, size) == 0);
        }
    for (uint32_t i = 0; i < r->planes; i++) {
        culv_texture_desc t = culv_texture_desc_init();
        t.plane = i;
        LIB_OK(culv_image_get_surface(image, 0, i, &surface));
        LIB_OK(culv_image_get_texture(image, &t, &texture));
        REQUIRE(surface != 0 && texture != 0);
    }
}

TEST(plain_memory)
{
    scene s;
    scene_open(&s);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_image_desc d = describe(&rows[i]), told = culv_image_desc_init();
        NEW(OWN(culv_image), image, culv_image_map, s.memory, &d);
        REQUIRE_EQ(lib_counts(&s.w).mappings, 1);
        LIB_OK(culv_image_get_desc(image, &told));
        REQUIRE(memcmp(told.plane_offsets, rows[i].offsets, sizeof told.plane_offsets) == 0);
        REQUIRE(told.offset == 0 && told.mip_levels == 1 && told.array_layers == 1);
        check_planes(&s.w, image, &rows[i]);
        culv_image_unmap(&image, NULL);
        REQUIRE_EQ(lib_counts(&s.w).mappings, 0);
        /* Without surfaces. */
        CUsurfObject surface = 0;
        d.no_surfaces = 1;
        LIB_OK(culv_image_map(s.memory, &d, &image));
        LIB_INVALID(culv_image_get_surface(image, 0, 0, &surface), USAGE);
    }
    scene_close(&s);
}

/* Where the planes cannot be. */
TEST(wrong_places)
{
    static const struct {
        uint64_t offset, planes[3];
        culv_format format;
        const char *says;
    } wrong[] = {
        {0, {0, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {0, WIDTH * HEIGHT - 1, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {WIDTH * HEIGHT / 2 - 1, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "overlap"},
        {0, {0, UNIT, UNIT}, CULV_FORMAT_G8_B8_R8_3PLANE_444_UNORM, "planes 1 and 2"},
        {UNIT, {0, UNIT, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "leave offset 0"},
        {0, {MEMORY, 0, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[0]"},
        {0,
         {0, MEMORY - WIDTH * HEIGHT / 2 + 1, 0},
         CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM,
         "plane_offsets[1]"},
        {0, {0, UINT64_MAX, 0}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[1]"},
        {0, {0, UNIT, 2 * UNIT}, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, "plane_offsets[2]"},
        {0, {0, UNIT, UINT64_MAX - 7}, CULV_FORMAT_G8_B8_R8_3PLANE_420_UNORM, "plane_offsets[2]"},
        {0, {UNIT, 0, 0}, CULV_FORMAT_R8_UNORM, "plane_offsets[0]"},
        {0, {0, 0, 1}, CULV_FORMAT_R8_UNORM, "plane_offsets[2]"},
    };
    scene s;
    scene_open(&s);
    culv_image *image = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        culv_image_desc d = describe(&rows[0]);
        d.format = wrong[i].format;
        d.offset = wrong[i].offset;
        memcpy(d.plane_offsets, wrong[i].planes, sizeof d.plane_offsets);
        LIB_REFUSES(image, culv_image_map(s.memory, &d, &image), INVALID, RANGE, wrong[i].says);
    }
    culv_image_desc d = describe(&rows[0]);
    d.video_encode_decode = 1;
    LIB_REFUSES(image, culv_image_map(s.memory, &d, &image), INVALID, USAGE);
    d = describe(&rows[0]);
    d.texels = CULV_TEXELS_NORMALIZED;
    LIB_REFUSES(image, culv_image_map(s.memory, &d, &image), UNSUPPORTED, FORMAT);
    REQUIRE_EQ(lib_counts(&s.w).mappings, 0);
    raw_vk_buffer dedicated = lib_case_buffer(&s.w, MEMORY, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    culv_memory *memory = lib_import(&s.w, &dedicated);
    d = describe(&rows[0]);
    LIB_REFUSES(image, culv_image_map(memory, &d, &image), INVALID, DEDICATED, "DISJOINT");
    culv_memory_destroy(&memory);
    scene_close(&s);
}

/* Vulkan's images ------------------------------------------------------------------------------ */

static VkImageCreateInfo info_of(const row *r, const void *chain)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .pNext = chain,
                               .flags = VK_IMAGE_CREATE_DISJOINT_BIT,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = (VkFormat)r->format,
                               .extent = {WIDTH, HEIGHT, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_DST_BIT};
}

static void check_made(const lib_world *w, const row *r)
{
    const VkImageCreateInfo info = info_of(r, NULL);
    VkDeviceSize size = 0;
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    culv_image_desc told = culv_image_desc_init();
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_check_image(w->attachment, &info, NULL, &sharing));
    NEW(OWN(culv_shared_image), made, culv_vk_image_create, w->attachment, &d);
    REQUIRE(culv_vk_image_memory(made, &size) != VK_NULL_HANDLE);
    LIB_OK(culv_image_get_desc(culv_shared_image_cuda(made), &told));
    REQUIRE_EQ(size, sharing.requirements.size);
    REQUIRE(memcmp(told.plane_offsets, sharing.image.plane_offsets, sizeof told.plane_offsets) ==
            0);
    REQUIRE(told.plane_offsets[1] > 0);
    check_planes(w, culv_shared_image_cuda(made), r);
}

/* The caller's image, each plane told right, and then all that can be told wrong. */
static void check_callers(const lib_world *w, const row *r)
{
    raw_vk *vk = (raw_vk *)&w->vk;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo info = info_of(r, &external);
    VkImageCreateInfo other = info;
    const raw_vk_image_desc rd = {.format = info.format,
                                  .width = WIDTH,
                                  .height = HEIGHT,
                                  .create_flags = info.flags,
                                  .planes = r->planes,
                                  .min_offset = 5000,
                                  .flags = RAW_VK_EXPORT | RAW_VK_UNTOUCHED};
    raw_vk_image callers;
    OWN(culv_memory) *memory = NULL;
    culv_image *image = NULL;
    raw_vk_image_create(vk, &rd, &callers);
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = callers.memory;
    md.allocation_size = callers.allocation_size;
    LIB_OK(culv_vk_memory_import(w->attachment, &md, &memory));
    culv_vk_image_desc right = culv_vk_image_desc_init(), d;
    right.image = callers.image;
    right.create_info = &info;
    memcpy(right.plane_offsets, callers.plane_offsets, sizeof right.plane_offsets);
    LIB_OK(culv_vk_image_map(w->attachment, memory, &right, &image));
    check_planes(w, image, r);
    culv_image_unmap(&image, NULL);
#define REFUSED(...)                                                                               \
    LIB_REFUSES(image, culv_vk_image_map(w->attachment, memory, &d, &image), __VA_ARGS__)
    d = right;
    d.plane_offsets[1] += 1;
    REFUSED(INVALID, RANGE, "the second plane's alignment");
    /* Plane 0 lies last, so it fits wherever another one does, whatever the driver makes of their
     * sizes. */
    d = right;
    REQUIRE(d.plane_offsets[0] > d.plane_offsets[1]);
    d.plane_offsets[0] = d.plane_offsets[1];
    REFUSED(INVALID, RANGE, "overlap");
    d = right;
    d.plane_offsets[1] = callers.allocation_size;
    REFUSED(INVALID, RANGE, "the second plane needs");
    d = right;
    d.plane_offsets[0] = UINT64_MAX;
    REFUSED(INVALID, RANGE, "the first plane needs");
    d = right;
    d.offset = callers.plane_offsets[0];
    REFUSED(INVALID, RANGE, "leave offset 0");
    if (r->planes == 2) {
        d = right;
        d.plane_offsets[2] = 65536;
        REFUSED(INVALID, RANGE, "plane_offsets[2]");
    }
    d = right;
    d.create_info = &other;
    other.flags = 0;
    REFUSED(UNSUPPORTED, USAGE, "VkBindImagePlaneMemoryInfo");
    other = info;
    other.extent.width += 64;
    culv_error e = culv_error_init();
    REQUIRE_EQ(culv_vk_image_map(w->attachment, memory, &d, &image), CULV_ERROR_INVALID);
    culv_last_error(&e); /* by what the planes need, or by where the last one ends */
    REQUIRE(e.reason == CULV_REASON_EXTENT || e.reason == CULV_REASON_RANGE);
    culv_memory_destroy(&memory);
    md.dedicated = VK_TRUE; /* which it is not, but the driver does not say so */
    LIB_OK(culv_vk_memory_import(w->attachment, &md, &memory));
    d = right;
    REFUSED(INVALID, DEDICATED, "DISJOINT");
    raw_vk_image_destroy(vk, &callers);
}

TEST(disjoint)
{
    lib_world w;
    unsigned count = 0;
    lib_open(&w);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!lib_disjoint(&w, (VkFormat)rows[i].format)) continue;
        check_made(&w, &rows[i]);
        check_callers(&w, &rows[i]);
        count++;
    }
    lib_close(&w);
    if (count == 0) SKIP("this Vulkan has no DISJOINT images");
    MEASURED("disjoint", "%u of %zu formats", count, sizeof rows / sizeof rows[0]);
}

/* A DISJOINT image has no dedicated allocation, so it is not shared where that is a must. */
TEST(dedicated_only)
{
    lib_world w;
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    const VkImageCreateInfo info = info_of(&rows[0], NULL);
    lib_open(&w);
    if (!lib_disjoint(&w, info.format)) {
        lib_close(&w);
        SKIP("this Vulkan has no DISJOINT images");
    }
    culv_vk_device_desc vd = lib_vk_desc(&w);
    vd.get_instance_proc_addr = lib_lying_loader;
    lib_lying.dedicated_only = true;
    NEW(culv_vk_device, vk, culv_vk_attach, w.device, &vd);
    LIB_ERROR(culv_vk_check_image(vk, &info, NULL, &sharing), UNSUPPORTED, NOT_EXPORTABLE,
              "an image for each plane");
    culv_vk_detach(&vk);
    lib_lying = (lib_lies){.missing = NULL};
    lib_close(&w);
}
