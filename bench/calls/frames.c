/* SPDX-License-Identifier: MIT */
/* Whether Culvert allocates in the frame path: all calls of its that a frame makes, with every
 * allocation of the process counted. */
#include "calls.h"

#include "allocations.h"

enum { BYTES = 4096, SIDE = 64, QUEUE = 0 };

typedef struct frames_state {
    bench *b;
    raw_vk_buffer vk;
    culv_memory *import;
    culv_buffer *buffer;
    culv_shared_image *image;    /* made by Culvert, as is the timeline below */
    culv_shared_semaphore *made; /* signaled in one batch with cuda_done */
    rig_timeline cuda_done, vulkan_done;
} frames_state;

/* All barriers there are. */
static void barriers(const frames_state *s)
{
    culv_vk_buffer_transfer buffer = culv_vk_buffer_transfer_init();
    culv_vk_image_transfer image = culv_vk_image_transfer_init();
    VkBufferMemoryBarrier2 buffer_barrier2;
    VkImageMemoryBarrier2 image_barrier2;
    buffer.buffer = s->vk.buffer;
    image.image = culv_vk_image_handle(s->image);
    image.use = CULV_VK_USE_SAMPLED;
    buffer.queue_family = image.queue_family = QUEUE;
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&buffer, CULV_VK_ACQUIRE, &buffer_barrier2));
    CULV_OK_OR_EXIT(culv_vk_buffer_get_barrier2(&buffer, CULV_VK_RELEASE, &buffer_barrier2));
    CULV_OK_OR_EXIT(culv_vk_image_get_barrier2(&image, CULV_VK_ACQUIRE, &image_barrier2));
    CULV_OK_OR_EXIT(culv_vk_image_get_barrier2(&image, CULV_VK_RELEASE, &image_barrier2));
}

static void frame(frames_state *s)
{
    const rig *r = &s->b->rig;
    uint64_t done = s->vulkan_done.value, next = ++s->cuda_done.value;
    const culv_semaphore_point waits[] = {{s->vulkan_done.culvert, done}};
    const culv_semaphore_point signals[] = {{s->cuda_done.culvert, next},
                                            {culv_shared_semaphore_cuda(s->made), next}};
    CUsurfObject surface = 0;
    CULV_OK_OR_EXIT(culv_semaphore_wait(s->vulkan_done.culvert, r->stream, done));
    CULV_OK_OR_EXIT(culv_semaphore_wait_batch(waits, 1, r->stream));
    CULV_OK_OR_EXIT(culv_image_get_surface(culv_shared_image_cuda(s->image), 0, 0, &surface));
    RIG_CU(r->cu->MemsetD32Async(culv_buffer_pointer(s->buffer), (uint32_t)next,
                                 (size_t)(culv_buffer_size(s->buffer) / 4), r->stream));
    CULV_OK_OR_EXIT(culv_semaphore_signal_batch(signals, 2, r->stream));
    s->cuda_done.value = ++next;
    CULV_OK_OR_EXIT(culv_semaphore_signal(s->cuda_done.culvert, r->stream, next));
    barriers(s);
    VK_OK(submit(r->vk.queues[QUEUE].queue, VK_NULL_HANDLE, s->cuda_done.vk, next,
                 s->vulkan_done.vk, ++s->vulkan_done.value));
    culv_semaphore_mark_value(s->vulkan_done.culvert, s->vulkan_done.value);
    REQUIRE_EQ(culv_semaphore_last_value(s->cuda_done.culvert), next);
}

static void open_state(frames_state *s)
{
    rig *r = &s->b->rig;
    raw_vk_buffer_create(&r->vk, BYTES, RAW_VK_EXPORT, &s->vk);
    culv_vk_memory_desc memory = culv_vk_memory_desc_init();
    memory.memory = s->vk.memory;
    memory.allocation_size = s->vk.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(r->attached, &memory, &s->import));
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_OPTIMAL,
                                    .usage =
                                        VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT};
    culv_vk_image_create_desc image = culv_vk_image_create_desc_init();
    image.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_image_create(r->attached, &image, &s->image));
    CULV_OK_OR_EXIT(culv_vk_semaphore_create(r->attached, NULL, &s->made));
    rig_timeline_open(r, &s->cuda_done);
    rig_timeline_open(r, &s->vulkan_done);
}

static void close_state(frames_state *s)
{
    rig *r = &s->b->rig;
    REQUIRE(raw_vk_timeline_wait(&r->vk, s->vulkan_done.vk, s->vulkan_done.value, 10000));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
    culv_buffer_unmap(&s->buffer, NULL);
    culv_memory_destroy(&s->import);
    culv_shared_image_destroy(&s->image, NULL);
    culv_shared_semaphore_destroy(&s->made, NULL);
    rig_timeline_close(r, &s->vulkan_done);
    rig_timeline_close(r, &s->cuda_done);
    raw_vk_buffer_destroy(&r->vk, &s->vk);
}

report_frames count_frames(bench *b, uint64_t frames)
{
    frames_state s = {.b = b};
    report_frames counted = {.counted = allocations_can_be_counted(), .frames = frames};
    open_state(&s);

    /* Mapping allocates, by Culvert's own hand: the counter sees what it is to see. */
    allocations_begin();
    CULV_OK_OR_EXIT(culv_buffer_map(s.import, NULL, &s.buffer));
    counted.control = allocations_end().culvert;
    if (counted.counted && counted.control == 0)
        FAIL(
            "culv_buffer_map() allocates, but no allocation of Culvert's was seen: the counter is blind");

    allocations_begin();
    for (uint64_t i = 0; i < frames; i++) {
        frame(&s);
        /* Not too far ahead of the GPU; the raw driver's call. */
        if (i % 16 == 15) RIG_CU(b->rig.cu->StreamSynchronize(b->rig.stream));
    }
    allocation_counts counts = allocations_end();
    counted.culvert = counts.culvert;
    counted.others = counts.others;
    close_state(&s);
    return counted;
}
