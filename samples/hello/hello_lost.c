/* SPDX-License-Identifier: MIT */
/* hello_lost: a VkDevice is lost in the middle of a ring's frames. The program tells Culvert, gets
 * out, and goes on with a new VkDevice on the same CUDA device.
 *
 *   cc hello_lost.c $(pkg-config --cflags --libs culvert vulkan)
 *   CULVERT_SOFT=1 CULVERT_SOFT_FAIL_AT=vulkan:vkQueueSubmit2:5:-4 ./a.out
 *
 * The twin loses the device in the fifth submission, and without the second variable not. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 12, SLOTS = 3, WORDS = 32131, BYTES = 4 * WORDS };
static const uint64_t timeout = 10000000000; /* nanoseconds */
#define OK(call) check((int)(call), #call)   /* 0 is success of Culvert, of CUDA and of Vulkan */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

static culv_vk_device_desc my; /* the VkInstance, the VkPhysicalDevice and the VkDevice */
static culv_device *device;    /* and its stream outlive the VkDevice */
static CUstream stream;
static uint32_t family;
/* All that is lost with a VkDevice; the CPU reads `host`. */
static culv_vk_device *vk;
static culv_vk_ring *ring;
static culv_shared_buffer *host;
static VkCommandPool pool;
static VkQueue queue;

static void open_vulkan(void)
{
    const char *names[8];
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
    OK(culv_vk_attach(device, &my, &vk));
    vkGetDeviceQueue(my.device, family, 0, &queue);
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc cells = culv_vk_buffer_create_desc_init(), reader = cells;
    const culv_vk_ring_resource resource = {.buffer = &cells, .use = CULV_VK_USE_TRANSFER_SRC};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    cells.create_info = reader.create_info = &info, reader.host_memory = VK_TRUE;
    desc.max_depth = SLOTS, desc.resources = &resource, desc.num_resources = 1;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    OK(culv_vk_buffer_create(vk, &reader, &host));
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = family};
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
}

/* None of these waits for a device that is lost, once Culvert was told. */
static void close_vulkan(void)
{
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_vk_ring_destroy(&ring);
    culv_shared_buffer_destroy(&host);
    culv_vk_detach(&vk);
    vkDestroyDevice(my.device, NULL);
}

/* CUDA writes a frame, and Vulkan copies it for the CPU. 0: do it once more. */
static uint32_t one_frame(uint32_t number, int *wrong)
{
    culv_ring *core = culv_vk_ring_core(ring);
    culv_ring_frame f;
    culv_vk_ring_frame v;
    OK(culv_ring_acquire_on(core, CULV_RING_PRODUCER, stream, timeout, &f));
    CUdeviceptr words = culv_vk_ring_pointer(ring, f.slot, 0);
    OK(CULV_CUDA(device)->cuMemsetD32Async(words, 1000 + number, WORDS, stream));
    OK(culv_ring_release_on(core, CULV_RING_PRODUCER, stream, &f));
    OK(culv_vk_ring_acquire(ring, timeout, &v));
    const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBufferSubmitInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
    OK(vkAllocateCommandBuffers(my.device, &one, &commands.commandBuffer));
    OK(vkBeginCommandBuffer(commands.commandBuffer, &begin));
    OK(culv_vk_ring_record_copy(ring, commands.commandBuffer, v.frame.slot, 0,
                                culv_vk_buffer_handle(host), 0, BYTES));
    OK(vkEndCommandBuffer(commands.commandBuffer));
    /* A submission of the program's own, as an engine has: Culvert does not see that it fails. */
    OK(culv_vk_ring_release(ring, &v));
    const VkSubmitInfo2 submit = {
        VK_STRUCTURE_TYPE_SUBMIT_INFO_2,   .waitSemaphoreInfoCount = v.num_waits,
        .pWaitSemaphoreInfos = &v.wait,    .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &commands,  .signalSemaphoreInfoCount = v.num_signals,
        .pSignalSemaphoreInfos = &v.signal};
    VkResult r = vkQueueSubmit2(queue, 1, &submit, VK_NULL_HANDLE);
    if (r == VK_SUCCESS) r = vkQueueWaitIdle(queue);
    if (r == VK_ERROR_DEVICE_LOST) {
        (void)culv_vk_ring_submit_failed(ring, &v, r); /* the ring stops; CUDA waits no more */
        printf("hello_lost: the device was lost in frame %u\n", (unsigned)number);
        OK(CULV_CUDA(device)->cuStreamSynchronize(stream)); /* and threads that use it are joined */
        close_vulkan();
        open_vulkan();
        return 0;
    }
    OK(r);
    const uint32_t *got = culv_vk_buffer_host_pointer(host);
    for (int i = 0; i < WORDS; i++)
        *wrong += got[i] != 1000 + number;
    return 1;
}

int main(void)
{
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_3};
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    const char *layers[8];
    VkInstanceCreateInfo asked = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
                                  .enabledLayerCount = 8, .ppEnabledLayerNames = layers};
    OK(culv_vk_merge_instance_layers(get, 0, NULL, &asked.enabledLayerCount, layers));
    my = culv_vk_device_desc_init();
    my.get_instance_proc_addr = get, my.api_version = app.apiVersion;
    OK(vkCreateInstance(&asked, NULL, &my.instance));
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, &device));
    OK(culv_vk_find_queue_family(get, my.instance, my.physical_device, CULV_VK_QUEUE_COPY,
                                 &family));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int wrong = 0;
    open_vulkan();
    for (uint32_t number = 0; number < FRAMES;)
        number += one_frame(number, &wrong);
    printf("hello_lost: %d of %d words in %d frames are wrong\n", wrong, WORDS * FRAMES, FRAMES);
    close_vulkan();
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
