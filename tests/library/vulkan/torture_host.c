/* SPDX-License-Identifier: MIT */
/* Torture of buffers in host memory: Culvert's pages and the caller's, which no failure may leave
 * pinned. */
#include "torture.h"

enum { BYTES = 65536 };

static void *pages; /* the caller's */

static void begin(void)
{
    pages = aligned_alloc(BYTES, BYTES);
    REQUIRE(pages != NULL);
}

static void end(void)
{
    free(pages);
}

static void run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_shared_buffer *one = POISON(culv_shared_buffer), *two = POISON(culv_shared_buffer);
    const VkBufferCreateInfo info = raw_vk_buffer_info(
        BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "tortured";
    d.host_memory = VK_TRUE;
    CUstream stream = torture_open();
    memset(pages, 0x2b, BYTES);
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &one), one == POISON(culv_shared_buffer));
    d.host_pointer = pages;
    TRY_AGAIN(culv_vk_buffer_create(w->attachment, &d, &two), two == POISON(culv_shared_buffer));
    REQUIRE(culv_vk_buffer_host_pointer(two) == pages);
    LIB_CU_OK(
        w, cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(one)), 7, 100, stream));
    LIB_CU_OK(
        w, cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(two)), 8, 100, stream));
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_record_copy(w->attachment, commands, culv_vk_buffer_address(one),
                                  culv_vk_buffer_address(two), 400),
              true);
    VK_OK(vkEndCommandBuffer(commands)); /* not submitted: CUDA has the buffers */
    culv_device_counts c = culv_device_counts_init();
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    REQUIRE_EQ(c.buffers, 2);
    REQUIRE_EQ(c.created, 2);
    REQUIRE_EQ(c.mappings, 2);
    REQUIRE_EQ(c.memories, 0);
    DO(culv_shared_buffer_destroy(&one, &stream));
    lib_finish(w, stream);
    DO(culv_shared_buffer_destroy(&two, NULL));
    REQUIRE(one == NULL && two == NULL);
    REQUIRE_EQ(((const uint32_t *)pages)[99], 8);
    REQUIRE_EQ(((const uint32_t *)pages)[100], 0x2b2b2b2b);
    TRY_AGAIN(culv_device_get_counts(w->device, &c), true);
    lib_settle(w);
    c = lib_counts(w);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.mappings, 0);
    /* What Culvert takes for a sticky error takes the registration with the context. */
    bool taken_for_lost =
        torture.victim == TORTURE_CUDA_CALL && torture.code == CUDA_ERROR_ILLEGAL_ADDRESS;
    CUcontext before = lib_enter(w);
    CUresult r = cu->MemHostRegister(pages, BYTES, 0);
    if (r == CUDA_SUCCESS || !taken_for_lost) CU_IS(r, CUDA_SUCCESS);
    CU_OK(cu->MemHostUnregister(pages));
    lib_leave(w, before);
    torture_close(stream);
}

static const torture_path path = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = begin,
                                  .run = run,
                                  .end = end,
                                  .least = {8, 8, 6}};
TORTURE_CASES("host", path)
