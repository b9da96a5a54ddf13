/* SPDX-License-Identifier: MIT */
/* The Vulkan back-end under the back-end suite. */
#include "shared_objects.h"
#include "suite.h"
#include "vulkan_world.h"

static const raw_cuda *open_native(void)
{
    open_world();
    return world.cu;
}

static void close_native(void)
{
    close_world();
}

static bool across;

static void lie(backend_lie what)
{
    across = what == BACKEND_ACROSS;
    lib_lying = (lib_lies){.uuid_xor = what == BACKEND_STRANGER,
                           .exports_nothing = what == BACKEND_CLOSED,
                           .exports_no_semaphores = what == BACKEND_CLOSED,
                           .takes_pages = what == BACKEND_CLOSED};
}

static culv_result device_open(culv_device **out)
{
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = world.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    return culv_device_open_for_vk(lib_lying_loader, world.vk.instance, world.vk.physical, &desc,
                                   out);
}

static culv_result attach(culv_device *device, uint32_t fallback, void **out)
{
    culv_vk_device *made = NULL;
    culv_vk_device_desc d = lib_vk_desc(&world);
    d.get_instance_proc_addr = lib_lying_loader;
    d.fallback = fallback;
    d.allow_other_gpu = across;
    culv_result result = culv_vk_attach(device, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void detach(void **attachment)
{
    culv_vk_device *mine = *attachment;
    *attachment = NULL;
    culv_vk_detach(&mine);
}

static culv_result memory_import(void *attachment, const void *memory, uint64_t size, bool shared,
                                 culv_memory **out)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = ((const raw_vk_buffer *)memory)->memory;
    d.allocation_size = size;
    return shared ? culv_vk_memory_import_shared(attachment, &d, out)
                  : culv_vk_memory_import(attachment, &d, out);
}

static culv_result timeline_import(void *attachment, void *t, culv_semaphore **out)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = ((timeline *)t)->semaphore;
    d.type = CULV_SEMAPHORE_TIMELINE;
    return culv_vk_semaphore_import(attachment, &d, out);
}

static void timeline_signal(void *t, uint64_t value)
{
    raw_vk_timeline_signal(&world.vk, ((timeline *)t)->semaphore, value);
}

static bool timeline_wait(void *t, uint64_t value, unsigned timeout_ms)
{
    return raw_vk_timeline_wait(&world.vk, ((timeline *)t)->semaphore, value, timeout_ms);
}

static uint64_t timeline_value(void *t)
{
    return raw_vk_timeline_value(&world.vk, ((timeline *)t)->semaphore);
}

static culv_result buffer_create(void *attachment, uint64_t size, uint32_t fallback, void **out)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                 VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *made = NULL;
    d.create_info = &info;
    d.fallback = fallback;
    culv_result result = culv_vk_buffer_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

/* As the raw driver sees it: with ownership barriers where it is shared. */
static raw_vk_buffer raw_of(const culv_shared_buffer *buffer)
{
    const culv_buffer *cuda = culv_shared_buffer_cuda(buffer);
    raw_vk_buffer raw = {.buffer = culv_vk_buffer_handle(buffer),
                         .size = culv_buffer_size(cuda),
                         .flags =
                             culv_buffer_sharing(cuda) == CULV_SHARING_HOST ? 0 : RAW_VK_EXPORT};
    raw.memory = culv_vk_buffer_memory(buffer, &raw.allocation_size);
    return raw;
}

static void buffer_write(void *buffer, const void *data, size_t size)
{
    raw_vk_buffer raw = raw_of(buffer);
    raw_vk_write(&world.vk, &raw, 0, data, size);
    VkCommandBuffer commands = raw_vk_begin(&world.vk, 0);
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands));
    raw_vk_submit(&world.vk, commands, NULL);
}

static void buffer_read(void *buffer, void *data, size_t size)
{
    raw_vk_buffer raw = raw_of(buffer);
    VkCommandBuffer commands = raw_vk_begin(&world.vk, 0);
    LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_UPLOAD, commands));
    raw_vk_submit(&world.vk, commands, NULL);
    raw_vk_read(&world.vk, &raw, 0, data, size);
}

static culv_result image_create(void *attachment, uint32_t width, uint32_t height,
                                uint32_t fallback, void **out)
{
    const VkImageCreateInfo info =
        raw_vk_image_info(VK_FORMAT_R32_UINT, width, height,
                          VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                              VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_shared_image *made = NULL;
    d.create_info = &info;
    d.fallback = fallback;
    culv_result result = culv_vk_image_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static culv_result semaphore_create(void *attachment, uint64_t value, uint32_t fallback, void **out)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    culv_shared_semaphore *made = NULL;
    d.initial_value = value;
    d.fallback = fallback;
    culv_result result = culv_vk_semaphore_create(attachment, &d, &made);
    if (result == CULV_OK) *out = made;
    return result;
}

static void *semaphore_timeline(const void *semaphore)
{
    made_timeline.semaphore = culv_vk_semaphore_handle(semaphore);
    return &made_timeline;
}

/* The ring that there is: a command buffer for each frame, and what a consumer copied. */
enum { RING_STRIDE = (BACKEND_RING_BYTES + 3) / 4 * 4 };
static struct {
    culv_ring_side side;
    VkCommandPool pool;
    raw_vk_buffer host;
    VkCommandBuffer commands; /* of the next release, if there are any yet */
    uint32_t seeds[BACKEND_RING_FRAMES], count;
} drawn;

static culv_result ring_create(void *attachment, const backend_ring *d, culv_ring **out)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(
        BACKEND_RING_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc b = culv_vk_buffer_create_desc_init();
    b.create_info = &info;
    b.fallback = d->fallback;
    const culv_vk_ring_resource resource = {
        .buffer = &b,
        .use = d->side == CULV_RING_PRODUCER ? CULV_VK_USE_TRANSFER_DST : CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = d->depth;
    desc.settings = d->settings;
    desc.resources = &resource;
    desc.num_resources = d->resources != 0 ? d->resources : 1;
    desc.side = d->side;
    desc.waits = d->waits;
    desc.queue_family = 0;
    desc.label = "frames";
    culv_result result = culv_vk_ring_create(attachment, world.vk.queues[0].queue, &desc, out);
    if (result != CULV_OK) return result;
    memset(&drawn, 0, sizeof drawn);
    drawn.side = d->side;
    return CULV_OK;
}

static void ring_check(bool right)
{
    const uint32_t *copies = drawn.host.mapped;
    for (uint32_t n = 0; right && drawn.side == CULV_RING_CONSUMER && n < drawn.count; n++)
        REQUIRE_PATTERN(copies + n * (RING_STRIDE / 4), BACKEND_RING_WORDS, drawn.seeds[n]);
    if (drawn.pool != VK_NULL_HANDLE) VK_OK(vkResetCommandPool(world.vk.device, drawn.pool, 0));
    drawn.count = 0;
    drawn.commands = VK_NULL_HANDLE;
}

static void ring_end(void)
{
    if (has_layer) layer.lose_devices(0);
    if (drawn.pool == VK_NULL_HANDLE) return;
    vkDestroyCommandPool(world.vk.device, drawn.pool, NULL);
    raw_vk_buffer_destroy(&world.vk, &drawn.host);
}

static bool lose(void *attachment, bool told)
{
    const bool can = has_layer && world.cu->software;
    if (can) layer.lose_devices(1);
    if (told) LIB_OK(culv_vk_device_lost(attachment));
    if (told) LIB_OK(culv_vk_device_lost(attachment)); /* nothing more */
    return can;
}

static void ring_record(culv_ring *ring, const culv_ring_frame *frame, uint32_t seed)
{
    const culv_shared_buffer *buffer = culv_ring_shared_buffer(ring, frame->slot, 0);
    VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                       .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                       .commandBufferCount = 1};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    uint32_t words[BACKEND_RING_WORDS];
    VkCommandBuffer commands;
    REQUIRE(drawn.count < BACKEND_RING_FRAMES);
    if (drawn.pool == VK_NULL_HANDLE) {
        const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
        VK_OK(vkCreateCommandPool(world.vk.device, &pool, NULL, &drawn.pool));
        raw_vk_buffer_create(&world.vk, (VkDeviceSize)BACKEND_RING_FRAMES * RING_STRIDE,
                             RAW_VK_HOST, &drawn.host);
    }
    one.commandPool = drawn.pool;
    VK_OK(vkAllocateCommandBuffers(world.vk.device, &one, &commands));
    VK_OK(vkBeginCommandBuffer(commands, &info));
    if (drawn.side == CULV_RING_PRODUCER) {
        vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(ring, frame->slot, CULV_VK_ACQUIRE));
        suite_pattern(words, BACKEND_RING_WORDS, seed);
        vkCmdUpdateBuffer(commands, culv_vk_buffer_handle(buffer), 0, sizeof words, words);
        LIB_OK(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands));
        vkCmdPipelineBarrier2(commands, culv_vk_ring_barriers(ring, frame->slot, CULV_VK_RELEASE));
    } else {
        LIB_OK(culv_vk_ring_record_copy(ring, commands, frame->slot, 0, drawn.host.buffer,
                                        (VkDeviceSize)drawn.count * RING_STRIDE,
                                        BACKEND_RING_BYTES));
    }
    VK_OK(vkEndCommandBuffer(commands));
    drawn.commands = commands;
}

static culv_result ring_release(culv_ring *ring, culv_ring_frame *frame, uint32_t seed)
{
    if (drawn.commands == VK_NULL_HANDLE) ring_record(ring, frame, seed);
    const culv_result result =
        culv_vk_ring_submit(ring, world.vk.queues[0].queue, drawn.commands, VK_NULL_HANDLE, frame);
    if (result != CULV_OK) return result;
    drawn.seeds[drawn.count++] = seed;
    drawn.commands = VK_NULL_HANDLE;
    return CULV_OK;
}

static void finish(void)
{
    raw_vk_idle(&world.vk);
}

static uint64_t fail_at(uint64_t n, bool lost)
{
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    REQUIRE(has_layer);
    layer.fail_at(n, lost ? VK_ERROR_DEVICE_LOST : VK_ERROR_OUT_OF_HOST_MEMORY);
    layer.counts(&counts);
    return counts.calls;
}

const backend backend_under_test = {
    .name = "vulkan",
    .memory_word = "VkDeviceMemory",
    BACKEND_FUNCTIONS,
    BACKEND_RINGS,
    .ring_ways = 1,
    .rings_across = true,
    .ring_submits = true,
    .ring_queues = true,
    .ring_record = ring_record,
    .ring_check = ring_check,
    .ring_end = ring_end,
    .lose = lose,
    .finish = finish,
    .fail_at = fail_at,
};
