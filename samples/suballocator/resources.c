/* SPDX-License-Identifier: MIT */
/* See resources.h. */
#include "resources.h"

#include <string.h>

#include "../common/progress.h"
#include "../common/report.h"

#define W TILE_WIDTH
#define H TILE_HEIGHT
const resource_plan resource_plans[NUM_RESOURCES] = {
    {"storage buffer", BUFFER, VK_FORMAT_UNDEFINED, W, H, 1, 1, 1, 0, 0},
    {"vertex buffer", BUFFER, VK_FORMAT_UNDEFINED, W, H, 1, 1, 1, 0, 0},
    {"index buffer", BUFFER, VK_FORMAT_UNDEFINED, W, H, 1, 1, 1, 0, 0},
    {"2D RGBA8", SURFACE_2D, VK_FORMAT_R8G8B8A8_UNORM, W, H, 1, 1, 1, 0, 0},
    {"2D BGRA8", SURFACE_2D, VK_FORMAT_B8G8R8A8_UNORM, W, H, 1, 1, 1, 0, 0},
    {"2D odd size", SURFACE_2D, VK_FORMAT_R8G8B8A8_UNORM, 253, 127, 1, 1, 1, 0, 0},
    {"level 2 of 4", SURFACE_2D, VK_FORMAT_R8G8B8A8_UNORM, 4 * W, 4 * H, 1, 1, 4, 2, 0},
    {"layer 3 of 5", SURFACE_LAYERED, VK_FORMAT_R8G8B8A8_UNORM, W, H, 1, 5, 1, 0, 3},
    {"slice 7 of 16", SURFACE_3D, VK_FORMAT_R8G8B8A8_UNORM, W, H, 16, 1, 1, 0, 7},
    {"cube, face 4", SURFACE_CUBE, VK_FORMAT_R8G8B8A8_UNORM, 128, 128, 1, 6, 1, 0, 4},
    {"uniform buffer", BUFFER, VK_FORMAT_UNDEFINED, W, H, 1, 1, 1, 0, 0},
    {"2D sRGB", SURFACE_2D, VK_FORMAT_R8G8B8A8_SRGB, W, H, 1, 1, 1, 0, 0},
};

static const VkExternalMemoryHandleTypeFlags exported =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

static VkImageCreateInfo image_info(const resource_plan *p,
                                    const VkExternalMemoryImageCreateInfo *external)
{
    return (VkImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = external,
        .flags = p->kind == SURFACE_CUBE ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0u,
        .imageType = p->kind == SURFACE_3D ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
        .format = p->format,
        .extent = {p->width, p->height, p->depth},
        .mipLevels = p->levels,
        .arrayLayers = p->layers,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
        .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
}

static VkBufferCreateInfo buffer_info(const resource_plan *p,
                                      const VkExternalMemoryBufferCreateInfo *external)
{
    return (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .pNext = external,
                                .size = (VkDeviceSize)p->width * p->height * 4,
                                .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
}

/* Asks Culvert first: a device may want such a resource to have memory of its own. */
static bool may_share_block(culv_vk_device *vk, const resource_plan *p)
{
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    VkBufferCreateInfo buffer = buffer_info(p, NULL);
    VkImageCreateInfo image = image_info(p, NULL);
    culv_result result = p->kind == BUFFER ? culv_vk_check_buffer(vk, &buffer, NULL, &sharing)
                                           : culv_vk_check_image(vk, &image, NULL, &sharing);
    if (!culv_ok(result, p->name)) return false;
    if (sharing.dedicated_required)
        report("%s: this device wants dedicated memory for it", p->name);
    return !sharing.dedicated_required;
}

bool resource_create(const vulkan_setup *v, culv_vk_device *vk, const resource_plan *plan,
                     resource *out)
{
    *out = (resource){.plan = plan};
    if (!may_share_block(vk, plan)) return false;
    VkExternalMemoryBufferCreateInfo external_buffer = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = exported};
    VkExternalMemoryImageCreateInfo external_image = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = exported};
    if (plan->kind == BUFFER) {
        VkBufferCreateInfo info = buffer_info(plan, &external_buffer);
        if (!vk_ok(vkCreateBuffer(v->device, &info, NULL, &out->buffer), "vkCreateBuffer"))
            return false;
        vkGetBufferMemoryRequirements(v->device, out->buffer, &out->needs);
    } else {
        VkImageCreateInfo info = image_info(plan, &external_image);
        if (!vk_ok(vkCreateImage(v->device, &info, NULL, &out->image), "vkCreateImage"))
            return false;
        vkGetImageMemoryRequirements(v->device, out->image, &out->needs);
    }
    return true;
}

bool resource_bind(const vulkan_setup *v, block *b, resource *r)
{
    bool is_image = r->image != VK_NULL_HANDLE;
    r->placed = block_take(b, &r->needs, is_image, &r->offset);
    if (!r->placed) return false;
    return is_image ? vk_ok(vkBindImageMemory(v->device, r->image, b->memory, r->offset),
                            "vkBindImageMemory")
                    : vk_ok(vkBindBufferMemory(v->device, r->buffer, b->memory, r->offset),
                            "vkBindBufferMemory");
}

static bool map_image(culv_vk_device *vk, culv_memory *memory, resource *r)
{
    VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = exported};
    VkImageCreateInfo info = image_info(r->plan, &external);
    culv_vk_image_desc desc = culv_vk_image_desc_init();
    desc.image = r->image;
    desc.create_info = &info;
    desc.offset = r->offset;
    desc.label = r->plan->name;
    return culv_ok(culv_vk_image_map(vk, memory, &desc, &r->cuda_image), "culv_vk_image_map");
}

static bool map_buffer(culv_memory *memory, resource *r)
{
    culv_buffer_desc desc = culv_buffer_desc_init();
    desc.offset = r->offset;
    desc.size = (uint64_t)r->plan->width * r->plan->height * 4;
    desc.label = r->plan->name;
    return culv_ok(culv_buffer_map(memory, &desc, &r->cuda_buffer), "culv_buffer_map");
}

bool resource_map(culv_vk_device *vk, const block *b, resource *r)
{
    culv_memory *memory = NULL;
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = b->memory;
    desc.allocation_size = b->size; /* of the whole block, not of the resource */
    double began = clock_seconds();
    if (!culv_ok(culv_vk_memory_import_shared(vk, &desc, &memory), "culv_vk_memory_import_shared"))
        return false;
    bool mapped = r->image ? map_image(vk, memory, r) : map_buffer(memory, r);
    culv_memory_destroy(&memory); /* what was mapped keeps the import */
    r->map_us = (clock_seconds() - began) * 1e6;
    return mapped;
}

void resource_destroy(const vulkan_setup *v, block *b, resource *r)
{
    culv_buffer_unmap(&r->cuda_buffer);
    culv_image_unmap(&r->cuda_image);
    vkDestroyBuffer(v->device, r->buffer, NULL);
    vkDestroyImage(v->device, r->image, NULL);
    if (r->placed) block_give_back(b, r->offset);
    memset(r, 0, sizeof *r);
}
