/* SPDX-License-Identifier: MIT */
/* Images that cannot be shared: each its class and reason, before any driver is asked to make or
 * map it. */
#define TEST_GROUP "images."
#include "image_stage.h"

enum { SIDE = 64, LEVELS = 3 };

static VkImageCreateInfo right_info(VkExternalMemoryImageCreateInfo *external)
{
    return image_info(VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, external);
}

/* Wrong VkImageCreateInfos: a field each (or a flag and what comes with it). */
typedef struct bad_info {
    const char *name;
    culv_result result;
    culv_reason reason;
    VkImageCreateInfo info;
} bad_info;

#define BAD(class, why, ...)                                                                       \
    {                                                                                              \
        .name = #__VA_ARGS__, .result = CULV_ERROR_##class, .reason = CULV_REASON_##why, .info = { \
            .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Fields that are not named are 0 here and become those of right_info(). NOUGHT stands for a real
 * 0. */
enum { NOUGHT = 0x5a5a5a };
static const bad_info bad_infos[] = {
    BAD(INVALID, TILING, .tiling = VK_IMAGE_TILING_LINEAR),
    BAD(INVALID, TILING, .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT),
    BAD(INVALID, USAGE, .samples = VK_SAMPLE_COUNT_4_BIT),
    BAD(INVALID, USAGE, .samples = (VkSampleCountFlagBits)NOUGHT),
    BAD(INVALID, USAGE, .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT),
    BAD(INVALID, USAGE,
        .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT),
    BAD(INVALID, USAGE, .flags = VK_IMAGE_CREATE_SPARSE_ALIASED_BIT),
    BAD(INVALID, USAGE, .flags = VK_IMAGE_CREATE_PROTECTED_BIT),
    BAD(INVALID, USAGE, .flags = VK_IMAGE_CREATE_DISJOINT_BIT),
    BAD(INVALID, USAGE, .usage = NOUGHT),
    BAD(INVALID, USAGE,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT),
    BAD(INVALID, USAGE, .initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED),
    BAD(INVALID, EXTENT, .extent = {SIDE, SIDE, NOUGHT}),
    BAD(INVALID, EXTENT, .arrayLayers = NOUGHT),
    BAD(INVALID, EXTENT, .imageType = (VkImageType)NOUGHT), /* 1D, but high */
    BAD(INVALID, EXTENT, .imageType = VK_IMAGE_TYPE_3D, .arrayLayers = 2),
    BAD(INVALID, EXTENT, .extent = {SIDE, SIDE, 4}),
    BAD(INVALID, EXTENT, .flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, .arrayLayers = 7),
    BAD(INVALID, EXTENT, .flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT, .arrayLayers = 6,
        .extent = {SIDE, SIDE / 2, 1}),
    BAD(UNSUPPORTED, FORMAT, .format = (VkFormat)NOUGHT), /* VK_FORMAT_UNDEFINED */
    BAD(UNSUPPORTED, FORMAT, .format = VK_FORMAT_R8G8B8_UNORM),
    BAD(UNSUPPORTED, FORMAT, .format = VK_FORMAT_R32G32B32_SFLOAT),
    BAD(UNSUPPORTED, FORMAT, .format = VK_FORMAT_D24_UNORM_S8_UINT),
    BAD(UNSUPPORTED, FORMAT, .format = VK_FORMAT_MAX_ENUM),
    BAD(INVALID, EXTENT, .extent = {NOUGHT, SIDE, 1}),
    BAD(INVALID, EXTENT, .extent = {SIDE, NOUGHT, 1}),
    BAD(INVALID, EXTENT, .extent = {UINT32_MAX, SIDE, 1}),
    BAD(INVALID, EXTENT, .extent = {SIDE, UINT32_MAX, 1}),
    BAD(INVALID, EXTENT, .extent = {UINT32_MAX, UINT32_MAX, 1}),
    BAD(INVALID, EXTENT, .extent = {1u << 31, 1u << 31, 1}),
    BAD(INVALID, EXTENT, .mipLevels = NOUGHT),
    BAD(INVALID, EXTENT, .mipLevels = 8), /* 64 texels have 7 */
    BAD(INVALID, EXTENT, .mipLevels = 33),
    BAD(INVALID, EXTENT, .mipLevels = UINT32_MAX),
    BAD(UNSUPPORTED, NOT_EXPORTABLE, .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT),
};
enum { BAD_INFOS = sizeof bad_infos / sizeof bad_infos[0] };

#define SET(to, from, otherwise) ((to) = (uint32_t)(from) == 0 ? (otherwise) : (from))
#define SET_ENUM(to, from, otherwise)                                                              \
    ((to) = (uint32_t)(from) == 0 ? (otherwise) : (uint32_t)(from) == NOUGHT ? 0 : (from))

/* The row's info, whole. */
static VkImageCreateInfo spoiled(const bad_info *bad, VkExternalMemoryImageCreateInfo *external)
{
    VkImageCreateInfo info = right_info(external);
    const VkImageCreateInfo *b = &bad->info;
    info.flags = b->flags;
    SET_ENUM(info.imageType, b->imageType, info.imageType);
    SET_ENUM(info.format, b->format, info.format);
    SET_ENUM(info.extent.width, b->extent.width, info.extent.width);
    SET_ENUM(info.extent.height, b->extent.height, info.extent.height);
    SET_ENUM(info.extent.depth, b->extent.depth, info.extent.depth);
    SET_ENUM(info.mipLevels, b->mipLevels, info.mipLevels);
    SET_ENUM(info.arrayLayers, b->arrayLayers, info.arrayLayers);
    SET_ENUM(info.samples, b->samples, info.samples);
    SET(info.tiling, b->tiling, info.tiling);
    SET_ENUM(info.usage, b->usage, info.usage);
    info.initialLayout = b->initialLayout;
    return info;
}

IMAGE_CASE(infos)
{
    shared_image i;
    culv_image *mapped = NULL;
    culv_shared_image *made = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &i);
    for (int n = 0; n < BAD_INFOS; n++) {
        VkExternalMemoryImageCreateInfo external;
        VkImageCreateInfo info = spoiled(&bad_infos[n], &external);
        culv_vk_image_desc d = culv_vk_image_desc_init();
        d.image = i.image;
        d.create_info = &info;
        printf("%s\n", bad_infos[n].name);
        LIB_REFUSES_AS(mapped, culv_vk_image_map(s->w.attachment, i.memory, &d, &mapped),
                       bad_infos[n].result, bad_infos[n].reason);
        culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
        info.pNext = NULL;
        c.create_info = &info;
        LIB_REFUSES_AS(made, culv_vk_image_create(s->w.attachment, &c, &made), bad_infos[n].result,
                       bad_infos[n].reason);
    }
    culv_device_counts counts = lib_counts(&s->w);
    REQUIRE_EQ(counts.images, 1);
    REQUIRE_EQ(counts.created, 0);
    shared_image_close(s, &i);
}

/* sType, the pNext chain, NULL everywhere. */
IMAGE_CASE(descriptors)
{
    shared_image i;
    culv_image *mapped = NULL;
    culv_shared_image *made = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &i);
    culv_vk_device *vk = s->w.attachment;
    VkExternalMemoryImageCreateInfo external;
    VkImageCreateInfo info = right_info(&external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NULL_ARGUMENT);
    d.image = i.image;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NULL_ARGUMENT,
                "create_info");
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, NULL_ARGUMENT, "create_info");
    d.create_info = c.create_info = &info;
    LIB_INVALID(culv_vk_image_map(vk, i.memory, &d, NULL), NULL_ARGUMENT);

    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, VALUE);
    info.pNext = NULL;
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, VALUE);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;

    /* The caller's image has to be created for export, as OPAQUE_FD; Culvert's gets that from
     * Culvert. */
    static const VkExternalMemoryHandleTypeFlags types[] = {
        0, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT};
    LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NOT_EXPORTABLE);
    info.pNext = &external;
    for (int n = 0; n < 2; n++) {
        external.handleTypes = types[n];
        LIB_REFUSES(mapped, culv_vk_image_map(vk, i.memory, &d, &mapped), INVALID, NOT_EXPORTABLE);
    }
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VkFormat list[] = {VK_FORMAT_R8G8B8A8_UNORM};
    VkImageFormatListCreateInfo formats = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
                                           .pNext = &external,
                                           .viewFormatCount = 1,
                                           .pViewFormats = list};
    info.pNext = &formats; /* behind others it is found as well */
    LIB_OK(culv_vk_image_map(vk, i.memory, &d, &mapped));
    culv_image_unmap(&mapped, NULL);
    LIB_REFUSES(made, culv_vk_image_create(vk, &c, &made), INVALID, VALUE);
    formats.pNext = NULL;
    LIB_OK(culv_vk_image_create(vk, &c, &made));
    culv_shared_image_destroy(&made, NULL);
    shared_image_close(s, &i);
}

/* What the caller says of the binding, against what Vulkan says of the image. */
IMAGE_CASE(bindings)
{
    shared_image i, at;
    culv_image *mapped = NULL;
    culv_memory *memory = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &i);
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &at);
    const VkDeviceSize size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        VkDeviceSize size, offset;
        VkBool32 dedicated;
        culv_reason reason;
    } rows[] = {
        {at.caller.size - 1, 0, VK_FALSE, CULV_REASON_SIZE},
        {size - 1, offset, VK_FALSE, CULV_REASON_RANGE},
        {size, size, VK_FALSE, CULV_REASON_RANGE},
        {size, UINT64_MAX, VK_FALSE, CULV_REASON_RANGE},
        {size, UINT64_MAX - at.caller.size + 1, VK_FALSE, CULV_REASON_RANGE},
        {size, offset - 1, VK_FALSE, CULV_REASON_RANGE}, /* not aligned */
        {size, offset, VK_TRUE, CULV_REASON_DEDICATED},
    };
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = right_info(&external);
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = at.image;
    d.create_info = &info;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_vk_memory_desc md = culv_vk_memory_desc_init();
        md.memory = at.caller.memory;
        md.allocation_size = rows[n].size;
        md.dedicated = rows[n].dedicated;
        md.image = at.image;
        md.image_offset = rows[n].offset;
        LIB_REFUSES_AS(memory, culv_vk_memory_import(s->w.attachment, &md, &memory),
                       CULV_ERROR_INVALID, rows[n].reason);
        md.image = VK_NULL_HANDLE; /* not said at the import: then it is the mapping that refuses */
        LIB_OK(culv_vk_memory_import(s->w.attachment, &md, &memory));
        d.offset = rows[n].offset;
        LIB_REFUSES_AS(mapped, culv_vk_image_map(s->w.attachment, memory, &d, &mapped),
                       CULV_ERROR_INVALID, rows[n].reason);
        culv_memory_destroy(&memory);
    }
    /* A create_info that is not this image's. */
    VkImageCreateInfo other = info;
    other.extent.width = 4096;
    d.create_info = &other;
    d.offset = offset;
    LIB_REFUSES(mapped, culv_vk_image_map(s->w.attachment, at.memory, &d, &mapped), INVALID,
                EXTENT);

    /* The same GPU, but another culv_device. */
    culv_vk_device *vk = NULL;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    NEW(culv_device, device, culv_device_open_for_vk, vkGetInstanceProcAddr, s->w.vk.instance,
        s->w.vk.physical, NULL);
    LIB_OK(culv_vk_attach(device, &vd, &vk));
    d.create_info = &info;
    LIB_REFUSES(mapped, culv_vk_image_map(vk, at.memory, &d, &mapped), INVALID, DEVICE_MISMATCH);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    shared_image_close(s, &at);
    shared_image_close(s, &i);
}

/* A Vulkan that has other needs or answers than any at hand. */
IMAGE_CASE(vulkan_says_no)
{
    shared_image at;
    culv_image *mapped = NULL;
    culv_shared_image *made = NULL;
    culv_shared_buffer *buffer = NULL;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, SIDE, SIDE, LEVELS, 0, &at);
    VkExternalMemoryImageCreateInfo external;
    const VkImageCreateInfo info = right_info(&external);
    VkImageCreateInfo plain = right_info(NULL);
    const VkFormat list[] = {VK_FORMAT_R8G8B8A8_UNORM};
    const VkImageFormatListCreateInfo formats = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO,
        .viewFormatCount = 1,
        .pViewFormats = list};
    const VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO};
    plain.pNext = &formats; /* the caller's chain is passed on */
    const VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                            .pNext = &address,
                                            .size = 65536,
                                            .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_desc d = culv_vk_image_desc_init();
    d.image = at.image;
    d.create_info = &info;
    d.offset = at.caller.offset;
    culv_vk_image_create_desc c = culv_vk_image_create_desc_init();
    c.create_info = &plain;
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    b.create_info = &buffer_info;
    const struct {
        lib_lies lies;
        culv_result result;
        culv_reason reason;
    } rows[] = {{{.requires_dedicated = true}, CULV_ERROR_INVALID, CULV_REASON_DEDICATED},
                {{.dedicated_only = true}, CULV_ERROR_INVALID, CULV_REASON_DEDICATED},
                {{.exports_nothing = true}, CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE},
                TEST_ROW({.image_format_result = VK_ERROR_FORMAT_NOT_SUPPORTED},
                         CULV_ERROR_UNSUPPORTED, CULV_REASON_NOT_EXPORTABLE),
                TEST_ROW({.image_format_result = VK_ERROR_OUT_OF_HOST_MEMORY},
                         CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY),
                TEST_ROW({.image_format_result = VK_ERROR_UNKNOWN}, CULV_ERROR_DRIVER,
                         CULV_REASON_DRIVER_REFUSED)};
    for (int n = 0; n < 6; n++) {
        culv_vk_device_desc vd = lib_vk_desc(&s->w);
        lib_lying = rows[n].lies;
        vd.get_instance_proc_addr = lib_lying_loader;
        NEW(culv_vk_device, lying, culv_vk_attach, s->w.device, &vd);
        LIB_REFUSES_AS(mapped, culv_vk_image_map(lying, at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
        if (n < 2) { /* Culvert allocates as Vulkan wants it */
            lib_saw_dedicated = lib_saw_chain = false;
            LIB_OK(culv_vk_image_create(lying, &c, &made));
            REQUIRE(lib_saw_dedicated && lib_saw_chain);
            lib_saw_dedicated = lib_saw_chain = false;
            LIB_OK(culv_vk_buffer_create(lying, &b, &buffer));
            REQUIRE(lib_saw_dedicated && lib_saw_chain);
            culv_shared_image_destroy(&made, NULL);
            culv_shared_buffer_destroy(&buffer, NULL);
        } else {
            LIB_REFUSES_AS(made, culv_vk_image_create(lying, &c, &made), rows[n].result,
                           rows[n].reason);
        }
        if (n == 2)
            LIB_REFUSES_AS(buffer, culv_vk_buffer_create(lying, &b, &buffer), rows[n].result,
                           rows[n].reason);
        culv_vk_detach(&lying);
    }
    shared_image_close(s, &at);
}

#undef TEST_GROUP
#define TEST_GROUP "maps."
/* culv_image_map() and what is asked of an image, called wrongly. */

/* Without Vulkan's word for it: what the descriptor and the allocation contradict in. */
IMAGE_CASE(maps, .title = "maps.wrong_descriptors", .smoke = true)
{
    shared_image i, at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_DEDICATED, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &i);
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    const uint64_t size = at.caller.allocation_size, offset = at.caller.offset;
    const struct {
        uint64_t offset;
        uint32_t format, width, height, levels;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {offset, 0, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 23, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT}, /* three channels */
        {offset, 129, 64, 64, 7, CULV_ERROR_UNSUPPORTED,
         CULV_REASON_FORMAT}, /* D24_UNORM_S8_UINT */
        {offset, UINT32_MAX, 64, 64, 7, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {offset, 124, 8, 8, 1, CULV_ERROR_INVALID, CULV_REASON_DEDICATED}, /* D16_UNORM */
        {offset, 127, 8, 8, 1, CULV_ERROR_INVALID, CULV_REASON_DEDICATED}, /* S8_UINT */
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
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
    }
    culv_image_desc d = culv_image_desc_init();
    LIB_REFUSES(mapped, culv_image_map(at.memory, &d, &mapped), UNSUPPORTED,
                FORMAT); /* nothing said */
    d.format = CULV_FORMAT_R32_SFLOAT;
    d.width = d.height = 16;
    d.offset = 4096;
    LIB_REFUSES(mapped, culv_image_map(i.memory, &d, &mapped), INVALID, DEDICATED);
    LIB_REFUSES(mapped, culv_image_map(at.memory, NULL, &mapped), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_image_map(at.memory, &d, NULL), NULL_ARGUMENT);
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE_EQ(c.images, 2);
    REQUIRE_EQ(c.mappings, 2);
    shared_image_close(s, &at);
    shared_image_close(s, &i);
}

/* Kinds of image: what type, extent, layers and format contradict in. */
IMAGE_CASE(kinds, .title = "maps.wrong_kinds")
{
    shared_image at;
    culv_image *mapped = NULL;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R32_SFLOAT, 64, 64, 7, 0, &at);
    enum { FLOAT = CULV_FORMAT_R32_SFLOAT, NV12 = CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM };
    const struct {
        uint32_t type, format, texels, width, height, depth, layers, levels, gather;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {4, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {UINT32_MAX, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 2, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_1D, FLOAT, 0, 8, 1, 1, 1, 5, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2049, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, UINT32_MAX, 1, 0, CULV_ERROR_INVALID,
         CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 0, 8, 8, 1, 2, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 0, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 2, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 5, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 16385, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, FLOAT, 0, 8, 8, 8, 1, 1, 1, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 4, 1, 6, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 5, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 7, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_CUBE, FLOAT, 0, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, FLOAT, 1, 8, 8, 1, 1, 1, 0, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT},
        {CULV_IMAGE_2D, FLOAT, 2, 8, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_IMAGE_2D, NV12, 0, 7, 8, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 7, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_2D, NV12, 0, 8, 8, 1, 1, 2, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        {CULV_IMAGE_3D, NV12, 0, 8, 8, 2, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_EXTENT},
        /* More than the allocation, by each of the factors. */
        {CULV_IMAGE_1D, FLOAT, 0, 131072, 1, 1, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, FLOAT, 0, 64, 64, 1, 2048, 7, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_3D, FLOAT, 0, 64, 64, 16384, 1, 1, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_CUBE, FLOAT, 0, 64, 64, 1, 0, 7, 0, CULV_ERROR_INVALID, CULV_REASON_RANGE},
        {CULV_IMAGE_2D, CULV_FORMAT_R64G64_UINT, 0, 131072, 131072, 1, 2048, 18, 0,
         CULV_ERROR_INVALID, CULV_REASON_RANGE},
    };
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        culv_image_desc d = culv_image_desc_init();
        d.offset = at.caller.offset;
        d.format = (culv_format)rows[n].format;
        d.texels = (culv_texels)rows[n].texels;
        d.type = (culv_image_type)rows[n].type;
        d.width = rows[n].width;
        d.height = rows[n].height;
        d.depth = rows[n].depth;
        d.array_layers = rows[n].layers;
        d.mip_levels = rows[n].levels;
        d.texture_gather = rows[n].gather;
        LIB_REFUSES_AS(mapped, culv_image_map(at.memory, &d, &mapped), rows[n].result,
                       rows[n].reason);
    }
    shared_image_close(s, &at);
}

/* What was mapped, with the defaults. */
IMAGE_CASE(told)
{
    shared_image i;
    shared_image_open(s, CALLERS_AT_OFFSET, VK_FORMAT_R8G8B8A8_UNORM, 40, 30, 3, 0, &i);
    culv_image_desc d = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(i.cuda, &d));
    REQUIRE_EQ(d.struct_size, sizeof d);
    REQUIRE_EQ(d.offset, i.caller.offset);
    REQUIRE_EQ(d.format, CULV_FORMAT_R8G8B8A8_UNORM);
    REQUIRE_EQ(d.type, CULV_IMAGE_2D);
    REQUIRE(d.width == 40 && d.height == 30 && d.depth == 1 && d.array_layers == 1 &&
            d.mip_levels == 3);
    REQUIRE(d.label == NULL);
    CUarray plane = NULL;
    CUsurfObject surface = 0;
    LIB_INVALID(culv_image_get_array(i.cuda, 0, 1, &plane), LEVEL);
    LIB_INVALID(culv_image_get_surface(i.cuda, 0, 1, &surface), LEVEL);
    d.struct_size = 0;
    LIB_INVALID(culv_image_get_desc(i.cuda, &d), STRUCT_SIZE);
    shared_image_close(s, &i);
}

IMAGE_CASE(levels)
{
    static const uint32_t wrong[] = {3, 4, 31, 32, 33, UINT32_MAX};
    shared_image i;
    shared_image_open(s, CULVERTS, VK_FORMAT_R8G8B8A8_UNORM, 64, 64, 3, 0, &i);
    CUarray array = POISON(struct CUarray_st);
    CUsurfObject surface = 99;
    culv_subresource_layout layout = culv_subresource_layout_init();
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        LIB_INVALID(culv_image_get_array(i.cuda, wrong[n], 0, &array), LEVEL);
        LIB_INVALID(culv_image_get_surface(i.cuda, wrong[n], 0, &surface), LEVEL);
        LIB_INVALID(culv_image_get_layout(i.cuda, wrong[n], 0, &layout), LEVEL);
    }
    REQUIRE(array == POISON(struct CUarray_st) && surface == 99 && layout.width == 0);
    shared_image_close(s, &i);
}

#undef TEST_GROUP
#define TEST_GROUP "made."
/* Buffers and images that Culvert cannot make. */

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
