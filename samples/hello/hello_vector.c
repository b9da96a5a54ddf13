/* SPDX-License-Identifier: MIT */
/* hello_vector: memory of CUDA's that grows from 1 MiB to 21 MiB. Its address stays, nothing is
 * copied, and Vulkan imports what is new. After each step the CPU checks what Vulkan sees.
 *
 *   cc hello_vector.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 5, PARTS = 64, HOST = 64 << 20 };
static const uint64_t sizes[STEPS] = {1 << 20, 1234568, (3 << 20) + 4, 10000004,
                                      21 << 20}; /* bytes */

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

    /* The vector, Vulkan's view of it, and a buffer in host memory, which the CPU reads. */
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = HOST,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vector_desc vector_desc = culv_vector_desc_init();
    culv_vk_vector_view_desc view_desc = culv_vk_vector_view_desc_init();
    culv_vk_buffer_create_desc host_desc = culv_vk_buffer_create_desc_init();
    culv_vector *vector;
    culv_vector_view *view;
    culv_shared_buffer *host;
    vector_desc.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    view_desc.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    host_desc.create_info = &info;
    host_desc.host_memory = VK_TRUE;
    OK(culv_vector_create(device, &vector_desc, &vector));
    OK(culv_vk_vector_view_create(vk, vector, &view_desc, &view));
    OK(culv_vk_buffer_create(vk, &host_desc, &host));
    const CUdeviceptr pointer = culv_vector_pointer(vector);
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = family};
    VkCommandPool pool;
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));

    culv_vk_buffer_transfer t = culv_vk_buffer_transfer_init();
    VkBufferMemoryBarrier2 barrier;
    const VkDependencyInfo dependency = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                         .bufferMemoryBarrierCount = 1,
                                         .pBufferMemoryBarriers = &barrier};
    const VkMemoryBarrier2 read = {
        VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, NULL,
        VK_PIPELINE_STAGE_2_COPY_BIT,       VK_ACCESS_2_TRANSFER_WRITE_BIT,
        VK_PIPELINE_STAGE_2_HOST_BIT,       VK_ACCESS_2_HOST_READ_BIT};
    const VkDependencyInfo to_host = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1,
                                      .pMemoryBarriers = &read};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    size_t count = 0, wrong = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        /* It grows, and CUDA writes what is new. */
        const uint64_t old = culv_vector_size(vector), size = sizes[step];
        OK(culv_vector_grow(vector, size));
        OK(CULV_CUDA(device)->cuMemsetD32Async(pointer + old, 7 + step, (size - old) / 4, stream));
        OK(CULV_CUDA(device)->cuStreamSynchronize(stream)); /* hello_vulkan.c has a timeline */
        /* Vulkan imports what is new, and copies everything for the CPU. */
        culv_vk_vector_view_buffer parts[PARTS];
        const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = pool, .commandBufferCount = 1};
        VkCommandBuffer commands;
        t.queue_family = family;
        OK(culv_vector_view_update(view));
        OK(culv_vk_vector_view_get_buffers(view, parts, PARTS, &count));
        OK(vkAllocateCommandBuffers(my.device, &one, &commands));
        OK(vkBeginCommandBuffer(commands, &begin));
        for (size_t i = 0; i < count && parts[i].offset + parts[i].size <= HOST; i++) {
            const VkBufferCopy copy = {0, parts[i].offset, parts[i].size};
            t.buffer = parts[i].buffer;
            OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
            vkCmdPipelineBarrier2(commands, &dependency);
            vkCmdCopyBuffer(commands, t.buffer, culv_vk_buffer_handle(host), 1, &copy);
            OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
            vkCmdPipelineBarrier2(commands, &dependency);
        }
        vkCmdPipelineBarrier2(commands, &to_host);
        OK(vkEndCommandBuffer(commands));
        const VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                                     .pCommandBuffers = &commands};
        OK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
        OK(vkQueueWaitIdle(queue));
        OK(culv_vector_pointer(vector) != pointer);
        for (uint64_t word = 0, part = 0; word < size / 4; word++) {
            part += word == sizes[part] / 4;
            wrong += words[word] != 7 + part;
        }
    }
    printf("hello_vector: %zu words are wrong after %d steps; %zu chunks\n", wrong, STEPS, count);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
