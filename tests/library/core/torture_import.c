/* SPDX-License-Identifier: MIT */
/* Torture of the road of imports: rank, open, attach, import, map, signal, wait, and all back. */
#include "torture.h"

#include <unistd.h>

static raw_vk_buffer shared;
static VkSemaphore timeline;
static uint64_t value; /* that the timeline has reached */

static void begin(void)
{
    raw_vk_buffer_create(&torture.w.vk, 65536, RAW_VK_EXPORT, &shared);
    timeline = raw_vk_timeline(&torture.w.vk, 0, true);
    close(raw_vk_timeline_fd(&torture.w.vk, timeline));
}

static void end(void)
{
    raw_vk_timeline_destroy(&torture.w.vk, timeline);
    raw_vk_buffer_destroy(&torture.w.vk, &shared);
}

static void run(void)
{
    lib_world *w = &torture.w;
    const raw_cuda *cu = w->cu;
    culv_device *device = POISON(culv_device);
    culv_vk_device *vk = POISON(culv_vk_device);
    culv_memory *memory = POISON(culv_memory), *taken = POISON(culv_memory);
    culv_buffer *one = POISON(culv_buffer), *two = POISON(culv_buffer);
    culv_semaphore *semaphore = POISON(culv_semaphore), *borrowed = POISON(culv_semaphore);
    uint32_t count = 999, word = 0;
    CUstream stream = NULL;
    CUcontext current = NULL;
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &shared));
    lib_fd fd2 = lib_fd_watch(raw_vk_timeline_fd(&w->vk, timeline));

    TRY(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, w->vk.instance, NULL, NULL, 0, &count),
        true, no_rank);
    REQUIRE(count < 64);
no_rank:
    if (torture.failures > 0) REQUIRE_EQ(count, 999);
    unsigned failures = torture.failures;
    TRY(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, NULL,
                                &device),
        true, no_device);
    w->device = device;
    w->context = culv_device_context(device);
    culv_vk_device_desc vd = lib_vk_desc(w);
    TRY(culv_vk_attach(device, &vd, &vk), false, no_vk);

    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = shared.memory;
    md.allocation_size = shared.allocation_size;
    md.buffer = shared.buffer;
    md.label = "tortured";
    TRY(culv_vk_memory_import(vk, &md, &memory), false, no_memory);
    culv_memory_desc d = lib_memory_desc(w, &shared, fd.fd);
    TRY(culv_memory_import(device, &d, &taken), false, no_taken);
    TRY(culv_buffer_map(memory, NULL, &one), false, no_one);
    culv_buffer_desc bd = culv_buffer_desc_init();
    bd.offset = 256;
    TRY(culv_buffer_map(taken, &bd, &two), false, no_two);
    culv_vk_semaphore_desc sd = culv_vk_semaphore_desc_init();
    sd.semaphore = timeline;
    sd.type = CULV_SEMAPHORE_TIMELINE;
    TRY(culv_vk_semaphore_import(vk, &sd, &semaphore), false, no_semaphore);
    culv_semaphore_desc rd = culv_semaphore_desc_init();
    rd.handle = culv_handle_opaque_fd(fd2.fd);
    rd.type = CULV_SEMAPHORE_TIMELINE;
    TRY(culv_semaphore_import(device, &rd, &borrowed), false, no_borrowed);

    stream = lib_stream(w);
    CUcontext before = lib_enter(w);
    CU_OK(cu->MemsetD32Async(culv_buffer_pointer(one), 0x1234abcd, 256, stream));
    lib_leave(w, before);
    uint64_t last = culv_semaphore_last_value(semaphore);
    REQUIRE_EQ(last, value);
    TRY(culv_semaphore_signal(semaphore, stream, value + 1), false, no_signal);
    value++;
    TRY(culv_semaphore_wait(borrowed, stream, value), false, no_signal);
    CU_OK(cu->CtxSetCurrent(w->context));
    CU_OK(cu->StreamSynchronize(stream));
    /* The same memory, by another import */
    CU_OK(cu->MemcpyDtoH(&word, culv_buffer_pointer(two), 4));
    CU_OK(cu->CtxSetCurrent(NULL));
    REQUIRE_EQ(word, 0x1234abcd);
    culv_device_counts counts = culv_device_counts_init();
    TRY(culv_device_get_counts(device, &counts), false, no_signal);
no_signal:
    if (torture.failures > failures && word == 0) {
        REQUIRE(culv_semaphore_last_value(semaphore) == value);
        CU_OK(cu->CtxSetCurrent(w->context));
        CU_OK(cu->StreamSynchronize(stream));
        CU_OK(cu->CtxSetCurrent(NULL));
    }
    DO(culv_semaphore_destroy(&borrowed, &stream));
    REQUIRE(borrowed == NULL);
no_borrowed:
    if (torture.failures > failures && stream == NULL && two != POISON(culv_buffer) &&
        semaphore != POISON(culv_semaphore))
        REQUIRE(borrowed == POISON(culv_semaphore));
    DO(culv_semaphore_destroy(&semaphore, NULL));
no_semaphore:
    DO(culv_buffer_unmap(&two, stream != NULL ? &stream : NULL));
no_two:
    DO(culv_buffer_unmap(&one, NULL));
no_one:
    DO(culv_memory_destroy(&taken));
no_taken:
    DO(culv_memory_destroy(&memory));
no_memory:
    DO(culv_vk_detach(&vk));
no_vk:
    /* Each is NULL (destroyed) or still what it was before a call that failed. */
    REQUIRE(vk == NULL || vk == POISON(culv_vk_device));
    REQUIRE(memory == NULL || memory == POISON(culv_memory));
    REQUIRE(taken == NULL || taken == POISON(culv_memory));
    REQUIRE(one == NULL || one == POISON(culv_buffer));
    REQUIRE(two == NULL || two == POISON(culv_buffer));
    REQUIRE(semaphore == NULL || semaphore == POISON(culv_semaphore));
    REQUIRE(borrowed == NULL || borrowed == POISON(culv_semaphore));
    if (stream != NULL) lib_stream_destroy(w, stream);
    w->device = NULL;
    DO(culv_device_close(&device));
no_device:
    REQUIRE(device == NULL || device == POISON(culv_device));
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    lib_fd_require_untouched(&fd2);
    lib_fd_done(&fd2, true);
}

static const torture_path path = {
    .any_driver = true, .begin = begin, .run = run, .end = end, .least = {4, 4, 4}};
TORTURE_CASES("import", path)
