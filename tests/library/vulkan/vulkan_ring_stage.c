/* SPDX-License-Identifier: MIT */
/* Frames between CUDA and Vulkan, and their patterns. See vulkan_ring_stage.h. */
#include "vulkan_ring_stage.h"

#include <inttypes.h>

uint32_t ring_seed(uint64_t number)
{
    return (uint32_t)number * 2246822519u + 1;
}

/* As library_byte() of library_kernels.cu. */
static unsigned char texel_byte(uint32_t x, uint32_t y, uint32_t b, uint32_t seed)
{
    uint32_t h = x * 73856093u + y * 19349663u + b * 83492791u + seed * 2654435761u;
    return (unsigned char)(0x20u + (h >> 13 & 0x3fu));
}

static void fill(const ring_stage *s, unsigned char *bytes, uint64_t number)
{
    uint32_t seed = ring_seed(number), *words = (uint32_t *)(void *)bytes;
    lib_fill(words, RING_WORDS, seed);
    for (uint32_t i = 0; s->o.image && i < RING_BYTES; i++)
        bytes[RING_BYTES + i] = texel_byte(i / 4 % RING_SIDE, i / 4 / RING_SIDE, i % 4, seed);
}

static void verify(const ring_stage *s, const unsigned char *bytes, uint64_t number)
{
    uint32_t seed = ring_seed(number);
    const uint32_t *words = (const uint32_t *)(const void *)bytes;
    for (uint32_t i = 0; i < RING_WORDS; i++)
        if (words[i] != lib_word(i, seed))
            FAIL("word %" PRIu32 " of frame %" PRIu64 " is 0x%08" PRIx32 ", not 0x%08" PRIx32, i,
                 number, words[i], lib_word(i, seed));
    for (uint32_t i = 0; s->o.image && i < RING_BYTES; i++)
        if (bytes[RING_BYTES + i] != texel_byte(i / 4 % RING_SIDE, i / 4 / RING_SIDE, i % 4, seed))
            FAIL("byte %" PRIu32 " of the image of frame %" PRIu64 " is wrong", i, number);
}

/* The world ------------------------------------------------------------------------------------ */

void ring_world_open(ring_stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    s->module = raw_cuda_load(cu, "library_kernels");
    s->write = raw_cuda_function(cu, s->module, "library_write");
    s->paint = raw_cuda_function(cu, s->module, "library_paint_uchar4");
    void *page = NULL;
    CU_OK(cu->MemHostAlloc(&page, 2u * RING_BYTES * CULV_RING_MAX_DEPTH, 0));
    s->page = page;
    lib_leave(&s->w, before);
    s->stream = lib_stream(&s->w);
    raw_vk_buffer_create(&s->w.vk, 2u * RING_BYTES * CULV_RING_MAX_DEPTH, RAW_VK_HOST, &s->host);
}

void ring_world_close(ring_stage *s)
{
    const raw_cuda *cu = s->w.cu;
    lib_settle(&s->w);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->ModuleUnload(s->module));
    CU_OK(cu->MemFreeHost(s->page));
    lib_leave(&s->w, before);
    lib_stream_destroy(&s->w, s->stream);
    raw_vk_buffer_destroy(&s->w.vk, &s->host);
    lib_close(&s->w);
}

void ring_case_open(ring_stage *s, const ring_options *o)
{
    ring_world_open(s);
    ring_open(s, o);
}

void ring_case_close(ring_stage *s)
{
    if (s->ring != NULL) ring_close(s);
    vkDestroyCommandPool(s->w.vk.device, s->pool, NULL); /* of one that is given up otherwise */
    ring_world_close(s);
}

/* A ring --------------------------------------------------------------------------------------- */

/* An odd number across two GPUs, where a slot has no image. */
static VkDeviceSize buffer_bytes(void)
{
    return lib_across ? 2 * RING_BYTES - 1 : RING_BYTES;
}

culv_vk_ring_desc ring_desc(const ring_stage *s, const ring_options *o,
                            culv_vk_ring_resource resources[2], VkBufferCreateInfo *buffer,
                            VkImageCreateInfo *image, culv_vk_buffer_create_desc *buffer_desc,
                            culv_vk_image_create_desc *image_desc)
{
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    *buffer = raw_vk_buffer_info(buffer_bytes(), VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    *image = raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, RING_SIDE, RING_SIDE,
                               VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    *buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc->create_info = buffer;
    *image_desc = culv_vk_image_create_desc_init();
    image_desc->create_info = image;
    culv_vk_use use =
        o->side == CULV_RING_CONSUMER ? CULV_VK_USE_TRANSFER_SRC : CULV_VK_USE_TRANSFER_DST;
    resources[0] = (culv_vk_ring_resource){.use = use};
    resources[1] = (culv_vk_ring_resource){.use = use};
    if (o->own) {
        resources[0].own_buffers = s->own_buffers;
        resources[1].own_images = s->own_images;
    } else if (o->handed_in) {
        resources[0].buffers = s->buffers;
        resources[1].images = s->images;
    } else {
        resources[0].buffer = buffer_desc;
        resources[1].image = image_desc;
    }
    d.max_depth = o->depth;
    d.settings = &o->settings;
    d.resources = resources;
    d.num_resources = o->image ? 2 : 1;
    d.side = o->side;
    d.queue_family = o->family;
    d.label = "tested";
    return d;
}

static void open_commands(ring_stage *s)
{
    VkDevice device = s->w.vk.device;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = s->o.family};
    VK_OK(vkCreateCommandPool(device, &pool, NULL, &s->pool));
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = s->o.depth};
    VK_OK(vkAllocateCommandBuffers(device, &commands, s->commands));
}

void ring_open(ring_stage *s, const ring_options *o)
{
    VkBufferCreateInfo buffer;
    VkImageCreateInfo image;
    culv_vk_buffer_create_desc buffer_desc;
    culv_vk_image_create_desc image_desc;
    culv_vk_ring_resource resources[2];
    s->o = *o;
    s->o.settings.struct_size = sizeof s->o.settings;
    if (lib_across) s->o.image = false; /* images do not go across */
    o = &s->o;
    s->queue = s->w.vk.queues[o->family].queue;
    culv_vk_ring_desc d = ring_desc(s, o, resources, &buffer, &image, &buffer_desc, &image_desc);
    for (uint32_t i = 0; o->handed_in && i < o->depth; i++) {
        LIB_OK(culv_vk_buffer_create(s->w.attachment, &buffer_desc, &s->buffers[i]));
        if (o->image || !lib_across)
            LIB_OK(culv_vk_image_create(s->w.attachment, &image_desc, &s->images[i]));
        const VkSharingMode mode =
            o->concurrent ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
        s->own_buffers[i] =
            (culv_vk_own_buffer){culv_vk_buffer_handle(s->buffers[i]),
                                 culv_shared_buffer_cuda(s->buffers[i]), buffer.usage, mode};
        s->own_images[i] =
            (culv_vk_own_image){culv_vk_image_handle(s->images[i]),
                                culv_shared_image_cuda(s->images[i]), image.usage, mode};
    }
    LIB_OK(culv_vk_ring_create(s->w.attachment, s->queue, &d, &s->ring));
    REQUIRE(s->ring != NULL);
    memset(s->recorded, 0, sizeof s->recorded);
    memset(&s->cuda, 0, sizeof s->cuda);
    memset(&s->vulkan, 0, sizeof s->vulkan);
    s->vulkan.side = o->side;
    s->cuda.side = o->side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    open_commands(s);
}

void ring_close(ring_stage *s)
{
    ring_settle(s);
    lib_finish(&s->w, s->stream);
    raw_vk_idle(&s->w.vk);
    culv_ring_destroy(&s->ring, NULL);
    REQUIRE(s->ring == NULL);
    if (s->o.own) /* it is no more the ring's */
        LIB_INVALID(culv_buffer_unmap(&s->own_buffers[0].cuda, NULL), OWNED,
                    "culv_shared_buffer_destroy");
    vkDestroyCommandPool(s->w.vk.device, s->pool, NULL);
    s->pool = VK_NULL_HANDLE;
    for (uint32_t i = 0; s->o.handed_in && i < s->o.depth; i++) {
        culv_shared_buffer_destroy(&s->buffers[i], NULL);
        culv_shared_image_destroy(&s->images[i], NULL);
    }
    lib_settle(&s->w);
}

culv_ring_stats ring_stats(const ring_stage *s)
{
    culv_ring_stats stats = culv_ring_stats_init();
    LIB_OK(culv_ring_get_stats(s->ring, &stats));
    return stats;
}

/* Slots ---------------------------------------------------------------------------------------- */

unsigned char *ring_copy(const ring_stage *s, const ring_half *half, uint32_t slot)
{
    unsigned char *all = half == &s->cuda ? s->page : s->host.mapped;
    return all + (size_t)slot * 2 * RING_BYTES;
}

/* The slot's last copy is over, and right where it is the consumer's. */
static void reclaim(ring_stage *s, ring_half *half, uint32_t slot)
{
    if (!half->full[slot]) return;
    REQUIRE(half->covers[slot] != 0);
    VkSemaphore timeline = culv_vk_ring_semaphore(s->ring, half->side);
    if (!raw_vk_timeline_wait(&s->w.vk, timeline, half->covers[slot], RING_LIMIT_S * 1000))
        FAIL("side %d has not reached %" PRIu64, (int)half->side, half->covers[slot]);
    half->full[slot] = false;
    if (half->side != CULV_RING_CONSUMER) return;
    verify(s, ring_copy(s, half, slot), half->number[slot]);
    half->verified++;
}

void ring_begin_frame(ring_stage *s, ring_half *half, const culv_ring_frame *frame)
{
    reclaim(s, half, frame->slot);
    REQUIRE(frame->slot < s->o.depth);
    if (frame->repeated) {
        REQUIRE_EQ(frame->number, half->next - 1);
        half->again++;
    } else {
        REQUIRE_EQ(frame->number, half->next + frame->skipped);
        half->next = frame->number + 1;
    }
    half->skipped += frame->skipped;
    half->number[frame->slot] = frame->number;
}

void ring_flushed(ring_half *half, uint64_t value)
{
    for (uint32_t i = 0; i < half->num_open; i++)
        half->covers[half->open[i]] = value;
    half->num_open = 0;
}

void ring_released(ring_half *half, const culv_ring_frame *frame)
{
    half->frames++;
    half->full[frame->slot] = true;
    half->covers[frame->slot] = 0;
    half->open[half->num_open++] = frame->slot;
    if (frame->signal_value != 0) ring_flushed(half, frame->signal_value);
}

void ring_settle(ring_stage *s)
{
    for (uint32_t slot = 0; slot < s->o.depth; slot++) {
        reclaim(s, &s->cuda, slot);
        reclaim(s, &s->vulkan, slot);
    }
}

void ring_forget(ring_stage *s)
{
    memset(s->cuda.full, 0, sizeof s->cuda.full);
    memset(s->vulkan.full, 0, sizeof s->vulkan.full);
    s->cuda.num_open = s->vulkan.num_open = 0;
}

/* CUDA's turn ---------------------------------------------------------------------------------- */

static void produce(ring_stage *s, const culv_ring_frame *frame)
{
    const raw_cuda *cu = s->w.cu;
    uint32_t seed = ring_seed(frame->number), count = RING_WORDS;
    CUdeviceptr pointer = culv_buffer_pointer(culv_ring_buffer(s->ring, frame->slot, 0));
    void *words[] = {&pointer, &count, &seed};
    CU_OK(cu->LaunchKernel(s->write, RING_WORDS / 256, 1, 1, 256, 1, 1, 0, s->stream, words, NULL));
    LIB_OK(
        culv_buffer_copy(culv_ring_buffer(s->ring, frame->slot, 0), CULV_COPY_UPLOAD, s->stream));
    if (!s->o.image) return;
    CUsurfObject surface = 0;
    LIB_OK(culv_image_get_surface(culv_ring_image(s->ring, frame->slot, 1), 0, 0, &surface));
    int side = RING_SIDE;
    void *texels[] = {&surface, &side, &side, &seed};
    CU_OK(cu->LaunchKernel(s->paint, RING_SIDE / 16, RING_SIDE / 16, 1, 16, 16, 1, 0, s->stream,
                           texels, NULL));
}

static void consume(ring_stage *s, const culv_ring_frame *frame)
{
    const raw_cuda *cu = s->w.cu;
    unsigned char *page = ring_copy(s, &s->cuda, frame->slot);
    CUdeviceptr pointer = culv_buffer_pointer(culv_ring_buffer(s->ring, frame->slot, 0));
    LIB_OK(
        culv_buffer_copy(culv_ring_buffer(s->ring, frame->slot, 0), CULV_COPY_DOWNLOAD, s->stream));
    CU_OK(cu->MemcpyDtoHAsync(page, pointer, RING_BYTES, s->stream));
    if (!s->o.image) return;
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(culv_ring_image(s->ring, frame->slot, 1), 0, 0, &array));
    const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                             .srcArray = array,
                             .dstMemoryType = CU_MEMORYTYPE_HOST,
                             .dstHost = page + RING_BYTES,
                             .dstPitch = RING_SIDE * 4,
                             .WidthInBytes = RING_SIDE * 4,
                             .Height = RING_SIDE};
    CU_OK(cu->Memcpy2DAsync(&c, s->stream));
}

void ring_cuda_work(ring_stage *s, const culv_ring_frame *frame)
{
    ring_begin_frame(s, &s->cuda, frame);
    if (s->cuda.side == CULV_RING_PRODUCER)
        produce(s, frame);
    else
        consume(s, frame);
}

culv_result ring_cuda_turn(ring_stage *s, uint64_t timeout)
{
    culv_ring_frame frame;
    culv_result result = culv_ring_acquire_on(s->ring, s->cuda.side, s->stream, timeout, &frame);
    if (result != CULV_OK) return result;
    CUcontext before = lib_enter(&s->w);
    ring_cuda_work(s, &frame);
    lib_leave(&s->w, before);
    LIB_OK(culv_ring_release_on(s->ring, s->cuda.side, s->stream, &frame));
    ring_released(&s->cuda, &frame);
    return CULV_OK;
}

/* Vulkan's turn -------------------------------------------------------------------------------- */

static void record_producer(ring_stage *s, VkCommandBuffer commands, const culv_ring_frame *frame)
{
    uint32_t slot = frame->slot;
    VkDeviceSize at = (VkDeviceSize)slot * 2 * RING_BYTES;
    vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(s->ring, slot, CULV_VK_ACQUIRE));
    const VkBufferCopy copy = {.srcOffset = at, .size = RING_BYTES};
    vkCmdCopyBuffer(commands, s->host.buffer,
                    culv_vk_buffer_handle(culv_ring_shared_buffer(s->ring, slot, 0)), 1, &copy);
    if (s->o.image) {
        const VkBufferImageCopy region = {.bufferOffset = at + RING_BYTES,
                                          .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                          .imageExtent = {RING_SIDE, RING_SIDE, 1}};
        vkCmdCopyBufferToImage(commands, s->host.buffer,
                               culv_vk_image_handle(culv_ring_shared_image(s->ring, slot, 1)),
                               VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    }
    LIB_OK(culv_vk_buffer_record_copy(culv_ring_shared_buffer(s->ring, slot, 0), CULV_COPY_DOWNLOAD,
                                      commands));
    vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(s->ring, slot, CULV_VK_RELEASE));
}

/* Once for each slot. */
static void record(ring_stage *s, const culv_ring_frame *frame)
{
    uint32_t slot = frame->slot;
    VkCommandBuffer commands = s->commands[slot];
    VkDeviceSize at = (VkDeviceSize)slot * 2 * RING_BYTES;
    /* The validation layer takes what an exported semaphore ended for still pending. */
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VK_OK(vkBeginCommandBuffer(commands, &begin));
    if (s->o.side == CULV_RING_PRODUCER)
        record_producer(s, commands, frame);
    else
        for (uint32_t i = 0; i < (s->o.image ? 2u : 1u); i++)
            LIB_OK(culv_vk_ring_record_copy(s->ring, commands, slot, i, s->host.buffer,
                                            at + i * RING_BYTES,
                                            i == 0 ? buffer_bytes() : RING_BYTES));
    VK_OK(vkEndCommandBuffer(commands));
    s->recorded[slot] = true;
}

VkCommandBuffer ring_vulkan_commands(ring_stage *s, const culv_ring_frame *frame)
{
    uint32_t slot = frame->slot;
    ring_begin_frame(s, &s->vulkan, frame);
    if (!s->recorded[slot]) record(s, frame);
    if (s->o.side == CULV_RING_PRODUCER) fill(s, ring_copy(s, &s->vulkan, slot), frame->number);
    return s->commands[slot];
}

void ring_submit_by_hand(ring_stage *s, VkCommandBuffer commands, culv_ring_frame *frame,
                         VkSemaphore pace, uint64_t number)
{
    VkSemaphoreSubmitInfo wait, signals[2];
    uint32_t count = frame->burst_ends;
    LIB_OK(culv_ring_release(s->ring, s->o.side, frame));
    LIB_OK(culv_vk_ring_get_points(s->ring, frame, &wait, &signals[0]));
    REQUIRE_EQ(wait.value, frame->wait_value);
    REQUIRE_EQ(signals[0].value, frame->signal_value);
    REQUIRE_EQ(frame->signal_value != 0, count);
    if (pace != VK_NULL_HANDLE)
        signals[count++] =
            (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                    .semaphore = pace,
                                    .value = number,
                                    .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkCommandBufferSubmitInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                              .commandBuffer = commands};
    const VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                .waitSemaphoreInfoCount = frame->wait_value != 0,
                                .pWaitSemaphoreInfos = &wait,
                                .commandBufferInfoCount = 1,
                                .pCommandBufferInfos = &buffer,
                                .signalSemaphoreInfoCount = count,
                                .pSignalSemaphoreInfos = signals};
    VK_OK(vkQueueSubmit2(s->queue, 1, &info, VK_NULL_HANDLE));
}

culv_result ring_vulkan_turn(ring_stage *s, uint64_t timeout)
{
    culv_ring_frame frame;
    culv_result result = culv_ring_acquire(s->ring, s->o.side, timeout, &frame);
    if (result != CULV_OK) return result;
    VkCommandBuffer commands = ring_vulkan_commands(s, &frame);
    if (s->o.way == BY_HAND)
        ring_submit_by_hand(s, commands, &frame, VK_NULL_HANDLE, 0);
    else
        LIB_OK(culv_vk_ring_submit(s->ring, s->queue, commands, VK_NULL_HANDLE, &frame));
    ring_released(&s->vulkan, &frame);
    return CULV_OK;
}

/* Runs ----------------------------------------------------------------------------------------- */

void ring_run(ring_stage *s, uint64_t frames)
{
    uint32_t burst = ring_stats(s).burst;
    for (uint64_t n = 0; n < frames; n += burst)
        for (int half = 0; half < 2; half++)
            for (uint32_t i = 0; i < burst && n + i < frames; i++)
                LIB_OK((half == 0) == (s->o.side == CULV_RING_CONSUMER) ? ring_cuda_turn(s, 0)
                                                                        : ring_vulkan_turn(s, 0));
}
