/* SPDX-License-Identifier: MIT */
/* Buffers and images that Culvert cannot make. */
#define TEST_GROUP "made."
#include "image_stage.h"

static const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;

/* More than there is. The size alone is against the specification, so validation stays off. */
TEST(too_big, .own = true)
{
    lib_with_option("--validation=off");
    lib_world w;
    lib_open(&w);
    culv_shared_buffer *made = NULL;
    static const VkDeviceSize sizes[] = {UINT64_C(1) << 50, UINT64_C(1) << 62, UINT64_MAX - 4095,
                                         UINT64_MAX};
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        if (n >= 2 && !w.cu->software)
            break; /* no driver owes an answer to a size that its sums cannot hold */
        const VkBufferCreateInfo info = raw_vk_buffer_info(sizes[n], usage);
        culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
        d.create_info = &info;
        made = POISON(culv_shared_buffer);
        culv_result r = culv_vk_buffer_create(w.attachment, &d, &made);
        printf("%#llx: %s\n", (unsigned long long)sizes[n], culv_last_error_message());
        REQUIRE(r == CULV_ERROR_OUT_OF_MEMORY || r == CULV_ERROR_DRIVER || r == CULV_ERROR_INVALID);
        REQUIRE(made == POISON(culv_shared_buffer));
        REQUIRE_EQ(lib_counts(&w).memories, 0);
    }
    lib_close(&w);
}

/* Memory that could be had, but not exported. */
LIB_CASE(export_fails)
{
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    const VkBufferCreateInfo info = raw_vk_buffer_info(4096, usage);
    const VkImageCreateInfo picture = image_info(VK_FORMAT_R32_SFLOAT, 16, 16, 1, 0, NULL);
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc i = culv_vk_image_create_desc_init();
    b.create_info = &info;
    i.create_info = &picture;
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.memory_fd_fails = true, .memory_fd_result = VK_ERROR_TOO_MANY_OBJECTS};
    vd.get_instance_proc_addr = lib_lying_loader;
    NEW(culv_vk_device, lying, culv_vk_attach, w->device, &vd);
    LIB_REFUSES(buffer, culv_vk_buffer_create(lying, &b, &buffer), DRIVER, NOT_EXPORTABLE);
    LIB_REFUSES(image, culv_vk_image_create(lying, &i, &image), DRIVER, NOT_EXPORTABLE);
    culv_vk_detach(&lying);
    REQUIRE_EQ(lib_counts(w).attached_devices, 1);
}
