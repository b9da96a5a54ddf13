/* SPDX-License-Identifier: MIT */
/* ripple's ring path: several frames on their way at once, in a ring of slots that CUDA writes and
 * Vulkan draws from. A GPU whose one engine does both changes from the one to the other once a
 * burst, not once a frame. This file is what to copy into a program of your own; path_shared.c
 * shows what the ring is made of.
 *
 *   CUDA    acquire_on (its stream waits), kernels, release_on (its stream signals)
 *   Vulkan  acquire, command buffer with the frame's barriers, submit (waits and signals with the
 *           burst's first and last) */
#include <stdlib.h>

#include "exchange.h"

/* A frame that takes longer than this to come is an error. */
#define LIMIT_NS UINT64_C(60000000000)

typedef struct ringed {
    culv_vk_device *attached;
    culv_ring *ring;
    culv_ring_frame filling; /* CUDA's */
    culv_ring_frame drawing; /* Vulkan's */
} ringed;

/* Every slot has a VkBuffer that is a CUdeviceptr as well, and a VkImage that is a CUDA surface as
 * well. */
static bool make_ring(exchange *e, ringed *r)
{
    VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                 .size = e->cells_size,
                                 .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = EXCHANGE_TINT_FORMAT,
                               .extent = {e->grid.width, e->grid.height, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .tiling = VK_IMAGE_TILING_OPTIMAL,
                               .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
    culv_vk_buffer_create_desc cells = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc tint = culv_vk_image_create_desc_init();
    cells.create_info = &buffer;
    cells.label = "cells";
    tint.create_info = &image;
    tint.label = "tint";
    culv_vk_ring_resource resources[] = {
        {.buffer = &cells, .use = CULV_VK_USE_STORAGE_READ, .stage = EXCHANGE_READING_STAGES},
        {.image = &tint,
         .use = CULV_VK_USE_SAMPLED,
         .stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT}};
    culv_ring_settings settings = culv_ring_settings_init();
    settings.burst = e->flow.burst;
    settings.max_latency = e->flow.max_latency_ns;
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = e->num_buffers;
    desc.settings = &settings;
    desc.resources = resources;
    desc.num_resources = 2;
    desc.side = CULV_RING_CONSUMER; /* Vulkan reads */
    desc.queue_family = e->vulkan->queue_family;
    desc.wait_stage = EXCHANGE_READING_STAGES;
    desc.label = "ripple";
    return culv_ok(culv_vk_ring_create(r->attached, e->vulkan->queue, &desc, &r->ring),
                   "culv_vk_ring_create");
}

static bool create(exchange *e)
{
    ringed *r = e->own = calloc(1, sizeof *r);
    if (!r || !interop_attach(e->vulkan, e->device, false, &r->attached) || !make_ring(e, r))
        return false;
    for (uint32_t slot = 0; slot < e->num_buffers; slot++) {
        exchange_buffer *both = &e->buffers[slot];
        culv_shared_image *tint = culv_ring_shared_image(r->ring, slot, 1);
        both->cells = culv_vk_buffer_handle(culv_ring_shared_buffer(r->ring, slot, 0));
        both->cuda_cells = culv_ring_pointer(r->ring, slot, 0);
        both->tint = culv_vk_image_handle(tint);
        if (!culv_ok(culv_image_get_surface(culv_shared_image_cuda(tint), 0, 0, &both->cuda_tint),
                     "culv_image_get_surface"))
            return false;
    }
    return true;
}

static void destroy(exchange *e)
{
    ringed *r = e->own;
    if (!r) return;
    culv_ring_destroy(&r->ring, NULL);
    culv_vk_detach(&r->attached);
    free(r);
}

/* CUDA's side ---------------------------------------------------------------------------------- */

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    ringed *r = e->own;
    (void)frame; /* the ring counts them */
    if (!culv_ok(culv_ring_acquire_on(r->ring, CULV_RING_PRODUCER, stream, LIMIT_NS, &r->filling),
                 "culv_ring_acquire_on"))
        return false;
    e->filling = r->filling.slot;
    e->burst_open = !r->filling.burst_ends;
    return true;
}

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    ringed *r = e->own;
    (void)frame;
    return culv_ok(culv_ring_release_on(r->ring, CULV_RING_PRODUCER, stream, &r->filling),
                   "culv_ring_release_on");
}

static bool cuda_end_burst(exchange *e, CUstream stream)
{
    const ringed *r = e->own;
    return culv_ok(culv_ring_flush_on(r->ring, CULV_RING_PRODUCER, stream), "culv_ring_flush_on");
}

/* Vulkan's side -------------------------------------------------------------------------------- */

static bool begin_drawing(exchange *e, uint64_t frame)
{
    ringed *r = e->own;
    (void)frame;
    if (!culv_ok(culv_ring_acquire(r->ring, CULV_RING_CONSUMER, LIMIT_NS, &r->drawing),
                 "culv_ring_acquire"))
        return false;
    e->drawing = r->drawing.slot;
    return true;
}

static bool record_acquire(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    const ringed *r = e->own;
    (void)frame;
    vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(r->ring, e->drawing, CULV_VK_ACQUIRE));
    return true;
}

static bool record_release(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    const ringed *r = e->own;
    (void)frame;
    vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(r->ring, e->drawing, CULV_VK_RELEASE));
    return true;
}

/* A burst goes to the queue in one submission. */
static bool draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced)
{
    ringed *r = e->own;
    culv_ring_frame *f = &r->drawing;
    (void)frame;
    *fenced = f->burst_ends;
    return culv_ok(culv_vk_ring_submit(r->ring, e->vulkan->queue, s->commands,
                                       *fenced ? s->fence : VK_NULL_HANDLE, f),
                   "culv_vk_ring_submit");
}

static void flow(const exchange *e, exchange_flow *out)
{
    const ringed *r = e->own;
    culv_ring_stats stats = culv_ring_stats_init();
    if (!culv_ok(culv_ring_get_stats(r->ring, &stats), "culv_ring_get_stats")) return;
    out->buffers = stats.depth;
    out->burst = stats.burst;
}

/* Whoever waits for a frame that will not come is let go, in the host's name. */
static void unblock(exchange *e, uint64_t end)
{
    const ringed *r = e->own;
    (void)end;
    if (!r || !r->ring || culv_ring_drain(r->ring, 0, 1) == CULV_OK) return;
    /* The ring is stopped: what it handed out is signaled all the same. */
    culv_ring_stats stats = culv_ring_stats_init();
    if (culv_ring_get_stats(r->ring, &stats) != CULV_OK) return;
    vulkan_signal_up_to(e->vulkan, culv_vk_ring_semaphore(r->ring, CULV_RING_PRODUCER),
                        stats.ready_signaled);
    vulkan_signal_up_to(e->vulkan, culv_vk_ring_semaphore(r->ring, CULV_RING_CONSUMER),
                        stats.done_signaled);
}

const exchange_path path_ring = {.name = "ring",
                                 .create = create,
                                 .destroy = destroy,
                                 .cuda_acquire = cuda_acquire,
                                 .cuda_release = cuda_release,
                                 .cuda_end_burst = cuda_end_burst,
                                 .begin_drawing = begin_drawing,
                                 .record_acquire = record_acquire,
                                 .record_release = record_release,
                                 .draw = draw,
                                 .flow = flow,
                                 .unblock = unblock};
