/* SPDX-License-Identifier: MIT */
/* hello_two_gpus: one GPU solves, another one draws. The solver writes 100 frames straight into
 * buffers of the other GPU, and signals its timeline; the CPU checks each word.
 *
 *   cc hello_two_gpus.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * With CULVERT_SOFT=1 CULVERT_SOFT_DEVICES=2 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

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
    culv_device *drawing, *solving;
    uint32_t family;
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, &drawing));
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

    /* The other GPU solves, in the drawing one's memory: nothing crosses unless it is allowed. */
    culv_device_caps draws = culv_device_caps_init(), solves = culv_device_caps_init();
    culv_device_desc same_driver = culv_device_desc_init();
    culv_vk_device *vk;
    OK(culv_device_get_caps(drawing, &draws));
    same_driver.driver = draws.is_software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    OK(culv_device_open_by_ordinal(draws.ordinal == 0, &same_driver, &solving));
    OK(culv_device_get_caps(solving, &solves));
    culv_device_close(&drawing); /* it is not needed */
    my.allow_other_gpu = VK_TRUE;
    OK(culv_vk_attach(solving, &my, &vk));
    VkQueue queue;
    vkGetDeviceQueue(my.device, family, 0, &queue);
    CUstream stream;
    OK(CULV_CUDA(solving)->cuCtxSetCurrent(culv_device_context(solving)));
    OK(CULV_CUDA(solving)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    /* A ring with a buffer of the drawing GPU in each slot, and one that the CPU reads. */
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

    /* The solver is up to 4 frames ahead. */
    culv_ring *core = culv_vk_ring_core(ring);
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    int wrong = 0;
    for (uint32_t i = 0; i < FRAMES + SLOTS - 1; i++) {
        culv_ring_frame made;
        culv_vk_ring_frame frame;
        if (i < FRAMES) {
            OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &made));
            OK(CULV_CUDA(solving)->cuMemsetD32Async(culv_vk_ring_pointer(ring, made.slot, 0),
                                                    (unsigned)made.number, WORDS, stream));
            OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &made));
            if (i + 1 == FRAMES) OK(culv_ring_flush_on(core, CULV_RING_PRODUCER, stream));
        }
        if (i < SLOTS - 1) continue;
        OK(culv_vk_ring_acquire(ring, timeout, &frame));
        OK(culv_vk_ring_submit(ring, queue, commands[frame.frame.slot], VK_NULL_HANDLE, &frame));
        OK(vkQueueWaitIdle(queue));
        for (int word = 0; word < WORDS; word++)
            wrong += words[word] != i - (SLOTS - 1);
    }
    OK(culv_ring_drain(core, timeout, VK_FALSE));
    printf("hello_two_gpus: CUDA device %d solves, %d draws, by %s: %d of %d words are wrong\n",
           solves.ordinal, draws.ordinal,
           culv_sharing_name(
               culv_buffer_sharing(culv_shared_buffer_cuda(culv_vk_ring_buffer(ring, 0, 0)))),
           wrong, FRAMES * WORDS);

    OK(CULV_CUDA(solving)->cuStreamDestroy(stream));
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_vk_ring_destroy(&ring);
    culv_vk_detach(&vk);
    culv_device_close(&solving);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
