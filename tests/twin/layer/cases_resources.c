/* SPDX-License-Identifier: MIT */
/* Buffers, images and their memory: counted, and made to fail. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer_test.h"

#define MEMORY_FD VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT

/* The ways to bind memory: each fails on its own. */
typedef enum binding { BIND, BIND_2, BINDINGS } binding;

typedef struct resource {
    VkBuffer buffer; /* one of the two */
    VkImage image;
    VkDeviceMemory memory;
    int fd;
} resource;

static VkResult allocate(world *w, resource *r, VkDeviceSize size)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType =
                                                   VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = r->buffer,
                                               .image = r->image};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .pNext = &dedicated,
                                         .handleTypes = MEMORY_FD};
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &export, .allocationSize = size};
    return w->d.vkAllocateMemory(w->device, &info, NULL, &r->memory);
}

static VkResult export_memory(world *w, resource *r)
{
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = r->memory,
                                       .handleType = MEMORY_FD};
    return w->d.vkGetMemoryFdKHR(w->device, &info, &r->fd);
}

static VkResult make_buffer(world *w, binding how, resource *r)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = MEMORY_FD};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkResult result = w->d.vkCreateBuffer(w->device, &info, NULL, &r->buffer);
    if (result != VK_SUCCESS) return result;
    const VkBufferMemoryRequirementsInfo2 ask = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2, .buffer = r->buffer};
    VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    w->d.vkGetBufferMemoryRequirements2(w->device, &ask, &need);
    result = allocate(w, r, need.memoryRequirements.size);
    if (result != VK_SUCCESS) return result;
    const VkBindBufferMemoryInfo bind = {.sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
                                         .buffer = r->buffer,
                                         .memory = r->memory};
    result = how == BIND ? w->d.vkBindBufferMemory(w->device, r->buffer, r->memory, 0)
                         : w->d.vkBindBufferMemory2(w->device, 1, &bind);
    return result != VK_SUCCESS ? result : export_memory(w, r);
}

static VkResult make_image(world *w, binding how, resource *r)
{
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = MEMORY_FD};
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .pNext = &external,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {64, 32, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkPhysicalDeviceExternalImageFormatInfo external_format = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = MEMORY_FD};
    const VkPhysicalDeviceImageFormatInfo2 format = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external_format,
        .format = info.format,
        .type = info.imageType,
        .tiling = info.tiling,
        .usage = info.usage};
    VkExternalImageFormatProperties external_properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &external_properties};
    VkResult result = vkGetPhysicalDeviceImageFormatProperties2(w->physical, &format, &properties);
    if (result != VK_SUCCESS) return result;
    CHECK(external_properties.externalMemoryProperties.externalMemoryFeatures &
          VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
    VkImageFormatProperties plain;
    result = vkGetPhysicalDeviceImageFormatProperties(w->physical, info.format, info.imageType,
                                                      info.tiling, info.usage, 0, &plain);
    if (result != VK_SUCCESS) return result;

    result = w->d.vkCreateImage(w->device, &info, NULL, &r->image);
    if (result != VK_SUCCESS) return result;
    const VkImageMemoryRequirementsInfo2 ask = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2, .image = r->image};
    VkMemoryRequirements2 need = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
    w->d.vkGetImageMemoryRequirements2(w->device, &ask, &need);
    result = allocate(w, r, need.memoryRequirements.size);
    if (result != VK_SUCCESS) return result;
    const VkBindImageMemoryInfo bind = {
        .sType = VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, .image = r->image, .memory = r->memory};
    result = how == BIND ? w->d.vkBindImageMemory(w->device, r->image, r->memory, 0)
                         : w->d.vkBindImageMemory2(w->device, 1, &bind);
    return result != VK_SUCCESS ? result : export_memory(w, r);
}

static void destroy(world *w, resource *r)
{
    w->d.vkDestroyBuffer(w->device, r->buffer, NULL);
    w->d.vkDestroyImage(w->device, r->image, NULL);
    w->d.vkFreeMemory(w->device, r->memory, NULL);
    if (r->fd >= 0) close(r->fd);
}

static void check_counts(uint64_t buffers, uint64_t images, uint64_t semaphores)
{
    culv_soft_vk_counts counts = layer_counts();
    CHECK_IS(counts.buffers, buffers);
    CHECK_IS(counts.images, images);
    CHECK_IS(counts.memories, buffers + images);
    CHECK_IS(counts.all_semaphores, semaphores);
}

void case_counts(void)
{
    world w, beside;
    resource buffer = {.fd = -1}, other = {.fd = -1}, image = {.fd = -1}, none = {.fd = -1};
    VkSemaphore binary, timeline, exportable;
    world_open(&w, NULL);
    world_open_beside(&beside, &w);
    CHECK_VK(make_buffer(&w, BIND_2, &buffer));
    CHECK_VK(make_image(&w, BIND_2, &image));
    CHECK_VK(make_buffer(&beside, BIND, &other)); /* of all devices together */
    check_counts(2, 1, 0);
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary));
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_TIMELINE, false, 0, &timeline));
    exportable = exportable_timeline(&w, 0);
    check_counts(2, 1, 3);
    CHECK_IS(layer_counts().semaphores, 1);
    destroy(&w, &none); /* null handles */
    w.d.vkDestroySemaphore(w.device, VK_NULL_HANDLE, NULL);
    check_counts(2, 1, 3);
    /* A program of before these fields. */
    culv_soft_vk_counts old;
    memset(&old, 0x5a, sizeof(old));
    old.struct_size = offsetof(culv_soft_vk_counts, all_semaphores);
    layer_counts_into(&old);
    CHECK_IS(old.memories, 3);
    CHECK_IS(old.all_semaphores, 0x5a5a5a5a5a5a5a5a);
    CHECK_IS(old.images, 0x5a5a5a5a5a5a5a5a);

    destroy(&w, &image);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    check_counts(2, 0, 2);
    destroy(&w, &buffer);
    destroy(&beside, &other);
    w.d.vkDestroySemaphore(w.device, timeline, NULL);
    w.d.vkDestroySemaphore(w.device, exportable, NULL);
    check_counts(0, 0, 0);
    world_close(&beside);
    world_close(&w);
}

/* What a program leaves behind stays in the counts when the device goes. */
void case_leaked(void)
{
    world w;
    resource image = {.fd = -1};
    VkSemaphore binary;
    world_open(&w, NULL);
    CHECK_IS(export_memory(&w, &image), VK_ERROR_INITIALIZATION_FAILED); /* has none */
    CHECK_VK(make_image(&w, BIND, &image));
    CHECK_VK(make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary));
    w.d.vkFreeMemory(w.device, image.memory, NULL);
    close(image.fd);
    world_close(&w);
    culv_soft_vk_counts counts = layer_counts();
    CHECK_IS(counts.devices, 0);
    CHECK_IS(counts.images, 1);
    CHECK_IS(counts.memories, 0);
    CHECK_IS(counts.all_semaphores, 1);
    _exit(0); /* the leak is meant */
}

/* Every way to make a resource, one after the other. */
static VkResult make_all(void)
{
    world w;
    VkResult result = world_try_open(&w, NULL);
    if (result != VK_SUCCESS) return result;
    for (int how = 0; result == VK_SUCCESS && how < 2 * BINDINGS; how++) {
        resource r = {.fd = -1};
        result = how < BINDINGS ? make_buffer(&w, (binding)how, &r)
                                : make_image(&w, (binding)(how - BINDINGS), &r);
        destroy(&w, &r);
    }
    VkSemaphore binary = VK_NULL_HANDLE;
    if (result == VK_SUCCESS)
        result = make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, false, 0, &binary);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    binary = VK_NULL_HANDLE;
    if (result == VK_SUCCESS)
        result = make_semaphore(&w, VK_SEMAPHORE_TYPE_BINARY, true, 0, &binary);
    w.d.vkDestroySemaphore(w.device, binary, NULL);
    world_close(&w);
    return result;
}

void case_fail_resources(void)
{
    /* Of each resource: create, allocate, bind, export; of each image two queries besides. */
    CHECK(fail_each_call(make_all) >= 2 * BINDINGS * 4 + BINDINGS * 2 + 1);
}
