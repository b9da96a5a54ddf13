/* SPDX-License-Identifier: MIT */
/* hello_vector: memory that grows in CUDA and keeps its address, while Vulkan imports what is new
 * and copies all of it for the CPU, which checks each word.
 *
 *   cc hello_vector.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * It prints "hello_vector: 0 words are wrong after 5 steps" and the number of chunks. With
 * CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 5, PARTS = 64, HOST = 32 << 20 };
static const uint64_t sizes[STEPS] = {1 << 20, 1234568, (3 << 20) + 4, 10000004, 21 << 20};

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

/* Memory --------------------------------------------------------------------------------------- */

static culv_vector *vector;      /* CUDA's, at one address for ever */
static culv_vector_view *view;   /* the same memory for Vulkan: a VkBuffer for each chunk */
static culv_shared_buffer *host; /* in host memory, for the CPU to read */

static void create_memory(void)
{
    culv_vector_desc vector_desc = culv_vector_desc_init();
    vector_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    OK(culv_vector_create(device, &vector_desc, &vector));

    culv_vk_vector_view_desc view_desc = culv_vk_vector_view_desc_init();
    view_desc.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    OK(culv_vk_vector_view_create(vk, vector, &view_desc, &view));

    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = HOST,
        .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    culv_vk_buffer_create_desc host_desc = culv_vk_buffer_create_desc_init();
    host_desc.create_info = &info;
    host_desc.host_memory = VK_TRUE;
    OK(culv_vk_buffer_create(vk, &host_desc, &host));
}

/* Work ----------------------------------------------------------------------------------------- */

static VkCommandPool pool;

static void create_pool(void)
{
    const VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    OK(vkCreateCommandPool(my.device, &info, NULL, &pool));
}

/* CUDA writes what is new. Here the host waits for it; hello_vulkan.c has a timeline instead. */
static void grow(uint32_t step)
{
    const CUdeviceptr pointer = culv_vector_pointer(vector);
    const uint64_t old = culv_vector_size(vector), added = sizes[step] - old;
    OK(culv_vector_grow(vector, sizes[step]));
    OK(culv_vector_pointer(vector) != pointer);
    OK(CULV_CUDA(device)->cuMemsetD32Async(pointer + old, 7 + step, added / 4, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
}

/* A chunk comes from CUDA, or goes back to it. */
static void record_barrier(VkCommandBuffer commands, VkBuffer buffer, culv_vk_direction direction)
{
    culv_vk_buffer_transfer transfer = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    transfer.buffer = buffer;
    transfer.queue_family = family;
    OK(culv_vk_buffer_get_barrier2(&transfer, direction, &barrier));
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .bufferMemoryBarrierCount = 1,
        .pBufferMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(commands, &dependency);
}

static void record_barrier_to_host(VkCommandBuffer commands)
{
    const VkMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
    };
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .memoryBarrierCount = 1,
        .pMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(commands, &dependency);
}

static void submit(VkCommandBuffer commands)
{
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &commands,
    };
    OK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    OK(vkQueueWaitIdle(queue));
}

/* Vulkan imports what is new, and copies every chunk. Returns how many chunks there are. */
static size_t copy_to_host(void)
{
    culv_vk_vector_view_buffer parts[PARTS];
    size_t count = 0;
    OK(culv_vector_view_update(view));
    OK(culv_vk_vector_view_get_buffers(view, parts, PARTS, &count));

    const VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = 1,
    };
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands;
    OK(vkAllocateCommandBuffers(my.device, &one, &commands));
    OK(vkBeginCommandBuffer(commands, &begin));
    for (size_t i = 0; i < count && parts[i].offset + parts[i].size <= HOST; i++) {
        const VkBufferCopy copy = {.dstOffset = parts[i].offset, .size = parts[i].size};
        record_barrier(commands, parts[i].buffer, CULV_VK_ACQUIRE);
        vkCmdCopyBuffer(commands, parts[i].buffer, culv_vk_buffer_handle(host), 1, &copy);
        record_barrier(commands, parts[i].buffer, CULV_VK_RELEASE);
    }
    record_barrier_to_host(commands);
    OK(vkEndCommandBuffer(commands));
    submit(commands);
    return count;
}

/* Each step's words are where they were, with the step's number. */
static size_t count_wrong(uint32_t steps)
{
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    uint64_t word = 0;
    size_t wrong = 0;
    for (uint32_t step = 0; step < steps; step++) {
        for (; word < sizes[step] / 4; word++)
            wrong += words[word] != 7 + step;
    }
    return wrong;
}

int main(void)
{
    size_t chunks = 0, wrong = 0;
    open_device();
    create_memory();
    create_pool();
    for (uint32_t step = 0; step < STEPS; step++) {
        grow(step);
        chunks = copy_to_host();
        wrong += count_wrong(step + 1);
    }
    printf("hello_vector: %zu words are wrong after %d steps; %zu chunks\n", wrong, STEPS, chunks);

    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector);
    close_device();
    return wrong != 0;
}
