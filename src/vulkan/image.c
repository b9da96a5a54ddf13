/* SPDX-License-Identifier: MIT */
/* Mapping images of the caller's: as arrays, or LINEAR ones by their rows. */
#include "vulkan/vk.h"

culv_result culvi_vk_check_same_image(culv_vk_device *vk, const char *label,
                                      const VkImageCreateInfo *info,
                                      const culvi_vk_verdict *verdict, const culvi_vk_needs *needs)
{
    const VkMemoryRequirements *has = &needs->memory;
    culvi_vk_needs told;
    if (!culvi_vk_ask_image_needs(vk, info, verdict->vk_handle_type, &told)) return CULV_OK;
    if (told.memory.size == has->size && told.memory.alignment == has->alignment &&
        told.memory.memoryTypeBits == has->memoryTypeBits)
        return CULV_OK;
    return culvi_fail(
        vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
        "create_info is not what this image was created with: such an image needs %" PRIu64
        " bytes aligned to %" PRIu64 " in memory types %#" PRIx32 ", and this one %" PRIu64
        " aligned to %" PRIu64 " in %#" PRIx32
        "; pass the VkImageCreateInfo, with its pNext chain, that vkCreateImage was called with",
        told.memory.size, told.memory.alignment, told.memory.memoryTypeBits, has->size,
        has->alignment, has->memoryTypeBits);
}

/* Each plane of a DISJOINT image by itself: CUDA's driver does not check it. */
static culv_result check_planes(const culv_vk_device *vk, const culv_vk_image_desc *d,
                                const culvi_format *row, const culvi_vk_needs *needs,
                                const culv_memory *memory)
{
    static const char *const names[CULVI_PLANES] = {"first plane", "second plane", "third plane"};
    static const char *const fields[CULVI_PLANES] = {"culv_vk_image_desc.plane_offsets[0]",
                                                     "culv_vk_image_desc.plane_offsets[1]",
                                                     "culv_vk_image_desc.plane_offsets[2]"};
    uint64_t size[CULVI_PLANES] = {0};
    for (uint32_t i = 0; i < needs->planes; i++) {
        culvi_vk_needs one = {.memory = needs->plane[i]};
        CULVI_TRY(culvi_vk_check_binding(vk, d->label, names[i], fields[i], &one,
                                         d->plane_offsets[i], memory->size, false));
        size[i] = needs->plane[i].size;
    }
    return culvi_image_check_planes(memory, d->label, row, d->offset, d->plane_offsets, size);
}

/* What both ways ask. */
static culv_result check(culv_vk_device *vk, culv_memory *memory, const culv_vk_image_desc *desc,
                         bool has_outputs, const char *call, bool pitched, culv_vk_image_desc *d,
                         culvi_vk_verdict *verdict)
{
    culvi_vk_needs needs;
    CULVI_REQUIRE_IN(NULL, call, vk);
    CULVI_REQUIRE_IN(vk->voice, call, memory);
    CULVI_REQUIRE_IN(vk->voice, call, desc);
    if (!has_outputs) return culvi_fail_null(vk->voice, call, "an output");
    CULVI_TRY(culvi_desc_read(vk->voice, d, sizeof *d, desc, "culv_vk_image_desc"));
    if (d->label == NULL) d->label = memory->label;
    CULVI_REQUIRE_FIELD(vk->voice, culv_vk_image_desc, *d, image);
    CULVI_REQUIRE_FIELD(vk->voice, culv_vk_image_desc, *d, create_info);
    CULVI_REFUSE_IF(
        memory->device != vk->base.device, vk->voice, d->label, CULV_REASON_DEVICE_MISMATCH,
        "the memory was imported into another culv_device ('%s') than the one attached ('%s')",
        memory->device->caps.name, vk->base.device->caps.name);
    CULVI_TRY(culvi_graphics_check_shares(&vk->base, d->label, CULVI_SHARE_IMAGES));
    culvi_vk_ask ask = {.label = d->label,
                        .origin = CULVI_VK_THE_CALLERS,
                        .handle_type = memory->handle_type,
                        .texels = d->texels,
                        .no_surfaces = d->no_surfaces,
                        .pitched = pitched};
    CULVI_TRY(culvi_vk_check_image(vk, &ask, d->create_info, verdict));
    culvi_vk_image_needs(vk, d->image, culvi_vk_disjoint_planes(d->create_info), &needs);
    /* If it is CUDA's rule, culv_image_map() says so. */
    bool cudas_rule = !pitched && verdict->format->dedicated;
    needs.requires_dedicated = needs.requires_dedicated || (verdict->dedicated_only && !cudas_rule);
    CULVI_TRY(culvi_image_check_unused(vk->voice, d->label, needs.planes, d->plane_offsets));
    CULVI_TRY(needs.planes > 0
                  ? check_planes(vk, d, verdict->format, &needs, memory)
                  : culvi_vk_check_binding(vk, d->label, "image", "culv_vk_image_desc.offset",
                                           &needs, d->offset, memory->size, memory->dedicated));
    return culvi_vk_check_same_image(vk, d->label, d->create_info, verdict, &needs);
}

culv_result culv_vk_image_map(culv_vk_device *vk, culv_memory *memory,
                              const culv_vk_image_desc *desc, culv_image **out)
{
    culv_vk_image_desc d;
    culvi_vk_verdict verdict;
    CULVI_TRY(check(vk, memory, desc, out != NULL, "culv_vk_image_map", false, &d, &verdict));
    culv_image_desc map = verdict.image;
    map.offset = d.offset;
    memcpy(map.plane_offsets, d.plane_offsets, sizeof map.plane_offsets);
    map.label = d.label;
    return culv_image_map(memory, &map, out);
}

/* The bytes from a level's first block to its last. */
static uint64_t span(const culv_subresource_layout *p)
{
    uint64_t across = ((uint64_t)p->width + p->block_width - 1) / p->block_width;
    uint64_t down = ((uint64_t)p->height + p->block_height - 1) / p->block_height;
    return (p->array_layers - 1) * p->layer_pitch + (p->depth - 1) * p->depth_pitch +
           (down - 1) * p->row_pitch + across * p->bytes_per_block;
}

/* Tells where a level of a plane lies: pitches from Vulkan, the rest from what was created. */
static culv_result describe(const culv_vk_device *vk, const culv_vk_image_desc *d, uint32_t level,
                            uint32_t plane, culv_subresource_layout *out, VkDeviceSize *offset)
{
    const VkImageCreateInfo *info = d->create_info;
    const culvi_format *row = culvi_format_find((uint32_t)info->format);
    uint32_t across, down;
    CULVI_REFUSE_IF(row == NULL || level >= info->mipLevels || plane >= row->planes, vk->voice,
                    d->label, CULV_REASON_LEVEL,
                    "culv_vk_image_map_pitched: level %" PRIu32 " and plane %" PRIu32
                    " of an image that has %" PRIu32 " and %u",
                    level, plane, info->mipLevels, row != NULL ? (unsigned)row->planes : 0u);
    const culvi_format *of_plane = culvi_format_plane(row, plane, &across, &down);
    VkImageSubresource subresource = {
        .aspectMask = row->planes > 1 ? (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << plane
                                      : row->aspects,
        .mipLevel = level};
    VkSubresourceLayout found = {0};
    CULVI_VK_DO(vk, vkGetImageSubresourceLayout, (vk->vk_device, d->image, &subresource, &found));
    *out = culv_subresource_layout_init();
    out->row_pitch = found.rowPitch;
    out->depth_pitch = info->imageType == VK_IMAGE_TYPE_3D ? found.depthPitch : 0;
    out->layer_pitch = info->arrayLayers > 1 ? found.arrayPitch : 0;
    out->width = culvi_level_size(info->extent.width / across, level);
    out->height = culvi_level_size(info->extent.height / down, level);
    out->depth = culvi_level_size(info->extent.depth, level);
    out->array_layers = info->arrayLayers;
    out->bytes_per_block = of_plane->block_bytes;
    out->block_width = of_plane->block_width;
    out->block_height = of_plane->block_height;
    out->size = span(out);
    *offset = found.offset;
    return CULV_OK;
}

culv_result culv_vk_image_map_pitched(culv_vk_device *vk, culv_memory *memory,
                                      const culv_vk_image_desc *desc, uint32_t level,
                                      uint32_t plane, culv_buffer **out,
                                      culv_subresource_layout *layout)
{
    culv_vk_image_desc d;
    culvi_vk_verdict verdict;
    culv_subresource_layout p;
    VkDeviceSize offset = 0;
    CULVI_TRY(check(vk, memory, desc, out != NULL && layout != NULL, "culv_vk_image_map_pitched",
                    true, &d, &verdict));
    CULVI_TRY(culvi_struct_check(vk->voice, layout, "culv_subresource_layout"));
    CULVI_TRY(describe(vk, &d, level, plane, &p, &offset));
    culv_buffer_desc map = culv_buffer_desc_init();
    map.offset = d.offset + offset;
    map.size = p.size;
    map.label = d.label;
    CULVI_TRY(culv_buffer_map(memory, &map, out));
    p.pointer = culv_buffer_pointer(*out);
    culvi_struct_write(layout, &p, sizeof p);
    return CULV_OK;
}
