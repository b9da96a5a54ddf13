/* SPDX-License-Identifier: MIT */
/* Buffers in host memory: every way to give them up, and what they leave. */
#define TEST_GROUP "host."
#include "host_stage.h"

#include <malloc.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* A stream that waits for the gate, then writes the buffer and copies it. */
static void held_back(stage *s, culv_shared_buffer *b, culv_semaphore *gate, CUdeviceptr copy)
{
    const raw_cuda *cu = s->w.cu;
    CUdeviceptr p = culv_buffer_pointer(culv_shared_buffer_cuda(b));
    LIB_OK(culv_semaphore_wait(gate, s->stream, 1));
    LIB_CU_OK(&s->w, cu->MemsetD32Async(p, 0xfeedbeef, WORDS, s->stream));
    LIB_CU_OK(&s->w, cu->MemcpyDtoDAsync(copy, p, BYTES, s->stream));
}

/* Given up while the stream is held back: nothing waits for it, or it would hang, and pages and
 * registration stay until it is done. */
TEST(destroyed_with_work_pending)
{
    for (int origin = 0; origin < HOST_ORIGINS; origin++) {
        stage s;
        stage_open(&s);
        lib_world *w = &s.w;
        host_require(w);
        const raw_cuda *cu = w->cu;
        host_pages pages = {.start = NULL};
        CUdeviceptr copy = 0;
        static uint32_t words[WORDS];
        if (origin == HOST_CALLERS) pages = host_pages_alloc(w, BYTES);
        LIB_CU_OK(w, cu->MemAlloc(&copy, BYTES));
        culv_shared_buffer *b = host_make(w, BYTES, origin == HOST_CALLERS ? &pages : NULL);
        VkSemaphore gate = raw_vk_timeline(&w->vk, 0, true);
        culv_semaphore *wait = lib_import_timeline(w, gate);
        held_back(&s, b, wait, copy);
        culv_shared_buffer_destroy(&b, &s.stream);
        REQUIRE(b == NULL);
        culv_device_counts c = lib_counts(w);
        REQUIRE_EQ(c.created, 0);
        REQUIRE_EQ(c.buffers, 0);
        REQUIRE_EQ(c.mappings, 1); /* still registered */
        REQUIRE_EQ(c.deferred, 1);
        raw_vk_timeline_signal(&w->vk, gate, 1);
        lib_finish(w, s.stream);
        REQUIRE_EQ(culv_device_collect(w->device), 0);
        c = lib_counts(w);
        REQUIRE_EQ(c.mappings, 0);
        LIB_CU_OK(w, cu->MemcpyDtoH(words, copy, BYTES));
        LIB_CU_OK(w, cu->MemFree(copy));
        for (uint32_t i = 0; i < WORDS; i++)
            REQUIRE_EQ(words[i], 0xfeedbeef);
        if (origin == HOST_CALLERS) {
            REQUIRE_EQ(((const uint32_t *)pages.start)[WORDS - 1], 0xfeedbeef);
            host_require_unregistered(w, &pages);
            host_pages_free(&pages);
        }
        culv_semaphore_destroy(&wait, NULL);
        raw_vk_timeline_destroy(&w->vk, gate);
        stage_close(&s);
    }
}

/* A loader whose vkFreeMemory looks whether CUDA has let go by then, and the pages are still
 * there. */
static struct {
    const lib_world *w;
    const host_pages *pages; /* the caller's; NULL: Culvert's */
    const volatile uint32_t *words;
    unsigned freed;
} watched;

static VKAPI_ATTR void VKAPI_CALL watching_free(VkDevice device, VkDeviceMemory memory,
                                                const VkAllocationCallbacks *callbacks)
{
    if (watched.words != NULL) {
        REQUIRE_EQ(watched.words[0], 0x12345678);
        REQUIRE_EQ(watched.words[WORDS * 64 - 1], 0x9abcdef0);
        REQUIRE_EQ(lib_counts(watched.w).mappings, 0);
        if (watched.pages != NULL) host_require_unregistered(watched.w, watched.pages);
        watched.freed++;
    }
    vkFreeMemory(device, memory, callbacks);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watching_device_proc(VkDevice device,
                                                                     const char *name)
{
    return strcmp(name, "vkFreeMemory") == 0 ? (PFN_vkVoidFunction)watching_free
                                             : vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL watching_loader(VkInstance instance,
                                                                const char *name)
{
    return strcmp(name, "vkGetDeviceProcAddr") == 0 ? (PFN_vkVoidFunction)watching_device_proc
                                                    : vkGetInstanceProcAddr(instance, name);
}

/* CUDA's registration, Vulkan's memory, the pages: 1 MiB of them, which free() gives back to the
 * system. */
TEST(order_of_the_end)
{
    enum { LARGE = BYTES * 64 };
    lib_world w;
    (void)mallopt(M_MMAP_THRESHOLD, BYTES); /* or free() might keep them */
    lib_open(&w);
    host_require(&w);
    culv_vk_device *plain = w.attachment;
    culv_vk_device_desc d = lib_vk_desc(&w);
    d.get_instance_proc_addr = watching_loader;
    LIB_OK(culv_vk_attach(w.device, &d, &w.attachment));
    for (int origin = 0; origin < HOST_ORIGINS; origin++) {
        host_pages pages = {.start = NULL};
        if (origin == HOST_CALLERS) pages = host_pages_alloc(&w, LARGE);
        culv_shared_buffer *b = host_make(&w, LARGE, origin == HOST_CALLERS ? &pages : NULL);
        uint32_t *words = culv_vk_buffer_host_pointer(b);
        words[0] = 0x12345678;
        words[LARGE / 4 - 1] = 0x9abcdef0;
        watched.w = &w;
        watched.pages = origin == HOST_CALLERS ? &pages : NULL;
        watched.words = words;
        watched.freed = 0;
        culv_shared_buffer_destroy(&b, NULL);
        watched.words = NULL;
        REQUIRE_EQ(watched.freed, 1);
        host_pages_free(&pages);
    }
    culv_vk_detach(&w.attachment);
    w.attachment = plain;
    lib_close(&w);
}
