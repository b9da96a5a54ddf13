/* culv_image_map() and what is asked of an image, called wrongly. SPDX-License-Identifier: MIT */
#include "image_stage.h"

extern const test_case map_error_cases[];

/* Without Vulkan's word for it: what the descriptor and the allocation contradict in. */
static void maps(void)
{
    stage s;
    shared_image i, at;
    culv_image *mapped = NULL;
    stage_open(&s);
    shared_image_open(&s, CALLERS_DEDICATED, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &i);
    shared_image_open(&s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    const uint64_t size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        uint64_t offset;
        uint32_t format, width, height, levels;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {offset, 0, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 38, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, UINT32_MAX, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 100, 0, 64, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 0, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 1, UINT32_MAX, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, UINT32_MAX, UINT32_MAX, 32, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, 8, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 1, 1, 2, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {offset, 100, 64, 64, UINT32_MAX, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {size, 100, 64, 64, 7, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {size - 1, 100, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {UINT64_MAX, 100, 64, 64, 7, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {UINT64_MAX - 3, 100, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {offset, 100, 4096, 4096, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {offset, 109, 65536, 65536, 1, CULV_ERROR_INVALID, CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = rows[n].offset;
        d.format = (culv_format)rows[n].format;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.mip_levels = rows[n].levels;
        LIB_REFUSES(culv_image, mapped, culv_image_map(at.memory, &d, &mapped), rows[n].result,
                    rows[n].reason);
    }
    culv_image_desc d = culv_image_desc_init();
    LIB_REFUSES(culv_image, mapped, culv_image_map(at.memory, &d, &mapped), CULV_ERROR_UNSUPPORTED,
                CULV_REASON_FORMAT); /* nothing said */
    d.format = CULV_FORMAT_R32_SFLOAT;
    d.width = d.height = 16;
    d.offset = 4096;
    LIB_REFUSES(culv_image, mapped, culv_image_map(i.memory, &d, &mapped), CULV_ERROR_INVALID,
                CULV_REASON_DEDICATED);
    LIB_REFUSES(culv_image, mapped, culv_image_map(NULL, &d, &mapped), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
    LIB_REFUSES(culv_image, mapped, culv_image_map(at.memory, NULL, &mapped), CULV_ERROR_INVALID,
                CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_image_map(at.memory, &d, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    culv_device_counts c = lib_counts(&s.w);
    REQUIRE_EQ(c.images, 2);
    REQUIRE_EQ(c.mappings, 2);
    shared_image_close(&s, &at);
    shared_image_close(&s, &i);
    stage_close(&s);
}

static void levels(void)
{
    static const uint32_t wrong[] = {3, 4, 31, 32, 33, UINT32_MAX};
    stage s;
    shared_image i;
    stage_open(&s);
    shared_image_open(&s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 3, 0, &i);
    CUarray array = POISON(struct CUarray_st);
    CUsurfObject surface = 99;
    uint32_t width = 98, height = 97;
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        LIB_ERROR(culv_image_array(i.cuda, wrong[n], &array), CULV_ERROR_INVALID, CULV_REASON_LEVEL);
        LIB_ERROR(culv_image_surface(i.cuda, wrong[n], &surface), CULV_ERROR_INVALID, CULV_REASON_LEVEL);
        LIB_ERROR(culv_image_extent(i.cuda, wrong[n], &width, &height), CULV_ERROR_INVALID,
                  CULV_REASON_LEVEL);
    }
    LIB_ERROR(culv_image_array(NULL, 0, &array), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_image_array(i.cuda, 0, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_image_surface(NULL, 0, &surface), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_image_surface(i.cuda, 0, NULL), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    LIB_ERROR(culv_image_extent(NULL, 0, &width, &height), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    REQUIRE(array == POISON(struct CUarray_st) && surface == 99 && width == 98 && height == 97);
    shared_image_close(&s, &i);
    stage_close(&s);
}

/* The caller's memory is only borrowed by a mapping that fails: its descriptor and its other mappings stay. */
static void handles_stay_untouched(void)
{
    lib_world w;
    lib_open(&w);
    raw_vk_image image;
    const raw_vk_image_desc wanted = {.format = VK_FORMAT_R32_SFLOAT,
                                      .width = 64,
                                      .height = 64,
                                      .levels = 1,
                                      .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED};
    raw_vk_image_create(&w.vk, &wanted, &image);
    lib_fd fd = lib_fd_watch(raw_vk_image_fd(&w.vk, &image));
    culv_memory *memory = NULL;
    culv_image *mapped = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    md.handle = culv_handle_opaque_fd(fd.fd);
    md.size = image.allocation_size;
    md.dedicated = 1;
    LIB_OK(culv_memory_import_borrow(w.device, &md, &memory));
    culv_image_desc d = culv_image_desc_init();
    d.format = CULV_FORMAT_R32_SFLOAT;
    d.width = d.height = 64;
    d.mip_levels = 100;
    LIB_REFUSES(culv_image, mapped, culv_image_map(memory, &d, &mapped), CULV_ERROR_INVALID,
                CULV_REASON_EXTENT);
    lib_fd_require_untouched(&fd);
    d.mip_levels = 0; /* one */
    LIB_OK(culv_image_map(memory, &d, &mapped));
    REQUIRE_EQ(culv_image_mip_levels(mapped), 1);
    culv_image_unmap(&mapped);
    culv_memory_destroy(&memory);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    raw_vk_image_destroy(&w.vk, &image);
    lib_close(&w);
}

const test_case map_error_cases[] = {
    {.name = "maps.wrong_descriptors", .run = maps},
    {.name = "maps.levels", .run = levels},
    {.name = "maps.handles_stay_untouched", .run = handles_stay_untouched},
    {.name = NULL},
};
