/* SPDX-License-Identifier: MIT */
/* hello_vulkan: CUDA writes a strip of colours into a buffer, Vulkan draws a picture from it, and
 * CUDA reads the picture. Each side waits for the other on the GPU, by one timeline.
 *
 *   cc hello_vulkan.c $(pkg-config --cflags --libs culvert vulkan) -lm && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH };

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

    /* What both share: a buffer with the strip and, behind it, the picture; and a timeline. */
    const VkBufferCreateInfo buffer_info = {
        VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4 * (STRIP + WIDTH * HEIGHT),
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    culv_shared_buffer *buffer;
    culv_shared_semaphore *timeline;
    buffer_desc.create_info = &buffer_info;
    OK(culv_vk_buffer_create(vk, &buffer_desc, &buffer));
    OK(culv_vk_semaphore_create(vk, NULL, &timeline));

    /* CUDA writes the strip and signals 1. */
    static uint32_t strip[STRIP], picture[HEIGHT][WIDTH], first[HEIGHT];
    for (uint32_t i = 0; i < STRIP; i++)
        strip[i] = (uint32_t)(128 + 127 * cos(i * 0.0207)) |
                   (uint32_t)(120 + 80 * cos(i * 0.0414 + 1)) << 8 |
                   (uint32_t)(150 + 105 * cos(i * 0.0207 + 2.5)) << 16;
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(pointer, strip, sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(timeline), stream, 1));

    /* Vulkan waits for 1, draws row after row, and signals 2. */
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
    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    const VkDependencyInfo dependency = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    t.buffer = culv_vk_buffer_handle(buffer);
    t.queue_family = family;
    OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    for (uint32_t row = 0; row < HEIGHT; row++) {
        first[row] = (uint32_t)((int)WIDTH + 0.55 * (int)WIDTH * sin(row * 0.035) +
                                0.25 * (int)WIDTH * sin(row * 0.11 + 1));
        const VkBufferCopy copy = {4 * first[row], 4 * (STRIP + row * WIDTH), 4 * WIDTH};
        vkCmdCopyBuffer(commands, t.buffer, t.buffer, 1, &copy);
    }
    OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    OK(vkEndCommandBuffer(commands));
    const VkSemaphoreSubmitInfo wait = {VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                        .semaphore = culv_vk_semaphore_handle(timeline), .value = 1,
                                        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
    const VkSemaphoreSubmitInfo signal = {wait.sType, NULL, wait.semaphore, 2, wait.stageMask, 0};
    const VkCommandBufferSubmitInfo work = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                            .commandBuffer = commands};
    const VkSubmitInfo2 submit = {
        VK_STRUCTURE_TYPE_SUBMIT_INFO_2, NULL, 0, 1, &wait, 1, &work, 1, &signal};
    OK(vkQueueSubmit2(queue, 1, &submit, VK_NULL_HANDLE));

    /* CUDA waits for 2 and reads the picture; only here the host waits. */
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(timeline), stream, 2));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, pointer + sizeof strip, sizeof picture,
                                            stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    OK(vkQueueWaitIdle(queue));
    int wrong = 0;
    FILE *file = fopen("hello_vulkan.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        wrong += picture[i / WIDTH][i % WIDTH] != strip[first[i / WIDTH] + i % WIDTH];
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    }
    OK(fclose(file));
    printf("hello_vulkan.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_semaphore_destroy(&timeline);
    culv_shared_buffer_destroy(&buffer);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
