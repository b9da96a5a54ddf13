/* SPDX-License-Identifier: MIT */
/* A program that knows nothing of the twin: the CUDA driver API and Vulkan share a buffer and a
 * timeline semaphore. It links libcuda.so.1, or with OPENS opens it at run time. With CULVERT it
 * uses Culvert besides. It ends with 0, or says what was wrong. */
#include <volk.h>

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CULVERT
#    include <culvert/cuda_api.h>
#    include <culvert/culvert.h>
#    include <culvert/vulkan.h>
#endif

/* The calls of the driver that these programs make, each by the name that a program links. */
#define CALLS(X)                                                                                   \
    X(cuInit, cuInit)                                                                              \
    X(cuDeviceGetCount, cuDeviceGetCount)                                                          \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                         \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                     \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamDestroy, cuStreamDestroy_v2)                                                         \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemsetD8Async, cuMemsetD8Async)                                                            \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                     \
    X(cuImportExternalMemory, cuImportExternalMemory)                                              \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)                            \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory)                                            \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore)                                        \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync)                            \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync)                                \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore)

#define MUST(condition)                                                                            \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition), exit(1)))

#ifdef OPENS
static struct {
#    define MEMBER(name, symbol) __typeof__(&symbol) name;
    CALLS(MEMBER)
} table;
static void find_calls(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    MUST(library != NULL);
#    define FIND(name, symbol)                                                                     \
        {                                                                                          \
            void *found = dlsym(library, #symbol);                                                 \
            MUST(found != NULL);                                                                   \
            memcpy(&table.name, &found, sizeof found);                                             \
        }
    CALLS(FIND)
}
#    define CU(call) MUST(table.call == CUDA_SUCCESS)
#else
extern CUresult CUDAAPI cuTexRefCreate(void *texture);
#    define CU(call) MUST((call) == CUDA_SUCCESS)
#endif
#define VK(call) MUST((call) == VK_SUCCESS)

enum { SIZE = 100000, FROM_VULKAN = 0x5a, FROM_CUDA = 0xc3 };

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static CUcontext context;
static CUdevice ordinal;

/* The first Vulkan device that CUDA has too. */
static void find_device(void)
{
    int cuda_devices = 0;
    uint32_t count = 8;
    VkPhysicalDevice devices[8];
    CU(cuInit(0));
    CU(cuDeviceGetCount(&cuda_devices));
    MUST(cuda_devices > 0);
    MUST(vkEnumeratePhysicalDevices(instance, &count, devices) >= VK_SUCCESS);
    for (uint32_t i = 0; physical == VK_NULL_HANDLE && i < count; i++)
        for (int j = 0; physical == VK_NULL_HANDLE && j < cuda_devices; j++) {
            VkPhysicalDeviceIDProperties id = {.sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
            VkPhysicalDeviceProperties2 p = {
                .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
            CUuuid uuid;
            vkGetPhysicalDeviceProperties2(devices[i], &p);
            CU(cuDeviceGetUuid(&uuid, j));
            if (memcmp(uuid.bytes, id.deviceUUID, VK_UUID_SIZE) != 0) continue;
            physical = devices[i];
            ordinal = j;
        }
    MUST(physical != VK_NULL_HANDLE);
    CU(cuDevicePrimaryCtxRetain(&context, ordinal));
    CU(cuCtxSetCurrent(context));
}

static void open_vulkan(void)
{
    VK(volkInitialize());
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo i = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pApplicationInfo = &app};
    VK(vkCreateInstance(&i, NULL, &instance));
    volkLoadInstance(instance);
    find_device();
    static const char *const extensions[] = {"VK_KHR_external_memory_fd",
                                             "VK_KHR_external_semaphore_fd"};
    const float priority = 1;
    const VkDeviceQueueCreateInfo q = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                       .queueCount = 1,
                                       .pQueuePriorities = &priority};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo d = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = &timelines,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &q,
                                  .enabledExtensionCount = 2,
                                  .ppEnabledExtensionNames = extensions};
    VK(vkCreateDevice(physical, &d, NULL, &device));
    volkLoadDevice(device);
    vkGetDeviceQueue(device, 0, 0, &queue);
}

static VkBuffer buffer;
static VkDeviceMemory memory;
static VkDeviceSize allocated;
static unsigned char *mapped;

static void make_buffer(void)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = SIZE,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VK(vkCreateBuffer(device, &b, NULL, &buffer));
    VkMemoryRequirements needs;
    VkPhysicalDeviceMemoryProperties types;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (type < types.memoryTypeCount &&
           ((needs.memoryTypeBits >> type & 1) == 0 ||
            (types.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    MUST(type < types.memoryTypeCount);
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &exported,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = type};
    void *address = NULL;
    allocated = needs.size;
    VK(vkAllocateMemory(device, &a, NULL, &memory));
    VK(vkBindBufferMemory(device, buffer, memory, 0));
    VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &address));
    mapped = address;
}

/* Vulkan fills the buffer and signals 1. CUDA waits for that, reads, writes and signals 2. */
static void share(void)
{
    VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkExportSemaphoreCreateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = &timeline,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreCreateInfo s = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                     .pNext = &exported};
    VkSemaphore semaphore = VK_NULL_HANDLE;
    VK(vkCreateSemaphore(device, &s, NULL, &semaphore));

    CUDA_EXTERNAL_MEMORY_HANDLE_DESC md;
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC sd;
    memset(&md, 0, sizeof md);
    memset(&sd, 0, sizeof sd);
    const VkMemoryGetFdInfoKHR mf = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                     .memory = memory,
                                     .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreGetFdInfoKHR sf = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                        .semaphore = semaphore,
                                        .handleType =
                                            VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    md.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    md.size = allocated;
    VK(vkGetMemoryFdKHR(device, &mf, &md.handle.fd));
    sd.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    VK(vkGetSemaphoreFdKHR(device, &sf, &sd.handle.fd));
    CUexternalMemory cuda_memory = NULL;
    CUexternalSemaphore cuda_semaphore = NULL;
    CUdeviceptr pointer = 0;
    CUstream stream = NULL;
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC bd;
    memset(&bd, 0, sizeof bd);
    bd.size = SIZE;
    CU(cuImportExternalMemory(&cuda_memory, &md));
    CU(cuExternalMemoryGetMappedBuffer(&pointer, cuda_memory, &bd));
    CU(cuImportExternalSemaphore(&cuda_semaphore, &sd));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    VkCommandPool pool;
    VkCommandBuffer commands;
    const VkCommandPoolCreateInfo p = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VK(vkCreateCommandPool(device, &p, NULL, &pool));
    const VkCommandBufferAllocateInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool,
                                           .commandBufferCount = 1};
    VK(vkAllocateCommandBuffers(device, &c, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(vkBeginCommandBuffer(commands, &begin));
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, FROM_VULKAN * 0x01010101u);
    VK(vkEndCommandBuffer(commands));
    const uint64_t one = 1, two = 2;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &one};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &values,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands,
                                 .signalSemaphoreCount = 1,
                                 .pSignalSemaphores = &semaphore};
    VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));

    static unsigned char read[SIZE];
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    memset(&wait, 0, sizeof wait);
    memset(&signal, 0, sizeof signal);
    wait.params.fence.value = 1;
    signal.params.fence.value = 2;
    CU(cuWaitExternalSemaphoresAsync(&cuda_semaphore, &wait, 1, stream));
    CU(cuMemcpyDtoHAsync(read, pointer, SIZE, stream));
    CU(cuMemsetD8Async(pointer, FROM_CUDA, SIZE, stream));
    CU(cuSignalExternalSemaphoresAsync(&cuda_semaphore, &signal, 1, stream));

    const VkSemaphoreWaitInfo done = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &semaphore,
                                      .pValues = &two};
    VK(vkWaitSemaphores(device, &done, 60000000000u));
    for (size_t i = 0; i < SIZE; i++)
        MUST(read[i] == FROM_VULKAN && mapped[i] == FROM_CUDA);

    CU(cuStreamSynchronize(stream));
    CU(cuStreamDestroy(stream));
    CU(cuDestroyExternalSemaphore(cuda_semaphore));
    CU(cuMemFree(pointer));
    CU(cuDestroyExternalMemory(cuda_memory));
    VK(vkDeviceWaitIdle(device));
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroySemaphore(device, semaphore, NULL);
}

#ifdef CULVERT
/* Culvert serves the device by the driver that the program has already. */
static void use_culvert(void)
{
    culv_device *culvert = NULL;
    culv_device_caps caps = culv_device_caps_init();
    if (culv_device_open_for_vk(vkGetInstanceProcAddr, instance, physical, NULL, &culvert) !=
        CULV_OK)
        fprintf(stderr, "%s\n", culv_last_error_message());
    MUST(culvert != NULL);
    MUST(culv_device_get_caps(culvert, &caps) == CULV_OK);
    MUST(caps.is_software);
    MUST(culv_device_context(culvert) == context);
#    ifdef OPENS
    MUST(CULV_CUDA(culvert)->cuMemAlloc == table.cuMemAlloc);
#    else
    MUST(CULV_CUDA(culvert)->cuMemAlloc == cuMemAlloc);
#    endif
    culv_device_close(&culvert);

    /* That libcuda.so.1 is not NVIDIA's driver. */
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = CULV_DRIVER_NVIDIA;
    MUST(culv_device_open_by_ordinal(0, &desc, &culvert) == CULV_ERROR_UNSUPPORTED);
    culv_error error = culv_error_init();
    culv_last_error(&error);
    MUST(error.reason == CULV_REASON_DRIVER_MISSING);
    MUST(strstr(culv_last_error_message(), "culvert-soft-run") != NULL);
}
#endif

/* One copy of the twin, whoever loaded it. */
static void require_one_twin(void)
{
    char line[4096], first[4096] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    MUST(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        const char *path = strchr(line, '/');
        if (path == NULL || strstr(path, "libculvert-soft") == NULL) continue;
        if (first[0] == '\0') strcpy(first, path);
        MUST(strcmp(first, path) == 0);
    }
    fclose(maps);
    MUST(first[0] != '\0');
}

int main(int argc, char **argv)
{
#ifdef OPENS
    find_calls();
#else
    /* A function that the twin lacks. */
    if (argc > 1) return cuTexRefCreate(NULL) == CUDA_ERROR_NOT_SUPPORTED ? 0 : 1;
#endif
    open_vulkan();
    make_buffer();
    share();
#ifdef CULVERT
    use_culvert();
#endif
    require_one_twin();
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    CU(cuDevicePrimaryCtxRelease(ordinal));
    printf("shared\n");
    return 0;
}
