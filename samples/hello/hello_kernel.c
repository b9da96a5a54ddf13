/* SPDX-License-Identifier: MIT */
/* hello_kernel: a kernel of your own, of hello_kernel.cu, writes a buffer of Vulkan's, and Vulkan
 * reads it.
 *
 *   culvert-kernels hello_kernel.cu
 *   cc hello_kernel.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * The first argument is the directory of what culvert-kernels made. With CULVERT_SOFT=1 it runs
 * where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, WORDS = WIDTH * HEIGHT, BYTES = 4 * WORDS, SEED = 7 };
static const uint64_t timeout = 10000000000; /* nanoseconds */

#define OK(call) check((int)(call), #call) /* 0 is success of Culvert, of CUDA and of Vulkan */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

int main(int argc, char **argv)
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

    /* The file for this device: hello_kernel.fatbin, or for the twin hello_kernel.soft.so. */
    culv_kernels *kernels;
    culv_kernel *fill;
    OK(culv_kernels_load(device, argc > 1 ? argv[1] : ".", "hello_kernel", &kernels));
    OK(culv_kernels_get(kernels, "fill", &fill));

    /* A ring of one buffer, and a buffer in host memory, which the CPU reads. */
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc cells = culv_vk_buffer_create_desc_init(), reader = cells;
    const culv_vk_ring_resource resource = {.buffer = &cells, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    culv_vk_ring *ring;
    culv_shared_buffer *host;
    cells.create_info = reader.create_info = &info;
    reader.host_memory = VK_TRUE;
    desc.max_depth = desc.num_resources = 1;
    desc.resources = &resource;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    OK(culv_vk_buffer_create(vk, &reader, &host));

    /* CUDA: a thread for each word, in blocks of 32 x 8. Each argument has the parameter's type. */
    culv_ring *core = culv_vk_ring_core(ring);
    culv_ring_frame written;
    OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &written));
    CUdeviceptr words = culv_vk_ring_pointer(ring, written.slot, 0);
    const int width = WIDTH, height = HEIGHT;
    const uint32_t seed = SEED;
    const culv_launch_desc threads = culv_launch_2d(WIDTH, HEIGHT, 32, 8, stream);
    OK(CULV_LAUNCH(fill, &threads, CULV_ARG(words), CULV_ARG(width), CULV_ARG(height),
                   CULV_ARG(seed)));
    OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &written));

    /* Vulkan copies them for the CPU. */
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
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += got[i] != (i % WIDTH) * (i / WIDTH) + SEED;
    printf("hello_kernel: %d of %d words are wrong\n", wrong, WORDS);

    culv_kernels_unload(&kernels);
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
