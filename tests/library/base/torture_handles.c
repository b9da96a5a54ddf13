/* SPDX-License-Identifier: MIT */
/* Torture of handles: exports from Vulkan, memory made of one of them, and what is refused only
 * after the driver or the system was asked. */
#include "torture.h"

#include <unistd.h>

enum { BYTES = 65536 };

static raw_vk_buffer shared;
static VkSemaphore timeline;
static VkBuffer unbound;
static CUdeviceptr pointer; /* in the context that the driver holds for the path */

static void begin(void)
{
    lib_world *w = &torture.w;
    raw_vk_buffer_create(&w->vk, BYTES, RAW_VK_EXPORT, &shared);
    timeline = raw_vk_timeline(&w->vk, 0, true);
    close(raw_vk_timeline_fd(&w->vk, timeline));
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VK_OK(vkCreateBuffer(w->vk.device, &info, NULL, &unbound));
}

static void end(void)
{
    vkDestroyBuffer(torture.w.vk.device, unbound, NULL);
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &shared);
}

static culv_handle poison(void)
{
    culv_handle h;
    memset(&h, 0x5a, sizeof h);
    return h;
}

static bool poisoned(const culv_handle *h)
{
    const culv_handle expected = poison();
    return memcmp(h, &expected, sizeof expected) == 0;
}

/* A call that the machine refuses, when nothing fails before; what an injected failure answers
 * instead must fit it. */
#define TRY_REFUSED(made, refusal)                                                                 \
    do {                                                                                           \
        lib_forget_error();                                                                        \
        torture_arm();                                                                             \
        culv_result r_ = (made);                                                                   \
        bool hit_ = torture_disarm();                                                              \
        if (r_ != (refusal) && hit_)                                                               \
            torture_failed(#made, r_, true, false);                                                \
        else                                                                                       \
            REQUIRE_EQ(r_, refusal);                                                               \
    } while (0)

static void run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_handle memory_fd = poison(), semaphore_fd = poison(), copy = poison(), none = poison();
    VkDeviceMemory second = VK_NULL_HANDLE;
    culv_memory *never = POISON(culv_memory);
    CUstream stream = torture_open();
    LIB_CU_OK(w, cu->MemAlloc(&pointer, BYTES));

    TRY_AGAIN(
        culv_vk_memory_export_dup(w->attachment, shared.memory, CULV_HANDLE_OPAQUE_FD, &memory_fd),
        poisoned(&memory_fd));
    TRY_AGAIN(
        culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &semaphore_fd),
        poisoned(&semaphore_fd));
    TRY_AGAIN(culv_handle_dup(&memory_fd, &copy), poisoned(&copy));
    lib_fd fd = lib_fd_watch(memory_fd.value.fd);
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    d.handle = memory_fd;
    d.size = shared.allocation_size;
    d.buffer = unbound;
    TRY_AGAIN(culv_vk_memory_from_handle(w->attachment, &d, &second), second == VK_NULL_HANDLE);
    lib_fd_require_untouched(&fd);
    d.handle.type = CULV_HANDLE_DMA_BUF_FD;
    VkDeviceMemory third = VK_NULL_HANDLE;
    if (!w->vk.dma_buf) {
        TRY_REFUSED(culv_vk_memory_from_handle(w->attachment, &d, &third), CULV_ERROR_UNSUPPORTED);
        TRY_REFUSED(
            culv_vk_memory_export_dup(w->attachment, shared.memory, CULV_HANDLE_DMA_BUF_FD, &none),
            CULV_ERROR_UNSUPPORTED);
    }
    culv_memory_desc md = lib_memory_desc(w, &shared, memory_fd.value.fd);
    md.handle.type = CULV_HANDLE_DMA_BUF_FD;
    TRY_REFUSED(culv_memory_import(w->device, &md, &never), CULV_ERROR_UNSUPPORTED);
    TRY_REFUSED(culv_dma_buf_export_dup(w->device, pointer, BYTES, 0, &none),
                CULV_ERROR_UNSUPPORTED);
    REQUIRE(poisoned(&none) && never == POISON(culv_memory) && third == VK_NULL_HANDLE);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, false);

    vkFreeMemory(w->vk.device, second, NULL);
    DO(culv_handle_close(&memory_fd));
    DO(culv_handle_close(&semaphore_fd));
    DO(culv_handle_close(&copy));
    LIB_CU_OK(w, cu->MemFree(pointer));
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .end = end, .least = {4, 3, 1}};
TORTURE_CASES("handles", path)
