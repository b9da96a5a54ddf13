/* SPDX-License-Identifier: MIT */
/* ripple's exchange: what the paths have in common. */
#include "exchange.h"

#include <string.h>

static bool create_views(exchange *e)
{
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                      .image = e->buffers[i].tint,
                                      .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                      .format = EXCHANGE_TINT_FORMAT,
                                      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
        if (!VK_MADE(vkCreateImageView(e->vulkan->device, &info, NULL, &e->buffers[i].tint_view),
                     "vkCreateImageView", &e->buffers[i].tint_view))
            return false;
    }
    return true;
}

/* Each GPU that solves, which need not be the one that draws. */
static bool open_parts(exchange *e)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = e->vulkan->candidate.driver;
    while (e->num_parts < e->flow.num_gpus) {
        const int gpu = e->flow.gpus[e->num_parts];
        if (!culv_ok(culv_device_open_by_ordinal(gpu, &desc, &e->parts[e->num_parts]),
                     "culv_device_open_by_ordinal"))
            return false;
        e->num_parts++;
    }
    e->device = e->parts[0];
    return interop_enter_device(e->device, &e->cu, &e->callers_context);
}

bool exchange_create(exchange *e, const exchange_path *path, const vulkan_setup *vulkan,
                     VkExtent2D grid, const exchange_flow *flow)
{
    memset(e, 0, sizeof *e);
    e->path = path;
    e->vulkan = vulkan;
    e->grid = grid;
    e->cells_size = (VkDeviceSize)grid.width * grid.height * 4u * sizeof(float);
    e->flow = *flow;
    e->num_buffers = flow->buffers;
    if (e->cells_size > vulkan->properties.limits.maxStorageBufferRange) {
        report("the grid needs a storage buffer of %llu bytes; %s allows %u",
               (unsigned long long)e->cells_size, vulkan->candidate.name,
               vulkan->properties.limits.maxStorageBufferRange);
        return false;
    }
    return (flow->num_gpus
                ? open_parts(e)
                : interop_open_device(vulkan, &e->device, &e->cu, &e->callers_context)) &&
           path->create(e) && create_views(e);
}

void exchange_destroy(exchange *e)
{
    if (!e->device && e->num_parts == 0) return;
    for (uint32_t i = 0; i < EXCHANGE_MAX_BUFFERS; i++)
        vkDestroyImageView(e->vulkan->device, e->buffers[i].tint_view, NULL);
    e->path->destroy(e);
    if (e->num_parts == 0)
        interop_close_device(&e->device, e->cu, e->callers_context);
    else if (e->cu)
        (void)e->cu->cuCtxSetCurrent(e->callers_context);
    for (uint32_t i = 0; i < e->num_parts; i++)
        culv_device_close(&e->parts[i]);
    memset(e, 0, sizeof *e);
}

exchange_buffer *exchange_buffer_of(exchange *e, uint64_t frame)
{
    return &e->buffers[frame % e->num_buffers];
}

bool exchange_cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    e->filling = (uint32_t)(frame % e->num_buffers); /* unless the path says another one */
    return e->path->cuda_acquire(e, stream, frame);
}

bool exchange_cuda_end_burst(exchange *e, CUstream stream)
{
    bool open = e->burst_open;
    e->burst_open = false;
    return !open || e->path->cuda_end_burst(e, stream);
}

bool exchange_solve(exchange *e, uint64_t frame)
{
    e->filling = (uint32_t)(frame % e->num_buffers);
    return !e->path->solve || e->path->solve(e, frame);
}

bool exchange_begin_drawing(exchange *e, uint64_t frame)
{
    e->drawing = (uint32_t)(frame % e->num_buffers);
    return !e->path->begin_drawing || e->path->begin_drawing(e, frame);
}

bool exchange_submit(exchange *e, const exchange_submission *s, uint32_t num_waits,
                     const VkSemaphoreSubmitInfo *wait, uint32_t num_signals,
                     const VkSemaphoreSubmitInfo *signal)
{
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = s->commands};
    VkSubmitInfo2 submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                            .waitSemaphoreInfoCount = num_waits,
                            .pWaitSemaphoreInfos = wait,
                            .commandBufferInfoCount = 1,
                            .pCommandBufferInfos = &commands,
                            .signalSemaphoreInfoCount = num_signals,
                            .pSignalSemaphoreInfos = signal};
    return vk_ok(vkQueueSubmit2(e->vulkan->queue, 1, &submit, s->fence), "vkQueueSubmit2");
}

bool exchange_draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced)
{
    if (e->path->draw) return e->path->draw(e, frame, s, fenced);
    VkSemaphoreSubmitInfo wait = vulkan_submit_point(e->ready, frame + 1, EXCHANGE_READING_STAGES);
    VkSemaphoreSubmitInfo signal =
        vulkan_submit_point(e->drawn, frame + 1, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    *fenced = true;
    return exchange_submit(e, s, 1, &wait, 1, &signal);
}

exchange_flow exchange_flow_now(const exchange *e)
{
    exchange_flow flow = e->flow;
    if (e->path->flow) e->path->flow(e, &flow);
    return flow;
}

void exchange_unblock(exchange *e, uint64_t end)
{
    if (e->device && e->path->unblock) e->path->unblock(e, end);
}
