/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan whose VkDevice is lost while CUDA's stream waits for it and a
 * thread sleeps in the ring: whoever is told, nobody waits, and all of it can be destroyed. */
#define TEST_GROUP "lost."
#include "vulkan_ring_stage.h"

#include <pthread.h>

/* Who learns of it, and by what. */
typedef enum lost_way {
    BY_RING_SUBMIT, /* culv_vk_ring_submit() fails */
    BY_TELLING,     /* the engine's own submission does: culv_vk_device_lost() */
    BY_FAILURE,     /* the same: culv_vk_ring_submit_failed() */
    BY_DRAIN,       /* the ring is stopped, and drained by force */
    BY_ACQUIRE,     /* an acquire asks the counter */
    BY_DESTROY      /* nobody tells: the ring is destroyed */
} lost_way;

typedef struct solver {
    ring_stage *s;
    culv_result result;
    culv_error error;
} solver;

/* The next frame of CUDA's, for which there is no slot. */
static void *solve(void *user)
{
    solver *me = user;
    culv_ring_frame f;
    CUcontext before = lib_enter(&me->s->w);
    me->error = culv_error_init();
    me->result =
        culv_ring_acquire_on(me->s->ring, CULV_RING_PRODUCER, me->s->stream, CULV_RING_FOREVER, &f);
    culv_last_error(&me->error);
    lib_leave(&me->s->w, before);
    return NULL;
}

static void begin(ring_stage *s, lib_layer *layer)
{
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    o.image = true;
    lib_with_option("--validation=off"); /* its layer takes what is refused for submitted */
    ring_world_open(s);
    if (s->w.cu->SoftCounts == NULL || !lib_layer_find(layer)) SKIP("only the twin loses a device");
    ring_open(s, &o);
    ring_run(s, 6);
    ring_settle(s);
}

/* As engines see it that submit by themselves: frame 6 was consumed, and its submission was lost.
 * CUDA writes its slot anew behind that. */
static void lose(ring_stage *s, const lib_layer *layer, culv_ring_frame *frame)
{
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(s, 0));
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, frame));
    LIB_OK(culv_ring_release(s->ring, CULV_RING_CONSUMER, frame));
    s->vulkan.next++;
    LIB_OK(ring_cuda_turn(s, 0));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    layer->lose_devices(1);
}

static void tell(ring_stage *s, lost_way way, culv_ring_frame *frame)
{
    culv_ring_frame next;
    switch (way) {
    case BY_RING_SUBMIT:
        LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &next));
        LIB_ERROR(culv_vk_ring_submit(s->ring, s->queue, ring_vulkan_commands(s, &next),
                                      VK_NULL_HANDLE, &next),
                  CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST);
        break;
    case BY_TELLING:
        LIB_OK(culv_vk_device_lost(s->w.attachment));
        LIB_OK(culv_vk_device_lost(s->w.attachment));
        break;
    case BY_FAILURE:
        LIB_ERROR(culv_vk_ring_submit_failed(s->ring, frame, VK_ERROR_DEVICE_LOST),
                  CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST);
        break;
    case BY_ACQUIRE: {
        culv_ring_settings t = culv_ring_settings_init();
        t.check_counters = 1;
        LIB_OK(culv_ring_configure(s->ring, &t));
        LIB_ERROR(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &next),
                  CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST);
        break;
    }
    default: LIB_OK(culv_ring_stop(s->ring)); break;
    }
}

static void close_lost(ring_stage *s, const lib_layer *layer)
{
    if (layer != NULL) layer->lose_devices(0);
    vkDestroyCommandPool(s->w.vk.device, s->pool, NULL);
    lib_settle(&s->w);
    ring_world_close(s);
}

static void nobody_waits(lost_way way)
{
    ring_stage s;
    lib_layer layer;
    culv_ring_frame frame;
    pthread_t thread;
    begin(&s, &layer);
    CUcontext before = lib_enter(&s.w);
    /* Beside the ring, another semaphore that CUDA waits for, and a buffer. */
    culv_shared_semaphore *semaphore = NULL;
    culv_shared_buffer *buffer = NULL;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4099,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    const bool beside = way != BY_DRAIN && way != BY_DESTROY; /* which ask of the ring alone */
    CUstream second = lib_stream(&s.w);
    if (beside) {
        LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &semaphore));
        LIB_OK(culv_vk_buffer_create(s.w.attachment, &d, &buffer));
        LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(semaphore), second, 7));
    }
    lose(&s, &layer, &frame);
    solver me = {.s = &s};
    REQUIRE_EQ(pthread_create(&thread, NULL, solve, &me), 0);
    while (ring_stats(&s).producer_waits == 0)
        lib_sleep_ms(1);
    tell(&s, way, &frame);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    REQUIRE_EQ(me.result, CULV_ERROR_ASYNC);
    REQUIRE_EQ(me.error.reason, CULV_REASON_RING_STOPPED);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_PRODUCER, 0, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    if (way == BY_DRAIN) LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 1));
    if (way != BY_DESTROY) lib_finish(&s.w, s.stream);
    if (beside) {
        lib_finish(&s.w, second);
        culv_shared_buffer_destroy(&buffer);
        culv_shared_semaphore_destroy(&semaphore);
    }
    ring_forget(&s);
    if (way % 2 == 0)
        culv_ring_destroy(&s.ring);
    else
        culv_ring_destroy_after(&s.ring, s.stream);
    REQUIRE(s.ring == NULL);
    lib_finish(&s.w, s.stream);
    lib_stream_destroy(&s.w, second);
    lib_leave(&s.w, before);
    close_lost(&s, &layer);
}

TEST_AS(by_ring_submit, nobody_waits(BY_RING_SUBMIT), .title = "lost.by_ring_submit", .own = true)
TEST_AS(by_telling, nobody_waits(BY_TELLING), .title = "lost.by_telling", .own = true)
TEST_AS(by_failure, nobody_waits(BY_FAILURE), .title = "lost.by_failure", .own = true)
TEST_AS(by_drain, nobody_waits(BY_DRAIN), .title = "lost.by_drain", .own = true)
TEST_AS(by_acquire, nobody_waits(BY_ACQUIRE), .title = "lost.by_acquire", .own = true)
TEST_AS(by_destroy, nobody_waits(BY_DESTROY), .title = "lost.by_destroy", .own = true)

/* What is destroyed while CUDA waits for a lost device, though nobody told of it, and a wait that
 * comes after. */
TEST(destroys_return, .own = true)
{
    ring_stage s;
    lib_layer layer;
    begin(&s, &layer);
    CUcontext before = lib_enter(&s.w);
    culv_shared_semaphore *semaphore = NULL, *later = NULL;
    LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &semaphore));
    LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &later));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(semaphore), s.stream, 3));
    layer.lose_devices(1);
    culv_shared_semaphore_destroy(&semaphore);
    lib_finish(&s.w, s.stream);
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(later), s.stream, 5));
    REQUIRE_EQ(lib_query(&s.w, s.stream), CUDA_ERROR_NOT_READY);
    culv_ring_destroy(&s.ring); /* waits for all of CUDA's work */
    lib_finish(&s.w, s.stream);
    culv_shared_semaphore_destroy_after(&later, s.stream);
    lib_leave(&s.w, before);
    close_lost(&s, &layer);
}

/* The device lives, and what was released was never submitted: the end of the ring makes the signal
 * that CUDA waits for. */
TEST(never_submitted)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    culv_ring_frame frame;
    ring_world_open(&s);
    ring_open(&s, &o);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_cuda_turn(&s, 0));
    REQUIRE_EQ(lib_query(&s.w, s.stream), CUDA_ERROR_NOT_READY);
    ring_forget(&s);
    culv_ring_destroy(&s.ring);
    lib_finish(&s.w, s.stream);
    lib_leave(&s.w, before);
    close_lost(&s, NULL);
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
            LIB_ERROR(culv_vk_ring_submit_failed(s.ring, &frame, VK_NOT_READY), CULV_ERROR_INVALID,
                      CULV_REASON_VALUE);
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

TEST_AS(by_telling_across, lib_run_across(by_telling), .title = "across.by_telling", .own = true)
TEST_AS(by_destroy_across, lib_run_across(by_destroy), .title = "across.by_destroy", .own = true)
TEST_AS(never_submitted_across, lib_run_across(never_submitted), .title = "across.never_submitted",
        .own = true)
