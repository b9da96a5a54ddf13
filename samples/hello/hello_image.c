/* SPDX-License-Identifier: MIT */
/* hello_image: CUDA writes an RGBA8 image, a Julia set, and Vulkan reads it. A ring with one slot
 * makes the image, hands it over with the right layouts, and makes each side wait for the other.
 *
 *   cc hello_image.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, BYTES = 4 * WIDTH * HEIGHT };
static const uint64_t timeout = 10000000000; /* nanoseconds */

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

    /* A ring of one image, and a buffer in host memory, which the CPU reads. */
    const VkImageCreateInfo image_info = {VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                          .imageType = VK_IMAGE_TYPE_2D,
                                          .format = VK_FORMAT_R8G8B8A8_UNORM,
                                          .extent = {WIDTH, HEIGHT, 1},
                                          .mipLevels = 1,
                                          .arrayLayers = 1,
                                          .samples = VK_SAMPLE_COUNT_1_BIT,
                                          .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_image_create_desc image_desc = culv_vk_image_create_desc_init();
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    const culv_vk_ring_resource resource = {.image = &image_desc, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    culv_vk_ring *ring;
    culv_shared_buffer *host;
    image_desc.create_info = &image_info;
    buffer.create_info = &info;
    buffer.host_memory = VK_TRUE;
    desc.max_depth = desc.num_resources = 1;
    desc.resources = &resource;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    OK(culv_vk_buffer_create(vk, &buffer, &host));

    /* CUDA writes the image. */
    static uint32_t sent[WIDTH * HEIGHT];
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        double x = (i % WIDTH - WIDTH / 2) / 80.0, y = (i / WIDTH - HEIGHT / 2) / 60.0, next;
        uint32_t n = 0;
        for (; x * x + y * y < 4 && n < 84; n++)
            next = x * x - y * y - 0.79, y = 2 * x * y + 0.15, x = next;
        sent[i] = 3 * n | (n * n / 28) << 8 | (60 + 2 * n) << 16;
    }
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = sent};
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcPitch = copy.WidthInBytes = 4 * WIDTH, copy.Height = HEIGHT;
    culv_ring *core = culv_vk_ring_core(ring);
    culv_ring_frame written;
    OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &written));
    culv_image *image = culv_shared_image_cuda(culv_vk_ring_image(ring, written.slot, 0));
    OK(culv_image_get_array(image, 0, &copy.dstArray));
    OK(CULV_CUDA(device)->cuMemcpy2DAsync(&copy, stream));
    OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &written));

    /* Vulkan copies it for the CPU. To draw, record read.acquire, your draws, and read.release. */
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
    OK(culv_vk_ring_record_copy(ring, commands, read.frame.slot, 0, culv_vk_buffer_handle(host), 0,
                                BYTES));
    OK(vkEndCommandBuffer(commands));
    OK(culv_vk_ring_submit(ring, queue, commands, VK_NULL_HANDLE, &read));
    OK(vkQueueWaitIdle(queue));

    const uint32_t *got = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    FILE *file = fopen("hello_image.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        wrong += got[i] != sent[i];
        fwrite(&got[i], 3, 1, file);
    }
    OK(fclose(file));
    printf("hello_image.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

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
