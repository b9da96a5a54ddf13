/* SPDX-License-Identifier: MIT */
/* A program of an installed Culvert: CUDA writes a buffer and signals, Vulkan waits and reads.
 * Where there is no GPU, CULVERT_SOFT=1 alone makes it run. It prints the version, or why it
 * failed. */
#include <culvert/culvert.h>
#include <culvert/vulkan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1024, MAX_NAMES = 8, MAX_DEVICES = 16 };

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, culv_last_error_message());
    exit(1);
}
#define CULV(call)                                                                                 \
    do {                                                                                           \
        if ((call) != CULV_OK) fail(#call);                                                        \
    } while (0)
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) fail(#condition);                                                        \
    } while (0)

typedef int (*set_context)(CUcontext context);
typedef int (*set_words)(CUdeviceptr to, unsigned word, size_t count);

static VkInstance make_instance(void)
{
    const char *layers[MAX_NAMES];
    VkInstance instance = VK_NULL_HANDLE;
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                 .pApplicationInfo = &application,
                                 .ppEnabledLayerNames = layers};
    info.enabledLayerCount = culv_vk_instance_layers(vkGetInstanceProcAddr, MAX_NAMES, layers);
    MUST(vkCreateInstance(&info, NULL, &instance) == VK_SUCCESS);
    return instance;
}

static VkPhysicalDevice choose(VkInstance instance)
{
    culv_vk_candidate candidates[MAX_DEVICES];
    uint32_t count = MAX_DEVICES;
    for (int i = 0; i < MAX_DEVICES; i++)
        candidates[i] = culv_vk_candidate_init();
    CULV(culv_vk_rank_physical_devices(vkGetInstanceProcAddr, instance, NULL, candidates, count,
                                       &count));
    MUST(count > 0);
    if (!candidates[0].reachable) {
        fprintf(stderr, "%s\n", candidates[0].reason_text);
        exit(1);
    }
    return candidates[0].physical_device;
}

static VkDevice make_device(VkPhysicalDevice physical)
{
    const float priority = 1;
    const char *extensions[MAX_NAMES];
    VkDevice device = VK_NULL_HANDLE;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .timelineSemaphore = VK_TRUE};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .ppEnabledExtensionNames = extensions};
    info.enabledExtensionCount =
        culv_vk_device_extensions(VK_API_VERSION_1_2, MAX_NAMES, extensions);
    MUST(vkCreateDevice(physical, &info, NULL, &device) == VK_SUCCESS);
    return device;
}

int main(void)
{
    VkInstance instance = make_instance();
    VkPhysicalDevice physical = choose(instance);
    VkDevice vulkan = make_device(physical);

    culv_device *cuda = NULL;
    culv_vk_device *vk = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_semaphore *done = NULL;
    culv_vk_device_desc mine = culv_vk_device_desc_init();
    mine.get_instance_proc_addr = vkGetInstanceProcAddr;
    mine.instance = instance;
    mine.physical_device = physical;
    mine.device = vulkan;
    mine.api_version = VK_API_VERSION_1_2;
    CULV(culv_device_open_for_vk(vkGetInstanceProcAddr, instance, physical, NULL, &cuda));
    CULV(culv_vk_attach(cuda, &mine, &vk));

    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = WORDS * sizeof(uint32_t),
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    desc.memory_properties =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    CULV(culv_vk_buffer_create(vk, &desc, &buffer));
    CULV(culv_vk_semaphore_create(vk, NULL, &done));

    void (*enter)(void) = culv_device_cuda_proc(cuda, "cuCtxSetCurrent", 4000);
    void (*set)(void) = culv_device_cuda_proc(cuda, "cuMemsetD32", 3020);
    MUST(enter != NULL && set != NULL);
    MUST(((set_context)enter)(culv_device_context(cuda)) == 0);
    MUST(((set_words)set)(culv_shared_buffer_pointer(buffer), 0x600dda7aU, WORDS) == 0);
    CULV(culv_semaphore_signal(culv_shared_semaphore_cuda(done), NULL, 7));

    VkSemaphore semaphore = culv_vk_semaphore_handle(done);
    uint64_t value = 7;
    VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &semaphore,
                                .pValues = &value};
    MUST(vkWaitSemaphores(vulkan, &wait, 20000000000U) == VK_SUCCESS);
    void *bytes = NULL;
    VkDeviceMemory memory = culv_vk_buffer_memory(buffer, NULL);
    MUST(vkMapMemory(vulkan, memory, 0, VK_WHOLE_SIZE, 0, &bytes) == VK_SUCCESS);
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i * sizeof word, sizeof word);
        MUST(word == 0x600dda7aU);
    }
    vkUnmapMemory(vulkan, memory);

    culv_shared_semaphore_destroy(&done, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    culv_vk_detach(&vk);
    culv_device_close(&cuda);
    vkDestroyDevice(vulkan, NULL);
    vkDestroyInstance(instance, NULL);
    printf("culvert %s\n", culv_version_string());
    return 0;
}
