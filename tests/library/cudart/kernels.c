/* SPDX-License-Identifier: MIT */
/* Kernels of the runtime write what Vulkan reads: on stream 0 in both of its meanings, and on
 * streams of the program's own. */
#define TEST_GROUP "kernels."
#include "raw_vulkan_image.h"
#include "world.h"

#include <pthread.h>
#include <time.h>

enum { WORDS = 1 << 16, SOON_MS = TEST_FAR_MS, LONG_ENOUGH_MS = 100 };

static uint32_t word(uint32_t i, uint32_t seed)
{
    return i * 2654435761u + seed;
}

/* A buffer that Culvert made, seen by the helpers of raw_vulkan.h. */
typedef struct shared_buffer {
    culv_shared_buffer *made;
    raw_vk_buffer vk;
    uint32_t *words; /* CUDA's pointer */
} shared_buffer;

static shared_buffer buffer_make(lib_world *w)
{
    const VkBufferCreateInfo info =
        raw_vk_buffer_info(WORDS * sizeof(uint32_t),
                           VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    shared_buffer b = {.made = lib_made_buffer(w->attachment, &info)};
    b.vk.buffer = culv_vk_buffer_handle(b.made);
    b.vk.memory = culv_vk_buffer_memory(b.made, &b.vk.allocation_size);
    b.vk.size = info.size;
    b.vk.flags = RAW_VK_EXPORT;
    b.words = culv_cudart_buffer_pointer(culv_shared_buffer_cuda(b.made));
    return b;
}

/* Vulkan, once the timeline is at `value`. */
static void require_words(lib_world *w, const shared_buffer *b, const timeline *t, uint64_t value,
                          uint32_t (*expected)(uint32_t i, uint32_t seed), uint32_t seed)
{
    raw_vk_buffer host;
    raw_vk_buffer_create(&w->vk, b->vk.size, RAW_VK_HOST, &host);
    raw_vk_copy(&w->vk, &b->vk, 0, &host, 0, b->vk.size,
                &(raw_vk_job){.wait = t->vk, .wait_value = value});
    const uint32_t *words = host.mapped;
    for (uint32_t i = 0; i < WORDS; i++)
        if (words[i] != expected(i, seed))
            FAIL("word %u is 0x%08x, not 0x%08x", (unsigned)i, (unsigned)words[i],
                 (unsigned)expected(i, seed));
    raw_vk_buffer_destroy(&w->vk, &host);
}

static void vulkan_hands_over(lib_world *w, const shared_buffer *b, const timeline *t,
                              uint64_t value)
{
    raw_vk_fill(&w->vk, &b->vk, 0, b->vk.size, 0xdeadbeefu,
                &(raw_vk_job){.signal = t->vk, .signal_value = value, .pending = true});
}

/* The calls of every row around kernels that were compiled for the same stream 0, and on two
 * streams. */
RUNTIME_CASE(rows_and_streams)
{
    shared_buffer b = buffer_make(w);
    timeline t = timeline_make(w);
    cudaStream_t streams[3] = {NULL, NULL, NULL}; /* the first is stream 0 */
    RT(cudaStreamCreate(&streams[1]));
    RT(cudaStreamCreateWithFlags(&streams[2], cudaStreamNonBlocking));
    uint64_t value = 0;
    for (int i = 0; i < CALLS_COUNT; i++)
        for (int s = 0; s < 3; s++) {
            const cudart_calls *calls = all_calls[i];
            uint32_t seed = (uint32_t)(10 * i + s + 1);
            vulkan_hands_over(w, &b, &t, value + 1);
            culv_semaphore_mark_value(t.culv, value + 1);
            LIB_OK(calls->semaphore_wait(t.culv, streams[s], value + 1));
            RT(all_launches[calls->per_thread]->fill(b.words, WORDS, seed, streams[s]));
            LIB_OK(calls->semaphore_signal(t.culv, streams[s], value + 2));
            require_words(w, &b, &t, value + 2, word, seed);
            value += 2;
        }
    RT(cudaStreamDestroy(streams[1]));
    RT(cudaStreamDestroy(streams[2]));
    timeline_destroy(w, &t);
    culv_shared_buffer_destroy(&b.made, NULL);
}

static uint32_t mixed_word(uint32_t i, uint32_t seed)
{
    return word(i, seed) * 3u + seed + 1;
}

static uint32_t mixed_zero(uint32_t i, uint32_t seed)
{
    (void)i;
    return seed + 1;
}

/* A kernel of another stream is held back by a gate. The legacy stream 0 comes after it and sees
 * what it wrote; a thread's own is done before the gate opens, and saw nothing of it. */
RUNTIME_CASE(order, .smoke = true)
{
    for (int i = 0; i < 2; i++) {
        const cudart_launches *launches = all_launches[i];
        const cudart_calls *calls = launches->calls;
        shared_buffer b = buffer_make(w);
        timeline gate = timeline_make(w), done = timeline_make(w), witness = timeline_make(w);
        cudaStream_t blocking = NULL, apart = NULL;
        RT(cudaStreamCreate(&blocking));
        RT(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
        RT(cudaMemsetAsync(b.words, 0, WORDS * sizeof(uint32_t), apart));
        /* Still zero; loads the kernels while nothing waits */
        RT(launches->mix(b.words, WORDS, 0, apart));
        RT(launches->fill(b.words, 0x100, 0, apart));
        RT(cudaMemsetAsync(b.words, 0, WORDS * sizeof(uint32_t), apart));
        RT(cudaStreamSynchronize(apart));

        LIB_OK(calls->semaphore_wait(gate.culv, blocking, 1));
        if (!calls->per_thread) RT(launches->fill(b.words, WORDS, 40, blocking));
        RT(launches->mix(b.words, WORDS, 41, 0));
        LIB_OK(calls->semaphore_signal(done.culv, 0, 1));
        if (calls->per_thread) {
            REQUIRE(timeline_reaches(w, &done, 1, SOON_MS));
            REQUIRE_EQ(raw_vk_timeline_value(&w->vk, gate.vk), 0);
            require_words(w, &b, &done, 1, mixed_zero, 40);
            raw_vk_timeline_signal(&w->vk, gate.vk, 1);
        } else {
            LIB_OK(calls->semaphore_signal(witness.culv, apart, 1));
            REQUIRE(timeline_reaches(w, &witness, 1, SOON_MS));
            REQUIRE(!timeline_reaches(w, &done, 1, LONG_ENOUGH_MS));
            raw_vk_timeline_signal(&w->vk, gate.vk, 1);
            require_words(w, &b, &done, 1, mixed_word, 40);
        }
        RT(cudaDeviceSynchronize());
        RT(cudaStreamDestroy(blocking));
        RT(cudaStreamDestroy(apart));
        timeline_destroy(w, &gate);
        timeline_destroy(w, &done);
        timeline_destroy(w, &witness);
        culv_shared_buffer_destroy(&b.made, NULL);
    }
}

typedef struct shared_image {
    culv_shared_image *made;
    raw_vk_image vk;
} shared_image;

static shared_image image_make(lib_world *w, VkFormat format, uint32_t levels)
{
    VkImageCreateInfo info =
        raw_vk_image_info(format, 253, 127,
                          VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                              VK_IMAGE_USAGE_SAMPLED_BIT);
    info.mipLevels = levels;
    shared_image s = {.made = lib_made_image(w->attachment, &info)};
    s.vk.image = culv_vk_image_handle(s.made);
    s.vk.memory = culv_vk_image_memory(s.made, &s.vk.allocation_size);
    s.vk.desc = (raw_vk_image_desc){.format = format,
                                    .width = info.extent.width,
                                    .height = info.extent.height,
                                    .depth = 1,
                                    .levels = levels,
                                    .layers = 1,
                                    .dimensions = 2,
                                    .flags = RAW_VK_EXPORT};
    return s;
}

static void require_texels(lib_world *w, const shared_image *image, uint32_t level,
                           const timeline *t, uint64_t value, uint32_t seed)
{
    raw_vk_buffer host;
    VkExtent3D extent = raw_vk_image_extent(&image->vk, level);
    raw_vk_buffer_create(&w->vk, raw_vk_image_bytes(&image->vk, level), RAW_VK_HOST, &host);
    raw_vk_image_to_buffer(&w->vk, &image->vk, level, &host, 0,
                           &(raw_vk_job){.wait = t->vk, .wait_value = value});
    for (uint32_t y = 0; y < extent.height; y++)
        for (uint32_t x = 0; x < extent.width; x++) {
            size_t at = (size_t)y * extent.width + x;
            if (image->vk.desc.format == VK_FORMAT_R32_SFLOAT) {
                float texel = ((const float *)host.mapped)[at];
                if (texel != (float)(x + 1024 * y + seed))
                    FAIL("level %u, texel (%u, %u) is %g", (unsigned)level, (unsigned)x,
                         (unsigned)y, (double)texel);
            } else {
                const uint8_t wanted[4] = {(uint8_t)(x + seed), (uint8_t)y, (uint8_t)(x ^ y), 255};
                REQUIRE_EQ_BYTES((const uint8_t *)host.mapped + 4 * at, wanted, sizeof wanted);
            }
        }
    raw_vk_buffer_destroy(&w->vk, &host);
}

RUNTIME_CASE(surface_rgba8)
{
    enum { LEVELS = 3 };
    shared_image image = image_make(w, VK_FORMAT_R8G8B8A8_UNORM, LEVELS);
    timeline t = timeline_make(w);
    uint64_t value = 1;
    raw_vk_image_first_layout(&w->vk, &image.vk,
                              &(raw_vk_job){.signal = t.vk, .signal_value = value});
    culv_semaphore_mark_value(t.culv, value);
    for (int i = 0; i < 2; i++)
        for (uint32_t level = 0; level < LEVELS; level++) {
            const cudart_launches *launches = all_launches[i];
            cudaSurfaceObject_t surface = 0;
            VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
            uint32_t seed = (uint32_t)(7 * i) + level;
            LIB_OK(launches->calls->semaphore_wait(t.culv, 0, value));
            LIB_OK(launches->calls->image_surface(culv_shared_image_cuda(image.made), level, 0,
                                                  &surface));
            RT(launches->rgba8(surface, extent.width, extent.height, seed, 0));
            LIB_OK(launches->calls->semaphore_signal(t.culv, 0, ++value));
            require_texels(w, &image, level, &t, value, seed);
        }
    timeline_destroy(w, &t);
    culv_shared_image_destroy(&image.made, &(CUstream){culv_cudart_stream(0)});
}

/* The runtime's own functions take the arrays: format and extent are right, and a copy to it
 * arrives. */
RUNTIME_CASE(arrays)
{
    enum { LEVELS = 2 };
    shared_image image = image_make(w, VK_FORMAT_R32_SFLOAT, LEVELS);
    culv_image *cuda = culv_shared_image_cuda(image.made);
    timeline t = timeline_make(w);
    raw_vk_image_first_layout(&w->vk, &image.vk, &(raw_vk_job){.signal = t.vk, .signal_value = 1});
    culv_semaphore_mark_value(t.culv, 1);
    for (uint32_t level = 0; level < LEVELS; level++) {
        cudaArray_t array = NULL;
        struct cudaChannelFormatDesc format;
        struct cudaExtent extent;
        unsigned flags = 0;
        VkExtent3D wanted = raw_vk_image_extent(&image.vk, level);
        LIB_OK(culv_cudart_image_get_array(cuda, level, 0, &array));
        RT(cudaArrayGetInfo(&format, &extent, &flags, array));
        REQUIRE_EQ(extent.width, wanted.width);
        REQUIRE_EQ(extent.height, wanted.height);
        REQUIRE_EQ(format.x, 32);
        REQUIRE_EQ(format.y + format.z + format.w, 0);
        REQUIRE_EQ(format.f, cudaChannelFormatKindFloat);

        float *texels = malloc(sizeof(float) * wanted.width * wanted.height);
        REQUIRE(texels != NULL);
        for (uint32_t y = 0; y < wanted.height; y++)
            for (uint32_t x = 0; x < wanted.width; x++)
                texels[(size_t)y * wanted.width + x] = (float)(x + 1024 * y + level);
        size_t pitch = sizeof(float) * wanted.width;
        LIB_OK(culv_cudart_semaphore_wait(t.culv, 0, level + 1));
        RT(cudaMemcpy2DToArrayAsync(array, 0, 0, texels, pitch, pitch, wanted.height,
                                    cudaMemcpyHostToDevice, culv_cudart_stream_0()));
        LIB_OK(culv_cudart_semaphore_signal(t.culv, 0, level + 2));
        require_texels(w, &image, level, &t, level + 2, level);
        free(texels);
    }
    timeline_destroy(w, &t);
    culv_shared_image_destroy(&image.made, NULL);
}

#undef TEST_GROUP
#define TEST_GROUP "objects."
/* Buffers and images in the runtime's types. */

enum { LEVELS = 3 };

WORLD_CASE(same_handles)
{
    culv_shared_buffer *buffer = buffer_make(w).made;
    culv_shared_image *image = image_make(w, VK_FORMAT_R8G8B8A8_UNORM, LEVELS).made;
    culv_buffer *mapped = culv_shared_buffer_cuda(buffer);
    culv_image *array = culv_shared_image_cuda(image);
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        REQUIRE(calls->buffer_pointer(mapped) != NULL);
        REQUIRE((CUdeviceptr)(uintptr_t)calls->buffer_pointer(mapped) ==
                culv_buffer_pointer(mapped));
        for (uint32_t level = 0; level < LEVELS; level++) {
            CUarray level_array = NULL;
            CUsurfObject level_surface = 0;
            cudaArray_t runtime_array = NULL;
            cudaSurfaceObject_t runtime_surface = 0;
            LIB_OK(culv_image_get_array(array, level, 0, &level_array));
            LIB_OK(culv_image_get_surface(array, level, 0, &level_surface));
            LIB_OK(calls->image_array(array, level, 0, &runtime_array));
            LIB_OK(calls->image_surface(array, level, 0, &runtime_surface));
            REQUIRE((void *)runtime_array == (void *)level_array);
            REQUIRE(runtime_surface == level_surface && runtime_surface != 0);
        }
        cudaArray_t no_array = POISON(struct cudaArray);
        cudaSurfaceObject_t no_surface = 0x5a5a;
        LIB_ERROR(calls->image_array(array, LEVELS, 0, &no_array), INVALID, LEVEL);
        LIB_ERROR(calls->image_surface(array, LEVELS, 0, &no_surface), INVALID, LEVEL);
        REQUIRE(no_array == POISON(struct cudaArray) && no_surface == 0x5a5a);
        LIB_ERROR(calls->image_array(array, 0, 0, NULL), INVALID, NULL_ARGUMENT);
        LIB_ERROR(calls->image_surface(array, 0, 0, NULL), INVALID, NULL_ARGUMENT);
    }
    culv_shared_image_destroy(&image, NULL);
    culv_shared_buffer_destroy(&buffer, &(CUstream){culv_cudart_stream(0)});
}

#undef TEST_GROUP
#define TEST_GROUP "stream_0."
/* Which stream 0 is, for each row of calls.h: shown by what it waits for and what waits for it,
 * with gates that the host opens. Code of both kinds lives in one process here, as libraries of one
 * program may.
 *
 * Source: driver_types.h and the CUDA guide 3.2.8.5: the legacy stream waits for all blocking
 * streams, and they for it; a thread's own default stream waits for the legacy stream alone. */

/* A row with timelines of its own; `gate` holds work back until it is opened. */
typedef struct scene {
    lib_world *w;
    const cudart_calls *calls;
    CUstream blocking, apart; /* `apart` is independent of all others */
    timeline gate, done, also, witness;
} scene;

static void open_timelines(scene *s)
{
    s->gate = timeline_make(s->w);
    s->done = timeline_make(s->w);
    s->also = timeline_make(s->w);
    s->witness = timeline_make(s->w);
}

static void open_gate(scene *s)
{
    raw_vk_timeline_signal(&s->w->vk, s->gate.vk, 1);
    culv_semaphore_mark_value(s->gate.culv, 1);
}

static void close_timelines(scene *s)
{
    const raw_cuda *cu = s->w->cu;
    CU_OK(cu->CtxSynchronize());
    timeline_destroy(s->w, &s->gate);
    timeline_destroy(s->w, &s->done);
    timeline_destroy(s->w, &s->also);
    timeline_destroy(s->w, &s->witness);
}

/* `done` was signaled where the gate holds it back in legacy code, and does not in per-thread
 * code. */
static void require_held_back_in_legacy_code(scene *s, const char *what)
{
    lib_world *w = s->w;
    if (s->calls->per_thread) {
        if (!timeline_reaches(w, &s->done, 1, SOON_MS))
            FAIL("%s: %s waits for the gate", s->calls->name, what);
        REQUIRE_EQ(raw_vk_timeline_value(&w->vk, s->gate.vk), 0);
        open_gate(s);
        return;
    }
    /* What was submitted later to a stream of its own is through, so the device has had its
     * chance. */
    LIB_OK(culv_semaphore_signal(s->witness.culv, s->apart, 1));
    REQUIRE(timeline_reaches(w, &s->witness, 1, SOON_MS));
    if (timeline_reaches(w, &s->done, 1, LONG_ENOUGH_MS))
        FAIL("%s: %s did not wait for the gate", s->calls->name, what);
    open_gate(s);
    if (!timeline_reaches(w, &s->done, 1, SOON_MS)) FAIL("%s: %s hangs", s->calls->name, what);
}

static void for_each_row(void (*test)(scene *s))
{
    lib_world w;
    world_open(&w);
    scene s = {.w = &w, .apart = lib_stream(&w)};
    CU_OK(w.cu->StreamCreate(&s.blocking, CU_STREAM_DEFAULT));
    for (int i = 0; i < CALLS_COUNT; i++) {
        s.calls = all_calls[i];
        open_timelines(&s);
        test(&s);
        close_timelines(&s);
    }
    lib_stream_destroy(&w, s.blocking);
    lib_stream_destroy(&w, s.apart);
    world_close(&w);
}

static void signal_one(scene *s)
{
    LIB_OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    LIB_OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    require_held_back_in_legacy_code(s, "a signal on stream 0");
}

static void wait_for_one(scene *s)
{
    LIB_OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    LIB_OK(culv_semaphore_signal(s->done.culv, s->blocking, 1));
    require_held_back_in_legacy_code(s, "a blocking stream behind stream 0's wait");
}

static void signal_batch(scene *s)
{
    const culv_semaphore_point points[] = {{s->also.culv, 1}, {s->done.culv, 1}};
    LIB_OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    LIB_OK(s->calls->semaphore_signal_batch(points, 2, 0));
    require_held_back_in_legacy_code(s, "a batch of signals on stream 0");
    REQUIRE(timeline_reaches(s->w, &s->also, 1, SOON_MS));
}

static void wait_for_batch(scene *s)
{
    const culv_semaphore_point points[] = {{s->also.culv, 1}, {s->gate.culv, 1}};
    raw_vk_timeline_signal(&s->w->vk, s->also.vk, 1);
    LIB_OK(s->calls->semaphore_wait_batch(points, 2, 0));
    LIB_OK(culv_semaphore_signal(s->done.culv, s->blocking, 1));
    require_held_back_in_legacy_code(s, "a blocking stream behind stream 0's batch of waits");
}

/* Both ways of one row meet in the same stream: what is behind a wait on stream 0 stays behind
 * it. */
static void wait_then_signal(scene *s)
{
    lib_world *w = s->w;
    LIB_OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    LIB_OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    LIB_OK(culv_semaphore_signal(s->witness.culv, s->apart, 1));
    REQUIRE(timeline_reaches(w, &s->witness, 1, SOON_MS));
    REQUIRE(!timeline_reaches(w, &s->done, 1, LONG_ENOUGH_MS));
    open_gate(s);
    REQUIRE(timeline_reaches(w, &s->done, 1, SOON_MS));
}

static void *signal_from_another_thread(void *data)
{
    scene *s = data;
    LIB_OK(s->calls->semaphore_signal(s->done.culv, 0, 1));
    return NULL;
}

/* One thread's stream 0 waits; another thread's is another stream, or the same. */
static void two_threads(scene *s)
{
    pthread_t thread;
    LIB_OK(s->calls->semaphore_wait(s->gate.culv, 0, 1));
    REQUIRE_EQ(pthread_create(&thread, NULL, signal_from_another_thread, s), 0);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    require_held_back_in_legacy_code(s, "another thread's stream 0");
}

/* A stream that is not 0 is passed on as it is. */
static void other_streams(scene *s)
{
    lib_world *w = s->w;
    const culv_semaphore_point point = {s->also.culv, 1};
    LIB_OK(s->calls->semaphore_wait(s->gate.culv, s->blocking, 1));
    LIB_OK(s->calls->semaphore_signal(s->done.culv, s->apart, 1));
    LIB_OK(s->calls->semaphore_signal_batch(&point, 1, s->blocking));
    REQUIRE(timeline_reaches(w, &s->done, 1, SOON_MS));
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, s->also.vk), 0);
    open_gate(s);
    REQUIRE(timeline_reaches(w, &s->also, 1, SOON_MS));
}

static void *open_gate_later(void *data)
{
    scene *s = data;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    raw_vk_timeline_signal(&s->w->vk, s->gate.vk, 1);
    return NULL;
}

/* The last use on stream 0 is not over while the gate holds it back; in per-thread code the gate
 * does not. */
static void last_use(scene *s)
{
    lib_world *w = s->w;
    const raw_cuda *cu = w->cu;
    pthread_t opener;
    timeline mine = timeline_make(w);
    LIB_OK(culv_semaphore_wait(s->gate.culv, s->blocking, 1));
    /* The release that is due may wait at the driver for the gate: somebody has to open it. */
    if (s->calls->per_thread) REQUIRE_EQ(pthread_create(&opener, NULL, open_gate_later, s), 0);
    LIB_OK(culv_semaphore_destroy(&mine.culv, &(CUstream){s->calls->stream(0)}));
    REQUIRE(mine.culv == NULL);
    if (s->calls->per_thread) {
        CU_OK(cu->StreamSynchronize(CU_STREAM_PER_THREAD));
        REQUIRE_EQ(lib_counts(w).deferred, 0);
        REQUIRE_EQ(pthread_join(opener, NULL), 0);
    } else {
        REQUIRE_EQ(lib_counts(w).deferred, 1);
        open_gate(s);
        lib_settle(w);
    }
    raw_vk_timeline_destroy(&w->vk, mine.vk);
}

TEST_AS(rows_signal_one, for_each_row(signal_one), .title = "stream_0.signal")
TEST_AS(rows_wait_for_one, for_each_row(wait_for_one), .title = "stream_0.wait")
TEST_AS(rows_signal_batch, for_each_row(signal_batch), .title = "stream_0.signal_batch",
        .smoke = true)
TEST_AS(rows_wait_for_batch, for_each_row(wait_for_batch), .title = "stream_0.wait_batch")
TEST_AS(rows_wait_then_signal, for_each_row(wait_then_signal), .title = "stream_0.wait_then_signal")
TEST_AS(rows_two_threads, for_each_row(two_threads), .title = "stream_0.two_threads")
TEST_AS(rows_other_streams, for_each_row(other_streams), .title = "streams.others")
TEST_AS(rows_last_use, for_each_row(last_use), .title = "stream_0.last_use")

/* The handles, as a table. */
TEST(handles)
{
    CUstream some = (CUstream)(uintptr_t)0x1230;
    for (int i = 0; i < CALLS_COUNT; i++) {
        const cudart_calls *calls = all_calls[i];
        CUstream expected = calls->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
        REQUIRE_EQ(calls->per_thread, i % 2);
        if (calls->stream_0() != expected || calls->stream(0) != expected)
            FAIL("%s: stream 0 is %p and %p", calls->name, (void *)calls->stream_0(),
                 (void *)calls->stream(0));
        REQUIRE(calls->stream(some) == some);
        REQUIRE(calls->stream(cudaStreamLegacy) == CU_STREAM_LEGACY);
        REQUIRE(calls->stream(cudaStreamPerThread) == CU_STREAM_PER_THREAD);
    }
}
