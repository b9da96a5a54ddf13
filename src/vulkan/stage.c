/* SPDX-License-Identifier: MIT */
/* Fallbacks through the host: pages that CUDA and Vulkan both reach. */
#include "base/alloc.h"
#include "base/attempt.h"
#include "vulkan/vk_resource.h"
#include "vulkan/vk_trace.h"

#include <inttypes.h>
#include <string.h>

static const VkBufferUsageFlags both_ways =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
static const VkExternalMemoryHandleTypeFlagBits host_pages =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

static VkBufferCreateInfo buffer_info(const culvi_staging *staging)
{
    return (VkBufferCreateInfo){
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = staging->size, .usage = both_ways};
}

static bool takes_pages(const culv_vk_device *vk)
{
    VkPhysicalDeviceExternalBufferInfo query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = both_ways,
        .handleType = host_pages};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    if (vk->host_alignment == 0) return false; /* the extension was not enabled */
    CULVI_VKI_DO(&vk->instance, vkGetPhysicalDeviceExternalBufferProperties,
                 (vk->physical_device, &query, &answer));
    return (answer.externalMemoryProperties.externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
}

/* Pages of Culvert's, which Vulkan takes as they are. CUDA's own pinned memory is not offered: it
 * lies in the driver's mapping, which other drivers need not accept. */
static culv_result import_pages(culv_vk_device *vk, const char *label, culvi_staging *staging,
                                culvi_vk_resource *made)
{
    VkBufferCreateInfo info = buffer_info(staging);
    culvi_vk_pages pages = {.start = NULL};
    culvi_vk_plan plan = {.label = label,
                          .buffer = &info,
                          .handle_types = (VkExternalMemoryHandleTypeFlags)host_pages,
                          .pages = &pages};
    culv_result result = culvi_vk_resource_create(vk, &plan, made);
    if (result == CULV_OK) {
        staging->host = pages.start;
        staging->block = pages.block;
    } else {
        culvi_free(pages.block);
    }
    return result;
}

static void free_vulkans(const culvi_mapping *self)
{
    PFN_vkFreeMemory release = (PFN_vkFreeMemory)self->free_memory;
    const culv_vk_device *vk = self->holder;
    release((VkDevice)self->device, (VkDeviceMemory)self->memory, vk->callbacks); /* unmaps it */
}

/* Vulkan's own host-visible memory, where it takes no others. It goes with the staging. */
static culv_result map_memory(culv_vk_device *vk, const char *label, culvi_staging *staging,
                              culvi_vk_resource *made)
{
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkBufferCreateInfo info = buffer_info(staging);
    culvi_vk_plan plan = {.label = label,
                          .buffer = &info,
                          .memory_properties = wanted | VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    culvi_attempt_begin();
    culv_result result = culvi_vk_resource_create(vk, &plan, made);
    (void)culvi_attempt_end(NULL, result);
    if (result == CULV_ERROR_INVALID) { /* there is no such memory */
        plan.memory_properties = wanted;
        result = culvi_vk_resource_create(vk, &plan, made);
    }
    if (result != CULV_OK) return result;
    VkResult r = CULVI_VK(vk, vkMapMemory,
                          (vk->vk_device, made->memory, 0, VK_WHOLE_SIZE, 0, &staging->host));
    if (r != VK_SUCCESS) {
        staging->host = NULL;
        culvi_vk_resource_destroy(vk, made);
        return culvi_fail_vk(&vk->base.device->voice, label, r, "vkMapMemory",
                             CULV_REASON_DRIVER_REFUSED, "the staging memory could not be mapped");
    }
    staging->native = (culvi_mapping){.release = free_vulkans,
                                      .free_memory = (void (*)(void))vk->table.vkFreeMemory,
                                      .device = (void *)vk->vk_device,
                                      .memory = (uint64_t)made->memory,
                                      .holder = vk};
    made->memory = VK_NULL_HANDLE; /* the staging's */
    return CULV_OK;
}

culv_result culvi_vk_stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                           culvi_native *out)
{
    culv_vk_device *vk = culvi_vk_of(graphics);
    culvi_vk_resource made = {.buffer = VK_NULL_HANDLE};
    culv_result result = CULV_ERROR_UNSUPPORTED;
    if (takes_pages(vk)) {
        culvi_attempt_begin();
        result = import_pages(vk, label, staging, &made);
        (void)culvi_attempt_end(NULL, result);
    }
    if (result != CULV_OK && result != CULV_ERROR_OUT_OF_MEMORY && result != CULV_ERROR_ASYNC)
        result = map_memory(vk, label, staging, &made);
    if (result == CULV_OK) *out = culvi_vk_resource_native(&made);
    return result;
}
