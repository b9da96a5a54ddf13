/* SPDX-License-Identifier: MIT */
/* The allocator for PyTorch, as PyTorch calls it, and its memory in Vulkan. */
#define TEST_GROUP "torch."
#include "vulkan_vmm_stage.h"

#include <culvert/torch.h>
#include <culvert/vulkan_adopt.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

TEST(allocates, .own = true, .smoke = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    uint32_t words[1024];
    void *a = culv_torch_malloc(20 << 20, 0, s.stream), *b = culv_torch_malloc(4000, 0, s.stream);
    REQUIRE(a != NULL && b != NULL && a != b);
    REQUIRE((uintptr_t)a % 512 == 0 && (uintptr_t)b % 512 == 0);
    culv_part part;
    size_t count = 0;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    NEW(culv_vmm_adopted, adopted, culv_vmm_adopt, s.w.device, (CUdeviceptr)(uintptr_t)a + 512,
        4096);
    NEW(culv_vk_adopted, view, culv_vk_adopted_create, s.w.attachment, adopted, &d);
    LIB_OK(culv_vk_adopted_get_parts(view, &part, 1, &count));
    REQUIRE(count == 1 && part.inner_offset == 512 && part.size == 4096);
    vmm_stage_fill(words, sizeof words, 0, 4);
    LIB_CU_OK(&s.w, raw_cuda_upload(s.w.cu, (CUdeviceptr)(uintptr_t)a + 512, words, sizeof words));
    memset(words, 0, sizeof words);
    const raw_vk_buffer raw = {.buffer = (VkBuffer)part.buffer,
                               .size = part.inner_offset + part.size};
    raw_vk_read(&s.w.vk, &raw, part.inner_offset, words, sizeof words);
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    culv_torch_free(a, 20 << 20, 0, s.stream);
    culv_torch_free(b, 4000, 0, NULL);
    raw_vk_read(&s.w.vk, &raw, part.inner_offset, words, sizeof words); /* what is imported stays */
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    LIB_INVALID(culv_vmm_check_adopted(adopted), NOT_MAPPED);
    culv_vk_adopted_destroy(&view);
    culv_vmm_adopted_destroy(&adopted);
    _exit(0); /* the allocator keeps its device open */
}

TEST(refuses, .own = true)
{
    (void)lib_driver();
    lib_forget_error();
    REQUIRE(culv_torch_malloc(0, 0, NULL) == NULL);
    REQUIRE(culv_torch_malloc(4096, -1, NULL) == NULL);
    LIB_SAYS("no device -1");
    REQUIRE(culv_torch_malloc(4096, 63, NULL) == NULL);
    LIB_SAYS("63");
    culv_torch_free(NULL, 0, 0, NULL);
    void *a = culv_torch_malloc(4096, 0, NULL);
    REQUIRE(a != NULL);
    lib_forget_error();
    culv_torch_free((char *)a + 512, 4096, 0, NULL);
    LIB_SAYS("not memory of culv_torch_malloc()");
    culv_torch_free(a, 4096, 0, NULL);
    lib_forget_error();
    culv_torch_free(a, 4096, 0, NULL);
    LIB_SAYS("not memory of culv_torch_malloc()");
    REQUIRE(culv_torch_malloc(PTRDIFF_MAX, 0, NULL) == NULL);
    _exit(0);
}

static atomic_int open_gate;
static void CUDA_CB wait_for_gate(void *user)
{
    (void)user;
    while (!atomic_load(&open_gate))
        lib_sleep_ms(1);
}

static void *open_later(void *user)
{
    (void)user;
    lib_sleep_ms(20);
    atomic_store(&open_gate, 1);
    return NULL;
}

/* The stream still uses the memory when it is given back: its work must end first. Without the
 * wait it faults. */
TEST(waits_for_the_stream, .own = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    pthread_t thread;
    void *a = culv_torch_malloc(4096, 0, s.stream);
    REQUIRE(a != NULL);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)a;
    CUcontext before = lib_enter(&s.w);
    CU_OK(s.w.cu->LaunchHostFunc(s.stream, wait_for_gate, NULL));
    CU_OK(s.w.cu->MemsetD32Async(at, 7, 1024, s.stream));
    REQUIRE(pthread_create(&thread, NULL, open_later, NULL) == 0);
    culv_torch_free(a, 4096, 0, s.stream);
    REQUIRE_EQ(s.w.cu->StreamQuery(s.stream), CUDA_SUCCESS);
    REQUIRE(pthread_join(thread, NULL) == 0);
    lib_leave(&s.w, before);
    _exit(0);
}

/* Captures ------------------------------------------------------------------------------------- */

static uint64_t reserved(const vmm_stage *s)
{
    culv_soft_counts driver = {.struct_size = sizeof driver};
    if (s->w.cu->SoftCounts != NULL) s->w.cu->SoftCounts(&driver);
    return driver.reservations;
}

/* Later calls free what earlier ones have left, once that may go. */
static void require_freed(const vmm_stage *s, uint64_t expected)
{
    for (unsigned i = 0; i < TEST_FAR_MS && reserved(s) != expected; i++) {
        void *other = culv_torch_malloc(1, 0, NULL);
        REQUIRE(other != NULL);
        culv_torch_free(other, 1, 0, s->stream);
        if (reserved(s) != expected) lib_sleep_ms(1);
    }
    REQUIRE_EQ(reserved(s), expected);
}

/* A block that is given back in a capture belongs to the graph: the capture is whole, and what was
 * captured of the block works each time that the graph runs. */
TEST(captured, .own = true)
{
    enum { WORDS = 1021 };
    static const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                                CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                CU_STREAM_CAPTURE_MODE_RELAXED};
    vmm_stage s;
    uint32_t words[WORDS];
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    CUcontext before = lib_enter(&s.w);
    CUdeviceptr out = 0;
    CU_OK(cu->MemAlloc(&out, sizeof words));
    const uint64_t had = reserved(&s);
    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        CUDA_GRAPH_INSTANTIATE_PARAMS how;
        memset(&how, 0, sizeof how);
        void *block = culv_torch_malloc(sizeof words, 0, s.stream);
        REQUIRE(block != NULL);
        CU_OK(cu->StreamBeginCapture(s.stream, modes[i]));
        CU_OK(cu->MemsetD32Async((CUdeviceptr)(uintptr_t)block, 1000 + i, WORDS, s.stream));
        CU_OK(cu->MemcpyDtoDAsync(out, (CUdeviceptr)(uintptr_t)block, sizeof words, s.stream));
        culv_torch_free(block, sizeof words, 0, s.stream);
        CU_OK(cu->StreamEndCapture(s.stream, &graph));
        require_freed(&s, had + (cu->software ? 1 : 0));
        CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
        CU_OK(cu->GraphDestroy(graph));
        for (int turn = 0; turn < 2; turn++) {
            CU_OK(cu->MemsetD32Async(out, 0, WORDS, s.stream));
            CU_OK(cu->GraphLaunch(exec, s.stream));
            vmm_stage_cuda_read(&s, out, sizeof words, words);
            for (uint32_t k = 0; k < WORDS; k++)
                REQUIRE_EQ(words[k], 1000 + i);
        }
        require_freed(&s, had + (cu->software ? 1 : 0));
        CU_OK(cu->GraphExecDestroy(exec));
        require_freed(&s, had);
    }
    CU_OK(cu->MemFree(out));
    lib_leave(&s.w, before);
    _exit(0);
}

/* The legacy stream waits for a blocking stream that is being captured, and may not be waited for.
 * A capture that is broken becomes no graph. */
TEST(beside_a_capture, .own = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    const raw_cuda *cu = s.w.cu;
    CUcontext before = lib_enter(&s.w);
    CUstream blocking = NULL;
    CUgraph graph = NULL;
    CU_OK(cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    void *a = culv_torch_malloc(4096, 0, NULL), *b = culv_torch_malloc(4096, 0, NULL);
    REQUIRE(a != NULL && b != NULL);
    const uint64_t had = reserved(&s);
    pthread_t thread; /* the legacy one is at work on it */
    CU_OK(cu->LaunchHostFunc(NULL, wait_for_gate, NULL));
    CU_OK(cu->MemsetD32Async((CUdeviceptr)(uintptr_t)a, 7, 1024, NULL));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE(pthread_create(&thread, NULL, open_later, NULL) == 0);
    culv_torch_free(a, 4096, 0, NULL);
    REQUIRE(pthread_join(thread, NULL) == 0);
    CU_OK(cu->StreamEndCapture(blocking, &graph));
    CU_OK(cu->GraphDestroy(graph));
    require_freed(&s, had - (cu->software ? 1 : 0));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_IS(cu->StreamSynchronize(blocking), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    culv_torch_free(b, 4096, 0, blocking);
    CU_IS(cu->StreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    require_freed(&s, had - (cu->software ? 2 : 0));
    CU_OK(cu->StreamDestroy(blocking));
    lib_leave(&s.w, before);
    _exit(0);
}

/* Threads -------------------------------------------------------------------------------------- */

static void *churn(void *user)
{
    void *mine[8] = {NULL};
    for (size_t i = 0; i < 200; i++) {
        void **slot = &mine[i % 8];
        culv_torch_free(*slot, 0, 0, NULL);
        *slot = culv_torch_malloc((ptrdiff_t)(1 + i * 4096), 0, NULL);
        if (*slot == NULL) return user;
    }
    for (size_t i = 0; i < 8; i++)
        culv_torch_free(mine[i], 0, 0, NULL);
    return NULL;
}

/* Four threads, the first calls of all at once: nothing is left. */
TEST(threads, .own = true)
{
    const raw_cuda *cu = lib_driver();
    pthread_t thread[4];
    int mark = 0;
    for (size_t i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread[i], NULL, churn, &mark) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed = NULL;
        REQUIRE(pthread_join(thread[i], &failed) == 0);
        REQUIRE(failed == NULL);
    }
    if (cu->SoftCounts != NULL) {
        culv_soft_counts driver = {.struct_size = sizeof driver};
        cu->SoftCounts(&driver);
        REQUIRE(driver.reservations == 0 && driver.virtual_mappings == 0);
        REQUIRE_EQ(driver.contexts, 1);
    }
    _exit(0);
}
