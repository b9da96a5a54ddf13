/* SPDX-License-Identifier: MIT */
/* A ring of frames: a thread of CUDA's writes them, a thread of Vulkan's reads them, and every byte
 * of every frame is compared. */
#define TEST_GROUP "ring."
#include "foreign.h"

#include <pthread.h>
#include <stdlib.h>

#define DEPTH      5u
#define FRAME_SIZE 4097u

typedef struct flow {
    app *a;
    culv_ring *ring;
    uint64_t frames, checked;
    app_host hosts[DEPTH];         /* what the slot's frame was copied to */
    VkCommandBuffer copies[DEPTH]; /* recorded once */
    VkFence fences[DEPTH];
    uint64_t number[DEPTH]; /* of the frame under way */
    bool busy[DEPTH];
} flow;

static void *produce(void *user)
{
    flow *f = user;

    CU(f->a->cu->cuCtxSetCurrent(culv_device_context(f->a->culvert)));
    for (uint64_t n = 0; n < f->frames; n++) {
        culv_ring_frame frame;

        CULV(culv_ring_acquire_on(f->ring, CULV_RING_PRODUCER, f->a->stream, APP_FOREVER, &frame));
        REQUIRE_EQ(frame.number, n);
        app_fill(f->a, culv_ring_pointer(f->ring, frame.slot, 0), 0, FRAME_SIZE, (uint32_t)n);
        CULV(culv_ring_release_on(f->ring, CULV_RING_PRODUCER, f->a->stream, &frame));
    }
    CULV(culv_ring_flush_on(f->ring, CULV_RING_PRODUCER, f->a->stream));
    CU(f->a->cu->cuStreamSynchronize(f->a->stream));
    return NULL;
}

static void prepare_slot(flow *f, uint32_t slot)
{
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = f->a->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

    app_host_create(f->a, FRAME_SIZE, &f->hosts[slot]);
    VK(vkCreateFence(f->a->device, &fence, NULL, &f->fences[slot]));
    VK(vkAllocateCommandBuffers(f->a->device, &info, &f->copies[slot]));
    VK(vkBeginCommandBuffer(f->copies[slot], &begin));
    CULV(culv_vk_ring_record_copy(f->ring, f->copies[slot], slot, 0, f->hosts[slot].buffer, 0,
                                  FRAME_SIZE));
    VK(vkEndCommandBuffer(f->copies[slot]));
}

static void check_slot(flow *f, uint32_t slot)
{
    VK(vkWaitForFences(f->a->device, 1, &f->fences[slot], VK_TRUE, APP_FOREVER));
    VK(vkResetFences(f->a->device, 1, &f->fences[slot]));
    app_require_bytes("a frame", f->hosts[slot].data, 0, FRAME_SIZE, (uint32_t)f->number[slot]);
    f->busy[slot] = false;
    f->checked++;
}

/* This thread: Vulkan. */
static void consume(flow *f, bool mailbox)
{
    uint64_t last = 0;

    for (uint64_t n = 0; last + 1 < f->frames; n++) {
        culv_ring_frame v;

        CULV(culv_ring_acquire(f->ring, CULV_RING_CONSUMER, APP_FOREVER, &v));
        if (!mailbox) REQUIRE_EQ(v.number, n);
        REQUIRE(n == 0 || v.number > last || (mailbox && v.number == last));
        REQUIRE_EQ(v.repeated, n > 0 && v.number == last);
        last = v.number;
        if (f->busy[v.slot]) check_slot(f, v.slot);
        f->number[v.slot] = v.number;
        f->busy[v.slot] = true;
        CULV(culv_vk_ring_submit(f->ring, f->a->queue, f->copies[v.slot], f->fences[v.slot], &v));
    }
    for (uint32_t i = 0; i < DEPTH; i++)
        if (f->busy[i]) check_slot(f, i);
}

static void check_held(flow *f, uint32_t *held, uint32_t *count)
{
    VK(vkWaitForFences(f->a->device, 1, &f->fences[0], VK_TRUE, APP_FOREVER));
    VK(vkResetFences(f->a->device, 1, &f->fences[0]));
    for (uint32_t i = 0; i < *count; i++)
        app_require_bytes("a frame of a burst", f->hosts[held[i]].data, 0, FRAME_SIZE,
                          (uint32_t)f->number[held[i]]);
    f->checked += *count;
    *count = 0;
}

/* The same with bursts, of which only the last frame gets a fence. */
static void consume_bursts(flow *f)
{
    uint32_t held[DEPTH], count = 0;

    for (uint64_t n = 0; n < f->frames; n++) {
        culv_ring_frame v;

        CULV(culv_ring_acquire(f->ring, CULV_RING_CONSUMER, APP_FOREVER, &v));
        REQUIRE_EQ(v.number, n);
        REQUIRE(count < DEPTH);
        held[count++] = v.slot;
        f->number[v.slot] = n;
        const bool last = v.burst_ends != 0;
        CULV(culv_vk_ring_submit(f->ring, f->a->queue, f->copies[v.slot],
                                 last ? f->fences[0] : VK_NULL_HANDLE, &v));
        if (last) check_held(f, held, &count);
    }
    if (count > 0) {
        CULV(culv_ring_flush(f->ring, CULV_RING_CONSUMER, NULL));
        VK(vkQueueSubmit2(f->a->queue, 0, NULL, f->fences[0]));
        check_held(f, held, &count);
    }
}

static void run_ring(uint64_t frames, const culv_ring_settings *settings)
{
    const bool mailbox = settings->policy == CULV_RING_MAILBOX;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = FRAME_SIZE,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    const culv_vk_ring_resource resource = {.buffer = &buffer, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    culv_ring_stats stats = culv_ring_stats_init();
    flow *f = calloc(1, sizeof *f);
    pthread_t producer;
    app a;

    REQUIRE(f);
    app_open(&a);
    f->a = &a;
    f->frames = frames;
    buffer.create_info = &info;
    d.max_depth = DEPTH;
    d.settings = settings;
    d.resources = &resource;
    d.num_resources = 1;
    d.queue_family = a.family;
    CULV(culv_vk_ring_create(a.vk, a.queue, &d, &f->ring));
    for (uint32_t i = 0; i < DEPTH; i++)
        prepare_slot(f, i);

    REQUIRE_EQ(pthread_create(&producer, NULL, produce, f), 0);
    if (settings->burst > 1)
        consume_bursts(f);
    else
        consume(f, mailbox);
    REQUIRE_EQ(pthread_join(producer, NULL), 0);
    CULV(culv_ring_drain(f->ring, APP_FOREVER, 0));
    CULV(culv_ring_get_stats(f->ring, &stats));
    REQUIRE_EQ(stats.produced, frames);
    REQUIRE_EQ(stats.consumed + stats.skipped, frames);
    if (!mailbox) REQUIRE_EQ(f->checked, frames);
    MEASURED("frames_checked", "%llu", (unsigned long long)f->checked);

    for (uint32_t i = 0; i < DEPTH; i++) {
        app_host_destroy(&a, &f->hosts[i]);
        vkDestroyFence(a.device, f->fences[i], NULL);
    }
    culv_ring_destroy(&f->ring, NULL);
    free(f);
    app_close(&a);
}

TEST(two_threads, .smoke = true)
{
    const culv_ring_settings settings = culv_ring_settings_init();

    run_ring(2003, &settings);
}

TEST(bursts)
{
    culv_ring_settings settings = culv_ring_settings_init();

    settings.burst = 3;
    run_ring(1501, &settings);
}

TEST(newest)
{
    culv_ring_settings settings = culv_ring_settings_init();

    settings.policy = CULV_RING_MAILBOX;
    run_ring(1009, &settings);
}
