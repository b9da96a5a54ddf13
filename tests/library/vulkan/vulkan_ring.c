/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: what they are made of, copies on every queue family, queue
 * families. */
#include "vulkan_ring_stage.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 3, .image = true), made)
{
    const culv_ring *ring = s->ring;
    REQUIRE_EQ(lib_counts(&s->w).created, 3 * 2 + 2);
    for (uint32_t slot = 0; slot < 4; slot++) {
        REQUIRE_EQ(culv_ring_shared_buffer(ring, slot, 0) != NULL, slot < 3);
        REQUIRE_EQ(culv_ring_shared_image(ring, slot, 1) != NULL, slot < 3);
        REQUIRE_EQ(culv_ring_pointer(ring, slot, 0) != 0, slot < 3);
        REQUIRE_EQ(culv_ring_pointer(ring, slot, 0),
                   culv_buffer_pointer(culv_ring_buffer(ring, slot, 0)));
        REQUIRE_EQ(culv_ring_pointer(ring, slot, 1), 0); /* an image */
        REQUIRE_EQ(culv_ring_pointer(ring, slot, 2), 0);
        REQUIRE(culv_ring_shared_buffer(ring, slot, 1) == NULL);
        REQUIRE(culv_ring_shared_image(ring, slot, 0) == NULL);
        REQUIRE(culv_ring_shared_buffer(ring, slot, 2) == NULL);
        REQUIRE(culv_ring_shared_image(ring, slot, 2) == NULL);
    }
    REQUIRE(culv_ring_image(ring, 2, 1) ==
            culv_shared_image_cuda(culv_ring_shared_image(ring, 2, 1)));
    REQUIRE(culv_vk_ring_barriers(ring, 3, CULV_VK_ACQUIRE) == NULL);
    VkSemaphore ready = culv_vk_ring_semaphore(ring, CULV_RING_PRODUCER);
    VkSemaphore done = culv_vk_ring_semaphore(ring, CULV_RING_CONSUMER);
    REQUIRE(ready != VK_NULL_HANDLE && done != VK_NULL_HANDLE && ready != done);
    REQUIRE(culv_vk_ring_semaphore(ring, (culv_ring_side)2) == VK_NULL_HANDLE);

    /* What a frame says. */
    LIB_OK(ring_cuda_turn(s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &frame));
    VkSemaphoreSubmitInfo wait, signal;
    LIB_OK(culv_vk_ring_get_points(ring, &frame, &wait, &signal));
    REQUIRE(wait.semaphore == ready && signal.semaphore == done);
    REQUIRE_EQ(wait.value, 1);
    REQUIRE_EQ(wait.stageMask, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
    REQUIRE_EQ(frame.signal_value, 0); /* before the release */
    const VkDependencyInfo *both[] = {culv_vk_ring_barriers(ring, frame.slot, CULV_VK_ACQUIRE),
                                      culv_vk_ring_barriers(ring, frame.slot, CULV_VK_RELEASE)};
    for (int i = 0; i < 2; i++) {
        REQUIRE_EQ(both[i]->bufferMemoryBarrierCount, 1);
        REQUIRE_EQ(both[i]->imageMemoryBarrierCount, 1);
        const VkBufferMemoryBarrier2 *b = both[i]->pBufferMemoryBarriers;
        const VkImageMemoryBarrier2 *m = both[i]->pImageMemoryBarriers;
        REQUIRE(b->buffer == culv_vk_buffer_handle(culv_ring_shared_buffer(ring, 0, 0)));
        REQUIRE(m->image == culv_vk_image_handle(culv_ring_shared_image(ring, 0, 1)));
        uint32_t from = i == 0 ? VK_QUEUE_FAMILY_EXTERNAL : 0,
                 to = i == 0 ? 0 : VK_QUEUE_FAMILY_EXTERNAL;
        REQUIRE(b->srcQueueFamilyIndex == from && b->dstQueueFamilyIndex == to);
        REQUIRE(m->srcQueueFamilyIndex == from && m->dstQueueFamilyIndex == to);
        REQUIRE_EQ(i == 0 ? m->oldLayout : m->newLayout, VK_IMAGE_LAYOUT_GENERAL);
        REQUIRE_EQ(i == 0 ? m->newLayout : m->oldLayout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    }
    LIB_OK(culv_ring_cancel(s->ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_vulkan_turn(s, 0));
    ring_close(s);
    REQUIRE_EQ(lib_counts(&s->w).created, 0);
}

/* What several queue families share names none of them in its barriers. */
RING_CASE(RING(.side = CULV_RING_PRODUCER, .depth = 2, .handed_in = true, .own = true,
               .concurrent = true),
          concurrent)
{
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_PRODUCER, 0, &frame));
    const VkBufferMemoryBarrier2 *in =
        culv_vk_ring_barriers(s->ring, frame.slot, CULV_VK_ACQUIRE)->pBufferMemoryBarriers;
    const VkBufferMemoryBarrier2 *out =
        culv_vk_ring_barriers(s->ring, frame.slot, CULV_VK_RELEASE)->pBufferMemoryBarriers;
    REQUIRE(in->srcQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL &&
            in->dstQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED);
    REQUIRE(out->srcQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED &&
            out->dstQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL);
    LIB_OK(culv_ring_cancel(s->ring, CULV_RING_PRODUCER, &frame));
}

/* Slots and timelines alone. */
RINGS_CASE(no_resources)
{
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    d.queue_family = 0;
    REQUIRE_EQ(d.side, CULV_RING_CONSUMER);
    d.max_depth = 2;
    d.wait_stage = VK_PIPELINE_STAGE_2_TRANSFER_BIT;
    NEW(OWN(culv_ring), ring, culv_vk_ring_create, s->w.attachment, s->w.vk.queues[0].queue, &d);
    culv_ring_frame frame;
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, s->stream, 0, &frame));
    LIB_OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, s->stream, &frame));
    LIB_OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, 0, &f));
    VkSemaphoreSubmitInfo wait, signal;
    LIB_OK(culv_vk_ring_get_points(ring, &f, &wait, &signal));
    REQUIRE_EQ(wait.stageMask, VK_PIPELINE_STAGE_2_TRANSFER_BIT);
    const VkDependencyInfo *none = culv_vk_ring_barriers(ring, f.slot, CULV_VK_ACQUIRE);
    REQUIRE_EQ(none->bufferMemoryBarrierCount + none->imageMemoryBarrierCount, 0);
    LIB_OK(culv_ring_cancel(ring, CULV_RING_CONSUMER, &f));
    lib_finish(&s->w, s->stream);
    culv_ring_destroy(&ring, NULL);
}

/* record_copy(), which is the consumer's whole work here, where queues copy. */
RINGS_CASE(queue_families)
{
    for (uint32_t family = 0; family < s->w.vk.queue_count; family++) {
        VkQueueFlags flags = s->w.vk.queues[family].flags;
        const VkQueueFlags common = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT |
                                    VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT |
                                    VK_QUEUE_PROTECTED_BIT;
        bool draws = (flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0;
        if (!draws && ((flags & VK_QUEUE_TRANSFER_BIT) == 0 || (flags & ~common) != 0)) continue;
        for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
            ring_open(
                s, RING(.side = (culv_ring_side)side, .depth = 4, .image = true, .family = family));
            ring_run(s, 20);
            ring_close(s);
        }
        printf("family %u copies\n", family);
    }
}

/* Which family --------------------------------------------------------------------------------- */

static VkQueueFamilyProperties families[8];
static uint32_t num_families;

static VKAPI_ATTR void VKAPI_CALL told_families(VkPhysicalDevice device, uint32_t *count,
                                                VkQueueFamilyProperties *out)
{
    for (uint32_t i = 0; out != NULL && i < *count && i < num_families; i++)
        out[i] = families[i];
    *count = num_families;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL told_loader(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0)
        return (PFN_vkVoidFunction)told_families;
    return vkGetInstanceProcAddr(instance, name);
}

static void tell(const VkQueueFlags *flags, uint32_t count)
{
    num_families = count;
    for (uint32_t i = 0; i < count; i++)
        families[i] = (VkQueueFamilyProperties){.queueFlags = flags[i], .queueCount = 1};
}

enum {
    G = VK_QUEUE_GRAPHICS_BIT,
    K = VK_QUEUE_COMPUTE_BIT,
    T = VK_QUEUE_TRANSFER_BIT,
    S = VK_QUEUE_SPARSE_BINDING_BIT,
    DECODE = VK_QUEUE_VIDEO_DECODE_BIT_KHR,
    NONE = -1
};

TEST(picked_families)
{
    const struct {
        VkQueueFlags flags[6];
        uint32_t count;
        int graphics, compute, copy;
    } rows[] = {
        {{G | K | T | S, T | S, K | T | S, T | S | DECODE}, 4, 0, 2, 1}, /* NVIDIA */
        {{G | K | T}, 1, 0, 0, 0},                                       /* lavapipe, Intel */
        {{G | K | T | S, K | T | S, T | S}, 3, 0, 1, 2},                 /* AMD */
        {{T | S | DECODE, K, G | K}, 3, 2, 1, 1},
        {{T, T, K | T, K | T, G, G | K}, 6, 5, 2, 0},
        {{DECODE | T}, 1, NONE, NONE, 0}, /* better than none */
        {{S, DECODE}, 2, NONE, NONE, NONE},
        {{T}, 1, NONE, NONE, 0},
    };
    lib_world w;
    lib_open(&w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tell(rows[i].flags, rows[i].count);
        const int expected[] = {rows[i].graphics, rows[i].compute, rows[i].copy};
        for (int use = CULV_VK_QUEUE_GRAPHICS; use <= CULV_VK_QUEUE_COPY; use++) {
            uint32_t out = 77;
            if (expected[use] == NONE) {
                LIB_ERROR(culv_vk_find_queue_family(told_loader, w.vk.instance, w.vk.physical,
                                                    (culv_vk_queue_use)use, &out),
                          UNSUPPORTED, USAGE);
                REQUIRE_EQ(out, 77);
                continue;
            }
            LIB_OK(culv_vk_find_queue_family(told_loader, w.vk.instance, w.vk.physical,
                                             (culv_vk_queue_use)use, &out));
            REQUIRE_EQ(out, expected[use]);
        }
    }
    /* A family without queues is nobody's. */
    tell((const VkQueueFlags[]){G | K | T, T}, 2);
    families[1].queueCount = 0;
    uint32_t out = 77;
    LIB_OK(culv_vk_find_queue_family(told_loader, w.vk.instance, w.vk.physical, CULV_VK_QUEUE_COPY,
                                     &out));
    REQUIRE_EQ(out, 0);
    /* This machine's. */
    for (int use = CULV_VK_QUEUE_GRAPHICS; use <= CULV_VK_QUEUE_COPY; use++) {
        LIB_OK(culv_vk_find_queue_family(vkGetInstanceProcAddr, w.vk.instance, w.vk.physical,
                                         (culv_vk_queue_use)use, &out));
        MEASURED("ring.queue_family", "use %d: family %u", use, out);
        REQUIRE(out < w.vk.queue_count);
        if (use == CULV_VK_QUEUE_GRAPHICS) REQUIRE((w.vk.queues[out].flags & G) != 0);
        if (use == CULV_VK_QUEUE_COMPUTE) REQUIRE((w.vk.queues[out].flags & K) != 0);
    }
    LIB_ERROR(culv_vk_find_queue_family(told_loader, w.vk.instance, w.vk.physical,
                                        (culv_vk_queue_use)3, &out),
              INVALID, VALUE);
    lib_close(&w);
}

/* Blocks that Vulkan holds by the caller's functions. */
typedef struct blocks {
    atomic_ulong made, held;
} blocks;

static void *VKAPI_PTR allocate(void *user, size_t size, size_t alignment,
                                VkSystemAllocationScope scope)
{
    blocks *b = user;
    void *block = NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&block, alignment, size) != 0) return NULL;
    atomic_fetch_add(&b->made, 1);
    atomic_fetch_add(&b->held, 1);
    return block;
}

static void VKAPI_PTR release(void *user, void *block)
{
    blocks *b = user;
    if (block != NULL) atomic_fetch_sub(&b->held, 1);
    free(block);
}

static void *VKAPI_PTR reallocate(void *user, void *block, size_t size, size_t alignment,
                                  VkSystemAllocationScope scope)
{
    void *next = size != 0 ? allocate(user, size, alignment, scope) : NULL;
    if (block == NULL || (size != 0 && next == NULL)) return next;
    if (next != NULL) {
        const size_t before = malloc_usable_size(block);
        memcpy(next, block, before < size ? before : size);
    }
    release(user, block);
    return next;
}

/* Every call that makes or destroys something gets the caller's functions, which the attachment
 * copies. */
RINGS_CASE(callbacks, .title = "allocation_callbacks")
{
    blocks b = {0};
    culv_vk_device *usual = s->w.attachment;
    culv_vk_device_desc d = lib_vk_desc(&s->w);
    VkAllocationCallbacks functions = {.pUserData = &b,
                                       .pfnAllocation = allocate,
                                       .pfnReallocation = reallocate,
                                       .pfnFree = release};
    d.allocation_callbacks = &functions;
    LIB_OK(culv_vk_attach(s->w.device, &d, &s->w.attachment));
    memset(&functions, 0, sizeof functions);
    ring_open(s, RING(.side = CULV_RING_CONSUMER, .depth = 3, .image = true));
    ring_run(s, 6);
    if (s->w.cu->software) REQUIRE(atomic_load(&b.made) > 0);
    ring_close(s);
    culv_vk_detach(&s->w.attachment);
    s->w.attachment = usual;
    REQUIRE_EQ(atomic_load(&b.held), 0);
}

/* Rings between CUDA and Vulkan: buffers and images both ways, each byte verified by the other
 * side, submitted by the ring and by hand. backend-vulkan has what all rings promise. */

static void both_ways(ring_options o, uint64_t frames)
{
    ring_stage s;
    ring_world_open(&s);
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        o.side = (culv_ring_side)side;
        ring_open(&s, &o);
        ring_run(&s, frames);
        ring_close(&s);
        const ring_half *consumer = side == CULV_RING_CONSUMER ? &s.vulkan : &s.cuda;
        REQUIRE_EQ(consumer->frames, frames);
        REQUIRE_EQ(consumer->verified, frames);
        REQUIRE_EQ(consumer->skipped, 0);
    }
    ring_world_close(&s);
}

/* One slot, several, and bursts of them; made by Culvert or handed in; the caller's own VkBuffers
 * and VkImages, with CUDA's halves that he mapped; submitted by the ring or by hand. */
TEST(deep, .smoke = true)
{
    static const struct {
        uint32_t depth, burst;
        bool handed_in, own, by_hand;
    } rows[] = {{1, 1, .by_hand = false},
                {8, 4, .by_hand = false},
                {3, 1, .handed_in = true},
                {3, 1, .handed_in = true, .own = true},
                {4, 2, .by_hand = true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const ring_options o = {.depth = rows[i].depth,
                                .settings.burst = rows[i].burst,
                                .image = true,
                                .handed_in = rows[i].handed_in,
                                .own = rows[i].own,
                                .way = rows[i].by_hand ? BY_HAND : BY_SUBMIT};
        both_ways(o, 96);
    }
}

/* A fence in the middle of a burst is the submission's that has its frame; so is what came before
 * it. */
RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 8, .settings.burst = 4), fences)
{
    VkDevice device = s->w.vk.device;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    VK_OK(vkCreateFence(device, &info, NULL, &fence));
    for (uint32_t at = 0; at < 4; at++) { /* where in the burst */
        for (int i = 0; i < 4; i++)
            LIB_OK(ring_cuda_turn(s, 0));
        for (uint32_t i = 0; i < 4; i++) {
            culv_ring_frame frame;
            LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &frame));
            VkCommandBuffer commands = ring_vulkan_commands(s, &frame);
            LIB_OK(culv_vk_ring_submit(s->ring, s->queue, commands,
                                       i == at ? fence : VK_NULL_HANDLE, &frame));
            ring_released(&s->vulkan, &frame);
            REQUIRE_EQ(frame.signal_value != 0, i == 3);
            if (i == at) VK_OK(vkWaitForFences(device, 1, &fence, VK_TRUE, RING_LIMIT));
        }
        VK_OK(vkResetFences(device, 1, &fence));
    }
    LIB_OK(ring_cuda_turn(s, 0));
    LIB_OK(culv_ring_flush_on(s->ring, CULV_RING_PRODUCER, s->stream));
    ring_flushed(&s->cuda, ring_stats(s).ready_signaled);
    LIB_OK(ring_vulkan_turn(s, 0));
    uint64_t done = ring_stats(s).done_signaled;
    LIB_OK(culv_ring_flush(s->ring, CULV_RING_CONSUMER, NULL));
    REQUIRE_EQ(ring_stats(s).done_signaled,
               done); /* the one frame was all that there was: a burst of its own */
    LIB_OK(culv_ring_flush(s->ring, CULV_RING_CONSUMER, NULL));
    ring_close(s);
    REQUIRE_EQ(s->vulkan.verified, 17);
    vkDestroyFence(device, fence, NULL);
}

TEST_AS(deep_across, lib_run_across(deep), .title = "across.deep", .own = true)

/* Rings between CUDA and Vulkan: what is refused, and why. */

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

static void describe_as(const ring_stage *s, described *d)
{
    d->ring = ring_desc(s, &d->options, d->resources, &d->buffer, &d->image, &d->buffer_desc,
                        &d->image_desc);
}

static void describe(const ring_stage *s, described *d)
{
    d->options = *RING(.side = CULV_RING_CONSUMER, .depth = 3, .image = true,
                       .settings.struct_size = sizeof d->options.settings);
    describe_as(s, d);
}

#define REFUSED(...)                                                                               \
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring), INVALID,        \
                __VA_ARGS__)

RINGS_CASE(descriptors)
{
    described d;
    culv_ring *ring = NULL;
    VkQueue queue = s->w.vk.queues[0].queue;
    describe(s, &d);
#define ROW(what, change, ...) SPOILT(d.what, d.what.change, REFUSED(__VA_ARGS__))
    ROW(ring, struct_size = 3, STRUCT_SIZE, "culv_vk_ring_desc");
    ROW(ring, resources = NULL, NULL_ARGUMENT, "resources");
    ROW(ring, waits = (culv_ring_waits)3, VALUE, "waits is 3");
    ROW(ring, queue_family = 4096, VALUE, "queue_family is 4096");
    ROW(ring, queue_family = culv_vk_ring_desc_init().queue_family, VALUE,
        "queue_family is not set");
    ROW(ring, queue_family = VK_QUEUE_FAMILY_EXTERNAL, VALUE, "queue_family");
    ROW(resources[1], image = NULL, VALUE, "resources[1]");
    ROW(resources[0], image = &d.image_desc, VALUE, "resources[0]");
    ROW(image_desc, struct_size = 1, STRUCT_SIZE, "culv_vk_image_create_desc");
    ROW(image_desc, create_info = NULL, NULL_ARGUMENT, "create_info");
    ROW(buffer_desc, create_info = NULL, NULL_ARGUMENT, "create_info");
    ROW(image, samples = VK_SAMPLE_COUNT_4_BIT, USAGE, "sample");
    ROW(resources[1], use = CULV_VK_USE_VERTEX_BUFFER, VALUE, "VERTEX_BUFFER");
    ROW(resources[0], use = CULV_VK_USE_COLOR_ATTACHMENT, VALUE, "COLOR_ATTACHMENT");
    ROW(resources[0], stage = VK_PIPELINE_STAGE_2_HOST_BIT, VALUE, "HOST");
#undef ROW
    LIB_REFUSES(ring, culv_vk_ring_create(s->w.attachment, VK_NULL_HANDLE, &d.ring, &ring), INVALID,
                NULL_ARGUMENT);
    REQUIRE_EQ(lib_counts(&s->w).created, 0);
    REQUIRE_EQ(lib_counts(&s->w).semaphores, 0);
}

/* Objects handed in. */
RINGS_CASE(strangers)
{
    described d;
    culv_ring *ring = NULL;
    VkQueue queue = s->w.vk.queues[0].queue;
    culv_vk_device *other = lib_attach(&s->w, vkGetInstanceProcAddr);
    describe(s, &d);
    d.options.handed_in = true;
    describe_as(s, &d);
    REFUSED(NULL_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        LIB_OK(culv_vk_buffer_create(s->w.attachment, &d.buffer_desc, &s->buffers[i]));
        LIB_OK(culv_vk_image_create(i < 2 ? s->w.attachment : other, &d.image_desc, &s->images[i]));
    }
    REFUSED(DEVICE_MISMATCH, "resources[1]");
    /* One buffer for two slots. */
    culv_shared_buffer *third = s->buffers[2];
    s->buffers[2] = s->buffers[0];
    REFUSED(VALUE, "resources[0] has for slot 2 what resources[0] has for slot 0");
    s->buffers[2] = third;
    /* The same as VkBuffers and VkImages; destroys of what wraps them are refused. */
    d.options.own = true;
    for (int i = 0; i < 3; i++) {
        s->own_buffers[i] = (culv_vk_own_buffer){culv_vk_buffer_handle(s->buffers[i]),
                                                 culv_shared_buffer_cuda(s->buffers[i]), 0, 0};
        s->own_images[i] = (culv_vk_own_image){culv_vk_image_handle(s->images[i]),
                                               culv_shared_image_cuda(s->images[i]), 0, 0};
    }
    describe_as(s, &d);
    s->own_buffers[2].cuda = NULL;
    REFUSED(NULL_ARGUMENT, "resources[0].own_buffers[2].cuda is NULL");
    s->own_buffers[2] = s->own_buffers[0];
    REFUSED(VALUE, "resources[0] has for slot 2 what resources[0] has for slot 0");
    /* What Culvert did not make stays the caller's. */
    raw_vk_buffer callers = lib_case_buffer(&s->w, 4096, RAW_VK_EXPORT);
    OWN(culv_memory) *memory = lib_import(&s->w, &callers);
    NEW(culv_buffer, mapped, culv_buffer_map, memory, NULL);
    s->own_buffers[2] = (culv_vk_own_buffer){callers.buffer, mapped, 0, 0};
    const VkImage third_image = s->own_images[2].image;
    s->own_images[2].image = VK_NULL_HANDLE;
    REFUSED(NULL_ARGUMENT, "resources[1].own_images[2].image is NULL");
    s->own_images[2].image = third_image;
    LIB_OK(culv_vk_ring_create(s->w.attachment, queue, &d.ring, &ring));
    culv_shared_buffer *wrapped = culv_ring_shared_buffer(ring, 1, 0);
    REQUIRE(culv_vk_buffer_handle(wrapped) == culv_vk_buffer_handle(s->buffers[1]));
    REQUIRE_EQ(culv_ring_pointer(ring, 1, 0), culv_shared_buffer_pointer(s->buffers[1]));
    culv_shared_buffer_destroy(&wrapped, NULL);
    REQUIRE(wrapped != NULL);
    culv_ring_destroy(&ring, NULL);
    LIB_OK(culv_buffer_unmap(&mapped, NULL));
    for (int i = 0; i < 3; i++) {
        culv_shared_buffer_destroy(&s->buffers[i], NULL);
        culv_shared_image_destroy(&s->images[i], NULL);
    }
    culv_vk_detach(&other);
}

RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 2), calls)
{
    culv_ring_frame frame;
    LIB_OK(ring_cuda_turn(s, 0));
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &frame));
    VkCommandBuffer commands = ring_vulkan_commands(s, &frame);
    LIB_OK(culv_vk_ring_submit(s->ring, s->queue, commands, VK_NULL_HANDLE, &frame));
    ring_released(&s->vulkan, &frame);
    LIB_INVALID(culv_vk_ring_submit(s->ring, s->queue, commands, VK_NULL_HANDLE, &frame),
                RING_ORDER);
    /* A ring of nobody's-> */
    const culv_ring_desc plain = {.struct_size = sizeof plain, .max_depth = 1};
    NEW(culv_ring, other, culv_ring_create, s->w.device, &plain);
    LIB_INVALID(culv_vk_ring_submit(other, s->queue, commands, VK_NULL_HANDLE, &frame), VALUE,
                "culv_vk_ring_submit: the ring is not one of culv_vk_ring_create()");
    LIB_INVALID(culv_vk_ring_record_copy(other, commands, 0, 0, s->host.buffer, 0, 4), VALUE);
    REQUIRE(culv_vk_ring_semaphore(other, CULV_RING_PRODUCER) == VK_NULL_HANDLE);
    REQUIRE(culv_vk_ring_barriers(other, 0, CULV_VK_ACQUIRE) == NULL);
    REQUIRE(culv_ring_buffer(other, 0, 0) == NULL && culv_ring_shared_image(other, 0, 0) == NULL);
    LIB_OK(culv_ring_destroy(&other, &s->stream));
    REQUIRE(other == NULL);
    ring_close(s);
    REQUIRE_EQ(s->vulkan.verified, 1);
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
        OWN(culv_ring) *ring = NULL;
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
        ring_open(
            s, RING(.side = (culv_ring_side)side, .depth = 4, .settings.burst = 2, .image = true));
        const culv_ring *ring = s->ring;
        const unsigned submits = seen.submits;
        for (int i = 0; i < 8; i++) { /* bursts of both, the last ones ended by a flush */
            const bool flushes = i == 7;
            if (side == CULV_RING_CONSUMER)
                for (int k = 0; k < 2; k++)
                    LIB_OK(ring_cuda_turn(s, RING_LIMIT));
            for (int k = 0; k < (flushes ? 1 : 2); k++)
                LIB_OK(ring_vulkan_turn(s, RING_LIMIT));
            if (flushes) LIB_OK(culv_ring_flush(s->ring, s->o.side, NULL));
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
        if (culv_ring_acquire(s->ring, s->o.side, 0, &frame) == CULV_OK) {
            VkSemaphoreSubmitInfo wait, signal;
            LIB_OK(culv_vk_ring_get_points(ring, &frame, &wait, &signal));
            REQUIRE(signal.stageMask == all && wait.stageMask == all);
            LIB_OK(culv_ring_cancel(s->ring, s->o.side, &frame));
        }
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
    for (int i = 0; i < 5; i++) {
        culv_vk_device *vk = NULL;
        culv_ring *ring = NULL;
        lib_lying = (lib_lies){.missing = i < 3    ? timeline[i]
                                          : i == 3 ? "vkQueueSubmit2"
                                                   : NULL,
                               .exports_no_semaphores = i == 4};
        if (culv_vk_attach(s->w.device, &vd, &vk) != CULV_OK) continue; /* it needs that itself */
        describe(s, &d);
        d.ring.num_resources = i < 4 ? 1 : 2;
        if (i == 4) { /* what one resource may, the timelines may */
            d.resources[0] = d.resources[1];
            culv_vk_image_create_desc copied = d.image_desc;
            copied.fallback = CULV_FALLBACK_HOST;
            d.resources[0].image = &copied;
            LIB_OK(culv_vk_ring_create(vk, queue, &d.ring, &ring));
            REQUIRE_EQ(culv_semaphore_sharing(culv_ring_semaphore(ring, CULV_RING_CONSUMER)),
                       CULV_SHARING_HOST);
            culv_ring_destroy(&ring, NULL);
        } else if (i < 3) {
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

/* Rings between CUDA and Vulkan: waits in slices. */

enum { MS = 1000000 };

/* A kernel of CUDA's faults while Vulkan's queue waits for its frame. The VkDevice is whole, the
 * frame's value never comes, and the host signals in CUDA's place. */
RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 4, .image = true), cuda_faults, .faults = true)
{
    const raw_cuda *cu = s->w.cu;
    culv_ring_frame frame;
    raw_vk_buffer buffer;
    CUdeviceptr nowhere = 0x1000;
    uint32_t value = 1, word = 0;
    void *params[] = {&nowhere, &value};
    ring_run(s, 4);
    ring_settle(s);
    NEW(culv_shared_semaphore, gate, culv_vk_semaphore_create, s->w.attachment, NULL);
    LIB_OK(culv_ring_acquire_on(s->ring, CULV_RING_PRODUCER, s->stream, RING_LIMIT, &frame));
    LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s->stream, 1));
    LIB_CU_OK(&s->w, cu->LaunchKernel(raw_cuda_function(cu, s->module, "library_poke"), 1, 1, 1, 32,
                                      1, 1, 0, s->stream, params, NULL));
    LIB_OK(culv_ring_release_on(s->ring, CULV_RING_PRODUCER, s->stream, &frame));
    LIB_OK(ring_vulkan_turn(s, 0));
    raw_vk_timeline_signal(&s->w.vk, culv_vk_semaphore_handle(gate), 1);
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < TEST_FAR_MS && (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY); i++) {
        r = lib_query(&s->w, s->stream);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    const VkSemaphore ready = culv_vk_ring_semaphore(s->ring, CULV_RING_PRODUCER);
    REQUIRE(!raw_vk_timeline_wait(&s->w.vk, ready, frame.signal_value, 50));
    LIB_ERROR(culv_ring_acquire_on(s->ring, CULV_RING_PRODUCER, s->stream, RING_LIMIT, &frame),
              ASYNC, EARLIER_FAILURE);
    LIB_ERROR(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &frame), ASYNC, RING_STOPPED);
    LIB_OK(culv_ring_drain(s->ring, 20 * MS, 1));
    raw_vk_idle(&s->w.vk);
    raw_vk_buffer_create(&s->w.vk, 4096, 0, &buffer);
    raw_vk_fill(&s->w.vk, &buffer, 0, 4096, 0x51525354u, NULL);
    raw_vk_read(&s->w.vk, &buffer, 4092, &word, 4);
    REQUIRE_EQ(word, 0x51525354u);
    raw_vk_buffer_destroy(&s->w.vk, &buffer);
    culv_shared_semaphore_destroy(&gate, NULL);
    LIB_OK(culv_ring_destroy(&s->ring, NULL));
    test_pass(); /* the context is not to be used any further in this process */
}

static void *signal_later(void *user)
{
    ring_stage *s = user;
    lib_sleep_ms(600);
    raw_vk_timeline_signal(&s->w.vk, culv_vk_ring_semaphore(s->ring, CULV_RING_CONSUMER), 1);
    return NULL;
}

/* Lines that Culvert wrote to stderr since it was redirected to the file. */
static unsigned lines_in(FILE *file)
{
    unsigned lines = 0;
    char line[2048];
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL)
        lines += strncmp(line, "culvert ", 8) == 0;
    return lines;
}

/* The library waits for a timeline in slices of a quarter of a second. The end of one is no error;
 * that of the last, once. */
TEST(long_waits)
{
    for (int in_time = 0; in_time < 2; in_time++) {
        ring_stage s;
        pthread_t later;
        REQUIRE(setenv("CULVERT_LOG", "error", 1) == 0);
        ring_case_open(
            &s, RING(.side = CULV_RING_CONSUMER, .depth = 2, .settings.max_frames_in_flight = 1));
        culv_ring_frame mine, frame;
        for (int i = 0; i < 2; i++) {
            LIB_OK(ring_cuda_turn(&s, 0));
            LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &mine));
            LIB_OK(culv_ring_release(s.ring, CULV_RING_CONSUMER, &mine)); /* and no more */
        }
        FILE *log = tmpfile();
        const int screen = dup(STDERR_FILENO);
        REQUIRE(log != NULL && screen >= 0 && fflush(stderr) == 0);
        if (in_time) REQUIRE(pthread_create(&later, NULL, signal_later, &s) == 0);
        REQUIRE(dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
        const culv_result result =
            culv_ring_acquire(s.ring, CULV_RING_PRODUCER, in_time ? RING_LIMIT : 600 * MS, &frame);
        REQUIRE(fflush(stderr) == 0 && dup2(screen, STDERR_FILENO) == STDERR_FILENO);
        REQUIRE_EQ(result, in_time ? CULV_OK : CULV_ERROR_TIMEOUT);
        REQUIRE_EQ(lines_in(log), in_time ? 0 : 1);
        REQUIRE(fclose(log) == 0);
        (void)close(screen);
        if (in_time) {
            REQUIRE(pthread_join(later, NULL) == 0);
            LIB_OK(culv_ring_cancel(s.ring, CULV_RING_PRODUCER, &frame));
        }
        LIB_OK(culv_ring_drain(s.ring, 0, 1));
        ring_case_close(&s);
    }
}

#undef TEST_GROUP
#define TEST_GROUP "lost."
/* The engine's own submission says that the device is lost: the ring is stopped, and CUDA, which
 * waits for that frame's slot, goes on. */
RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 2), by_failure)
{
    culv_ring_frame frame, next;
    for (int i = 0; i < 2; i++)
        LIB_OK(ring_cuda_turn(s, 0));
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, 0, &frame));
    LIB_OK(culv_ring_release(s->ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_cuda_turn(s, 0));
    REQUIRE_EQ(lib_query(&s->w, s->stream), CUDA_ERROR_NOT_READY);
    LIB_ERROR(culv_vk_ring_submit_failed(s->ring, &frame, VK_NOT_READY), INVALID, VALUE);
    LIB_OK(culv_vk_ring_submit_failed(s->ring, &frame, VK_ERROR_OUT_OF_HOST_MEMORY));
    const uint64_t value = frame.signal_value; /* promised once more */
    LIB_OK(culv_ring_release(s->ring, CULV_RING_CONSUMER, &frame));
    REQUIRE_EQ(frame.signal_value, value);
    LIB_ERROR(culv_vk_ring_submit_failed(s->ring, &frame, VK_ERROR_DEVICE_LOST), ASYNC,
              DEVICE_LOST);
    LIB_ERROR(culv_ring_acquire(s->ring, CULV_RING_PRODUCER, 0, &next), ASYNC, RING_STOPPED);
    lib_finish(&s->w, s->stream);
    ring_forget(s);
    culv_ring_destroy(&s->ring, NULL);
}

#undef TEST_GROUP
#define TEST_GROUP ""
/* How an engine paces itself beside a ring: the host waits for a timeline of its own, which is not
 * exported, and then uses again what that frame had. The validation layer follows such a timeline,
 * and says nothing; of one that is exported it does not learn what it reached (docs/ring.md). */

RING_CASE(RING(.side = CULV_RING_CONSUMER, .depth = 3), paced)
{
    enum { FRAMES = 200, AHEAD = 2 };
    VkDevice device = s->w.vk.device;
    VkCommandPool pools[AHEAD];
    VkCommandBuffer all[AHEAD];
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                       .commandBufferCount = 1};
    for (int i = 0; i < AHEAD; i++) {
        VK_OK(vkCreateCommandPool(device, &pool, NULL, &pools[i]));
        one.commandPool = pools[i];
        VK_OK(vkAllocateCommandBuffers(device, &one, &all[i]));
    }
    VkSemaphore pace = raw_vk_timeline(&s->w.vk, 0, false);
    for (uint64_t n = 1; n <= FRAMES; n++) {
        const VkCommandBufferBeginInfo begin = {.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        VkCommandBuffer commands = all[n % AHEAD];
        culv_ring_frame frame;
        if (n > AHEAD) {
            REQUIRE(raw_vk_timeline_wait(&s->w.vk, pace, n - AHEAD, TEST_FAR_MS));
            VK_OK(vkResetCommandPool(device, pools[n % AHEAD], 0));
        }
        LIB_OK(ring_cuda_turn(s, RING_LIMIT));
        LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, RING_LIMIT, &frame));
        VK_OK(vkBeginCommandBuffer(commands, &begin));
        LIB_OK(culv_vk_ring_record_copy(s->ring, commands, frame.slot, 0, s->host.buffer, 0,
                                        RING_BYTES));
        VK_OK(vkEndCommandBuffer(commands));
        ring_submit_by_hand(s, commands, &frame, pace, n);
    }
    LIB_OK(culv_ring_drain(s->ring, RING_LIMIT, 0));
    ring_forget(s);
    raw_vk_idle(&s->w.vk);
    raw_vk_timeline_destroy(&s->w.vk, pace);
    for (int i = 0; i < AHEAD; i++)
        vkDestroyCommandPool(device, pools[i], NULL);
    ring_close(s);
    REQUIRE_EQ(s->w.vk.validation_messages, 0);
}

#undef TEST_GROUP
#define TEST_GROUP "checkpoint."
/* Checkpoints: a device is suspended before and resumed after, and every word is right on both
 * sides. What is lost without that: checkpoints.* of the contract suite. */

enum { BIG = 4 << 20, BIG_WORDS = BIG / 4 };

TEST(agent)
{
    raw_checkpoint_agent();
}

static void count_move(void *context, const culv_moved_buffer *buffer)
{
    REQUIRE(buffer->before != buffer->now && buffer->size > 0);
    ++*(unsigned *)context;
}

static unsigned checkpoint(const lib_world *w)
{
    unsigned moved = 0;
    culv_suspend_desc sd = culv_suspend_desc_init();
    culv_resume_desc rd = culv_resume_desc_init();
    sd.imports_live = 1;
    rd.moved = count_move;
    rd.context = &moved;
    LIB_OK(culv_device_suspend(w->device, &sd));
    lib_require_driver_counts(w, 0, 0, 0);
    const raw_checkpoint c = raw_checkpoint_run(w->cu, "checkpoint.agent");
    REQUIRE_EQ(c.lock | c.checkpoint | c.restore | c.unlock, CUDA_SUCCESS);
    REQUIRE_EQ(c.last, CU_PROCESS_STATE_RUNNING);
    LIB_OK(culv_device_resume(w->device, &rd));
    return moved;
}

static void write_by_cuda(const ring_stage *s, CUdeviceptr at, uint32_t seed)
{
    uint32_t count = BIG_WORDS;
    void *args[] = {&at, &count, &seed};
    LIB_CU_OK(&s->w, s->w.cu->LaunchKernel(s->write, BIG_WORDS / 256, 1, 1, 256, 1, 1, 0, s->stream,
                                           args, NULL));
    lib_finish(&s->w, s->stream);
}

/* Each round leaves a frame on its way, which the other side takes after the restore. Beside the
 * ring lie a buffer of Culvert's, and an import of the test's own with two ranges. */
static void ten_times(culv_ring_side side)
{
    static uint32_t words[BIG_WORDS];
    const VkBufferCreateInfo info = raw_vk_buffer_info(BIG, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    ring_stage s;
    culv_buffer_desc hd = culv_buffer_desc_init();
    hd.offset = BIG / 2;
    ring_case_open(&s, RING(.side = side, .depth = 3, .image = true));
    culv_shared_buffer *big = lib_made_buffer(s.w.attachment, &info);
    raw_vk_buffer own = lib_case_buffer(&s.w, BIG, RAW_VK_EXPORT);
    culv_memory *memory = lib_import(&s.w, &own);
    NEW(culv_buffer, whole, culv_buffer_map, memory, NULL);
    NEW(culv_buffer, half, culv_buffer_map, memory, &hd);
    for (uint32_t round = 0; round < 10; round++) {
        const CUdeviceptr big_at = culv_shared_buffer_pointer(big), at = culv_buffer_pointer(whole);
        ring_run(&s, 5);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_cuda_turn(&s, 0) : ring_vulkan_turn(&s, 0));
        write_by_cuda(&s, big_at, 2 * round);
        write_by_cuda(&s, at, 2 * round + 1);
        raw_vk_idle(&s.w.vk);
        const unsigned moved = checkpoint(&s.w);
        LIB_OK(side == CULV_RING_CONSUMER ? ring_vulkan_turn(&s, 0) : ring_cuda_turn(&s, 0));
        LIB_CU_OK(&s.w, s.w.cu->MemcpyDtoH(words, culv_shared_buffer_pointer(big), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round);
        LIB_CU_OK(&s.w, s.w.cu->MemcpyDtoH(words, culv_buffer_pointer(whole), BIG));
        REQUIRE_WORDS(words, BIG_WORDS, 2 * round + 1);
        REQUIRE_EQ(culv_buffer_pointer(half), culv_buffer_pointer(whole) + BIG / 2);
        const bool kept =
            culv_shared_buffer_pointer(big) == big_at && culv_buffer_pointer(whole) == at;
        REQUIRE(kept || (moved > 0 && !s.w.cu->software));
        MEASURED("checkpoint.moved", "%u, of the large ones %s", moved, kept ? "none" : "some");
        /* It is shared still: what CUDA writes now, Vulkan reads. */
        write_by_cuda(&s, culv_buffer_pointer(whole), 1000 + round);
        raw_vk_read(&s.w.vk, &own, 0, words, BIG);
        REQUIRE_WORDS(words, BIG_WORDS, 1000 + round);
    }
    ring_close(&s);
    REQUIRE_EQ((side == CULV_RING_CONSUMER ? s.vulkan : s.cuda).verified, 60);
    culv_buffer_unmap(&half, NULL);
    culv_buffer_unmap(&whole, NULL);
    culv_memory_destroy(&memory);
    LIB_OK(culv_shared_buffer_destroy(&big, NULL));
    ring_case_close(&s);
}

TEST_AS(ring_ten_times, ten_times(CULV_RING_CONSUMER), .own = true, .smoke = true)
TEST_AS(ring_of_vulkan_ten_times, ten_times(CULV_RING_PRODUCER), .own = true)

/* Each is refused by name before anything is given up, and nothing is in the way afterwards. */
static void refuses(const lib_world *w, culv_reason reason, const char *says)
{
    const culv_device_counts before = lib_counts(w);
    LIB_FAILS(culv_device_suspend(w->device, NULL), CULV_ERROR_INVALID, reason, says);
    const culv_device_counts now = lib_counts(w);
    REQUIRE(memcmp(&before, &now, sizeof now) == 0);
}

static atomic_int open_gate;
static void CUDA_CB wait_for_gate(void *user)
{
    while (!atomic_load(&open_gate))
        lib_sleep_ms(1);
}

LIB_CASE(refused)
{
    culv_suspend_desc live = culv_suspend_desc_init();
    live.imports_live = 1;
    raw_vk_buffer own = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    LIB_INVALID(culv_device_resume(w->device, NULL), NOT_READY);

    /* By a handle, which is gone; then the caller's own object, of which he says nothing. */
    culv_memory *memory = NULL;
    culv_memory_desc md = lib_memory_desc(w, &own, raw_vk_buffer_fd(&w->vk, &own));
    md.label = "by fd";
    LIB_TAKE(culv_memory_import(w->device, &md, &memory), &md.handle);
    refuses(w, CULV_REASON_NOT_EXPORTABLE, "by fd");
    culv_memory_destroy(&memory);
    memory = lib_import(w, &own);
    refuses(w, CULV_REASON_OPT_IN, "imports_live");
    LIB_OK(culv_device_suspend(w->device, &live));
    LIB_INVALID(culv_device_suspend(w->device, &live), NOT_READY);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));

    CUstream stream = lib_case_stream(w);
    NEW(culv_shared_semaphore, timeline, culv_vk_semaphore_create, w->attachment, NULL);
    culv_semaphore *semaphore = culv_shared_semaphore_cuda(timeline);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 7));
    refuses(w, CULV_REASON_NOT_READY, "waits for value 7");
    raw_vk_timeline_signal(&w->vk, culv_vk_semaphore_handle(timeline), 7);
    lib_finish(w, stream);

    const VkBufferCreateInfo info = raw_vk_buffer_info(65536, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *other;
    bd.create_info = &info;
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, w->attachment, &bd);
    LIB_OK(culv_device_suspend(w->device, NULL));
    LIB_INVALID(culv_semaphore_signal(semaphore, stream, 8), NOT_READY, "culv_device_resume()");
    LIB_REFUSES(other, culv_vk_buffer_create(w->attachment, &bd, &other), INVALID, NOT_READY);
    LIB_OK(culv_device_resume(w->device, NULL));
    LIB_OK(culv_semaphore_signal(semaphore, stream, 8));

    /* A tensor that somebody holds, and CUDA's own memory once others may have it. */
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_buffer_get_dlpack,
        culv_shared_buffer_cuda(buffer), NULL);
    refuses(w, CULV_REASON_MAPPED, "tensor");
    tensor->deleter(tensor);
    culv_vmm_allocation *chunk = NULL;
    culv_vmm_allocation_desc cd = culv_vmm_allocation_desc_init();
    culv_handle handle;
    cd.size = 1;
    cd.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    cd.label = "chunk";
    if (lib_caps(w->device).vmm_posix_fd) {
        LIB_OK(culv_vmm_allocation_create(w->device, &cd, &chunk));
        LIB_OK(culv_vmm_export_dup(chunk, CULV_HANDLE_OPAQUE_FD, &handle));
        refuses(w, CULV_REASON_MAPPED, "chunk");
        culv_handle_close(&handle);
        LIB_OK(culv_vmm_allocation_destroy(&chunk));
    }

    CUgraph graph = NULL;
    CUstream blocking = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(w->cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    refuses(w, CULV_REASON_CAPTURE, "captured");
    CU_OK(w->cu->StreamEndCapture(blocking, &graph));
    CU_OK(w->cu->GraphDestroy(graph));
    CU_OK(w->cu->StreamDestroy(blocking));
    lib_leave(w, before);

    memory = lib_import(w, &own);
    LIB_OK(culv_device_suspend(w->device, &live));
    /* Behind work of the stream's: what is given up is not made again. */
    LIB_CU_OK(w, w->cu->LaunchHostFunc(stream, wait_for_gate, NULL));
    LIB_OK(culv_shared_buffer_destroy(&buffer, &stream));
    LIB_OK(culv_shared_semaphore_destroy(&timeline, &stream));
    culv_vk_detach(&w->attachment);
    LIB_INVALID(culv_device_resume(w->device, NULL), NOT_EXPORTABLE);
    culv_memory_destroy(&memory);
    LIB_OK(culv_device_resume(w->device, NULL));
    atomic_store(&open_gate, 1);
    lib_finish(w, stream);
    lib_settle(w);
}
