/* SPDX-License-Identifier: MIT */
/* Checkpoints: a device is suspended before and resumed after, and every word is right on both
 * sides; without that the process is lost. */
#define TEST_GROUP "checkpoint."
#include "raw_checkpoint.h"
#include "vulkan_ring_stage.h"

#include <unistd.h>

enum { BIG = 4 << 20, BIG_WORDS = BIG / 4 };

typedef struct told {
    unsigned moved;
    CUdeviceptr now;
} told;

static void note_move(void *context, const culv_moved_buffer *buffer)
{
    told *s = context;
    REQUIRE(buffer->before != buffer->now && buffer->size > 0);
    s->moved++;
    s->now = buffer->now;
}

TEST(agent)
{
    raw_checkpoint_agent();
}

static void suspend_and_restore(const lib_world *w, bool imports_live, told *s)
{
    culv_suspend_desc sd = culv_suspend_desc_init();
    culv_resume_desc rd = culv_resume_desc_init();
    sd.imports_live = imports_live;
    rd.moved = note_move;
    rd.context = s;
    LIB_OK(culv_device_suspend(w->device, &sd));
    lib_require_driver_counts(w, 0, 0, 0);
    const raw_checkpoint c = raw_checkpoint_run(w->cu, "checkpoint.agent");
    CU_OK(c.lock);
    CU_OK(c.checkpoint);
    CU_OK(c.restore);
    CU_OK(c.unlock);
    REQUIRE_EQ(c.last, CU_PROCESS_STATE_RUNNING);
    *s = (told){0};
    LIB_OK(culv_device_resume(w->device, &rd));
}

static void write_by_cuda(const ring_stage *s, CUdeviceptr at, uint32_t seed)
{
    uint32_t count = BIG_WORDS;
    void *args[] = {&at, &count, &seed};
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->LaunchKernel(s->write, BIG_WORDS / 256, 1, 1, 256, 1, 1, 0, s->stream, args,
                                NULL));
    CU_OK(s->w.cu->StreamSynchronize(s->stream));
    lib_leave(&s->w, before);
}

/* One ring in each direction. Each round has a frame on its way, which the other side takes after
 * the restore. Beside it lie a buffer that Vulkan reads whole, and an import of the test's own with
 * two ranges. */
static void ten_times(culv_ring_side side)
{
    static uint32_t words[BIG_WORDS];
    ring_stage s;
    raw_vk_buffer own, reader;
    told seen = {0};
    ring_options o = ring_options_init(side, 3);
    o.image = true;
    ring_world_open(&s);
    raw_checkpoint_need(s.w.cu);
    ring_open(&s, &o);
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BIG,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *big = NULL;
    bd.create_info = &info;
    bd.label = "big";
    LIB_OK(culv_vk_buffer_create(s.w.attachment, &bd, &big));
    raw_vk_buffer_create(&s.w.vk, BIG, RAW_VK_EXPORT, &own);
    raw_vk_buffer_create(&s.w.vk, BIG, RAW_VK_HOST, &reader);
    culv_memory *memory = lib_import(&s.w, &own);
    culv_buffer *whole = NULL, *half = NULL;
    culv_buffer_desc hd = culv_buffer_desc_init();
    hd.offset = BIG / 2;
    LIB_OK(culv_buffer_map(memory, NULL, &whole));
    LIB_OK(culv_buffer_map(memory, &hd, &half));
    for (uint32_t round = 0; round < 10; round++) {
        const CUdeviceptr big_at = culv_shared_buffer_pointer(big),
                          whole_at = culv_buffer_pointer(whole);
        ring_run(&s, 5);
        CUcontext before = lib_enter(&s.w);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_cuda_turn(&s, 0) : ring_vulkan_turn(&s, 0));
        lib_leave(&s.w, before);
        write_by_cuda(&s, big_at, 2 * round);
        write_by_cuda(&s, whole_at, 2 * round + 1);
        raw_vk_idle(&s.w.vk);
        suspend_and_restore(&s.w, true, &seen);
        before = lib_enter(&s.w);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_vulkan_turn(&s, 0) : ring_cuda_turn(&s, 0));
        /* What CUDA wrote before, CUDA reads; who moved was told. */
        CU_OK(s.w.cu->MemcpyDtoH(words, culv_shared_buffer_pointer(big), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round);
        CU_OK(s.w.cu->MemcpyDtoH(words, culv_buffer_pointer(whole), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round + 1);
        lib_leave(&s.w, before);
        REQUIRE_EQ(culv_buffer_pointer(half), culv_buffer_pointer(whole) + BIG / 2);
        if (seen.moved == 0 || s.w.cu->software)
            REQUIRE(culv_shared_buffer_pointer(big) == big_at &&
                    culv_buffer_pointer(whole) == whole_at);
        MEASURED("checkpoint.moved", "%u", seen.moved);
        /* And it is shared still: what CUDA writes now, Vulkan reads. */
        write_by_cuda(&s, culv_buffer_pointer(whole), 1000 + round);
        raw_vk_read(&s.w.vk, &own, 0, words, BIG);
        REQUIRE_WORDS(words, BIG_WORDS, 1000 + round);
    }
    ring_close(&s);
    const ring_half *consumer = side == CULV_RING_CONSUMER ? &s.vulkan : &s.cuda;
    REQUIRE_EQ(consumer->verified, 60);
    culv_buffer_unmap(&half);
    culv_buffer_unmap(&whole);
    culv_memory_destroy(&memory);
    LIB_OK(culv_shared_buffer_destroy(&big));
    raw_vk_buffer_destroy(&s.w.vk, &own);
    raw_vk_buffer_destroy(&s.w.vk, &reader);
    ring_world_close(&s);
}

TEST(ring_ten_times, .own = true, .smoke = true)
{
    ten_times(CULV_RING_CONSUMER);
}

TEST(ring_of_vulkan_ten_times, .own = true)
{
    ten_times(CULV_RING_PRODUCER);
}

/* Each is refused by name before anything is given up, and nothing is in the way afterwards. */
static void require_refused(const lib_world *w, const culv_suspend_desc *d, culv_reason reason,
                            const char *says)
{
    const culv_device_counts before = lib_counts(w);
    LIB_INVALID(culv_device_suspend(w->device, d), reason);
    LIB_SAYS(says);
    const culv_device_counts now = lib_counts(w);
    REQUIRE(memcmp(&before, &now, sizeof now) == 0);
}

LIB_CASE(refused)
{
    raw_vk_buffer own;
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &own);
    CUstream stream = lib_stream(w);
    LIB_INVALID(culv_device_resume(w->device, NULL), CULV_REASON_NOT_READY);

    /* By a handle, which is gone. */
    culv_memory *memory = NULL;
    const int fd = raw_vk_buffer_fd(&w->vk, &own);
    culv_memory_desc md = lib_memory_desc(w, &own, fd);
    md.label = "by fd";
    LIB_OK(culv_memory_import_take(w->device, &md, &memory));
    require_refused(w, NULL, CULV_REASON_NOT_EXPORTABLE, "by fd");
    culv_memory_destroy(&memory);

    /* The caller's own, of which he says nothing. */
    memory = lib_import(w, &own);
    require_refused(w, NULL, CULV_REASON_OPT_IN, "imports_live");
    culv_suspend_desc live = culv_suspend_desc_init();
    live.imports_live = 1;
    LIB_OK(culv_device_suspend(w->device, &live));
    LIB_INVALID(culv_device_suspend(w->device, &live), CULV_REASON_NOT_READY);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));

    /* What CUDA waits for has not come. */
    culv_shared_semaphore *timeline = NULL;
    culv_vk_semaphore_create_desc td = culv_vk_semaphore_create_desc_init();
    td.label = "late";
    LIB_OK(culv_vk_semaphore_create(w->attachment, &td, &timeline));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(timeline), stream, 7));
    require_refused(w, NULL, CULV_REASON_NOT_READY, "waits for value 7");
    raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(timeline), 7);
    lib_finish(w, stream);

    /* Calls while it is suspended. */
    const VkBufferCreateInfo info = raw_vk_buffer_info(65536, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL, *other;
    culv_buffer *range;
    bd.create_info = &info;
    LIB_OK(culv_vk_buffer_create(w->attachment, &bd, &buffer));
    LIB_OK(culv_device_suspend(w->device, NULL));
    LIB_INVALID(culv_semaphore_signal(culv_shared_semaphore_cuda(timeline), stream, 8),
                CULV_REASON_NOT_READY);
    LIB_SAYS("culv_device_resume()");
    LIB_REFUSES(culv_shared_buffer, other, culv_vk_buffer_create(w->attachment, &bd, &other),
                CULV_ERROR_INVALID, CULV_REASON_NOT_READY);
    LIB_OK(culv_device_resume(w->device, NULL));
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(timeline), stream, 8));
    lib_finish(w, stream);

    /* A tensor that somebody holds. */
    culv_dl_managed_tensor_versioned *tensor = NULL;
    LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(buffer), NULL, &tensor));
    require_refused(w, NULL, CULV_REASON_MAPPED, "tensor");
    tensor->deleter(tensor);

    /* CUDA's own memory, which others may have by now. */
    culv_vmm_allocation *chunk = NULL;
    culv_vmm_allocation_desc cd = culv_vmm_allocation_desc_init();
    culv_handle handle;
    cd.size = 1;
    cd.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    cd.label = "chunk";
    if (lib_caps(w->device).vmm_posix_fd) {
        LIB_OK(culv_vmm_allocation_create(w->device, &cd, &chunk));
        LIB_OK(culv_device_suspend(w->device, NULL)); /* not exported yet */
        LIB_OK(culv_device_resume(w->device, NULL));
        LIB_OK(culv_vmm_export_dup(chunk, CULV_HANDLE_OPAQUE_FD, &handle));
        require_refused(w, NULL, CULV_REASON_MAPPED, "chunk");
        culv_handle_close(&handle);
        LIB_OK(culv_vmm_allocation_destroy(&chunk));
    }

    /* A capture. */
    CUgraph graph = NULL;
    CUstream blocking = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(w->cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_device_suspend(w->device, NULL), CULV_REASON_CAPTURE);
    CU_OK(w->cu->StreamEndCapture(blocking, &graph));
    if (graph != NULL) CU_OK(w->cu->GraphDestroy(graph));
    CU_OK(w->cu->StreamDestroy(blocking));
    lib_leave(w, before);

    /* An attachment that went meanwhile. */
    memory = lib_import(w, &own);
    LIB_OK(culv_buffer_map(memory, NULL, &range));
    LIB_OK(culv_device_suspend(w->device, &live));
    LIB_OK(culv_shared_buffer_destroy(&buffer));
    LIB_OK(culv_shared_semaphore_destroy(&timeline));
    culv_vk_detach(&w->attachment);
    LIB_INVALID(culv_device_resume(w->device, NULL), CULV_REASON_NOT_EXPORTABLE);
    culv_buffer_unmap(&range);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));
    lib_stream_destroy(w, stream);
    raw_vk_buffer_destroy(&w->vk, &own);
}

/* The loss that the two calls keep away. Nothing of CUDA's can be closed afterwards. */
TEST(lost_without, .own = true)
{
    ring_stage s;
    CUdeviceptr more = 0;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    ring_world_open(&s);
    raw_checkpoint_need(s.w.cu);
    if (!s.w.cu->software)
        SKIP("the GPU's process would hang at its end; checkpoints.imports of the contract suite");
    ring_open(&s, &o);
    ring_run(&s, 4);
    const raw_checkpoint c = raw_checkpoint_run(s.w.cu, "checkpoint.agent");
    CU_OK(c.lock);
    CU_OK(c.checkpoint);
    CU_IS(c.restore, CUDA_ERROR_NOT_SUPPORTED);
    CU_IS(c.unlock, CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE_EQ(c.last, CU_PROCESS_STATE_FAILED);
    CU_IS(s.w.cu->MemAlloc(&more, 4096), CUDA_ERROR_ILLEGAL_STATE);
    LIB_ERROR(culv_device_suspend(s.w.device, NULL), CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED);
    fflush(NULL);
    _exit(0);
}
