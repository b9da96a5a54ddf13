/* SPDX-License-Identifier: MIT */
/* The gate: memory. Requirements, memory types, and what the caller says of a bound resource:
 * CUDA's driver checks none of it (measured, docs/measured/nvidia-measured.md). */
#include "vulkan/vk.h"

void culvi_vk_buffer_needs(const culv_vk_device *vk, VkBuffer buffer, culvi_vk_needs *out)
{
    VkMemoryDedicatedRequirements dedicated = {CULVI_STYPE(MEMORY_DEDICATED_REQUIREMENTS)};
    VkMemoryRequirements2 requirements = {CULVI_STYPE(MEMORY_REQUIREMENTS_2), .pNext = &dedicated};
    VkBufferMemoryRequirementsInfo2 info = {CULVI_STYPE(BUFFER_MEMORY_REQUIREMENTS_INFO_2),
                                            .buffer = buffer};
    CULVI_VK_DO(vk, vkGetBufferMemoryRequirements2, (vk->vk_device, &info, &requirements));
    *out = (culvi_vk_needs){.memory = requirements.memoryRequirements,
                            .requires_dedicated = dedicated.requiresDedicatedAllocation,
                            .prefers_dedicated = dedicated.prefersDedicatedAllocation};
}

void culvi_vk_sparse_needs(const culv_vk_device *vk, VkBuffer buffer, VkDeviceSize *alignment,
                           uint32_t *type_bits)
{
    culvi_vk_needs needs;
    culvi_vk_buffer_needs(vk, buffer, &needs);
    *alignment = needs.memory.alignment != 0 ? needs.memory.alignment : 1;
    *type_bits = needs.memory.memoryTypeBits;
}

uint32_t culvi_vk_disjoint_planes(const VkImageCreateInfo *info)
{
    const culvi_format *row = culvi_format_find((uint32_t)info->format);
    return row != NULL && row->planes > 1 && (info->flags & VK_IMAGE_CREATE_DISJOINT_BIT)
               ? row->planes
               : 0;
}

/* What does not fit 64 bits needs all of them, which no heap has. */
static VkDeviceSize add(VkDeviceSize a, VkDeviceSize b)
{
    return b <= UINT64_MAX - a ? a + b : UINT64_MAX;
}

void culvi_vk_needs_add_up(culvi_vk_needs *needs)
{
    VkMemoryRequirements all = {.alignment = 1, .memoryTypeBits = UINT32_MAX};
    for (uint32_t i = 0; i < needs->planes; i++) {
        const VkMemoryRequirements *plane = &needs->plane[i];
        VkDeviceSize unit = plane->alignment != 0 ? plane->alignment : 1;
        needs->offsets[i] = add(all.size, (unit - all.size % unit) % unit);
        all.size = add(needs->offsets[i], plane->size);
        all.memoryTypeBits &= plane->memoryTypeBits;
        if (unit > all.alignment) all.alignment = unit; /* powers of two */
    }
    needs->memory = all;
}

void culvi_vk_image_needs(const culv_vk_device *vk, VkImage image, uint32_t disjoint_planes,
                          culvi_vk_needs *out)
{
    memset(out, 0, sizeof *out);
    out->planes = disjoint_planes;
    for (uint32_t i = 0; i < disjoint_planes || i == 0; i++) {
        VkMemoryDedicatedRequirements dedicated = {CULVI_STYPE(MEMORY_DEDICATED_REQUIREMENTS)};
        VkMemoryRequirements2 requirements = {CULVI_STYPE(MEMORY_REQUIREMENTS_2),
                                              .pNext = &dedicated};
        VkImagePlaneMemoryRequirementsInfo plane = {
            CULVI_STYPE(IMAGE_PLANE_MEMORY_REQUIREMENTS_INFO),
            .planeAspect = culvi_vk_plane_aspect(i)};
        VkImageMemoryRequirementsInfo2 info = {CULVI_STYPE(IMAGE_MEMORY_REQUIREMENTS_INFO_2),
                                               .pNext = disjoint_planes > 0 ? &plane : NULL,
                                               .image = image};
        CULVI_VK_DO(vk, vkGetImageMemoryRequirements2, (vk->vk_device, &info, &requirements));
        *(disjoint_planes > 0 ? &out->plane[i] : &out->memory) = requirements.memoryRequirements;
        out->requires_dedicated = out->requires_dedicated || dedicated.requiresDedicatedAllocation;
        out->prefers_dedicated = out->prefers_dedicated || dedicated.prefersDedicatedAllocation;
    }
    if (disjoint_planes > 0) culvi_vk_needs_add_up(out);
}

culv_result culvi_vk_check_binding(const culv_vk_device *vk, const char *label, const char *what,
                                   const char *field, const culvi_vk_needs *needs,
                                   VkDeviceSize offset, VkDeviceSize allocation_size,
                                   bool dedicated)
{
    const VkMemoryRequirements *r = &needs->memory;
    CULVI_REFUSE_IF(
        offset > allocation_size || r->size > allocation_size - offset, vk->voice, label,
        offset == 0 ? CULV_REASON_SIZE : CULV_REASON_RANGE,
        "the %s needs %" PRIu64 " bytes, but %s is %" PRIu64 " and the allocation has %" PRIu64
        " (culv_vk_memory_desc.allocation_size); pass VkMemoryAllocateInfo::allocationSize and the memoryOffset of vkBind%sMemory",
        what, r->size, field, offset, allocation_size, what[0] == 'b' ? "Buffer" : "Image");
    CULVI_REFUSE_IF(r->alignment != 0 && offset % r->alignment != 0, vk->voice, label,
                    CULV_REASON_RANGE,
                    "%s is %" PRIu64 ", which is not a multiple of the %s's alignment %" PRIu64
                    ", so the %s cannot lie there",
                    field, offset, what, r->alignment, what);
    CULVI_REFUSE_IF(
        needs->requires_dedicated && !dedicated, vk->voice, label, CULV_REASON_DEDICATED,
        "Vulkan requires a dedicated allocation for this %s (VkMemoryDedicatedRequirements::requiresDedicatedAllocation), but dedicated is not set; allocate with VkMemoryDedicatedAllocateInfo and set it",
        what);
    CULVI_REFUSE_IF(dedicated && offset != 0, vk->voice, label, CULV_REASON_DEDICATED,
                    "dedicated is set, but the %s lies at offset %" PRIu64
                    "; a dedicated allocation holds its one resource at offset 0",
                    what, offset);
    return CULV_OK;
}

culv_result culvi_vk_memory_type(const culv_vk_device *vk, const char *label, uint32_t type_bits,
                                 VkMemoryPropertyFlags wanted, uint32_t *out)
{
    const VkPhysicalDeviceMemoryProperties *all = &vk->memory_types;
    CULVI_TEXT(text, 256);
    CULVI_UNSUPPORTED_IF(
        type_bits == 0, vk->voice, label, CULV_REASON_MEMORY_TYPE,
        "no memory type of '%s' can hold the resource (VkMemoryRequirements::memoryTypeBits is 0), whatever the queries of formats and buffers say; create it with fewer usages and flags",
        vk->base.name);
    if (wanted == 0) wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    for (uint32_t i = 0; i < all->memoryTypeCount; i++) {
        if (!(type_bits & (UINT32_C(1) << i))) continue;
        if ((all->memoryTypes[i].propertyFlags & wanted) == wanted) {
            *out = i;
            return CULV_OK;
        }
        culvi_text_add(&text, " %#" PRIx32, all->memoryTypes[i].propertyFlags);
    }
    return culvi_fail(vk->voice, label, CULV_ERROR_INVALID, CULV_REASON_MEMORY_TYPE,
                      "none of the resource's memory types has the memory_properties %#" PRIx32
                      " (VkMemoryPropertyFlags); its memory types are:%s",
                      wanted, text.data);
}

culv_result culvi_vk_check_heap(const culv_vk_device *vk, const char *label, uint32_t type,
                                VkDeviceSize size)
{
    uint32_t heap = vk->memory_types.memoryTypes[type].heapIndex;
    VkDeviceSize has = vk->memory_types.memoryHeaps[heap].size;
    if (size <= has) return CULV_OK;
    return culvi_fail(vk->voice, label, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY,
                      "the resource needs %" PRIu64 " bytes, and heap %" PRIu32
                      " of '%s', where memory type %" PRIu32 " lies, has %" PRIu64
                      " (VUID-vkAllocateMemory-pAllocateInfo-01713)",
                      size, heap, vk->base.name, type, has);
}
