/* ripple's Vulkan buffers and images, each with an allocation of its own. SPDX-License-Identifier: MIT */
#include <string.h>

#include "../common/report.h"
#include "vulkan_setup.h"

uint32_t vulkan_memory_type(const vulkan_setup *v, uint32_t bits, VkMemoryPropertyFlags wanted,
                            VkMemoryPropertyFlags preferred)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < v->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = v->memory.memoryTypes[i].propertyFlags;
        if (!(bits >> i & 1u) || (flags & wanted) != wanted) continue;
        if ((flags & preferred) == preferred) return i;
        if (found == UINT32_MAX) found = i;
    }
    return found;
}

static bool allocate(const vulkan_setup *v, const VkMemoryRequirements *needs, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags preferred, VkDeviceMemory *out)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = needs->size,
                                 .memoryTypeIndex =
                                     vulkan_memory_type(v, needs->memoryTypeBits, wanted, preferred)};
    if (info.memoryTypeIndex == UINT32_MAX) {
        report("%s has no suitable memory type", v->candidate.name);
        return false;
    }
    return vk_ok(vkAllocateMemory(v->device, &info, NULL, out), "vkAllocateMemory");
}

bool vulkan_buffer_create(const vulkan_setup *v, VkDeviceSize size, VkBufferUsageFlags usage,
                          bool host_visible, vulkan_buffer *out)
{
    memset(out, 0, sizeof *out);
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    if (!vk_ok(vkCreateBuffer(v->device, &info, NULL, &out->buffer), "vkCreateBuffer")) return false;
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(v->device, out->buffer, &needs);
    out->size = size;
    out->allocation_size = needs.size;
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, preferred = wanted;
    if (host_visible) {
        wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        preferred = wanted | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    }
    if (!allocate(v, &needs, wanted, preferred, &out->memory) ||
        !vk_ok(vkBindBufferMemory(v->device, out->buffer, out->memory, 0), "vkBindBufferMemory"))
        return false;
    return !host_visible ||
           vk_ok(vkMapMemory(v->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->mapped), "vkMapMemory");
}

void vulkan_buffer_destroy(const vulkan_setup *v, vulkan_buffer *buffer)
{
    vkDestroyBuffer(v->device, buffer->buffer, NULL);
    vkFreeMemory(v->device, buffer->memory, NULL);
    memset(buffer, 0, sizeof *buffer);
}

bool vulkan_image_create(const vulkan_setup *v, VkFormat format, VkExtent2D extent,
                         VkSampleCountFlagBits samples, VkImageUsageFlags usage, VkImageAspectFlags aspect,
                         vulkan_image *out)
{
    memset(out, 0, sizeof *out);
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {extent.width, extent.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = samples,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = usage};
    if (!vk_ok(vkCreateImage(v->device, &info, NULL, &out->image), "vkCreateImage")) return false;
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(v->device, out->image, &needs);
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = out->image,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {aspect, 0, 1, 0, 1}};
    return allocate(v, &needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, &out->memory) &&
           vk_ok(vkBindImageMemory(v->device, out->image, out->memory, 0), "vkBindImageMemory") &&
           vk_ok(vkCreateImageView(v->device, &view, NULL, &out->view), "vkCreateImageView");
}

void vulkan_image_destroy(const vulkan_setup *v, vulkan_image *image)
{
    vkDestroyImageView(v->device, image->view, NULL);
    vkDestroyImage(v->device, image->image, NULL);
    vkFreeMemory(v->device, image->memory, NULL);
    memset(image, 0, sizeof *image);
}
