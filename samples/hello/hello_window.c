/* SPDX-License-Identifier: MIT */
/* hello_window: a CUDA kernel writes the vertices of each frame, and Vulkan draws them into a
 * window. A ring of three slots hands them over; the host waits only for a slot to be free.
 *
 *   culvert-kernels hello_window.cu
 *   cc hello_window.c $(pkg-config --cflags --libs culvert vulkan glfw3) -o hello_window
 *   ./hello_window                          until the window is closed, or Escape is pressed
 *   ./hello_window --frames=100 --hold DIR  100 frames, of which the last one stays; DIR has the
 *                                           compiled kernel (default: .)
 *
 * With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 320, HEIGHT = 240, BARS = 32, VERTICES = 6 * BARS, SLOTS = 3, MOST_IMAGES = 8 };

/* As in hello_window.cu. */
typedef struct vertex {
    float x, y;
    uint32_t colour;
} vertex;

/* 0 is success of Culvert, of CUDA and of Vulkan; a suboptimal image is shown all the same. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0 || result == VK_SUBOPTIMAL_KHR) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* The window and the device -------------------------------------------------------------------- */

static GLFWwindow *window;
static VkSurfaceKHR surface;
static culv_vk_device_desc my; /* the VkInstance, the VkPhysicalDevice and the VkDevice */
static culv_device *device;    /* CUDA's device, which is the same GPU */
static culv_vk_device *vk;     /* Culvert between the two */
static uint32_t family;
static VkQueue queue;
static CUstream stream;

static void open_window(void)
{
    if (!glfwInit() || !glfwVulkanSupported()) {
        fprintf(stderr, "hello_window: no screen, or no Vulkan for it\n");
        exit(1);
    }
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHint(GLFW_RESIZABLE, GLFW_FALSE); /* so that one swapchain lasts */
    window = glfwCreateWindow(WIDTH, HEIGHT, "hello_window", NULL, NULL);
    OK(window == NULL);
}

/* GLFW says which extensions a window needs, and Culvert adds its layers. */
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
    asked.ppEnabledExtensionNames = glfwGetRequiredInstanceExtensions(&asked.enabledExtensionCount);
    my = culv_vk_device_desc_init();
    my.get_instance_proc_addr = vkGetInstanceProcAddr;
    my.api_version = app.apiVersion;
    OK(culv_vk_merge_instance_layers(my.get_instance_proc_addr, 0, NULL, &asked.enabledLayerCount,
                                     layers));
    OK(vkCreateInstance(&asked, NULL, &my.instance));
    OK(glfwCreateWindowSurface(my.instance, window, NULL, &surface));
}

/* Culvert chooses a VkPhysicalDevice that CUDA reaches, and adds its extensions and features to the
 * program's: a swapchain, and rendering without render passes. */
static void create_device(void)
{
    static const char *const mine[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
    const char *names[8];
    const float priority = 1;
    const PFN_vkGetInstanceProcAddr get = my.get_instance_proc_addr;
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, &device));
    OK(culv_vk_find_queue_family(get, my.instance, my.physical_device, CULV_VK_QUEUE_GRAPHICS,
                                 &family));
    OK(!glfwGetPhysicalDevicePresentationSupport(my.instance, my.physical_device, family));
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkPhysicalDeviceVulkan13Features rendering = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .dynamicRendering = VK_TRUE,
    };
    VkDeviceCreateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queues,
        .enabledExtensionCount = 8,
        .ppEnabledExtensionNames = names,
    };
    culv_vk_device_features features = culv_vk_device_features_init();
    OK(culv_vk_merge_device_extensions(&my, 1, mine, &wanted.enabledExtensionCount, names));
    OK(culv_vk_merge_device_features(&my, &rendering, &features, &wanted.pNext));
    OK(vkCreateDevice(my.physical_device, &wanted, NULL, &my.device));
    vkGetDeviceQueue(my.device, family, 0, &queue);

    OK(culv_vk_attach(device, &my, &vk));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

/* The swapchain -------------------------------------------------------------------------------- */

static VkSwapchainKHR swapchain;
static VkFormat format;
static VkExtent2D extent;
static uint32_t num_images = MOST_IMAGES;
static VkImage images[MOST_IMAGES];
static VkImageView views[MOST_IMAGES];
static VkSemaphore drawn[MOST_IMAGES]; /* binary: presenting waits for it */

static VkSemaphore create_semaphore(void)
{
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSemaphore semaphore;
    OK(vkCreateSemaphore(my.device, &info, NULL, &semaphore));
    return semaphore;
}

static void create_swapchain(void)
{
    VkSurfaceCapabilitiesKHR can;
    VkSurfaceFormatKHR formats[32];
    uint32_t count = 32, chosen = 0;
    OK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(my.physical_device, surface, &can));
    OK(vkGetPhysicalDeviceSurfaceFormatsKHR(my.physical_device, surface, &count, formats));
    for (uint32_t i = 0; i < count; i++) /* the shader's numbers are the window's */
        if (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM ||
            formats[i].format == VK_FORMAT_R8G8B8A8_UNORM)
            chosen = i;
    format = formats[chosen].format;
    extent = can.currentExtent;
    if (extent.width == UINT32_MAX) extent = (VkExtent2D){WIDTH, HEIGHT};
    const VkSwapchainCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = surface,
        .minImageCount = can.minImageCount < 3 ? 3 : can.minImageCount,
        .imageFormat = format,
        .imageColorSpace = formats[chosen].colorSpace,
        .imageExtent = extent,
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
        .preTransform = can.currentTransform,
        .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
        .presentMode = VK_PRESENT_MODE_FIFO_KHR,
        .clipped = VK_TRUE,
    };
    OK(vkCreateSwapchainKHR(my.device, &info, NULL, &swapchain));
    OK(vkGetSwapchainImagesKHR(my.device, swapchain, &num_images, images));
    for (uint32_t i = 0; i < num_images; i++) {
        const VkImageViewCreateInfo view = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
            .image = images[i],
            .viewType = VK_IMAGE_VIEW_TYPE_2D,
            .format = format,
            .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
        };
        OK(vkCreateImageView(my.device, &view, NULL, &views[i]));
        drawn[i] = create_semaphore();
    }
}

/* The pipeline --------------------------------------------------------------------------------- */

/* layout(location = 0) in vec2 place;
 * layout(location = 1) in vec4 colour;
 * layout(location = 0) flat out vec4 shown;
 * void main() { gl_Position = vec4(place, 0, 1); shown = colour; } */
static const uint32_t vertex_shader[] = {
    0x7230203,  0x10000,    0x8000b, 31,      0,  0x20011, 1,       0x6000b, 1,          0x4c534c47,
    0x6474732e, 0x3035342e, 0,       0x3000e, 0,  1,       0x9000f, 0,       4,          0x6e69616d,
    0,          13,         18,      27,      29, 0x50048, 11,      0,       11,         0,
    0x50048,    11,         1,       11,      1,  0x50048, 11,      2,       11,         3,
    0x50048,    11,         3,       11,      4,  0x30047, 11,      2,       0x40047,    18,
    30,         0,          0x30047, 27,      14, 0x40047, 27,      30,      0,          0x40047,
    29,         30,         1,       0x20013, 2,  0x30021, 3,       2,       0x30016,    6,
    32,         0x40017,    7,       6,       4,  0x40015, 8,       32,      0,          0x4002b,
    8,          9,          1,       0x4001c, 10, 6,       9,       0x6001e, 11,         7,
    6,          10,         10,      0x40020, 12, 3,       11,      0x4003b, 12,         13,
    3,          0x40015,    14,      32,      1,  0x4002b, 14,      15,      0,          0x40017,
    16,         6,          2,       0x40020, 17, 1,       16,      0x4003b, 17,         18,
    1,          0x4002b,    6,       20,      0,  0x4002b, 6,       21,      0x3f800000, 0x40020,
    25,         3,          7,       0x4003b, 25, 27,      3,       0x40020, 28,         1,
    7,          0x4003b,    28,      29,      1,  0x50036, 2,       4,       0,          3,
    0x200f8,    5,          0x4003d, 16,      19, 18,      0x50051, 6,       22,         19,
    0,          0x50051,    6,       23,      19, 1,       0x70050, 7,       24,         22,
    23,         20,         21,      0x50041, 25, 26,      13,      15,      0x3003e,    26,
    24,         0x4003d,    7,       30,      29, 0x3003e, 27,      30,      0x100fd,    0x10038};

/* layout(location = 0) flat in vec4 shown;
 * layout(location = 0) out vec4 pixel;
 * void main() { pixel = shown; } */
static const uint32_t fragment_shader[] = {
    0x7230203,  0x10000,    0x8000b,    13,      0,       0x20011, 1,       0x6000b, 1,
    0x4c534c47, 0x6474732e, 0x3035342e, 0,       0x3000e, 0,       1,       0x7000f, 4,
    4,          0x6e69616d, 0,          9,       11,      0x30010, 4,       7,       0x40047,
    9,          30,         0,          0x30047, 11,      14,      0x40047, 11,      30,
    0,          0x20013,    2,          0x30021, 3,       2,       0x30016, 6,       32,
    0x40017,    7,          6,          4,       0x40020, 8,       3,       7,       0x4003b,
    8,          9,          3,          0x40020, 10,      1,       7,       0x4003b, 10,
    11,         1,          0x50036,    2,       4,       0,       3,       0x200f8, 5,
    0x4003d,    7,          12,         11,      0x3003e, 9,       12,      0x100fd, 0x10038};

static VkPipelineLayout layout;
static VkPipeline pipeline;

static VkShaderModule create_shader(const uint32_t *words, size_t bytes)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = bytes,
        .pCode = words,
    };
    VkShaderModule shader;
    OK(vkCreateShaderModule(my.device, &info, NULL, &shader));
    return shader;
}

static void create_pipeline(void)
{
    const VkPipelineLayoutCreateInfo no_inputs = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    OK(vkCreatePipelineLayout(my.device, &no_inputs, NULL, &layout));
    const VkPipelineShaderStageCreateInfo stages[] = {
        {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_VERTEX_BIT,
            .module = create_shader(vertex_shader, sizeof vertex_shader),
            .pName = "main",
        },
        {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
            .module = create_shader(fragment_shader, sizeof fragment_shader),
            .pName = "main",
        },
    };
    const VkVertexInputBindingDescription binding = {0, sizeof(vertex),
                                                     VK_VERTEX_INPUT_RATE_VERTEX};
    const VkVertexInputAttributeDescription attributes[] = {
        {0, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(vertex, x)},
        {1, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(vertex, colour)},
    };
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 2,
        .pVertexAttributeDescriptions = attributes,
    };
    const VkPipelineInputAssemblyStateCreateInfo triangles = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
    };
    const VkViewport all = {0, 0, (float)extent.width, (float)extent.height, 0, 1};
    const VkRect2D scissor = {.extent = extent};
    const VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .pViewports = &all,
        .scissorCount = 1,
        .pScissors = &scissor,
    };
    const VkPipelineRasterizationStateCreateInfo fill = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .lineWidth = 1,
    };
    const VkPipelineMultisampleStateCreateInfo one_sample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    const VkPipelineColorBlendAttachmentState opaque = {.colorWriteMask = 0xf};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &opaque,
    };
    const VkPipelineRenderingCreateInfo into = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
    };
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &into,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = &input,
        .pInputAssemblyState = &triangles,
        .pViewportState = &viewport,
        .pRasterizationState = &fill,
        .pMultisampleState = &one_sample,
        .pColorBlendState = &blend,
        .layout = layout,
    };
    OK(vkCreateGraphicsPipelines(my.device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    for (int i = 0; i < 2; i++)
        vkDestroyShaderModule(my.device, stages[i].module, NULL);
}

/* The ring ------------------------------------------------------------------------------------- */

static culv_ring *ring; /* a buffer of vertices in each slot, of both sides */
static VkCommandPool pool;
static VkCommandBuffer commands[SLOTS];
static VkSemaphore available[SLOTS]; /* binary: an image of the swapchain is free */
static VkFence done[SLOTS];          /* Vulkan has drawn from the slot */
static culv_kernels *kernels;
static culv_kernel *wave;

static void create_ring(const char *directory)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = VERTICES * sizeof(vertex),
        .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
    };
    culv_vk_buffer_create_desc vertices = culv_vk_buffer_create_desc_init();
    vertices.create_info = &info;
    const culv_vk_ring_resource resource = {.buffer = &vertices, .use = CULV_VK_USE_VERTEX_BUFFER};
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = SLOTS;
    desc.resources = &resource;
    desc.num_resources = 1;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
    OK(culv_kernels_load(device, directory, "hello_window", &kernels));
    OK(culv_kernels_get(kernels, "wave", &wave));

    const VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = family,
    };
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo one_each = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = SLOTS,
    };
    OK(vkAllocateCommandBuffers(my.device, &one_each, commands));
    const VkFenceCreateInfo signaled = {
        .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
        .flags = VK_FENCE_CREATE_SIGNALED_BIT,
    };
    for (int i = 0; i < SLOTS; i++) {
        available[i] = create_semaphore();
        OK(vkCreateFence(my.device, &signaled, NULL, &done[i]));
    }
}

/* A frame -------------------------------------------------------------------------------------- */

/* The stream waits until Vulkan has read the slot, and signals when the kernel has written it. */
static void cuda_writes(int number)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, CULV_RING_FOREVER, &frame));
    const CUdeviceptr vertices = culv_ring_pointer(ring, frame.slot, 0);
    const int bars = BARS;
    const culv_launch_desc threads = culv_launch_1d(BARS, 32, stream);
    OK(CULV_LAUNCH(wave, &threads, CULV_ARG(vertices), CULV_ARG(bars), CULV_ARG(number)));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
}

/* The window's image becomes an attachment, or is shown. */
static void change_layout(VkCommandBuffer to, VkImage image, VkImageLayout old, VkImageLayout now)
{
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
        .srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
        .dstAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
        .oldLayout = old,
        .newLayout = now,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .imageMemoryBarrierCount = 1,
        .pImageMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(to, &dependency);
}

/* The draw, between the barriers by which the slot comes from CUDA and goes back. */
static void record(VkCommandBuffer to, uint32_t slot, uint32_t image)
{
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkRenderingAttachmentInfo attachment = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = views[image],
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = {{{0, 0, 0, 1}}},
    };
    const VkRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea = {.extent = extent},
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &attachment,
    };
    const VkBuffer vertices = culv_vk_buffer_handle(culv_ring_shared_buffer(ring, slot, 0));
    const VkDeviceSize offset = 0;
    OK(vkBeginCommandBuffer(to, &begin));
    vkCmdPipelineBarrier2(to, culv_vk_ring_barriers(ring, slot, CULV_VK_ACQUIRE));
    change_layout(to, images[image], VK_IMAGE_LAYOUT_UNDEFINED,
                  VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    vkCmdBeginRendering(to, &rendering);
    vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBindVertexBuffers(to, 0, 1, &vertices, &offset);
    vkCmdDraw(to, VERTICES, 1, 0, 0);
    vkCmdEndRendering(to);
    change_layout(to, images[image], VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
    vkCmdPipelineBarrier2(to, culv_vk_ring_barriers(ring, slot, CULV_VK_RELEASE));
    OK(vkEndCommandBuffer(to));
}

/* One submission waits for the kernel and for the image, and signals to both: CUDA may write the
 * slot again, and the image may be shown. */
static void vulkan_draws(void)
{
    culv_ring_frame frame;
    VkSemaphoreSubmitInfo written, read;
    uint32_t image;
    OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, CULV_RING_FOREVER, &frame));
    const uint32_t slot = frame.slot;
    OK(vkWaitForFences(my.device, 1, &done[slot], VK_TRUE, UINT64_MAX));
    OK(vkResetFences(my.device, 1, &done[slot]));
    OK(vkAcquireNextImageKHR(my.device, swapchain, UINT64_MAX, available[slot], VK_NULL_HANDLE,
                             &image));
    record(commands[slot], slot, image);

    OK(culv_ring_release(ring, CULV_RING_CONSUMER, &frame)); /* right before the submission */
    OK(culv_vk_ring_get_points(ring, &frame, &written, &read));
    const VkSemaphoreSubmitInfo waits[] = {
        {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
            .semaphore = available[slot],
            .stageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
        },
        written,
    };
    const VkSemaphoreSubmitInfo signals[] = {
        {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
            .semaphore = drawn[image],
            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        },
        read,
    };
    const VkCommandBufferSubmitInfo work = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = commands[slot],
    };
    const VkSubmitInfo2 submission = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = 1 + (frame.wait_value != 0),
        .pWaitSemaphoreInfos = waits,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &work,
        .signalSemaphoreInfoCount = 1 + (frame.signal_value != 0),
        .pSignalSemaphoreInfos = signals,
    };
    OK(vkQueueSubmit2(queue, 1, &submission, done[slot]));
    const VkPresentInfoKHR present = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
        .waitSemaphoreCount = 1,
        .pWaitSemaphores = &drawn[image],
        .swapchainCount = 1,
        .pSwapchains = &swapchain,
        .pImageIndices = &image,
    };
    OK(vkQueuePresentKHR(queue, &present));
}

/* The end -------------------------------------------------------------------------------------- */

static void close_all(void)
{
    OK(vkDeviceWaitIdle(my.device));
    culv_kernels_unload(&kernels);
    culv_ring_destroy(&ring, NULL);
    for (int i = 0; i < SLOTS; i++) {
        vkDestroySemaphore(my.device, available[i], NULL);
        vkDestroyFence(my.device, done[i], NULL);
    }
    vkDestroyCommandPool(my.device, pool, NULL);
    vkDestroyPipeline(my.device, pipeline, NULL);
    vkDestroyPipelineLayout(my.device, layout, NULL);
    for (uint32_t i = 0; i < num_images; i++) {
        vkDestroySemaphore(my.device, drawn[i], NULL);
        vkDestroyImageView(my.device, views[i], NULL);
    }
    vkDestroySwapchainKHR(my.device, swapchain, NULL);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroySurfaceKHR(my.instance, surface, NULL);
    vkDestroyInstance(my.instance, NULL);
    glfwDestroyWindow(window);
    glfwTerminate();
}

static int is_closed(void)
{
    return glfwWindowShouldClose(window) || glfwGetKey(window, GLFW_KEY_ESCAPE) == GLFW_PRESS;
}

int main(int argc, char **argv)
{
    const char *directory = ".";
    int frames = -1, hold = 0, number = 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--frames=", 9) == 0)
            frames = atoi(argv[i] + 9);
        else if (strcmp(argv[i], "--hold") == 0)
            hold = 1;
        else
            directory = argv[i];
    }
    open_window();
    create_instance();
    create_device();
    create_swapchain();
    create_pipeline();
    create_ring(directory);
    for (; number != frames && !is_closed(); number++) {
        cuda_writes(number);
        vulkan_draws();
        glfwPollEvents();
    }
    while (hold && !is_closed())
        glfwWaitEvents();
    printf("hello_window: %d frames\n", number);
    close_all();
    return 0;
}
