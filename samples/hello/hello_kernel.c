/* SPDX-License-Identifier: MIT */
/* hello_kernel: a kernel of your own, of hello_kernel.cu, writes a buffer of Vulkan's, and Vulkan
 * reads it.
 *
 *   culvert-kernels hello_kernel.cu
 *   cc hello_kernel.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * The first argument is the directory of what culvert-kernels made. It prints "hello_kernel: 0 of
 * 32131 words are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, WORDS = WIDTH * HEIGHT, BYTES = 4 * WORDS, SLOTS = 1, SEED = 7 };
static const uint64_t timeout = 10000000000; /* nanoseconds */

/* 0 is success of Culvert, of CUDA and of Vulkan. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* The device ----------------------------------------------------------------------------------- */

static culv_vk_device_desc my; /* the VkInstance, the VkPhysicalDevice and the VkDevice */
static culv_device *device;    /* CUDA's device, which is the same GPU */
static culv_vk_device *vk;     /* Culvert between the two */
static uint32_t family;
static VkQueue queue;
static CUstream stream;

/* Culvert adds its layers to the program's own. */
static void create_instance(void)
{
    const char *layers[8];
    const VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .apiVersion = VK_API_VERSION_1_3,
    };
    VkInstanceCreateInfo asked = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app,
        .enabledLayerCount = 8,
        .ppEnabledLayerNames = layers,
    };
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    OK(culv_vk_merge_instance_layers(get, 0, NULL, &asked.enabledLayerCount, layers));
    my = culv_vk_device_desc_init();
    my.get_instance_proc_addr = get;
    my.api_version = app.apiVersion;
    OK(vkCreateInstance(&asked, NULL, &my.instance));
}

/* Culvert chooses a VkPhysicalDevice that CUDA reaches, opens it in CUDA as well, and adds its
 * extensions and features. */
static void create_device(void)
{
    const char *names[8];
    const float priority = 1;
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, &device));
    OK(culv_vk_find_queue_family(get, my.instance, my.physical_device, CULV_VK_QUEUE_GRAPHICS,
                                 &family));
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkDeviceCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queues,
        .enabledExtensionCount = 8,
        .ppEnabledExtensionNames = names,
    };
    culv_vk_device_features features = culv_vk_device_features_init();
    OK(culv_vk_merge_device_extensions(&my, 0, NULL, &wanted.enabledExtensionCount, names));
    OK(culv_vk_merge_device_features(&my, NULL, &features, &wanted.pNext));
    OK(vkCreateDevice(my.physical_device, &wanted, NULL, &my.device));
    vkGetDeviceQueue(my.device, family, 0, &queue);
}

static void open_device(void)
{
    create_instance();
    create_device();
    OK(culv_vk_attach(device, &my, &vk));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void close_device(void)
{
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
}

/* The ring ------------------------------------------------------------------------------------- */

static culv_ring *ring;          /* one buffer of both sides */
static culv_shared_buffer *host; /* in host memory, for the CPU to read */

static void create_ring(void)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = BYTES,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
    };
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc.create_info = &info;
    const culv_vk_ring_resource resource = {
        .buffer = &buffer_desc,
        .use = CULV_VK_USE_TRANSFER_SRC,
    };
    culv_vk_ring_desc ring_desc = culv_vk_ring_desc_init();
    ring_desc.max_depth = SLOTS;
    ring_desc.resources = &resource;
    ring_desc.num_resources = 1;
    ring_desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &ring_desc, &ring));

    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    buffer_desc.host_memory = VK_TRUE;
    OK(culv_vk_buffer_create(vk, &buffer_desc, &host));
}

/* Work ----------------------------------------------------------------------------------------- */

static culv_kernels *kernels;
static culv_kernel *fill;

/* The file for this device: hello_kernel.fatbin, or for the twin hello_kernel.soft.so. */
static void load_kernel(const char *directory)
{
    OK(culv_kernels_load(device, directory, "hello_kernel", &kernels));
    OK(culv_kernels_get(kernels, "fill", &fill));
}

/* A thread for each word, in blocks of 32 x 8. Each argument has its parameter's type. */
static void cuda_fills(void)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame));
    const CUdeviceptr words = culv_ring_pointer(ring, frame.slot, 0);
    const int width = WIDTH, height = HEIGHT;
    const uint32_t seed = SEED;
    const culv_launch_desc threads = culv_launch_2d(WIDTH, HEIGHT, 32, 8, stream);
    OK(CULV_LAUNCH(fill, &threads, CULV_ARG(words), CULV_ARG(width), CULV_ARG(height),
                   CULV_ARG(seed)));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
}

static VkCommandPool pool;

static VkCommandBuffer begin_commands(void)
{
    const VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = 1,
    };
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    OK(vkAllocateCommandBuffers(my.device, &one, &commands));
    OK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

/* A copy for the CPU, with the ring's barriers around it. The queue waits for the kernel. */
static void vulkan_copies(void)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &frame));
    VkCommandBuffer commands = begin_commands();
    OK(culv_vk_ring_record_copy(ring, commands, frame.slot, 0, culv_vk_buffer_handle(host), 0,
                                BYTES));
    OK(vkEndCommandBuffer(commands));
    OK(culv_vk_ring_submit(ring, queue, commands, VK_NULL_HANDLE, &frame));
    OK(vkQueueWaitIdle(queue));
}

static int count_wrong(void)
{
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < WIDTH; x++)
            wrong += words[y * WIDTH + x] != x * y + SEED;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    open_device();
    create_ring();
    load_kernel(argc > 1 ? argv[1] : ".");
    cuda_fills();
    vulkan_copies();
    const int wrong = count_wrong();
    printf("hello_kernel: %d of %d words are wrong\n", wrong, WORDS);

    culv_kernels_unload(&kernels);
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_ring_destroy(&ring);
    close_device();
    return wrong != 0;
}
