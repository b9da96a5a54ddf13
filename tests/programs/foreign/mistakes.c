/* SPDX-License-Identifier: MIT */
/* What somebody gets wrong who is new to Culvert. Each mistake is refused with a reason and with a
 * message that has the words which lead on; nothing is left behind. --messages=1 prints them. */
#define TEST_GROUP "mistakes."
#include "foreign.h"

#include <stdio.h>
#include <string.h>

static void require_told(const char *mistake, culv_result got, culv_result result,
                         culv_reason reason, const char *words)
{
    culv_error e = culv_error_init();

    culv_last_error(&e);
    if (strcmp(test_option("messages", ""), "") != 0)
        printf("%s: %s %s: %s\n", mistake, culv_result_name(got), culv_reason_name(e.reason),
               e.message);
    if (got != result || e.result != result || e.reason != reason)
        FAIL("%s: %s, last error %s (%s: %s), not %s (%s)", mistake, culv_result_name(got),
             culv_result_name(e.result), culv_reason_name(e.reason), e.message,
             culv_result_name(result), culv_reason_name(reason));
    if (!strstr(e.message, words))
        FAIL("%s: the message does not say '%s': %s", mistake, words, e.message);
}
#define TOLD(mistake, call, result, reason, words)                                                 \
    require_told((mistake), (call), CULV_ERROR_##result, CULV_REASON_##reason, (words))

/* A device as other tutorials make it: without the extensions that sharing needs. */
TEST(plain_device)
{
    const float priority = 1.0f;
    culv_vk_device_desc mine = culv_vk_device_desc_init();
    culv_device *device;
    culv_vk_device *vk = NULL;
    app a;

    app_open_instance(&a, NULL);
    CULV(culv_vk_find_queue_family(vkGetInstanceProcAddr, a.instance, a.physical_device,
                                   CULV_VK_QUEUE_GRAPHICS, &a.family));
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = a.family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VK(vkCreateDevice(a.physical_device, &info, NULL, &a.device));
    CULV(culv_device_open_for_vk(vkGetInstanceProcAddr, a.instance, a.physical_device, NULL,
                                 &device));
    mine.get_instance_proc_addr = vkGetInstanceProcAddr;
    mine.instance = a.instance;
    mine.physical_device = a.physical_device;
    TOLD("no VkDevice", culv_vk_attach(device, &mine, &vk), INVALID, NULL_ARGUMENT, "device");
    mine.device = a.device;
    mine.api_version = VK_API_VERSION_1_3;
    TOLD("no extensions", culv_vk_attach(device, &mine, &vk), INVALID, EXTENSION_MISSING,
         "culv_vk_device_extensions()");
    mine.struct_size = 0;
    TOLD("a descriptor that was zeroed", culv_vk_attach(device, &mine, &vk), INVALID, STRUCT_SIZE,
         "culv_vk_device_desc_init()");
    REQUIRE(!vk);
    culv_device_close(&device);
    vkDestroyDevice(a.device, NULL);
    app_close_instance(&a);
}

static VkDeviceMemory allocate(app *a, VkBuffer buffer, bool exportable, VkDeviceSize *size)
{
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkMemoryRequirements needs;
    VkDeviceMemory memory;

    vkGetBufferMemoryRequirements(a->device, buffer, &needs);
    const VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = exportable ? &exported : NULL,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            app_memory_type(a, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    VK(vkAllocateMemory(a->device, &allocation, NULL, &memory));
    VK(vkBindBufferMemory(a->device, buffer, memory, 0));
    *size = needs.size;
    return memory;
}

static VkBuffer make_buffer(app *a, VkDeviceSize size)
{
    const VkBufferCreateInfo info = app_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkBuffer buffer;

    VK(vkCreateBuffer(a->device, &info, NULL, &buffer));
    return buffer;
}

APP_CASE(memory_of_ones_own)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    culv_vk_buffer_create_desc none = culv_vk_buffer_create_desc_init();
    culv_buffer_desc range = culv_buffer_desc_init();
    culv_memory *memory = NULL;
    culv_buffer *shared = NULL;
    culv_shared_buffer *made = NULL;

    VkBuffer buffer = make_buffer(a, 4097);
    d.memory = allocate(a, buffer, true, &d.allocation_size);
    d.buffer = buffer;

    const VkDeviceSize right = d.allocation_size;
    d.allocation_size = 4095;
    TOLD("less than the buffer needs", culv_vk_memory_import(a->vk, &d, &memory), INVALID, SIZE,
         "allocationSize");
    d.allocation_size = right;
    CULV(culv_vk_memory_import(a->vk, &d, &memory));
    range.offset = right - 16;
    range.size = 17;
    TOLD("a range that leaves it", culv_buffer_map(memory, &range, &shared), INVALID, RANGE,
         "offset");
    culv_memory_destroy(&memory);
    TOLD("no memory", culv_buffer_map(NULL, &range, &shared), INVALID, NULL_ARGUMENT, "memory");
    TOLD("no create info", culv_vk_buffer_create(a->vk, &none, &made), INVALID, NULL_ARGUMENT,
         "create_info");
    REQUIRE(!memory && !shared && !made);
    vkDestroyBuffer(a->device, buffer, NULL);
    vkFreeMemory(a->device, d.memory, NULL);
}

APP_CASE(order_of_signals)
{
    culv_shared_semaphore *sync;
    culv_semaphore *timeline;

    CULV(culv_vk_semaphore_create(a->vk, NULL, &sync));
    timeline = culv_shared_semaphore_cuda(sync);
    CULV(culv_semaphore_signal(timeline, a->stream, 7));
    TOLD("a value again", culv_semaphore_signal(timeline, a->stream, 7), INVALID,
         TIMELINE_BACKWARDS, "7");
    TOLD("a lower value", culv_semaphore_signal(timeline, a->stream, 3), INVALID,
         TIMELINE_BACKWARDS, "7");
    TOLD("marks of a timeline", culv_semaphore_mark_waited(timeline), INVALID, VALUE, "timeline");
    const culv_semaphore_point twice[] = {{timeline, 8}, {timeline, 9}};
    TOLD("one of them twice", culv_semaphore_signal_batch(twice, 2, a->stream), INVALID, VALUE,
         "the same semaphore");
    REQUIRE_EQ(culv_semaphore_last_value(timeline), 7);
    culv_semaphore *half = timeline;
    culv_semaphore_destroy(&half, NULL); /* it is not the caller's: nothing happens */
    REQUIRE(half == timeline);
    CU(a->cu->cuStreamSynchronize(a->stream));
    culv_shared_semaphore_destroy(&sync, NULL);
}

APP_CASE(order_of_frames)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4097,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    const culv_vk_ring_resource resource = {.buffer = &buffer};
    culv_vk_ring_desc d = culv_vk_ring_desc_init();
    culv_ring_frame frame, other;
    culv_ring_frame v;
    culv_ring *ring = NULL;

    buffer.create_info = &info;
    d.resources = &resource;
    d.num_resources = 1;
    d.queue_family = a->family;
    TOLD("no depth", culv_vk_ring_create(a->vk, a->queue, &d, &ring), INVALID, VALUE, "max_depth");
    d.max_depth = 2;
    CULV(culv_vk_ring_create(a->vk, a->queue, &d, &ring));
    TOLD("nothing was written", culv_ring_acquire(ring, CULV_RING_CONSUMER, 0, &v), TIMEOUT,
         RING_EMPTY, "producer");
    CULV(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, a->stream, 0, &frame));
    TOLD("two at once", culv_ring_acquire_on(ring, CULV_RING_PRODUCER, a->stream, 0, &other),
         INVALID, RING_ORDER, "release");
    CULV(culv_ring_release_on(ring, CULV_RING_PRODUCER, a->stream, &frame));
    TOLD("released twice", culv_ring_release_on(ring, CULV_RING_PRODUCER, a->stream, &frame),
         INVALID, RING_ORDER, "acquire");
    CULV(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, a->stream, 0, &frame));
    CULV(culv_ring_release_on(ring, CULV_RING_PRODUCER, a->stream, &frame));
    TOLD("nothing was read", culv_ring_acquire_on(ring, CULV_RING_PRODUCER, a->stream, 0, &frame),
         TIMEOUT, RING_FULL, "consumer");
    CU(a->cu->cuStreamSynchronize(a->stream));
    culv_ring_destroy(&ring, NULL);
}

APP_CASE(virtual_memory)
{
    culv_vmm_allocation_desc ad = culv_vmm_allocation_desc_init();
    culv_vmm_range_desc rd = culv_vmm_range_desc_init();
    const culv_vector_desc not_exported = culv_vector_desc_init();
    culv_vk_vector_view_desc vd = culv_vk_vector_view_desc_init();
    culv_vmm_allocation *memory = NULL;
    culv_vmm_range *range = NULL;
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    VkDeviceMemory vulkan = VK_NULL_HANDLE;

    if (!a->caps.vmm_posix_fd) {
        app_close(a);
        SKIP("this device exports no virtual memory");
    }
    VkBuffer buffer = make_buffer(a, 4097);
    TOLD("no size", culv_vmm_allocation_create(a->culvert, &ad, &memory), INVALID, SIZE, "size");
    ad.size = 4097;
    CULV(culv_vmm_allocation_create(a->culvert, &ad, &memory));
    TOLD("it is not for export", culv_vk_buffer_bind_vmm(a->vk, buffer, memory, 0, &vulkan),
         INVALID, NOT_EXPORTABLE, "handle_types");
    rd.size = ad.size;
    CULV(culv_vmm_range_create(a->culvert, &rd, &range));
    TOLD("an odd place", culv_vmm_map(range, 4097, memory, NULL, 0), INVALID, VALUE, "granularity");
    CULV(culv_vmm_map(range, 0, memory, NULL, 0));
    TOLD("a part", culv_vmm_unmap(range, 0, 4097, NULL), INVALID, NOT_MAPPED, "whole");
    TOLD("still mapped", culv_vmm_range_destroy(&range), BUSY, MAPPED, "culv_vmm_unmap");
    REQUIRE(range);
    CULV(culv_vmm_unmap(range, 0, culv_vmm_range_size(range), NULL));
    CULV(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&memory);

    CULV(culv_vector_create(a->culvert, &not_exported, &vector));
    CULV(culv_vector_grow(vector, 4097));
    TOLD("no usage", culv_vk_vector_view_create(a->vk, vector, &vd, &view), INVALID, VALUE,
         "usage");
    vd.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    TOLD("a vector that is not for export", culv_vk_vector_view_create(a->vk, vector, &vd, &view),
         INVALID, NOT_EXPORTABLE, "handle_types");
    culv_vector_destroy(&vector, NULL);
    REQUIRE(!view && !vulkan);
    vkDestroyBuffer(a->device, buffer, NULL);
}

APP_CASE(pictures)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8_UNORM,
                              .extent = {APP_WIDTH, APP_HEIGHT, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    culv_texture_desc t = culv_texture_desc_init();
    culv_shared_image *image = NULL;
    CUtexObject texture;
    CUsurfObject surface;

    d.create_info = &info;
    TOLD("three channels", culv_vk_image_create(a->vk, &d, &image), UNSUPPORTED, FORMAT,
         "R8G8B8A8_UNORM");
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.tiling = VK_IMAGE_TILING_LINEAR;
    TOLD("linear", culv_vk_image_create(a->vk, &d, &image), INVALID, TILING, "OPTIMAL");
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = 0;
    TOLD("no usage", culv_vk_image_create(a->vk, &d, &image), INVALID, USAGE, "usage");
    info.usage = VK_IMAGE_USAGE_SAMPLED_BIT;
    CULV(culv_vk_image_create(a->vk, &d, &image));
    TOLD("no such level", culv_image_get_surface(culv_shared_image_cuda(image), 1, 0, &surface),
         INVALID, LEVEL, "level");
    t.unnormalized_coordinates = 1;
    t.address[0] = CULV_TEXTURE_ADDRESS_WRAP;
    TOLD("texels that wrap", culv_image_get_texture(culv_shared_image_cuda(image), &t, &texture),
         INVALID, VALUE, "unnormalized_coordinates");
    t = culv_texture_desc_init();
    t.read = CULV_TEXTURE_READ_STORED;
    t.filter = CULV_TEXTURE_FILTER_LINEAR;
    TOLD("integers between texels",
         culv_image_get_texture(culv_shared_image_cuda(image), &t, &texture), INVALID, VALUE,
         "filter");
    culv_shared_image_destroy(&image, NULL);
}
