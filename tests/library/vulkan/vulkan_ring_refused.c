/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: what is refused, and why. */
#include "vulkan_ring_stage.h"

/* A descriptor and all that it points to. */
typedef struct described {
    VkBufferCreateInfo buffer;
    VkImageCreateInfo image;
    culv_vk_buffer_create_desc buffer_desc;
    culv_vk_image_create_desc image_desc;
    culv_vk_ring_resource resources[2];
    ring_options options;
    culv_vk_ring_desc ring;
} described;

static void describe(const ring_stage *s, described *d)
{
    d->options = ring_options_init(CULV_RING_CONSUMER, 3);
    d->options.image = true;
    d->ring = ring_desc(s, &d->options, d->resources, &d->buffer, &d->image, &d->buffer_desc,
                        &d->image_desc);
}

/* Each makes one field wrong. */
#define WRONG(name, ...)                                                                           \
    static void name(described *d)                                                                 \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
WRONG(struct_size, d->ring.struct_size = 3)
WRONG(no_resources, d->ring.resources = NULL)
WRONG(waits, d->ring.waits = (culv_ring_waits)3)
WRONG(family, d->ring.queue_family = 4096)
WRONG(forgotten, d->ring.queue_family = culv_vk_ring_desc_init().queue_family)
WRONG(external, d->ring.queue_family = VK_QUEUE_FAMILY_EXTERNAL)
WRONG(nothing, d->resources[1].image = NULL)
WRONG(both, d->resources[0].image = &d->image_desc)
WRONG(image_size, d->image_desc.struct_size = 1)
WRONG(image_info, d->image_desc.create_info = NULL)
WRONG(buffer_info, d->buffer_desc.create_info = NULL)
WRONG(samples, d->image.samples = VK_SAMPLE_COUNT_4_BIT)
WRONG(image_use, d->resources[1].use = CULV_VK_USE_VERTEX_BUFFER)
WRONG(buffer_use, d->resources[0].use = CULV_VK_USE_COLOR_ATTACHMENT)
WRONG(host_stage, d->resources[0].stage = VK_PIPELINE_STAGE_2_HOST_BIT)

TEST(descriptors)
{
    const struct {
        const char *name;
        void (*spoil)(described *);
        culv_reason reason;
        const char *says;
    } rows[] = {
        {"struct_size", struct_size, CULV_REASON_STRUCT_SIZE, "culv_vk_ring_desc"},
        {"no_resources", no_resources, CULV_REASON_NULL_ARGUMENT, "resources"},
        {"waits", waits, CULV_REASON_VALUE, "waits is 3"},
        {"family", family, CULV_REASON_VALUE, "queue_family is 4096"},
        {"forgotten", forgotten, CULV_REASON_VALUE, "queue_family is not set"},
        {"external", external, CULV_REASON_VALUE, "queue_family"},
        {"nothing", nothing, CULV_REASON_VALUE, "resources[1]"},
        {"both", both, CULV_REASON_VALUE, "resources[0]"},
        {"image_size", image_size, CULV_REASON_STRUCT_SIZE, "culv_vk_image_create_desc"},
        {"image_info", image_info, CULV_REASON_NULL_ARGUMENT, "create_info"},
        {"buffer_info", buffer_info, CULV_REASON_NULL_ARGUMENT, "create_info"},
        {"samples", samples, CULV_REASON_USAGE, "sample"},
        {"image_use", image_use, CULV_REASON_VALUE, "VERTEX_BUFFER"},
        {"buffer_use", buffer_use, CULV_REASON_VALUE, "COLOR_ATTACHMENT"},
        {"host_stage", host_stage, CULV_REASON_VALUE, "HOST"},
    };
    ring_stage s;
    culv_ring *ring = NULL;
    ring_world_open(&s);
    VkQueue queue = s.w.vk.queues[0].queue;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        described d;
        describe(&s, &d);
        rows[i].spoil(&d);
        printf("%s\n", rows[i].name);
        LIB_REFUSES_AS(ring, culv_vk_ring_create(s.w.attachment, queue, &d.ring, &ring),
                       CULV_ERROR_INVALID, rows[i].reason, rows[i].says);
        REQUIRE_EQ(lib_counts(&s.w).created, 0);
        REQUIRE_EQ(lib_counts(&s.w).semaphores, 0);
    }
    described d;
    describe(&s, &d);
    LIB_REFUSES(ring, culv_vk_ring_create(s.w.attachment, VK_NULL_HANDLE, &d.ring, &ring), INVALID,
                NULL_ARGUMENT);
    ring_world_close(&s);
}

/* Objects handed in. */
RINGS_CASE(strangers)
{
    described d;
    culv_ring *ring = NULL;
    culv_vk_device *other = NULL;
    VkQueue queue = s->w.vk.queues[0].queue;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    LIB_OK(culv_vk_attach(s->w.device, &vd, &other));
    describe(s, &d);
    d.options.handed_in = true;
    d.ring =
        ring_desc(s, &d.options, d.resources, &d.buffer, &d.image, &d.buffer_desc, &d.image_desc);
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID,
                NULL_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_vk_buffer_create(s->w.attachment, &d.buffer_desc, &s->buffers[i]));
        LIB_OK(culv_vk_image_create(i < 2 ? s->w.attachment : other, &d.image_desc, &s->images[i]));
    }
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID,
                DEVICE_MISMATCH, "resources[1]");
    /* One buffer for two slots. */
    culv_shared_buffer *third = s->buffers[2];
    s->buffers[2] = s->buffers[0];
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID, VALUE,
                "resources[0] has for slot 2 what resources[0] has for slot 0");
    s->buffers[2] = third;
    /* The same as VkBuffers and VkImages; destroys of what wraps them are refused. */
    d.options.own = true;
    for (int i = 0; i < 3; i++) {
        s->own_buffers[i] = (culv_vk_own_buffer){culv_vk_buffer_handle(s->buffers[i]),
                                                 culv_shared_buffer_cuda(s->buffers[i]), 0, 0};
        s->own_images[i] = (culv_vk_own_image){culv_vk_image_handle(s->images[i]),
                                               culv_shared_image_cuda(s->images[i]), 0, 0};
    }
    d.ring =
        ring_desc(s, &d.options, d.resources, &d.buffer, &d.image, &d.buffer_desc, &d.image_desc);
    const culv_vk_own_buffer last = s->own_buffers[2];
    s->own_buffers[2].cuda = NULL;
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID,
                NULL_ARGUMENT, "resources[0].own_buffers[2].cuda is NULL");
    s->own_buffers[2] = s->own_buffers[0];
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID, VALUE,
                "resources[0] has for slot 2 what resources[0] has for slot 0");
    s->own_buffers[2] = last;
    const VkImage third_image = s->own_images[2].image;
    s->own_images[2].image = VK_NULL_HANDLE;
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID,
                NULL_ARGUMENT, "resources[1].own_images[2].image is NULL");
    s->own_images[2].image = third_image;
    LIB_OK(culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring));
    culv_shared_buffer *wrapped = culv_ring_shared_buffer(ring, 1, 0);
    REQUIRE(culv_vk_buffer_handle(wrapped) == culv_vk_buffer_handle(s->buffers[1]));
    REQUIRE_EQ(culv_ring_pointer(ring, 1, 0), culv_shared_buffer_pointer(s->buffers[1]));
    culv_shared_buffer_destroy(&wrapped, NULL);
    REQUIRE(wrapped != NULL);
    culv_ring_destroy(&ring, NULL);
    for (int i = 0; i < 3; i++) {
        culv_shared_buffer_destroy(&s->buffers[i], NULL);
        culv_shared_image_destroy(&s->images[i], NULL);
    }
    culv_vk_detach(&other);
}

TEST(calls)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 2);
    ring_world_open(&s);
    ring_open(&s, &o);
    culv_ring_frame frame;
    CUcontext before = lib_enter(&s.w);
    LIB_OK(ring_cuda_turn(&s, 0));
    lib_leave(&s.w, before);
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
    VkCommandBuffer commands = ring_vulkan_commands(&s, &frame);
    LIB_INVALID(culv_vk_ring_submit(s.ring, VK_NULL_HANDLE, commands, VK_NULL_HANDLE, &frame),
                NULL_ARGUMENT);
    LIB_INVALID(culv_vk_ring_submit(s.ring, s.queue, VK_NULL_HANDLE, VK_NULL_HANDLE, &frame),
                NULL_ARGUMENT);
    LIB_OK(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame));
    ring_released(&s.vulkan, &frame);
    LIB_INVALID(culv_vk_ring_submit(s.ring, s.queue, commands, VK_NULL_HANDLE, &frame), RING_ORDER);
    /* A ring of nobody's. */
    const culv_ring_desc plain = {.struct_size = sizeof plain, .max_depth = 1};
    culv_ring *other = NULL;
    LIB_OK(culv_ring_create(s.w.device, &plain, &other));
    LIB_INVALID(culv_vk_ring_submit(other, s.queue, commands, VK_NULL_HANDLE, &frame), VALUE,
                "culv_vk_ring_submit: the ring is not one of culv_vk_ring_create()");
    LIB_INVALID(culv_vk_ring_record_copy(other, commands, 0, 0, s.host.buffer, 0, 4), VALUE);
    REQUIRE(culv_vk_ring_semaphore(other, CULV_RING_PRODUCER) == VK_NULL_HANDLE);
    REQUIRE(culv_vk_ring_barriers(other, 0, CULV_VK_ACQUIRE) == NULL);
    REQUIRE(culv_ring_buffer(other, 0, 0) == NULL && culv_ring_shared_image(other, 0, 0) == NULL);
    LIB_OK(culv_ring_destroy(&other, &s.stream));
    REQUIRE(other == NULL);
    ring_close(&s);
    REQUIRE_EQ(s.vulkan.verified, 1);
    ring_world_close(&s);
}

/* Where in the buffer an image may be copied to: multiples of 4 and of a texel. */
static void copy_offsets(ring_stage *s)
{
    static const struct {
        VkFormat format;
        VkDeviceSize texel;
    } rows[] = {{VK_FORMAT_R8_UNORM, 1},
                {VK_FORMAT_R8G8_UNORM, 2},
                {VK_FORMAT_R8G8B8A8_UNORM, 4},
                {VK_FORMAT_R16G16B16A16_SFLOAT, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        described d;
        culv_ring *ring = NULL;
        describe(s, &d);
        d.image.format = rows[i].format;
        LIB_OK(culv_vk_ring_create(s->w.attachment, s->w.vk.queues[0].queue, &d.ring, &ring));
        VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
        for (VkDeviceSize offset = 0; offset <= 16; offset++) {
            const VkDeviceSize bytes = RING_SIDE * RING_SIDE * rows[i].texel;
            if (offset == 8) /* once, so that no copy writes over another */
                LIB_OK(
                    culv_vk_ring_record_copy(ring, commands, 0, 1, s->host.buffer, offset, bytes));
            if (offset % 4 != 0 || offset % rows[i].texel != 0)
                LIB_ERROR(
                    culv_vk_ring_record_copy(ring, commands, 0, 1, s->host.buffer, offset, bytes),
                    INVALID, RANGE);
        }
        raw_vk_submit(&s->w.vk, commands, NULL);
        culv_ring_destroy(&ring, NULL);
    }
}

RINGS_CASE(copies)
{
    described d;
    culv_ring *ring = NULL;
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    VkBuffer to = s->host.buffer;
    describe(s, &d);
    LIB_OK(culv_vk_ring_create(s->w.attachment, s->w.vk.queues[0].queue, &d.ring, &ring));
    const culv_ring *r = ring;
    LIB_ERROR(culv_vk_ring_record_copy(r, VK_NULL_HANDLE, 0, 0, to, 0, RING_BYTES), INVALID,
              NULL_ARGUMENT);
    LIB_ERROR(culv_vk_ring_record_copy(r, commands, 0, 0, VK_NULL_HANDLE, 0, RING_BYTES), INVALID,
              NULL_ARGUMENT);
    LIB_ERROR(culv_vk_ring_record_copy(r, commands, 3, 0, to, 0, RING_BYTES), INVALID, RANGE);
    LIB_ERROR(culv_vk_ring_record_copy(r, commands, 0, 2, to, 0, RING_BYTES), INVALID, RANGE);
    for (uint32_t i = 0; i < 2; i++) {
        LIB_ERROR(culv_vk_ring_record_copy(r, commands, 0, i, to, 0, RING_BYTES - 1), INVALID,
                  RANGE, "4096");
    }
    culv_ring_destroy(&ring, NULL);
    copy_offsets(s);
    d.buffer.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    d.image.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
    d.resources[0].use = d.resources[1].use = CULV_VK_USE_ANY;
    LIB_OK(culv_vk_ring_create(s->w.attachment, s->w.vk.queues[0].queue, &d.ring, &ring));
    for (uint32_t i = 0; i < 2; i++)
        LIB_ERROR(culv_vk_ring_record_copy(ring, commands, 0, i, to, 0, RING_BYTES), INVALID,
                  USAGE);
    raw_vk_submit(&s->w.vk, commands, NULL);
    culv_ring_destroy(&ring, NULL);
}

/* What Vulkan was told, where it would mostly go well without. */
static struct {
    unsigned submits;
    VkSemaphoreSubmitInfo wait, signal; /* of the last vkQueueSubmit2; all zero: none */
    VkMemoryBarrier barrier;            /* of the last vkCmdPipelineBarrier since a copy */
    VkPipelineStageFlags from, to;
} seen;

static VKAPI_ATTR VkResult VKAPI_CALL see_submit(VkQueue queue, uint32_t count,
                                                 const VkSubmitInfo2 *infos, VkFence fence)
{
    REQUIRE_EQ(count, 1);
    seen.submits++;
    seen.wait = seen.signal = (VkSemaphoreSubmitInfo){.value = 0};
    if (infos->waitSemaphoreInfoCount > 0) seen.wait = infos->pWaitSemaphoreInfos[0];
    if (infos->signalSemaphoreInfoCount > 0) seen.signal = infos->pSignalSemaphoreInfos[0];
    return vkQueueSubmit2(queue, count, infos, fence);
}

static VKAPI_ATTR void VKAPI_CALL see_barrier(
    VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
    VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier *barriers, uint32_t buffer_count,
    const VkBufferMemoryBarrier *buffers, uint32_t image_count, const VkImageMemoryBarrier *images)
{
    seen.barrier = count > 0 ? barriers[0] : (VkMemoryBarrier){.srcAccessMask = 0};
    seen.from = from;
    seen.to = to;
    vkCmdPipelineBarrier(commands, from, to, flags, count, barriers, buffer_count, buffers,
                         image_count, images);
}

static PFN_vkVoidFunction VKAPI_CALL see_device_proc(VkDevice device, const char *name)
{
    if (strncmp(name, "vkQueueSubmit2", 14) == 0) return (PFN_vkVoidFunction)see_submit;
    if (strcmp(name, "vkCmdPipelineBarrier") == 0) return (PFN_vkVoidFunction)see_barrier;
    return vkGetDeviceProcAddr(device, name);
}

static PFN_vkVoidFunction VKAPI_CALL see_loader(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)see_device_proc;
    return vkGetInstanceProcAddr(instance, name);
}

/* The signal comes after all of the work, whatever the caller recorded; the wait comes before the
 * stage that the caller told, and what was copied is shown to the host. */
RINGS_CASE(told)
{
    const VkPipelineStageFlags2 all = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    culv_vk_detach(&s->w.attachment);
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    vd.get_instance_proc_addr = see_loader;
    LIB_OK(culv_vk_attach(s->w.device, &vd, &s->w.attachment));
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        ring_options o = ring_options_init((culv_ring_side)side, 4);
        o.settings.burst = 2;
        o.image = true;
        ring_open(s, &o);
        CUcontext before = lib_enter(&s->w);
        const culv_ring *ring = s->ring;
        const unsigned submits = seen.submits;
        for (int i = 0; i < 8; i++) { /* bursts of both, the last ones ended by a flush */
            const bool flushes = i == 7;
            if (side == CULV_RING_CONSUMER)
                for (int k = 0; k < 2; k++)
                    LIB_OK(ring_cuda_turn(s, RING_LIMIT));
            for (int k = 0; k < (flushes ? 1 : 2); k++)
                LIB_OK(ring_vulkan_turn(s, RING_LIMIT));
            if (flushes) LIB_OK(culv_ring_flush(s->ring, o.side, NULL));
            REQUIRE_EQ(seen.submits - submits, i + 1);
            REQUIRE(seen.signal.semaphore == culv_vk_ring_semaphore(ring, (culv_ring_side)side));
            REQUIRE_EQ(seen.signal.value, i + 1);
            REQUIRE_EQ(seen.signal.stageMask, all);
            if (side == CULV_RING_CONSUMER || i >= 2) REQUIRE_EQ(seen.wait.stageMask, all);
            if (flushes) ring_flushed(&s->vulkan, (uint64_t)i + 1);
            for (int k = 0; side == CULV_RING_PRODUCER && k < (flushes ? 1 : 2); k++)
                LIB_OK(ring_cuda_turn(s, RING_LIMIT));
        }
        culv_ring_frame frame;
        for (uint32_t i = 0; i < 2; i++) {
            VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
            memset(&seen.barrier, 0, sizeof seen.barrier);
            LIB_OK(culv_vk_ring_record_copy(ring, commands, 0, i, s->host.buffer, 0, RING_BYTES));
            REQUIRE_EQ(seen.from, VK_PIPELINE_STAGE_TRANSFER_BIT);
            REQUIRE_EQ(seen.to, VK_PIPELINE_STAGE_HOST_BIT);
            REQUIRE_EQ(seen.barrier.srcAccessMask, VK_ACCESS_TRANSFER_WRITE_BIT);
            REQUIRE_EQ(seen.barrier.dstAccessMask, VK_ACCESS_HOST_READ_BIT);
            VK_OK(vkEndCommandBuffer(commands)); /* not submitted: the slots are in use */
        }
        if (culv_ring_acquire(s->ring, o.side, 0, &frame) == CULV_OK) {
            VkSemaphoreSubmitInfo wait, signal;
            LIB_OK(culv_vk_ring_get_points(ring, &frame, &wait, &signal));
            REQUIRE_EQ(signal.stageMask, all);
            REQUIRE_EQ(wait.stageMask, all);
            LIB_OK(culv_ring_cancel(s->ring, o.side, &frame));
        }
        lib_leave(&s->w, before);
        ring_close(s);
    }
}

/* A device that lacks what a ring, or a call of it, is made of. */
RINGS_CASE(missing)
{
    static const char *const timeline[] = {"vkWaitSemaphores", "vkSignalSemaphore",
                                           "vkGetSemaphoreCounterValue"};
    described d;
    VkQueue queue = s->w.vk.queues[0].queue;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    vd.get_instance_proc_addr = lib_lying_loader;
    for (int i = 0; i < 4; i++) {
        culv_vk_device *vk = NULL;
        culv_ring *ring = NULL;
        lib_lying = (lib_lies){.missing = i < 3 ? timeline[i] : "vkQueueSubmit2"};
        if (culv_vk_attach(s->w.device, &vd, &vk) != CULV_OK) continue; /* it needs that itself */
        describe(s, &d);
        d.ring.num_resources = 1;
        if (i < 3) {
            LIB_REFUSES(ring, culv_vk_ring_create(vk, queue, &d.ring, &ring), UNSUPPORTED,
                        EXTENSION_MISSING);
        } else {
            culv_ring_frame frame = {.slot = 0};
            LIB_OK(culv_vk_ring_create(vk, queue, &d.ring, &ring));
            VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
            LIB_ERROR(culv_vk_ring_submit(ring, queue, commands, VK_NULL_HANDLE, &frame),
                      UNSUPPORTED, EXTENSION_MISSING);
            raw_vk_submit(&s->w.vk, commands, NULL);
            culv_ring_destroy(&ring, NULL);
        }
        culv_vk_detach(&vk);
    }
}
