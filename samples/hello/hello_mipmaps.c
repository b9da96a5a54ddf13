/* SPDX-License-Identifier: MIT */
/* hello_mipmaps: CUDA writes all levels of an image, Vulkan reads them; a ring hands it over.
 *
 *   cc hello_mipmaps.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, LEVELS = 8, TEXELS = 43000 }; /* of all levels together */
static const uint64_t timeout = 10000000000;                    /* nanoseconds */
#define OK(call) check((int)(call), #call) /* 0 is success of Culvert, of CUDA and of Vulkan */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

int main(void)
{
    /* The VkInstance, the VkDevice that CUDA reaches, and Culvert on it. */
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_3};
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    const char *layers[8], *names[8];
    VkInstanceCreateInfo asked = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
                                  .enabledLayerCount = 8, .ppEnabledLayerNames = layers};
    OK(culv_vk_merge_instance_layers(get, 0, NULL, &asked.enabledLayerCount, layers));
    culv_vk_device_desc my = culv_vk_device_desc_init();
    my.get_instance_proc_addr = get;
    my.api_version = app.apiVersion;
    OK(vkCreateInstance(&asked, NULL, &my.instance));
    culv_device *device;
    uint32_t family;
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, &device));
    OK(culv_vk_find_queue_family(get, my.instance, my.physical_device, CULV_VK_QUEUE_GRAPHICS,
                                 &family));
    const VkDeviceQueueCreateInfo queues = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = family, .queueCount = 1,
                                            .pQueuePriorities = (float[]){1}};
    VkDeviceCreateInfo wanted = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1,
                                 .pQueueCreateInfos = &queues, .enabledExtensionCount = 8,
                                 .ppEnabledExtensionNames = names};
    culv_vk_device_features features = culv_vk_device_features_init();
    OK(culv_vk_merge_device_extensions(&my, 0, NULL, &wanted.enabledExtensionCount, names));
    OK(culv_vk_merge_device_features(&my, NULL, &features, &wanted.pNext));
    OK(vkCreateDevice(my.physical_device, &wanted, NULL, &my.device));
    culv_vk_device *vk;
    OK(culv_vk_attach(device, &my, &vk));
    VkQueue queue;
    vkGetDeviceQueue(my.device, family, 0, &queue);
    CUstream stream;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    /* A ring of one image with all its levels, and a buffer in host memory, which the CPU reads. */
    const VkImageCreateInfo image_info = {VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                          .imageType = VK_IMAGE_TYPE_2D,
                                          .format = VK_FORMAT_R8G8B8A8_UNORM,
                                          .extent = {WIDTH, HEIGHT, 1},
                                          .mipLevels = LEVELS,
                                          .arrayLayers = 1,
                                          .samples = VK_SAMPLE_COUNT_1_BIT,
                                          .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4 * TEXELS,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_create_desc image_desc = culv_vk_image_create_desc_init();
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    const culv_vk_ring_resource resource = {.image = &image_desc, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    culv_vk_ring *ring;
    culv_shared_buffer *host;
    image_desc.create_info = &image_info, buffer.create_info = &info, buffer.host_memory = VK_TRUE;
    desc.max_depth = desc.num_resources = 1, desc.resources = &resource;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    OK(culv_vk_buffer_create(vk, &buffer, &host));

    /* CUDA writes the levels: each has an array, as kernels write them by surfaces. */
    static uint32_t sent[TEXELS];
    VkBufferImageCopy regions[LEVELS];
    culv_ring *core = culv_vk_ring_core(ring);
    culv_ring_frame written;
    uint32_t at = 0;
    OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &written));
    culv_image *image = culv_shared_image_cuda(culv_vk_ring_image(ring, written.slot, 0));
    for (int level = 0; level < LEVELS; level++) {
        const uint32_t across = WIDTH >> level, half = HEIGHT >> level, down = half > 0 ? half : 1;
        CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = sent + at};
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcPitch = copy.WidthInBytes = 4 * across, copy.Height = down;
        for (uint32_t i = 0; i < across * down; i++)
            sent[at + i] = (i + 1) * 2654435761u ^ (uint32_t)level;
        OK(culv_image_get_array(image, (uint32_t)level, &copy.dstArray));
        OK(CULV_CUDA(device)->cuMemcpy2DAsync(&copy, stream));
        regions[level] = (VkBufferImageCopy){
            4 * at, .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, (uint32_t)level, 0, 1},
            .imageExtent = {across, down, 1}};
        at += across * down;
    }
    OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &written));

    /* Vulkan copies all levels for the CPU. The ring's barriers are of the whole image. */
    culv_vk_ring_frame read;
    OK(culv_vk_ring_acquire(ring, timeout, &read));
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = family};
    VkCommandPool pool;
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    OK(vkAllocateCommandBuffers(my.device, &one, &commands));
    OK(vkBeginCommandBuffer(commands, &begin));
    vkCmdPipelineBarrier2(commands, &read.acquire);
    vkCmdCopyImageToBuffer(
        commands, culv_vk_image_handle(culv_vk_ring_image(ring, read.frame.slot, 0)),
        VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, culv_vk_buffer_handle(host), LEVELS, regions);
    vkCmdPipelineBarrier2(commands, &read.release);
    const VkMemoryBarrier for_cpu = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL,
                                     VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &for_cpu, 0, NULL, 0, NULL);
    OK(vkEndCommandBuffer(commands));
    OK(culv_vk_ring_submit(ring, queue, commands, VK_NULL_HANDLE, &read));
    OK(vkQueueWaitIdle(queue));

    const uint32_t *got = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    for (uint32_t i = 0; i < at; i++)
        wrong += got[i] != sent[i];
    printf("hello_mipmaps: %d of %u texels in %d levels are wrong\n", wrong, (unsigned)at, LEVELS);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_vk_ring_destroy(&ring);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
