/* SPDX-License-Identifier: MIT */
/* What the gate refuses: each its class, its reason, the field and what to do; making it says the
 * same. */
#define TEST_GROUP "refusals."
#include "check_stage.h"
#include "raw_vulkan_image.h"

#include <culvert/vulkan_memory.h>

/* An attachment by the loader that counts, an answer, and plans that are right. */
typedef struct gate {
    lib_world w;
    culv_vk_device *vk;
    culv_vk_sharing_info s;
    VkImageCreateInfo image;
    VkBufferCreateInfo buffer;
} gate;

static void gate_open(gate *g, check_spying spying)
{
    lib_open(&g->w);
    check_spy = spying;
    g->vk = check_attach(&g->w, VK_API_VERSION_1_3);
    g->s = culv_vk_sharing_info_init();
    g->image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    g->buffer = check_buffer_info(4096);
}

static void gate_close(gate *g)
{
    culv_vk_detach(&g->vk);
    lib_close(&g->w);
}
#define SPY(...)               ((check_spying){__VA_ARGS__})
#define GATE_CASE(spying, ...) TEST_ON(gate, g, gate_open(g, spying), gate_close(g), __VA_ARGS__)

/* A 32-bit field of a plan and what it is set to; a size of 64 bits by its lower half. */
typedef struct change {
    size_t at;
    uint32_t value;
    bool given;
} change;

/* clang-format off */
#define IMAGE(field, to)  {offsetof(VkImageCreateInfo, field), (uint32_t)(to), true}
#define BUFFER(field, to) {offsetof(VkBufferCreateInfo, field), (uint32_t)(to), true}
#define FLAG(name)        IMAGE(flags, VK_IMAGE_CREATE_##name##_BIT)
#define BFLAG(name)       BUFFER(flags, VK_BUFFER_CREATE_##name##_BIT)
#define FORMAT(name)      IMAGE(format, VK_FORMAT_##name)
#define TYPE(dimensions)  IMAGE(imageType, VK_IMAGE_TYPE_##dimensions##D)
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
    I(USAGE, SAYS("flags", "SPARSE_BINDING", "without"), FLAG(SPARSE_BINDING)),
    I(USAGE, SAYS("flags", "SPARSE_RESIDENCY", "without"), FLAG(SPARSE_RESIDENCY)),
    I(USAGE, SAYS("flags", "SPARSE_ALIASED", "without"), FLAG(SPARSE_ALIASED)),
    I(USAGE, SAYS("flags", "PROTECTED", "unprotected"), FLAG(PROTECTED)),
    I(USAGE, SAYS("flags", "DISJOINT", "planes"), FLAG(DISJOINT)),
    I(USAGE, SAYS("flags", "DISJOINT", "LINEAR"), FLAG(DISJOINT), FORMAT(G8_B8R8_2PLANE_420_UNORM),
      IMAGE(tiling, VK_IMAGE_TILING_LINEAR)),
    U(USAGE,
      SAYS("without DISJOINT", "VkBindImagePlaneMemoryInfo", "culv_format_info.plane_formats"),
      FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    U(USAGE, SAYS("without DISJOINT", "G16_B16_R16_3PLANE_444_UNORM", "plane_offsets"),
      FORMAT(G16_B16_R16_3PLANE_444_UNORM)),
    I(USAGE, SAYS("flags", "SPLIT_INSTANCE", "group"), FLAG(SPLIT_INSTANCE_BIND_REGIONS)),
    I(USAGE, SAYS("flags", "2D_ARRAY_COMPATIBLE", "layers"), FLAG(2D_ARRAY_COMPATIBLE), TYPE(3)),
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
    I(EXTENT, SAYS("a 1D image", "height of 1"), TYPE(1)),
    I(EXTENT, SAYS("a 1D image", "depth"), TYPE(1), IMAGE(extent.height, 1),
      IMAGE(extent.depth, 2)),
    I(EXTENT, SAYS("a 2D image", "depth", "arrayLayers"), IMAGE(extent.depth, 2)),
    I(EXTENT, SAYS("a 3D image", "one layer"), TYPE(3), IMAGE(arrayLayers, 2)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "multiple of six", "arrayLayers 7"), FLAG(CUBE_COMPATIBLE),
      IMAGE(arrayLayers, 7)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "arrayLayers 1,"), FLAG(CUBE_COMPATIBLE)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "square"), FLAG(CUBE_COMPATIBLE), IMAGE(arrayLayers, 6),
      IMAGE(extent.width, 32)),
    I(EXTENT, SAYS("CUBE_COMPATIBLE", "2D"), FLAG(CUBE_COMPATIBLE), IMAGE(arrayLayers, 6),
      IMAGE(imageType, 0), IMAGE(extent.height, 1)),
    I(EXTENT, SAYS("extent is 4294967295 x 64", "up to"), IMAGE(extent.width, UINT32_MAX)),
    I(EXTENT, SAYS("extent is 64 x 4294967295", "up to"), IMAGE(extent.height, UINT32_MAX)),
    I(EXTENT, SAYS("extent", "4294967295 x 4294967295 x 4294967295"), TYPE(3),
      IMAGE(extent.width, UINT32_MAX), IMAGE(extent.height, UINT32_MAX),
      IMAGE(extent.depth, UINT32_MAX)),
    I(EXTENT, SAYS("arrayLayers is 4294967295", "up to"), IMAGE(arrayLayers, UINT32_MAX)),
    I(EXTENT, SAYS("mipLevels is 0", "1 to 7"), IMAGE(mipLevels, 0)),
    I(EXTENT, SAYS("mipLevels is 8", "1 to 7"), IMAGE(mipLevels, 8)),
    I(EXTENT, SAYS("mipLevels is 4294967295"), IMAGE(mipLevels, UINT32_MAX)),
    I(EXTENT, SAYS("extent is 63 x 64", "G8_B8R8_2PLANE_420_UNORM", "multiple of 2"),
      IMAGE(extent.width, 63), FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("extent is 64 x 63", "multiple of 2"), IMAGE(extent.height, 63),
      FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("G8_B8R8_2PLANE_420_UNORM", "arrayLayers 2", "an image for each layer"),
      IMAGE(arrayLayers, 2), FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("mipLevels 2", "an image for each level"), IMAGE(mipLevels, 2),
      FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("flags 0x10", "CUBE_COMPATIBLE", "create it without"), IMAGE(arrayLayers, 6),
      FLAG(CUBE_COMPATIBLE), FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("a 3D image", "VK_IMAGE_TYPE_2D"), TYPE(3), FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    I(EXTENT, SAYS("G8B8G8R8_422_UNORM", "arrayLayers 2", "an image for each layer"),
      IMAGE(arrayLayers, 2), FORMAT(G8B8G8R8_422_UNORM)),
    I(EXTENT, SAYS("R10X6G10X6B10X6A10X6_UNORM_4PACK16", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), FORMAT(R10X6G10X6B10X6A10X6_UNORM_4PACK16)),
    I(EXTENT, SAYS("1D image of format R12X4G12X4B12X4A12X4_UNORM_4PACK16", "VK_IMAGE_TYPE_2D"),
      TYPE(1), IMAGE(extent.height, 1), FORMAT(R12X4G12X4B12X4A12X4_UNORM_4PACK16)),
    I(EXTENT, SAYS("B8G8R8G8_422_UNORM", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), IMAGE(tiling, VK_IMAGE_TILING_LINEAR), FORMAT(B8G8R8G8_422_UNORM)),
    I(EXTENT, SAYS("G8_B8R8_2PLANE_420_UNORM", "mipLevels 2", "an image for each level"),
      IMAGE(mipLevels, 2), IMAGE(tiling, VK_IMAGE_TILING_LINEAR), FORMAT(G8_B8R8_2PLANE_420_UNORM)),
    U(USAGE, SAYS("imageType is 3D", "DEPTH_STENCIL_ATTACHMENT", "create it without"), TYPE(3),
      FORMAT(D32_SFLOAT),
      IMAGE(usage, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT)),
    U(FORMAT, SAYS("format is 0"), FORMAT(UNDEFINED)),
    U(FORMAT, SAYS("format is 2147483647", "format_list.h"), FORMAT(MAX_ENUM)),
    U(FORMAT, SAYS("format is R32G32B32_SFLOAT: "), FORMAT(R32G32B32_SFLOAT)),
    U(FORMAT, SAYS("format is D24_UNORM_S8_UINT: "), FORMAT(D24_UNORM_S8_UINT)),
    /* LINEAR, they have rows for each aspect, and no bytes a texel. */
    U(FORMAT, SAYS("format is D32_SFLOAT_S8_UINT: ", "two images"),
      IMAGE(tiling, VK_IMAGE_TILING_LINEAR), FORMAT(D32_SFLOAT_S8_UINT)),
    U(FORMAT, SAYS("format is D16_UNORM_S8_UINT: ", "two images"),
      IMAGE(tiling, VK_IMAGE_TILING_LINEAR), FORMAT(D16_UNORM_S8_UINT)),
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
    I(USAGE, SAYS("flags", "SPARSE_BINDING"), BFLAG(SPARSE_BINDING)),
    I(USAGE, SAYS("flags", "SPARSE_RESIDENCY"), BFLAG(SPARSE_RESIDENCY)),
    I(USAGE, SAYS("flags", "SPARSE_ALIASED"), BFLAG(SPARSE_ALIASED)),
    I(USAGE, SAYS("flags", "PROTECTED", "unprotected"), BFLAG(PROTECTED)),
    I(USAGE, SAYS("flags", "DEVICE_ADDRESS_CAPTURE_REPLAY"), BFLAG(DEVICE_ADDRESS_CAPTURE_REPLAY)),
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
    SPOILT(d, d.struct_size = 0,
           LIB_INVALID(culv_vk_check_buffer(vk, &buffer, &d, &s), STRUCT_SIZE));
    SPOILT(s, s.struct_size = 0,
           LIB_INVALID(culv_vk_check_buffer(vk, &buffer, &d, &s), STRUCT_SIZE));
    s.struct_size =
        sizeof s.struct_size + sizeof s.access + sizeof s.handle_types; /* an older version's */
    LIB_OK(culv_vk_check_buffer(vk, &buffer, &d, &s));
    REQUIRE_EQ(s.access, CULV_VK_ACCESS_POINTER);
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

    /* The specification has another word for it as well. */
    for (int n = 0; n < 2; n++) {
        check_spy = SPY(.refused_usage = VK_IMAGE_USAGE_SAMPLED_BIT,
                        .refusal = n == 0 ? 0 : VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR);
        culv_vk_device *other = check_attach(w, VK_API_VERSION_1_3);
        info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        LIB_ERROR(culv_vk_check_image(other, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
                  "without SAMPLED in usage");
        info.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
        LIB_ERROR(culv_vk_check_image(other, &info, NULL, &s), UNSUPPORTED, NOT_EXPORTABLE,
                  "without sharing; copy");
        culv_vk_detach(&other);
    }
}

/* What the gate refuses for a struct of the pNext chain: what Vulkan's question about formats has
 * no place for, so that drivers would refuse it where the resource is made, or not at all. And what
 * goes on from there: images that can be copied to, drivers that refuse late. */

/* Any of the structs; the chain has it alone. */
typedef struct row {
    const void *of;
    culv_reason reason;
    const char *words[2];
    bool of_buffer;
} row;

LIB_CASE(chains, .title = "refusals.chains")
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
    static const VkBaseInStructure usage2 = {.sType = (VkStructureType)1000470006};
    static const VkDedicatedAllocationBufferCreateInfoNV dedicated_buffer = {
        .sType = VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV,
        .dedicatedAllocation = VK_TRUE};
    static const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
        .opaqueCaptureAddress = 4096};
    static const VkBufferDeviceAddressCreateInfoEXT address_ext = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT, .deviceAddress = 4096};
    /* clang-format off */
#define OF_IMAGE(of, why, ...)  {&(of), CULV_REASON_##why, {__VA_ARGS__}, false}
#define OF_BUFFER(of, why, ...) {&(of), CULV_REASON_##why, {__VA_ARGS__}, true}
    /* clang-format on */
    static const row rows[] = {
        OF_IMAGE(swapchain, USAGE, "VkImageSwapchainCreateInfoKHR", "of your own"),
        OF_IMAGE(fixed_rate, USAGE, "VkImageCompressionControlEXT::flags", "DISABLED"),
        OF_IMAGE(no_list, NULL_ARGUMENT, "pViewFormats is NULL", "viewFormatCount"),
        OF_IMAGE(no_stencil, USAGE, "stencilUsage is 0", "TRANSFER_SRC"),
        OF_IMAGE(transient, USAGE, "stencilUsage", "TRANSIENT_ATTACHMENT"),
        OF_IMAGE(unknown, USAGE, "stencilUsage", "not know 0x80000000"),
        OF_IMAGE(modifiers, TILING, "VkImageDrmFormatModifierListCreateInfoEXT", "leave it out"),
        OF_IMAGE(modifier, TILING, "VkImageDrmFormatModifierExplicitCreateInfoEXT", "leave it out"),
        OF_IMAGE(external_nv, USAGE, "VkExternalMemoryImageCreateInfoNV", "leave it out"),
        OF_IMAGE(captured, USAGE, "VkOpaqueCaptureDescriptorDataCreateInfoEXT", "leave it out"),
        OF_IMAGE(dedicated, DEDICATED, "dedicatedAllocation is set",
                 "VkMemoryDedicatedAllocateInfo"),
        OF_BUFFER(usage2, USAGE, "VkBufferUsageFlags2CreateInfo", "Info::usage"),
        OF_BUFFER(dedicated_buffer, DEDICATED, "dedicatedAllocation is set",
                  "VkMemoryDedicatedAllocateInfo"),
        OF_BUFFER(address, USAGE, "not replayed", "leave it out"),
        OF_BUFFER(address_ext, USAGE, "not replayed", "leave it out"),
        OF_BUFFER(captured, USAGE, "not replayed", "leave it out"),
    };
    culv_vk_sharing_info s;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        VkBufferCreateInfo buffer = check_buffer_info(4096);
        image.pNext = buffer.pNext = rows[n].of;
        const culv_result r = rows[n].of_buffer ? check_buffer_agrees(w, &buffer, NULL, &s)
                                                : check_image_agrees(w, &image, NULL, &s);
        check_refused(__FILE__, __LINE__, r, CULV_ERROR_INVALID, rows[n].reason, rows[n].words, 2);
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
GATE_CASE(SPY(.sharing = 0), only_the_driver_knew)
{
    static const VkResult results[] = {VK_ERROR_FORMAT_NOT_SUPPORTED,
                                       VK_ERROR_IMAGE_USAGE_NOT_SUPPORTED_KHR};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &g->image;
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    for (size_t n = 0; n < sizeof results / sizeof results[0]; n++) {
        culv_shared_image *made = NULL;
        check_spy.create_result = results[n];
        LIB_REFUSES(made, culv_vk_image_create(g->vk, &d, &made), UNSUPPORTED, DRIVER_REFUSED,
                    "R8G8B8A8_UNORM image of imageType 1, 64 x 64 x 1 texels, 1 layers, 1 levels",
                    "NOT_SUPPORTED");
    }
}

#undef TEST_GROUP
#define TEST_GROUP "answers."
/* The gate and the drivers: what it asks, and answers that no machine at hand gives. */

static void zero_counts(void)
{
    check_spy.sharing = check_spy.needs = check_spy.others = 0;
}

/* Asked twice: no more than what the answer needs, and nobody else. */
GATE_CASE(SPY(.sharing = 0), asked)
{
    culv_vk_sharing_info first = culv_vk_sharing_info_init(), again = culv_vk_sharing_info_init();
    REQUIRE(check_spy.others > 0 && check_spy.needs == 0);
    zero_counts();
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &first));
    REQUIRE(check_spy.sharing >= 1 && check_spy.needs == 1 && check_spy.saw_external);
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &again));
    check_require_equal(&first, &again);
    zero_counts();
    LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &first));
    REQUIRE(check_spy.sharing >= 1 && check_spy.needs == 1 && check_spy.saw_external);
    LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &again));
    check_require_equal(&first, &again);
    REQUIRE_EQ(check_spy.others, 0);
    g->image.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
    for (int n = 0; n < 2; n++)
        LIB_ERROR(culv_vk_check_image(g->vk, &g->image, NULL, &again), UNSUPPORTED, NOT_EXPORTABLE,
                  "without DEPTH_STENCIL_ATTACHMENT");
}

/* What the caller's chain brings is handed on. */
GATE_CASE(SPY(.sharing = 0), handed_on)
{
    static const VkFormat views[8] = {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_SRGB,
                                      VK_FORMAT_R8G8B8A8_UINT,  VK_FORMAT_R8G8B8A8_SINT,
                                      VK_FORMAT_R8G8B8A8_SNORM, VK_FORMAT_R32_UINT,
                                      VK_FORMAT_R32_SINT,       VK_FORMAT_R32_SFLOAT};
    VkImageFormatListCreateInfo list = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
                                        .viewFormatCount = 2,
                                        .pViewFormats = views};
    g->image.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT;
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    REQUIRE(!check_spy.saw_list && !check_spy.saw_stencil && !check_spy.saw_video);
    g->image.pNext = &list;
    zero_counts();
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    REQUIRE(check_spy.sharing >= 1 && check_spy.needs == 1 && check_spy.saw_list);
    list.viewFormatCount = 8;
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    /* Each struct once. */
    VkImageFormatListCreateInfo second = list;
    second.pNext = &list;
    g->image.pNext = &second;
    zero_counts();
    LIB_INVALID(culv_vk_check_image(g->vk, &g->image, NULL, &g->s), VALUE, "sType-unique");
    REQUIRE_EQ(check_spy.sharing + check_spy.needs, 0);

    VkImageStencilUsageCreateInfo stencil = {.sType =
                                                 VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO,
                                             .stencilUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    g->image = check_image_info(VK_FORMAT_D32_SFLOAT, 64, 64);
    g->image.pNext = &stencil;
    (void)culv_vk_check_image(g->vk, &g->image, NULL, &g->s);
    REQUIRE(check_spy.saw_stencil);

    /* A struct of buffers that the gate has no words for. */
    const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO};
    g->buffer.pNext = &address;
    LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &g->s));
    const VkExternalMemoryBufferCreateInfo inner = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalMemoryBufferCreateInfo outer = inner;
    outer.pNext = &inner;
    g->buffer.pNext = &outer;
    LIB_INVALID(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &g->s), VALUE, "sType-unique");
}

/* Vulkan 1.1 and 1.2 have no requirements before the resource, unless by VK_KHR_maintenance4. */
LIB_CASE(needs_unknown)
{
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    const VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    const VkBufferCreateInfo buffer = check_buffer_info(4096);
    static const struct {
        check_spying spy;
        uint32_t version;
        unsigned known;
    } rows[] = {
        {{.without_khr = true}, 0, 0}, /* 1.1: the core name is there, but not the caller's */
        {{.without_khr = true}, VK_API_VERSION_1_2, 0},
        {{0}, VK_API_VERSION_1_2, 1}, /* the extension */
        {{.without_khr = true}, VK_API_VERSION_1_3, 1},
        {{.without_core = true, .without_khr = true}, VK_API_VERSION_1_3, 0},
        {{.tells_nothing = true}, VK_API_VERSION_1_3, 0},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_vk_check_desc d = culv_vk_check_desc_init();
        check_spy = rows[n].spy;
        culv_vk_device *vk = check_attach(w, rows[n].version);
        LIB_OK(culv_vk_check_image(vk, &image, NULL, &s));
        REQUIRE_EQ(s.requirements_known, rows[n].known);
        REQUIRE_EQ(s.memory_type_index == UINT32_MAX, !rows[n].known);
        REQUIRE_EQ(s.requirements.size != 0, rows[n].known);
        LIB_OK(culv_vk_check_buffer(vk, &buffer, NULL, &s));
        REQUIRE_EQ(s.requirements_known, rows[n].known);
        REQUIRE_EQ(check_spy.needs != 0, rows[n].known || rows[n].spy.tells_nothing);
        /* A memory type that no resource can have is one that this one has not. */
        d.memory_properties = 1u << 30;
        LIB_INVALID(culv_vk_check_buffer(vk, &buffer, &d, &s), MEMORY_TYPE);
        culv_vk_detach(&vk);
    }
}

GATE_CASE(SPY(.requires_dedicated = true, .prefers_dedicated = true), dedicated)
{
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    REQUIRE(g->s.dedicated_required == 1 && g->s.dedicated_preferred == 1);
    LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &g->s));
    REQUIRE(g->s.dedicated_required == 1 && g->s.dedicated_preferred == 1);
    culv_vk_detach(&g->vk);
    /* The external features say it where the requirements are not known. */
    lib_lying = (lib_lies){.dedicated_only = true, .no_memory = true};
    culv_vk_device_desc d = lib_vk_desc(&g->w);
    d.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(g->w.device, &d, &g->vk));
    LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &g->s));
    REQUIRE_EQ(g->s.dedicated_required, 1);
    LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &g->s));
    REQUIRE_EQ(g->s.dedicated_required, 1);
    /* What the format query allows and no memory holds. */
    culv_shared_image *made = NULL;
    culv_vk_image_create_desc id = culv_vk_image_create_desc_init();
    id.create_info = &g->image;
    LIB_REFUSES(made, culv_vk_image_create(g->vk, &id, &made), UNSUPPORTED, MEMORY_TYPE,
                "no memory type of");
    lib_lying = (lib_lies){0};
}

/* "... up to 32768 x 32768 texels and 2048 layers": only what such an image has. */
static void require_sides(unsigned sides, bool layered)
{
    const char *most = strstr(culv_last_error_message(), "up to ");
    REQUIRE(most != NULL && strstr(most, "4294967295") == NULL);
    const char *end = strstr(most, " texels");
    REQUIRE(end != NULL);
    unsigned told = 1;
    for (const char *x = most; (x = strstr(x, " x ")) != NULL && x < end; x++)
        told++;
    REQUIRE_EQ(told, sides);
    REQUIRE_EQ(strstr(most, " layers") != NULL, layered);
}

/* A Vulkan without limits: then CUDA's own hold, and sums do not overflow. */
LIB_CASE(limits)
{
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    check_spy = (check_spying){.max_side = UINT32_MAX,
                               .max_layers = UINT32_MAX,
                               .max_resource_size = UINT64_MAX,
                               .tells_nothing = true};
    culv_vk_device *vk = check_attach(w, VK_API_VERSION_1_3);
    static const struct {
        const char *kind;
        unsigned sides; /* that the message tells of */
        bool layered;
        VkImageType type;
        VkImageCreateFlags flags;
        uint32_t width, height, depth, layers;
    } rows[] = {
        {"maps 1D images", 1, false, VK_IMAGE_TYPE_1D, 0, 1u << 18, 1, 1, 1},
        {"maps 1D array images", 1, true, VK_IMAGE_TYPE_1D, 0, 64, 1, 1, 1u << 18},
        {"maps 2D images", 2, false, VK_IMAGE_TYPE_2D, 0, 1u << 18, 64, 1, 1},
        {"maps 2D images", 2, false, VK_IMAGE_TYPE_2D, 0, 64, 1u << 18, 1, 1},
        {"maps 2D array images", 2, true, VK_IMAGE_TYPE_2D, 0, 64, 64, 1, 1u << 18},
        {"maps 3D images", 3, false, VK_IMAGE_TYPE_3D, 0, 64, 64, 1u << 18, 1},
        {"maps cube images", 2, false, VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
         1u << 18, 1u << 18, 1, 6},
        {"maps cube array images", 2, true, VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
         8, 8, 1, 6u << 18},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        VkImageCreateInfo info =
            check_image_info(VK_FORMAT_R8G8B8A8_UNORM, rows[n].width, rows[n].height);
        info.imageType = rows[n].type;
        info.flags = rows[n].flags;
        info.extent.depth = rows[n].depth;
        info.arrayLayers = rows[n].layers;
        for (int surfaces = 0; surfaces < 2; surfaces++) {
            culv_vk_check_desc d = culv_vk_check_desc_init();
            d.no_surfaces = !surfaces;
            LIB_ERROR(culv_vk_check_image(vk, &info, &d, &s), UNSUPPORTED, EXTENT, rows[n].kind);
            require_sides(rows[n].sides, rows[n].layered);
        }
    }
    culv_vk_detach(&vk);

    /* Bytes: 2^32-1 squared texels of 16 bytes are more than 64 bits have. */
    check_spy.max_resource_size = UINT64_C(1) << 40;
    vk = check_attach(w, VK_API_VERSION_1_3);
    VkImageCreateInfo huge =
        check_image_info(VK_FORMAT_R32G32B32A32_SFLOAT, UINT32_MAX, UINT32_MAX);
    huge.arrayLayers = UINT32_MAX;
    huge.mipLevels = 32;
    LIB_INVALID(culv_vk_check_image(vk, &huge, NULL, &s), EXTENT,
                "18446744073709551615 bytes or more");
    huge.imageType = VK_IMAGE_TYPE_3D;
    huge.arrayLayers = 1;
    huge.extent.depth = UINT32_MAX;
    LIB_INVALID(culv_vk_check_image(vk, &huge, NULL, &s), EXTENT,
                "18446744073709551615 bytes or more");
    /* LINEAR, of a format and a kind that Vulkan has so everywhere. */
    huge = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, UINT32_MAX, UINT32_MAX);
    huge.tiling = VK_IMAGE_TILING_LINEAR;
    huge.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    huge.arrayLayers = UINT32_MAX;
    LIB_INVALID(culv_vk_check_image(vk, &huge, NULL, &s), EXTENT,
                "18446744073709551615 bytes or more");
    culv_vk_detach(&vk);
}

/* 3D images fit one of two boxes, a wide one and a deep one (cuda.h,
 * CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE). */
TEST(alternate_limits, .own = true)
{
    static const struct {
        uint32_t width, height, depth;
        bool fits;
    } rows[] = {{64, 32, 16, true}, {65, 32, 16, false}, {64, 33, 16, false}, {64, 32, 17, false},
                {8, 16, 64, true},  {9, 16, 64, false},  {8, 17, 64, false},  {8, 16, 65, false},
                {8, 32, 16, true},  {9, 17, 17, false}};
    static const int limits_of[][2] = {{CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 64},
                                       {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 32},
                                       {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16},
                                       {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 8},
                                       {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 16},
                                       {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 64}};
    lib_world w;
    culv_vk_sharing_info s = culv_vk_sharing_info_init();
    culv_vk_check_desc d = culv_vk_check_desc_init();
    const raw_cuda *cu = lib_driver();
    if (cu->SoftPlayAttribute == NULL) SKIP("only the twin plays other devices");
    for (size_t i = 0; i < sizeof limits_of / sizeof limits_of[0]; i++)
        cu->SoftPlayAttribute(limits_of[i][0], limits_of[i][1]);
    lib_open(&w);
    d.no_surfaces = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        VkImageCreateInfo info =
            check_image_info(VK_FORMAT_R8G8B8A8_UNORM, rows[i].width, rows[i].height);
        info.imageType = VK_IMAGE_TYPE_3D;
        info.extent.depth = rows[i].depth;
        if (rows[i].fits)
            LIB_OK(culv_vk_check_image(w.attachment, &info, &d, &s));
        else
            LIB_ERROR(culv_vk_check_image(w.attachment, &info, &d, &s), UNSUPPORTED, EXTENT);
    }
    lib_close(&w);
    cu->SoftPlayAttribute(0, 0);
}

/* Sizes that a device says it has not. */
GATE_CASE(SPY(.max_buffer_size = 1 << 20, .heap_size = 1 << 18), sizes)
{
    VkBufferCreateInfo buffer = check_buffer_info((1 << 20) + 1);
    LIB_INVALID(culv_vk_check_buffer(g->vk, &buffer, NULL, &g->s), SIZE, "1048577", "1048576");
    buffer.size = 1 << 19;
    LIB_ERROR(culv_vk_check_buffer(g->vk, &buffer, NULL, &g->s), OUT_OF_MEMORY, DEVICE_MEMORY,
              "heap");
    culv_shared_buffer *made = NULL;
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &buffer;
    LIB_REFUSES(made, culv_vk_buffer_create(g->vk, &d, &made), OUT_OF_MEMORY, DEVICE_MEMORY,
                "VUID-vkAllocateMemory-pAllocateInfo-01713");
    VkImageCreateInfo image = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 512, 512);
    LIB_ERROR(culv_vk_check_image(g->vk, &image, NULL, &g->s), OUT_OF_MEMORY, DEVICE_MEMORY);
    culv_shared_image *made_image = NULL;
    culv_vk_image_create_desc di = culv_vk_image_create_desc_init();
    di.create_info = &image;
    LIB_REFUSES(made_image, culv_vk_image_create(g->vk, &di, &made_image), OUT_OF_MEMORY,
                DEVICE_MEMORY, "heap");
}

#undef TEST_GROUP
#define TEST_GROUP "kinds."
/* What the gate lets through: every kind of image and buffer, and each really is what was told of
 * it. */

typedef struct kind {
    const char *name;
    VkImageType type;
    VkImageCreateFlags flags;
    uint32_t width, height, depth, levels, layers;
    culv_image_type mapped;
} kind;

static const kind kinds[] = {
    {"1D, odd", VK_IMAGE_TYPE_1D, 0, 253, 1, 1, 3, 1, CULV_IMAGE_1D},
    {"1D array", VK_IMAGE_TYPE_1D, 0, 61, 1, 1, 6, 7, CULV_IMAGE_1D},
    {"2D, high and odd", VK_IMAGE_TYPE_2D, 0, 3, 1021, 1, 10, 1, CULV_IMAGE_2D},
    {"2D, odd, levels", VK_IMAGE_TYPE_2D, 0, 253, 127, 1, 8, 1, CULV_IMAGE_2D},
    {"2D array", VK_IMAGE_TYPE_2D, 0, 33, 17, 1, 6, 5, CULV_IMAGE_2D},
    {"cube, odd", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 31, 31, 1, 5, 6,
     CULV_IMAGE_CUBE},
    {"cube array", VK_IMAGE_TYPE_2D, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, 16, 16, 1, 2, 12,
     CULV_IMAGE_CUBE},
    {"3D", VK_IMAGE_TYPE_3D, 0, 31, 17, 9, 5, 1, CULV_IMAGE_3D},
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
    /* The calls that make say that they make no LINEAR. */
    culv_shared_image *made = NULL;
    VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    LIB_REFUSES(made, culv_vk_image_create(w->attachment, &d, &made), INVALID, TILING, "tiling",
                "culv_vk_image_map_pitched()");
}

LIB_CASE(answers_buffers, .title = "kinds.buffers")
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
GATE_CASE(SPY(.compatible_with_dma_buf = true, .tells_nothing = true), named_in_the_chain)
{
    VkExternalMemoryImageCreateInfo of_image = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalMemoryBufferCreateInfo of_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    culv_vk_sharing_info with = culv_vk_sharing_info_init(), without = culv_vk_sharing_info_init();
    LIB_OK(culv_vk_check_image(g->w.attachment, &g->image, NULL, &without));
    g->image.pNext = &of_image;
    LIB_OK(culv_vk_check_image(g->w.attachment, &g->image, NULL, &with));
    check_require_equal(&with, &without);
    LIB_OK(culv_vk_check_buffer(g->w.attachment, &g->buffer, NULL, &without));
    g->buffer.pNext = &of_buffer;
    LIB_OK(culv_vk_check_buffer(g->w.attachment, &g->buffer, NULL, &with));
    check_require_equal(&with, &without);

    of_image.handleTypes = of_buffer.handleTypes =
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    LIB_INVALID(culv_vk_check_image(g->w.attachment, &g->image, NULL, &with), NOT_EXPORTABLE,
                "handleTypes");
    LIB_INVALID(culv_vk_check_buffer(g->w.attachment, &g->buffer, NULL, &with), NOT_EXPORTABLE,
                "OPAQUE_FD");
    of_image.handleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    of_buffer.handleTypes |= VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    LIB_INVALID(culv_vk_check_image(g->w.attachment, &g->image, NULL, &with), HANDLE_TYPE,
                "compatibleHandleTypes");
    LIB_INVALID(culv_vk_check_buffer(g->w.attachment, &g->buffer, NULL, &with), HANDLE_TYPE);

    /* Where a driver says that dma-bufs go with opaque fds, both may be named. */
    of_image.handleTypes = of_buffer.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT |
                                                   VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
    if (g->w.cu->software) { /* the twin's Vulkan knows the type, others may not */
        LIB_OK(culv_vk_check_image(g->vk, &g->image, NULL, &with));
        LIB_OK(culv_vk_check_buffer(g->vk, &g->buffer, NULL, &with));
    }
}

#undef TEST_GROUP
#define TEST_GROUP "map."
/* Mapping an image of the caller's holds its create_info against the image, as far as Vulkan
 * tells. */

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

/* What the gate refuses of an image, mapping one refuses with the same words. */
TEST(refused_images)
{
    subject s;
    subject_open(&s, LEVELS, 0, VK_API_VERSION_1_3);
    for (size_t n = 0; n < sizeof images / sizeof images[0]; n++) {
        culv_image *mapped = POISON(culv_image);
        VkImageCreateInfo info = check_image_info(VK_FORMAT_R8G8B8A8_UNORM, 64, 64);
        info.pNext = &s.external;
        apply(&images[n], &info);
        s.desc.create_info = &info;
        if (info.tiling == VK_IMAGE_TILING_LINEAR || lacks_format(&s.w, &images[n], info.format))
            continue; /* rows of bytes: another call */
        require_refusal(&images[n], culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped));
        REQUIRE(mapped == POISON(culv_image));
    }
    REQUIRE_EQ(lib_counts(&s.w).images, 0);
    subject_close(&s);
}

TEST(another_create_info)
{
    subject s;
    culv_image *mapped = NULL;
    check_spy = (check_spying){.sharing = 0};
    subject_open(&s, LEVELS, 0, VK_API_VERSION_1_3);
#define ROW(change)                                                                                \
    SPOILT(s.info, change,                                                                         \
           LIB_REFUSES(mapped, culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped), INVALID,       \
                       EXTENT, "create_info is not what this image was created with",              \
                       "vkCreateImage"))
    ROW(s.info.mipLevels = 1);
    ROW(s.info.extent.width = SIDE / 2);
    ROW(s.info.extent.height = SIDE / 2);
    ROW(s.info.format = VK_FORMAT_R8_UNORM);
    ROW((s.info.arrayLayers = 3, s.info.mipLevels = 1, s.info.extent.width = SIDE / 4));
#undef ROW
    LIB_OK(culv_vk_image_map(s.vk, s.memory, &s.desc, &mapped));
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
    check_spy = (check_spying){.without_core = true, .without_khr = true};
    subject_open(&s, LEVELS, 0, VK_API_VERSION_1_2);
    VkImageCreateInfo other = s.info;
    other.mipLevels = 1;
    s.desc.create_info = &other;
    NEW(culv_image, mapped, culv_vk_image_map, s.vk, s.memory, &s.desc);
    REQUIRE_EQ(lib_image(mapped).mip_levels, 1);
    culv_image_unmap(&mapped, NULL);
    REQUIRE_EQ(check_spy.needs, 0);
    subject_close(&s);
}
