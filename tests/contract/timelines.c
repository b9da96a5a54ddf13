/* SPDX-License-Identifier: MIT */
/* Contract rows: Vulkan timeline semaphores in CUDA streams. */
#define TEST_GROUP "timeline."
#include "contract.h"

#include <unistd.h>

static void answer_pending(const pair *p, const char *key)
{
    usleep(20000);
    answer_call(key, p->cu->StreamQuery(p->stream));
}

static void answer_done(const pair *p, const char *key)
{
    answer_ok(key, p->cu->StreamSynchronize(p->stream));
}

static void answer_value(pair *p, const char *key, const shared_timeline *t, uint64_t expected)
{
    const uint64_t value = raw_vk_timeline_value(&p->vk, t->vk);
    ANSWER(key, "0x%llx", (unsigned long long)value);
    REQUIRE_EQ(value, expected);
}

PAIR_CASE(vulkan_can_export, .mark = TEST_BOTH)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(p->vk.physical, &info, &properties);
    const bool exportable =
        properties.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
    answer_so("timelines as opaque fds", exportable, "exportable", "not exportable");
    REQUIRE(properties.exportFromImportedHandleTypes == 0 ||
            (properties.compatibleHandleTypes & VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT) !=
                0);
}

PAIR_CASE(vulkan_sees_cuda_signal, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 3);
    answer_value(p, "once imported", &t, 3);
    CU_OK(raw_cuda_signal(p->cu, t.cu, 7, p->stream));
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 7, FAR_MS));
    answer_value(p, "after CUDA's signal of 7", &t, 7);
    CU_OK(raw_cuda_signal(p->cu, t.cu, UINT64_C(0x123456789ab),
                          NULL)); /* the legacy stream; more than 32 bits */
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, UINT64_C(0x123456789ab), FAR_MS));
    answer_value(p, "after a signal of 0x123456789ab", &t, UINT64_C(0x123456789ab));
    CU_OK(p->cu->CtxSynchronize());
}

PAIR_CASE(value_reached_before, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 5);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 5, p->stream));
    answer_done(p, "a wait for the value that it has");
    raw_vk_timeline_signal(&p->vk, t.vk, 9);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 6, p->stream));
    answer_done(p, "a wait for a lower value");
}

PAIR_CASE(wait_before_host_signal, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 2, p->stream));
    answer_pending(p, "a wait for 2 at 0");
    raw_vk_timeline_signal(&p->vk, t.vk, 1); /* not enough */
    answer_pending(p, "a wait for 2 at 1");
    raw_vk_timeline_signal(&p->vk, t.vk, 2);
    answer_done(p, "a wait for 2 at 2");
}

PAIR_CASE(wait_before_queue_signal, .mark = TEST_BOTH)
{
    uint32_t *found = test_memory(65536);
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, 65536, 0, false);
    CUdeviceptr copy = raw_cuda_memory(p->cu, 65536);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->MemcpyDtoDAsync(copy, b.pointer, 65536, p->stream));
    answer_pending(p, "before the queue's signal");
    raw_vk_fill(&p->vk, &b.vk, 0, 65536, 0xfeed0001u,
                &(raw_vk_job){.signal = t.vk, .signal_value = 1, .pending = true});
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, copy, found, 65536);
    answer_wrong("words that CUDA saw", words_not(found, 0xfeed0001u, 65536 / 4), 65536 / 4);
    raw_vk_idle(&p->vk);
}

PAIR_CASE(queue_waits_for_cuda, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, 65536, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, 65536, RAW_VK_HOST);
    raw_vk_copy(
        &p->vk, &b.vk, 0, &host, 0, 65536,
        &(raw_vk_job){
            .wait = t.vk, .wait_value = 1, .signal = t.vk, .signal_value = 2, .pending = true});
    const bool early = raw_vk_timeline_wait(&p->vk, t.vk, 2, 20);
    answer_so("the queue before CUDA's signal", !early, "waits", "went on");
    CU_OK(p->cu->MemsetD32Async(b.pointer, 0xc0da0001u, 65536 / 4, p->stream));
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 2, FAR_MS));
    answer_wrong("words that Vulkan saw", words_not(host.mapped, 0xc0da0001u, 65536 / 4),
                 65536 / 4);
    raw_vk_idle(&p->vk);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* All frames are submitted ahead, on every queue in turn, with one timeline for both directions.
 * Vulkan fills one half, CUDA keeps a word of it and writes the other half, Vulkan keeps a word of
 * that. */
PAIR_CASE(frames_ahead, .mark = TEST_BOTH)
{
    enum { FRAMES = 96, SIZE = 65536, HALF = SIZE / 2 };
    uint32_t seen[FRAMES];
    shared_timeline t = pair_timeline(p, 0);
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    raw_vk_buffer host = pair_vk_buffer(p, FRAMES * 4, RAW_VK_HOST);
    CUdeviceptr history = raw_cuda_memory(p->cu, FRAMES * 4);
    for (uint32_t k = 0; k < FRAMES; k++) {
        uint32_t queue = k % (p->vk.queue_count < 3 ? p->vk.queue_count : 3);
        raw_vk_fill(&p->vk, &b.vk, 0, HALF, 1000 + k,
                    &(raw_vk_job){queue, t.vk, 3 * (uint64_t)k, t.vk, 3 * (uint64_t)k + 1, true});
        CU_OK(raw_cuda_wait(p->cu, t.cu, 3 * (uint64_t)k + 1, p->stream));
        CU_OK(p->cu->MemcpyDtoDAsync(history + 4 * k, b.pointer + HALF - 4, 4, p->stream));
        CU_OK(p->cu->MemsetD32Async(b.pointer + HALF, ~k, HALF / 4, p->stream));
        CU_OK(raw_cuda_signal(p->cu, t.cu, 3 * (uint64_t)k + 2, p->stream));
        raw_vk_copy(
            &p->vk, &b.vk, SIZE - 4, &host, 4 * k, 4,
            &(raw_vk_job){queue, t.vk, 3 * (uint64_t)k + 2, t.vk, 3 * (uint64_t)k + 3, true});
    }
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 3 * FRAMES, FAR_MS));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    cuda_read(p, history, seen, sizeof seen);
    size_t by_cuda = 0, by_vulkan = 0;
    for (uint32_t k = 0; k < FRAMES; k++) {
        by_cuda += seen[k] != 1000 + k;
        by_vulkan += ((const uint32_t *)host.mapped)[k] != ~k;
    }
    answer_wrong("words that CUDA saw", by_cuda, FRAMES);
    answer_wrong("words that Vulkan saw", by_vulkan, FRAMES);
    raw_vk_idle(&p->vk);
}

PAIR_CASE(between_streams, .mark = TEST_BOTH)
{
    shared_timeline t = pair_timeline(p, 0);
    CUstream other = raw_cuda_stream(p->cu);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    answer_pending(p, "before another stream's signal");
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1, other));
    answer_done(p, "after it");
    REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 1, FAR_MS));
}

PAIR_CASE(backwards, .mark = TEST_TWIN_STRICTER,
          .reason = "NVIDIA's driver lets the counter go back; the twin never lowers it")
{
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_signal(p->cu, t.cu, 1600, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    REQUIRE_EQ(raw_vk_timeline_value(&p->vk, t.vk), 1600);
    answer_call("a signal of 1 after 1600", raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_value(p, "the value then", &t, p->cu->software ? 1600 : 1);
    if (p->cu->software) {
        CU_IS(raw_cuda_signal(p->cu, t.cu, 1600, p->stream), CUDA_ERROR_INVALID_VALUE);
        raw_vk_timeline_signal(&p->vk, t.vk,
                               1700); /* not through this import, so it is not refused */
        CU_OK(raw_cuda_signal(p->cu, t.cu, 1650, p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        REQUIRE_EQ(raw_vk_timeline_value(&p->vk, t.vk), 1700);
    }
}

PAIR_CASE(fds_of_timelines_return, .title = "timeline.fds_return", .mark = TEST_BOTH)
{
    size_t before = 0;
    for (int turn = 0; turn < 20; turn++) {
        shared_timeline t;
        shared_timeline_open(p, 0, &t);
        CU_OK(raw_cuda_signal(p->cu, t.cu, 1, p->stream));
        REQUIRE(raw_vk_timeline_wait(&p->vk, t.vk, 1, FAR_MS));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        shared_timeline_close(p, &t);
        if (turn == 1) before = test_open_fds();
    }
    const size_t after = test_open_fds();
    ANSWER("fds more after 18 timelines", "%ld", (long)after - (long)before);
    REQUIRE_EQ(after, before);
}

PAIR_CASE(imported_twice, .mark = TEST_BOTH)
{
    CUexternalSemaphore second = NULL;
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(raw_cuda_import_timeline(p->cu, raw_vk_timeline_fd(&p->vk, t.vk), &second));
    CU_OK(raw_cuda_wait(p->cu, second, 1, p->stream));
    raw_vk_timeline_signal(&p->vk, t.vk, 1);
    answer_done(p, "a wait through the second import for Vulkan's signal");
    CU_OK(raw_cuda_signal(p->cu, t.cu, 2, p->stream));
    CU_OK(raw_cuda_wait(p->cu, second, 2, p->stream));
    answer_done(p, "a wait through the second import for the first one's signal");
    CU_OK(p->cu->DestroyExternalSemaphore(second));
}
