/* SPDX-License-Identifier: MIT */
/* hello_ring: a thread of CUDA's produces 100 frames, a thread of Vulkan's consumes them, and the
 * CPU checks each word. Up to 4 frames are on their way.
 *
 *   cc hello_ring.c $(pkg-config --cflags --libs culvert vulkan) -pthread && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 100, SLOTS = 4, WORDS = 10007, BYTES = 4 * WORDS };
static const uint64_t timeout = 10000000000; /* nanoseconds */

#define OK(call) check((int)(call), #call) /* 0 is success of Culvert, of CUDA and of Vulkan */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

typedef struct producer {
    culv_device *device;
    culv_vk_ring *ring;
    CUstream stream;
} producer;

static void *produce(void *user)
{
    const producer *p = user;
    culv_ring *ring = culv_vk_ring_core(p->ring);
    OK(CULV_CUDA(p->device)->cuCtxSetCurrent(culv_device_context(p->device)));
    for (int i = 0; i < FRAMES; i++) {
        culv_ring_frame frame;
        OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, p->stream, timeout, &frame));
        OK(CULV_CUDA(p->device)->cuMemsetD32Async(culv_vk_ring_pointer(p->ring, frame.slot, 0),
                                                  (unsigned)frame.number, WORDS, p->stream));
        OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, p->stream, &frame));
    }
    OK(culv_ring_flush_on(ring, CULV_RING_PRODUCER, p->stream));
    return NULL;
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

    /* A ring with a buffer in each slot, and a buffer in host memory, which the CPU reads. */
    VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc buffer = culv_vk_buffer_create_desc_init();
    const culv_vk_ring_resource resource = {.buffer = &buffer, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    culv_vk_ring *ring;
    culv_shared_buffer *host;
    buffer.create_info = &info;
    desc.max_depth = SLOTS;
    desc.num_resources = 1;
    desc.resources = &resource;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    buffer.host_memory = VK_TRUE;
    OK(culv_vk_buffer_create(vk, &buffer, &host));

    /* A command buffer for each slot: it copies the slot, with the ring's barriers around it. */
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = family};
    VkCommandPool pool;
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo each = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool, .commandBufferCount = SLOTS};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands[SLOTS];
    OK(vkAllocateCommandBuffers(my.device, &each, commands));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        OK(vkBeginCommandBuffer(commands[slot], &begin));
        OK(culv_vk_ring_record_copy(ring, commands[slot], slot, 0, culv_vk_buffer_handle(host), 0,
                                    BYTES));
        OK(vkEndCommandBuffer(commands[slot]));
    }

    /* This thread is Vulkan's: it takes what is ready, in order. */
    producer cuda = {device, ring, stream};
    pthread_t thread;
    OK(pthread_create(&thread, NULL, produce, &cuda));
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        culv_vk_ring_frame frame;
        OK(culv_vk_ring_acquire(ring, timeout, &frame));
        OK(culv_vk_ring_submit(ring, queue, commands[frame.frame.slot], VK_NULL_HANDLE, &frame));
        OK(vkQueueWaitIdle(queue)); /* CUDA goes on */
        for (int word = 0; word < WORDS; word++)
            wrong += words[word] != i;
    }
    OK(pthread_join(thread, NULL));
    OK(culv_ring_drain(culv_vk_ring_core(ring), timeout, VK_FALSE));
    printf("hello_ring: %d of %d words in %d frames are wrong\n", wrong, FRAMES * WORDS, FRAMES);

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
