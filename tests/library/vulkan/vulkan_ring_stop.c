/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: late sides, draining, forcing, submissions that fail, a device
 * that is lost. */
#include "vulkan_ring_stage.h"

#include <pthread.h>
#include <unistd.h>

enum { MS = 1000000 };

static void open_ring(ring_stage *s, culv_ring_side side, uint32_t depth, uint32_t burst)
{
    ring_options o = ring_options_init(side, depth);
    o.settings.burst = burst;
    o.image = true;
    ring_world_open(s);
    ring_open(s, &o);
}

static void close_ring(ring_stage *s)
{
    ring_close(s);
    ring_world_close(s);
}

TEST(drained)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 4, 2);
    LIB_OK(culv_ring_drain(s.ring, 0, 0)); /* nothing was released */
    ring_run(&s, 20);
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 0));
    VkSemaphore done = culv_vk_ring_semaphore(s.ring, CULV_RING_CONSUMER);
    REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, done), ring_stats(&s).done_signaled);
    CUcontext before = lib_enter(&s.w);
    LIB_OK(ring_cuda_turn(&s, 0));
    /* An open burst */
    LIB_ERROR(culv_ring_drain(s.ring, 0, 0), CULV_ERROR_BUSY, CULV_REASON_RING_ORDER);
    LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(ring_vulkan_turn(&s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_ERROR(culv_ring_drain(s.ring, 0, 0), CULV_ERROR_BUSY, CULV_REASON_RING_ORDER);
    LIB_OK(culv_ring_cancel(s.ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_vulkan_turn(&s, 0));
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 0));
    lib_leave(&s.w, before);
    close_ring(&s);
}

/* Vulkan released a frame and never submitted it: CUDA, which waits for its slot, is let go, and
 * all goes on. */
TEST(forced_in_place_of_vulkan)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 2, 1);
    ring_run(&s, 6);
    ring_settle(&s);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &frame)); /* and no more */
    LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &frame));
    LIB_ERROR(culv_ring_drain(s.ring, 20 * MS, 0), CULV_ERROR_TIMEOUT, CULV_REASON_RING_LATE);
    LIB_SAYS("the consumer is late");
    LIB_SAYS("'done'");
    REQUIRE_EQ(lib_query(&s.w, s.stream), CUDA_ERROR_NOT_READY);
    LIB_OK(culv_ring_drain(s.ring, 20 * MS, 1));
    lib_finish(&s.w, s.stream);
    ring_forget(&s);
    s.vulkan.next += 2;
    ring_run(&s, 10);
    REQUIRE_EQ(s.vulkan.skipped, 1); /* that nobody took */
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 0));
    lib_leave(&s.w, before);
    close_ring(&s);
}

/* CUDA handed frames over and its stream never signals: Vulkan's queue is let go. Its side had kept
 * half a burst, which is nobody's any more. */
TEST(forced_in_place_of_cuda)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 4, 2);
    culv_ring_frame frame;
    for (int i = 0; i < 4; i++) {
        LIB_OK(culv_ring_acquire(s.ring, CULV_RING_PRODUCER, 0, &frame));
        LIB_OK(culv_ring_release(s.ring, CULV_RING_PRODUCER, &frame));
    }
    for (int i = 0; i < 3; i++)
        LIB_OK(ring_vulkan_turn(&s, 0));
    LIB_OK(culv_ring_drain(s.ring, 20 * MS, 1));
    raw_vk_idle(&s.w.vk);
    VkSemaphore ready = culv_vk_ring_semaphore(s.ring, CULV_RING_PRODUCER);
    REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, ready), 2);
    ring_forget(&s);
    s.cuda.next = ring_stats(&s).produced;
    ring_run(&s, 12); /* whose submissions have no command buffer of the burst that was taken */
    REQUIRE_EQ(s.vulkan.skipped, 1);
    close_ring(&s);
}

/* A kernel of CUDA's faults while Vulkan's queue waits for its frame. The VkDevice is whole, the
 * frame's value never comes, and the host signals in CUDA's place. */
TEST(cuda_faults, .faults = true)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 4, 1);
    const raw_cuda *cu = s.w.cu;
    culv_shared_semaphore *gate = NULL;
    culv_ring_frame frame;
    raw_vk_buffer buffer;
    CUdeviceptr nowhere = 0x1000;
    uint32_t value = 1, word = 0;
    void *params[] = {&nowhere, &value};
    ring_run(&s, 4);
    ring_settle(&s);
    LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &gate));
    LIB_OK(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, RING_LIMIT, &frame));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s.stream, 1));
    CUcontext before = lib_enter(&s.w);
    CUfunction poke = raw_cuda_function(cu, s.module, "library_poke");
    CU_OK(cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, s.stream, params, NULL));
    lib_leave(&s.w, before);
    LIB_OK(culv_ring_release_on(s.ring, CULV_RING_PRODUCER, s.stream, &frame));
    LIB_OK(ring_vulkan_turn(&s, 0));
    raw_vk_timeline_signal(&s.w.vk, culv_vk_semaphore_handle(gate), 1);
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < TEST_FAR_MS && (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY); i++) {
        r = lib_query(&s.w, s.stream);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    const VkSemaphore ready = culv_vk_ring_semaphore(s.ring, CULV_RING_PRODUCER);
    REQUIRE(!raw_vk_timeline_wait(&s.w.vk, ready, frame.signal_value, 50));
    LIB_ERROR(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, RING_LIMIT, &frame),
              CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE);
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    LIB_OK(culv_ring_drain(s.ring, 20 * MS, 1));
    raw_vk_idle(&s.w.vk);
    raw_vk_buffer_create(&s.w.vk, 4096, 0, &buffer);
    raw_vk_fill(&s.w.vk, &buffer, 0, 4096, 0x51525354u, NULL);
    raw_vk_read(&s.w.vk, &buffer, 4092, &word, 4);
    REQUIRE_EQ(word, 0x51525354u);
    raw_vk_buffer_destroy(&s.w.vk, &buffer);
    culv_shared_semaphore_destroy(&gate);
    LIB_OK(culv_ring_destroy(&s.ring));
    test_pass(); /* the context is not to be used any further in this process */
}

/* Nobody is there: each side says which one it waits for. */
TEST(late_sides)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 2, 1);
    culv_ring_frame frame;
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_TIMEOUT,
              CULV_REASON_RING_EMPTY);
    double start = test_now_us();
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 30 * MS, &frame), CULV_ERROR_TIMEOUT,
              CULV_REASON_RING_EMPTY);
    REQUIRE(test_now_us() - start >= 29000);
    LIB_SAYS("the producer is late");
    CUcontext before = lib_enter(&s.w);
    LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(ring_cuda_turn(&s, 0));
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, 30 * MS, &f),
              CULV_ERROR_TIMEOUT, CULV_REASON_RING_FULL);
    LIB_SAYS("the consumer is late");
    LIB_OK(ring_vulkan_turn(&s, 0));
    LIB_OK(ring_cuda_turn(&s, RING_LIMIT));
    lib_leave(&s.w, before);
    close_ring(&s);
}

static void *signal_later(void *user)
{
    ring_stage *s = user;
    lib_sleep_ms(600);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_ring_semaphore(s->ring, CULV_RING_CONSUMER), 1);
    return NULL;
}

/* Lines that Culvert wrote to stderr since it was redirected to the file. */
static unsigned lines_in(FILE *file)
{
    unsigned lines = 0;
    char line[2048];
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        lines += strncmp(line, "culvert ", 8) == 0;
    return lines;
}

/* The library waits for a timeline in slices of a quarter of a second. The end of one is no error;
 * that of the last, once. */
TEST(long_waits)
{
    for (int in_time = 0; in_time < 2; in_time++) {
        ring_stage s;
        pthread_t later;
        ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
        o.settings.max_frames_in_flight = 1;
        REQUIRE(setenv("CULVERT_LOG", "error", 1) == 0);
        ring_world_open(&s);
        ring_open(&s, &o);
        CUcontext before = lib_enter(&s.w);
        culv_ring_frame mine;
        culv_ring_frame frame;
        for (int i = 0; i < 2; i++) {
            LIB_OK(ring_cuda_turn(&s, 0));
            LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &mine));
            LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &mine)); /* and no more */
        }
        FILE *log = tmpfile();
        const int screen = dup(STDERR_FILENO);
        REQUIRE(log != NULL && screen >= 0 && fflush(stderr) == 0);
        if (in_time) REQUIRE(pthread_create(&later, NULL, signal_later, &s) == 0);
        REQUIRE(dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
        const culv_result result =
            culv_ring_acquire(s.ring, CULV_RING_PRODUCER, in_time ? RING_LIMIT : 600 * MS, &frame);
        REQUIRE(fflush(stderr) == 0 && dup2(screen, STDERR_FILENO) == STDERR_FILENO);
        REQUIRE_EQ(result, in_time ? CULV_OK : CULV_ERROR_TIMEOUT);
        REQUIRE_EQ(lines_in(log), in_time ? 0 : 1);
        REQUIRE(fclose(log) == 0);
        (void)close(screen);
        if (in_time) {
            REQUIRE(pthread_join(later, NULL) == 0);
            LIB_OK(culv_ring_cancel(s.ring, CULV_RING_PRODUCER, &frame));
        }
        LIB_OK(culv_ring_drain(s.ring, 0, 1));
        lib_leave(&s.w, before);
        ring_close(&s);
        ring_world_close(&s);
    }
}

/* Submissions that fail ------------------------------------------------------------------------ */

static lib_layer the_layer(const ring_stage *s)
{
    lib_layer layer;
    if (s->w.cu->SoftCounts == NULL || !lib_layer_find(&layer))
        SKIP("only the twin's layer fails on demand");
    return layer;
}

/* At the end of a burst: nothing was submitted, nothing is lost, the next try has it all. */
TEST(failing_submit, .own = true)
{
    ring_stage s;
    lib_with_option("--validation=off"); /* the layer above takes what fails for submitted */
    open_ring(&s, CULV_RING_CONSUMER, 4, 4);
    lib_layer layer = the_layer(&s);
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < 4; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    for (int i = 0; i < 3; i++)
        LIB_OK(ring_vulkan_turn(&s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
    for (int i = 0; i < 2; i++) {
        layer.fail_at(1, i == 0 ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_UNKNOWN);
        culv_result result = culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame);
        REQUIRE_EQ(result, i == 0 ? CULV_ERROR_OUT_OF_MEMORY : CULV_ERROR_DRIVER);
        LIB_SAYS("vkQueueSubmit2");
        REQUIRE_EQ(ring_stats(&s).done_signaled, 0);
    }
    /* Held */
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame), CULV_ERROR_INVALID,
              CULV_REASON_RING_ORDER);
    LIB_OK(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame));
    ring_released(&s.vulkan, &frame);
    ring_settle(&s);
    REQUIRE_EQ(s.vulkan.verified, 4);
    /* Of a flush. */
    for (int i = 0; i < 4; i++)
        LIB_OK(ring_cuda_turn(&s, 0));
    LIB_OK(ring_vulkan_turn(&s, 0));
    layer.fail_at(1, VK_ERROR_OUT_OF_HOST_MEMORY);
    REQUIRE_EQ(culv_ring_flush(s.ring, CULV_RING_CONSUMER, NULL), CULV_ERROR_OUT_OF_MEMORY);
    REQUIRE_EQ(ring_stats(&s).done_signaled, 1);
    LIB_OK(culv_ring_flush(s.ring, CULV_RING_CONSUMER, NULL));
    REQUIRE_EQ(ring_stats(&s).done_signaled, 2);
    ring_flushed(&s.vulkan, 2);
    lib_leave(&s.w, before);
    close_ring(&s);
}

/* Then the ring is stopped for both sides, and can be destroyed. */
TEST(lost_device)
{
    ring_stage s;
    open_ring(&s, CULV_RING_CONSUMER, 2, 1);
    lib_layer layer = the_layer(&s);
    CUcontext before = lib_enter(&s.w);
    LIB_OK(ring_cuda_turn(&s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
    layer.fail_at(1, VK_ERROR_DEVICE_LOST);
    LIB_ERROR(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame),
              CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST);
    LIB_ERROR(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame),
              CULV_ERROR_ASYNC, CULV_REASON_RING_STOPPED);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, 0, &f), CULV_ERROR_ASYNC,
              CULV_REASON_RING_STOPPED);
    LIB_SAYS("what is left is culv_ring_drain() and culv_ring_destroy()");
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 1)); /* nobody waits */
    lib_leave(&s.w, before);
    ring_forget(&s);
    close_ring(&s);
}

/* Counters that somebody else signaled. */
TEST(changed_counter)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    o.settings.check_counters = 1;
    ring_world_open(&s);
    ring_open(&s, &o);
    ring_run(&s, 4);
    ring_settle(&s);
    raw_vk_timeline_signal(&s.w.vk, culv_vk_ring_semaphore(s.ring, CULV_RING_CONSUMER), 100);
    culv_ring_frame f;
    LIB_ERROR(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, 0, &f), CULV_ERROR_ASYNC,
              CULV_REASON_TIMELINE_CHANGED);
    LIB_SAYS("100");
    ring_close(&s);
    ring_world_close(&s);
}

TEST_AS(drained_across, lib_run_across(drained), .title = "across.drained", .own = true)
TEST_AS(forced_in_place_of_vulkan_across, lib_run_across(forced_in_place_of_vulkan),
        .title = "across.forced_in_place_of_vulkan", .own = true)
TEST_AS(forced_in_place_of_cuda_across, lib_run_across(forced_in_place_of_cuda),
        .title = "across.forced_in_place_of_cuda", .own = true)
TEST_AS(late_sides_across, lib_run_across(late_sides), .title = "across.late_sides", .own = true)
TEST_AS(failing_submit_across, lib_run_across(failing_submit), .title = "across.failing_submit",
        .own = true)
