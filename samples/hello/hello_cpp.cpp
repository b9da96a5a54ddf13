/* SPDX-License-Identifier: MIT */
/* hello_cpp: hello_vulkan in C++17. CUDA writes a strip of colours into a slot of a ring,
 * Vulkan draws a picture from it, and CUDA reads the picture. Each side waits for the other on the
 * GPU.
 *
 *   c++ -std=c++17 hello_cpp.cpp $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * It prints "hello_cpp: 0 of 32131 pixels are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/vulkan.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

constexpr uint32_t width = 253, height = 127, strip_size = 3 * width;

static void ok(int result, const char *call) // of CUDA and of Vulkan
{
    if (result != 0) throw std::runtime_error(std::string(call) + ": " + std::to_string(result));
}
#define OK(call) ok(static_cast<int>(call), #call)

// The VkInstance and the VkDevice, which outlive all that Culvert makes with them.
struct vulkan {
    VkInstance instance = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    ~vulkan()
    {
        if (pool != VK_NULL_HANDLE) vkDestroyCommandPool(device, pool, nullptr);
        if (device != VK_NULL_HANDLE) vkDestroyDevice(device, nullptr);
        if (instance != VK_NULL_HANDLE) vkDestroyInstance(instance, nullptr);
    }
};

static uint32_t first(uint32_t row) // of its pixels in the strip
{
    return row * row % (2 * width);
}

int main()
try {
    vulkan mine;
    culv_vk_device_desc desc = culv_vk_device_desc_init();
    desc.get_instance_proc_addr = vkGetInstanceProcAddr;
    desc.api_version = VK_API_VERSION_1_3;
    const VkApplicationInfo app = {
        VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, nullptr, 0, nullptr, 0, desc.api_version};
    const char *layers[8], *names[8];
    uint32_t num_layers = 8, num_names = 8, family;
    culvert::ok(
        culv_vk_merge_instance_layers(vkGetInstanceProcAddr, 0, nullptr, &num_layers, layers));
    const VkInstanceCreateInfo asked = {
        VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, nullptr, 0, &app, num_layers, layers, 0, nullptr};
    OK(vkCreateInstance(&asked, nullptr, &mine.instance));
    desc.instance = mine.instance;
    culvert::device device = culvert::choose_device(desc);
    culvert::ok(culv_vk_find_queue_family(desc.get_instance_proc_addr, desc.instance,
                                          desc.physical_device, CULV_VK_QUEUE_GRAPHICS, &family));
    culv_vk_device_features features = culv_vk_device_features_init();
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, nullptr, 0, family, 1, &priority};
    VkDeviceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    wanted.queueCreateInfoCount = 1;
    wanted.pQueueCreateInfos = &queues;
    culvert::ok(culv_vk_merge_device_extensions(&desc, 0, nullptr, &num_names, names));
    culvert::ok(culv_vk_merge_device_features(&desc, nullptr, &features, &wanted.pNext));
    wanted.enabledExtensionCount = num_names;
    wanted.ppEnabledExtensionNames = names;
    OK(vkCreateDevice(desc.physical_device, &wanted, nullptr, &mine.device));
    desc.device = mine.device;
    culvert::vk_device vk = culvert::vk_device::attach(device.get(), desc);

    // A ring of one slot: a buffer with the strip and, behind it, the picture.
    VkQueue queue;
    vkGetDeviceQueue(mine.device, family, 0, &queue);
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 4 * (strip_size + width * height);
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    culv_vk_ring_resource resource = culv_vk_ring_resource_init();
    culv_vk_ring_desc ring_desc = culv_vk_ring_desc_init();
    buffer_desc.create_info = &info;
    resource.buffer = &buffer_desc;
    ring_desc.max_depth = ring_desc.num_resources = 1;
    ring_desc.resources = &resource;
    ring_desc.queue_family = family;
    const culvert::vk_ring ring = culvert::vk_ring::create(vk.get(), queue, ring_desc);

    // CUDA writes the strip.
    const culv_cuda_api &cuda = *CULV_CUDA(device.get());
    std::vector<uint32_t> strip(strip_size), picture(width * height);
    for (uint32_t i = 0; i < strip_size; i++)
        strip[i] = 0x10203 * i + 0x7f0000;
    CUstream stream;
    OK(cuda.cuCtxSetCurrent(device.context()));
    OK(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    culvert::ring_frame frame = ring.view().acquire(CULV_RING_PRODUCER, stream);
    OK(cuda.cuMemcpyHtoDAsync(ring.pointer(frame.slot(), 0), strip.data(), 4 * strip_size, stream));
    frame.release();

    // Vulkan draws row after row. Its queue waits for CUDA, and the host for nobody.
    const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr,
                                               0, family};
    OK(vkCreateCommandPool(mine.device, &pool_info, nullptr, &mine.pool));
    const VkCommandBufferAllocateInfo one = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             nullptr, mine.pool, VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             1};
    const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, nullptr, 0,
                                            nullptr};
    VkCommandBuffer commands;
    OK(vkAllocateCommandBuffers(mine.device, &one, &commands));
    culvert::vk_ring_frame turn = ring.acquire();
    const VkBuffer buffer = ring.buffer(turn.slot(), 0);
    OK(vkBeginCommandBuffer(commands, &begin));
    vkCmdPipelineBarrier2(commands, turn.barriers(CULV_VK_ACQUIRE));
    for (uint32_t row = 0; row < height; row++) {
        const VkBufferCopy copy = {4 * first(row), 4 * (strip_size + row * width), 4 * width};
        vkCmdCopyBuffer(commands, buffer, buffer, 1, &copy);
    }
    vkCmdPipelineBarrier2(commands, turn.barriers(CULV_VK_RELEASE));
    OK(vkEndCommandBuffer(commands));
    turn.submit(queue, commands);

    // CUDA's next turn waits for Vulkan. It reads the picture, and only here the host waits.
    frame = ring.view().acquire(CULV_RING_PRODUCER, stream);
    OK(cuda.cuMemcpyDtoHAsync(picture.data(), ring.pointer(frame.slot(), 0) + 4 * strip_size,
                              4 * picture.size(), stream));
    OK(cuda.cuStreamSynchronize(stream));
    frame.cancel(); // nothing new for Vulkan
    OK(vkQueueWaitIdle(queue));
    OK(cuda.cuStreamDestroy(stream));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < width * height; i++)
        wrong += picture[i] != strip[first(i / width) + i % width];
    std::printf("hello_cpp: %u of %u pixels are wrong\n", wrong, width * height);
    return wrong != 0;
} catch (const std::exception &e) { // culvert::error says what to do, too
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
