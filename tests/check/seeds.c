/* SPDX-License-Identifier: MIT */
/* Small programs with one mistake between CUDA and Vulkan each, and the same without it.
 *
 *   check-seeds NAME wrong|right    runs one
 *   check-seeds --list              name and the finding that the wrong one is
 *
 * They are written as strangers write them: raw calls, libcuda.so.1 opened at run time. Calls that
 * a mistake may make fail are not looked at. seeds.py runs them all under culvert-check. */
#include <volk.h>

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    ((condition) ? (void)0                                                                         \
                 : (fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition), exit(1)))
#define VK(call) MUST((call) == VK_SUCCESS)
#define CU(call) MUST((call) == CUDA_SUCCESS)

#define CALLS(X)                                                                                   \
    X(cuInit, cuInit)                                                                              \
    X(cuDeviceGetCount, cuDeviceGetCount)                                                          \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                         \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                          \
    X(cuCtxSetCurrent, cuCtxSetCurrent)                                                            \
    X(cuCtxSynchronize, cuCtxSynchronize)                                                          \
    X(cuStreamCreate, cuStreamCreate)                                                              \
    X(cuStreamSynchronize, cuStreamSynchronize)                                                    \
    X(cuStreamWaitEvent, cuStreamWaitEvent)                                                        \
    X(cuEventCreate, cuEventCreate)                                                                \
    X(cuEventRecord, cuEventRecord)                                                                \
    X(cuMemFree, cuMemFree_v2)                                                                     \
    X(cuMemsetD8Async, cuMemsetD8Async)                                                            \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                     \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2)                                                         \
    X(cuMemCreate, cuMemCreate)                                                                    \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle)                                  \
    X(cuMemAddressReserve, cuMemAddressReserve)                                                    \
    X(cuMemMap, cuMemMap)                                                                          \
    X(cuMemUnmap, cuMemUnmap)                                                                      \
    X(cuMemSetAccess, cuMemSetAccess)                                                              \
    X(cuModuleLoad, cuModuleLoad)                                                                  \
    X(cuModuleGetFunction, cuModuleGetFunction)                                                    \
    X(cuLaunchKernel, cuLaunchKernel)                                                              \
    X(cuImportExternalMemory, cuImportExternalMemory)                                              \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)                            \
    X(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray)            \
    X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel)                                          \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory)                                            \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore)                                        \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync)                            \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync)                                \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore)
static struct {
#define MEMBER(name, symbol) __typeof__(&symbol) name;
    CALLS(MEMBER)
} cu;

enum { SIZE = 100003, WIDTH = 61, HEIGHT = 37 };

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static CUcontext contexts[2]; /* of the Vulkan device, and of another one */
static CUstream streams[2];
static unsigned char bytes[SIZE];
static const char *kernels;

static void find_calls(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    MUST(library != NULL);
#define FIND(name, symbol)                                                                         \
    {                                                                                              \
        void *found = dlsym(library, #symbol);                                                     \
        MUST(found != NULL);                                                                       \
        memcpy(&cu.name, &found, sizeof found);                                                    \
    }
    CALLS(FIND)
}

static void find_devices(void)
{
    int num_cuda = 0;
    uint32_t count = 8;
    VkPhysicalDevice all[8];
    CU(cu.cuInit(0));
    CU(cu.cuDeviceGetCount(&num_cuda));
    MUST(vkEnumeratePhysicalDevices(instance, &count, all) >= VK_SUCCESS);
    for (uint32_t i = 0; physical == VK_NULL_HANDLE && i < count; i++)
        for (int j = 0; j < num_cuda; j++) {
            VkPhysicalDeviceIDProperties id = {.sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
            VkPhysicalDeviceProperties2 p = {
                .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
            CUuuid uuid;
            vkGetPhysicalDeviceProperties2(all[i], &p);
            CU(cu.cuDeviceGetUuid(&uuid, j));
            const bool same = memcmp(uuid.bytes, id.deviceUUID, VK_UUID_SIZE) == 0;
            if (same) physical = all[i];
            CU(cu.cuDevicePrimaryCtxRetain(&contexts[!same], j));
        }
    MUST(physical != VK_NULL_HANDLE);
    CU(cu.cuCtxSetCurrent(contexts[0]));
    for (int i = 0; i < 2; i++)
        CU(cu.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

static void open_all(void)
{
    static const char *const extensions[] = {"VK_KHR_external_memory_fd",
                                             "VK_KHR_external_semaphore_fd"};
    const float priority = 1;
    find_calls();
    VK(volkInitialize());
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo i = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pApplicationInfo = &app};
    VK(vkCreateInstance(&i, NULL, &instance));
    volkLoadInstance(instance);
    find_devices();
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
    const VkCommandPoolCreateInfo p = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VK(vkCreateCommandPool(device, &p, NULL, &pool));
}

/* ---- what the programs are made of ---- */

typedef struct shared {
    VkBuffer buffer;
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    CUexternalMemory import;
    CUdeviceptr pointer;
    CUarray array;
} shared;

static void allocate(shared *s, const VkMemoryRequirements *needs, bool dedicated)
{
    VkPhysicalDeviceMemoryProperties types;
    uint32_t type = 0;
    /* Of what is not dedicated a part is for others. */
    const VkDeviceSize size = needs->size + (dedicated ? 0 : 4096);
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    while (type < types.memoryTypeCount && (needs->memoryTypeBits >> type & 1) == 0)
        type++;
    const VkMemoryDedicatedAllocateInfo only = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .buffer = s->buffer,
        .image = s->image};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = dedicated ? &only : NULL,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &exported,
                                    .allocationSize = size,
                                    .memoryTypeIndex = type};
    s->allocated = size;
    VK(vkAllocateMemory(device, &a, NULL, &s->memory));
}

static shared make_buffer(bool dedicated)
{
    shared s = {.buffer = VK_NULL_HANDLE};
    VkMemoryRequirements needs;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = SIZE,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                           VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VK(vkCreateBuffer(device, &b, NULL, &s.buffer));
    vkGetBufferMemoryRequirements(device, s.buffer, &needs);
    allocate(&s, &needs, dedicated);
    VK(vkBindBufferMemory(device, s.buffer, s.memory, 0));
    return s;
}

static int memory_fd(const shared *s)
{
    int fd = -1;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = s->memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VK(vkGetMemoryFdKHR(device, &info, &fd));
    return fd;
}

static CUresult import_memory(CUexternalMemory *out, int fd, unsigned long long size,
                              unsigned flags)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = size;
    desc.flags = flags;
    return cu.cuImportExternalMemory(out, &desc);
}

static CUresult map(CUdeviceptr *out, CUexternalMemory import, unsigned long long offset,
                    unsigned long long size)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.offset = offset;
    desc.size = size;
    return cu.cuExternalMemoryGetMappedBuffer(out, import, &desc);
}

static shared share_buffer(void)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    CU(map(&s.pointer, s.import, 0, SIZE));
    return s;
}

static shared share_image(void)
{
    shared s = {.image = VK_NULL_HANDLE};
    VkMemoryRequirements needs;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo i = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                 .pNext = &external,
                                 .imageType = VK_IMAGE_TYPE_2D,
                                 .format = VK_FORMAT_R8G8B8A8_UNORM,
                                 .extent = {WIDTH, HEIGHT, 1},
                                 .mipLevels = 1,
                                 .arrayLayers = 1,
                                 .samples = VK_SAMPLE_COUNT_1_BIT,
                                 .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VK(vkCreateImage(device, &i, NULL, &s.image));
    vkGetImageMemoryRequirements(device, s.image, &needs);
    allocate(&s, &needs, true);
    VK(vkBindImageMemory(device, s.image, s.memory, 0));
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, CUDA_EXTERNAL_MEMORY_DEDICATED));
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc;
    CUmipmappedArray mipmaps = NULL;
    memset(&desc, 0, sizeof desc);
    desc.arrayDesc.Width = WIDTH;
    desc.arrayDesc.Height = HEIGHT;
    desc.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.arrayDesc.NumChannels = 4;
    desc.numLevels = 1;
    CU(cu.cuExternalMemoryGetMappedMipmappedArray(&mipmaps, s.import, &desc));
    CU(cu.cuMipmappedArrayGetLevel(&s.array, mipmaps, 0));
    return s;
}

/* Memory of CUDA's, which Vulkan imports. */
static shared share_allocation(int *fd)
{
    enum { BYTES = 2 << 20 };
    shared s = {.allocated = BYTES};
    CUmemAllocationProp prop;
    CUmemAccessDesc access;
    CUmemGenericAllocationHandle handle;
    memset(&prop, 0, sizeof prop);
    memset(&access, 0, sizeof access);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cu.cuMemCreate(&handle, BYTES, &prop, 0));
    CU(cu.cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU(cu.cuMemAddressReserve(&s.pointer, BYTES, 0, 0, 0));
    CU(cu.cuMemMap(s.pointer, BYTES, 0, handle, 0));
    CU(cu.cuMemSetAccess(s.pointer, BYTES, &access, 1));
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = SIZE,
                                  .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VK(vkCreateBuffer(device, &b, NULL, &s.buffer));
    const VkImportMemoryFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                          .handleType =
                                              VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
                                          .fd = *fd};
    const VkMemoryAllocateInfo a = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &from, .allocationSize = BYTES};
    VK(vkAllocateMemory(device, &a, NULL, &s.memory));
    VK(vkBindBufferMemory(device, s.buffer, s.memory, 0));
    return s;
}

typedef struct timeline {
    VkSemaphore vulkan;
    CUexternalSemaphore cuda;
} timeline;

static timeline make_timeline(int *fd)
{
    timeline t = {.cuda = NULL};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkExportSemaphoreCreateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &exported};
    VK(vkCreateSemaphore(device, &info, NULL, &t.vulkan));
    const VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = t.vulkan,
                                         .handleType =
                                             VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VK(vkGetSemaphoreFdKHR(device, &get, fd));
    return t;
}

static CUresult import_semaphore(CUexternalSemaphore *out, int fd,
                                 CUexternalSemaphoreHandleType type)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = type;
    desc.handle.fd = fd;
    return cu.cuImportExternalSemaphore(out, &desc);
}

#define TIMELINE CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
static timeline share_timeline(void)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    CU(import_semaphore(&t.cuda, fd, TIMELINE));
    return t;
}

static CUresult cuda_signals(const timeline *t, uint64_t value, int stream)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p;
    memset(&p, 0, sizeof p);
    p.params.fence.value = value;
    return cu.cuSignalExternalSemaphoresAsync(&t->cuda, &p, 1, streams[stream]);
}

static void cuda_waits(const timeline *t, uint64_t value, int stream)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    memset(&p, 0, sizeof p);
    p.params.fence.value = value;
    CU(cu.cuWaitExternalSemaphoresAsync(&t->cuda, &p, 1, streams[stream]));
}

static void cuda_reads(const shared *s)
{
    CU(cu.cuMemcpyDtoHAsync(bytes, s->pointer, SIZE, streams[0]));
}

static void cuda_writes(const shared *s)
{
    CU(cu.cuMemsetD8Async(s->pointer, 0x5a, SIZE, streams[0]));
}

/* What vulkan_writes() does besides. */
static struct {
    VkBuffer copies_to; /* it copies to this one, and does not write */
    bool acquires, releases;
} also;

static void transfer(VkCommandBuffer commands, const shared *s, uint32_t from, uint32_t to)
{
    const VkBufferMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                           .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                           .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT,
                                           .srcQueueFamilyIndex = from,
                                           .dstQueueFamilyIndex = to,
                                           .buffer = s->buffer,
                                           .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 1, &barrier, 0, NULL);
}

/* Vulkan waits for a value, writes all of it, and signals a value; 0 is neither. */
static void vulkan_writes(const shared *s, const timeline *t, uint64_t after, uint64_t signal)
{
    VkCommandBuffer commands;
    const VkCommandBufferAllocateInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool,
                                           .commandBufferCount = 1};
    VK(vkAllocateCommandBuffers(device, &c, &commands));
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(vkBeginCommandBuffer(commands, &begin));
    const VkBufferCopy whole = {.size = SIZE};
    if (also.acquires) transfer(commands, s, VK_QUEUE_FAMILY_EXTERNAL, 0);
    if (also.copies_to != VK_NULL_HANDLE)
        vkCmdCopyBuffer(commands, s->buffer, also.copies_to, 1, &whole);
    else if (s != NULL && s->buffer != VK_NULL_HANDLE)
        vkCmdFillBuffer(commands, s->buffer, 0, VK_WHOLE_SIZE, 0x33333333);
    if (also.releases) transfer(commands, s, 0, VK_QUEUE_FAMILY_EXTERNAL);
    if (s != NULL && s->image != VK_NULL_HANDLE) {
        const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        const VkClearColorValue color = {.float32 = {1, 0, 0, 1}};
        const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                              .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                              .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                              .image = s->image,
                                              .subresourceRange = all};
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                             VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
        vkCmdClearColorImage(commands, s->image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &all);
    }
    VK(vkEndCommandBuffer(commands));
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = after != 0,
        .pWaitSemaphoreValues = &after,
        .signalSemaphoreValueCount = signal != 0,
        .pSignalSemaphoreValues = &signal};
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &values,
                                 .waitSemaphoreCount = after != 0,
                                 .pWaitSemaphores = t != NULL ? &t->vulkan : NULL,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands,
                                 .signalSemaphoreCount = signal != 0,
                                 .pSignalSemaphores = t != NULL ? &t->vulkan : NULL};
    VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
}

static void all_done(void)
{
    VK(vkDeviceWaitIdle(device));
    (void)cu.cuCtxSynchronize();
}

/* ---- the mistakes ---- */

static void fd_closed(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s), copy = dup(fd);
    CU(import_memory(&s.import, fd, s.allocated, 0));
    (void)close(wrong ? fd : copy);
    if (wrong) (void)close(copy);
}

static void fd_closed_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    CU(import_semaphore(&t.cuda, fd, TIMELINE));
    if (wrong) (void)close(fd);
}

static void fd_twice(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s), second = wrong ? fd : memory_fd(&s);
    CUexternalMemory other = NULL;
    CU(import_memory(&s.import, fd, s.allocated, 0));
    (void)import_memory(&other, second, s.allocated, 0);
}

static void fd_used(bool wrong)
{
    shared s = make_buffer(false);
    const int fd = memory_fd(&s);
    int copy = wrong ? -1 : dup(fd);
    CU(import_memory(&s.import, fd, s.allocated, 0));
    if (wrong) copy = dup(fd);
    if (copy >= 0) (void)close(copy);
}

static void fd_leaked(bool wrong)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    const int fd = memory_fd(&s); /* "once more, to be sure" */
    if (!wrong) (void)close(fd);
}

static void fd_leaked_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    if (!wrong) CU(import_semaphore(&t.cuda, fd, TIMELINE));
}

static void size_of_buffer(bool wrong)
{
    shared s = make_buffer(false);
    (void)import_memory(&s.import, memory_fd(&s), wrong ? SIZE : s.allocated, 0);
}

static void range_beyond(bool wrong)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    (void)map(&s.pointer, s.import, 4096, s.allocated - (wrong ? 0 : 4096));
}

static void not_dedicated(bool wrong)
{
    shared s = make_buffer(true);
    (void)import_memory(&s.import, memory_fd(&s), s.allocated,
                        wrong ? 0 : CUDA_EXTERNAL_MEMORY_DEDICATED);
}

static void dedicated_untrue(bool wrong)
{
    shared s = make_buffer(false);
    (void)import_memory(&s.import, memory_fd(&s), s.allocated,
                        wrong ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0);
}

static void timeline_as_binary(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    (void)import_semaphore(&t.cuda, fd,
                           wrong ? CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD : TIMELINE);
}

static void memory_as_semaphore(bool wrong)
{
    shared s = make_buffer(false);
    timeline t;
    if (wrong)
        (void)import_semaphore(&t.cuda, memory_fd(&s), TIMELINE);
    else
        CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
}

static void other_gpu(bool wrong)
{
    shared s = make_buffer(false);
    MUST(contexts[1] != NULL);
    if (wrong) CU(cu.cuCtxSetCurrent(contexts[1]));
    (void)import_memory(&s.import, memory_fd(&s), s.allocated, 0);
}

static void other_gpu_semaphore(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    MUST(contexts[1] != NULL);
    if (wrong) CU(cu.cuCtxSetCurrent(contexts[1]));
    (void)import_semaphore(&t.cuda, fd, TIMELINE);
}

static void no_rise(bool wrong)
{
    timeline t = share_timeline();
    CU(cuda_signals(&t, 2, 0));
    (void)cuda_signals(&t, wrong ? 2 : 3, 0);
    all_done();
}

/* Each side has a counter of its own. */
static void no_rise_two_counters(bool wrong)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 5);
    cuda_waits(&t, 5, 0);
    (void)cuda_signals(&t, wrong ? 1 : 6, 0);
    all_done();
}

static void endless(bool wrong)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, wrong ? 2 : 1, 0);
    VK(vkDeviceWaitIdle(device));
    if (!wrong) all_done();
}

/* Vulkan waits for what CUDA signals after it has waited for Vulkan. */
static void endless_cycle(bool wrong)
{
    timeline t = share_timeline(), back = share_timeline();
    cuda_waits(&t, 1, 0);
    CU(cuda_signals(&back, 1, 0));
    if (wrong)
        vulkan_writes(NULL, &back, 2, 0);
    else
        vulkan_writes(NULL, &t, 0, 1);
    if (!wrong) all_done();
}

/* The host waits, too. The checker ends the program. */
static void hangs(bool wrong)
{
    timeline t = share_timeline();
    if (!wrong) vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    CU(cu.cuStreamSynchronize(streams[0]));
}

static void hangs_by_value(bool wrong)
{
    timeline t = share_timeline();
    const uint64_t value = 2;
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &t.vulkan,
                                      .pValues = &value};
    CU(cuda_signals(&t, wrong ? 1 : 2, 0));
    VK(vkWaitSemaphores(device, &info, UINT64_MAX));
}

static void write_write(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_writes(&s);
    all_done();
}

static void read_early(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

static void reverse_wait(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    for (uint64_t frame = 0; frame < 3; frame++) {
        vulkan_writes(&s, &t, wrong || frame == 0 ? 0 : 2 * frame, 2 * frame + 1);
        cuda_waits(&t, 2 * frame + 1, 0);
        cuda_reads(&s);
        if (!wrong) CU(cuda_signals(&t, 2 * frame + 2, 0));
    }
    all_done();
}

static void other_stream(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, wrong); /* the copy is in stream 0 */
    cuda_reads(&s);
    all_done();
}

static void no_event(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUevent event = NULL;
    CU(cu.cuEventCreate(&event, 0));
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, 1);
    CU(cu.cuEventRecord(event, streams[1]));
    if (!wrong) CU(cu.cuStreamWaitEvent(streams[0], event, 0));
    cuda_reads(&s);
    all_done();
}

static void earlier_value(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1);
    vulkan_writes(&s, &t, 0, 2);
    cuda_waits(&t, wrong ? 1 : 2, 0);
    cuda_reads(&s);
    all_done();
}

static void signal_early(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    if (wrong) CU(cuda_signals(&t, 1, 0));
    cuda_reads(&s);
    if (!wrong) CU(cuda_signals(&t, 1, 0));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

static void kernel_early(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    char path[4096];
    CUmodule module = NULL;
    CUfunction function = NULL;
    unsigned count = SIZE / 4;
    void *arguments[] = {&s.pointer, &count};
    (void)snprintf(path, sizeof path, "%s/seeds.soft.so", kernels);
    CU(cu.cuModuleLoad(&module, path));
    CU(cu.cuModuleGetFunction(&function, module, "seeds_add"));
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, streams[0], arguments,
                         NULL));
    all_done();
}

static void allocation_early(bool wrong)
{
    int fd = -1;
    shared s = share_allocation(&fd);
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

static void allocation_fd_closed(bool wrong)
{
    int fd = -1;
    (void)share_allocation(&fd);
    if (wrong) (void)close(fd);
}

static void used_after_unmap(bool wrong)
{
    int fd = -1;
    shared s = share_allocation(&fd);
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuMemUnmap(s.pointer, s.allocated));
    if (wrong) (void)cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[0]);
    all_done();
}

static void image_early(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = s.array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.dstPitch = (size_t)WIDTH * 4;
    copy.WidthInBytes = (size_t)WIDTH * 4;
    copy.Height = HEIGHT;
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    all_done();
}

static void no_release(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    also.releases = !wrong;
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

static void no_acquire(bool wrong)
{
    shared s = share_buffer(), picture = make_buffer(false);
    timeline t = share_timeline();
    also.copies_to = picture.buffer;
    also.acquires = !wrong;
    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

static void semaphore_in_use(bool wrong)
{
    timeline t = share_timeline();
    vulkan_writes(NULL, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    if (!wrong) CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalSemaphore(t.cuda));
    all_done();
}

static void memory_in_use(bool wrong)
{
    shared s = share_buffer();
    cuda_writes(&s);
    if (!wrong) CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalMemory(s.import));
    all_done();
}

static void used_after_destroy(bool wrong)
{
    shared s = share_buffer();
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalMemory(s.import));
    if (wrong) (void)cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[0]);
    all_done();
}

static void used_after_free(bool wrong)
{
    shared s = share_buffer();
    if (!wrong) cuda_writes(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuMemFree(s.pointer));
    if (wrong) (void)cu.cuMemsetD8Async(s.pointer, 1, SIZE, streams[0]);
    all_done();
}

static const struct {
    const char *name;
    const char *finding;
    void (*run)(bool wrong);
} seeds[] = {
    {"fd_closed", "fd-closed-after-import", fd_closed},
    {"fd_closed_semaphore", "fd-closed-after-import", fd_closed_semaphore},
    {"fd_twice", "fd-imported-twice", fd_twice},
    {"fd_used", "fd-used-after-import", fd_used},
    {"fd_leaked", "fd-leaked", fd_leaked},
    {"fd_leaked_semaphore", "fd-leaked", fd_leaked_semaphore},
    {"size_of_buffer", "size", size_of_buffer},
    {"range_beyond", "range", range_beyond},
    {"not_dedicated", "dedicated", not_dedicated},
    {"dedicated_untrue", "not-dedicated", dedicated_untrue},
    {"timeline_as_binary", "handle-type", timeline_as_binary},
    {"memory_as_semaphore", "handle-type", memory_as_semaphore},
    {"other_gpu", "other-gpu", other_gpu},
    {"other_gpu_semaphore", "other-gpu", other_gpu_semaphore},
    {"no_rise", "no-rise", no_rise},
    {"no_rise_two_counters", "no-rise", no_rise_two_counters},
    {"endless", "endless-wait", endless},
    {"endless_cycle", "endless-wait", endless_cycle},
    {"hangs", "endless-wait", hangs},
    {"hangs_by_value", "endless-wait", hangs_by_value},
    {"write_write", "write-after-write", write_write},
    {"read_early", "read-after-write", read_early},
    {"reverse_wait", "write-after-read", reverse_wait},
    {"other_stream", "read-after-write", other_stream},
    {"no_event", "read-after-write", no_event},
    {"earlier_value", "read-after-write", earlier_value},
    {"signal_early", "write-after-read", signal_early},
    {"kernel_early", "read-after-write", kernel_early},
    {"allocation_early", "read-after-write", allocation_early},
    {"allocation_fd_closed", "fd-closed-after-import", allocation_fd_closed},
    {"used_after_unmap", "used-after-import", used_after_unmap},
    {"image_early", "read-after-write", image_early},
    {"no_release", "no-release", no_release},
    {"no_acquire", "no-acquire", no_acquire},
    {"semaphore_in_use", "semaphore-in-use", semaphore_in_use},
    {"memory_in_use", "memory-in-use", memory_in_use},
    {"used_after_destroy", "used-after-import", used_after_destroy},
    {"used_after_free", "used-after-import", used_after_free},
};

int main(int argc, char **argv)
{
    const size_t count = sizeof seeds / sizeof *seeds;
    for (size_t i = 0; argc == 2 && strcmp(argv[1], "--list") == 0 && i < count; i++)
        printf("%s %s\n", seeds[i].name, seeds[i].finding);
    if (argc == 2) return 0;
    MUST(argc == 4);
    kernels = argv[3];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(seeds[i].name, argv[1]) != 0) continue;
        open_all();
        seeds[i].run(strcmp(argv[2], "wrong") == 0);
        return 0;
    }
    fprintf(stderr, "there is no %s\n", argv[1]);
    return 1;
}
