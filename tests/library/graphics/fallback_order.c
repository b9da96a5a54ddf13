/* SPDX-License-Identifier: MIT */
/* Fallbacks: semaphores and frames, on every path. */
#include "fallback_scene.h"

/* Frames, queued without waiting for any: two buffers by turns, each frame's number counted up by
 * CUDA and copied out by Vulkan. */
enum { FRAMES = 24, SLOTS = 2 };

static void frames(scene_kind kind)
{
    static scene s;
    culv_shared_buffer *slots[SLOTS];
    raw_vk_buffer host;
    if (kind == SCENE_PAGES || kind == SCENE_MAPPED)
        lib_with_option("--validation=off"); /* scene_signal() */
    scene_open(&s, kind);
    raw_vk_buffer_create(&s.w.vk, FRAMES * 4096, RAW_VK_HOST, &host);
    memset(host.mapped, 0, FRAMES * 4096);
    for (int i = 0; i < SLOTS; i++)
        LIB_OK(scene_buffer(&s, 4096, CULV_FALLBACK_ANY, &slots[i]));
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        culv_shared_buffer *slot = slots[frame % SLOTS];
        culv_buffer *cuda = culv_shared_buffer_cuda(slot);
        if (frame >= SLOTS)
            LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(s.to_cuda), s.stream,
                                       frame - SLOTS + 1));
        LIB_CU_OK(&s.w, s.w.cu->MemsetD32Async(culv_buffer_pointer(cuda), 0x1000 + frame, 1024,
                                               s.stream));
        LIB_OK(culv_buffer_copy(cuda, CULV_COPY_UPLOAD, s.stream));
        scene_signal(&s);
        VkCommandBuffer commands = raw_vk_begin(&s.w.vk, 0);
        const VkBufferCopy copy = {.dstOffset = (VkDeviceSize)frame * 4096, .size = 4096};
        scene_buffer_barrier(&s, commands, slot, true);
        LIB_OK(culv_vk_buffer_record_copy(slot, CULV_COPY_UPLOAD, commands));
        vkCmdCopyBuffer(commands, culv_vk_buffer_handle(slot), host.buffer, 1, &copy);
        scene_buffer_barrier(&s, commands, slot, false);
        scene_submit(&s, commands);
    }
    lib_finish(&s.w, s.stream);
    raw_vk_idle(&s.w.vk);
    for (uint32_t i = 0; i < FRAMES * 1024; i++)
        REQUIRE_EQ(((const uint32_t *)host.mapped)[i], 0x1000 + i / 1024);
    for (int i = 0; i < SLOTS; i++)
        culv_shared_buffer_destroy(&slots[i], NULL);
    raw_vk_buffer_destroy(&s.w.vk, &host);
    scene_close(&s);
}

TEST_AS(frames_shared, frames(SCENE_SHARED), .title = "frames.shared", .own = true)
TEST_AS(frames_pages, frames(SCENE_PAGES), .title = "frames.pages", .own = true)
TEST_AS(frames_mapped, frames(SCENE_MAPPED), .title = "frames.mapped", .own = true)
TEST_AS(frames_peer, frames(SCENE_PEER), .title = "frames.peer", .own = true)
TEST_AS(frames_direct, frames(SCENE_DIRECT), .title = "frames.direct", .own = true)
TEST_AS(frames_placed, frames(SCENE_PLACED), .title = "frames.placed", .own = true)

/* The higher value is asked for first; the streams go on in the order of the values. */
static void out_of_order(scene *s)
{
    culv_semaphore *waits = culv_shared_semaphore_cuda(s->to_cuda);
    CUstream other = lib_stream(&s->w);
    LIB_OK(culv_semaphore_wait(waits, other, 20));
    LIB_OK(culv_semaphore_wait(waits, s->stream, 10));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(s->to_cuda), 10);
    lib_finish(&s->w, s->stream);
    REQUIRE_EQ(lib_query(&s->w, other), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(s->to_cuda), 20);
    lib_finish(&s->w, other);
    lib_stream_destroy(&s->w, other);
}

/* A batch of what is relayed, values that step back, and waits out of order. */
static void semaphores(scene_kind kind)
{
    static scene s;
    culv_shared_semaphore *second = NULL;
    if (kind != SCENE_PEER) lib_with_option("--validation=off");
    scene_open(&s, kind);
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &second));
    culv_semaphore *one = culv_shared_semaphore_cuda(s.to_vulkan),
                   *two = culv_shared_semaphore_cuda(second);
    const culv_semaphore_point points[] = {{one, 5}, {two, 7}};
    LIB_OK(culv_semaphore_signal_batch(points, 2, s.stream));
    LIB_OK(culv_semaphore_wait_batch(points, 2, s.stream));
    lib_finish(&s.w, s.stream);
    REQUIRE(raw_vk_timeline_wait(&s.w.vk, culv_vk_semaphore_handle(s.to_vulkan), 5, TEST_FAR_MS));
    REQUIRE(raw_vk_timeline_wait(&s.w.vk, culv_vk_semaphore_handle(second), 7, TEST_FAR_MS));
    REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, culv_vk_semaphore_handle(second)), 7);
    LIB_INVALID(culv_semaphore_signal(one, s.stream, 5), TIMELINE_BACKWARDS);
    REQUIRE_EQ(culv_semaphore_last_value(one), 5);
    /* NVIDIA's driver may have one thread for all host functions: docs/fallback.md,
     * "Semaphores". */
    if (kind == SCENE_PEER || s.w.cu->software) out_of_order(&s);
    culv_shared_semaphore_destroy(&second, &s.stream);
    scene_close(&s);
}

TEST_AS(semaphores_host, semaphores(SCENE_PAGES), .title = "semaphores.host", .own = true)
TEST_AS(semaphores_peer, semaphores(SCENE_PEER), .title = "semaphores.peer", .own = true)

enum { PAIR = 2 };

/* Vulkan's counters are what Culvert says was signaled last. */
static void require_signaled(scene *s, culv_shared_semaphore *const pair[PAIR], uint64_t first,
                             uint64_t second)
{
    const uint64_t expected[PAIR] = {first, second};
    lib_finish(&s->w, s->stream);
    for (int i = 0; i < PAIR; i++) {
        REQUIRE_EQ(culv_semaphore_last_value(culv_shared_semaphore_cuda(pair[i])), expected[i]);
        /* By another GPU's stream. */
        REQUIRE(raw_vk_timeline_wait(&s->w.vk, culv_vk_semaphore_handle(pair[i]), expected[i],
                                     TEST_FAR_MS));
        lib_sleep_ms(1);
        REQUIRE_EQ(raw_vk_timeline_value(&s->w.vk, culv_vk_semaphore_handle(pair[i])), expected[i]);
    }
}

/* A captured stream takes no point that is relayed, and so none of the batch. */
static void refused_in_capture(scene *s, const culv_semaphore_point *points, uint32_t count)
{
    const raw_cuda *cu = s->w.cu;
    CUgraph graph = NULL;
    size_t nodes = 0;
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_ERROR(culv_semaphore_signal_batch(points, count, s->stream), UNSUPPORTED, CAPTURE);
    LIB_ERROR(culv_semaphore_wait_batch(points, count, s->stream), UNSUPPORTED, CAPTURE);
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CU_OK(cu->GraphGetNodes(graph, NULL, &nodes));
    REQUIRE_EQ(nodes, 0);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(&s->w, before);
}

static bool submits(const char *call)
{
    static const char *const names[] = {"cuLaunchHostFunc", "cuEventRecord", "cuStreamWaitEvent",
                                        "cuSignalExternal", "cuWaitExternal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(call, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Each driver call of a batch fails once, up to the first that signals or waits: none was signaled
 * or waited for then. */
static void refused_by_driver(scene *s, culv_shared_semaphore *const pair[PAIR], bool signal)
{
    const raw_cuda *cu = s->w.cu;
    const uint64_t ahead = signal ? 1 : 1000000; /* values that nobody has signaled yet */
    const culv_semaphore_point points[] = {{culv_shared_semaphore_cuda(pair[0]), ahead},
                                           {culv_shared_semaphore_cuda(pair[1]), ahead}};
    unsigned refused = 0;
    for (uint64_t n = 1;; n++) {
        cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
        const culv_result r = signal ? culv_semaphore_signal_batch(points, PAIR, s->stream)
                                     : culv_semaphore_wait_batch(points, PAIR, s->stream);
        const char *call = cu->SoftFailedCall();
        cu->SoftFailAt(0, 0);
        if (call == NULL || submits(call) || r == CULV_OK) break;
        refused++;
        REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_SUCCESS); /* no wait holds it up */
        require_signaled(s, pair, 0, 0);
    }
    REQUIRE(refused >= 3); /* two are asked whether the stream is captured, and something is made */
    for (int i = 0; !signal && i < PAIR; i++) {
        culv_semaphore *semaphore = culv_shared_semaphore_cuda(pair[i]);
        raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(pair[i]), ahead);
        culv_semaphore_mark_value(semaphore, ahead);
    }
    lib_finish(&s->w, s->stream);
}

/* A batch that is refused has done nothing, whatever its first points are. */
static void batches(scene_kind kind)
{
    static scene s;
    culv_shared_semaphore *pair[PAIR] = {NULL};
    if (kind != SCENE_PEER) lib_with_option("--validation=off");
    scene_open(&s, kind);
    for (int i = 0; i < PAIR; i++)
        LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &pair[i]));
    culv_semaphore *one = culv_shared_semaphore_cuda(pair[0]),
                   *two = culv_shared_semaphore_cuda(pair[1]);
    LIB_OK(culv_semaphore_signal(two, s.stream, 9));
    static const uint64_t wrong[] = {9, 1, 0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const culv_semaphore_point points[] = {{one, 5}, {two, wrong[i]}};
        LIB_INVALID(culv_semaphore_signal_batch(points, PAIR, s.stream), TIMELINE_BACKWARDS);
        require_signaled(&s, pair, 0, 9);
    }
    const culv_semaphore_point twice[] = {{one, 5}, {one, 6}};
    LIB_INVALID(culv_semaphore_signal_batch(twice, PAIR, s.stream), VALUE);
    /* One that is shared before one that is not. */
    VkSemaphore timeline = VK_NULL_HANDLE;
    culv_semaphore *shared = NULL;
    if (kind != SCENE_PEER) {
        timeline = raw_vk_timeline(&s.w.vk, 0, true);
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.type = CULV_SEMAPHORE_TIMELINE;
        d.handle = culv_handle_opaque_fd(raw_vk_timeline_fd(&s.w.vk, timeline));
        LIB_TAKE(culv_semaphore_import(s.w.device, &d, &shared), &d.handle);
    }
    const culv_semaphore_point mixed[] = {{shared != NULL ? shared : two, 11}, {one, 5}};
    refused_in_capture(&s, mixed, PAIR);
    require_signaled(&s, pair, 0, 9);
    LIB_OK(culv_semaphore_signal_batch(mixed, PAIR, s.stream));
    require_signaled(&s, pair, 5, shared != NULL ? 9 : 11);
    if (shared != NULL) REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, timeline), 11);
    for (int signal = 0; s.w.cu->SoftFailAt != NULL && signal < 2; signal++) {
        /* Ones that no call has prepared anything for. */
        for (int i = 0; i < PAIR; i++) {
            culv_shared_semaphore_destroy(&pair[i], &s.stream);
            LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &pair[i]));
        }
        lib_finish(&s.w, s.stream);
        refused_by_driver(&s, pair, signal);
    }
    culv_semaphore_destroy(&shared, &s.stream);
    for (int i = 0; i < PAIR; i++)
        culv_shared_semaphore_destroy(&pair[i], &s.stream);
    lib_finish(&s.w, s.stream);
    lib_settle(&s.w);
    if (timeline != VK_NULL_HANDLE) raw_vk_timeline_destroy(&s.w.vk, timeline);
    scene_close(&s);
}

TEST_AS(batches_host, batches(SCENE_PAGES), .title = "batches.host", .own = true)
TEST_AS(batches_peer, batches(SCENE_PEER), .title = "batches.peer", .own = true)

/* A host function has nobody to tell that Vulkan refused: the next call does. */
TEST(host_function_fails, .own = true)
{
    static scene s;
    lib_layer layer;
    lib_with_option("--validation=off");
    scene_open(&s, SCENE_PAGES);
    if (!lib_layer_find(&layer)) {
        scene_close(&s);
        SKIP("only the twin's layer fails on demand");
    }
    culv_semaphore *semaphore = culv_shared_semaphore_cuda(s.to_vulkan);
    layer.fail_at(1, VK_ERROR_DEVICE_LOST);
    LIB_OK(culv_semaphore_signal(semaphore, s.stream, 1));
    lib_finish(&s.w, s.stream);
    layer.fail_at(0, 0);
    LIB_ERROR(culv_semaphore_signal(semaphore, s.stream, 2), ASYNC, EARLIER_FAILURE,
              "vkSignalSemaphore");
    LIB_ERROR(culv_semaphore_wait(semaphore, s.stream, 2), ASYNC, EARLIER_FAILURE);
    scene_close(&s);
}
