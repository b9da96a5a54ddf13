/* SPDX-License-Identifier: MIT */
/* Making a buffer or an image with memory of its own. */
#include "vulkan/vk_resource.h"
#include "vulkan/vk_trace.h"

#include <inttypes.h>
#include <string.h>

static culv_result create_buffer(culv_vk_device *vk, const culvi_vk_plan *plan,
                                 culvi_vk_resource *made, culvi_vk_needs *needs)
{
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .pNext = plan->buffer->pNext,
        .handleTypes = plan->handle_types};
    VkBufferCreateInfo info = *plan->buffer;
    if (plan->handle_types != 0) info.pNext = &external;
    VkResult r = CULVI_VK(vk, vkCreateBuffer, (vk->vk_device, &info, vk->callbacks, &made->buffer));
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, plan->label, r, "vkCreateBuffer",
                             CULV_REASON_DRIVER_REFUSED,
                             "a buffer of %" PRIu64 " bytes could not be made", info.size);
    culvi_vk_buffer_needs(vk, made->buffer, needs);
    return CULV_OK;
}

static culv_result create_image(culv_vk_device *vk, const culvi_vk_plan *plan,
                                culvi_vk_resource *made, culvi_vk_needs *needs)
{
    VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .pNext = plan->image->pNext,
        .handleTypes = plan->handle_types};
    const culvi_format *format = culvi_format_find((uint32_t)plan->image->format);
    VkImageCreateInfo info = *plan->image;
    if (plan->handle_types != 0) info.pNext = &external;
    VkResult r = CULVI_VK(vk, vkCreateImage, (vk->vk_device, &info, vk->callbacks, &made->image));
    if (r != VK_SUCCESS)
        return culvi_fail_vk(&vk->base.device->voice, plan->label, r, "vkCreateImage",
                             CULV_REASON_DRIVER_REFUSED,
                             "the %s image of imageType %d, %" PRIu32 " x %" PRIu32 " x %" PRIu32
                             " texels, %" PRIu32 " layers, %" PRIu32 " levels, flags %#" PRIx32
                             " and usage %#" PRIx32 " could not be made",
                             format != NULL ? format->name : "unlisted", (int)info.imageType,
                             info.extent.width, info.extent.height, info.extent.depth,
                             info.arrayLayers, info.mipLevels, info.flags, info.usage);
    culvi_vk_image_needs(vk, made->image, culvi_vk_disjoint_planes(&info), needs);
    return CULV_OK;
}

/* Memory with one resource in it loses nothing by being dedicated, and a buffer of GiBs has six
 * times the random access then (measured, docs/measured/memory-kinds.md). Images are as Vulkan
 * wishes. */
static bool is_dedicated(const culvi_vk_plan *plan, const culvi_vk_needs *needs)
{
    /* VUID-VkMemoryDedicatedAllocateInfo-image-01797: no DISJOINT image is. */
    if (needs->planes > 0) return false;
    if (plan->dedicated || needs->requires_dedicated) return true;
    return plan->buffer != NULL ? !plan->compressible : needs->prefers_dedicated;
}

static culv_result allocate(culv_vk_device *vk, const culvi_vk_plan *plan,
                            const culvi_vk_needs *needs, culvi_vk_resource *made)
{
    uint32_t type = 0;
    if (plan->pages != NULL) return culvi_vk_host_allocate(vk, plan, needs, made);
    culv_result result = culvi_vk_memory_type(vk, plan->label, needs->memory.memoryTypeBits,
                                              plan->memory_properties, &type);
    if (result == CULV_OK) result = culvi_vk_check_heap(vk, plan->label, type, needs->memory.size);
    if (result != CULV_OK) return result;
    VkMemoryDedicatedAllocateInfo dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = made->buffer,
                                               .image = made->image};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = plan->handle_types};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs->memory.size,
                                 .memoryTypeIndex = type};
    if (plan->handle_types != 0) info.pNext = &export_info;
    made->dedicated = is_dedicated(plan, needs);
    if (vk->base.across && !made->dedicated)
        info.allocationSize =
            (info.allocationSize + CULVI_PLACED_UNIT - 1) / CULVI_PLACED_UNIT * CULVI_PLACED_UNIT;
    if (made->dedicated) {
        dedicated.pNext = info.pNext;
        info.pNext = &dedicated;
    }
    if (plan->buffer != NULL && (plan->buffer->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT)) {
        flags.pNext = info.pNext;
        info.pNext = &flags;
    }
    VkResult r =
        CULVI_VK(vk, vkAllocateMemory, (vk->vk_device, &info, vk->callbacks, &made->memory));
    if (r != VK_SUCCESS)
        return culvi_fail_vk(
            &vk->base.device->voice, plan->label, r, "vkAllocateMemory", CULV_REASON_DRIVER_REFUSED,
            "%" PRIu64 " bytes of %smemory (type %" PRIu32 ", %s) could not be allocated",
            info.allocationSize, plan->handle_types != 0 ? "exportable " : "", type,
            made->dedicated ? "dedicated" : "not dedicated");
    made->size = info.allocationSize;
    return CULV_OK;
}

static VkResult bind_planes(culv_vk_device *vk, const culvi_vk_needs *needs,
                            culvi_vk_resource *made)
{
    VkBindImagePlaneMemoryInfo planes[CULVI_PLANES];
    VkBindImageMemoryInfo binds[CULVI_PLANES];
    for (uint32_t i = 0; i < needs->planes; i++) {
        planes[i] =
            (VkBindImagePlaneMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO,
                                         .planeAspect = culvi_vk_plane_aspect(i)};
        binds[i] = (VkBindImageMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO,
                                           .pNext = &planes[i],
                                           .image = made->image,
                                           .memory = made->memory,
                                           .memoryOffset = needs->offsets[i]};
        made->plane_offsets[i] = needs->offsets[i];
    }
    return CULVI_VK(vk, vkBindImageMemory2, (vk->vk_device, needs->planes, binds));
}

static culv_result bind(culv_vk_device *vk, const char *label, const culvi_vk_needs *needs,
                        culvi_vk_resource *made)
{
    if (needs->planes > 0) {
        VkResult all = bind_planes(vk, needs, made);
        return all == VK_SUCCESS ? CULV_OK
                                 : culvi_fail_vk(&vk->base.device->voice, label, all,
                                                 "vkBindImageMemory2", CULV_REASON_DRIVER_REFUSED,
                                                 "the memory could not be bound to the planes");
    }
    bool is_image = made->image != VK_NULL_HANDLE;
    VkResult r =
        is_image ? CULVI_VK(vk, vkBindImageMemory, (vk->vk_device, made->image, made->memory, 0))
                 : CULVI_VK(vk, vkBindBufferMemory, (vk->vk_device, made->buffer, made->memory, 0));
    if (r == VK_SUCCESS) return CULV_OK;
    return culvi_fail_vk(&vk->base.device->voice, label, r,
                         is_image ? "vkBindImageMemory" : "vkBindBufferMemory",
                         CULV_REASON_DRIVER_REFUSED, "the memory could not be bound");
}

culv_result culvi_vk_resource_create(culv_vk_device *vk, const culvi_vk_plan *plan,
                                     culvi_vk_resource *out)
{
    culvi_vk_resource made = {
        .usage = plan->image != NULL ? plan->image->usage : plan->buffer->usage,
        .concurrent =
            (plan->image != NULL ? plan->image->sharingMode : plan->buffer->sharingMode) ==
            VK_SHARING_MODE_CONCURRENT};
    culvi_vk_needs needs;
    culv_result result = plan->image != NULL ? create_image(vk, plan, &made, &needs)
                                             : create_buffer(vk, plan, &made, &needs);
    if (result != CULV_OK) return result;
    result = allocate(vk, plan, &needs, &made);
    if (result != CULV_OK) {
        made.memory = VK_NULL_HANDLE;
        goto destroy_resource;
    }
    result = bind(vk, plan->label, &needs, &made);
    if (result != CULV_OK) goto destroy_resource;
    *out = made;
    return CULV_OK;

destroy_resource:
    culvi_vk_resource_destroy(vk, &made);
    return result;
}

void culvi_vk_resource_destroy(culv_vk_device *vk, const culvi_vk_resource *resource)
{
    CULVI_VK_DO(vk, vkDestroyBuffer, (vk->vk_device, resource->buffer, vk->callbacks));
    CULVI_VK_DO(vk, vkDestroyImage, (vk->vk_device, resource->image, vk->callbacks));
    CULVI_VK_DO(vk, vkFreeMemory, (vk->vk_device, resource->memory, vk->callbacks));
}

culvi_native culvi_vk_resource_native(const culvi_vk_resource *r)
{
    bool is_image = r->image != VK_NULL_HANDLE;
    culvi_native native = {.object = is_image ? (uint64_t)r->image : (uint64_t)r->buffer,
                           .memory = (uint64_t)r->memory,
                           .size = r->size,
                           .usage = r->usage,
                           .is_image = is_image,
                           .dedicated = r->dedicated,
                           .concurrent = r->concurrent};
    memcpy(native.plane_offsets, r->plane_offsets, sizeof native.plane_offsets);
    return native;
}

culv_result culvi_vk_make(culvi_graphics *graphics, const culvi_plan *plan, culvi_native *out)
{
    culvi_vk_resource made;
    culvi_vk_plan native = {
        .label = plan->label, .handle_types = plan->handle_types, .dedicated = plan->dedicated};
    VkBufferCreateInfo buffer;
    VkImageCreateInfo image;
    bool copied = plan->path == CULV_SHARING_HOST;
    if (plan->is_image) {
        const culv_vk_image_create_desc *d = plan->desc;
        image = *d->create_info;
        if (copied)
            image.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        native.image = &image;
        native.memory_properties = d->memory_properties;
    } else {
        const culv_vk_buffer_create_desc *d = plan->desc;
        buffer = *d->create_info;
        if (copied)
            buffer.usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        if (culvi_vk_of(graphics)->kernels)
            buffer.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
        native.buffer = &buffer;
        native.compressible = d->memory_kind == CULV_MEMORY_KIND_COMPRESSIBLE;
        native.memory_properties = d->memory_properties;
    }
    culv_result result = culvi_vk_resource_create(culvi_vk_of(graphics), &native, &made);
    if (result == CULV_OK) *out = culvi_vk_resource_native(&made);
    return result;
}

void culvi_vk_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    culvi_vk_resource r = {.memory = culvi_vk_native_memory(native)};
    if (native->is_image)
        r.image = culvi_vk_native_image(native);
    else
        r.buffer = culvi_vk_native_buffer(native);
    culvi_vk_resource_destroy(culvi_vk_of(graphics), &r);
}
