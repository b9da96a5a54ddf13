/* SPDX-License-Identifier: MIT */
/* What the gate refuses: each its class, its reason, the field and what to do; making it says the
 * same. */
#define TEST_GROUP "refusals."
#include "check_stage.h"

#include <culvert/vulkan_fallback.h>

/* A 32-bit field of a plan and what it is set to; a size of 64 bits by its lower half. */
typedef struct change {
    size_t at;
    uint32_t value;
    bool given;
} change;

/* clang-format off */
#define IMAGE(field, to)  {offsetof(VkImageCreateInfo, field), (uint32_t)(to), true}
#define BUFFER(field, to) {offsetof(VkBufferCreateInfo, field), (uint32_t)(to), true}
#define SAYS(...)         {__VA_ARGS__}
#define I(why, says, ...) {CULV_ERROR_INVALID, CULV_REASON_##why, says, {__VA_ARGS__}}
#define U(why, says, ...) {CULV_ERROR_UNSUPPORTED, CULV_REASON_##why, says, {__VA_ARGS__}}
/* clang-format on */

typedef struct refusal {
    culv_result result;
    culv_reason reason;
    const char *words[3];
    change changes[4];
} refusal;

static void apply(const refusal *r, void *info)
{
    for (size_t i = 0; i < sizeof r->changes / sizeof r->changes[0] && r->changes[i].given; i++)
        memcpy((char *)info + r->changes[i].at, &r->changes[i].value, sizeof r->changes[i].value);
}

static void require_refusal(const refusal *r, culv_result actual)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    printf("%s\n", e.message);
    size_t count = 0;
    while (count < 3 && r->words[count] != NULL)
        count++;
    check_refused(__FILE__, __LINE__, actual, r->result, r->reason, r->words, count);
}

/* Of a 2D image of 64 x 64 R8G8B8A8 texels. */
static const refusal images[] = {
    I(VALUE, SAYS("sType", "12, not"), IMAGE(sType, VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO)),
    I(TILING, SAYS("tiling", "OPTIMAL", "LINEAR"),
      IMAGE(tiling, VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT)),
    I(USAGE, SAYS("flags", "SPARSE_BINDING", "without"),
      IMAGE(flags, VK_IMAGE_CREATE_SPARSE_BINDING_BIT)),
    I(USAGE, SAYS("flags", "SPARSE_RESIDENCY", "without"),
      IMAGE(flags, VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT)),
    I(USAGE, SAYS("flags", "SPARSE_ALIASED", "without"),
      IMAGE(flags, VK_IMAGE_CREATE_SPARSE_ALIASED_BIT)),
    I(USAGE, SAYS("flags", "PROTECTED", "unprotected"),
      IMAGE(flags, VK_IMAGE_CREATE_PROTECTED_BIT)),
    I(USAGE, SAYS("flags", "DISJOINT", "planes"), IMAGE(flags, VK_IMAGE_CREATE_DISJOINT_BIT)),
    I(USAGE, SAYS("flags", "DISJOINT", "LINEAR"), IMAGE(flags, VK_IMAGE_CREATE_DISJOINT_BIT),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM), IMAGE(tiling, VK_IMAGE_TILING_LINEAR)),
    U(USAGE,
      SAYS("without DISJOINT", "VkBindImagePlaneMemoryInfo", "culv_format_info.plane_formats"),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    U(USAGE, SAYS("without DISJOINT", "G16_B16_R16_3PLANE_444_UNORM", "plane_offsets"),
      IMAGE(format, VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM)),
    I(USAGE, SAYS("flags", "SPLIT_INSTANCE", "group"),
      IMAGE(flags, VK_IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT)),
    I(USAGE, SAYS("flags", "2D_ARRAY_COMPATIBLE", "layers"),
      IMAGE(flags, VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT), IMAGE(imageType, VK_IMAGE_TYPE_3D)),
    I(USAGE, SAYS("flags", "2D_VIEW_COMPATIBLE"), IMAGE(flags, 0x20000), IMAGE(imageType, 2)),
    I(USAGE, SAYS("flags", "CORNER_SAMPLED"), IMAGE(flags, VK_IMAGE_CREATE_CORNER_SAMPLED_BIT_NV)),
    I(USAGE, SAYS("flags", "SUBSAMPLED"), IMAGE(flags, VK_IMAGE_CREATE_SUBSAMPLED_BIT_EXT)),
    I(USAGE, SAYS("flags", "FRAGMENT_DENSITY"), IMAGE(flags, 0x8000)),
    I(USAGE, SAYS("flags", "CAPTURE_REPLAY"), IMAGE(flags, 0x10000)),
    I(USAGE, SAYS("flags", "SINGLE_SAMPLED"), IMAGE(flags, 0x40000)),
    I(USAGE, SAYS("flags", "0x40000000", "not know"), IMAGE(flags, 0x40000000)),
    I(USAGE, SAYS("samples is 4", "resolve"), IMAGE(samples, VK_SAMPLE_COUNT_4_BIT)),
    I(USAGE, SAYS("samples is 0"), IMAGE(samples, 0)),
    I(USAGE, SAYS("::usage is 0", "TRANSFER_SRC"), IMAGE(usage, 0)),
    I(USAGE, SAYS("usage", "TRANSIENT_ATTACHMENT", "without"),
      IMAGE(usage, VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT)),
    I(USAGE, SAYS("::usage is 0x400001", "HOST_TRANSFER", "no memory type"),
      IMAGE(usage, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | 0x400000)),
    I(USAGE, SAYS("::usage is 0x80000001", "not know 0x80000000", "without"),
      IMAGE(usage, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | 0x80000000u)),
    I(USAGE, SAYS("::usage", "not know 0x100000 "),
      IMAGE(usage, VK_IMAGE_USAGE_SAMPLED_BIT | 0x100000)),
    /* SAMPLE_WEIGHT_QCOM */
    I(USAGE, SAYS("::usage is 0x404", "VkVideoProfileListInfoKHR", "create it without"),
      IMAGE(usage, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR)),
    I(USAGE, SAYS("initialLayout", "UNDEFINED", "01443"),
      IMAGE(initialLayout, VK_IMAGE_LAYOUT_PREINITIALIZED)),
    I(VALUE, SAYS("sharingMode is 7", "EXCLUSIVE"), IMAGE(sharingMode, 7)),
    I(VALUE, SAYS("CONCURRENT", "0 families"), IMAGE(sharingMode, VK_SHARING_MODE_CONCURRENT)),
    I(VALUE, SAYS("imageType is 3"), IMAGE(imageType, 3)),
    I(VALUE, SAYS("imageType"), IMAGE(imageType, UINT32_MAX)),
    I(EXTENT, SAYS("extent 0 x 64", "no side"), IMAGE(extent.width, 0)),
    I(EXTENT, SAYS("extent 64 x 0", "no side"), IMAGE(extent.height, 0)),
    I(EXTENT, SAYS("64 x 64 x 0", "no side"), IMAGE(extent.depth, 0)),
    I(EXTENT, SAYS("arrayLayers 0", "1 or more"), IMAGE(arrayLayers, 0)),
    I(EXTENT, SAYS("imageType 0", "height of 1"), IMAGE(imageType, VK_IMAGE_TYPE_1D)),
    I(EXTENT, SAYS("imageType 0", "depth"), IMAGE(imageType, VK_IMAGE_TYPE_1D),
      IMAGE(extent.height, 1), IMAGE(extent.depth, 2)),
    I(EXTENT, SAYS("imageType 1", "depth", "arrayLayers"), IMAGE(extent.depth, 2)),
    I(EXTENT, SAYS("imageType 2", "one layer"), IMAGE(imageType, VK_IMAGE_TYPE_3D),
      IMAGE(arrayLayers, 2)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "multiple of six", "arrayLayers 7"),
      IMAGE(flags, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT), IMAGE(arrayLayers, 7)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "arrayLayers 1,"),
      IMAGE(flags, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "square"), IMAGE(flags, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT),
      IMAGE(arrayLayers, 6), IMAGE(extent.width, 32)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "2D"), IMAGE(flags, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT),
      IMAGE(arrayLayers, 6), IMAGE(imageType, 0), IMAGE(extent.height, 1)),
    I(EXTENT, SAYS("extent is 4294967295 x 64", "up to"), IMAGE(extent.width, UINT32_MAX)),
    I(EXTENT, SAYS("extent is 64 x 4294967295", "up to"), IMAGE(extent.height, UINT32_MAX)),
    I(EXTENT, SAYS("extent", "4294967295 x 4294967295 x 4294967295"),
      IMAGE(imageType, VK_IMAGE_TYPE_3D), IMAGE(extent.width, UINT32_MAX),
      IMAGE(extent.height, UINT32_MAX), IMAGE(extent.depth, UINT32_MAX)),
    I(EXTENT, SAYS("arrayLayers is 4294967295", "up to"), IMAGE(arrayLayers, UINT32_MAX)),
    I(EXTENT, SAYS("mipLevels is 0", "1 to 7"), IMAGE(mipLevels, 0)),
    I(EXTENT, SAYS("mipLevels is 8", "1 to 7"), IMAGE(mipLevels, 8)),
    I(EXTENT, SAYS("mipLevels is 4294967295"), IMAGE(mipLevels, UINT32_MAX)),
    I(EXTENT, SAYS("extent is 63 x 64", "G8_B8R8_2PLANE_420_UNORM", "multiple of 2"),
      IMAGE(extent.width, 63), IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("extent is 64 x 63", "multiple of 2"), IMAGE(extent.height, 63),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("G8_B8R8_2PLANE_420_UNORM", "arrayLayers 2", "an image for each layer"),
      IMAGE(arrayLayers, 2), IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("mipLevels 2", "an image for each level"), IMAGE(mipLevels, 2),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("flags 0x10", "CUBE_COMPATIBLE", "create it without"), IMAGE(arrayLayers, 6),
      IMAGE(flags, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("imageType 2", "VK_IMAGE_TYPE_2D"), IMAGE(imageType, VK_IMAGE_TYPE_3D),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("G8B8G8R8_422_UNORM", "arrayLayers 2", "an image for each layer"),
      IMAGE(arrayLayers, 2), IMAGE(format, VK_FORMAT_G8B8G8R8_422_UNORM)),
    I(EXTENT, SAYS("R10X6G10X6B10X6A10X6_UNORM_4PACK16", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), IMAGE(format, VK_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16)),
    I(EXTENT, SAYS("R12X4G12X4B12X4A12X4_UNORM_4PACK16", "imageType 0", "VK_IMAGE_TYPE_2D"),
      IMAGE(imageType, VK_IMAGE_TYPE_1D), IMAGE(extent.height, 1),
      IMAGE(format, VK_FORMAT_R12X4G12X4B12X4A12X4_UNORM_4PACK16)),
    I(EXTENT, SAYS("B8G8R8G8_422_UNORM", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), IMAGE(tiling, VK_IMAGE_TILING_LINEAR),
      IMAGE(format, VK_FORMAT_B8G8R8G8_422_UNORM)),
    I(EXTENT, SAYS("G8_B8R8_2PLANE_420_UNORM", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), IMAGE(tiling, VK_IMAGE_TILING_LINEAR),
      IMAGE(format, VK_FORMAT_G8_B8R8_2PLANE_420_UNORM)),
    U(USAGE, SAYS("imageType is 3D", "DEPTH_STENCIL_ATTACHMENT", "create it without"),
      IMAGE(imageType, VK_IMAGE_TYPE_3D), IMAGE(format, VK_FORMAT_D32_SFLOAT),
      IMAGE(usage, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT)),
    U(FORMAT, SAYS("format is 0"), IMAGE(format, VK_FORMAT_UNDEFINED)),
    U(FORMAT, SAYS("format is 2147483647", "format_list.h"), IMAGE(format, VK_FORMAT_MAX_ENUM)),
    U(FORMAT, SAYS("format is R32G32B32_SFLOAT: "), IMAGE(format, VK_FORMAT_R32G32B32_SFLOAT)),
    U(FORMAT, SAYS("format is D24_UNORM_S8_UINT: "), IMAGE(format, VK_FORMAT_D24_UNORM_S8_UINT)),
    /* LINEAR, they have rows for each aspect, and no bytes a texel. */
    U(FORMAT, SAYS("format is D32_SFLOAT_S8_UINT: ", "two images"),
      IMAGE(tiling, VK_IMAGE_TILING_LINEAR), IMAGE(format, VK_FORMAT_D32_SFLOAT_S8_UINT)),
    U(FORMAT, SAYS("format is D16_UNORM_S8_UINT: ", "two images"),
      IMAGE(tiling, VK_IMAGE_TILING_LINEAR), IMAGE(format, VK_FORMAT_D16_UNORM_S8_UINT)),
};

/* A driver's CUDA may lack the array format of a row, or the library have no use for it: that is
 * said first. */
static bool lacks_format(const lib_world *w, const refusal *r, VkFormat format)
{
    const VkImageCreateInfo plain = check_image_info(format, 64, 64);
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    if (r->reason == CULV_REASON_FORMAT ||
        culv_vk_check_image(w->attachment, &plain, NULL, &s) != CULV_ERROR_UNSUPPORTED)
        return false;
    culv_error e = culv_error_init();
    culv_last_error(&e);
    if (e.reason != CULV_REASON_FORMAT) return false;
    MEASURED("check.lacks_format", "%s", e.message);
    return true;
}

LIB_CASE(of_images, .title = "refusals.images")
{
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof images / sizeof images[0]; n++) {
        VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        apply(&images[n], &info);
        if (lacks_format(w, &images[n], info.format)) continue;
        require_refusal(&images[n], check_image_agrees(w, &info, NULL, &s));
    }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

static const refusal buffers[] = {
    I(VALUE, SAYS("sType", "14, not"), BUFFER(sType, VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO)),
    I(SIZE, SAYS("size is 0"), BUFFER(size, 0)),
    I(USAGE, SAYS("usage is 0", "TRANSFER_SRC"), BUFFER(usage, 0)),
    I(USAGE, SAYS("flags", "SPARSE_BINDING"), BUFFER(flags, VK_BUFFER_CREATE_SPARSE_BINDING_BIT)),
    I(USAGE, SAYS("flags", "SPARSE_RESIDENCY"),
      BUFFER(flags, VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT)),
    I(USAGE, SAYS("flags", "SPARSE_ALIASED"), BUFFER(flags, VK_BUFFER_CREATE_SPARSE_ALIASED_BIT)),
    I(USAGE, SAYS("flags", "PROTECTED", "unprotected"),
      BUFFER(flags, VK_BUFFER_CREATE_PROTECTED_BIT)),
    I(USAGE, SAYS("flags", "DEVICE_ADDRESS_CAPTURE_REPLAY"),
      BUFFER(flags, VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT)),
    I(USAGE, SAYS("flags", "DESCRIPTOR_BUFFER_CAPTURE_REPLAY"), BUFFER(flags, 0x20)),
    I(USAGE, SAYS("flags", "0x80000000", "not know"), BUFFER(flags, 0x80000000u)),
    I(VALUE, SAYS("sharingMode is 2"), BUFFER(sharingMode, 2)),
    I(VALUE, SAYS("CONCURRENT", "0 families"), BUFFER(sharingMode, VK_SHARING_MODE_CONCURRENT)),
};

LIB_CASE(of_buffers, .title = "refusals.buffers")
{
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof buffers / sizeof buffers[0]; n++) {
        VkBufferCreateInfo info = check_buffer_info(4096);
        apply(&buffers[n], &info);
        require_refusal(&buffers[n], check_buffer_agrees(w, &info, NULL, &s));
    }
    VkBufferCreateInfo info = check_buffer_info(UINT64_MAX);
    CHECK_REFUSED(check_buffer_agrees(w, &info, NULL, &s), INVALID, SIZE, "maxBufferSize",
                  "18446744073709551615");
}

/* Each family once, and only families that there are. */
LIB_CASE(families)
{
    culv_vk_sharing_info s;
    uint32_t list[3] = {0, 0, 0};
    VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    VkBufferCreateInfo buffer = check_buffer_info(4096);
    image.sharingMode = buffer.sharingMode = VK_SHARING_MODE_CONCURRENT;
    image.pQueueFamilyIndices = buffer.pQueueFamilyIndices = list;
    image.queueFamilyIndexCount = buffer.queueFamilyIndexCount = 1;
    CHECK_REFUSED(check_image_agrees(w, &image, NULL, &s), INVALID, VALUE, "1 families",
                  "EXCLUSIVE");
    image.queueFamilyIndexCount = buffer.queueFamilyIndexCount = 2;
    CHECK_REFUSED(check_image_agrees(w, &image, NULL, &s), INVALID, VALUE,
                  "pQueueFamilyIndices[1] is 0 once more");
    CHECK_REFUSED(check_buffer_agrees(w, &buffer, NULL, &s), INVALID, VALUE,
                  "pQueueFamilyIndices[1] is 0 once more");
    list[1] = w->vk.queue_count;
    CHECK_REFUSED(check_buffer_agrees(w, &buffer, NULL, &s), INVALID, VALUE,
                  "pQueueFamilyIndices[1]");
    list[1] = VK_QUEUE_FAMILY_EXTERNAL;
    CHECK_REFUSED(check_image_agrees(w, &image, NULL, &s), INVALID, VALUE, "4294967294",
                  "CUDA is not one");
    /* However many are said to be there, no more are read than there can be. */
    list[1] = 0;
    image.queueFamilyIndexCount = UINT32_MAX;
    CHECK_REFUSED(check_image_agrees(w, &image, NULL, &s), INVALID, VALUE, "once more");
}

/* Of what is asked besides. */
LIB_CASE(descriptors)
{
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    culv_vk_device *vk = w->attachment;
    VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    VkBufferCreateInfo buffer = check_buffer_info(4096);
    culv_vk_check_desc d = culv_vk_check_desc_init();
    d.struct_size = 0;
    LIB_INVALID(culv_vk_check_buffer(vk, &buffer, &d, &s), STRUCT_SIZE);
    d = culv_vk_check_desc_init();
    s.struct_size = 0;
    LIB_INVALID(culv_vk_check_buffer(vk, &buffer, &d, &s), STRUCT_SIZE);
    s.struct_size =
        sizeof s.struct_size + sizeof s.access + sizeof s.handle_types; /* an older version's */
    LIB_OK(culv_vk_check_buffer(vk, &buffer, &d, &s));
    REQUIRE_EQ(s.access, CULV_VK_ACCESS_POINTER);
    REQUIRE_EQ(s.max_array_layers, 0);
    REQUIRE_EQ(s.handle_type, 0);

    d.label = "planned";
    static const struct {
        culv_handle_type type;
        culv_result result;
        const char *words;
    } types[] = {{CULV_HANDLE_OPAQUE_WIN32, CULV_ERROR_UNSUPPORTED, "OPAQUE_WIN32"},
                 {CULV_HANDLE_OPAQUE_WIN32_KMT, CULV_ERROR_UNSUPPORTED, "OPAQUE_WIN32_KMT"},
                 {(culv_handle_type)77, CULV_ERROR_INVALID, "handle_type is 77"}};
    s = culv_vk_sharing_info_init();
    for (size_t n = 0; n < sizeof types / sizeof types[0]; n++) {
        d.handle_type = types[n].type;
        LIB_FAILS(culv_vk_check_image(vk, &image, &d, &s), types[n].result, CULV_REASON_HANDLE_TYPE,
                  types[n].words);
        LIB_FAILS(culv_vk_check_buffer(vk, &buffer, &d, &s), types[n].result,
                  CULV_REASON_HANDLE_TYPE, "planned");
    }
    /* dma-bufs: whatever the device imports, no array is on one. */
    d.handle_type = CULV_HANDLE_DMA_BUF_FD;
    LIB_ERROR(culv_vk_check_image(vk, &image, &d, &s), UNSUPPORTED, HANDLE_TYPE, "DMA_BUF_FD");
    culv_result r = culv_vk_check_buffer(vk, &buffer, &d, &s);
    MEASURED("check.dma_buf", "%s", r == CULV_OK ? "buffers" : culv_last_error_message());
    if (w->cu->software) REQUIRE_EQ(r, CULV_ERROR_UNSUPPORTED);

    d = culv_vk_check_desc_init();
    d.texels = (culv_texels)7;
    CHECK_REFUSED(check_image_agrees(w, &image, &d, &s), INVALID, VALUE, "texels is 7");
    d.texels = CULV_TEXELS_NORMALIZED;
    image.format = VK_FORMAT_R32_SFLOAT;
    CHECK_REFUSED(check_image_agrees(w, &image, &d, &s), UNSUPPORTED, FORMAT, "R32_SFLOAT",
                  "STORED");
    d.texels = CULV_TEXELS_STORED;
    d.memory_properties = 1u << 30;
    CHECK_REFUSED(check_image_agrees(w, &image, &d, &s), INVALID, MEMORY_TYPE,
                  "memory_properties 0x40000000");
    CHECK_REFUSED(check_buffer_agrees(w, &buffer, &d, &s), INVALID, MEMORY_TYPE,
                  "memory_properties");
}

/* Usages that a format has not: the message names the one to leave out. */
LIB_CASE(usages)
{
    culv_vk_sharing_info s;
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    info.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    CHECK_REFUSED(check_image_agrees(w, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
                  "without DEPTH_STENCIL_ATTACHMENT in usage", "R8G8B8A8_UNORM");
    info.usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    CHECK_REFUSED(check_image_agrees(w, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
                  "even without sharing");

    check_spy = (check_spying){.refused_usage = VK_IMAGE_USAGE_SAMPLED_BIT};
    culv_vk_device *other = check_attach(w, VK_API_VERSION_1_3);
    info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    LIB_ERROR(culv_vk_check_image(other, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
              "without SAMPLED in usage");
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
    LIB_ERROR(culv_vk_check_image(other, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
              "without sharing; copy");
    culv_vk_detach(&other);

    /* The specification has another word for it as well. */
    check_spy.refusal = VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR;
    other = check_attach(w, VK_API_VERSION_1_3);
    info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    LIB_ERROR(culv_vk_check_image(other, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
              "without SAMPLED in usage");
    culv_vk_detach(&other);
}

/* The calls that map say of LINEAR and OPTIMAL where the other way is; those that make, that they
 * make no LINEAR. */
LIB_CASE(ways)
{
    culv_shared_image *made = NULL;
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    LIB_REFUSES(made, culv_vk_image_create(w->attachment, &d, &made), INVALID, TILING, "tiling",
                "culv_vk_image_map_pitched()");
}

/* What the gate refuses for a struct of the pNext chain: what Vulkan's question about formats has
 * no place for, so that drivers would refuse it where the resource is made, or not at all. And what
 * goes on from there: images that can be copied to, drivers that refuse late. */

/* Any of the structs; the chain has it alone. */
typedef struct row {
    const void *of;
    culv_reason reason;
    const char *words[2];
} row;

LIB_CASE(chains_of_images, .title = "refusals.chains_of_images")
{
    static const VkImageSwapchainCreateInfoKHR swapchain = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR};
    static const VkImageCompressionControlEXT fixed_rate = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_COMPRESSION_CONTROL_EXT,
        .flags = VK_IMAGE_COMPRESSION_FIXED_RATE_DEFAULT_EXT};
    static const VkImageFormatListCreateInfo no_list = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO, .viewFormatCount = 1};
    static const VkImageStencilUsageCreateInfo no_stencil = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO};
    static const VkImageStencilUsageCreateInfo transient = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
        .stencilUsage =
            VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT};
    static const VkImageStencilUsageCreateInfo unknown = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO, .stencilUsage = 0x80000000u};
    static const VkImageDrmFormatModifierListCreateInfoEXT modifiers = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT};
    static const VkImageDrmFormatModifierExplicitCreateInfoEXT modifier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT};
    static const VkExternalMemoryImageCreateInfoNV external_nv = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO_NV};
    static const VkOpaqueCaptureDescriptorDataCreateInfoEXT captured = {
        .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT};
    static const VkDedicatedAllocationImageCreateInfoNV dedicated = {
        .sType = VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_IMAGE_CREATE_INFO_NV,
        .dedicatedAllocation = VK_TRUE};
    static const row rows[] = {
        {&swapchain, CULV_REASON_USAGE, {"VkImageSwapchainCreateInfoKHR", "of your own"}},
        {&fixed_rate, CULV_REASON_USAGE, {"VkImageCompressionControlEXT::flags", "DISABLED"}},
        {&no_list, CULV_REASON_NULL_ARGUMENT, {"pViewFormats is NULL", "viewFormatCount"}},
        {&no_stencil, CULV_REASON_USAGE, {"stencilUsage is 0", "TRANSFER_SRC"}},
        {&transient, CULV_REASON_USAGE, {"stencilUsage", "TRANSIENT_ATTACHMENT"}},
        {&unknown, CULV_REASON_USAGE, {"stencilUsage", "not know 0x80000000"}},
        {&modifiers,
         CULV_REASON_TILING,
         {"VkImageDrmFormatModifierListCreateInfoEXT", "leave it out"}},
        {&modifier,
         CULV_REASON_TILING,
         {"VkImageDrmFormatModifierExplicitCreateInfoEXT", "leave it out"}},
        {&external_nv, CULV_REASON_USAGE, {"VkExternalMemoryImageCreateInfoNV", "leave it out"}},
        {&captured,
         CULV_REASON_USAGE,
         {"VkOpaqueCaptureDescriptorDataCreateInfoEXT", "leave it out"}},
        {&dedicated,
         CULV_REASON_DEDICATED,
         {"dedicatedAllocation is set", "VkMemoryDedicatedAllocateInfo"}},
    };
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        info.pNext = rows[n].of;
        check_refused(__FILE__, __LINE__, check_image_agrees(w, &info, NULL, &s),
                      CULV_ERROR_INVALID, rows[n].reason, rows[n].words, 2);
    }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

LIB_CASE(chains_of_buffers, .title = "refusals.chains_of_buffers")
{
    static const VkBaseInStructure usage2 = {.sType = (VkStructureType)1000470006};
    static const VkDedicatedAllocationBufferCreateInfoNV dedicated = {
        .sType = VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV,
        .dedicatedAllocation = VK_TRUE};
    static const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
        .opaqueCaptureAddress = 4096};
    static const VkBufferDeviceAddressCreateInfoEXT address_ext = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT, .deviceAddress = 4096};
    static const VkOpaqueCaptureDescriptorDataCreateInfoEXT captured = {
        .sType = VK_STRUCTURE_TYPE_OPAQUE_CAPTURE_DESCRIPTOR_DATA_CREATE_INFO_EXT};
    static const row rows[] = {
        {&usage2,
         CULV_REASON_USAGE,
         {"VkBufferUsageFlags2CreateInfo", "VkBufferCreateInfo::usage"}},
        {&dedicated,
         CULV_REASON_DEDICATED,
         {"dedicatedAllocation is set", "VkMemoryDedicatedAllocateInfo"}},
        {&address, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
        {&address_ext, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
        {&captured, CULV_REASON_USAGE, {"not replayed", "leave it out"}},
    };
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkBufferCreateInfo info = check_buffer_info(4096);
        info.pNext = rows[n].of;
        check_refused(__FILE__, __LINE__, check_buffer_agrees(w, &info, NULL, &s),
                      CULV_ERROR_INVALID, rows[n].reason, rows[n].words, 2);
    }
    REQUIRE_EQ(lib_counts(w).created, 0);
}

/* Profiles are handed on to Vulkan's question; what is decoded into is mapped so. */
TEST(video, .own = true)
{
    lib_with_option("--validation=off"); /* the devices of the tests have no video */
    lib_world w;
    lib_open(&w);
    check_spy = (check_spying){.tells_nothing = true};
    culv_vk_device *vk = check_attach(&w, VK_API_VERSION_1_3);
    const VkVideoDecodeH264ProfileInfoKHR h264 = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_DECODE_H264_PROFILE_INFO_KHR,
        .stdProfileIdc = STD_VIDEO_H264_PROFILE_IDC_HIGH};
    const VkVideoProfileInfoKHR profile = {
        .sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_INFO_KHR,
        .pNext = &h264,
        .videoCodecOperation = VK_VIDEO_CODEC_OPERATION_DECODE_H264_BIT_KHR,
        .chromaSubsampling = VK_VIDEO_CHROMA_SUBSAMPLING_422_BIT_KHR,
        .lumaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR,
        .chromaBitDepth = VK_VIDEO_COMPONENT_BIT_DEPTH_8_BIT_KHR};
    VkVideoProfileListInfoKHR list = {.sType = VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR,
                                      .profileCount = 1,
                                      .pProfiles = &profile};
    VkImageCreateInfo info = check_image_info(VK_FORMAT_G8B8G8R8_422_UNORM, 64, 64);
    info.usage |= VK_IMAGE_USAGE_VIDEO_DECODE_DST_BIT_KHR;
    info.pNext = &list;
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    culv_result r = culv_vk_check_image(vk, &info, NULL, &s);
    MEASURED("check.video", "%s", r == CULV_OK ? "exported" : culv_last_error_message());
    if (r == CULV_OK) REQUIRE_EQ(s.image.video_encode_decode, 1);
    culv_error e = culv_error_init();
    culv_last_error(&e);
    const bool no_array =
        r == CULV_ERROR_UNSUPPORTED && e.reason == CULV_REASON_FORMAT; /* nobody asks on then */
    REQUIRE(check_spy.saw_video || check_spy.sharing == 0 || no_array);
    list.profileCount = 0;
    LIB_INVALID(culv_vk_check_image(vk, &info, NULL, &s), USAGE, "VkVideoProfileListInfoKHR");
    culv_vk_detach(&vk);
    lib_close(&w);
}

/* A 3D image that depth is drawn into cannot be shared, but copied to. */
LIB_CASE(slices_fall_back)
{
    VkImageCreateInfo info = check_image_info(VK_FORMAT_D32_SFLOAT, 31, 17);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.extent.depth = 9;
    info.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    VkImageFormatProperties most;
    if (vkGetPhysicalDeviceImageFormatProperties(w->vk.physical, info.format, info.imageType,
                                                 info.tiling, info.usage, info.flags,
                                                 &most) != VK_SUCCESS)
        SKIP("this Vulkan has no such images");
    OWN(culv_shared_image) *made = NULL;
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_REFUSES(made, culv_vk_image_create(w->attachment, &d, &made), UNSUPPORTED, USAGE);
    d.fallback = CULV_FALLBACK_HOST;
    LIB_OK(culv_vk_image_create(w->attachment, &d, &made));
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(made)), CULV_SHARING_HOST);
}

/* A driver that has such images until one is made: it is refused as what the device has not, with
 * all that it was. */
LIB_CASE(only_the_driver_knew)
{
    static const VkResult results[] = {VK_ERROR_FORMAT_NOT_SUPPORTED,
                                       VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR};
    check_spy = (check_spying){0};
    culv_vk_device *vk = check_attach(w, VK_API_VERSION_1_3);
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_check_image(vk, &info, NULL, &s));
    for (size_t n = 0; n < sizeof results / sizeof results[0]; n++) {
        culv_shared_image *made = NULL;
        check_spy.create_result = results[n];
        LIB_REFUSES(made, culv_vk_image_create(vk, &d, &made), UNSUPPORTED, DRIVER_REFUSED,
                    "R8G8B8A8_UNORM image of imageType 1, 64 x 64 x 1 texels, 1 layers, 1 levels",
                    "NOT_SUPPORTED");
    }
    culv_vk_detach(&vk);
}
