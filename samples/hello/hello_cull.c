/* SPDX-License-Identifier: MIT */
/* hello_cull: CUDA decides what Vulkan draws. A kernel looks at 4096 objects, and writes a draw
 * (VkDrawIndirectCommand) for each one in sight and how many there are. Vulkan draws them by
 * vkCmdDrawIndirectCount; the host does not learn the number. The CPU checks each pixel.
 *
 *   culvert-kernels hello_cull.cu
 *   cc hello_cull.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * The first argument is the directory of what culvert-kernels made. It writes hello_cull.ppm, the
 * last of 20 frames, and prints "hello_cull.ppm: 2808 draws, in 0 of 20 frames a wrong number; 0 of
 * 642620 pixels are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 253, HEIGHT = 127, PIXELS = WIDTH * HEIGHT, SLOTS = 2, FRAMES = 20 };
enum { ROW = 64, OBJECTS = ROW * ROW, CELL = 16, SIDE = 11 }; /* as in hello_cull.cu */
static const uint64_t timeout = 10000000000;                  /* nanoseconds */

/* As in hello_cull.cu. */
typedef struct vertex {
    float x, y;
    uint32_t colour;
} vertex;

typedef struct draw_list {
    uint32_t count, unused[3];
    VkDrawIndirectCommand draws[OBJECTS];
} draw_list;

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

/* Culvert chooses a VkPhysicalDevice that CUDA reaches, and adds its extensions and features to the
 * program's: many draws of one command, whose number is in memory, and rendering without render
 * passes. */
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
    VkPhysicalDeviceVulkan13Features rendering = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .dynamicRendering = VK_TRUE,
    };
    VkPhysicalDeviceVulkan12Features count_in_memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &rendering,
        .drawIndirectCount = VK_TRUE,
    };
    VkPhysicalDeviceFeatures2 many_draws = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &count_in_memory,
        .features.multiDrawIndirect = VK_TRUE,
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
    OK(culv_vk_merge_device_features(&my, &many_draws, &features, &wanted.pNext));
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

/* Ring and picture ----------------------------------------------------------------------------- */

enum { LIST, VERTICES }; /* the resources of a slot */
static const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
static culv_ring *ring;
static culv_shared_image *target; /* what Vulkan draws into */
static culv_shared_buffer *host;  /* in host memory, for the CPU to read */
static VkImageView view;

static void create_ring(void)
{
    const VkBufferCreateInfo list = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = sizeof(draw_list),
        .usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
    };
    const VkBufferCreateInfo vertices = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = 6 * OBJECTS * sizeof(vertex),
        .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
    };
    culv_vk_buffer_create_desc buffers[2] = {culv_vk_buffer_create_desc_init(),
                                             culv_vk_buffer_create_desc_init()};
    buffers[LIST].create_info = &list;
    buffers[VERTICES].create_info = &vertices;
    const culv_vk_ring_resource resources[2] = {
        {.buffer = &buffers[LIST], .use = CULV_VK_USE_INDIRECT_BUFFER},
        {.buffer = &buffers[VERTICES], .use = CULV_VK_USE_VERTEX_BUFFER},
    };
    culv_vk_ring_desc desc = culv_vk_ring_desc_init();
    desc.max_depth = SLOTS;
    desc.resources = resources;
    desc.num_resources = 2;
    desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &desc, &ring));
}

static void create_picture(void)
{
    const VkImageCreateInfo image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = format,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
    };
    culv_vk_image_create_desc image_desc = culv_vk_image_create_desc_init();
    image_desc.create_info = &image;
    OK(culv_vk_image_create(vk, &image_desc, &target));
    const VkImageViewCreateInfo view_info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = culv_vk_image_handle(target),
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = format,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    OK(vkCreateImageView(my.device, &view_info, NULL, &view));

    const VkBufferCreateInfo pixels = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = 4 * PIXELS,
        .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc.create_info = &pixels;
    buffer_desc.host_memory = VK_TRUE;
    OK(culv_vk_buffer_create(vk, &buffer_desc, &host));
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
    const VkViewport all = {0, 0, WIDTH, HEIGHT, 0, 1};
    const VkRect2D scissor = {.extent = {WIDTH, HEIGHT}};
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

/* A frame -------------------------------------------------------------------------------------- */

static culv_kernels *kernels;
static culv_kernel *cull;
static uint32_t drawn; /* what the kernel counted, for the check alone */

/* The file for this device: hello_cull.fatbin, or for the twin hello_cull.soft.so. */
static void load_kernel(const char *directory)
{
    OK(culv_kernels_load(device, directory, "hello_cull", &kernels));
    OK(culv_kernels_get(kernels, "cull", &cull));
}

static void cuda_culls(int left, int top)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame));
    const CUdeviceptr list = culv_ring_pointer(ring, frame.slot, LIST);
    const CUdeviceptr vertices = culv_ring_pointer(ring, frame.slot, VERTICES);
    const int objects = OBJECTS;
    const culv_launch_desc threads = culv_launch_1d(OBJECTS, 128, stream);
    OK(CULV_CUDA(device)->cuMemsetD32Async(list, 0, 1, stream));
    OK(CULV_LAUNCH(cull, &threads, CULV_ARG(list), CULV_ARG(vertices), CULV_ARG(objects),
                   CULV_ARG(left), CULV_ARG(top)));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(&drawn, list, sizeof drawn, stream));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
}

static VkCommandPool pool;
static VkCommandBuffer commands[SLOTS];

/* The picture becomes an attachment, or can be copied. */
static void change_layout(VkCommandBuffer to, VkImageLayout old, VkImageLayout now)
{
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = old,
        .newLayout = now,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = culv_vk_image_handle(target),
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
    };
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .imageMemoryBarrierCount = 1,
        .pImageMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(to, &dependency);
}

/* At most OBJECTS draws; how many, and which, the list says when the GPU comes to it. */
static void record_draws(VkCommandBuffer to, uint32_t slot)
{
    const VkRenderingAttachmentInfo attachment = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
    };
    const VkRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea = {.extent = {WIDTH, HEIGHT}},
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &attachment,
    };
    const VkBuffer list = culv_vk_buffer_handle(culv_ring_shared_buffer(ring, slot, LIST));
    const VkBuffer vertices = culv_vk_buffer_handle(culv_ring_shared_buffer(ring, slot, VERTICES));
    const VkDeviceSize offset = 0;
    vkCmdBeginRendering(to, &rendering);
    vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBindVertexBuffers(to, 0, 1, &vertices, &offset);
    vkCmdDrawIndirectCount(to, list, offsetof(draw_list, draws), list, offsetof(draw_list, count),
                           OBJECTS, sizeof(VkDrawIndirectCommand));
    vkCmdEndRendering(to);
}

/* A command buffer for each slot, between the barriers by which the slot comes from CUDA and goes
 * back. */
static void record_commands(void)
{
    const VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkBufferImageCopy all = {
        .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .imageExtent = {WIDTH, HEIGHT, 1},
    };
    const VkMemoryBarrier2 copied = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
    };
    const VkDependencyInfo to_host = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .memoryBarrierCount = 1,
        .pMemoryBarriers = &copied,
    };
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo one_each = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = SLOTS,
    };
    OK(vkAllocateCommandBuffers(my.device, &one_each, commands));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const VkCommandBuffer to = commands[slot];
        OK(vkBeginCommandBuffer(to, &begin));
        vkCmdPipelineBarrier2(to, culv_vk_ring_barriers(ring, slot, CULV_VK_ACQUIRE));
        change_layout(to, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
        record_draws(to, slot);
        vkCmdPipelineBarrier2(to, culv_vk_ring_barriers(ring, slot, CULV_VK_RELEASE));
        change_layout(to, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        vkCmdCopyImageToBuffer(to, culv_vk_image_handle(target),
                               VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, culv_vk_buffer_handle(host), 1,
                               &all);
        vkCmdPipelineBarrier2(to, &to_host);
        OK(vkEndCommandBuffer(to));
    }
}

static void vulkan_draws(void)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &frame));
    OK(culv_vk_ring_submit(ring, queue, commands[frame.slot], VK_NULL_HANDLE, &frame));
    OK(vkQueueWaitIdle(queue));
}

/* Check and picture ---------------------------------------------------------------------------- */

/* The CPU's answer: how many objects are in sight, and what they look like. */
static uint32_t paint(int left, int top, uint32_t pixels[HEIGHT][WIDTH])
{
    uint32_t count = 0;
    memset(pixels, 0, 4 * PIXELS);
    for (int i = 0; i < OBJECTS; i++) {
        const int x0 = i % ROW * CELL + i * 7 % 5 - left, y0 = i / ROW * CELL + i * 11 % 5 - top;
        const uint32_t colour = 0xff404040u | 2654435761u * (uint32_t)(i + 1);
        int seen = 0;
        for (int y = y0; y < y0 + SIDE; y++)
            for (int x = x0; x < x0 + SIDE; x++)
                if (x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT) {
                    pixels[y][x] = colour;
                    seen = 1;
                }
        count += (uint32_t)seen;
    }
    return count;
}

static void write_picture(void)
{
    const uint32_t *pixels = culv_vk_buffer_host_pointer(host);
    FILE *file = fopen("hello_cull.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (uint32_t i = 0; i < PIXELS; i++)
        fwrite(&pixels[i], 3, 1, file);
    OK(fclose(file));
}

int main(int argc, char **argv)
{
    static uint32_t wanted[HEIGHT][WIDTH];
    unsigned draws = 0, wrong_draws = 0, wrong = 0;
    open_device();
    create_ring();
    create_picture();
    create_pipeline();
    load_kernel(argc > 1 ? argv[1] : ".");
    record_commands();
    for (int frame = 0; frame < FRAMES; frame++) {
        const int left = 37 * frame, top = 43 * frame; /* what the camera sees of the world */
        cuda_culls(left, top);
        vulkan_draws();
        const uint32_t *pixels = culv_vk_buffer_host_pointer(host);
        wrong_draws += paint(left, top, wanted) != drawn;
        draws += drawn;
        for (uint32_t i = 0; i < PIXELS; i++)
            wrong += pixels[i] != wanted[i / WIDTH][i % WIDTH];
    }
    write_picture();
    printf(
        "hello_cull.ppm: %u draws, in %u of %d frames a wrong number; %u of %d pixels are wrong\n",
        draws, wrong_draws, FRAMES, wrong, FRAMES * PIXELS);

    culv_kernels_unload(&kernels);
    vkDestroyCommandPool(my.device, pool, NULL);
    vkDestroyPipeline(my.device, pipeline, NULL);
    vkDestroyPipelineLayout(my.device, layout, NULL);
    vkDestroyImageView(my.device, view, NULL);
    culv_shared_buffer_destroy(&host, NULL);
    culv_shared_image_destroy(&target, NULL);
    culv_ring_destroy(&ring, NULL);
    close_device();
    return wrong_draws != 0 || wrong != 0;
}
