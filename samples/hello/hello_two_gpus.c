/* SPDX-License-Identifier: MIT */
/* hello_two_gpus: one GPU solves, another one draws. The solver writes 100 frames straight into
 * buffers of the other GPU, and signals its timeline; the CPU checks each word.
 *
 *   cc hello_two_gpus.c $(pkg-config --cflags --libs culvert vulkan) && ./a.out
 *
 * It prints "hello_two_gpus: CUDA device 1 solves, 0 draws, by DIRECT: 0 of 1000700 words are
 * wrong". With CULVERT_SOFT=1 CULVERT_SOFT_DEVICES=2 it runs without a GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vulkan.h>

#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 100, SLOTS = 4, WORDS = 10007, BYTES = 4 * WORDS };
static const uint64_t timeout = 10000000000; /* nanoseconds */

/* 0 is success of Culvert, of CUDA and of Vulkan. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* The devices ---------------------------------------------------------------------------------- */

static culv_vk_device_desc my; /* the VkInstance, the VkPhysicalDevice and the VkDevice */
static culv_device *device;    /* CUDA's, on the other GPU */
static culv_vk_device *vk;     /* Culvert between the two */
static culv_device_caps draws, solves;
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

/* The GPU that draws, as in hello_vulkan.c. */
static void create_device(culv_device **drawing)
{
    const char *names[8];
    const float priority = 1;
    const PFN_vkGetInstanceProcAddr get = vkGetInstanceProcAddr;
    OK(culv_vk_choose_physical_device(get, my.instance, NULL, &my.physical_device, drawing));
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

/* A GPU that Vulkan's is not, of the same driver. */
static void open_solver(culv_device *drawing)
{
    culv_device_desc same_driver = culv_device_desc_init();
    draws = solves = culv_device_caps_init();
    OK(culv_device_get_caps(drawing, &draws));
    same_driver.driver = draws.is_software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    OK(culv_device_open_by_ordinal(draws.ordinal == 0, &same_driver, &device));
    OK(culv_device_get_caps(device, &solves));
}

static void open_devices(void)
{
    culv_device *drawing;
    create_instance();
    create_device(&drawing);
    open_solver(drawing);
    culv_device_close(&drawing);  /* CUDA has nothing to do there */
    my.allow_other_gpu = VK_TRUE; /* unless this allows it, no work crosses from GPU to GPU */
    OK(culv_vk_attach(device, &my, &vk));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void close_devices(void)
{
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_vk_detach(&vk);
    culv_device_close(&device);
    vkDestroyDevice(my.device, NULL);
    vkDestroyInstance(my.instance, NULL);
}

/* The ring ------------------------------------------------------------------------------------- */

static culv_ring *ring;          /* a buffer of the drawing GPU in each slot */
static culv_shared_buffer *host; /* in host memory, for the CPU to read */

static void create_ring(void)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = BYTES,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
    };
    culv_vk_buffer_create_desc buffer_desc = culv_vk_buffer_create_desc_init();
    buffer_desc.create_info = &info;
    const culv_vk_ring_resource resource = {
        .buffer = &buffer_desc,
        .use = CULV_VK_USE_TRANSFER_SRC,
    };
    culv_vk_ring_desc ring_desc = culv_vk_ring_desc_init();
    ring_desc.max_depth = SLOTS;
    ring_desc.resources = &resource;
    ring_desc.num_resources = 1;
    ring_desc.queue_family = family;
    OK(culv_vk_ring_create(vk, queue, &ring_desc, &ring));

    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    buffer_desc.host_memory = VK_TRUE;
    OK(culv_vk_buffer_create(vk, &buffer_desc, &host));
}

/* Work ----------------------------------------------------------------------------------------- */

static VkCommandPool pool;
static VkCommandBuffer commands[SLOTS];

/* A command buffer for each slot: it copies the slot for the CPU, between the ring's barriers. */
static void record_commands(void)
{
    const VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    OK(vkCreateCommandPool(my.device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo each = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .commandBufferCount = SLOTS,
    };
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    OK(vkAllocateCommandBuffers(my.device, &each, commands));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        OK(vkBeginCommandBuffer(commands[slot], &begin));
        OK(culv_vk_ring_record_copy(ring, commands[slot], slot, 0, culv_vk_buffer_handle(host), 0,
                                    BYTES));
        OK(vkEndCommandBuffer(commands[slot]));
    }
}

static void solve_frame(void)
{
    culv_ring_frame frame;
    OK(culv_ring_acquire_on(ring, CULV_RING_PRODUCER, stream, timeout, &frame));
    const CUdeviceptr words = culv_ring_pointer(ring, frame.slot, 0);
    OK(CULV_CUDA(device)->cuMemsetD32Async(words, (unsigned)frame.number, WORDS, stream));
    OK(culv_ring_release_on(ring, CULV_RING_PRODUCER, stream, &frame));
}

/* How many words of the frame are wrong. */
static int draw_frame(uint32_t number)
{
    const uint32_t *words = culv_vk_buffer_host_pointer(host);
    culv_ring_frame frame;
    int wrong = 0;
    OK(culv_ring_acquire(ring, CULV_RING_CONSUMER, timeout, &frame));
    OK(culv_vk_ring_submit(ring, queue, commands[frame.slot], VK_NULL_HANDLE, &frame));
    OK(vkQueueWaitIdle(queue));
    for (int word = 0; word < WORDS; word++)
        wrong += words[word] != number;
    return wrong;
}

/* The solver is up to SLOTS frames ahead. */
static int run_frames(void)
{
    uint32_t solved = 0;
    int wrong = 0;
    for (uint32_t drawn = 0; drawn < FRAMES; drawn++) {
        for (; solved < FRAMES && solved < drawn + SLOTS; solved++)
            solve_frame();
        if (solved == FRAMES) OK(culv_ring_flush_on(ring, CULV_RING_PRODUCER, stream));
        wrong += draw_frame(drawn);
    }
    OK(culv_ring_drain(ring, timeout, VK_FALSE));
    return wrong;
}

int main(void)
{
    open_devices();
    create_ring();
    record_commands();
    const int wrong = run_frames();
    const culv_buffer *shared = culv_ring_buffer(ring, 0, 0);
    printf("hello_two_gpus: CUDA device %d solves, %d draws, by %s: %d of %d words are wrong\n",
           solves.ordinal, draws.ordinal, culv_sharing_name(culv_buffer_sharing(shared)), wrong,
           FRAMES * WORDS);

    vkDestroyCommandPool(my.device, pool, NULL);
    culv_shared_buffer_destroy(&host);
    culv_ring_destroy(&ring);
    close_devices();
    return wrong != 0;
}
