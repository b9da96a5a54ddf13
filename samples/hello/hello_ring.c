/* SPDX-License-Identifier: MIT */
/* hello_ring: a thread of CUDA's produces 100 frames, a thread of Vulkan's consumes them, and the
 * CPU checks each word. Up to 4 frames are on their way.
 *
 *   cc hello_ring.c $(pkg-config --cflags --libs culvert vulkan) -pthread && ./a.out
 *
 * It prints "hello_ring: 0 of 1000700 words in 100 frames are wrong". With CULVERT_SOFT=1 it runs
 * without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 100, SLOTS = 4, WORDS = 10007, BYTES = 4 * WORDS };
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

static culv_ring *ring;          /* a buffer of both sides in each slot */
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

/* CUDA's thread -------------------------------------------------------------------------------- */

static void *produce(void *user)
{
    (void)user;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    for (int i = 0; i < FRAMES; i++) {
        culv_ring_frame frame;
        OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame));
        const CUdeviceptr words = culv_ring_pointer(ring, frame.slot, 0);
        OK(CULV_CUDA(device)->cuMemsetD32Async(words, (unsigned)frame.number, WORDS, stream));
        OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
    }
    OK(culv_ring_flush_on(ring, CULV_RING_PRODUCER, stream));
    return NULL;
}

/* Vulkan's thread, which is the main one ------------------------------------------------------- */

static VkCommandPool pool;
static VkCommandBuffer commands[SLOTS];

/* A command buffer for each slot: it copies the slot for the CPU, between the ring's barriers. */
static void record_commands(void)
{
    const VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo each = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = SLOTS,
    };
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    OK(vkAllocateCommandBuffers(my.device, &each, commands));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        OK(vkBeginCommandBuffer(commands[slot], &begin));
        OK(culv_vk_ring_record_copy(ring, commands[slot], slot, 0, culv_vk_buffer_handle(host), 0,
                                    BYTES));
        OK(vkEndCommandBuffer(commands[slot]));
    }
}

/* It takes what is ready, in order, and checks it. CUDA goes on meanwhile. */
static int consume(void)
{
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        culv_ring_frame frame;
        OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &frame));
        OK(culv_vk_ring_submit(ring, queue, commands[frame.slot], VK_NULL_HANDLE, &frame));
        OK(vkQueueWaitIdle(queue));
        for (int word = 0; word < WORDS; word++)
            wrong += words[word] != i;
    }
    return wrong;
}

int main(void)
{
    pthread_t thread;
    open_device();
    create_ring();
    record_commands();
    OK(pthread_create(&thread, NULL, produce, NULL));
    const int wrong = consume();
    OK(pthread_join(thread, NULL));
    OK(culv_ring_drain(ring, timeout, VK_FALSE));
    printf("hello_ring: %d of %d words in %d frames are wrong\n", wrong, FRAMES * WORDS, FRAMES);

    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host, NULL);
    culv_ring_destroy(&ring, NULL);
    close_device();
    return wrong != 0;
}
