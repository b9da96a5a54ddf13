/* SPDX-License-Identifier: MIT */
/* Torture of buffers and images: those that Culvert makes, and a caller's image mapped. */
#include "image_stage.h"
#include "torture.h"

enum { LEVELS = 2 };

/* Every level's array and surface, in either order. */
static void ask_for_levels(culv_image *image, bool surface_first)
{
    for (uint32_t level = 0; level < LEVELS; level++) {
        CUarray array = NULL;
        CUsurfObject surface = 0;
        if (surface_first) TRY_AGAIN(culv_image_get_surface(image, level, &surface), surface == 0);
        TRY_AGAIN(culv_image_get_array(image, level, &array), array == NULL);
        TRY_AGAIN(culv_image_get_surface(image, level, &surface), surface == 0);
        REQUIRE(array != NULL && surface != 0);
    }
}

static void require_counts(uint64_t buffers, uint64_t images, uint64_t created)
{
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(torture.w.device, &c), true);
    REQUIRE_EQ(c.buffers, buffers);
    REQUIRE_EQ(c.images, images);
    REQUIRE_EQ(c.created, created);
    REQUIRE_EQ(c.memories, buffers + images);
    REQUIRE_EQ(c.mappings, buffers + images);
    REQUIRE_EQ(c.attached_devices, 1);
}

/* Those that Culvert makes --------------------------------------------------------------------- */

static void buffers_run(void)
{
    lib_world *w = &torture.w;
    culv_shared_buffer *one = POISON(culv_shared_buffer), *two = POISON(culv_shared_buffer);
    const VkBufferCreateInfo info = raw_vk_buffer_info(70000, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    CUstream stream = torture_open();
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &one), one == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &two), two == POISON(culv_shared_buffer));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(one)), 7, 100,
                                       stream));
    require_counts(2, 0, 2);
    DO(culv_shared_buffer_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_buffer_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

static void images_run(void)
{
    lib_world *w = &torture.w;
    culv_shared_image *one = POISON(culv_shared_image), *two = POISON(culv_shared_image);
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, LEVELS, 0, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    CUstream stream = torture_open();
    TRY_AGAIN(culv_vk_image_create(w->attachment, &d, &one), one == POISON(culv_shared_image));
    TRY_AGAIN(culv_vk_image_create(w->attachment, &d, &two), two == POISON(culv_shared_image));
    ask_for_levels(culv_shared_image_cuda(one), false);
    ask_for_levels(culv_shared_image_cuda(two), true);
    require_counts(0, 2, 2);
    DO(culv_shared_image_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_image_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    torture_close(stream);
}

/* The caller's --------------------------------------------------------------------------------- */

static raw_vk_image callers;

static void callers_begin(void)
{
    const raw_vk_image_desc d = {.format = VK_FORMAT_R16G16B16A16_SFLOAT,
                                 .width = 61,
                                 .height = 33,
                                 .levels = LEVELS,
                                 .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED | RAW_VK_UNTOUCHED};
    raw_vk_image_create(&torture.w.vk, &d, &callers);
}

static void callers_end(void)
{
    raw_vk_image_destroy(&torture.w.vk, &callers);
}

static void callers_run(void)
{
    lib_world *w = &torture.w;
    culv_memory *memory = POISON(culv_memory);
    culv_image *one = POISON(culv_image), *two = POISON(culv_image);
    CUstream stream = torture_open();
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = callers.memory;
    md.allocation_size = callers.allocation_size;
    md.dedicated = VK_TRUE;
    md.image = callers.image;
    TRY_AGAIN(culv_vk_memory_import(w->attachment, &md, &memory), memory == POISON(culv_memory));
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(callers.desc.format, 61, 33, LEVELS, 0, &external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = callers.image;
    d.create_info = &info;
    TRY_AGAIN(culv_vk_image_map(w->attachment, memory, &d, &one), one == POISON(culv_image));
    ask_for_levels(one, true);
    require_counts(0, 1, 0);
    DO(culv_image_unmap(&one, NULL));
    TRY_AGAIN(culv_vk_image_map(w->attachment, memory, &d, &two), two == POISON(culv_image));
    ask_for_levels(two, false);
    DO(culv_memory_destroy(&memory));
    DO(culv_image_unmap(&two, &stream));
    REQUIRE(memory == NULL && one == NULL && two == NULL);
    torture_close(stream);
}

/* Of several planes ---------------------------------------------------------------------------- */

enum { PLANE = 65536 };
static raw_vk_buffer plain;

static void planes_begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, 2 * PLANE, RAW_VK_EXPORT, &plain);
}

static void planes_end(void)
{
    raw_vk_buffer_destroy(&torture.w.vk, &plain);
}

static void ask_for_planes(culv_image *image)
{
    for (uint32_t plane = 0; plane < 2; plane++) {
        CUarray array = NULL;
        CUsurfObject surface = 0;
        TRY_AGAIN(culv_image_get_plane_array(image, plane, &array), array == NULL);
        TRY_AGAIN(culv_image_get_plane_surface(image, plane, &surface), surface == 0);
        REQUIRE(array != NULL && surface != 0);
    }
}

/* On a buffer's memory, and as a DISJOINT image where Vulkan has such. */
static void planes_run(void)
{
    lib_world *w = &torture.w;
    culv_memory *memory = POISON(culv_memory);
    culv_image *one = POISON(culv_image);
    culv_shared_image *two = POISON(culv_shared_image);
    VkImageCreateInfo info = image_info(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 32, 16, 1, 0, NULL);
    info.flags = VK_IMAGE_CREATE_DISJOINT_BIT;
    CUstream stream = torture_open();
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = plain.memory;
    md.allocation_size = plain.allocation_size;
    TRY_AGAIN(culv_vk_memory_import(w->attachment, &md, &memory), memory == POISON(culv_memory));
    culv_image_desc d = culv_image_desc_init();
    d.format = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    d.width = 32;
    d.height = 16;
    d.plane_offsets[1] = PLANE;
    TRY_AGAIN(culv_image_map(memory, &d, &one), one == POISON(culv_image));
    ask_for_planes(one);
    require_counts(0, 1, 0);
    DO(culv_memory_destroy(&memory));
    if (lib_disjoint(w, info.format)) {
        culv_vk_image_create_desc made = culv_vk_image_create_desc_init();
        made.create_info = &info;
        TRY_AGAIN(culv_vk_image_create(w->attachment, &made, &two),
                  two == POISON(culv_shared_image));
        ask_for_planes(culv_shared_image_cuda(two));
        require_counts(0, 2, 1);
        DO(culv_shared_image_destroy(&two, NULL));
    }
    DO(culv_image_unmap(&one, &stream));
    lib_finish(w, stream);
    torture_close(stream);
}

static const torture_path buffers_path = {
    .any_driver = true, .run = buffers_run, .least = {6, 6, 4}};
static const torture_path images_path = {
    .any_driver = true, .unvalidated = true, .run = images_run, .least = {8, 6, 4}};
static const torture_path callers_path = {.any_driver = true,
                                          .begin = callers_begin,
                                          .run = callers_run,
                                          .end = callers_end,
                                          .least = {8, 2, 3}};
static const torture_path planes_path = {.any_driver = true,
                                         .unvalidated = true,
                                         .begin = planes_begin,
                                         .run = planes_run,
                                         .end = planes_end,
                                         .least = {7, 1, 2}};
TORTURE_CASES("buffers", buffers_path)
TORTURE_CASES("images", images_path)
TORTURE_CASES("callers", callers_path)
TORTURE_CASES("planes", planes_path)
