/* SPDX-License-Identifier: MIT */
/* The allocator for PyTorch, as PyTorch calls it, and its memory in Vulkan. */
#include "vulkan_vmm_stage.h"

#include <culvert/torch.h>
#include <culvert/vulkan_adopt.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static void allocates(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    uint32_t words[1024];
    void *a = culvert_malloc(20 << 20, 0, s.stream), *b = culvert_malloc(4000, 0, s.stream);
    REQUIRE(a != NULL && b != NULL && a != b);
    REQUIRE((uintptr_t)a % 512 == 0 && (uintptr_t)b % 512 == 0);
    culv_vmm_adopted *adopted = NULL;
    culv_vk_adopted *view = NULL;
    culv_vk_adopted_buffer part;
    size_t count = 0;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    LIB_OK(culv_vmm_adopt(s.w.device, (CUdeviceptr)(uintptr_t)a + 512, 4096, &adopted));
    LIB_OK(culv_vk_adopted_create(s.w.attachment, adopted, &d, &view));
    LIB_OK(culv_vk_adopted_get_buffers(view, &part, 1, &count));
    REQUIRE(count == 1 && part.offset == 512 && part.size == 4096);
    vmm_stage_fill(words, sizeof words, 0, 4);
    CUcontext before = lib_enter(&s.w);
    CU_OK(raw_cuda_upload(s.w.cu, (CUdeviceptr)(uintptr_t)a + 512, words, sizeof words));
    lib_leave(&s.w, before);
    memset(words, 0, sizeof words);
    const raw_vk_buffer raw = {.buffer = part.buffer, .size = part.offset + part.size};
    raw_vk_read(&s.w.vk, &raw, part.offset, words, sizeof words);
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    culvert_free(a, 20 << 20, 0, s.stream);
    culvert_free(b, 4000, 0, NULL);
    raw_vk_read(&s.w.vk, &raw, part.offset, words, sizeof words); /* what is imported stays */
    REQUIRE_EQ(vmm_stage_wrong(words, sizeof words, 0, 4), 0);
    LIB_ERROR(culv_vmm_adopted_check(adopted), CULV_ERROR_INVALID, CULV_REASON_NOT_MAPPED);
    culv_vk_adopted_destroy(&view);
    culv_vmm_adopted_destroy(&adopted);
    _exit(0); /* the allocator keeps its device open */
}

static void refuses(void)
{
    (void)lib_driver();
    lib_forget_error();
    REQUIRE(culvert_malloc(0, 0, NULL) == NULL);
    REQUIRE(culvert_malloc(4096, -1, NULL) == NULL);
    LIB_SAYS("no device -1");
    REQUIRE(culvert_malloc(4096, 63, NULL) == NULL);
    LIB_SAYS("63");
    culvert_free(NULL, 0, 0, NULL);
    void *a = culvert_malloc(4096, 0, NULL);
    REQUIRE(a != NULL);
    lib_forget_error();
    culvert_free((char *)a + 512, 4096, 0, NULL);
    LIB_SAYS("not memory of culvert_malloc()");
    culvert_free(a, 4096, 0, NULL);
    lib_forget_error();
    culvert_free(a, 4096, 0, NULL);
    LIB_SAYS("not memory of culvert_malloc()");
    REQUIRE(culvert_malloc(PTRDIFF_MAX, 0, NULL) == NULL);
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
static void waits_for_the_stream(void)
{
    vmm_stage s;
    vmm_stage_open(&s);
    pthread_t thread;
    void *a = culvert_malloc(4096, 0, s.stream);
    REQUIRE(a != NULL);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)a;
    CUcontext before = lib_enter(&s.w);
    CU_OK(s.w.cu->LaunchHostFunc(s.stream, wait_for_gate, NULL));
    CU_OK(s.w.cu->MemsetD32Async(at, 7, 1024, s.stream));
    REQUIRE(pthread_create(&thread, NULL, open_later, NULL) == 0);
    culvert_free(a, 4096, 0, s.stream);
    REQUIRE_EQ(s.w.cu->StreamQuery(s.stream), CUDA_SUCCESS);
    REQUIRE(pthread_join(thread, NULL) == 0);
    lib_leave(&s.w, before);
    _exit(0);
}

static void *churn(void *user)
{
    void *mine[8] = {NULL};
    for (size_t i = 0; i < 200; i++) {
        void **slot = &mine[i % 8];
        culvert_free(*slot, 0, 0, NULL);
        *slot = culvert_malloc((ptrdiff_t)(1 + i * 4096), 0, NULL);
        if (*slot == NULL) return user;
    }
    for (size_t i = 0; i < 8; i++)
        culvert_free(mine[i], 0, 0, NULL);
    return NULL;
}

/* Four threads, the first calls of all at once: nothing is left. */
static void threads(void)
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

static const test_case cases[] = {
    {.name = "torch.allocates", .run = allocates, .own = true, .smoke = true},
    {.name = "torch.refuses", .run = refuses, .own = true},
    {.name = "torch.waits_for_the_stream", .run = waits_for_the_stream, .own = true},
    {.name = "torch.threads", .run = threads, .own = true},
    {.name = NULL},
};
TEST_SUITE(cases);
