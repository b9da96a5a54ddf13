/* SPDX-License-Identifier: MIT */
/* hello_own_allocator: two buffers in one block of memory, which the program allocates as its own
 * allocator does. CUDA imports the block and fills the first buffer, Vulkan copies it into the
 * second, and CUDA reads that.
 *
 *   cc hello_own_allocator.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 32131, BYTES = 4 * WORDS, BLOCK = 1 << 20 };

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

    /* A buffer that may lie in exported memory. Can it be shared, and what does it need? */
    const VkExternalMemoryBufferCreateInfo external = {
        VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external, .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    culv_vk_sharing_info how = culv_vk_sharing_info_init();
    OK(culv_vk_check_buffer(vk, &info, NULL, &how));

    /* The block: exportable, and of a memory type that such buffers can have. */
    const VkExportMemoryAllocateInfo exported = {VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                                 .handleTypes = external.handleTypes};
    const VkMemoryAllocateInfo block_info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &exported,
                                             BLOCK, how.memory_type_index};
    culv_vk_memory_desc block = culv_vk_memory_desc_init();
    OK(vkAllocateMemory(my.device, &block_info, NULL, &block.memory));
    block.allocation_size = BLOCK;

    /* For each buffer: bind it at its place, get the block's import, and map the buffer's range. */
    VkBuffer buffers[2];
    culv_buffer *cuda[2];
    culv_buffer_desc range = culv_buffer_desc_init();
    range.size = BYTES;
    for (int i = 0; i < 2; i++) {
        const VkDeviceSize alignment = how.requirements.alignment;
        culv_memory *memory;
        range.offset = (range.offset + range.size + alignment - 1) / alignment * alignment;
        OK(vkCreateBuffer(my.device, &info, NULL, &buffers[i]));
        OK(vkBindBufferMemory(my.device, buffers[i], block.memory, range.offset));
        OK(culv_vk_memory_import_shared(vk, &block, &memory)); /* the driver imports it once */
        OK(culv_buffer_map(memory, &range, &cuda[i]));
        culv_memory_destroy(&memory); /* the buffer keeps it */
    }

    /* To keep this short, the host waits for each side. hello_vulkan.c has a timeline instead. */
    OK(CULV_CUDA(device)->cuMemsetD32Async(culv_buffer_pointer(cuda[0]), 0xc0ffee, WORDS, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
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
    t.queue_family = family;
    t.buffer = buffers[0];
    OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_ACQUIRE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    vkCmdCopyBuffer(commands, buffers[0], buffers[1], 1, &(VkBufferCopy){.size = BYTES});
    t.buffer = buffers[1];
    OK(culv_vk_buffer_get_barrier2(&t, CULV_VK_RELEASE, &barrier));
    vkCmdPipelineBarrier2(commands, &dependency);
    OK(vkEndCommandBuffer(commands));
    const VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1,
                                 .pCommandBuffers = &commands};
    OK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    OK(vkQueueWaitIdle(queue));
    static uint32_t got[WORDS];
    int wrong = 0;
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(got, culv_buffer_pointer(cuda[1]), BYTES, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    for (int i = 0; i < WORDS; i++)
        wrong += got[i] != 0xc0ffee;
    printf("hello_own_allocator: %d of %d words are wrong\n", wrong, WORDS);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    vkDestroyCommandPool(my.device, pool, NULL);
    for (int i = 0; i < 2; i++) {
        culv_buffer_unmap(&cuda[i]);
        vkDestroyBuffer(my.device, buffers[i], NULL);
    }
    vkFreeMemory(my.device, block.memory, NULL);
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
    return wrong != 0;
}
