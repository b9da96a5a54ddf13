/* Fallbacks: semaphores and frames, on every path. SPDX-License-Identifier: MIT */
#include "fallback_scene.h"

#include <string.h>

extern const test_case order_cases[];

/* Frames, queued without waiting for any: two buffers by turns, each frame's number counted up by CUDA and copied out
 * by Vulkan. */
enum { FRAMES = 24, SLOTS = 2 };

static void frames(scene_kind kind)
{
    static scene s;
    culv_vk_buffer *slots[SLOTS];
    raw_vk_buffer host;
    if (kind != SCENE_SHARED && kind != SCENE_PEER) lib_with_option("--validation=off"); /* scene_signal() */
    scene_open(&s, kind);
    const raw_cuda *cu = s.w.cu;
    raw_vk_buffer_create(&s.w.vk, FRAMES * 4096, RAW_VK_HOST, &host);
    memset(host.mapped, 0, FRAMES * 4096);
    for (int i = 0; i < SLOTS; i++)
        LIB_OK(scene_buffer(&s, 4096, CULV_FALLBACK_ANY, &slots[i]));
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        culv_vk_buffer *slot = slots[frame % SLOTS];
        culv_buffer *cuda = culv_vk_buffer_cuda(slot);
        if (frame >= SLOTS)
            LIB_OK(culv_semaphore_wait(culv_vk_semaphore_cuda(s.to_cuda), s.stream, frame - SLOTS + 1));
        CUcontext before = lib_enter(&s.w);
        CU_OK(cu->MemsetD32Async(culv_buffer_pointer(cuda), 0x1000 + frame, 1024, s.stream));
        lib_leave(&s.w, before);
        LIB_OK(culv_buffer_push(cuda, s.stream));
        scene_signal(&s);
        VkCommandBuffer commands = raw_vk_begin(&s.w.vk, 0);
        const VkBufferCopy copy = {.dstOffset = (VkDeviceSize)frame * 4096, .size = 4096};
        scene_buffer_barrier(&s, commands, slot, true);
        LIB_OK(culv_vk_buffer_record_push(slot, commands));
        vkCmdCopyBuffer(commands, culv_vk_buffer_handle(slot), host.buffer, 1, &copy);
        scene_buffer_barrier(&s, commands, slot, false);
        scene_submit(&s, commands);
    }
    lib_finish(&s.w, s.stream);
    raw_vk_idle(&s.w.vk);
    for (uint32_t i = 0; i < FRAMES * 1024; i++)
        REQUIRE_EQ(((const uint32_t *)host.mapped)[i], 0x1000 + i / 1024);
    for (int i = 0; i < SLOTS; i++)
        culv_vk_buffer_destroy(&slots[i]);
    raw_vk_buffer_destroy(&s.w.vk, &host);
    scene_close(&s);
}

static void frames_shared(void)
{
    frames(SCENE_SHARED);
}
static void frames_pages(void)
{
    frames(SCENE_PAGES);
}
static void frames_mapped(void)
{
    frames(SCENE_MAPPED);
}
static void frames_peer(void)
{
    frames(SCENE_PEER);
}

/* The higher value is asked for first; the streams go on in the order of the values. */
static void out_of_order(scene *s)
{
    culv_semaphore *waits = culv_vk_semaphore_cuda(s->to_cuda);
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
    culv_vk_semaphore *second = NULL;
    if (kind != SCENE_PEER) lib_with_option("--validation=off");
    scene_open(&s, kind);
    LIB_OK(scene_semaphore(&s, CULV_FALLBACK_ANY, &second));
    culv_semaphore *one = culv_vk_semaphore_cuda(s.to_vulkan), *two = culv_vk_semaphore_cuda(second);
    const culv_semaphore_point points[] = {{one, 5}, {two, 7}};
    LIB_OK(culv_semaphore_signal_batch(points, 2, s.stream));
    LIB_OK(culv_semaphore_wait_batch(points, 2, s.stream));
    lib_finish(&s.w, s.stream);
    REQUIRE(raw_vk_timeline_wait(&s.w.vk, culv_vk_semaphore_handle(s.to_vulkan), 5, 10000));
    REQUIRE(raw_vk_timeline_wait(&s.w.vk, culv_vk_semaphore_handle(second), 7, 10000));
    REQUIRE_EQ(raw_vk_timeline_value(&s.w.vk, culv_vk_semaphore_handle(second)), 7);
    LIB_ERROR(culv_semaphore_signal(one, s.stream, 5), CULV_ERROR_INVALID, CULV_REASON_TIMELINE_BACKWARDS);
    REQUIRE_EQ(culv_semaphore_last_value(one), 5);
    /* NVIDIA's driver may have one thread for all host functions: docs/fallback.md, "Semaphores". */
    if (kind == SCENE_PEER || s.w.cu->software) out_of_order(&s);
    culv_vk_semaphore_destroy_after(&second, s.stream);
    scene_close(&s);
}

static void semaphores_host(void)
{
    semaphores(SCENE_PAGES);
}
static void semaphores_peer(void)
{
    semaphores(SCENE_PEER);
}

/* A host function has nobody to tell that Vulkan refused: the next call does. */
static void host_function_fails(void)
{
    static scene s;
    lib_layer layer;
    lib_with_option("--validation=off");
    scene_open(&s, SCENE_PAGES);
    if (!lib_layer_find(&layer)) {
        scene_close(&s);
        SKIP("only the twin's layer fails on demand");
    }
    culv_semaphore *semaphore = culv_vk_semaphore_cuda(s.to_vulkan);
    layer.fail_at(1, VK_ERROR_DEVICE_LOST);
    LIB_OK(culv_semaphore_signal(semaphore, s.stream, 1));
    lib_finish(&s.w, s.stream);
    layer.fail_at(0, 0);
    LIB_ERROR(culv_semaphore_signal(semaphore, s.stream, 2), CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE);
    LIB_SAYS("vkSignalSemaphore");
    LIB_ERROR(culv_semaphore_wait(semaphore, s.stream, 2), CULV_ERROR_ASYNC, CULV_REASON_EARLIER_FAILURE);
    scene_close(&s);
}

const test_case order_cases[] = {
    {.name = "frames.shared", .run = frames_shared},
    {.name = "frames.pages", .run = frames_pages},
    {.name = "frames.mapped", .run = frames_mapped},
    {.name = "frames.peer", .run = frames_peer},
    {.name = "semaphores.host", .run = semaphores_host},
    {.name = "semaphores.peer", .run = semaphores_peer},
    {.name = "host_function_fails", .run = host_function_fails},
    {.name = NULL},
};
