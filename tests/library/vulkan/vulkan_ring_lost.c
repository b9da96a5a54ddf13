/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan whose submission fails, or whose VkDevice is lost while nobody
 * tells. backend-vulkan has the losses that all rings have. */
#define TEST_GROUP "lost."
#include "vulkan_ring_stage.h"

static void close_lost(ring_stage *s)
{
    vkDestroyCommandPool(s->w.vk.device, s->pool, NULL);
    lib_settle(&s->w);
    ring_world_close(s);
}

/* The engine's own submission says that the device is lost: the ring is stopped, and CUDA, which
 * waits for that frame's slot, goes on. */
TEST(by_failure)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    culv_ring_frame frame, next;
    ring_world_open(&s);
    ring_open(&s, &o);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_cuda_turn(&s, 0));
    REQUIRE_EQ(lib_query(&s.w, s.stream), CUDA_ERROR_NOT_READY);
    LIB_ERROR(culv_vk_ring_submit_failed(s.ring, &frame, VK_ERROR_DEVICE_LOST), ASYNC, DEVICE_LOST);
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_PRODUCER, 0, &next), ASYNC, RING_STOPPED);
    lib_finish(&s.w, s.stream);
    ring_forget(&s);
    culv_ring_destroy(&s.ring, NULL);
    lib_leave(&s.w, before);
    close_lost(&s);
}

/* A vkQueueSubmit2 of the caller's fails behind culv_ring_release(): the same frame is submitted
 * once more, and all frames arrive. */
TEST(submission_failed)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = true;
    o.way = BY_HAND;
    ring_world_open(&s);
    ring_open(&s, &o);
    for (int i = 0; i < 12; i++) {
        CUcontext before = lib_enter(&s.w);
        culv_ring_frame frame;
        LIB_OK(ring_cuda_turn(&s, 0));
        LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
        VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
        if (i % 3 != 0) {
            LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &frame));
            const uint64_t value = frame.signal_value;
            LIB_OK(culv_vk_ring_submit_failed(s.ring, &frame, VK_ERROR_OUT_OF_HOST_MEMORY));
            LIB_ERROR(culv_vk_ring_submit_failed(s.ring, &frame, VK_NOT_READY), INVALID, VALUE);
            if (i % 3 == 1)
                LIB_OK(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame));
            else
                ring_submit_by_hand(&s, commands, &frame);
            REQUIRE_EQ(frame.signal_value, value);
        } else {
            ring_submit_by_hand(&s, commands, &frame);
        }
        ring_released(&s.vulkan, &frame);
        lib_leave(&s.w, before);
    }
    ring_settle(&s);
    REQUIRE_EQ(s.vulkan.verified, 12);
    ring_close(&s);
    ring_world_close(&s);
}
