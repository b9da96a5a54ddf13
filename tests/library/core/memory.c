/* SPDX-License-Identifier: MIT */
/* Imported memory: data both ways, offsets, several buffers on one mapping, barriers. */
#define TEST_GROUP "handle."
#include "library.h"

#include <unistd.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* Runs a kernel of library_kernels.cu over WORDS words, and waits. */
static void launch(const lib_world *w, const char *kernel, CUdeviceptr data, uint32_t argument)
{
    const raw_cuda *cu = w->cu;
    uint32_t count = WORDS;
    void *params[] = {&data, &count, &argument};
    CUcontext before = lib_enter(w);
    CUmodule module = raw_cuda_load(cu, "library_kernels");
    CUfunction function = raw_cuda_function(cu, module, kernel);
    CU_OK(cu->LaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    CU_OK(cu->CtxSynchronize());
    CU_OK(cu->ModuleUnload(module));
    lib_leave(w, before);
}

static void cuda_read(const lib_world *w, CUdeviceptr from, void *to, size_t size)
{
    LIB_CU_OK(w, w->cu->MemcpyDtoH(to, from, size));
}

static void cuda_write(const lib_world *w, CUdeviceptr to, const void *from, size_t size)
{
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, raw_cuda_upload(cu, to, from, size));
}

static culv_buffer *map(culv_memory *memory, uint64_t offset, uint64_t size)
{
    culv_buffer_desc d = culv_buffer_desc_init();
    culv_buffer *buffer = NULL;
    d.offset = offset;
    d.size = size;
    LIB_OK(culv_buffer_map(memory, &d, &buffer));
    REQUIRE(culv_buffer_pointer(buffer) != 0);
    return buffer;
}

/* Both directions through one buffer: Vulkan's words in CUDA, then a kernel's and a copy's in
 * Vulkan. */
static void exchange(lib_world *w, const raw_vk_buffer *vk, const culv_buffer *buffer,
                     uint32_t seed)
{
    static uint32_t words[WORDS], back[WORDS];
    CUdeviceptr p = culv_buffer_pointer(buffer);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, seed);
    raw_vk_write(&w->vk, vk, 0, words, BYTES);
    cuda_read(w, p, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed);
    raw_vk_fill(&w->vk, vk, BYTES / 2, BYTES / 2, 0x600d600d, NULL);
    cuda_read(w, p, back, BYTES);
    REQUIRE_WORDS(back, WORDS / 2, seed);
    for (uint32_t i = WORDS / 2; i < WORDS; i++)
        REQUIRE_EQ(back[i], 0x600d600d);

    launch(w, "library_write", p, seed + 17);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed + 17);
    launch(w, "library_add", p, 5);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed + 22);
    cuda_write(w, p, words, BYTES);
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, seed);
    const raw_cuda *cu = w->cu;
    LIB_CU_OK(w, cu->MemsetD32Async(p + BYTES / 2, 0xabcd0123, WORDS / 2, NULL));
    LIB_CU_OK(w, cu->CtxSynchronize());
    raw_vk_read(&w->vk, vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS / 2, seed);
    for (uint32_t i = WORDS / 2; i < WORDS; i++)
        REQUIRE_EQ(back[i], 0xabcd0123);
}

static void data(unsigned flags, VkDeviceSize min_offset)
{
    lib_world w;
    lib_open(&w);
    raw_vk_buffer vk;
    raw_vk_buffer_create_at(&w.vk, BYTES, min_offset, RAW_VK_EXPORT | flags, &vk);
    culv_memory *memory = lib_import(&w, &vk);
    REQUIRE_EQ(culv_memory_size(memory), vk.allocation_size);
    culv_buffer *buffer = map(memory, vk.offset, BYTES);
    REQUIRE_EQ(culv_buffer_size(buffer), BYTES);
    exchange(&w, &vk, buffer, 1);
    culv_buffer_unmap(&buffer, NULL);
    REQUIRE(buffer == NULL);
    culv_buffer_unmap(&buffer, NULL);
    /* A second mapping after the first was given up. */
    buffer = map(memory, vk.offset, BYTES);
    exchange(&w, &vk, buffer, 1000);
    culv_memory_destroy(&memory);
    REQUIRE(memory == NULL);
    culv_memory_destroy(&memory);
    exchange(&w, &vk, buffer, 2000); /* the buffer keeps the import */
    culv_buffer_unmap(&buffer, &(CUstream){NULL});
    raw_vk_buffer_destroy(&w.vk, &vk);
    lib_close(&w);
}

/* Whether it is dedicated is the caller's word, which CUDA gets as it is. */
LIB_CASE(told_dedicated, .title = "data.told_dedicated")
{
    if (w->cu->SoftCounts == NULL) {
        lib_close(w);
        SKIP("only the twin tells what it was given");
    }
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        culv_soft_counts c = {.struct_size = sizeof c};
        raw_vk_buffer vk;
        culv_memory *memory = NULL;
        raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT | (dedicated ? RAW_VK_DEDICATED : 0),
                             &vk);
        culv_memory_desc d = lib_memory_desc(w, &vk, raw_vk_buffer_fd(&w->vk, &vk));
        d.dedicated = dedicated ? 1 : 0;
        LIB_TAKE(culv_memory_import(w->device, &d, &memory), &d.handle);
        w->cu->SoftCounts(&c);
        REQUIRE_EQ(c.external_memories, 1);
        REQUIRE_EQ(c.dedicated_memories, dedicated);
        culv_memory_destroy(&memory);
        raw_vk_buffer_destroy(&w->vk, &vk);
        lib_settle(w);
    }
}

TEST_AS(data_at_zero, data(0, 0), .title = "data.at_zero")
TEST_AS(data_dedicated, data(RAW_VK_DEDICATED, 0), .title = "data.dedicated")
TEST_AS(data_at_an_offset, data(0, 3 * 65536 + 4096), .title = "data.at_an_offset", .smoke = true)

/* The VkDeviceMemory may go while the import lives. */
LIB_CASE(data_outlives_vulkans_memory, .title = "data.outlives_vulkans_memory")
{
    static uint32_t back[WORDS];
    raw_vk_buffer vk;
    raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT, &vk);
    culv_memory *memory = lib_import(w, &vk);
    culv_buffer *buffer = map(memory, 0, BYTES);
    launch(w, "library_write", culv_buffer_pointer(buffer), 3);
    raw_vk_buffer_destroy(&w->vk, &vk);
    cuda_read(w, culv_buffer_pointer(buffer), back, BYTES);
    REQUIRE_WORDS(back, WORDS, 3);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
}

/* Two VkBuffers in one VkDeviceMemory, and more ranges besides: one import, one mapping at the
 * driver. */
LIB_CASE(ranges_share_one_mapping, .title = "ranges.share_one_mapping")
{
    static uint32_t back[WORDS];
    raw_vk_buffer vk;
    raw_vk_buffer_create_at(&w->vk, BYTES, 1 << 20, RAW_VK_EXPORT, &vk);
    culv_memory *memory = lib_import(w, &vk);
    REQUIRE_EQ(lib_counts(w).mappings, 0); /* none before the first buffer is asked for */
    enum { RANGES = 9 };
    culv_buffer *buffers[RANGES];
    culv_buffer *whole = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &whole));
    REQUIRE_EQ(culv_buffer_size(whole), vk.allocation_size);
    for (uint32_t i = 0; i < RANGES; i++) {
        buffers[i] = map(memory, vk.offset + i * 1024, i % 2 == 0 ? 1024 : 0);
        REQUIRE_EQ(culv_buffer_pointer(buffers[i]),
                   culv_buffer_pointer(whole) + vk.offset + i * 1024);
        REQUIRE_EQ(culv_buffer_size(buffers[i]),
                   i % 2 == 0 ? 1024 : vk.allocation_size - vk.offset - i * 1024);
    }
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.memories, 1);
    REQUIRE_EQ(c.mappings, 1);
    REQUIRE_EQ(c.buffers, RANGES + 1);
    if (w->cu->SoftCounts != NULL) {
        culv_soft_counts s = {.struct_size = sizeof s};
        w->cu->SoftCounts(&s);
        REQUIRE_EQ(s.external_memories, 1);
        REQUIRE_EQ(s.external_mappings, 1);
    }
    launch(w, "library_write", culv_buffer_pointer(whole) + vk.offset, 9);
    cuda_read(w, culv_buffer_pointer(buffers[3]), back, BYTES - 3 * 1024);
    for (uint32_t i = 0; i < WORDS - 3 * 256; i++)
        REQUIRE_EQ(back[i], lib_word(i + 3 * 256, 9));
    culv_buffer_unmap(&whole, NULL);
    for (uint32_t i = 0; i < RANGES; i++) {
        REQUIRE_EQ(lib_counts(w).mappings, 1); /* the last range holds it */
        culv_buffer_unmap(&buffers[i], NULL);
    }
    lib_settle(w);
    c = lib_counts(w);
    REQUIRE_EQ(c.mappings, 0);
    REQUIRE_EQ(c.memories, 1);
    culv_memory_destroy(&memory);
    raw_vk_buffer_destroy(&w->vk, &vk);
}

/* The descriptor stays the caller's, who may close it at once. */
LIB_CASE(kept)
{
    static uint32_t back[WORDS];
    raw_vk_buffer vk = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    culv_memory *memory = NULL;
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    LIB_OK(culv_memory_import(w->device, &d, &memory));
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    culv_buffer *buffer = map(memory, 0, BYTES);
    launch(w, "library_write", culv_buffer_pointer(buffer), 77);
    raw_vk_read(&w->vk, &vk, 0, back, BYTES);
    REQUIRE_WORDS(back, WORDS, 77);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    lib_settle(w);
}

/* One fd borrowed again and again: each import reads it from its start, whatever its offset. */
LIB_CASE(borrow_again)
{
    raw_vk_buffer vk = lib_case_buffer(w, BYTES, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory *memories[8];
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    memset(&d.exporter, 0, sizeof d.exporter); /* not given: the caller vouches */
    for (int i = 0; i < 8; i++)
        LIB_OK(culv_memory_import(w->device, &d, &memories[i]));
    lib_fd_require_untouched(&fd);
    REQUIRE_EQ(lib_counts(w).memories, 8);
    for (int i = 0; i < 8; i++)
        culv_memory_destroy(&memories[i]);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
}

/* Barriers ------------------------------------------------------------------------------------- */

static void record(VkCommandBuffer commands, const culv_vk_buffer_transfer *t, bool acquire,
                   bool old_form)
{
    if (old_form) {
        culv_vk_buffer_barrier b;
        LIB_OK(culv_vk_buffer_get_barrier(t, acquire ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &b));
        vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 1, &b.barrier, 0,
                             NULL);
        return;
    }
    VkBufferMemoryBarrier2 b;
    LIB_OK(culv_vk_buffer_get_barrier2(t, acquire ? CULV_VK_ACQUIRE : CULV_VK_RELEASE, &b));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &b};
    vkCmdPipelineBarrier2(commands, &info);
}

/* On every queue: acquire what CUDA wrote, copy it out, write, release; with stages named and with
 * the defaults. lib_close() requires that validation and synchronization validation said
 * nothing. */
static void barriers(bool old_form, bool defaults)
{
    lib_world w;
    lib_open(&w);
    static uint32_t back[WORDS];
    raw_vk_buffer vk, host;
    raw_vk_buffer_create(&w.vk, BYTES, RAW_VK_EXPORT, &vk);
    raw_vk_buffer_create(&w.vk, BYTES, RAW_VK_HOST, &host);
    culv_memory *memory = lib_import(&w, &vk);
    culv_buffer *buffer = map(memory, vk.offset, BYTES);
    VkSemaphore to_vulkan = raw_vk_timeline(&w.vk, 0, true),
                to_cuda = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *to_vulkan_cu = lib_import_timeline(&w, to_vulkan);
    culv_semaphore *to_cuda_cu = lib_import_timeline(&w, to_cuda);
    CUstream stream = lib_stream(&w);
    for (uint32_t round = 1; round <= 2 * w.vk.queue_count; round++) {
        uint32_t queue = round % w.vk.queue_count;
        culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
        t.buffer = vk.buffer;
        t.queue_family = queue;
        launch(&w, "library_write", culv_buffer_pointer(buffer), round);
        LIB_OK(culv_semaphore_signal(to_vulkan_cu, stream, round));
        VkCommandBuffer commands = raw_vk_begin(&w.vk, queue);
        if (!defaults) {
            t.stage = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
            t.access = VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
            t.size = BYTES;
        }
        record(commands, &t, true, old_form);
        const VkBufferCopy copy = {.size = BYTES};
        vkCmdCopyBuffer(commands, vk.buffer, host.buffer, 1, &copy);
        const VkMemoryBarrier2 between = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
            .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
            .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
            .dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
            .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_HOST_READ_BIT};
        const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                       .memoryBarrierCount = 1,
                                       .pMemoryBarriers = &between};
        vkCmdPipelineBarrier2(commands, &info);
        vkCmdFillBuffer(commands, vk.buffer, 0, BYTES, round * 3);
        if (!defaults) t.access = VK_ACCESS_2_TRANSFER_WRITE_BIT;
        record(commands, &t, false, old_form);
        raw_vk_submit(&w.vk, commands,
                      &(raw_vk_job){.queue = queue,
                                    .wait = to_vulkan,
                                    .wait_value = round,
                                    .signal = to_cuda,
                                    .signal_value = round});
        REQUIRE_WORDS((const uint32_t *)host.mapped, WORDS, round);
        LIB_OK(culv_semaphore_wait(to_cuda_cu, stream, round));
        lib_finish(&w, stream);
        cuda_read(&w, culv_buffer_pointer(buffer), back, BYTES);
        for (uint32_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(back[i], round * 3);
    }
    culv_buffer_unmap(&buffer, &stream);
    culv_semaphore_destroy(&to_vulkan_cu, &stream);
    culv_semaphore_destroy(&to_cuda_cu, NULL);
    culv_memory_destroy(&memory);
    lib_settle(&w);
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, to_vulkan);
    raw_vk_timeline_destroy(&w.vk, to_cuda);
    raw_vk_buffer_destroy(&w.vk, &host);
    raw_vk_buffer_destroy(&w.vk, &vk);
    lib_close(&w);
}

/* On a release's old form the stages are Vulkan 1.0's; VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT is its
 * TRANSFER bit. */
TEST_AS(barriers_named, barriers(false, false), .title = "barriers.named_stages")
TEST_AS(barriers_defaults, barriers(false, true), .title = "barriers.defaults")
TEST_AS(barriers_old_named, barriers(true, false), .title = "barriers.old_form_named_stages")
TEST_AS(barriers_old_defaults, barriers(true, true), .title = "barriers.old_form_defaults")

/* What the silence above is worth: synchronization validation is on and hears a hazard. */
LIB_CASE(validation_listens, .title = "barriers.validation_listens")
{
    raw_vk_buffer a, b;
    if (!w->vk.validation) SKIP("no validation layer");
    raw_vk_buffer_create(&w->vk, BYTES, 0, &a);
    raw_vk_buffer_create(&w->vk, BYTES, 0, &b);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    const VkBufferCopy copy = {.size = BYTES};
    vkCmdCopyBuffer(commands, a.buffer, b.buffer, 1, &copy);
    vkCmdFillBuffer(commands, a.buffer, 0, BYTES, 1); /* no barrier between */
    raw_vk_submit(&w->vk, commands, NULL);
    REQUIRE(w->vk.validation_messages > 0);
    w->vk.validation_messages = 0;
    raw_vk_buffer_destroy(&w->vk, &a);
    raw_vk_buffer_destroy(&w->vk, &b);
}
