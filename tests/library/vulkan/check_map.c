/* SPDX-License-Identifier: MIT */
/* Mapping an image of the caller's holds its create_info against the image, as far as Vulkan
 * tells. */
#define TEST_GROUP "map."
#include "check_stage.h"
#include "raw_vulkan_image.h"

enum { SIDE = 256, LEVELS = 5 };

typedef struct subject {
    lib_world w;
    culv_vk_device *vk;
    raw_vk_image image;
    culv_memory *memory;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info; /* what the image was created with */
    culv_vk_image_desc desc;
} subject;

/* By the loader that counts. */
static void subject_open(subject *s, uint32_t levels, unsigned flags, uint32_t api_version)
{
    const raw_vk_image_desc wanted = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .width = SIDE,
                                      .height = SIDE,
                                      .levels = levels,
                                      .flags = RAW_VK_EXPORT | RAW_VK_DEDICATED | flags};
    lib_open(&s->w);
    if (!raw_vk_image_supported(&s->w.vk, &wanted)) SKIP("no such image can be exported here");
    raw_vk_image_create(&s->w.vk, &wanted, &s->image);
    s->vk = check_attach(&s->w, api_version);
    culv_vk_memory_desc m = culv_vk_memory_desc_init();
    m.memory = s->image.memory;
    m.allocation_size = s->image.allocation_size;
    m.dedicated = VK_TRUE;
    m.image = s->image.image;
    LIB_OK(culv_vk_memory_import(s->vk, &m, &s->memory));
    s->external = (VkExternalMemoryImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    s->info = check_image_info(wanted.format, SIDE, SIDE);
    s->info.pNext = &s->external;
    s->info.mipLevels = levels;
    s->info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (flags & RAW_VK_LINEAR) s->info.tiling = VK_IMAGE_TILING_LINEAR;
    s->desc = culv_vk_image_desc_init();
    s->desc.image = s->image.image;
    s->desc.create_info = &s->info;
}

static void subject_close(subject *s)
{
    culv_memory_destroy(&s->memory);
    culv_vk_detach(&s->vk);
    raw_vk_image_destroy(&s->w.vk, &s->image);
    lib_close(&s->w);
}

TEST(another_create_info)
{
    subject s;
    culv_image *mapped = NULL;
    check_spy = (check_spying){.sharing = 0};
    subject_open(&s, LEVELS, 0, VK_API_VERSION_1_3);
    VkImageCreateInfo others[5];
    for (size_t n = 0; n < 5; n++)
        others[n] = s.info;
    others[0].mipLevels = 1;
    others[1].extent.width = SIDE / 2;
    others[2].extent.height = SIDE / 2;
    others[3].format = VK_FORMAT_R8_UNORM;
    others[4].arrayLayers = 3;
    others[4].mipLevels = 1;
    others[4].extent.width = SIDE / 4;
    for (size_t n = 0; n < 5; n++) {
        s.desc.create_info = &others[n];
        LIB_REFUSES(mapped, culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped), INVALID, EXTENT);
        printf("%s\n", culv_last_error_message());
        LIB_SAYS("create_info is not what this image was created with");
        LIB_SAYS("vkCreateImage");
    }
    s.desc.create_info = &s.info;
    LIB_OK(culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped));
    culv_image_unmap(&mapped, NULL);
    /* What is asked for it is kept as other answers are. */
    check_spy.sharing = check_spy.needs = 0;
    LIB_OK(culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped));
    REQUIRE_EQ(check_spy.sharing + check_spy.needs, 0);
    culv_image_unmap(&mapped, NULL);
    subject_close(&s);
}

TEST(another_linear)
{
    subject s;
    culv_buffer *buffer = NULL;
    culv_subresource_layout p = culv_subresource_layout_init();
    check_spy = (check_spying){.sharing = 0};
    subject_open(&s, 1, RAW_VK_LINEAR, VK_API_VERSION_1_3);
    VkImageCreateInfo other = s.info;
    other.extent.height = SIDE / 2;
    s.desc.create_info = &other;
    LIB_REFUSES(buffer, culv_vk_image_map_pitched(s.vk, s.memory, &s.desc, 0, 0, &buffer, &p),
                INVALID, EXTENT, "create_info is not what this image was created with");
    s.desc.create_info = &s.info;
    LIB_OK(culv_vk_image_map_pitched(s.vk, s.memory, &s.desc, 0, 0, &buffer, &p));
    REQUIRE_EQ(p.height, SIDE);
    culv_buffer_unmap(&buffer, NULL);
    subject_close(&s);
}

/* Without vkGetDeviceImageMemoryRequirements() only what does not fit is seen. */
TEST(not_told)
{
    subject s;
    culv_image *mapped = NULL;
    check_spy = (check_spying){.without_core = true, .without_khr = true};
    subject_open(&s, LEVELS, 0, VK_API_VERSION_1_2);
    VkImageCreateInfo other = s.info;
    other.mipLevels = 1;
    s.desc.create_info = &other;
    LIB_OK(culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped));
    REQUIRE_EQ(lib_image(mapped).mip_levels, 1);
    culv_image_unmap(&mapped, NULL);
    REQUIRE_EQ(check_spy.needs, 0);
    subject_close(&s);
}
