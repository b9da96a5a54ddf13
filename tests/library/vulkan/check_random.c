/* SPDX-License-Identifier: MIT */
/* What the gate says is what happens, of plans drawn by lot: if it says yes, the image or buffer
 * can be made and mapped and has the memory that was told; if no, making it is refused for the same
 * cause and leaves nothing.
 *   --plans=N   so many (1000)    --seed=N    others */
#define TEST_GROUP "random."
#include "check_stage.h"

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

#define PICK(list) (list)[draw((uint32_t)(sizeof(list) / sizeof((list)[0])))]

/* Once in `times`, something else. */
static bool seldom(uint32_t times)
{
    return draw(times) == 0;
}

static uint32_t side(void)
{
    static const uint32_t plain[] = {1, 2, 3, 7, 16, 33, 61, 64, 100, 129},
                          odd[] = {0, 1u << 20, 131073, UINT32_MAX};
    return seldom(25) ? PICK(odd) : PICK(plain);
}

static VkFormat format(void)
{
    static const VkFormat list[] = {
        VK_FORMAT_R8G8B8A8_UNORM,      VK_FORMAT_R8_UNORM,
        VK_FORMAT_R8G8_UINT,           VK_FORMAT_B8G8R8A8_SRGB,
        VK_FORMAT_R16_SFLOAT,          VK_FORMAT_R16G16B16A16_SNORM,
        VK_FORMAT_R32_SFLOAT,          VK_FORMAT_R32G32_UINT,
        VK_FORMAT_R32G32B32A32_SFLOAT, VK_FORMAT_R32G32B32_SFLOAT,
        VK_FORMAT_R8G8B8_UNORM,        VK_FORMAT_D32_SFLOAT,
        VK_FORMAT_D24_UNORM_S8_UINT,   VK_FORMAT_S8_UINT,
        VK_FORMAT_BC3_UNORM_BLOCK,     VK_FORMAT_A2B10G10R10_UNORM_PACK32};
    static const VkFormat odd[] = {VK_FORMAT_UNDEFINED, VK_FORMAT_MAX_ENUM, (VkFormat)190};
    return seldom(25) ? PICK(odd) : PICK(list);
}

static VkImageCreateInfo image(void)
{
    static const VkImageCreateFlags flags[] = {
        VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT, VK_IMAGE_CREATE_ALIAS_BIT,
        VK_IMAGE_CREATE_SPARSE_BINDING_BIT, VK_IMAGE_CREATE_PROTECTED_BIT,
        VK_IMAGE_CREATE_DISJOINT_BIT,       1u << 25};
    static const VkImageUsageFlags usages[] = {
        VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
        VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    static const VkImageType types[] = {VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_1D,
                                        VK_IMAGE_TYPE_3D};
    static const uint32_t layers[] = {1, 2, 5, 6, 12, 13}, levels[] = {0, 9, 32, UINT32_MAX};
    VkImageCreateInfo info = check_image_info(format(), side(), 1);
    info.imageType = PICK(types);
    if (info.imageType != VK_IMAGE_TYPE_1D || seldom(20)) info.extent.height = side();
    if (info.imageType == VK_IMAGE_TYPE_3D || seldom(20))
        info.extent.depth = seldom(4) ? side() : 1 + draw(9);
    if (info.imageType != VK_IMAGE_TYPE_3D || seldom(20))
        info.arrayLayers = seldom(2) ? PICK(layers) : 1;
    if (info.imageType == VK_IMAGE_TYPE_2D && seldom(4)) {
        info.flags |= VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
        if (!seldom(4)) info.extent.height = info.extent.width;
        if (!seldom(4)) info.arrayLayers = 6 * (1 + draw(3));
    }
    if (seldom(2)) info.mipLevels = 1 + draw(4);
    if (seldom(20)) info.mipLevels = PICK(levels);
    if (seldom(8)) info.flags |= PICK(flags);
    if (seldom(2)) info.usage |= PICK(usages);
    if (seldom(40)) info.usage = seldom(2) ? 0 : VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT;
    if (seldom(12)) info.tiling = VK_IMAGE_TILING_LINEAR;
    if (seldom(40)) info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    if (seldom(20)) info.samples = VK_SAMPLE_COUNT_4_BIT;
    if (seldom(40)) info.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    if (seldom(40)) info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    return info;
}

static culv_vk_check_desc desc(void)
{
    culv_vk_check_desc d = culv_vk_check_desc_init();
    if (seldom(4)) d.no_surfaces = VK_TRUE;
    if (seldom(6)) d.texels = CULV_TEXELS_NORMALIZED;
    if (seldom(30)) d.memory_properties = 1u << 29;
    return d;
}

static void begin(unsigned *plans)
{
    *plans = (unsigned)strtoul(test_option("plans", "1000"), NULL, 10);
    state = strtoull(test_option("seed", "20261121"), NULL, 10);
    printf("%u plans, seed %llu\n", *plans, (unsigned long long)state);
}

TEST(images, .time_limit = 600)
{
    lib_world w;
    unsigned plans = 0, accepted = 0;
    begin(&plans);
    lib_open(&w);
    for (unsigned n = 0; n < plans; n++) {
        const VkImageCreateInfo info = image();
        const culv_vk_check_desc d = desc();
        culv_vk_sharing_info s;
        printf(
            "%u: type %d format %d %u x %u x %u, %u levels, %u layers, flags %#x usage %#x tiling %d\n",
            n, (int)info.imageType, (int)info.format, info.extent.width, info.extent.height,
            info.extent.depth, info.mipLevels, info.arrayLayers, info.flags, info.usage,
            (int)info.tiling);
        bool yes = check_image_agrees(&w, &info, &d, &s) == CULV_OK;
        if (!yes) printf("   %s\n", culv_last_error_message());
        accepted += yes;
        REQUIRE_EQ(lib_counts(&w).created, 0);
    }
    printf("%u of %u accepted\n", accepted, plans);
    REQUIRE(plans < 100 || (accepted > plans / 5 && accepted < plans - plans / 5));
    lib_close(&w);
}

TEST(buffers)
{
    static const VkDeviceSize sizes[] = {1, 100, 4096, 65537, 1 << 20},
                              odd[] = {0, UINT64_MAX, UINT64_MAX - 4096};
    static const VkBufferCreateFlags flags[] = {VK_BUFFER_CREATE_SPARSE_BINDING_BIT,
                                                VK_BUFFER_CREATE_PROTECTED_BIT, 1u << 20};
    lib_world w;
    unsigned plans = 0, accepted = 0;
    begin(&plans);
    lib_open(&w);
    for (unsigned n = 0; n < plans; n++) {
        VkBufferCreateInfo info = check_buffer_info(seldom(8) ? PICK(odd) : PICK(sizes));
        const culv_vk_check_desc d = desc();
        culv_vk_sharing_info s;
        info.usage |=
            seldom(2) ? VK_BUFFER_USAGE_STORAGE_BUFFER_BIT : VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
        if (seldom(20)) info.usage = 0;
        if (seldom(8)) info.flags = PICK(flags);
        if (seldom(20)) info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        accepted += check_buffer_agrees(&w, &info, &d, &s) == CULV_OK;
        REQUIRE_EQ(lib_counts(&w).created, 0);
    }
    printf("%u of %u accepted\n", accepted, plans);
    REQUIRE(plans < 100 || (accepted > plans / 5 && accepted < plans - plans / 10));
    lib_close(&w);
}
