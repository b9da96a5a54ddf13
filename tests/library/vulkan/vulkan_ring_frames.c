/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: frames both ways, each verified by the other side. */
#include "vulkan_ring_stage.h"

#include <pthread.h>
#include <stdatomic.h>

/* Both ways, then with the settings changed by `change`. */
static void both_ways(ring_options o, uint64_t frames, void (*run)(ring_stage *, uint64_t))
{
    ring_stage s;
    ring_world_open(&s);
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        o.side = (culv_ring_side)side;
        ring_open(&s, &o);
        run(&s, frames);
        ring_close(&s);
        const ring_half *consumer = side == CULV_RING_CONSUMER ? &s.vulkan : &s.cuda;
        REQUIRE_EQ(consumer->frames, frames);
        REQUIRE_EQ(consumer->verified, frames);
        REQUIRE_EQ(consumer->skipped, 0);
    }
    ring_world_close(&s);
}

TEST(one_slot)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 1);
    o.image = true;
    both_ways(o, 40, ring_run);
}

TEST(deep)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    o.image = true;
    both_ways(o, 100, ring_run);
}

TEST(handed_in)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = o.handed_in = true;
    both_ways(o, 40, ring_run);
}

/* The caller's own VkBuffers and VkImages, with CUDA's halves that he mapped. */
TEST(own)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = o.handed_in = o.own = true;
    both_ways(o, 40, ring_run);
}

TEST(by_hand)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 4);
    o.image = true;
    o.way = BY_HAND;
    both_ways(o, 60, ring_run);
    o.settings.burst = 2;
    both_ways(o, 60, ring_run);
}

TEST(bursts)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    o.settings.burst = 4;
    o.image = true;
    both_ways(o, 96, ring_run);
    o.settings.burst = 8;
    both_ways(o, 96, ring_run);
}

TEST(threads)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 4);
    o.image = true;
    both_ways(o, 300, ring_race);
    o.settings.burst = 4;
    o.depth = 8;
    both_ways(o, 304, ring_race);
}

/* Every frame arrives, whole: --frames=N, the first half one way and the second the other. */
TEST(many, .time_limit = 2400, .smoke = true)
{
    uint64_t frames = strtoull(test_option("frames", "10000"), NULL, 10);
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    o.settings.burst = 4;
    double start = test_now_us();
    both_ways(o, frames / 2, ring_race);
    MEASURED("ring.frame_us", "%.1f", (test_now_us() - start) / (double)frames);
}

/* A burst of the consumer's may end another than the producer's. ------------------------------- */

/* The producer flushes two, then one; the consumer's burst has all three, and waits for the
 * last. */
TEST(several_in_one)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    o.settings.burst = 4;
    ring_world_open(&s);
    ring_open(&s, &o);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_flush_on(s.ring, CULV_RING_PRODUCER, s.stream));
    ring_flushed(&s.cuda, ring_stats(&s).ready_signaled);
    LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_flush_on(s.ring, CULV_RING_PRODUCER, s.stream));
    ring_flushed(&s.cuda, ring_stats(&s).ready_signaled);
    REQUIRE_EQ(ring_stats(&s).ready_signaled, 2);
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    REQUIRE_EQ(frame.wait_value, 2); /* not 1, of the two that came first */
    VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
    LIB_OK(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame));
    ring_released(&s.vulkan, &frame);
    REQUIRE_EQ(frame.signal_value, 0);
    LIB_OK(ring_vulkan_turn(&s, 0));
    LIB_OK(ring_vulkan_turn(&s, 0)); /* the third, which ends what there was */
    REQUIRE_EQ(ring_stats(&s).done_signaled, 1);
    lib_leave(&s.w, before);
    ring_close(&s);
    REQUIRE_EQ(s.vulkan.verified, 3);
    ring_world_close(&s);
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

/* Newest wins ---------------------------------------------------------------------------------- */

typedef struct newest_race {
    ring_stage *s;
    atomic_bool stop;
} newest_race;

/* Produces as fast as it can. */
static void *newest_cuda(void *argument)
{
    newest_race *r = argument;
    const raw_cuda *cu = r->s->w.cu;
    CU_OK(cu->CtxSetCurrent(r->s->w.context));
    while (!atomic_load(&r->stop))
        LIB_OK(ring_cuda_turn(r->s, RING_LIMIT));
    return NULL;
}

/* A renderer that is slower, then one that is faster than the solver. */
TEST(newest)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 4);
    o.settings.policy = CULV_RING_MAILBOX;
    o.image = true;
    ring_world_open(&s);
    ring_open(&s, &o);
    newest_race r = {.s = &s};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, newest_cuda, &r) == 0);
    /* Sooner or later two frames come while it sleeps. */
    for (int i = 0; i < 50 || s.vulkan.skipped == 0; i++) {
        LIB_OK(ring_vulkan_turn(&s, RING_LIMIT));
        lib_sleep_ms(2);
    }
    atomic_store(&r.stop, true);
    REQUIRE(pthread_join(thread, NULL) == 0);
    uint64_t produced = ring_stats(&s).produced;
    printf("%llu produced, %llu consumed, %llu skipped, %llu again\n", (unsigned long long)produced,
           (unsigned long long)s.vulkan.next, (unsigned long long)s.vulkan.skipped,
           (unsigned long long)s.vulkan.again);
    /* The last one stays. */
    lib_finish(&s.w, s.stream);
    for (int i = 0; i < 20; i++)
        LIB_OK(ring_vulkan_turn(&s, 0));
    REQUIRE_EQ(s.vulkan.next, produced);
    REQUIRE(s.vulkan.again >= 19);
    ring_close(&s);
    ring_world_close(&s);
}

/* The same with Vulkan as the solver. */
TEST(newest_of_vulkan)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_PRODUCER, 4);
    o.settings.policy = CULV_RING_MAILBOX;
    ring_world_open(&s);
    ring_open(&s, &o);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 60; i++) {
        LIB_OK(ring_vulkan_turn(&s, RING_LIMIT)); /* waits for its own work alone */
        if (i % 5 != 4) continue;
        raw_vk_idle(&s.w.vk);
        LIB_OK(ring_cuda_turn(&s, 0));
        REQUIRE_EQ(s.cuda.next, (uint64_t)i + 1);
        LIB_OK(ring_cuda_turn(&s, 0));
        REQUIRE_EQ(s.cuda.next, (uint64_t)i + 1);
    }
    lib_leave(&s.w, before);
    REQUIRE_EQ(s.cuda.again, 12);
    REQUIRE_EQ(s.cuda.skipped, 48);
    ring_close(&s);
    ring_world_close(&s);
}

/* Changes while it runs ------------------------------------------------------------------------ */

static void *race_and_change(void *argument)
{
    newest_race *r = argument;
    const culv_ring_settings all[] = {
        {.struct_size = sizeof *all, .depth = 2},
        {.struct_size = sizeof *all, .depth = 8, .burst = 4},
        {.struct_size = sizeof *all, .depth = 6, .burst = 3, .max_frames_in_flight = 20},
        {.struct_size = sizeof *all, .max_latency = 5000000},
        {.struct_size = sizeof *all, .depth = 4, .burst = 4, .check_counters = 1},
    };
    for (unsigned i = 0; !atomic_load(&r->stop); i++) {
        LIB_OK(culv_ring_configure(r->s->ring, &all[i % (sizeof all / sizeof *all)]));
        lib_sleep_ms(3);
    }
    return NULL;
}

/* Nothing is lost, whatever is changed. */
RINGS_CASE(changed)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 8);
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        o.side = (culv_ring_side)side;
        ring_open(s, &o);
        newest_race r = {.s = s};
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, race_and_change, &r) == 0);
        ring_race(s, 600);
        atomic_store(&r.stop, true);
        REQUIRE(pthread_join(thread, NULL) == 0);
        ring_close(s);
        const ring_half *consumer = side == CULV_RING_CONSUMER ? &s->vulkan : &s->cuda;
        REQUIRE_EQ(consumer->verified, 600);
    }
}

TEST_AS(one_slot_across, lib_run_across(one_slot), .title = "across.one_slot", .own = true)
TEST_AS(deep_across, lib_run_across(deep), .title = "across.deep", .own = true)
TEST_AS(handed_in_across, lib_run_across(handed_in), .title = "across.handed_in", .own = true)
TEST_AS(by_hand_across, lib_run_across(by_hand), .title = "across.by_hand", .own = true)
TEST_AS(bursts_across, lib_run_across(bursts), .title = "across.bursts", .own = true)
TEST_AS(threads_across, lib_run_across(threads), .title = "across.threads", .own = true)
TEST_AS(newest_across, lib_run_across(newest), .title = "across.newest", .own = true)
TEST_AS(newest_of_vulkan_across, lib_run_across(newest_of_vulkan),
        .title = "across.newest_of_vulkan", .own = true)
