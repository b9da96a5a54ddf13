/* SPDX-License-Identifier: MIT */
/* Thousands of turns of export, import, map, use, unmap, destroy: file descriptors, mappings and
 * memory stay level. The option --turns=N says how many. */
#include "library.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#endif

static void turn(lib_world *w, raw_vk_buffer *lasting, VkSemaphore timeline, CUstream stream,
                 uint64_t i)
{
    raw_vk_buffer own;
    raw_vk_buffer *vk = lasting;
    if (i % 4 == 0) { /* an allocation of its own */
        raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT | (i % 8 == 0 ? RAW_VK_DEDICATED : 0),
                             &own);
        vk = &own;
    }
    culv_memory *memory = lib_import(w, vk);
    culv_buffer *one = NULL, *two = NULL;
    culv_buffer_desc d = culv_buffer_desc_init();
    d.offset = 4096;
    LIB_OK(culv_buffer_map(memory, NULL, &one));
    LIB_OK(culv_buffer_map(memory, &d, &two));
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(two), (uint32_t)i, 64, stream));
    LIB_OK(culv_semaphore_signal(semaphore, stream, i));
    LIB_OK(culv_semaphore_wait(semaphore, stream, i));
    culv_buffer_unmap_after(&one, stream);
    if (i % 3 == 0) culv_memory_destroy(&memory);
    culv_buffer_unmap_after(&two, stream);
    culv_semaphore_destroy_after(&semaphore, stream);
    culv_memory_destroy(&memory);
    if (!raw_vk_timeline_wait(&w->vk, timeline, i, TEST_FAR_MS))
        FAIL("turn %d: the timeline was not signaled", (int)i);
    if (vk == &own) {
        lib_finish(w, stream);
        raw_vk_buffer_destroy(&w->vk, &own);
    }
}

TEST(turns, .time_limit = 900, .own = true)
{
    long count = strtol(test_option("turns", "500"), NULL, 10);
    REQUIRE(count >= 100);
    lib_world w;
    lib_open(&w);
    raw_vk_buffer vk;
    raw_vk_buffer_create(&w.vk, 1 << 20, RAW_VK_EXPORT, &vk);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    CUstream stream = lib_stream(&w);
    lib_level start = {0};
    long warm = count / 5; /* caches fill; from then on nothing may grow */
    for (long i = 1; i <= count; i++) {
        turn(&w, &vk, timeline, stream, (uint64_t)i);
        /* The _after calls never release: somebody has to come by. */
        if (i % 16 == 0) (void)culv_device_collect(w.device);
        if (i != warm) continue;
        lib_settle(&w);
        start = lib_level_now();
    }
    lib_settle(&w);
    lib_wait_threads(start.threads);
    lib_level end = lib_level_now();
    MEASURED("library.endurance",
             "%ld turns: fds %zu to %zu, maps %zu to %zu, threads %zu to %zu, RSS %ld to %ld KiB",
             count, start.fds, end.fds, start.maps, end.maps, start.threads, end.threads, start.rss,
             end.rss);
    REQUIRE_EQ(end.fds, start.fds);
    REQUIRE(end.threads <= start.threads);
#ifndef SANITIZED                         /* whose allocators keep what was freed */
    REQUIRE(end.maps <= start.maps + 16); /* neighbours merge and split; a leak would be hundreds */
    REQUIRE(end.rss <= start.rss + 4096);
#endif
    lib_stream_destroy(&w, stream);
    raw_vk_timeline_destroy(&w.vk, timeline);
    raw_vk_buffer_destroy(&w.vk, &vk);
    lib_close(&w);
}

/* Devices opened and closed as often as a program that is restarted. */
TEST(devices, .time_limit = 900, .own = true)
{
    long count = strtol(test_option("turns", "500"), NULL, 10) / 5;
    lib_world w;
    lib_open(&w);
    lib_level start = {0};
    for (long i = 1; i <= count; i++) {
        culv_device *device = NULL;
        culv_vk_device *vk = NULL;
        culv_vk_device_desc d = lib_vk_desc(&w);
        LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w.vk.instance, w.vk.physical, NULL,
                                       &device));
        LIB_OK(culv_vk_attach(device, &d, &vk));
        culv_device_close(&device);
        culv_vk_detach(&vk);
        if (i == count / 5) start = lib_level_now();
    }
    lib_wait_threads(start.threads);
    lib_level end = lib_level_now();
    REQUIRE_EQ(end.fds, start.fds);
    REQUIRE(end.threads <= start.threads);
#ifndef SANITIZED
    REQUIRE(end.maps <= start.maps + 16);
    REQUIRE(end.rss <= start.rss + 4096);
#endif
    lib_close(&w);
}
