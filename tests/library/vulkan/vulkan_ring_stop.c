/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: waits in slices, submissions that fail, a counter that somebody
 * else signaled. */
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
    LIB_ERROR(culv_ring_acquire_on(s.ring, CULV_RING_PRODUCER, s.stream, RING_LIMIT, &frame), ASYNC,
              EARLIER_FAILURE);
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame), ASYNC, RING_STOPPED);
    LIB_OK(culv_ring_drain(s.ring, 20 * MS, 1));
    raw_vk_idle(&s.w.vk);
    raw_vk_buffer_create(&s.w.vk, 4096, 0, &buffer);
    raw_vk_fill(&s.w.vk, &buffer, 0, 4096, 0x51525354u, NULL);
    raw_vk_read(&s.w.vk, &buffer, 4092, &word, 4);
    REQUIRE_EQ(word, 0x51525354u);
    raw_vk_buffer_destroy(&s.w.vk, &buffer);
    culv_shared_semaphore_destroy(&gate, NULL);
    LIB_OK(culv_ring_destroy(&s.ring, NULL));
    test_pass(); /* the context is not to be used any further in this process */
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
    LIB_ERROR(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame), INVALID, RING_ORDER);
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

TEST_AS(failing_submit_across, lib_run_across(failing_submit), .title = "across.failing_submit",
        .own = true)
