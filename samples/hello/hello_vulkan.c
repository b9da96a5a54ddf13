/* SPDX-License-Identifier: MIT */
/* hello_vulkan: CUDA writes a strip of colours into a buffer, Vulkan draws a picture from it, and
 * CUDA reads the picture. Each side waits for the other on the GPU, by one timeline.
 *
 *   cc hello_vulkan.c $(pkg-config --cflags --libs culvert vulkan) -lm && ./a.out
 *
 * It writes hello_vulkan.ppm, bands of colour, and prints
 * "hello_vulkan.ppm: 0 of 32131 pixels are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH };

static uint32_t strip[STRIP];
static uint32_t picture[HEIGHT][WIDTH];

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

/* Memory and semaphore ------------------------------------------------------------------------- */

static culv_shared_buffer *buffer;      /* the strip and, behind it, the picture */
static culv_shared_semaphore *timeline; /* 1: the strip is there; 2: the picture is */

static void share(void)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = 4 * (STRIP + WIDTH * HEIGHT),
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc.create_info = &info;
    OK(culv_vk_buffer_create(vk, &buffer_desc, &buffer));
    OK(culv_vk_semaphore_create(vk, NULL, &timeline));
}

/* Work ----------------------------------------------------------------------------------------- */

static void cuda_writes_strip(void)
{
    for (uint32_t i = 0; i < STRIP; i++) {
        const uint32_t red = (uint32_t)(128 + 127 * cos(i * 0.0207));
        const uint32_t green = (uint32_t)(120 + 80 * cos(i * 0.0414 + 1));
        const uint32_t blue = (uint32_t)(150 + 105 * cos(i * 0.0207 + 2.5));
        strip[i] = red | green << 8 | blue << 16;
    }
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(pointer, strip, sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(timeline), stream, 1));
}

/* Which pixel of the strip a row begins with. */
static uint32_t first_of_row(uint32_t row)
{
    return (uint32_t)((int)WIDTH + 0.55 * (int)WIDTH * sin(row * 0.035) +
                      0.25 * (int)WIDTH * sin(row * 0.11 + 1));
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

/* The buffer comes from CUDA, or goes to it. */
static void record_barrier(VkCommandBuffer commands, culv_vk_direction direction)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    transfer.buffer = culv_vk_buffer_handle(buffer);
    transfer.queue_family = family;
    OK(culv_vk_buffer_get_barrier2(&transfer, direction, &barrier));
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .bufferMemoryBarrierCount = 1,
        .pBufferMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(commands, &dependency);
}

/* The queue waits for 1, and signals 2. */
static void submit(VkCommandBuffer commands)
{
    const VkSemaphoreSubmitInfo wait = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = culv_vk_semaphore_handle(timeline),
        .value = 1,
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
    const VkSemaphoreSubmitInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = culv_vk_semaphore_handle(timeline),
        .value = 2,
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
    const VkCommandBufferSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = commands,
    };
    const VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = 1,
        .pWaitSemaphoreInfos = &wait,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &work,
        .signalSemaphoreInfoCount = 1,
        .pSignalSemaphoreInfos = &signal,
    };
    OK(vkQueueSubmit2(queue, 1, &info, VK_NULL_HANDLE));
}

/* Each row of the picture is a piece of the strip. */
static void vulkan_draws(void)
{
    const VkBuffer handle = culv_vk_buffer_handle(buffer);
    VkCommandBuffer commands = begin_commands();
    record_barrier(commands, CULV_VK_ACQUIRE);
    for (uint32_t row = 0; row < HEIGHT; row++) {
        const VkBufferCopy copy = {
            .srcOffset = 4 * first_of_row(row),
            .dstOffset = 4 * (STRIP + row * WIDTH),
            .size = 4 * WIDTH,
        };
        vkCmdCopyBuffer(commands, handle, handle, 1, &copy);
    }
    record_barrier(commands, CULV_VK_RELEASE);
    OK(vkEndCommandBuffer(commands));
    submit(commands);
}

/* The host waits only here. */
static void cuda_reads_picture(void)
{
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer) + sizeof strip;
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(timeline), stream, 2));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, pointer, sizeof picture, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    OK(vkQueueWaitIdle(queue));
}

/* Check and picture ---------------------------------------------------------------------------- */

static int count_wrong(void)
{
    int wrong = 0;
    for (uint32_t row = 0; row < HEIGHT; row++) {
        for (uint32_t x = 0; x < WIDTH; x++)
            wrong += picture[row][x] != strip[first_of_row(row) + x];
    }
    return wrong;
}

static void write_picture(void)
{
    FILE *file = fopen("hello_vulkan.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    OK(fclose(file));
}

int main(void)
{
    open_device();
    share();
    cuda_writes_strip();
    vulkan_draws();
    cuda_reads_picture();

    const int wrong = count_wrong();
    write_picture();
    printf("hello_vulkan.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_semaphore_destroy(&timeline, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    close_device();
    return wrong != 0;
}
