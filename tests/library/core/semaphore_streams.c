/* SPDX-License-Identifier: MIT */
/* Semaphores and streams: the default ones, those of other contexts and devices; alone and in
 * batches. */
#define TEST_GROUP "streams."
#include "library.h"

static culv_result signal_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_signal_batch(&point, 1, stream);
}

static culv_result wait_batch(culv_semaphore *semaphore, CUstream stream, uint64_t value)
{
    const culv_semaphore_point point = {semaphore, value};
    return culv_semaphore_wait_batch(&point, 1, stream);
}

typedef culv_result (*stream_call)(culv_semaphore *semaphore, CUstream stream, uint64_t value);
static const stream_call signals[] = {culv_semaphore_signal, signal_batch};
static const stream_call waits[] = {culv_semaphore_wait, wait_batch};

/* A timeline for each direction: validation takes one that CUDA signals for pending, and warns of
 * the host's signal. */
LIB_CASE(default_streams, .title = "streams.default")
{
    VkSemaphore out = raw_vk_timeline(&w->vk, 0, true), in = raw_vk_timeline(&w->vk, 0, true);
    culv_semaphore *to_vulkan = lib_import_timeline(w, out), *to_cuda = lib_import_timeline(w, in);
    CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (uint64_t i = 0; i < 6; i++) {
        CUstream stream = streams[i % 3];
        stream_call signal = signals[i / 3], wait = waits[i / 3];
        LIB_OK(signal(to_vulkan, stream, 2 * i + 1));
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 1, TEST_FAR_MS));
        LIB_OK(wait(to_cuda, stream, i + 1));
        LIB_OK(signal(to_vulkan, stream, 2 * i + 2));
        lib_sleep_ms(20);
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, out), 2 * i + 1); /* the stream waits */
        raw_vk_timeline_signal(&w->vk, in, i + 1);
        REQUIRE(raw_vk_timeline_wait(&w->vk, out, 2 * i + 2, TEST_FAR_MS));
    }
    lib_finish(w, NULL);
    culv_semaphore_destroy_after(&to_vulkan, CU_STREAM_PER_THREAD);
    culv_semaphore_destroy_after(&to_cuda, NULL);
    lib_settle(w);
    raw_vk_timeline_destroy(&w->vk, out);
    raw_vk_timeline_destroy(&w->vk, in);
}

/* Each call with a stream that is not the semaphore's; a refused signal promises nothing. */
static void refuse(const lib_world *w, culv_semaphore *semaphore, CUstream stream, const char *says)
{
    const raw_cuda *cu = w->cu;
    CUcontext current = NULL;
    uint64_t last = culv_semaphore_last_value(semaphore);
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 2; i++) {
            LIB_INVALID(signals[i](semaphore, stream, last + 1), CULV_REASON_STREAM_DEVICE);
            LIB_SAYS(says);
            LIB_INVALID(waits[i](semaphore, stream, last), CULV_REASON_STREAM_DEVICE);
            LIB_SAYS(says);
        }
    }
    REQUIRE_EQ(culv_semaphore_last_value(semaphore), last);
    CU_OK(cu->CtxGetCurrent(&current));
    REQUIRE(current == NULL);
}

/* A stream of another context is refused, of the same device (whose driver would refuse it:
 * measured) or another. */
TEST(streams_of_other_contexts, .title = "streams.of_other_contexts")
{
    raw_cuda_two_devices();
    lib_world w;
    lib_open(&w);
    const raw_cuda *cu = w.cu;
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&w, timeline);
    CUcontext context = NULL, popped = NULL;
    CUstream stream = NULL;
    REQUIRE(cu->CtxCreate != NULL);
    CU_OK(cu->CtxCreate(&context, 0, 0));
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->CtxPopCurrent(&popped));
    refuse(&w, semaphore, stream, "context");
    LIB_OK(culv_semaphore_signal(semaphore, NULL, 1));
    REQUIRE(raw_vk_timeline_wait(&w.vk, timeline, 1, TEST_FAR_MS));
    CU_OK(cu->CtxPushCurrent(context));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->CtxDestroy(context));
    culv_semaphore_destroy(&semaphore);
    lib_settle(&w);

    if (cu->device_count > 1) {
        semaphore = lib_import_timeline(&w, timeline);
        CU_OK(cu->DevicePrimaryCtxRetain(&context, 1));
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CU_OK(cu->CtxPopCurrent(&popped));
        refuse(&w, semaphore, stream, "device 1");
        CU_OK(cu->CtxPushCurrent(context));
        CU_OK(cu->StreamDestroy(stream));
        CU_OK(cu->CtxPopCurrent(&popped));
        CU_OK(cu->DevicePrimaryCtxRelease(1));
        LIB_OK(culv_semaphore_signal(semaphore, NULL, 2));
        lib_finish(&w, NULL);
        culv_semaphore_destroy(&semaphore);
        lib_settle(&w);
    } else {
        printf("one device only: streams of another were not tried\n");
    }
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w);
}

/* One that was used before and then destroyed: the refusal says so. Others than the twin may crash
 * on it. */
LIB_CASE(destroyed)
{
    if (!w->cu->software) {
        lib_close(w);
        SKIP("no stream that is gone is handed to a real driver");
    }
    VkSemaphore timeline = raw_vk_timeline(&w->vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    const stream_call rows[] = {signals[0], signals[1], waits[0], waits[1]};
    for (uint64_t i = 0; i < 4; i++) {
        CUstream stream = lib_stream(w);
        LIB_OK(culv_semaphore_signal(semaphore, stream, i + 1));
        lib_finish(w, stream);
        lib_stream_destroy(w, stream);
        for (int twice = 0; twice < 2; twice++) {
            LIB_ERROR(rows[i](semaphore, stream, i + 2), CULV_ERROR_DRIVER,
                      CULV_REASON_STREAM_DEVICE);
            LIB_SAYS("was it destroyed?");
        }
        REQUIRE_EQ(culv_semaphore_last_value(semaphore), i + 1);
    }
    culv_semaphore_destroy(&semaphore);
    raw_vk_timeline_destroy(&w->vk, timeline);
}
