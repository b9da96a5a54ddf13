/* ripple's exchange. SPDX-License-Identifier: MIT */
#include "exchange.h"

#include <string.h>

#include "../common/report.h"

#define DRAWING_STAGES (VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT)

bool exchange_open(exchange *e, const vulkan_setup *vulkan)
{
    memset(e, 0, sizeof *e);
    e->vulkan = vulkan;
    culv_device_desc device = culv_device_desc_init();
    device.driver = vulkan->candidate.driver;
    if (!culv_ok(culv_vk_device_open(vkGetInstanceProcAddr, vulkan->instance, vulkan->physical_device,
                                     &device, &e->device),
                 "culv_vk_device_open"))
        return false;
    culv_vk_desc vk = culv_vk_desc_init();
    vk.get_instance_proc_addr = vkGetInstanceProcAddr;
    vk.instance = vulkan->instance;
    vk.physical_device = vulkan->physical_device;
    vk.device = vulkan->device;
    vk.api_version = VK_API_VERSION_1_3;
    vk.num_physical_devices = 1;
    return culv_ok(culv_vk_attach(e->device, &vk, &e->attached), "culv_vk_attach");
}

/* A buffer in exportable memory of its own, imported into CUDA and mapped there. */
static bool share_buffer(exchange *e, exchange_buffer *b)
{
    const vulkan_setup *v = e->vulkan;
    VkExternalMemoryBufferCreateInfo external = {.sType =
                                                     VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .pNext = &external,
                                 .size = e->buffer_size,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    if (!vk_ok(vkCreateBuffer(v->device, &buffer, NULL, &b->buffer), "vkCreateBuffer")) return false;

    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(v->device, b->buffer, &needs);
    VkExportMemoryAllocateInfo exportable = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                             .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .pNext = &exportable, .buffer = b->buffer};
    VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = &dedicated,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = vulkan_memory_type(
                                           v, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)};
    if (!vk_ok(vkAllocateMemory(v->device, &allocation, NULL, &b->memory), "vkAllocateMemory") ||
        !vk_ok(vkBindBufferMemory(v->device, b->buffer, b->memory, 0), "vkBindBufferMemory"))
        return false;

    culv_vk_memory_desc import = culv_vk_memory_desc_init();
    import.memory = b->memory;
    import.allocation_size = needs.size; /* of the allocation, which may exceed the buffer's */
    import.dedicated = VK_TRUE;
    import.buffer = b->buffer;
    import.label = "cells";
    culv_buffer_desc range = culv_buffer_desc_init();
    range.size = e->buffer_size;
    range.label = "cells";
    return culv_ok(culv_vk_memory_import(e->attached, &import, &b->import), "culv_vk_memory_import") &&
           culv_ok(culv_buffer_map(b->import, &range, &b->mapped), "culv_buffer_map");
}

static bool share_timeline(exchange *e, const char *label, VkSemaphore *vulkan, culv_semaphore **cuda)
{
    VkExportSemaphoreCreateInfo exportable = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                              .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .pNext = &exportable,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline};
    if (!vk_ok(vkCreateSemaphore(e->vulkan->device, &info, NULL, vulkan), "vkCreateSemaphore")) return false;
    culv_vk_semaphore_desc import = culv_vk_semaphore_desc_init();
    import.semaphore = *vulkan;
    import.type = CULV_SEMAPHORE_TIMELINE;
    import.label = label;
    return culv_ok(culv_vk_semaphore_import(e->attached, &import, cuda), "culv_vk_semaphore_import");
}

bool exchange_share(exchange *e, VkDeviceSize buffer_size, uint32_t num_buffers)
{
    if (buffer_size > e->vulkan->properties.limits.maxStorageBufferRange) {
        report("the grid needs a storage buffer of %llu bytes; %s allows %u", (unsigned long long)buffer_size,
               e->vulkan->candidate.name, e->vulkan->properties.limits.maxStorageBufferRange);
        return false;
    }
    e->buffer_size = buffer_size;
    e->num_buffers = num_buffers;
    for (uint32_t i = 0; i < num_buffers; i++) {
        if (!share_buffer(e, &e->buffers[i])) return false;
    }
    return share_timeline(e, "sim_done", &e->sim_done, &e->cuda_sim_done) &&
           share_timeline(e, "draw_done", &e->draw_done, &e->cuda_draw_done);
}

void exchange_destroy(exchange *e)
{
    if (!e->vulkan) return;
    VkDevice device = e->vulkan->device;
    culv_semaphore_destroy(&e->cuda_sim_done);
    culv_semaphore_destroy(&e->cuda_draw_done);
    for (uint32_t i = 0; i < EXCHANGE_MAX_BUFFERS; i++) {
        culv_buffer_unmap(&e->buffers[i].mapped);
        culv_memory_destroy(&e->buffers[i].import);
        vkDestroyBuffer(device, e->buffers[i].buffer, NULL);
        vkFreeMemory(device, e->buffers[i].memory, NULL);
    }
    vkDestroySemaphore(device, e->sim_done, NULL);
    vkDestroySemaphore(device, e->draw_done, NULL);
    culv_vk_detach(&e->attached);
    culv_device_close(&e->device);
    memset(e, 0, sizeof *e);
}

bool exchange_cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    if (frame < e->num_buffers) return true; /* nobody has drawn from it yet */
    uint64_t drawn_before = frame - e->num_buffers;
    return culv_ok(culv_semaphore_wait(e->cuda_draw_done, stream, drawn_before + 1), "waiting for draw_done");
}

bool exchange_cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    return culv_ok(culv_semaphore_signal(e->cuda_sim_done, stream, frame + 1), "signalling sim_done");
}

CUdeviceptr exchange_cuda_pointer(const exchange *e, uint64_t frame)
{
    return culv_buffer_pointer(e->buffers[frame % e->num_buffers].mapped);
}

VkBuffer exchange_vulkan_buffer(const exchange *e, uint64_t frame)
{
    return e->buffers[frame % e->num_buffers].buffer;
}

VkSemaphoreSubmitInfo exchange_vulkan_wait(const exchange *e, uint64_t frame)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = e->sim_done,
                                   .value = frame + 1,
                                   .stageMask = DRAWING_STAGES};
}

VkSemaphoreSubmitInfo exchange_vulkan_signal(const exchange *e, uint64_t frame)
{
    return (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                   .semaphore = e->draw_done,
                                   .value = frame + 1,
                                   .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static void record(VkCommandBuffer commands, const VkBufferMemoryBarrier2 *barrier)
{
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static culv_vk_buffer_transfer transfer_of(const exchange *e, uint64_t frame)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = exchange_vulkan_buffer(e, frame);
    transfer.queue_family = e->vulkan->queue_family;
    transfer.stage = DRAWING_STAGES;
    return transfer;
}

bool exchange_record_acquire(const exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    culv_vk_buffer_transfer transfer = transfer_of(e, frame);
    transfer.access = VK_ACCESS_2_SHADER_STORAGE_READ_BIT;
    VkBufferMemoryBarrier2 barrier;
    if (!culv_ok(culv_vk_buffer_acquire_barrier2(&transfer, &barrier), "culv_vk_buffer_acquire_barrier2"))
        return false;
    record(commands, &barrier);
    return true;
}

bool exchange_record_release(const exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    culv_vk_buffer_transfer transfer = transfer_of(e, frame);
    VkBufferMemoryBarrier2 barrier;
    if (!culv_ok(culv_vk_buffer_release_barrier2(&transfer, &barrier), "culv_vk_buffer_release_barrier2"))
        return false;
    record(commands, &barrier);
    return true;
}

void exchange_unblock(const exchange *e, uint64_t frames)
{
    const VkSemaphore timelines[] = {e->sim_done, e->draw_done};
    for (size_t i = 0; i < sizeof timelines / sizeof timelines[0]; i++) {
        uint64_t reached = 0;
        if (!timelines[i] ||
            vkGetSemaphoreCounterValue(e->vulkan->device, timelines[i], &reached) != VK_SUCCESS ||
            reached > frames)
            continue;
        VkSemaphoreSignalInfo signal = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timelines[i], .value = frames + 1};
        (void)vkSignalSemaphore(e->vulkan->device, &signal);
    }
}
