/* SPDX-License-Identifier: MIT */
/* Descriptors of images, of what Culvert makes, and of images' barriers, of older and newer
 * programs. */
#include "core_structs.h"
#include "image_stage.h"

/* What the calls below map. */
static shared_image subject;

#define UNDONE(type, object, result, undo)                                                         \
    do {                                                                                           \
        if ((result) == CULV_OK)                                                                   \
            undo(&(object), NULL);                                                                 \
        else                                                                                       \
            REQUIRE((object) == POISON(type));                                                     \
        return (result);                                                                           \
    } while (0)

static culv_result map(lib_world *w, const void *desc)
{
    culv_image *image = POISON(culv_image);
    (void)w;
    culv_result r = culv_image_map(subject.memory, desc, &image);
    UNDONE(culv_image, image, r, culv_image_unmap);
}

static culv_result map_vk(lib_world *w, const void *desc)
{
    culv_image *image = POISON(culv_image);
    culv_result r = culv_vk_image_map(w->attachment, subject.memory, desc, &image);
    UNDONE(culv_image, image, r, culv_image_unmap);
}

static culv_result make_buffer(lib_world *w, const void *desc)
{
    culv_shared_buffer *buffer = POISON(culv_shared_buffer);
    culv_result r = culv_vk_buffer_create(w->attachment, desc, &buffer);
    UNDONE(culv_shared_buffer, buffer, r, culv_shared_buffer_destroy);
}

static culv_result make_image(lib_world *w, const void *desc)
{
    culv_shared_image *image = POISON(culv_shared_image);
    culv_result r = culv_vk_image_create(w->attachment, desc, &image);
    UNDONE(culv_shared_image, image, r, culv_shared_image_destroy);
}

static culv_result barriers(lib_world *w, const void *desc)
{
    culv_vk_image_barrier one;
    VkImageMemoryBarrier2 two;
    (void)w;
    culv_result r = culv_vk_image_get_barrier(desc, CULV_VK_RELEASE, &one);
    REQUIRE_EQ(culv_vk_image_get_barrier(desc, CULV_VK_ACQUIRE, &one), r);
    REQUIRE_EQ(culv_vk_image_get_barrier2(desc, CULV_VK_RELEASE, &two), r);
    REQUIRE_EQ(culv_vk_image_get_barrier2(desc, CULV_VK_ACQUIRE, &two), r);
    return r;
}

IMAGE_CASE(descriptors, .title = "structs.image_descriptors")
{
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &subject);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, &external);
    const VkImageCreateInfo plain = image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 1, 0, NULL);
    const VkBufferCreateInfo buffer_info =
        raw_vk_buffer_info(4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_image_desc image = culv_image_desc_init();
    image.format = CULV_FORMAT_R8G8B8A8_UNORM;
    image.width = image.height = 64;
    culv_vk_image_desc vk_image = culv_vk_image_desc_init();
    vk_image.image = subject.image;
    vk_image.create_info = &info;
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    buffer.create_info = &buffer_info;
    culv_vk_image_create_desc made = culv_vk_image_create_desc_init();
    made.create_info = &plain;
    culv_vk_image_transfer transfer = culv_vk_image_transfer_init();
    transfer.queue_family = 0;
    transfer.image = subject.image;
    const described rows[] = {
        {"culv_image_desc", &image, sizeof image, offsetof(culv_image_desc, mip_levels), map},
        {"culv_vk_image_desc", &vk_image, sizeof vk_image, offsetof(culv_vk_image_desc, offset),
         map_vk},
        {"culv_vk_buffer_create_desc", &buffer, sizeof buffer,
         offsetof(culv_vk_buffer_create_desc, memory_properties), make_buffer},
        {"culv_vk_image_create_desc", &made, sizeof made,
         offsetof(culv_vk_image_create_desc, memory_properties), make_image},
        {"culv_vk_image_transfer", &transfer, sizeof transfer,
         offsetof(culv_vk_image_transfer, base_mip_level), barriers},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        described_check(&s->w, &rows[i]);
    shared_image_close(s, &subject);
}
