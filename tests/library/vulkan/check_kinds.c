/* SPDX-License-Identifier: MIT */
/* What the gate lets through: every kind of image and buffer, and each really is what was told of
 * it. */
#define TEST_GROUP "kinds."
#include "check_stage.h"

typedef struct kind {
    const char *name;
    VkImageType type;
    VkImageCreateFlags flags;
    uint32_t width, height, depth, levels, layers;
    culv_image_type mapped;
} kind;

static const kind kinds[] = {
    {"1D", VK_IMAGE_TYPE_1D, 0, 256, 1, 1, 9, 1, CULV_IMAGE_1D},
    {"1D, odd", VK_IMAGE_TYPE_1D, 0, 253, 1, 1, 3, 1, CULV_IMAGE_1D},
    {"1D array", VK_IMAGE_TYPE_1D, 0, 61, 1, 1, 6, 7, CULV_IMAGE_1D},
    {"2D", VK_IMAGE_TYPE_2D, 0, 256, 128, 1, 1, 1, CULV_IMAGE_2D},
    {"2D, one texel", VK_IMAGE_TYPE_2D, 0, 1, 1, 1, 1, 1, CULV_IMAGE_2D},
    {"2D, high and odd", VK_IMAGE_TYPE_2D, 0, 3, 1021, 1, 10, 1, CULV_IMAGE_2D},
    {"2D, odd, levels", VK_IMAGE_TYPE_2D, 0, 253, 127, 1, 8, 1, CULV_IMAGE_2D},
    {"2D array", VK_IMAGE_TYPE_2D, 0, 33, 17, 1, 6, 5, CULV_IMAGE_2D},
    {"2D array of six", VK_IMAGE_TYPE_2D, 0, 32, 32, 1, 1, 6, CULV_IMAGE_2D},
    {"cube", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 64, 64, 1, 7, 6,
     CULV_IMAGE_CUBE},
    {"cube, odd", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 31, 31, 1, 5, 6,
     CULV_IMAGE_CUBE},
    {"cube array", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 16, 16, 1, 2, 12,
     CULV_IMAGE_CUBE},
    {"3D", VK_IMAGE_TYPE_3D, 0, 31, 17, 9, 5, 1, CULV_IMAGE_3D},
    {"3D, deep", VK_IMAGE_TYPE_3D, 0, 4, 4, 63, 6, 1, CULV_IMAGE_3D},
    {"2D, mutable", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT, 64, 64, 1, 1, 1,
     CULV_IMAGE_2D},
    {"2D, views of other usages", VK_IMAGE_TYPE_2D,
     VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT, 64, 64, 1, 1, 1,
     CULV_IMAGE_2D},
    {"2D, aliasing", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_ALIAS_BIT, 64, 64, 1, 1, 1, CULV_IMAGE_2D},
};

static VkImageCreateInfo info_of(const kind *k, VkFormat format)
{
    VkImageCreateInfo info = check_image_info(format, k->width, k->height);
    info.flags = k->flags;
    info.imageType = k->type;
    info.extent.depth = k->depth;
    info.mipLevels = k->levels;
    info.arrayLayers = k->layers;
    return info;
}

static uint32_t most_levels(const kind *k)
{
    uint32_t most = 1;
    while ((k->width | k->height | k->depth) >> most != 0)
        most++;
    return most;
}

LIB_CASE(all_kinds, .title = "kinds.all", .smoke = true)
{
    static const VkFormat formats[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R32_SFLOAT,
                                       VK_FORMAT_R16G16_UINT, VK_FORMAT_R32G32B32A32_SFLOAT};
    for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; n++)
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            const VkImageCreateInfo info = info_of(&kinds[n], formats[f]);
            culv_vk_sharing_info s;
            printf("%s, format %d\n", kinds[n].name, (int)formats[f]);
            LIB_OK(check_image_agrees(w, &info, NULL, &s));
            REQUIRE_EQ(s.image.type, kinds[n].mapped);
            REQUIRE_EQ(s.image.array_layers, kinds[n].layers);
            REQUIRE_EQ(s.max_mip_levels, most_levels(&kinds[n]));
        }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

/* What a usage means for CUDA, and what the caller chooses. */
LIB_CASE(all_usages, .title = "kinds.usages")
{
    culv_vk_sharing_info s;
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    LIB_OK(check_image_agrees(w, &info, NULL, &s));
    REQUIRE(s.image.color_attachment == 0 && s.image.video_encode_decode == 0 &&
            s.image.no_surfaces == 0);
    REQUIRE_EQ(s.image.texels, CULV_TEXELS_STORED);
    info.usage |= VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                  VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
    LIB_OK(check_image_agrees(w, &info, NULL, &s));
    REQUIRE_EQ(s.image.color_attachment, 1);
    culv_vk_check_desc d = culv_vk_check_desc_init();
    d.no_surfaces = VK_TRUE;
    d.handle_type = CULV_HANDLE_OPAQUE_FD;
    LIB_OK(check_image_agrees(w, &info, &d, &s));
    REQUIRE_EQ(s.image.no_surfaces, 1);
    d.texels = CULV_TEXELS_NORMALIZED;
    if (check_image_agrees(w, &info, &d, &s) == CULV_OK)
        REQUIRE_EQ(s.image.texels, CULV_TEXELS_NORMALIZED);
    else
        REQUIRE(!w->cu->software); /* an older driver than CUDA 11.5 */
}

/* Formats of every sort: those that this Vulkan exports are made, the others refused by both. */
LIB_CASE(formats_of_every_sort, .title = "kinds.formats")
{
    static const VkFormat formats[] = {
        VK_FORMAT_R8_UINT,
        VK_FORMAT_R8G8_SNORM,
        VK_FORMAT_R16_SFLOAT,
        VK_FORMAT_R16G16B16A16_UNORM,
        VK_FORMAT_R32G32_SINT,
        VK_FORMAT_B8G8R8A8_SRGB,
        VK_FORMAT_R8G8B8A8_SRGB,
        VK_FORMAT_R64_UINT,
        VK_FORMAT_R5G6B5_UNORM_PACK16,
        VK_FORMAT_A2B10G10R10_UNORM_PACK32,
        VK_FORMAT_B10G11R11_UFLOAT_PACK32,
        VK_FORMAT_E5B9G9R9_UFLOAT_PACK32,
        VK_FORMAT_D16_UNORM,
        VK_FORMAT_D32_SFLOAT,
        VK_FORMAT_S8_UINT,
        VK_FORMAT_D24_UNORM_S8_UINT,
        VK_FORMAT_R8G8B8_UNORM,
        VK_FORMAT_R32G32B32_SFLOAT,
        VK_FORMAT_BC1_RGBA_UNORM_BLOCK,
        VK_FORMAT_BC7_SRGB_BLOCK,
        VK_FORMAT_ASTC_4x4_UNORM_BLOCK,
        VK_FORMAT_G8_B8R8_2PLANE_420_UNORM,
        VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM,
        VK_FORMAT_G8B8G8R8_422_UNORM,
    };
    unsigned made = 0;
    for (size_t n = 0; n < sizeof formats / sizeof formats[0]; n++) {
        VkImageCreateInfo info = check_image_info(formats[n], 64, 32);
        culv_vk_sharing_info s;
        if (lib_disjoint(w, formats[n])) info.flags = VK_IMAGE_CREATE_DISJOINT_BIT;
        bool accepted = check_image_agrees(w, &info, NULL, &s) == CULV_OK;
        printf("%3d: %s\n", (int)formats[n], accepted ? "shared" : culv_last_error_message());
        made += accepted;
    }
    REQUIRE(made >= 8);
}

/* LINEAR images are rows of bytes for CUDA, in whatever format Vulkan has them. */
LIB_CASE(pitched)
{
    static const VkFormat formats[] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R32_SFLOAT,
                                       VK_FORMAT_R32G32B32_SFLOAT, VK_FORMAT_R8G8B8_UNORM,
                                       VK_FORMAT_B8G8R8A8_SRGB};
    unsigned shared = 0;
    for (size_t n = 0; n < sizeof formats / sizeof formats[0]; n++) {
        VkImageCreateInfo info = check_image_info(formats[n], 61, 33);
        culv_vk_sharing_info s;
        info.tiling = VK_IMAGE_TILING_LINEAR;
        info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        culv_result r = check_image_agrees(w, &info, NULL, &s);
        printf("%3d: %s\n", (int)formats[n], r == CULV_OK ? "pitched" : culv_last_error_message());
        if (r == CULV_OK) REQUIRE_EQ(s.access, CULV_VK_ACCESS_PITCHED);
        shared += r == CULV_OK;
        REQUIRE(r == CULV_OK || n > 0); /* Vulkan has RGBA8 as LINEAR everywhere */
    }
    MEASURED("check.linear", "%u of %zu formats as rows of bytes", shared,
             sizeof formats / sizeof formats[0]);
}

LIB_CASE(buffers)
{
    static const VkDeviceSize sizes[] = {1, 4, 4096, 70001, 16 << 20};
    static const VkBufferUsageFlags usages[] = {
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
            VK_BUFFER_USAGE_INDEX_BUFFER_BIT,
        VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
            VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT,
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
        for (size_t u = 0; u < sizeof usages / sizeof usages[0]; u++) {
            VkBufferCreateInfo info = check_buffer_info(sizes[n]);
            culv_vk_sharing_info s;
            info.usage = usages[u];
            LIB_OK(check_buffer_agrees(w, &info, NULL, &s));
            REQUIRE(s.requirements.size >= sizes[n]);
        }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

/* Two families and more may share: the gate knows how many there are. */
LIB_CASE(concurrent)
{
    static const uint32_t families[] = {1, 0};
    VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    VkBufferCreateInfo buffer = check_buffer_info(4096);
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    image.sharingMode = buffer.sharingMode = VK_SHARING_MODE_CONCURRENT;
    image.queueFamilyIndexCount = buffer.queueFamilyIndexCount = 2;
    image.pQueueFamilyIndices = buffer.pQueueFamilyIndices = families;
    if (w->vk.queue_count >= 2) {
        LIB_OK(check_image_agrees(w, &image, NULL, &s));
        LIB_OK(check_buffer_agrees(w, &buffer, NULL, &s));
    } else { /* a device that says to have more than it has is asked no further */
        check_spy = (check_spying){.families = 2, .without_core = true, .without_khr = true};
        culv_vk_device *vk = check_attach(w, VK_API_VERSION_1_3);
        LIB_OK(culv_vk_check_image(vk, &image, NULL, &s));
        LIB_OK(culv_vk_check_buffer(vk, &buffer, NULL, &s));
        culv_vk_detach(&vk);
    }
}

/* The chain may name the external memory already; then all of its types go with the one that is
 * asked for. */
LIB_CASE(named_in_the_chain)
{
    VkExternalMemoryImageCreateInfo of_image = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalMemoryBufferCreateInfo of_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    VkBufferCreateInfo buffer = check_buffer_info(4096);
    culv_vk_sharing_info with = culv_vk_sharing_info_init(), without = culv_vk_sharing_info_init();
    LIB_OK(culv_vk_check_image(w->attachment, &image, NULL, &without));
    image.pNext = &of_image;
    LIB_OK(culv_vk_check_image(w->attachment, &image, NULL, &with));
    check_require_equal(&with, &without);
    LIB_OK(culv_vk_check_buffer(w->attachment, &buffer, NULL, &without));
    buffer.pNext = &of_buffer;
    LIB_OK(culv_vk_check_buffer(w->attachment, &buffer, NULL, &with));
    check_require_equal(&with, &without);

    of_image.handleTypes = of_buffer.handleTypes =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    LIB_INVALID(culv_vk_check_image(w->attachment, &image, NULL, &with), NOT_EXPORTABLE,
                "handleTypes");
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &buffer, NULL, &with), NOT_EXPORTABLE,
                "OPAQUE_FD");
    of_image.handleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    of_buffer.handleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    LIB_INVALID(culv_vk_check_image(w->attachment, &image, NULL, &with), HANDLE_TYPE,
                "compatibleHandleTypes");
    LIB_INVALID(culv_vk_check_buffer(w->attachment, &buffer, NULL, &with), HANDLE_TYPE);

    /* Where a driver says that dma-bufs go with opaque fds, both may be named. */
    check_spy = (check_spying){.compatible_with_dma_buf = true, .tells_nothing = true};
    culv_vk_device *other = check_attach(w, VK_API_VERSION_1_3);
    of_image.handleTypes = of_buffer.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT |
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    if (w->cu->software) { /* the twin's Vulkan knows the type, others may not */
        LIB_OK(culv_vk_check_image(other, &image, NULL, &with));
        LIB_OK(culv_vk_check_buffer(other, &buffer, NULL, &with));
    }
    culv_vk_detach(&other);
}
