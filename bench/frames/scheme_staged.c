/* SPDX-License-Identifier: MIT */
/* Without interop: the solver writes CUDA's own memory, a second stream copies each frame down to
 * pinned host memory, the host sees that it is there, and the renderer copies it up again. The host
 * memory is one for both drivers (VK_EXT_external_memory_host), so that no third copy is made. */
#include "frames.h"

typedef struct staged_slot {
    CUdeviceptr own;          /* the solver's */
    culv_shared_buffer *host; /* the pinned memory, for both */
    CUevent solved, down;
} staged_slot;

/* Kept from run to run while size and depth are the same: to pin gigabytes takes seconds. */
typedef struct staged {
    uint64_t bytes;
    uint32_t depth;
    staged_slot slots[CULV_RING_MAX_DEPTH];
} staged;

static staged kept;

static const char *obstacle(const run *r)
{
    if (!r->b->device.host_memory) return "no VK_EXT_external_memory_host";
    return NULL;
}

static void open_slots(const rig *gpu, uint64_t bytes, uint32_t depth)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.host_memory = VK_TRUE;
    kept = (staged){.bytes = bytes, .depth = depth};
    for (uint32_t i = 0; i < depth; i++) {
        staged_slot *slot = &kept.slots[i];
        RIG_CU(gpu->cu->MemAlloc(&slot->own, (size_t)bytes));
        CULV_OK_OR_EXIT(culv_vk_buffer_create(gpu->attached, &desc, &slot->host));
        RIG_CU(gpu->cu->EventCreate(&slot->solved, CU_EVENT_DISABLE_TIMING));
        RIG_CU(gpu->cu->EventCreate(&slot->down, CU_EVENT_DISABLE_TIMING));
    }
}

void scheme_staged_close(frames_bench *b)
{
    const rig *gpu = &b->bench.rig;
    for (uint32_t i = 0; i < kept.depth; i++) {
        RIG_CU(gpu->cu->EventDestroy(kept.slots[i].down));
        RIG_CU(gpu->cu->EventDestroy(kept.slots[i].solved));
        culv_shared_buffer_destroy(&kept.slots[i].host);
        RIG_CU(gpu->cu->MemFree(kept.slots[i].own));
    }
    kept = (staged){0};
}

static void prepare(run *r)
{
    if (kept.bytes != r->w->bytes || kept.depth != r->c->depth) {
        scheme_staged_close(r->b);
        open_slots(&r->b->bench.rig, r->w->bytes, r->c->depth);
    }
    r->own = &kept;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        uint32_t slot = n % r->c->depth;
        renderer_record(&r->b->renderer,
                        &(renderer_job){.frame = n,
                                        .slot = slot,
                                        .buffer = r->b->buffers[slot],
                                        .number = r->base + n,
                                        .iterations = r->w->renderer_iterations,
                                        .from = culv_vk_buffer_handle(kept.slots[slot].host)});
    }
    r->commands = r->b->renderer.families[0].commands;
}

static void draw(run *r, uint32_t n)
{
    const rig *gpu = &r->b->bench.rig;
    const staged *s = r->own;
    RIG_CU(gpu->cu->EventSynchronize(s->slots[n % r->c->depth].down));
    const VkSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                          .semaphore = r->b->done.vk,
                                          .value = ++r->b->done.value,
                                          .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = r->commands[n]};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = 1,
                                .pSignalSemaphoreInfos = &signal};
    VK_OK(vkQueueSubmit2(gpu->vk.queues[0].queue, 1, &info, VK_NULL_HANDLE));
}

static void go(run *r)
{
    const rig *gpu = &r->b->bench.rig;
    const raw_cuda *cu = gpu->cu;
    staged *s = r->own;
    uint64_t before = r->b->done.value;
    uint32_t depth = r->c->depth, drawing = 0;
    for (uint32_t n = 0; n < r->c->frames; n++) {
        staged_slot *slot = &s->slots[n % depth];
        /* The host memory is free when the renderer has copied it up; CUDA's own when it was copied
         * down. */
        if (n >= depth) {
            REQUIRE(raw_vk_timeline_wait(&r->b->bench.rig.vk, r->b->done.vk, before + n - depth + 1,
                                         60000));
            RIG_CU(cu->StreamWaitEvent(gpu->stream, slot->down, 0));
        }
        solver_launch(&r->b->solver, gpu->stream,
                      solver_job_of(&r->b->solver, slot->own, r->w->bytes, r->base + n,
                                    r->w->solver_iterations, n));
        RIG_CU(cu->EventRecord(slot->solved, gpu->stream));
        RIG_CU(cu->StreamWaitEvent(gpu->other_stream, slot->solved, 0));
        RIG_CU(cu->MemcpyDtoHAsync(culv_vk_buffer_host_pointer(slot->host), slot->own,
                                   (size_t)r->w->bytes, gpu->other_stream));
        RIG_CU(cu->EventRecord(slot->down, gpu->other_stream));
        /* Drawn as late as may be, so that the host waits while there is other work. */
        for (; drawing + depth / 2 <= n; drawing++)
            draw(r, drawing);
    }
    for (; drawing < r->c->frames; drawing++)
        draw(r, drawing);
    run_issued(r);
    REQUIRE(raw_vk_timeline_wait(&r->b->bench.rig.vk, r->b->done.vk, r->b->done.value, 60000));
}

const scheme scheme_staged = {.name = "staged", .obstacle = obstacle, .prepare = prepare, .go = go};
