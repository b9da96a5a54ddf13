/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and Vulkan: what they are made of, copies on every queue family, queue
 * families. */
#include "vulkan_ring_stage.h"

#include <malloc.h>
#include <stdatomic.h>

TEST(made)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    o.image = true;
    ring_world_open(&s);
    ring_open(&s, &o);
    const culv_ring *ring = s.ring;
    REQUIRE_EQ(lib_counts(&s.w).created, 3 * 2 + 2);
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
    REQUIRE(culv_ring_shared_buffer(NULL, 0, 0) == NULL);
    REQUIRE(culv_ring_shared_image(NULL, 0, 1) == NULL);
    REQUIRE_EQ(culv_ring_pointer(NULL, 0, 0), 0);
    REQUIRE(culv_ring_buffer(NULL, 0, 0) == NULL && culv_ring_image(NULL, 0, 1) == NULL);
    REQUIRE(culv_ring_image(ring, 2, 1) ==
            culv_shared_image_cuda(culv_ring_shared_image(ring, 2, 1)));
    REQUIRE(culv_vk_ring_barriers(ring, 3, CULV_VK_ACQUIRE) == NULL);
    REQUIRE(culv_vk_ring_barriers(NULL, 0, CULV_VK_ACQUIRE) == NULL);
    VkSemaphore ready = culv_vk_ring_semaphore(ring, CULV_RING_PRODUCER);
    VkSemaphore done = culv_vk_ring_semaphore(ring, CULV_RING_CONSUMER);
    REQUIRE(ready != VK_NULL_HANDLE && done != VK_NULL_HANDLE && ready != done);
    REQUIRE(culv_vk_ring_semaphore(ring, (culv_ring_side)2) == VK_NULL_HANDLE);
    REQUIRE(culv_vk_ring_semaphore(NULL, CULV_RING_PRODUCER) == VK_NULL_HANDLE);

    /* What a frame says. */
    CUcontext before = lib_enter(&s.w);
    LIB_OK(ring_cuda_turn(&s, 0));
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_CONSUMER, 0, &frame));
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
    LIB_OK(culv_ring_cancel(s.ring, CULV_RING_CONSUMER, &frame));
    LIB_OK(ring_vulkan_turn(&s, 0));
    lib_leave(&s.w, before);
    ring_close(&s);
    REQUIRE_EQ(lib_counts(&s.w).created, 0);
    ring_world_close(&s);
}

/* What several queue families share names none of them in its barriers. */
TEST(concurrent)
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_PRODUCER, 2);
    o.handed_in = o.own = o.concurrent = true;
    ring_world_open(&s);
    ring_open(&s, &o);
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s.ring, CULV_RING_PRODUCER, 0, &frame));
    const VkBufferMemoryBarrier2 *in =
        culv_vk_ring_barriers(s.ring, frame.slot, CULV_VK_ACQUIRE)->pBufferMemoryBarriers;
    const VkBufferMemoryBarrier2 *out =
        culv_vk_ring_barriers(s.ring, frame.slot, CULV_VK_RELEASE)->pBufferMemoryBarriers;
    REQUIRE(in->srcQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL &&
            in->dstQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED);
    REQUIRE(out->srcQueueFamilyIndex == VK_QUEUE_FAMILY_IGNORED &&
            out->dstQueueFamilyIndex == VK_QUEUE_FAMILY_EXTERNAL);
    LIB_OK(culv_ring_cancel(s.ring, CULV_RING_PRODUCER, &frame));
    ring_close(&s);
    ring_world_close(&s);
}

/* Slots and timelines alone. */
RINGS_CASE(no_resources)
{
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    d.queue_family = 0;
    REQUIRE_EQ(d.side, CULV_RING_CONSUMER);
    d.max_depth = 2;
    d.wait_stage = VK_PIPELINE_STAGE_2_TRANSFER_BIT;
    culv_ring *ring = NULL;
    LIB_OK(culv_vk_ring_create(s->w.attachment, s->w.vk.queues[0].queue, &d, &ring));
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
    culv_ring_destroy(&ring, NULL); /* NULL */
    culv_ring_destroy(NULL, NULL);
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
            ring_options o = ring_options_init((culv_ring_side)side, 4);
            o.image = true;
            o.family = family;
            ring_open(s, &o);
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
    (void)device;
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
    (void)scope;
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
TEST(callbacks, .title = "allocation_callbacks")
{
    ring_stage s;
    ring_options o = ring_options_init(CULV_RING_CONSUMER, 3);
    blocks b = {0};
    o.image = true;
    ring_world_open(&s);
    culv_vk_device *usual = s.w.attachment;
    culv_vk_device_desc d = lib_vk_desc(&s.w);
    VkAllocationCallbacks functions = {.pUserData = &b,
                                       .pfnAllocation = allocate,
                                       .pfnReallocation = reallocate,
                                       .pfnFree = release};
    d.allocation_callbacks = &functions;
    LIB_OK(culv_vk_attach(s.w.device, &d, &s.w.attachment));
    memset(&functions, 0, sizeof functions);
    ring_open(&s, &o);
    ring_run(&s, 6);
    if (s.w.cu->software) REQUIRE(atomic_load(&b.made) > 0);
    ring_close(&s);
    culv_vk_detach(&s.w.attachment);
    s.w.attachment = usual;
    REQUIRE_EQ(atomic_load(&b.held), 0);
    ring_world_close(&s);
}
