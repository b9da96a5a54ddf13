/* SPDX-License-Identifier: MIT */
/* Images of the tests' own Vulkan. See raw_vulkan_image.h. */
#include "raw_vulkan_image.h"

static const VkExternalMemoryHandleTypeFlagBits opaque_fd =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

/* Description ---------------------------------------------------------------------------------- */

static raw_vk_image_desc filled_in(const raw_vk_image_desc *desc)
{
    raw_vk_image_desc d = *desc;
    if (d.dimensions == 0) d.dimensions = 2;
    if (d.height == 0) d.height = 1;
    if (d.depth == 0) d.depth = 1;
    if (d.levels == 0) d.levels = 1;
    if (d.layers == 0) d.layers = 1;
    d.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    return d;
}

static bool shared(const raw_vk_image_desc *desc)
{
    return (desc->flags & (RAW_VK_EXPORT | RAW_VK_IMPORT)) != 0;
}

static VkImageType type_of(const raw_vk_image_desc *desc)
{
    return desc->dimensions == 1   ? VK_IMAGE_TYPE_1D
           : desc->dimensions == 2 ? VK_IMAGE_TYPE_2D
                                   : VK_IMAGE_TYPE_3D;
}

static VkImageTiling tiling_of(const raw_vk_image_desc *desc)
{
    return desc->flags & RAW_VK_LINEAR ? VK_IMAGE_TILING_LINEAR : VK_IMAGE_TILING_OPTIMAL;
}

uint32_t raw_vk_texel_size(VkFormat format)
{
    static const struct {
        VkFormat first, last; /* formats of one size stand together in Vulkan's list */
        uint32_t size;
    } rows[] = {
        {VK_FORMAT_R5G6B5_UNORM_PACK16, VK_FORMAT_R5G6B5_UNORM_PACK16, 2},
        {VK_FORMAT_R8_UNORM, VK_FORMAT_R8_SRGB, 1},
        {VK_FORMAT_R8G8_UNORM, VK_FORMAT_R8G8_SRGB, 2},
        {VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_A2B10G10R10_SINT_PACK32, 4},
        {VK_FORMAT_R16_UNORM, VK_FORMAT_R16_SFLOAT, 2},
        {VK_FORMAT_R16G16_UNORM, VK_FORMAT_R16G16_SFLOAT, 4},
        {VK_FORMAT_R16G16B16A16_UNORM, VK_FORMAT_R16G16B16A16_SFLOAT, 8},
        {VK_FORMAT_R32_UINT, VK_FORMAT_R32_SFLOAT, 4},
        {VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32_SFLOAT, 8},
        {VK_FORMAT_R32G32B32A32_UINT, VK_FORMAT_R32G32B32A32_SFLOAT, 16},
        {VK_FORMAT_B10G11R11_UFLOAT_PACK32, VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (format >= rows[i].first && format <= rows[i].last) return rows[i].size;
    return 0;
}

VkExtent3D raw_vk_image_extent(const raw_vk_image *image, uint32_t level)
{
    const raw_vk_image_desc *d = &image->desc;
    VkExtent3D extent = {d->width >> level, d->height >> level, d->depth >> level};
    if (extent.width == 0) extent.width = 1;
    if (extent.height == 0) extent.height = 1;
    if (extent.depth == 0) extent.depth = 1;
    return extent;
}

size_t raw_vk_image_bytes(const raw_vk_image *image, uint32_t level)
{
    VkExtent3D extent = raw_vk_image_extent(image, level);
    uint32_t texel = raw_vk_texel_size(image->desc.format);
    REQUIRE(texel != 0);
    return (size_t)extent.width * extent.height * extent.depth * image->desc.layers * texel;
}

bool raw_vk_image_supported(raw_vk *vk, const raw_vk_image_desc *desc)
{
    const raw_vk_image_desc d = filled_in(desc);
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = opaque_fd};
    const VkPhysicalDeviceImageFormatInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = shared(&d) ? &external : NULL,
        .format = d.format,
        .type = type_of(&d),
        .tiling = tiling_of(&d),
        .usage = d.usage,
        .flags = d.create_flags};
    VkFormatProperties format;
    vkGetPhysicalDeviceFormatProperties(vk->physical, d.format, &format);
    if ((d.create_flags & VK_IMAGE_CREATE_DISJOINT_BIT) &&
        !(format.optimalTilingFeatures & VK_FORMAT_FEATURE_DISJOINT_BIT))
        return false;
    VkExternalImageFormatProperties external_properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = shared(&d) ? &external_properties : NULL};
    VkResult result = vkGetPhysicalDeviceImageFormatProperties2(vk->physical, &info, &properties);
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED) return false;
    VK_OK(result);
    const VkImageFormatProperties *limits = &properties.imageFormatProperties;
    if (d.width > limits->maxExtent.width || d.height > limits->maxExtent.height ||
        d.depth > limits->maxExtent.depth || d.levels > limits->maxMipLevels ||
        d.layers > limits->maxArrayLayers)
        return false;
    VkExternalMemoryFeatureFlags features =
        external_properties.externalMemoryProperties.externalMemoryFeatures;
    if ((d.flags & RAW_VK_EXPORT) && !(features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return false;
    return !shared(&d) || (d.flags & RAW_VK_DEDICATED) ||
           !(features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT);
}

/* Making --------------------------------------------------------------------------------------- */

static VkImage create_image(raw_vk *vk, const raw_vk_image_desc *d)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = opaque_fd};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = shared(d) ? &external : NULL,
                                    .flags = d->create_flags,
                                    .imageType = type_of(d),
                                    .format = d->format,
                                    .extent = {d->width, d->height, d->depth},
                                    .mipLevels = d->levels,
                                    .arrayLayers = d->layers,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = tiling_of(d),
                                    .usage = d->usage,
                                    .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                                    .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    VkImage image = VK_NULL_HANDLE;
    REQUIRE(raw_vk_image_supported(vk, d));
    VK_OK(vkCreateImage(vk->device, &info, NULL, &image));
    vk->images++;
    return image;
}

static VkDeviceSize aligned(VkDeviceSize offset, VkDeviceSize alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

VkMemoryRequirements raw_vk_image_needs(raw_vk *vk, const raw_vk_image_desc *desc)
{
    const raw_vk_image_desc d = filled_in(desc);
    VkMemoryRequirements needs;
    VkImage image = create_image(vk, &d);
    vkGetImageMemoryRequirements(vk->device, image, &needs);
    vkDestroyImage(vk->device, image, NULL);
    vk->images--;
    return needs;
}

static VkImageAspectFlagBits plane_aspect(uint32_t plane)
{
    return (VkImageAspectFlagBits)((uint32_t)VK_IMAGE_ASPECT_PLANE_0_BIT << plane);
}

/* All in one call (VUID-vkBindImageMemory2-pBindInfos-02858). */
static void bind_planes(raw_vk *vk, const raw_vk_image *image)
{
    VkBindImagePlaneMemoryInfo planes[3];
    VkBindImageMemoryInfo binds[3];
    for (uint32_t i = 0; i < image->desc.planes; i++) {
        planes[i] =
            (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                         .planeAspect = plane_aspect(i)};
        binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[i],
                                           .image = image->image,
                                           .memory = image->memory,
                                           .memoryOffset = image->plane_offsets[i]};
    }
    VK_OK(vkBindImageMemory2(vk->device, image->desc.planes, binds));
}

/* Memory for the image, from the fd unless that is -1. */
static void allocate(raw_vk *vk, int fd, raw_vk_image *image)
{
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = image->image};
    const void *chain = image->desc.flags & RAW_VK_DEDICATED ? &dedicated : NULL;
    const VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = chain,
        .handleTypes = opaque_fd};
    const VkImportMemoryFdInfoKHR import_info = {.sType =
                                                     VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                                 .pNext = chain,
                                                 .handleType = opaque_fd,
                                                 .fd = fd};
    if (image->desc.flags & RAW_VK_EXPORT) chain = &export_info;
    if (fd >= 0) chain = &import_info;
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = chain,
                                       .allocationSize = image->allocation_size,
                                       .memoryTypeIndex = image->memory_type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &image->memory));
    vk->memories++;
    if (image->desc.create_flags & VK_IMAGE_CREATE_DISJOINT_BIT)
        bind_planes(vk, image);
    else
        VK_OK(vkBindImageMemory(vk->device, image->image, image->memory, image->offset));
}

/* What Vulkan requires of all planes, and where each goes. */
static VkMemoryRequirements place_planes(raw_vk *vk, raw_vk_image *image)
{
    VkMemoryRequirements all = {.memoryTypeBits = UINT32_MAX};
    VkDeviceSize end = image->desc.min_offset;
    REQUIRE(image->desc.planes >= 2 && image->desc.planes <= 3);
    for (uint32_t i = image->desc.planes; i-- > 0;) {
        const VkImagePlaneMemoryRequirementsInfo plane = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO,
            .planeAspect = plane_aspect(i)};
        const VkImageMemoryRequirementsInfo2 info = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2,
            .pNext = &plane,
            .image = image->image};
        VkMemoryRequirements2 needs = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
        vkGetImageMemoryRequirements2(vk->device, &info, &needs);
        const VkMemoryRequirements *r = &needs.memoryRequirements;
        image->plane_offsets[i] = aligned(end, r->alignment);
        end = image->plane_offsets[i] + r->size;
        all.memoryTypeBits &= r->memoryTypeBits;
        if (r->alignment > all.alignment) all.alignment = r->alignment;
    }
    all.size = end - image->plane_offsets[image->desc.planes - 1];
    return all;
}

void raw_vk_image_create(raw_vk *vk, const raw_vk_image_desc *desc, raw_vk_image *out)
{
    memset(out, 0, sizeof *out);
    out->desc = filled_in(desc);
    REQUIRE(desc->min_offset == 0 || (desc->flags & RAW_VK_DEDICATED) == 0);
    out->image = create_image(vk, &out->desc);
    VkMemoryRequirements needs;
    if (desc->create_flags & VK_IMAGE_CREATE_DISJOINT_BIT)
        needs = place_planes(vk, out);
    else
        vkGetImageMemoryRequirements(vk->device, out->image, &needs);
    out->memory_type =
        raw_vk_memory_type(vk, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    out->size = needs.size;
    out->offset = aligned(desc->min_offset, needs.alignment);
    out->allocation_size = out->offset + needs.size;
    allocate(vk, -1, out);
    if ((desc->flags & RAW_VK_UNTOUCHED) == 0) raw_vk_image_first_layout(vk, out, NULL);
}

void raw_vk_image_create_in(raw_vk *vk, const raw_vk_image_desc *desc, const raw_vk_buffer *buffer,
                            raw_vk_image *out)
{
    memset(out, 0, sizeof *out);
    out->desc = filled_in(desc);
    out->desc.flags |= RAW_VK_BORROWED | RAW_VK_EXPORT;
    REQUIRE((buffer->flags & RAW_VK_EXPORT) && (buffer->flags & RAW_VK_DEDICATED) == 0);
    out->image = create_image(vk, &out->desc);
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(vk->device, out->image, &needs);
    if ((needs.memoryTypeBits >> buffer->memory_type & 1u) == 0)
        SKIP("no memory type for buffer and image alike");
    out->memory_type = buffer->memory_type;
    out->size = needs.size;
    out->offset = aligned(desc->min_offset, needs.alignment);
    out->allocation_size = buffer->allocation_size;
    REQUIRE(out->offset + out->size <= out->allocation_size);
    out->memory = buffer->memory;
    VK_OK(vkBindImageMemory(vk->device, out->image, out->memory, out->offset));
    if ((desc->flags & RAW_VK_UNTOUCHED) == 0) raw_vk_image_first_layout(vk, out, NULL);
}

void raw_vk_image_import(raw_vk *vk, int fd, const raw_vk_image *like, raw_vk_image *out)
{
    *out = *like;
    out->desc.flags &= ~(unsigned)(RAW_VK_EXPORT | RAW_VK_BORROWED);
    out->desc.flags |= RAW_VK_IMPORT | RAW_VK_UNTOUCHED;
    out->image = create_image(vk, &out->desc);
    VkMemoryRequirements needs; /* asked for because validation wants it asked */
    vkGetImageMemoryRequirements(vk->device, out->image, &needs);
    allocate(vk, fd, out);
}

void raw_vk_image_destroy(raw_vk *vk, raw_vk_image *image)
{
    vkDestroyImage(vk->device, image->image, NULL);
    vk->images--;
    if ((image->desc.flags & RAW_VK_BORROWED) == 0) {
        vkFreeMemory(vk->device, image->memory, NULL);
        vk->memories--;
    }
    memset(image, 0, sizeof *image);
}

int raw_vk_image_fd(raw_vk *vk, const raw_vk_image *image)
{
    return raw_vk_memory_fd(vk, image->memory);
}

VkSubresourceLayout raw_vk_image_layout(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                                        uint32_t layer)
{
    const VkImageSubresource subresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, layer};
    VkSubresourceLayout layout;
    REQUIRE(image->desc.flags & RAW_VK_LINEAR);
    vkGetImageSubresourceLayout(vk->device, image->image, &subresource, &layout);
    return layout;
}

/* Work ----------------------------------------------------------------------------------------- */

static VkImageAspectFlags aspects(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT: return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_S8_UINT: return VK_IMAGE_ASPECT_STENCIL_BIT;
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default: return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

static void barrier(VkCommandBuffer commands, const raw_vk_image *image, VkImageMemoryBarrier2 what)
{
    what.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
    what.image = image->image;
    what.subresourceRange = (VkImageSubresourceRange){
        aspects(image->desc.format), 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &what};
    vkCmdPipelineBarrier2(commands, &info);
}

void raw_vk_image_acquire(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                          const raw_vk_image *image, VkImageLayout layout)
{
    const bool external = shared(&image->desc);
    /* Of an image that is not shared, the last use was on a queue of this device. */
    barrier(
        commands, image,
        (VkImageMemoryBarrier2){
            .srcStageMask =
                external ? VK_PIPELINE_STAGE_2_NONE : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
            .srcAccessMask = external ? VK_ACCESS_2_NONE : VK_ACCESS_2_MEMORY_WRITE_BIT,
            .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
            .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
            .oldLayout = VK_IMAGE_LAYOUT_GENERAL,
            .newLayout = layout,
            .srcQueueFamilyIndex = external ? VK_QUEUE_FAMILY_EXTERNAL : VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = external ? queue : VK_QUEUE_FAMILY_IGNORED});
}

void raw_vk_image_release(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                          const raw_vk_image *image, VkImageLayout layout)
{
    const bool external = shared(&image->desc);
    barrier(
        commands, image,
        (VkImageMemoryBarrier2){
            .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
            .srcAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
            .dstStageMask =
                external ? VK_PIPELINE_STAGE_2_NONE : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
            .dstAccessMask = external ? VK_ACCESS_2_NONE
                                      : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
            .oldLayout = layout,
            .newLayout = VK_IMAGE_LAYOUT_GENERAL,
            .srcQueueFamilyIndex = external ? queue : VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = external ? VK_QUEUE_FAMILY_EXTERNAL : VK_QUEUE_FAMILY_IGNORED});
}

void raw_vk_image_first_layout(raw_vk *vk, const raw_vk_image *image, const raw_vk_job *job)
{
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    raw_vk_image_release(vk, commands, queue, image, VK_IMAGE_LAYOUT_UNDEFINED);
    raw_vk_submit(vk, commands, job);
}

static VkBufferImageCopy whole_level(const raw_vk_image *image, uint32_t level, VkDeviceSize offset)
{
    return (VkBufferImageCopy){
        .bufferOffset = offset,
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, 0, image->desc.layers},
        .imageExtent = raw_vk_image_extent(image, level)};
}

void raw_vk_image_from_buffer(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                              const raw_vk_buffer *buffer, VkDeviceSize offset,
                              const raw_vk_job *job)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkBufferImageCopy region = whole_level(image, level, offset);
    uint32_t queue = job != NULL ? job->queue : 0;
    REQUIRE((buffer->flags & RAW_VK_HOST) &&
            offset + raw_vk_image_bytes(image, level) <= buffer->size);
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    raw_vk_image_acquire(vk, commands, queue, image, layout);
    vkCmdCopyBufferToImage(commands, buffer->buffer, image->image, layout, 1, &region);
    raw_vk_image_release(vk, commands, queue, image, layout);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_image_to_buffer(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                            const raw_vk_buffer *buffer, VkDeviceSize offset, const raw_vk_job *job)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const VkBufferImageCopy region = whole_level(image, level, offset);
    uint32_t queue = job != NULL ? job->queue : 0;
    REQUIRE((buffer->flags & RAW_VK_HOST) &&
            offset + raw_vk_image_bytes(image, level) <= buffer->size);
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    raw_vk_image_acquire(vk, commands, queue, image, layout);
    vkCmdCopyImageToBuffer(commands, image->image, layout, buffer->buffer, 1, &region);
    raw_vk_image_release(vk, commands, queue, image, layout);
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_image_clear(raw_vk *vk, const raw_vk_image *image, uint32_t level,
                        VkClearColorValue color, const raw_vk_job *job)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, level, 1, 0,
                                           VK_REMAINING_ARRAY_LAYERS};
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    raw_vk_image_acquire(vk, commands, queue, image, layout);
    vkCmdClearColorImage(commands, image->image, layout, &color, 1, &range);
    raw_vk_image_release(vk, commands, queue, image, layout);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_image_write(raw_vk *vk, const raw_vk_image *image, uint32_t level, const void *texels)
{
    raw_vk_buffer staging;
    size_t size = raw_vk_image_bytes(image, level);
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    memcpy(staging.mapped, texels, size);
    raw_vk_image_from_buffer(vk, image, level, &staging, 0, NULL);
    raw_vk_buffer_destroy(vk, &staging);
}

void raw_vk_image_read(raw_vk *vk, const raw_vk_image *image, uint32_t level, void *texels)
{
    raw_vk_buffer staging;
    size_t size = raw_vk_image_bytes(image, level);
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    raw_vk_image_to_buffer(vk, image, level, &staging, 0, NULL);
    memcpy(texels, staging.mapped, size);
    raw_vk_buffer_destroy(vk, &staging);
}
