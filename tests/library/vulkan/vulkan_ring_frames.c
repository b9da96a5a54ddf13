/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: buffers and images both ways, each byte verified by the other
 * side, submitted by the ring and by hand. backend-vulkan has what all rings promise. */
#include "vulkan_ring_stage.h"

static void both_ways(ring_options o, uint64_t frames)
{
    ring_stage s;
    ring_world_open(&s);
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        o.side = (culv_ring_side)side;
        ring_open(&s, &o);
        ring_run(&s, frames);
        ring_close(&s);
        const ring_half *consumer = side == CULV_RING_CONSUMER ? &s.vulkan : &s.cuda;
        REQUIRE_EQ(consumer->frames, frames);
        REQUIRE_EQ(consumer->verified, frames);
        REQUIRE_EQ(consumer->skipped, 0);
    }
    ring_world_close(&s);
}

/* One slot, several, and bursts of them. */
TEST(deep, .smoke = true)
{
    static const uint32_t rows[][2] = {{1, 1}, {8, 1}, {8, 4}, {8, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ring_options o = ring_options_init(CULV_RING_CONSUMER, rows[i][0]);
        o.settings.burst = rows[i][1];
        o.image = true;
        both_ways(o, 96);
    }
}

TEST(handed_in)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = o.handed_in = true;
    both_ways(o, 40);
}

/* The caller's own VkBuffers and VkImages, with CUDA's halves that he mapped. */
TEST(own)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = o.handed_in = o.own = true;
    both_ways(o, 40);
}

TEST(by_hand)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 4);
    o.image = true;
    o.way = BY_HAND;
    both_ways(o, 60);
    o.settings.burst = 2;
    both_ways(o, 60);
}

/* A fence in the middle of a burst is the submission's that has its frame; so is what came before
 * it. */
TEST(fences)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    o.settings.burst = 4;
    ring_world_open(&s);
    ring_open(&s, &o);
    CUcontext before = lib_enter(&s.w);
    VkDevice device = s.w.vk.device;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    VK_OK(vkCreateFence(device, &info, NULL, &fence));
    for (uint32_t at = 0; at < 4; at++) { /* where in the burst */
        for (int i = 0; i < 4; i++)
            LIB_OK(ring_cuda_turn(&s, 0));
        for (uint32_t i = 0; i < 4; i++) {
            culv_ring_frame frame;
            LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
            VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
            LIB_OK(culv_vk_ring_submit(s.ring, s.queue, commands, i == at ? fence : VK_NULL_HANDLE,
                                       &frame));
            ring_released(&s.vulkan, &frame);
            REQUIRE_EQ(frame.signal_value != 0, i == 3);
            if (i == at) VK_OK(vkWaitForFences(device, 1, &fence, VK_TRUE, RING_LIMIT));
        }
        VK_OK(vkResetFences(device, 1, &fence));
    }
    LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_flush_on(s.ring, CULV_RING_PRODUCER, s.stream));
    ring_flushed(&s.cuda, ring_stats(&s).ready_signaled);
    LIB_OK(ring_vulkan_turn(&s, 0));
    uint64_t done = ring_stats(&s).done_signaled;
    LIB_OK(culv_ring_flush(s.ring, CULV_RING_CONSUMER, NULL));
    REQUIRE_EQ(ring_stats(&s).done_signaled,
               done); /* the one frame was all that there was: a burst of its own */
    LIB_OK(culv_ring_flush(s.ring, CULV_RING_CONSUMER, NULL));
    lib_leave(&s.w, before);
    ring_close(&s);
    REQUIRE_EQ(s.vulkan.verified, 17);
    vkDestroyFence(device, fence, NULL);
    ring_world_close(&s);
}

TEST_AS(deep_across, lib_run_across(deep), .title = "across.deep", .own = true)
TEST_AS(handed_in_across, lib_run_across(handed_in), .title = "across.handed_in", .own = true)
TEST_AS(by_hand_across, lib_run_across(by_hand), .title = "across.by_hand", .own = true)
