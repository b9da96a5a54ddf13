/* SPDX-License-Identifier: MIT */
/* What the programs do with Vulkan again and again: submit, hand over, read back, compare. */
#include "foreign.h"

VkBufferCreateInfo app_buffer_info(VkDeviceSize size, VkBufferUsageFlags usage)
{
    static const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};

    return (VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .pNext = &external,
                                .size = size,
                                .usage = usage};
}

uint32_t app_memory_type(app *a, uint32_t bits, VkMemoryPropertyFlags properties)
{
    VkPhysicalDeviceMemoryProperties memory;

    vkGetPhysicalDeviceMemoryProperties(a->physical_device, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
        if ((bits >> i & 1) != 0 &&
            (memory.memoryTypes[i].propertyFlags & properties) == properties)
            return i;
    FAIL("no memory type of 0x%x has the properties 0x%x", (unsigned)bits, (unsigned)properties);
}

void app_host_create(app *a, VkDeviceSize size, app_host *out)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = size,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    void *data;

    out->size = size;
    VK(vkCreateBuffer(a->device, &info, NULL, &out->buffer));
    vkGetBufferMemoryRequirements(a->device, out->buffer, &needs);
    const VkMemoryAllocateInfo memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = app_memory_type(a, needs.memoryTypeBits,
                                           VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)};
    VK(vkAllocateMemory(a->device, &memory, NULL, &out->memory));
    VK(vkBindBufferMemory(a->device, out->buffer, out->memory, 0));
    VK(vkMapMemory(a->device, out->memory, 0, VK_WHOLE_SIZE, 0, &data));
    out->data = data;
}

void app_host_destroy(app *a, app_host *host)
{
    vkDestroyBuffer(a->device, host->buffer, NULL);
    vkFreeMemory(a->device, host->memory, NULL);
}

VkCommandBuffer app_begin(app *a)
{
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = a->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands;

    VK(vkAllocateCommandBuffers(a->device, &info, &commands));
    VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

static VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, uint64_t value)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = semaphore,
                                   .value = value,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

VkFence app_submit(app *a, VkCommandBuffer commands, const app_sync *sync)
{
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSemaphoreSubmitInfo wait = semaphore_info(sync->wait, sync->wait_value);
    const VkSemaphoreSubmitInfo signal = semaphore_info(sync->signal, sync->signal_value);
    const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                  .waitSemaphoreInfoCount = sync->wait ? 1 : 0,
                                  .pWaitSemaphoreInfos = &wait,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos = &buffer,
                                  .signalSemaphoreInfoCount = sync->signal ? 1 : 0,
                                  .pSignalSemaphoreInfos = &signal};
    VkFence fence;

    VK(vkEndCommandBuffer(commands));
    VK(vkCreateFence(a->device, &fence_info, NULL, &fence));
    VK(vkQueueSubmit2(a->queue, 1, &submit, fence));
    return fence;
}

void app_finish(app *a, VkCommandBuffer commands, VkFence fence)
{
    VK(vkWaitForFences(a->device, 1, &fence, VK_TRUE, APP_FOREVER));
    vkDestroyFence(a->device, fence, NULL);
    vkFreeCommandBuffers(a->device, a->pool, 1, &commands);
}

void app_run(app *a, VkCommandBuffer commands, const app_sync *sync)
{
    app_finish(a, commands, app_submit(a, commands, sync));
}

void app_transfer_buffer(app *a, VkCommandBuffer commands, VkBuffer buffer,
                         culv_vk_direction direction, culv_vk_use use)
{
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;

    t.buffer = buffer;
    t.queue_family = a->family;
    t.use = use;
    CULV(culv_vk_buffer_get_barrier2(&t, direction, &barrier));
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

void app_transfer_image(app *a, VkCommandBuffer commands, VkImage image,
                        culv_vk_direction direction, culv_vk_use use, bool discard)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    VkImageMemoryBarrier2 barrier;

    t.image = image;
    t.queue_family = a->family;
    t.use = use;
    t.discard = discard;
    CULV(culv_vk_image_get_barrier2(&t, direction, &barrier));
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .imageMemoryBarrierCount = 1,
                                         .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

void app_record_read(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                     const app_host *to, VkDeviceSize to_offset, VkDeviceSize size)
{
    const VkBufferCopy region = {.srcOffset = offset, .dstOffset = to_offset, .size = size};
    const VkBufferMemoryBarrier2 seen = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                         .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                         .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                         .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                         .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
                                         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .buffer = to->buffer,
                                         .offset = to_offset,
                                         .size = size};
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &seen};

    vkCmdCopyBuffer(commands, buffer, to->buffer, 1, &region);
    vkCmdPipelineBarrier2(commands, &dependency);
}

static unsigned char byte_of(uint64_t index, uint32_t seed)
{
    uint32_t h = (uint32_t)index * 2654435761u + seed * 40503u + 17u;

    h ^= h >> 15;
    h *= 0x7feb352du;
    return (unsigned char)(h >> 24);
}

void app_fill_host(unsigned char *to, uint64_t first, uint64_t size, uint32_t seed)
{
    for (uint64_t i = 0; i < size; i++)
        to[i] = byte_of(first + i, seed);
}

void app_require_bytes(const char *what, const unsigned char *data, uint64_t first, uint64_t size,
                       uint32_t seed)
{
    uint64_t wrong = 0, at = 0;

    for (uint64_t i = size; i-- > 0;)
        if (data[i] != byte_of(first + i, seed)) {
            wrong++;
            at = i;
        }
    if (wrong != 0)
        FAIL("%s: %llu of %llu bytes are wrong, the first at %llu: 0x%02x, not 0x%02x", what,
             (unsigned long long)wrong, (unsigned long long)size, (unsigned long long)at, data[at],
             byte_of(first + at, seed));
}

void app_fill(app *a, CUdeviceptr to, uint64_t first, uint64_t size, uint32_t seed)
{
    unsigned long long from = first, count = size;
    void *arguments[] = {&to, &from, &count, &seed};

    app_launch(a, "foreign_fill", (unsigned)size, 1, arguments);
}
