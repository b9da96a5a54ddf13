/* SPDX-License-Identifier: MIT */
/* A process of its own, in which each step is the first of its kind. See import.h. */
#include "import.h"
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 256, WORDS = 1024, MOST_EXTENSIONS = 8 };

typedef struct child {
    const child_options *o;
    int in, out;
    bool budget; /* VK_EXT_memory_budget is there */
    raw_vk vk;
    VkCuModuleNVX module, again;
    VkCuFunctionNVX function;
    raw_vk_buffer words;
    void *image;
    size_t size;
} child;

static uint64_t resident(void)
{
    unsigned long long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    const bool read = fscanf(file, "%llu %llu", &all, &pages) == 2;
    fclose(file);
    return read ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t usage(const child *c)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &budget};
    uint64_t all = 0;
    if (!c->budget) return 0;
    vkGetPhysicalDeviceMemoryProperties2(c->vk.physical, &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++)
        if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            all += budget.heapUsage[i];
    return all;
}

static void report(const child *c, step s, double us)
{
    const step_report r = {.step = (int)s, .us = us, .usage = usage(c), .resident = resident()};
    char go;
    REQUIRE(write(c->out, &r, sizeof r) == (ssize_t)sizeof r);
    REQUIRE(read(c->in, &go, 1) == 1);
}

static void open_cuda(void)
{
    const raw_cuda *cu = raw_cuda_open();
    (void)raw_cuda_context(cu, 0);
}

static void open_instance(child *c)
{
    raw_vk_open_instance(&c->vk, &(raw_vk_options){.uuid = c->o->uuid, .software = c->o->software});
    if (raw_vk_find(&c->vk, c->o->uuid, &c->vk.physical) == 0) FAIL("no such Vulkan device");
    c->budget = raw_vk_has_device_extension(c->vk.physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    vkGetPhysicalDeviceProperties(c->vk.physical, &c->vk.properties);
    vkGetPhysicalDeviceMemoryProperties(c->vk.physical, &c->vk.memory);
}

/* As a program would that shares memory with CUDA. */
static void open_device(child *c)
{
    static const float one = 1.0f;
    VkDeviceQueueCreateInfo queues[RAW_VK_MAX_QUEUES];
    VkQueueFamilyProperties families[RAW_VK_MAX_QUEUES];
    const char *extensions[MOST_EXTENSIONS] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                               VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    uint32_t count = 2;
    if (c->o->import) {
        extensions[count++] = VK_NVX_BINARY_IMPORT_EXTENSION_NAME;
        extensions[count++] = VK_NVX_IMAGE_VIEW_HANDLE_EXTENSION_NAME;
    }
    c->vk.queue_count = RAW_VK_MAX_QUEUES;
    vkGetPhysicalDeviceQueueFamilyProperties(c->vk.physical, &c->vk.queue_count, families);
    for (uint32_t i = 0; i < c->vk.queue_count; i++)
        queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                              .queueFamilyIndex = i,
                                              .queueCount = 1,
                                              .pQueuePriorities = &one};
    VkPhysicalDeviceVulkan13Features features13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features features12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &features13,
        .timelineSemaphore = VK_TRUE,
        .bufferDeviceAddress = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features12,
                                     .queueCreateInfoCount = c->vk.queue_count,
                                     .pQueueCreateInfos = queues,
                                     .enabledExtensionCount = count,
                                     .ppEnabledExtensionNames = extensions};
    VK_OK(vkCreateDevice(c->vk.physical, &info, NULL, &c->vk.device));
    c->vk.kernels = c->o->import;
}

static void read_image(child *c)
{
    char path[TEST_PATH_MAX];
    FILE *file = fopen(test_path(path, c->o->software ? "share/culvert/bench_frames.soft.so"
                                                      : "share/culvert/bench_frames.fatbin"),
                       "rb");
    if (file == NULL) FAIL("%s is missing", path);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    REQUIRE(size > 0 && fseek(file, 0, SEEK_SET) == 0);
    c->size = (size_t)size;
    c->image = malloc(c->size);
    REQUIRE(c->image != NULL && fread(c->image, 1, c->size, file) == c->size);
    fclose(file);
}

static VkCuModuleNVX make_module(const child *c)
{
    const VkCuModuleCreateInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX,
                                          .dataSize = c->size,
                                          .pData = c->image};
    VkCuModuleNVX module;
    VK_OK(vkCreateCuModuleNVX(c->vk.device, &info, NULL, &module));
    return module;
}

static void make_function(child *c)
{
    const VkCuFunctionCreateInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX,
                                            .module = c->module,
                                            .pName = "frames_count"};
    VK_OK(vkCreateCuFunctionNVX(c->vk.device, &info, NULL, &c->function));
}

static void launch(child *c)
{
    const VkDeviceAddress at = raw_vk_buffer_address(&c->vk, &c->words);
    const uint32_t words = WORDS, add = 7;
    const void *params[] = {&at, &words, &add};
    const VkCuLaunchInfoNVX info = {.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                    .function = c->function,
                                    .gridDimX = WORDS / THREADS,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = THREADS,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .paramCount = sizeof params / sizeof params[0],
                                    .pParams = params};
    VkCommandBuffer commands = raw_vk_begin(&c->vk, 0);
    vkCmdCuLaunchKernelNVX(commands, &info);
    raw_vk_submit(&c->vk, commands, NULL);
}

static void open_queues(child *c)
{
    raw_vk *vk = &c->vk;
    for (uint32_t i = 0; i < vk->queue_count; i++) {
        vkGetDeviceQueue(vk->device, i, 0, &vk->queues[i].queue);
        const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                              .queueFamilyIndex = i};
        VK_OK(vkCreateCommandPool(vk->device, &info, NULL, &vk->queues[i].pool));
    }
    raw_vk_buffer_create(vk, WORDS * sizeof(uint32_t), RAW_VK_ADDRESS, &c->words);
    raw_vk_fill(vk, &c->words, 0, WORDS * sizeof(uint32_t), 0, NULL);
}

static void check(child *c)
{
    uint32_t got[WORDS];
    raw_vk_read(&c->vk, &c->words, 0, got, sizeof got);
    for (uint32_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(got[i], 7);
}

/* `doing` is timed. */
#define STEP(c, which, doing)                                                                      \
    do {                                                                                           \
        const double begun_ = bench_now();                                                         \
        doing;                                                                                     \
        report((c), (which), (bench_now() - begun_) * 1e-3);                                       \
    } while (0)

static void use_kernels(child *c)
{
    read_image(c);
    open_queues(c);
    STEP(c, STEP_MODULE, c->module = make_module(c));
    STEP(c, STEP_FUNCTION, make_function(c));
    STEP(c, STEP_LAUNCH, launch(c));
    check(c);
    STEP(c, STEP_MODULE_2, c->again = make_module(c));
    vkDestroyCuModuleNVX(c->vk.device, c->again, NULL);
    vkDestroyCuFunctionNVX(c->vk.device, c->function, NULL);
    vkDestroyCuModuleNVX(c->vk.device, c->module, NULL);
    raw_vk_buffer_destroy(&c->vk, &c->words);
    free(c->image);
}

int child_run(const child_options *o, int in, int out)
{
    static child c; /* raw_vk does not move */
    c = (child){.o = o, .in = in, .out = out};
    report(&c, STEP_STARTED, 0);
    if (o->cuda) STEP(&c, STEP_CUDA, open_cuda());
    STEP(&c, STEP_INSTANCE, open_instance(&c));
    STEP(&c, STEP_DEVICE, open_device(&c));
    if (o->import) use_kernels(&c);
    return 0; /* what is left goes with the process */
}
