/* SPDX-License-Identifier: MIT */
/* Vulkan's half of a frame: recording a command buffer between Culvert's barriers or hand-written
 * ones, and submitting it with a timeline to wait for and one to signal; and a whole frame's calls
 * on the CPU. */
#include "calls.h"

#include <string.h>

enum { FRAMES = 16, BYTES = 4096, QUEUE = 0 };
enum { WAIT, SIGNAL, RECORD, SUBMIT, PHASES };

typedef struct submit_state {
    bench *b;
    raw_vk_buffer buffer;
    culv_memory *import;
    culv_buffer *mapped;
    rig_timeline cuda_done, vulkan_done; /* a direction each */
    VkCommandPool pool;
    VkCommandBuffer commands[FRAMES];
} submit_state;

static void record_by_culvert(VkCommandBuffer commands, handover way, VkBuffer buffer,
                              uint32_t queue_family)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    transfer.buffer = buffer;
    transfer.queue_family = queue_family;
    transfer.stage = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    transfer.access =
        VK_ACCESS_2_TRANSFER_WRITE_BIT | (way == TO_VULKAN ? VK_ACCESS_2_TRANSFER_READ_BIT : 0);
    VkBufferMemoryBarrier2 barrier;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(
        &transfer, way == TO_VULKAN ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &barrier));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

static void record_by_hand(VkCommandBuffer commands, handover way, VkBuffer buffer,
                           uint32_t queue_family)
{
    VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                      .buffer = buffer,
                                      .size = VK_WHOLE_SIZE};
    if (way == TO_VULKAN) {
        barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
        barrier.dstQueueFamilyIndex = queue_family;
    } else {
        barrier.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
        barrier.srcQueueFamilyIndex = queue_family;
        barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    }
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

void record_transfer_barrier(VkCommandBuffer commands, bench_side side, handover way,
                             VkBuffer buffer, uint32_t queue_family)
{
    (side == BENCH_CULVERT ? record_by_culvert : record_by_hand)(commands, way, buffer,
                                                                 queue_family);
}

static void record(const submit_state *s, VkCommandBuffer commands, bench_side side, uint32_t word)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    record_transfer_barrier(commands, side, TO_VULKAN, s->buffer.buffer, QUEUE);
    vkCmdFillBuffer(commands, s->buffer.buffer, 0, BYTES, word);
    record_transfer_barrier(commands, side, TO_CUDA, s->buffer.buffer, QUEUE);
    VK_OK(vkEndCommandBuffer(commands));
}

/* One frame by one side: CUDA waits for Vulkan's last frame and signals, Vulkan waits for that,
 * fills, signals. */
static void frame(submit_state *s, unsigned i, bench_side side, double ns[])
{
    const rig *r = &s->b->rig;
    uint64_t done = s->vulkan_done.value, next = ++s->cuda_done.value;
    double at[PHASES + 1];
    at[WAIT] = bench_now();
    if (side == BENCH_CULVERT) {
        CULV_OK_OR_EXIT(culv_semaphore_wait(s->vulkan_done.culvert, r->stream, done));
        at[SIGNAL] = bench_now();
        CULV_OK_OR_EXIT(culv_semaphore_signal(s->cuda_done.culvert, r->stream, next));
    } else {
        RIG_CU(raw_wait(r->cu, s->vulkan_done.raw[0], done, r->stream));
        at[SIGNAL] = bench_now();
        RIG_CU(raw_signal(r->cu, s->cuda_done.raw[0], next, r->stream));
    }
    at[RECORD] = bench_now();
    record(s, s->commands[i], side, (uint32_t)next);
    at[SUBMIT] = bench_now();
    VK_OK(submit(r->vk.queues[QUEUE].queue, s->commands[i], s->cuda_done.vk, next,
                 s->vulkan_done.vk, ++s->vulkan_done.value));
    at[PHASES] = bench_now();
    for (int phase = 0; phase < PHASES; phase++)
        ns[phase] += at[phase + 1] - at[phase];
}

static void drain(submit_state *s)
{
    rig *r = &s->b->rig;
    VK_OK(vkQueueWaitIdle(r->vk.queues[QUEUE].queue));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    VK_OK(vkResetCommandPool(r->vk.device, s->pool, 0));
}

static void turn(void *state, bench_side side, double ns[])
{
    submit_state *s = state;
    for (unsigned i = 0; i < FRAMES; i++)
        frame(s, i, side, ns);
    drain(s);
}

/* What Vulkan filled in is what CUDA reads. */
static void check(submit_state *s, bench_side side)
{
    const rig *r = &s->b->rig;
    double ns[PHASES] = {0};
    uint32_t got[BYTES / sizeof(uint32_t)], expected[BYTES / sizeof(uint32_t)];
    frame(s, 0, side, ns);
    drain(s);
    for (size_t i = 0; i < BYTES / sizeof(uint32_t); i++)
        expected[i] = (uint32_t)s->cuda_done.value;
    RIG_CU(r->cu->MemcpyDtoH(got, culv_buffer_pointer(s->mapped), sizeof got));
    REQUIRE_EQ_BYTES(got, expected, sizeof got);
    bench_checked(s->b);
}

static void open_state(submit_state *s)
{
    rig *r = &s->b->rig;
    raw_vk_buffer_create(&r->vk, BYTES, RAW_VK_EXPORT, &s->buffer);
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = s->buffer.memory;
    desc.allocation_size = s->buffer.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(r->attached, &desc, &s->import));
    CULV_OK_OR_EXIT(culv_buffer_map(s->import, NULL, &s->mapped));
    rig_timeline_open(r, &s->cuda_done);
    rig_timeline_open(r, &s->vulkan_done);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                          .queueFamilyIndex = QUEUE};
    VK_OK(vkCreateCommandPool(r->vk.device, &pool, NULL, &s->pool));
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = FRAMES};
    VK_OK(vkAllocateCommandBuffers(r->vk.device, &commands, s->commands));
}

static void close_state(submit_state *s)
{
    rig *r = &s->b->rig;
    vkDestroyCommandPool(r->vk.device, s->pool, NULL);
    rig_timeline_close(r, &s->vulkan_done);
    rig_timeline_close(r, &s->cuda_done);
    culv_buffer_unmap(&s->mapped, NULL);
    culv_memory_destroy(&s->import);
    raw_vk_buffer_destroy(&r->vk, &s->buffer);
}

void measure_submit(bench *b)
{
    submit_state s = {.b = b};
    bench_series series;
    bench_variant(b, "%s", "");
    open_state(&s);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    bench_begin(b, &series,
                (bench_setup){.turn = turn, .state = &s, .num_phases = PHASES, .calls = FRAMES});
    bench_row(b, &series,
              (bench_row_desc){.name = "record + submit", .phases = 1u << RECORD | 1u << SUBMIT});
    bench_row(b, &series, (bench_row_desc){.name = "record", .phases = 1u << RECORD});
    bench_row(b, &series, (bench_row_desc){.name = "submit", .phases = 1u << SUBMIT});
    bench_row(b, &series, (bench_row_desc){.name = "whole frame", .phases = (1u << PHASES) - 1u});
    bench_end(&series);
    check(&s, BENCH_CULVERT);
    check(&s, BENCH_RAW);
    close_state(&s);
}
