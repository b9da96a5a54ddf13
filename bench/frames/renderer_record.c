/* SPDX-License-Identifier: MIT */
/* The renderer's frames: command buffers, what they saw, when they ran. See renderer.h. */
#include "measure.h"
#include "renderer.h"
#include "solver.h"

enum { BATCH = 16 }; /* command buffers of a submission, when the renderer is timed alone */

/* Barriers ------------------------------------------------------------------------------------- */

typedef enum handover { FROM_CUDA, TO_CUDA } handover;

/* The whole slot changes hands with CUDA: as one would write it. */
static void hand_over(VkCommandBuffer commands, const renderer_job *job, handover way)
{
    VkPipelineStageFlags2 stage = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT;
    const VkAccessFlags2 writes = job->writes ? VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT : 0;
    if (job->writes || job->whole) stage |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    const VkBufferMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .srcStageMask = way == FROM_CUDA ? VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT : stage,
        .srcAccessMask = way == FROM_CUDA ? 0 : writes,
        .dstStageMask = way == FROM_CUDA ? stage : VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = way == FROM_CUDA ? VK_ACCESS_2_SHADER_STORAGE_READ_BIT | writes : 0,
        .srcQueueFamilyIndex = way == FROM_CUDA ? VK_QUEUE_FAMILY_EXTERNAL : 0,
        .dstQueueFamilyIndex = way == FROM_CUDA ? 0 : VK_QUEUE_FAMILY_EXTERNAL,
        .buffer = job->buffer,
        .size = VK_WHOLE_SIZE};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

/* Everything before is over, as between two frames of a renderer that draws both into the same
 * image. */
static void after_the_last(const renderer *r, VkCommandBuffer commands)
{
    const VkMemoryBarrier2 memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT |
                         VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT};
    const VkImageMemoryBarrier2 image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask =
            VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
        .srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
        .dstAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
        .newLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = r->target,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &memory,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &image};
    vkCmdPipelineBarrier2(commands, &info);
}

/* Work ----------------------------------------------------------------------------------------- */

static void push(const renderer *r, VkCommandBuffer commands, const renderer_job *job)
{
    const renderer_constants constants = {job->writes ? 0 : job->number, (uint32_t)(r->bytes / 4),
                                          job->iterations, r->pixels};
    const VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_GRAPHICS;
    vkCmdBindPipeline(commands, point, r->draw);
    vkCmdBindDescriptorSets(commands, point, r->layout, 0, 1, &r->sets[job->slot], 0, NULL);
    vkCmdPushConstants(commands, r->layout, RENDERER_STAGES, 0, sizeof constants, &constants);
}

static void draw(const renderer *r, VkCommandBuffer commands, VkRect2D area)
{
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = r->view,
                                             .imageLayout =
                                                 VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .renderArea = area,
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    vkCmdSetScissor(commands, 0, 1, &area);
    vkCmdBeginRendering(commands, &rendering);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRendering(commands);
}

/* The whole picture, as the pictures of many simulated cameras go on together. */
static void copy_down(const renderer *r, VkCommandBuffer commands)
{
    const VkImageMemoryBarrier2 image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
        .srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
        .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT,
        .oldLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = r->target,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &image};
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {r->side, r->side, 1}};
    vkCmdPipelineBarrier2(commands, &info);
    vkCmdCopyImageToBuffer(commands, r->target, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           r->image.buffer, 1, &all);
}

static void work(const renderer *r, VkCommandBuffer commands, const renderer_job *job)
{
    push(r, commands, job);
    const uint32_t edge = r->side / r->parts;
    for (uint32_t i = 0; i < r->parts * r->parts; i++) {
        const VkOffset2D corner = {(int32_t)(i % r->parts * edge), (int32_t)(i / r->parts * edge)};
        draw(r, commands, (VkRect2D){corner, {edge, edge}});
    }
    if (r->parts > 1) copy_down(r, commands);
}

/* Each word of the frame. */
static void compute(const renderer *r, VkCommandBuffer commands, const renderer_job *job,
                    VkPipeline pipeline)
{
    enum { FRAME_GROUPS = 512 };
    const renderer_constants constants = {job->number, (uint32_t)(r->bytes / 4), 0, r->pixels};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->layout, 0, 1,
                            &r->sets[job->slot], 0, NULL);
    vkCmdPushConstants(commands, r->layout, RENDERER_STAGES, 0, sizeof constants, &constants);
    vkCmdDispatch(commands, FRAME_GROUPS, 1, 1);
}

/* After the drawing, as what follows from it. */
static void write_frame(const renderer *r, VkCommandBuffer commands, const renderer_job *job)
{
    const VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                     .srcStageMask = VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT,
                                     .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &memory};
    vkCmdPipelineBarrier2(commands, &info);
    compute(r, commands, job, r->write);
}

VkCommandBuffer renderer_record(renderer *r, const renderer_job *job)
{
    VkCommandBuffer commands = r->commands[job->frame];
    bool timed = !job->untimed && r->timestamp_bits != 0;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    REQUIRE(job->frame < r->num_frames && job->slot < RENDERER_SLOTS);
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    if (!job->whole) after_the_last(r, commands);
    if (job->first != NULL) job->first(job->state, commands, job->slot, job->frame);
    if (timed)
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->queries,
                             2 * job->frame);
    if (job->acquire != NULL)
        vkCmdPipelineBarrier2(commands, job->acquire);
    else
        hand_over(commands, job, FROM_CUDA);
    if (!job->whole)
        work(r, commands, job);
    else if (job->number != 0)
        compute(r, commands, job, r->check);
    if (job->writes) write_frame(r, commands, job);
    if (timed)
        vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->queries,
                             2 * job->frame + 1);
    if (job->release != NULL)
        vkCmdPipelineBarrier2(commands, job->release);
    else if (!job->stays)
        hand_over(commands, job, TO_CUDA);
    if (job->last != NULL) job->last(job->state, commands, job->slot, job->frame);
    VK_OK(vkEndCommandBuffer(commands));
    return commands;
}

/* Afterwards ----------------------------------------------------------------------------------- */

void renderer_reset(renderer *r, uint32_t frames)
{
    vkResetQueryPool(r->rig->vk.device, r->queries, 0, 2 * frames);
}

renderer_verdict renderer_judge(renderer *r)
{
    renderer_verdict verdict = *r->judged;
    *r->judged = (renderer_verdict){0, 0};
    return verdict;
}

bool renderer_fetch(renderer *r, uint32_t frames)
{
    if (r->timestamp_bits == 0) return false;
    VK_OK(vkGetQueryPoolResults(r->rig->vk.device, r->queries, 0, 2 * frames,
                                2 * frames * sizeof(uint64_t), r->timestamps, sizeof(uint64_t),
                                VK_QUERY_RESULT_64_BIT));
    return true;
}

static uint64_t nanoseconds(const renderer *r, uint64_t ticks)
{
    float period = r->rig->vk.properties.limits.timestampPeriod;
    /* A double has no room for the nanoseconds since 1970. */
    return period == 1.0f ? ticks : (uint64_t)((long double)ticks * (long double)period);
}

renderer_time renderer_time_of(const renderer *r, uint32_t frame)
{
    return (renderer_time){nanoseconds(r, r->timestamps[2 * frame]),
                           nanoseconds(r, r->timestamps[2 * frame + 1])};
}

/* Without calibrated timestamps: a submission that does nothing else, and the host's time around
 * it. */
static uint64_t clock_by_submission(renderer *r, double *after, double *before)
{
    uint32_t query = 2 * r->num_frames;
    uint64_t ticks = 0;
    raw_vk *vk = &r->rig->vk;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    vkCmdResetQueryPool(commands, r->queries, query, 1);
    vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, r->queries, query);
    *after = bench_now();
    raw_vk_submit(vk, commands, NULL);
    *before = bench_now();
    VK_OK(vkGetQueryPoolResults(vk->device, r->queries, query, 1, sizeof ticks, &ticks,
                                sizeof ticks, VK_QUERY_RESULT_64_BIT));
    return nanoseconds(r, ticks);
}

uint64_t renderer_clock(renderer *r, bool calibrated, double *after, double *before)
{
    if (!calibrated) return clock_by_submission(r, after, before);
    static const VkCalibratedTimestampInfoEXT clock = {
        .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
        .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT};
    uint64_t ticks = 0, deviation = 0;
    *after = bench_now();
    VK_OK(vkGetCalibratedTimestampsEXT(r->rig->vk.device, 1, &clock, &ticks, &deviation));
    *before = bench_now();
    return nanoseconds(r, ticks);
}

/* Alone ---------------------------------------------------------------------------------------- */

double renderer_alone(VkQueue queue, const VkCommandBuffer *commands, uint32_t count)
{
    VkCommandBufferSubmitInfo buffers[BATCH];
    double begun = bench_now();
    for (uint32_t i = 0; i < count; i += BATCH) {
        uint32_t n = count - i < BATCH ? count - i : BATCH;
        for (uint32_t j = 0; j < n; j++)
            buffers[j] =
                (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                            .commandBuffer = commands[i + j]};
        const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                    .commandBufferInfoCount = n,
                                    .pCommandBufferInfos = buffers};
        VK_OK(vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE));
    }
    VK_OK(vkQueueWaitIdle(queue));
    return (bench_now() - begun) * 1e-3;
}

void renderer_first(renderer *r, VkCommandBuffer commands)
{
    enum { SECONDS = 20 };
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands};
    VkDevice device = r->rig->vk.device;
    VkFence fence = VK_NULL_HANDLE;
    VK_OK(vkCreateFence(device, &fence_info, NULL, &fence));
    VK_OK(vkQueueSubmit(r->rig->vk.queues[0].queue, 1, &info, fence));
    /* A CPU takes as long as it takes. */
    const uint64_t limit = r->rig->cu->software ? UINT64_MAX : SECONDS * UINT64_C(1000000000);
    const VkResult result = vkWaitForFences(device, 1, &fence, VK_TRUE, limit);
    if (result == VK_TIMEOUT)
        FAIL("The first drawing does not end within %d s. Has a kernel faulted on this GPU before "
             "(Xid 31 in the kernel's log, then Xid 109)? Then NVIDIA's driver lets later drawing "
             "hang until the GPU is reset: docs/troubleshooting.md",
             SECONDS);
    VK_OK(result);
    vkDestroyFence(device, fence, NULL);
}

typedef struct renderer_trial {
    renderer *renderer;
    VkBuffer frame;
} renderer_trial;

static double measure(void *state, uint32_t iterations, uint32_t times)
{
    const renderer_trial *t = state;
    renderer *r = t->renderer;
    REQUIRE(times <= r->num_frames);
    for (uint32_t i = 0; i < times; i++)
        renderer_record(
            r, &(renderer_job){
                   .frame = i, .buffer = t->frame, .iterations = iterations, .untimed = true});
    return renderer_alone(r->rig->vk.queues[0].queue, r->commands, times);
}

uint32_t renderer_calibrate(renderer *r, VkBuffer frame, double us)
{
    renderer_trial trial = {r, frame};
    return calibrate(measure, &trial, us);
}
