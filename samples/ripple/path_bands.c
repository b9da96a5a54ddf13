/* SPDX-License-Identifier: MIT */
/* ripple's path for several GPUs: each solves a band of rows, and writes its part of the frame
 * straight into a buffer of the GPU that draws. The VkDevice is attached to each solver's device
 * (`allow_other_gpu`). Each attachment imports the same memory, and has two timelines of its own:
 *
 *   ready[i] is signaled by solver i and awaited by Vulkan, drawn[i] the other way round
 *
 * A solver cannot write the VkImage of another GPU: the water's color comes as rows behind the
 * cells, and Vulkan copies them to the image. */
#include <stdlib.h>

#include "exchange.h"

#define FRAME_STAGES (EXCHANGE_READING_STAGES | VK_PIPELINE_STAGE_2_COPY_BIT)

/* A solver's side. */
typedef struct side {
    culv_vk_device *attached;
    culv_memory *memory[EXCHANGE_MAX_BUFFERS];
    culv_buffer *frame[EXCHANGE_MAX_BUFFERS];
    culv_shared_semaphore *ready, *drawn;
} side;

typedef struct bands {
    side sides[EXCHANGE_MAX_PARTS];
    vulkan_buffer frames[EXCHANGE_MAX_BUFFERS]; /* cells, and then texels */
    vulkan_image tint[EXCHANGE_MAX_BUFFERS];
} bands;

/* Making --------------------------------------------------------------------------------------- */

/* Memory that each attachment imports: dedicated to the buffer, of any size. */
static bool make_frame(exchange *e, vulkan_buffer *out)
{
    const vulkan_setup *v = e->vulkan;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = e->cells_size + e->cells_size / 4,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    if (!VK_MADE(vkCreateBuffer(v->device, &info, NULL, &out->buffer), "vkCreateBuffer",
                 &out->buffer))
        return false;
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(v->device, out->buffer, &needs);
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = out->buffer};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &dedicated,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &exported,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            vulkan_memory_type(v, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0)};
    out->allocation_size = needs.size;
    return vk_ok(vkAllocateMemory(v->device, &allocation, NULL, &out->memory),
                 "vkAllocateMemory") &&
           vk_ok(vkBindBufferMemory(v->device, out->buffer, out->memory, 0), "vkBindBufferMemory");
}

static bool import_frame(side *s, uint32_t i, const vulkan_buffer *frame)
{
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = frame->memory;
    desc.allocation_size = frame->allocation_size;
    desc.dedicated = VK_TRUE;
    desc.buffer = frame->buffer;
    return culv_ok(culv_vk_memory_import(s->attached, &desc, &s->memory[i]),
                   "culv_vk_memory_import") &&
           culv_ok(culv_buffer_map(s->memory[i], NULL, &s->frame[i]), "culv_buffer_map");
}

static bool make_slot(exchange *e, bands *b, uint32_t i)
{
    exchange_buffer *both = &e->buffers[i];
    if (!make_frame(e, &b->frames[i]) ||
        !vulkan_image_create(e->vulkan, EXCHANGE_TINT_FORMAT, e->grid, VK_SAMPLE_COUNT_1_BIT,
                             VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                             VK_IMAGE_ASPECT_COLOR_BIT, &b->tint[i]))
        return false;
    both->cells = b->frames[i].buffer;
    both->tint = b->tint[i].image;
    for (uint32_t part = 0; part < e->num_parts; part++) {
        if (!import_frame(&b->sides[part], i, &b->frames[i])) return false;
    }
    return true;
}

static bool create(exchange *e)
{
    bands *b = e->own = calloc(1, sizeof *b);
    if (!b) return false;
    for (uint32_t i = 0; i < e->num_parts; i++) {
        side *s = &b->sides[i];
        if (!interop_attach(e->vulkan, e->parts[i], true, &s->attached) ||
            !interop_timeline(s->attached, "ready", &s->ready) ||
            !interop_timeline(s->attached, "drawn", &s->drawn))
            return false;
    }
    for (uint32_t i = 0; i < e->num_buffers; i++) {
        if (!make_slot(e, b, i)) return false;
    }
    return true;
}

static void destroy(exchange *e)
{
    bands *b = e->own;
    for (uint32_t i = 0; b && i < e->num_parts; i++) {
        side *s = &b->sides[i];
        for (uint32_t slot = 0; slot < e->num_buffers; slot++) {
            if (s->frame[slot]) (void)culv_buffer_unmap(&s->frame[slot], NULL);
            culv_memory_destroy(&s->memory[slot]);
        }
        culv_shared_semaphore_destroy(&s->ready, NULL);
        culv_shared_semaphore_destroy(&s->drawn, NULL);
        culv_vk_detach(&s->attached);
    }
    for (uint32_t slot = 0; b && slot < e->num_buffers; slot++) {
        vulkan_buffer_destroy(e->vulkan, &b->frames[slot]);
        vulkan_image_destroy(e->vulkan, &b->tint[slot]);
    }
    free(b);
}

/* Handing over --------------------------------------------------------------------------------- */

static bool cuda_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    const bands *b = e->own;
    const side *s = &b->sides[e->part];
    exchange_buffer *both = &e->buffers[e->filling];
    both->cuda_cells = culv_buffer_pointer(s->frame[e->filling]); /* this GPU's */
    both->cuda_tint_rows = both->cuda_cells + e->cells_size;
    if (frame < e->num_buffers) return true; /* nobody has drawn from it yet */
    return culv_ok(culv_semaphore_wait(culv_shared_semaphore_cuda(s->drawn), stream,
                                       frame - e->num_buffers + 1),
                   "waiting for drawn");
}

static bool cuda_release(exchange *e, CUstream stream, uint64_t frame)
{
    const bands *b = e->own;
    return culv_ok(culv_semaphore_signal(culv_shared_semaphore_cuda(b->sides[e->part].ready),
                                         stream, frame + 1),
                   "signaling ready");
}

static bool hand_over(exchange *e, VkCommandBuffer commands, culv_vk_direction direction)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = e->buffers[e->drawing].cells;
    transfer.queue_family = e->vulkan->queue_family;
    transfer.stage = FRAME_STAGES;
    transfer.access = direction == CULV_VK_ACQUIRE
                          ? VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_TRANSFER_READ_BIT
                          : 0;
    VkBufferMemoryBarrier2 barrier;
    if (!culv_ok(culv_vk_buffer_get_barrier2(&transfer, direction, &barrier),
                 "culv_vk_buffer_get_barrier2"))
        return false;
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &dependency);
    return true;
}

static bool record_acquire(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    static const vulkan_use before = {VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, 0,
                                      VK_IMAGE_LAYOUT_UNDEFINED},
                            copied = {VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL},
                            sampled = {VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                       VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                       VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    const exchange_buffer *both = &e->buffers[e->drawing];
    const VkBufferImageCopy rows = {.bufferOffset = e->cells_size,
                                    .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                    .imageExtent = {e->grid.width, e->grid.height, 1}};
    (void)frame;
    if (!hand_over(e, commands, CULV_VK_ACQUIRE)) return false;
    vulkan_image_barrier(commands, both->tint, VK_IMAGE_ASPECT_COLOR_BIT, before, copied);
    vkCmdCopyBufferToImage(commands, both->cells, both->tint, copied.layout, 1, &rows);
    vulkan_image_barrier(commands, both->tint, VK_IMAGE_ASPECT_COLOR_BIT, copied, sampled);
    return true;
}

static bool record_release(exchange *e, VkCommandBuffer commands, uint64_t frame)
{
    (void)frame;
    return hand_over(e, commands, CULV_VK_RELEASE);
}

/* One submission waits for all parts. */
static bool draw(exchange *e, uint64_t frame, const exchange_submission *s, bool *fenced)
{
    const bands *b = e->own;
    VkSemaphoreSubmitInfo waits[EXCHANGE_MAX_PARTS], signals[EXCHANGE_MAX_PARTS];
    for (uint32_t i = 0; i < e->num_parts; i++) {
        waits[i] = vulkan_submit_point(culv_vk_semaphore_handle(b->sides[i].ready), frame + 1,
                                       FRAME_STAGES);
        signals[i] = vulkan_submit_point(culv_vk_semaphore_handle(b->sides[i].drawn), frame + 1,
                                         VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    }
    *fenced = true;
    return exchange_submit(e, s, e->num_parts, waits, e->num_parts, signals);
}

static void unblock(exchange *e, uint64_t end)
{
    const bands *b = e->own;
    for (uint32_t i = 0; b && i < e->num_parts; i++) {
        const side *s = &b->sides[i];
        if (s->ready) vulkan_signal_up_to(e->vulkan, culv_vk_semaphore_handle(s->ready), end + 1);
        if (s->drawn) vulkan_signal_up_to(e->vulkan, culv_vk_semaphore_handle(s->drawn), end + 1);
    }
}

const exchange_path path_bands = {.name = "bands",
                                  .create = create,
                                  .destroy = destroy,
                                  .cuda_acquire = cuda_acquire,
                                  .cuda_release = cuda_release,
                                  .record_acquire = record_acquire,
                                  .record_release = record_release,
                                  .draw = draw,
                                  .unblock = unblock};
