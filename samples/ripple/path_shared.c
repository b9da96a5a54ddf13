/* SPDX-License-Identifier: MIT */
/* ripple's shared path: the buffer and the image that CUDA writes are those that Vulkan draws from,
 * and two timelines hand them over on the GPU: what path_ring.c does for several frames at once, by
 * hand.
 *
 *   ready is signaled by CUDA and awaited by Vulkan, drawn the other way round */
#include <stdlib.h>

#include "exchange.h"

typedef struct shared {
    culv_vk_device *attached;
    culv_shared_buffer *cells[EXCHANGE_MAX_BUFFERS];
    culv_shared_image *tint[EXCHANGE_MAX_BUFFERS];
    culv_shared_semaphore *ready, *drawn;
} shared;

/* Making --------------------------------------------------------------------------------------- */

/* A VkBuffer that is a CUdeviceptr as well. */
static bool share_cells(exchange *e, shared *s, uint32_t i)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = e->cells_size,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.label = "cells";
    if (!culv_ok(culv_vk_buffer_create(s->attached, &desc, &s->cells[i]), "culv_vk_buffer_create"))
        return false;
    e->buffers[i].cells = culv_vk_buffer_handle(s->cells[i]);
    e->buffers[i].cuda_cells = culv_shared_buffer_pointer(s->cells[i]);
    return true;
}

/* A VkImage that is a CUDA surface as well. */
static bool share_tint(exchange *e, shared *s, uint32_t i)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = EXCHANGE_TINT_FORMAT,
                              .extent = {e->grid.width, e->grid.height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
    culv_vk_image_create_desc desc = culv_vk_image_create_desc_init();
    desc.create_info = &info;
    desc.label = "tint";
    if (!culv_ok(culv_vk_image_create(s->attached, &desc, &s->tint[i]), "culv_vk_image_create"))
        return false;
    e->buffers[i].tint = culv_vk_image_handle(s->tint[i]);
    return culv_ok(
        culv_image_get_surface(culv_shared_image_cuda(s->tint[i]), 0, 0, &e->buffers[i].cuda_tint),
        "culv_image_get_surface");
}

static bool share_timeline(shared *s, const char *label, culv_shared_semaphore **both,
                           VkSemaphore *vulkan)
{
    if (!interop_timeline(s->attached, label, both)) return false;
    *vulkan = culv_vk_semaphore_handle(*both);
    return true;
}

/* Handing over --------------------------------------------------------------------------------- */

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    const shared *s = e->own;
    if (frame < e->num_buffers) return true; /* nobody has drawn from it yet */
    uint64_t drawn_before = frame - e->num_buffers;
    return culv_ok(
        culv_semaphore_wait(culv_shared_semaphore_cuda(s->drawn), stream, drawn_before + 1),
        "waiting for drawn");
}

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    const shared *s = e->own;
    return culv_ok(culv_semaphore_signal(culv_shared_semaphore_cuda(s->ready), stream, frame + 1),
                   "signaling ready");
}

static culv_vk_buffer_transfer cells_transfer(exchange *e, uint64_t frame)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = exchange_buffer_of(e, frame)->cells;
    transfer.queue_family = e->vulkan->queue_family;
    transfer.use = CULV_VK_USE_STORAGE_READ;
    transfer.stage = EXCHANGE_READING_STAGES;
    return transfer;
}

static culv_vk_image_transfer tint_transfer(exchange *e, uint64_t frame)
{
    culv_vk_image_transfer transfer = culv_vk_image_transfer_init();
    transfer.image = exchange_buffer_of(e, frame)->tint;
    transfer.queue_family = e->vulkan->queue_family;
    transfer.use = CULV_VK_USE_SAMPLED;
    transfer.stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
    return transfer;
}

static void record(VkCommandBuffer commands, const VkBufferMemoryBarrier2 *cells,
                   const VkImageMemoryBarrier2 *tint)
{
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = cells ? 1 : 0,
                                   .pBufferMemoryBarriers = cells,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = tint};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static bool hand_over(exchange *e, VkCommandBuffer commands, uint64_t frame,
                      culv_vk_direction direction)
{
    culv_vk_buffer_transfer cells = cells_transfer(e, frame);
    culv_vk_image_transfer tint = tint_transfer(e, frame);
    VkBufferMemoryBarrier2 buffer;
    VkImageMemoryBarrier2 image;
    if (!culv_ok(culv_vk_buffer_get_barrier2(&cells, direction, &buffer),
                 "culv_vk_buffer_get_barrier2") ||
        !culv_ok(culv_vk_image_get_barrier2(&tint, direction, &image),
                 "culv_vk_image_get_barrier2"))
        return false;
    record(commands, &buffer, &image);
    return true;
}

static bool record_acquire(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return hand_over(e, commands, frame, CULV_VK_ACQUIRE);
}

static bool record_release(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    return hand_over(e, commands, frame, CULV_VK_RELEASE);
}

/* A new image has no layout yet: Vulkan gives it the one that CUDA writes in. */
static bool release_first(exchange *e)
{
    vulkan_once once;
    bool fine = vulkan_once_begin(e->vulkan, e->vulkan->queue_family, e->vulkan->queue, &once);
    for (uint32_t i = 0; fine && i < e->num_buffers; i++) {
        culv_vk_image_transfer tint = tint_transfer(e, i);
        VkImageMemoryBarrier2 image;
        tint.discard = VK_TRUE;
        fine = culv_ok(culv_vk_image_get_barrier2(&tint, CULV_VK_RELEASE, &image),
                       "culv_vk_image_get_barrier2");
        if (fine) record(once.commands, NULL, &image);
    }
    return vulkan_once_end(e->vulkan, &once, fine);
}

static bool create(exchange *e)
{
    shared *s = e->own = calloc(1, sizeof *s);
    if (!s || !interop_attach(e->vulkan, e->device, false, &s->attached)) return false;
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        if (!share_cells(e, s, i) || !share_tint(e, s, i)) return false;
    }
    return share_timeline(s, "ready", &s->ready, &e->ready) &&
           share_timeline(s, "drawn", &s->drawn, &e->drawn) && release_first(e);
}

static void destroy(exchange *e)
{
    shared *s = e->own;
    if (!s) return;
    culv_shared_semaphore_destroy(&s->ready, NULL);
    culv_shared_semaphore_destroy(&s->drawn, NULL);
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        culv_shared_buffer_destroy(&s->cells[i], NULL);
        culv_shared_image_destroy(&s->tint[i], NULL);
    }
    culv_vk_detach(&s->attached);
    free(s);
}

static void unblock(exchange *e, uint64_t end)
{
    vulkan_signal_up_to(e->vulkan, e->ready, end + 1);
    vulkan_signal_up_to(e->vulkan, e->drawn, end + 1);
}

const exchange_path path_shared = {.name = "shared",
                                   .create = create,
                                   .destroy = destroy,
                                   .cuda_acquire = cuda_acquire,
                                   .cuda_release = cuda_release,
                                   .record_acquire = record_acquire,
                                   .record_release = record_release,
                                   .unblock = unblock};
