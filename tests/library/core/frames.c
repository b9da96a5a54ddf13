/* SPDX-License-Identifier: MIT */
/* The frame loop, as a program has it: wait, kernel, signal; a submission that acquires, reads and
 * releases. Once it runs, Culvert allocates nothing, and calls of the driver what a hand-written
 * program would and one cuCtxGetCurrent. */
#include "library.h"
#include "raw_binary.h"

#include <stdatomic.h>

/* In the static library of a build with tests. */
extern _Atomic long culvi_alloc_count;

enum { FRAMES = 300, BATCH = 100, WORDS = 4096 };

typedef enum kind { TIMELINES, BATCHES, BINARIES } kind;

typedef struct scene {
    lib_world w;
    kind kind;
    CUstream stream;
    CUmodule module;
    CUfunction write;
    culv_shared_buffer *buffer;
    raw_vk_buffer log;
    /* Timelines: the second of each direction is the batch's. */
    culv_shared_semaphore *out[2], *in[2];
    raw_binary written, read; /* binary semaphores */
    culv_semaphore *to_vulkan, *to_cuda;
} scene;

static scene s;

static culv_semaphore *import_binary(raw_binary *other)
{
    raw_binary_create(&s.w.vk, s.w.cu, other);
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = CULV_SEMAPHORE_BINARY;
    d.handle = culv_handle_opaque_fd(raw_binary_fd(&s.w.vk, other));
    culv_semaphore *semaphore = NULL;
    LIB_TAKE(culv_semaphore_import(s.w.device, &d, &semaphore), &d.handle);
    return semaphore;
}

static void scene_open(kind k)
{
    memset(&s, 0, sizeof s);
    s.kind = k;
    lib_open(&s.w);
    const raw_cuda *cu = s.w.cu;
    s.stream = lib_stream(&s.w);
    CUcontext before = lib_enter(&s.w);
    s.module = raw_cuda_load(cu, "library_kernels");
    s.write = raw_cuda_function(cu, s.module, "library_write");
    lib_leave(&s.w, before);
    const VkBufferCreateInfo info = raw_vk_buffer_info(WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_buffer_create(s.w.attachment, &d, &s.buffer));
    raw_vk_buffer_create(&s.w.vk, FRAMES * 4, RAW_VK_HOST, &s.log);
    if (k == BINARIES) {
        s.to_vulkan = import_binary(&s.written);
        s.to_cuda = import_binary(&s.read);
        return;
    }
    for (int i = 0; i < 2; i++) {
        LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &s.out[i]));
        LIB_OK(culv_vk_semaphore_create(s.w.attachment, NULL, &s.in[i]));
    }
    s.to_vulkan = culv_shared_semaphore_cuda(s.out[0]);
    s.to_cuda = culv_shared_semaphore_cuda(s.in[0]);
}

static void scene_close(void)
{
    if (s.kind == BINARIES) {
        culv_semaphore_destroy(&s.to_vulkan, NULL);
        culv_semaphore_destroy(&s.to_cuda, NULL);
        raw_binary_destroy(&s.w.vk, &s.written);
        raw_binary_destroy(&s.w.vk, &s.read);
    }
    for (int i = 0; i < 2; i++) {
        culv_shared_semaphore_destroy(&s.out[i], NULL);
        culv_shared_semaphore_destroy(&s.in[i], NULL);
    }
    culv_shared_buffer_destroy(&s.buffer, NULL);
    lib_settle(&s.w);
    LIB_CU_OK(&s.w, s.w.cu->ModuleUnload(s.module));
    lib_stream_destroy(&s.w, s.stream);
    raw_vk_buffer_destroy(&s.w.vk, &s.log);
    lib_close(&s.w);
}

/* CUDA's half of frame f: waits until frame f - 1 was read, writes, signals. */
static void simulate(uint32_t f)
{
    if (s.kind == BATCHES) {
        const culv_semaphore_point read[] = {{s.to_cuda, f - 1},
                                             {culv_shared_semaphore_cuda(s.out[1]), f - 1}};
        LIB_OK(culv_semaphore_wait_batch(read, 2, s.stream));
    } else if (s.kind == TIMELINES) {
        LIB_OK(culv_semaphore_wait(s.to_cuda, s.stream, f - 1));
    } else if (f > 1) {
        LIB_OK(culv_semaphore_wait(s.to_cuda, s.stream, 0));
    }
    CUdeviceptr pointer = culv_buffer_pointer(culv_shared_buffer_cuda(s.buffer));
    uint32_t count = WORDS;
    void *params[] = {&pointer, &count, &f};
    LIB_CU_OK(&s.w, s.w.cu->LaunchKernel(s.write, WORDS / 256, 1, 1, 256, 1, 1, 0, s.stream, params,
                                         NULL));
    if (s.kind == BATCHES) {
        const culv_semaphore_point written[] = {{s.to_vulkan, f},
                                                {culv_shared_semaphore_cuda(s.out[1]), f}};
        LIB_OK(culv_semaphore_signal_batch(written, 2, s.stream));
    } else {
        LIB_OK(culv_semaphore_signal(s.to_vulkan, s.stream, s.kind == BINARIES ? 0 : f));
    }
}

/* Vulkan's half: word f of the frame goes into the log. */
static void draw(uint32_t f)
{
    const raw_cuda *cu = s.w.cu;
    uint32_t queue = s.kind == BINARIES ? 0 : f % s.w.vk.queue_count; /* see binary.c */
    VkCommandBuffer commands = raw_vk_begin(&s.w.vk, queue);
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    const VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    t.buffer = culv_vk_buffer_handle(s.buffer);
    t.queue_family = queue;
    t.use = CULV_VK_USE_TRANSFER_SRC;
    LIB_OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    const VkBufferCopy copy = {
        .srcOffset = (VkDeviceSize)f * 4, .dstOffset = (VkDeviceSize)(f - 1) * 4, .size = 4};
    vkCmdCopyBuffer(commands, t.buffer, s.log.buffer, 1, &copy);
    LIB_OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    if (s.kind != BINARIES) {
        raw_vk_submit(&s.w.vk, commands,
                      &(raw_vk_job){.queue = queue,
                                    .wait = culv_vk_semaphore_handle(s.out[0]),
                                    .wait_value = f,
                                    .signal = culv_vk_semaphore_handle(s.in[0]),
                                    .signal_value = f,
                                    .pending = true});
        culv_semaphore_mark_value(s.to_cuda, f);
        return;
    }
    raw_binary_turn turn = {
        .queue = queue, .wait = &s.written, .signal = f < FRAMES ? &s.read : NULL};
    raw_vk_submit(&s.w.vk, commands, raw_binary_turn_begin(cu, &turn));
    LIB_OK(culv_semaphore_mark_waited(s.to_vulkan));
    if (f < FRAMES) LIB_OK(culv_semaphore_mark_signaled(s.to_cuda));
}

static void loop(kind k)
{
    scene_open(k);
    long before = 0;
    for (uint32_t f = 1; f <= FRAMES; f++) {
        if (f == 2) before = atomic_load(&culvi_alloc_count);
        simulate(f);
        draw(f);
        if (f % BATCH == 0) raw_vk_idle(&s.w.vk);
    }
    long after = atomic_load(&culvi_alloc_count);
    lib_finish(&s.w, s.stream);
    raw_vk_idle(&s.w.vk);
    REQUIRE(before > 0);
    REQUIRE_EQ(after - before, 0);
    const uint32_t *log = s.log.mapped;
    for (uint32_t f = 1; f <= FRAMES; f++)
        REQUIRE_EQ(log[f - 1], lib_word(f, f));
    scene_close();
}

TEST_AS(timelines, loop(TIMELINES))
TEST_AS(batches, loop(BATCHES))
TEST_AS(binaries, loop(BINARIES))

/* Driver calls --------------------------------------------------------------------------------- */

static uint64_t cuda_calls(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    s.w.cu->SoftCounts(&c);
    return c.calls;
}

/* Of one call of Culvert's. */
#define CALLS(call, expected)                                                                      \
    do {                                                                                           \
        uint64_t calls_ = cuda_calls();                                                            \
        call;                                                                                      \
        REQUIRE_EQ(cuda_calls() - calls_, (expected));                                             \
    } while (0)

TEST(driver_calls)
{
    scene_open(TIMELINES);
    const raw_cuda *cu = s.w.cu;
    if (cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
    lib_layer layer;
    REQUIRE(lib_layer_find(&layer));
    LIB_OK(culv_semaphore_signal(s.to_vulkan, s.stream, 1)); /* the stream is known from now on */
    culv_soft_vk_counts start = {.struct_size = sizeof start}, end = start;
    layer.counts(&start);
    for (uint64_t f = 2; f < 20; f++) {
        CUcontext before = f < 10 ? lib_enter(&s.w) : NULL;
        /* A known stream brings its context along; for a default stream Culvert's is made
         * current. */
        CALLS(LIB_OK(culv_semaphore_signal(s.to_vulkan, s.stream, f)), 1);
        CALLS(LIB_OK(culv_semaphore_wait(s.to_vulkan, s.stream, f)), 1);
        CALLS(LIB_OK(culv_semaphore_wait(s.to_cuda, NULL, 0)), f < 10 ? 2 : 4);
        CALLS(culv_semaphore_mark_value(s.to_cuda, f), 0);
        CALLS((void)culv_semaphore_last_value(s.to_cuda), 0);
        CALLS((void)culv_buffer_pointer(culv_shared_buffer_cuda(s.buffer)), 0);
        CALLS((void)culv_shared_buffer_pointer(s.buffer), 0);
        culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
        VkBufferMemoryBarrier2 barrier;
        t.queue_family = 0;
        t.buffer = culv_vk_buffer_handle(s.buffer);
        CALLS(LIB_OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier)), 0);
        if (f < 10) lib_leave(&s.w, before);
    }
    layer.counts(&end);
    REQUIRE_EQ(end.calls, start.calls); /* and none of Vulkan's */
    lib_finish(&s.w, s.stream);
    scene_close();
}
