/* SPDX-License-Identifier: MIT */
/* Torture of the gate: each driver call behind it made to fail once. */
#include "check_stage.h"
#include "torture.h"

static void check_one(const VkImageCreateInfo *info, const culv_vk_check_desc *d)
{
    culv_vk_sharing_info s;
    memset(&s, 0x5a, sizeof s);
    s.struct_size = sizeof s;
    const culv_vk_sharing_info untouched = s;
    TRY_AGAIN(culv_vk_check_image(torture.w.attachment, info, d, &s),
              memcmp(&s, &untouched, sizeof s) == 0);
    REQUIRE_EQ(s.access, CULV_VK_ACCESS_ARRAY);
    REQUIRE_EQ(s.image.width, info->extent.width);
    REQUIRE(s.max_extent.width >= info->extent.width);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vk_check_desc d = culv_vk_check_desc_init();
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33);
    const VkBufferCreateInfo buffer = check_buffer_info(70000);
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    CUstream stream = torture_open();
    check_one(&info, NULL);
    d.no_surfaces = VK_TRUE;
    check_one(&info, &d);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.extent.depth = 5;
    info.format = VK_FORMAT_R32_SFLOAT;
    check_one(&info, NULL);
    TRY_AGAIN(culv_vk_check_buffer(w->attachment, &buffer, NULL, &s),
              s.access == CULV_VK_ACCESS_NONE);
    REQUIRE_EQ(s.access, CULV_VK_ACCESS_POINTER);
    torture_close(stream);
}

/* Attributes that the driver says not to know are no failures: less is limited then. Nothing is
 * allocated. */
static const torture_path path = {
    .any_driver = true, .unvalidated = true, .run = run, .least = {0, 2, 0}};
TORTURE_CASES("check", path)
