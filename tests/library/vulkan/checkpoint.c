/* SPDX-License-Identifier: MIT */
/* Checkpoints: a device is suspended before and resumed after, and every word is right on both
 * sides. What is lost without that: checkpoints.* of the contract suite. */
#define TEST_GROUP "checkpoint."
#include "raw_checkpoint.h"
#include "vulkan_ring_stage.h"

#include <stdatomic.h>

enum { BIG = 4 << 20, BIG_WORDS = BIG / 4 };

TEST(agent)
{
    raw_checkpoint_agent();
}

static void count_move(void *context, const culv_moved_buffer *buffer)
{
    REQUIRE(buffer->before != buffer->now && buffer->size > 0);
    ++*(unsigned *)context;
}

static unsigned checkpoint(const lib_world *w)
{
    unsigned moved = 0;
    culv_suspend_desc sd = culv_suspend_desc_init();
    culv_resume_desc rd = culv_resume_desc_init();
    sd.imports_live = 1;
    rd.moved = count_move;
    rd.context = &moved;
    LIB_OK(culv_device_suspend(w->device, &sd));
    lib_require_driver_counts(w, 0, 0, 0);
    const raw_checkpoint c = raw_checkpoint_run(w->cu, "checkpoint.agent");
    REQUIRE_EQ(c.lock | c.checkpoint | c.restore | c.unlock, CUDA_SUCCESS);
    REQUIRE_EQ(c.last, CU_PROCESS_STATE_RUNNING);
    LIB_OK(culv_device_resume(w->device, &rd));
    return moved;
}

static void write_by_cuda(const ring_stage *s, CUdeviceptr at, uint32_t seed)
{
    uint32_t count = BIG_WORDS;
    void *args[] = {&at, &count, &seed};
    LIB_CU_OK(&s->w, s->w.cu->LaunchKernel(s->write, BIG_WORDS / 256, 1, 1, 256, 1, 1, 0, s->stream,
                                           args, NULL));
    lib_finish(&s->w, s->stream);
}

/* Each round leaves a frame on its way, which the other side takes after the restore. Beside the
 * ring lie a buffer of Culvert's, and an import of the test's own with two ranges. */
static void ten_times(culv_ring_side side)
{
    static uint32_t words[BIG_WORDS];
    const VkBufferCreateInfo info = raw_vk_buffer_info(BIG, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    ring_stage s;
    raw_vk_buffer own;
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_buffer_desc hd = culv_buffer_desc_init();
    ring_options o = ring_options_init(side, 3);
    o.image = true;
    bd.create_info = &info;
    hd.offset = BIG / 2;
    ring_world_open(&s);
    ring_open(&s, &o);
    NEW(culv_shared_buffer, big, culv_vk_buffer_create, s.w.attachment, &bd);
    raw_vk_buffer_create(&s.w.vk, BIG, RAW_VK_EXPORT, &own);
    culv_memory *memory = lib_import(&s.w, &own);
    NEW(culv_buffer, whole, culv_buffer_map, memory, NULL);
    NEW(culv_buffer, half, culv_buffer_map, memory, &hd);
    for (uint32_t round = 0; round < 10; round++) {
        const CUdeviceptr big_at = culv_shared_buffer_pointer(big), at = culv_buffer_pointer(whole);
        ring_run(&s, 5);
        CUcontext before = lib_enter(&s.w);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_cuda_turn(&s, 0) : ring_vulkan_turn(&s, 0));
        write_by_cuda(&s, big_at, 2 * round);
        write_by_cuda(&s, at, 2 * round + 1);
        raw_vk_idle(&s.w.vk);
        const unsigned moved = checkpoint(&s.w);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_vulkan_turn(&s, 0) : ring_cuda_turn(&s, 0));
        CU_OK(s.w.cu->MemcpyDtoH(words, culv_shared_buffer_pointer(big), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round);
        CU_OK(s.w.cu->MemcpyDtoH(words, culv_buffer_pointer(whole), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round + 1);
        lib_leave(&s.w, before);
        REQUIRE_EQ(culv_buffer_pointer(half), culv_buffer_pointer(whole) + BIG / 2);
        const bool kept =
            culv_shared_buffer_pointer(big) == big_at && culv_buffer_pointer(whole) == at;
        REQUIRE(kept || (moved > 0 && !s.w.cu->software));
        MEASURED("checkpoint.moved", "%u, of the large ones %s", moved, kept ? "none" : "some");
        /* It is shared still: what CUDA writes now, Vulkan reads. */
        write_by_cuda(&s, culv_buffer_pointer(whole), 1000 + round);
        raw_vk_read(&s.w.vk, &own, 0, words, BIG);
        REQUIRE_WORDS(words, BIG_WORDS, 1000 + round);
    }
    ring_close(&s);
    REQUIRE_EQ((side == CULV_RING_CONSUMER ? s.vulkan : s.cuda).verified, 60);
    culv_buffer_unmap(&half, NULL);
    culv_buffer_unmap(&whole, NULL);
    culv_memory_destroy(&memory);
    LIB_OK(culv_shared_buffer_destroy(&big, NULL));
    raw_vk_buffer_destroy(&s.w.vk, &own);
    ring_world_close(&s);
}

TEST_AS(ring_ten_times, ten_times(CULV_RING_CONSUMER), .own = true, .smoke = true)
TEST_AS(ring_of_vulkan_ten_times, ten_times(CULV_RING_PRODUCER), .own = true)

/* Each is refused by name before anything is given up, and nothing is in the way afterwards. */
static void refuses(const lib_world *w, culv_reason reason, const char *says)
{
    const culv_device_counts before = lib_counts(w);
    LIB_FAILS(culv_device_suspend(w->device, NULL), CULV_ERROR_INVALID, reason, says);
    const culv_device_counts now = lib_counts(w);
    REQUIRE(memcmp(&before, &now, sizeof now) == 0);
}

static atomic_int open_gate;
static void CUDA_CB wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&open_gate))
        lib_sleep_ms(1);
}

LIB_CASE(refused)
{
    culv_suspend_desc live = culv_suspend_desc_init();
    live.imports_live = 1;
    raw_vk_buffer own = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    LIB_INVALID(culv_device_resume(w->device, NULL), NOT_READY);

    /* By a handle, which is gone; then the caller's own object, of which he says nothing. */
    culv_memory *memory = NULL;
    culv_memory_desc md = lib_memory_desc(w, &own, raw_vk_buffer_fd(&w->vk, &own));
    md.label = "by fd";
    LIB_TAKE(culv_memory_import(w->device, &md, &memory), &md.handle);
    refuses(w, CULV_REASON_NOT_EXPORTABLE, "by fd");
    culv_memory_destroy(&memory);
    memory = lib_import(w, &own);
    refuses(w, CULV_REASON_OPT_IN, "imports_live");
    LIB_OK(culv_device_suspend(w->device, &live));
    LIB_INVALID(culv_device_suspend(w->device, &live), NOT_READY);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));

    CUstream stream = lib_case_stream(w);
    NEW(culv_shared_semaphore, timeline, culv_vk_semaphore_create, w->attachment, NULL);
    culv_semaphore *semaphore = culv_shared_semaphore_cuda(timeline);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 7));
    refuses(w, CULV_REASON_NOT_READY, "waits for value 7");
    raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(timeline), 7);
    lib_finish(w, stream);

    const VkBufferCreateInfo info = raw_vk_buffer_info(65536, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *other;
    bd.create_info = &info;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, w->attachment, &bd);
    LIB_OK(culv_device_suspend(w->device, NULL));
    LIB_INVALID(culv_semaphore_signal(semaphore, stream, 8), NOT_READY, "culv_device_resume()");
    LIB_REFUSES(other, culv_vk_buffer_create(w->attachment, &bd, &other), INVALID, NOT_READY);
    LIB_OK(culv_device_resume(w->device, NULL));
    LIB_OK(culv_semaphore_signal(semaphore, stream, 8));

    /* A tensor that somebody holds, and CUDA's own memory once others may have it. */
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_buffer_get_dlpack,
        culv_shared_buffer_cuda(buffer), NULL);
    refuses(w, CULV_REASON_MAPPED, "tensor");
    tensor->deleter(tensor);
    culv_vmm_allocation *chunk = NULL;
    culv_vmm_allocation_desc cd = culv_vmm_allocation_desc_init();
    culv_handle handle;
    cd.size = 1;
    cd.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    cd.label = "chunk";
    if (lib_caps(w->device).vmm_posix_fd) {
        LIB_OK(culv_vmm_allocation_create(w->device, &cd, &chunk));
        LIB_OK(culv_vmm_export_dup(chunk, CULV_HANDLE_OPAQUE_FD, &handle));
        refuses(w, CULV_REASON_MAPPED, "chunk");
        culv_handle_close(&handle);
        LIB_OK(culv_vmm_allocation_destroy(&chunk));
    }

    CUgraph graph = NULL;
    CUstream blocking = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(w->cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    refuses(w, CULV_REASON_CAPTURE, "captured");
    CU_OK(w->cu->StreamEndCapture(blocking, &graph));
    CU_OK(w->cu->GraphDestroy(graph));
    CU_OK(w->cu->StreamDestroy(blocking));
    lib_leave(w, before);

    memory = lib_import(w, &own);
    LIB_OK(culv_device_suspend(w->device, &live));
    /* Behind work of the stream's: what is given up is not made again. */
    LIB_CU_OK(w, w->cu->LaunchHostFunc(stream, wait_for_gate, NULL));
    LIB_OK(culv_shared_buffer_destroy(&buffer, &stream));
    LIB_OK(culv_shared_semaphore_destroy(&timeline, &stream));
    culv_vk_detach(&w->attachment);
    LIB_INVALID(culv_device_resume(w->device, NULL), NOT_EXPORTABLE);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));
    atomic_store(&open_gate, 1);
    lib_finish(w, stream);
    lib_settle(w);
}
