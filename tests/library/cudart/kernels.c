/* SPDX-License-Identifier: MIT */
/* Kernels of the runtime write what Vulkan reads: on stream 0 in both of its meanings, and on
 * streams of the program's own. */
#define TEST_GROUP "kernels."
#include "raw_vulkan_image.h"
#include "world.h"

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

static shared_buffer buffer_make(world *w)
{
    const VkBufferCreateInfo info =
        raw_vk_buffer_info(WORDS * sizeof(uint32_t),
                           VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    shared_buffer b;
    memset(&b, 0, sizeof b);
    d.create_info = &info;
    OK(culv_vk_buffer_create(w->attachment, &d, &b.made));
    b.vk.buffer = culv_vk_buffer_handle(b.made);
    b.vk.memory = culv_vk_buffer_memory(b.made, &b.vk.allocation_size);
    b.vk.size = info.size;
    b.vk.flags = RAW_VK_EXPORT;
    b.words = culv_cudart_buffer_pointer(culv_shared_buffer_cuda(b.made));
    return b;
}

/* Vulkan, once the timeline is at `value`. */
static void require_words(world *w, const shared_buffer *b, const timeline *t, uint64_t value,
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

static void vulkan_hands_over(world *w, const shared_buffer *b, const timeline *t, uint64_t value)
{
    raw_vk_fill(&w->vk, &b->vk, 0, b->vk.size, 0xdeadbeefu,
                &(raw_vk_job){.signal = t->vk, .signal_value = value, .pending = true});
}

/* A whole frame in a .cu file: wait, kernel, signal, all on stream 0. */
RUNTIME_CASE(frames)
{
    shared_buffer b = buffer_make(w);
    timeline t = timeline_make(w);
    uint64_t value = 0;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) {
            uint32_t seed = (uint32_t)(100 * round + i);
            vulkan_hands_over(w, &b, &t, value + 1);
            culv_semaphore_mark_value(t.culv, value + 1);
            OK(all_launches[i]->frame(t.culv, value + 1, b.words, WORDS, seed, value + 2));
            require_words(w, &b, &t, value + 2, word, seed);
            value += 2;
        }
    RT(cudaDeviceSynchronize());
    timeline_destroy(w, &t);
    culv_shared_buffer_destroy(&b.made, NULL);
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
            OK(calls->semaphore_wait(t.culv, streams[s], value + 1));
            RT(all_launches[calls->per_thread]->fill(b.words, WORDS, seed, streams[s]));
            OK(calls->semaphore_signal(t.culv, streams[s], value + 2));
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

        OK(calls->semaphore_wait(gate.culv, blocking, 1));
        if (!calls->per_thread) RT(launches->fill(b.words, WORDS, 40, blocking));
        RT(launches->mix(b.words, WORDS, 41, 0));
        OK(calls->semaphore_signal(done.culv, 0, 1));
        if (calls->per_thread) {
            REQUIRE(timeline_reaches(w, &done, 1, SOON_MS));
            REQUIRE_EQ(raw_vk_timeline_value(&w->vk, gate.vk), 0);
            require_words(w, &b, &done, 1, mixed_zero, 40);
            raw_vk_timeline_signal(&w->vk, gate.vk, 1);
        } else {
            OK(calls->semaphore_signal(witness.culv, apart, 1));
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

static shared_image image_make(world *w, VkFormat format, uint32_t levels)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {253, 127, 1},
                                    .mipLevels = levels,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                             VK_IMAGE_USAGE_SAMPLED_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    shared_image s;
    memset(&s, 0, sizeof s);
    d.create_info = &info;
    OK(culv_vk_image_create(w->attachment, &d, &s.made));
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

static void require_texels(world *w, const shared_image *image, uint32_t level, const timeline *t,
                           uint64_t value, uint32_t seed)
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

static void surfaces(VkFormat format)
{
    world w;
    world_open_runtime(&w);
    enum { LEVELS = 3 };
    shared_image image = image_make(&w, format, LEVELS);
    timeline t = timeline_make(&w);
    uint64_t value = 1;
    raw_vk_image_first_layout(&w.vk, &image.vk,
                              &(raw_vk_job){.signal = t.vk, .signal_value = value});
    culv_semaphore_mark_value(t.culv, value);
    for (int i = 0; i < 2; i++)
        for (uint32_t level = 0; level < LEVELS; level++) {
            const cudart_launches *launches = all_launches[i];
            cudaSurfaceObject_t surface = 0;
            VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
            uint32_t seed = (uint32_t)(7 * i) + level;
            OK(launches->calls->semaphore_wait(t.culv, 0, value));
            OK(launches->calls->image_surface(culv_shared_image_cuda(image.made), level, 0,
                                              &surface));
            RT((format == VK_FORMAT_R32_SFLOAT ? launches->r32f : launches->rgba8)(
                surface, extent.width, extent.height, seed, 0));
            OK(launches->calls->semaphore_signal(t.culv, 0, ++value));
            require_texels(&w, &image, level, &t, value, seed);
        }
    timeline_destroy(&w, &t);
    culv_shared_image_destroy(&image.made, &(CUstream){culv_cudart_stream(0)});
    world_close(&w);
}

TEST_AS(surface_rgba8, surfaces(VK_FORMAT_R8G8B8A8_UNORM))
TEST_AS(surface_r32f, surfaces(VK_FORMAT_R32_SFLOAT))

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
        OK(culv_cudart_image_get_array(cuda, level, 0, &array));
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
        OK(culv_cudart_semaphore_wait(t.culv, 0, level + 1));
        RT(cudaMemcpy2DToArrayAsync(array, 0, 0, texels, pitch, pitch, wanted.height,
                                    cudaMemcpyHostToDevice, culv_cudart_stream_0()));
        OK(culv_cudart_semaphore_signal(t.culv, 0, level + 2));
        require_texels(w, &image, level, &t, level + 2, level);
        free(texels);
    }
    timeline_destroy(w, &t);
    culv_shared_image_destroy(&image.made, NULL);
}
