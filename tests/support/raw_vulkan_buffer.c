/* SPDX-License-Identifier: MIT */
/* Buffers and work of the tests' own Vulkan. See raw_vulkan.h. */
#include "raw_vulkan.h"

static const VkExternalMemoryHandleTypeFlagBits opaque_fd =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
static const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

static bool shared(const raw_vk_buffer *buffer)
{
    return (buffer->flags & (RAW_VK_EXPORT | RAW_VK_IMPORT)) != 0;
}

static uint32_t memory_type(const raw_vk *vk, uint32_t bits, VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < vk->memory.memoryTypeCount; i++)
        if ((bits >> i & 1u) != 0 && (vk->memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    FAIL("no memory type with flags 0x%x among bits 0x%x", (unsigned)flags, (unsigned)bits);
}

static void require_exportable(const raw_vk *vk)
{
    const VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = usage,
        .handleType = opaque_fd};
    VkExternalBufferProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(vk->physical, &info, &properties);
    REQUIRE(properties.externalMemoryProperties.externalMemoryFeatures &
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT);
}

static void create_buffer(raw_vk *vk, VkDeviceSize size, unsigned flags, raw_vk_buffer *out)
{
    uint32_t families[RAW_VK_MAX_QUEUES];
    for (uint32_t i = 0; i < vk->queue_count; i++)
        families[i] = i;
    bool concurrent = (flags & RAW_VK_HOST) != 0 && vk->queue_count > 1;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = opaque_fd};
    memset(out, 0, sizeof *out);
    out->size = size;
    out->flags = flags;
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = shared(out) ? &external : NULL,
        .size = size,
        .usage = usage | (flags & RAW_VK_ADDRESS ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0),
        .sharingMode = concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = concurrent ? vk->queue_count : 0,
        .pQueueFamilyIndices = concurrent ? families : NULL};
    VK_OK(vkCreateBuffer(vk->device, &info, NULL, &out->buffer));
    vk->buffers++;
}

void raw_vk_buffer_create_at(raw_vk *vk, VkDeviceSize size, VkDeviceSize min_offset, unsigned flags,
                             raw_vk_buffer *out)
{
    REQUIRE(min_offset == 0 || (flags & RAW_VK_DEDICATED) == 0);
    if (flags & RAW_VK_EXPORT) require_exportable(vk);
    create_buffer(vk, size, flags, out);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(vk->device, out->buffer, &needs);
    out->offset = (min_offset + needs.alignment - 1) / needs.alignment * needs.alignment;
    out->allocation_size = out->offset + needs.size;
    out->memory_type = memory_type(vk, needs.memoryTypeBits,
                                   flags & RAW_VK_HOST ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                                                       : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = out->buffer};
    const VkMemoryAllocateFlagsInfo address = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = flags & RAW_VK_DEDICATED ? &dedicated : NULL,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const void *chain = flags & RAW_VK_ADDRESS ? &address : address.pNext;
    const VkExportMemoryAllocateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = chain,
        .handleTypes = opaque_fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = flags & RAW_VK_EXPORT ? &export_info : chain,
                                       .allocationSize = out->allocation_size,
                                       .memoryTypeIndex = out->memory_type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &out->memory));
    vk->memories++;
    VK_OK(vkBindBufferMemory(vk->device, out->buffer, out->memory, out->offset));
    if (flags & RAW_VK_HOST)
        VK_OK(vkMapMemory(vk->device, out->memory, out->offset, size, 0, &out->mapped));
}

void raw_vk_buffer_create(raw_vk *vk, VkDeviceSize size, unsigned flags, raw_vk_buffer *out)
{
    raw_vk_buffer_create_at(vk, size, 0, flags, out);
}

VkDeviceAddress raw_vk_buffer_address(const raw_vk *vk, const raw_vk_buffer *buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = buffer->buffer};
    return vkGetBufferDeviceAddress(vk->device, &info);
}

int raw_vk_buffer_fd(raw_vk *vk, const raw_vk_buffer *buffer)
{
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = buffer->memory,
                                       .handleType = opaque_fd};
    int fd = -1;
    VK_OK(vkGetMemoryFdKHR(vk->device, &info, &fd));
    REQUIRE(fd >= 0);
    return fd;
}

void raw_vk_buffer_import(raw_vk *vk, int fd, const raw_vk_buffer *like, raw_vk_buffer *out)
{
    unsigned flags = (like->flags & RAW_VK_DEDICATED) | RAW_VK_IMPORT;
    create_buffer(vk, like->size, flags, out);
    VkMemoryRequirements needs; /* asked for because validation wants it asked */
    vkGetBufferMemoryRequirements(vk->device, out->buffer, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = out->buffer};
    const VkImportMemoryFdInfoKHR import_info = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        .pNext = flags & RAW_VK_DEDICATED ? &dedicated : NULL,
        .handleType = opaque_fd,
        .fd = fd};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &import_info,
                                       .allocationSize = like->allocation_size,
                                       .memoryTypeIndex = like->memory_type};
    VK_OK(vkAllocateMemory(vk->device, &info, NULL, &out->memory));
    vk->memories++;
    out->allocation_size = like->allocation_size;
    out->offset = like->offset;
    out->memory_type = like->memory_type;
    VK_OK(vkBindBufferMemory(vk->device, out->buffer, out->memory, out->offset));
}

void raw_vk_buffer_destroy(raw_vk *vk, raw_vk_buffer *buffer)
{
    vkDestroyBuffer(vk->device, buffer->buffer, NULL);
    vkFreeMemory(vk->device, buffer->memory, NULL);
    vk->buffers--;
    vk->memories--;
    memset(buffer, 0, sizeof *buffer);
}

/* Work ----------------------------------------------------------------------------------------- */

VkCommandBuffer raw_vk_begin(raw_vk *vk, uint32_t queue)
{
    REQUIRE(queue < vk->queue_count);
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = vk->queues[queue].pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VK_OK(vkAllocateCommandBuffers(vk->device, &info, &commands));
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

void raw_vk_submit(raw_vk *vk, VkCommandBuffer commands, const raw_vk_job *job)
{
    static const raw_vk_job plain;
    if (job == NULL) job = &plain;
    VK_OK(vkEndCommandBuffer(commands));
    const VkSemaphoreSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = job->wait,
                                        .value = job->wait_value,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                          .semaphore = job->signal,
                                          .value = job->signal_value,
                                          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                  .waitSemaphoreInfoCount = job->wait != VK_NULL_HANDLE ? 1 : 0,
                                  .pWaitSemaphoreInfos = &wait,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos = &buffer,
                                  .signalSemaphoreInfoCount = job->signal != VK_NULL_HANDLE ? 1 : 0,
                                  .pSignalSemaphoreInfos = &signal};
    REQUIRE(vk->job_count < RAW_VK_MAX_JOBS);
    VK_OK(vkQueueSubmit2(vk->queues[job->queue].queue, 1, &submit, VK_NULL_HANDLE));
    vk->jobs[vk->job_count].queue = job->queue;
    vk->jobs[vk->job_count++].commands = commands;
    if (!job->pending) raw_vk_idle(vk);
}

void raw_vk_idle(raw_vk *vk)
{
    for (uint32_t i = 0; i < vk->queue_count; i++)
        VK_OK(vkQueueWaitIdle(vk->queues[i].queue));
    for (uint32_t i = 0; i < vk->job_count; i++)
        vkFreeCommandBuffers(vk->device, vk->queues[vk->jobs[i].queue].pool, 1,
                             &vk->jobs[i].commands);
    vk->job_count = 0;
}

/* One barrier over a whole buffer. */
static void barrier(VkCommandBuffer commands, const raw_vk_buffer *buffer,
                    VkBufferMemoryBarrier2 what)
{
    what.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2;
    what.buffer = buffer->buffer;
    what.size = VK_WHOLE_SIZE;
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &what};
    vkCmdPipelineBarrier2(commands, &info);
}

void raw_vk_acquire(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer)
{
    (void)vk;
    barrier(commands, buffer,
            (VkBufferMemoryBarrier2){.srcStageMask = VK_PIPELINE_STAGE_2_NONE,
                                     .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                                     .srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                     .dstQueueFamilyIndex = queue});
}

void raw_vk_release(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                    const raw_vk_buffer *buffer)
{
    (void)vk;
    barrier(commands, buffer,
            (VkBufferMemoryBarrier2){.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .srcAccessMask =
                                         VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                                     .dstStageMask = VK_PIPELINE_STAGE_2_NONE,
                                     .srcQueueFamilyIndex = queue,
                                     .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL});
}

void raw_vk_to_host(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkAccessFlags2 access)
{
    const VkMemoryBarrier2 written = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                      .srcStageMask = stage,
                                      .srcAccessMask = access,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                      .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &written};
    vkCmdPipelineBarrier2(commands, &info);
}

static void before_work(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                        const raw_vk_buffer *buffer)
{
    if (shared(buffer)) raw_vk_acquire(vk, commands, queue, buffer);
}

static void after_work(const raw_vk *vk, VkCommandBuffer commands, uint32_t queue,
                       const raw_vk_buffer *buffer)
{
    if (shared(buffer))
        raw_vk_release(vk, commands, queue, buffer);
    else if (buffer->flags & RAW_VK_HOST)
        barrier(commands, buffer,
                (VkBufferMemoryBarrier2){.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                         .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                         .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                         .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
                                         .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                         .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED});
}

void raw_vk_fill(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, VkDeviceSize size,
                 uint32_t word, const raw_vk_job *job)
{
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    before_work(vk, commands, queue, buffer);
    vkCmdFillBuffer(commands, buffer->buffer, offset, size, word);
    after_work(vk, commands, queue, buffer);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_copy(raw_vk *vk, const raw_vk_buffer *from, VkDeviceSize from_offset,
                 const raw_vk_buffer *to, VkDeviceSize to_offset, VkDeviceSize size,
                 const raw_vk_job *job)
{
    uint32_t queue = job != NULL ? job->queue : 0;
    VkCommandBuffer commands = raw_vk_begin(vk, queue);
    const VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = size};
    before_work(vk, commands, queue, from);
    before_work(vk, commands, queue, to);
    vkCmdCopyBuffer(commands, from->buffer, to->buffer, 1, &region);
    if (shared(from)) after_work(vk, commands, queue, from);
    after_work(vk, commands, queue, to);
    raw_vk_submit(vk, commands, job);
}

void raw_vk_write(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, const void *data,
                  VkDeviceSize size)
{
    raw_vk_buffer staging;
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    memcpy(staging.mapped, data, (size_t)size);
    raw_vk_copy(vk, &staging, 0, buffer, offset, size, NULL);
    raw_vk_buffer_destroy(vk, &staging);
}

void raw_vk_read(raw_vk *vk, const raw_vk_buffer *buffer, VkDeviceSize offset, void *data,
                 VkDeviceSize size)
{
    raw_vk_buffer staging;
    raw_vk_buffer_create(vk, size, RAW_VK_HOST, &staging);
    raw_vk_copy(vk, buffer, offset, &staging, 0, size, NULL);
    memcpy(data, staging.mapped, (size_t)size);
    raw_vk_buffer_destroy(vk, &staging);
}
