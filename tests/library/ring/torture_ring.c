/* SPDX-License-Identifier: MIT */
/* Torture of rings between CUDA and Vulkan: made, a frame each way, destroyed. */
#include "torture.h"

enum { DEPTH = 2, BYTES = 4096 };

static VkCommandPool pool;
static VkCommandBuffer empty;

/* The validation layer makes calls of its own that are not to be failed, takes submissions that
 * failed below it for made, and makes the rest twice as slow. */
static void begin(void)
{
    const raw_vk *vk = &torture.w.vk;
    lib_with_option("--validation=off");
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VK_OK(vkCreateCommandPool(vk->device, &info, NULL, &pool));
    const VkCommandBufferAllocateInfo one = {.sType =
                                                 VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool,
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
    VK_OK(vkAllocateCommandBuffers(vk->device, &one, &empty));
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VK_OK(vkBeginCommandBuffer(empty, &once));
    VK_OK(vkEndCommandBuffer(empty));
}

static void end(void)
{
    vkDestroyCommandPool(torture.w.vk.device, pool, NULL);
}

static void ring_make(culv_ring_side side, culv_ring **out)
{
    lib_world *w = &torture.w;
    const VkBufferCreateInfo buffer = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    const VkImageCreateInfo image =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    culv_vk_buffer_create_desc buffers = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc images = culv_vk_image_create_desc_init();
    buffers.create_info = &buffer;
    images.create_info = &image;
    const culv_vk_ring_resource resources[] = {{.buffer = &buffers}, {.image = &images}};
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    d.queue_family = 0;
    d.max_depth = DEPTH;
    d.resources = resources;
    d.num_resources = 2;
    d.side = side;
    d.label = "tortured";
    TRY_AGAIN(culv_vk_ring_create(w->attachment, w->vk.queues[0].queue, &d, out),
              *out == POISON(culv_ring));
}

/* As TRY, but a call that failed is made once more: the frame goes on, or the ring is stopped. */
#define STEP(made)                                                                                 \
    do {                                                                                           \
        lib_forget_error();                                                                        \
        torture_arm();                                                                             \
        culv_result r_ = (made);                                                                   \
        bool hit_ = torture_disarm();                                                              \
        if (r_ != CULV_OK) {                                                                       \
            torture_failed(#made, r_, hit_, false);                                                \
            torture_alive(hit_);                                                                   \
            r_ = (made);                                                                           \
            if (r_ != CULV_OK) {                                                                   \
                require_stopped(#made, r_);                                                        \
                goto stopped;                                                                      \
            }                                                                                      \
        } else {                                                                                   \
            torture_alive(hit_);                                                                   \
        }                                                                                          \
    } while (0)

static void require_stopped(const char *call, culv_result result)
{
    if (result != CULV_ERROR_ASYNC)
        torture_complain("after it, %s is %s: %s", call, culv_result_name(result),
                         culv_last_error_message());
}

/* One frame. Where the ring is stopped, both sides learn it at once, whose limit is far. */
static void frame(culv_ring *ring, CUstream stream, bool vulkan_first)
{
    const uint64_t far = TEST_FAR_MS * UINT64_C(1000000);
    VkQueue queue = torture.w.vk.queues[0].queue;
    culv_ring_side cuda_side = vulkan_first ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    culv_ring_side vulkan_side = vulkan_first ? CULV_RING_PRODUCER : CULV_RING_CONSUMER;
    culv_ring_frame f;
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) == vulkan_first) {
            STEP(culv_ring_acquire(ring, vulkan_side, 0, &f));
            STEP(culv_vk_ring_submit(ring, queue, empty, VK_NULL_HANDLE, &f));
        } else {
            STEP(culv_ring_acquire_on(ring, cuda_side, stream, 0, &f));
            STEP(culv_ring_release_on(ring, cuda_side, stream, &f));
        }
    }
    STEP(culv_ring_drain(ring, CULV_RING_FOREVER, 0));
    goto finish;

stopped:
    for (int side = 0; side < 2; side++) {
        const culv_result r = side == 0 ? culv_ring_acquire(ring, vulkan_side, far, &f)
                                        : culv_ring_acquire_on(ring, cuda_side, stream, far, &f);
        if (r == CULV_OK || r == CULV_ERROR_TIMEOUT)
            torture_complain("the ring is stopped, and its %s is %s",
                             side == 0 ? "Vulkan side" : "CUDA side", culv_result_name(r));
    }

finish:
    lib_finish(&torture.w, stream);
    raw_vk_idle(&torture.w.vk);
}

static void run(void)
{
    lib_world *w = &torture.w;
    lib_open_culvert(w);
    CUstream stream = lib_stream(w);
    for (int side = CULV_RING_PRODUCER; side <= CULV_RING_CONSUMER; side++) {
        culv_ring *ring = POISON(culv_ring);
        ring_make((culv_ring_side)side, &ring);
        frame(ring, stream, side == CULV_RING_PRODUCER);
        DO(culv_ring_destroy(&ring));
        REQUIRE(ring == NULL);
    }
    /* And the queue families, which are asked for without an attachment. */
    uint32_t family = 77;
    TRY_AGAIN(culv_vk_find_queue_family(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical,
                                        CULV_VK_QUEUE_COPY, &family),
              family == 77);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .end = end, .least = {20, 30, 20}};
TORTURE_CASES("ring", path)
