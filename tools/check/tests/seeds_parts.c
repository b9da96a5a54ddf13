/* SPDX-License-Identifier: MIT */
/* What the small programs of culvert-check's tests are made of. */
#include "seeds.h"

struct calls cu;
struct also also;

VkInstance instance;
VkPhysicalDevice physical;
VkDevice device;
VkQueue queue;
VkCommandPool pool;
CUcontext contexts[2]; /* of the Vulkan device, and of another one */
CUstream streams[2];
unsigned char *bytes;
const char *kernels;
static CUexternalSemaphore binary;

void kernels_file(char *path, size_t size)
{
    const char *soft = getenv("CULVERT_SOFT");
    (void)snprintf(path, size, "%s/seeds.%s", kernels,
                   soft != NULL && strcmp(soft, "1") == 0 ? "soft.so" : "fatbin");
}

CUfunction function_of(const char *name)
{
    char path[4096];
    CUmodule module = NULL;
    CUfunction function = NULL;
    kernels_file(path, sizeof path);
    CU(cu.cuModuleLoad(&module, path));
    CU(cu.cuModuleGetFunction(&function, module, name));
    return function;
}

void find_calls(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    MUST(library != NULL);
    MUST(dlsym(library, "cuGetProcAddress_v2") != NULL); /* what libcudart asks for first */
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
    void *pinned;
    CU(cu.cuMemAllocHost(&pinned, SIZE));
    bytes = pinned;
    for (int i = 0; i < 2; i++)
        CU(cu.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

void open_all(void)
{
    static const char *extensions[] = {"VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd",
                                       VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
                                       VK_NVX_BINARY_IMPORT_EXTENSION_NAME};
    static const char *const surfaces[] = {"VK_KHR_surface", "VK_KHR_xcb_surface"};
    const float priority = 1;
    if (also.presents) extensions[2] = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
    find_calls();
    VK(volkInitialize());
    const VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo i = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                    .pApplicationInfo = &app,
                                    .enabledExtensionCount = also.presents ? 2 : 0,
                                    .ppEnabledExtensionNames = surfaces};
    VK(vkCreateInstance(&i, NULL, &instance));
    volkLoadInstance(instance);
    find_devices();
    const VkDeviceQueueCreateInfo q = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                       .queueCount = 1,
                                       .pQueuePriorities = &priority};
    VkPhysicalDeviceSynchronization2Features newer = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .pNext = &newer,
        .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES,
        .pNext = &timelines,
        .bufferDeviceAddress = VK_TRUE};
    if (getenv("SEEDS_NO_TIMELINES") != NULL) timelines.timelineSemaphore = VK_FALSE;
    const VkDeviceCreateInfo d = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = also.kernels ? (void *)&addresses : &timelines,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &q,
                                  .enabledExtensionCount = also.kernels ? 4 : 3,
                                  .ppEnabledExtensionNames = extensions};
    VK(vkCreateDevice(physical, &d, NULL, &device));
    volkLoadDevice(device);
    vkGetDeviceQueue(device, 0, 0, &queue);
    const VkCommandPoolCreateInfo p = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VK(vkCreateCommandPool(device, &p, NULL, &pool));
}

/* ---- what the programs are made of ---- */

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
    const VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = dedicated ? &only : NULL,
        .flags = also.kernels ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &flags,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &exported,
                                    .allocationSize = size,
                                    .memoryTypeIndex = type};
    s->allocated = size;
    VK(vkAllocateMemory(device, &a, NULL, &s->memory));
}

shared make_buffer(bool dedicated)
{
    shared s = {.buffer = VK_NULL_HANDLE};
    VkMemoryRequirements needs;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = &external,
        .size = SIZE,
        .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 (also.kernels ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0u)};
    VK(vkCreateBuffer(device, &b, NULL, &s.buffer));
    vkGetBufferMemoryRequirements(device, s.buffer, &needs);
    allocate(&s, &needs, dedicated);
    VK(vkBindBufferMemory(device, s.buffer, s.memory, 0));
    return s;
}

int memory_fd(const shared *s)
{
    int fd = -1;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = s->memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VK(vkGetMemoryFdKHR(device, &info, &fd));
    return fd;
}

CUresult import_memory(CUexternalMemory *out, int fd, unsigned long long size, unsigned flags)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = size;
    desc.flags = flags;
    return cu.cuImportExternalMemory(out, &desc);
}

CUresult map(CUdeviceptr *out, CUexternalMemory import, unsigned long long offset,
             unsigned long long size)
{
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.offset = offset;
    desc.size = size;
    return cu.cuExternalMemoryGetMappedBuffer(out, import, &desc);
}

shared share_buffer(void)
{
    shared s = make_buffer(false);
    CU(import_memory(&s.import, memory_fd(&s), s.allocated, 0));
    CU(map(&s.pointer, s.import, 0, SIZE));
    return s;
}

VkImage make_image(uint32_t levels, VkImageUsageFlags usage)
{
    VkImage image;
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkImageCreateInfo i = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                 .pNext = &external,
                                 .imageType = VK_IMAGE_TYPE_2D,
                                 .format = VK_FORMAT_R8G8B8A8_UNORM,
                                 .extent = {WIDTH, HEIGHT, 1},
                                 .mipLevels = levels,
                                 .arrayLayers = 1,
                                 .samples = VK_SAMPLE_COUNT_1_BIT,
                                 .usage = usage};
    VK(vkCreateImage(device, &i, NULL, &image));
    return image;
}

shared share_image(void)
{
    shared s = {
        .image = make_image(1, VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                   VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT)};
    VkMemoryRequirements needs;
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
    desc.arrayDesc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    desc.numLevels = 1;
    CU(cu.cuExternalMemoryGetMappedMipmappedArray(&mipmaps, s.import, &desc));
    CU(cu.cuMipmappedArrayGetLevel(&s.array, mipmaps, 0));
    return s;
}

/* Memory of CUDA's, which Vulkan imports. */
shared share_allocation(int *fd)
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

timeline make_timeline(int *fd)
{
    return make_timeline_at(0, fd);
}

timeline make_timeline_at(uint64_t initial, int *fd)
{
    timeline t = {.cuda = NULL};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = initial};
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

CUresult import_semaphore(CUexternalSemaphore *out, int fd, CUexternalSemaphoreHandleType type)
{
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = type;
    desc.handle.fd = fd;
    return cu.cuImportExternalSemaphore(out, &desc);
}

timeline share_timeline(void)
{
    int fd = -1;
    timeline t = make_timeline(&fd);
    CU(import_semaphore(&t.cuda, fd, TIMELINE));
    return t;
}

CUresult cuda_signals(const timeline *t, uint64_t value, int stream)
{
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p;
    memset(&p, 0, sizeof p);
    p.params.fence.value = value;
    return cu.cuSignalExternalSemaphoresAsync(&t->cuda, &p, 1, streams[stream]);
}

void cuda_waits(const timeline *t, uint64_t value, int stream)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    memset(&p, 0, sizeof p);
    p.params.fence.value = value;
    CU(cu.cuWaitExternalSemaphoresAsync(&t->cuda, &p, 1, streams[stream]));
}

void cuda_reads(const shared *s)
{
    CU(cu.cuMemcpyDtoHAsync(bytes, s->pointer, SIZE, streams[0]));
}

void cuda_writes(const shared *s)
{
    CU(cu.cuMemsetD8Async(s->pointer, 0x5a, SIZE, streams[0]));
}

/* Who knows whether it reads or writes? */
void cuda_adds(const shared *s)
{
    unsigned count = SIZE / 4;
    CUdeviceptr pointer = s->pointer;
    void *arguments[] = {&pointer, &count};
    CU(cu.cuLaunchKernel(function_of("seeds_add"), (count + 127) / 128, 1, 1, 128, 1, 1, 0,
                         streams[0], arguments, NULL));
}

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

VkCommandBuffer begin(void)
{
    VkCommandBuffer commands;
    const VkCommandBufferAllocateInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool,
                                           .commandBufferCount = 1};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VK(vkAllocateCommandBuffers(device, &c, &commands));
    VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

/* They wait for a value, and signal one; 0 is neither. */
void end_and_submit(VkCommandBuffer commands, const timeline *t, uint64_t after, uint64_t signal)
{
    VK(vkEndCommandBuffer(commands));
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = after != 0,
        .pWaitSemaphoreValues = &after,
        .signalSemaphoreValueCount = signal != 0,
        .pSignalSemaphoreValues = &signal};
    const VkPipelineStageFlags stage =
        also.waits_at != 0 ? also.waits_at : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
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

/* Vulkan waits for a value, and takes the buffer over. */
void vulkan_takes(const shared *s, const timeline *t, uint64_t after)
{
    VkCommandBuffer commands = begin();
    transfer(commands, s, VK_QUEUE_FAMILY_EXTERNAL, 0);
    end_and_submit(commands, t, after, 0);
}

/* An X server's window, by the library that is there. */
static VkSurfaceKHR make_surface(void)
{
    void *xcb = dlopen("libxcb.so.1", RTLD_NOW), *found[3];
    static const char *const names[] = {"xcb_connect", "xcb_generate_id", "xcb_create_window"};
    void *(*connect)(const char *, int *);
    uint32_t (*generate)(void *);
    uint64_t (*create)(void *, uint8_t, uint32_t, uint32_t, int16_t, int16_t, uint16_t, uint16_t,
                       uint16_t, uint16_t, uint32_t, uint32_t, const void *);
    const void *(*setup)(void *);
    MUST(xcb != NULL);
    for (int i = 0; i < 3; i++)
        MUST((found[i] = dlsym(xcb, names[i])) != NULL);
    memcpy(&connect, &found[0], sizeof connect);
    memcpy(&generate, &found[1], sizeof generate);
    memcpy(&create, &found[2], sizeof create);
    void *symbol = dlsym(xcb, "xcb_get_setup");
    memcpy(&setup, &symbol, sizeof setup);
    struct {
        VkStructureType type;
        const void *next;
        VkFlags flags;
        void *connection;
        uint32_t window;
    } info = {.type = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR};
    struct {
        const uint8_t *data;
        int rem, index;
    } screen;
    VkResult (*make)(VkInstance, const void *, const VkAllocationCallbacks *, VkSurfaceKHR *);
    __typeof__(screen) (*screens)(const void *);
    symbol = dlsym(xcb, "xcb_setup_roots_iterator");
    memcpy(&screens, &symbol, sizeof screens);
    info.connection = connect(NULL, NULL);
    screen = screens(setup(info.connection));
    uint32_t root;
    memcpy(&root, screen.data, sizeof root);
    info.window = generate(info.connection);
    (void)create(info.connection, 0, info.window, root, 0, 0, WIDTH, HEIGHT, 0, 1, 0, 0, NULL);
    const PFN_vkVoidFunction proc = vkGetInstanceProcAddr(instance, "vkCreateXcbSurfaceKHR");
    memcpy(&make, &proc, sizeof make);
    VkSurfaceKHR surface;
    VK(make(instance, &info, NULL, &surface));
    return surface;
}

/* A frame in a window, behind `after`, that signals `signal`; 0 is neither. */
void show(const timeline *t, uint64_t after, uint64_t signal)
{
    static VkSwapchainKHR chain;
    static VkSemaphore drawn;
    static VkFence got;
    static VkImage images[8];
    uint32_t at = 0, count = 8;
    if (chain == VK_NULL_HANDLE) {
        const VkSurfaceKHR surface = make_surface();
        VkSurfaceCapabilitiesKHR able;
        VkBool32 supported;
        VK(vkGetPhysicalDeviceSurfaceSupportKHR(physical, 0, surface, &supported));
        VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(physical, surface, &able));
        const VkSwapchainCreateInfoKHR c = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
                                            .surface = surface,
                                            .minImageCount = able.minImageCount,
                                            .imageFormat = VK_FORMAT_B8G8R8A8_UNORM,
                                            .imageExtent = able.currentExtent,
                                            .imageArrayLayers = 1,
                                            .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                                            .preTransform = able.currentTransform,
                                            .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
                                            .presentMode = VK_PRESENT_MODE_FIFO_KHR};
        const VkSemaphoreCreateInfo s = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        const VkFenceCreateInfo f = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        VK(vkCreateSwapchainKHR(device, &c, NULL, &chain));
        VK(vkGetSwapchainImagesKHR(device, chain, &count, images));
        VK(vkCreateSemaphore(device, &s, NULL, &drawn));
        VK(vkCreateFence(device, &f, NULL, &got));
    }
    VK(vkAcquireNextImageKHR(device, chain, UINT64_MAX, VK_NULL_HANDLE, got, &at));
    VK(vkWaitForFences(device, 1, &got, VK_TRUE, UINT64_MAX));
    VK(vkResetFences(device, 1, &got));
    VkCommandBuffer commands = begin();
    const shared picture = {.image = images[at]};
    change_layout(commands, &picture, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                  0);
    VK(vkEndCommandBuffer(commands));
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkSemaphore signals[] = {drawn, t->vulkan};
    const uint64_t values[] = {0, signal};
    const VkTimelineSemaphoreSubmitInfo v = {.sType =
                                                 VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                             .waitSemaphoreValueCount = 1,
                                             .pWaitSemaphoreValues = &after,
                                             .signalSemaphoreValueCount = 2,
                                             .pSignalSemaphoreValues = values};
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .pNext = &v,
                                 .waitSemaphoreCount = 1,
                                 .pWaitSemaphores = &t->vulkan,
                                 .pWaitDstStageMask = &stage,
                                 .commandBufferCount = 1,
                                 .pCommandBuffers = &commands,
                                 .signalSemaphoreCount = signal != 0 ? 2 : 1,
                                 .pSignalSemaphores = signals};
    VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    const VkPresentInfoKHR p = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &drawn,
                                .swapchainCount = 1,
                                .pSwapchains = &chain,
                                .pImageIndices = &at};
    VK(vkQueuePresentKHR(queue, &p));
}

/* Vulkan waits for a value, writes all of it, and signals a value; 0 is neither. */
void vulkan_writes(const shared *s, const timeline *t, uint64_t after, uint64_t signal)
{
    VkCommandBuffer commands = begin();
    const VkBufferCopy whole = {.size = SIZE};
    if (also.acquires) transfer(commands, s, VK_QUEUE_FAMILY_EXTERNAL, 0);
    if (also.copies_to != VK_NULL_HANDLE)
        vkCmdCopyBuffer(commands, s->buffer, also.copies_to, 1, &whole);
    else if (also.launches != NULL)
        vkCmdCuLaunchKernelNVX(commands, also.launches);
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
    end_and_submit(commands, t, after, signal);
}

/* A barrier that hands the image over to CUDA (1), takes it back (-1), or neither. */
void change_layout(VkCommandBuffer commands, const shared *s, VkImageLayout from, VkImageLayout to,
                   int transfer)
{
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = transfer < 0 ? VK_QUEUE_FAMILY_EXTERNAL : 0,
        .dstQueueFamilyIndex = transfer > 0 ? VK_QUEUE_FAMILY_EXTERNAL : 0,
        .image = s->image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

void cuda_paints(const shared *s)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = bytes;
    copy.srcPitch = copy.WidthInBytes = (size_t)WIDTH * 4;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = s->array;
    copy.Height = HEIGHT;
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
}

void copy_picture(VkCommandBuffer commands, const shared *s, VkImageLayout layout, VkBuffer to)
{
    const VkBufferImageCopy all = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                   .imageExtent = {WIDTH, HEIGHT, 1}};
    vkCmdCopyImageToBuffer(commands, s->image, layout, to, 1, &all);
}

/* A binary semaphore that CUDA knows, too; the twin has none. */
VkSemaphore make_binary(void)
{
    VkSemaphore made;
    int fd = -1;
    const VkExportSemaphoreCreateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &exported};
    VK(vkCreateSemaphore(device, &info, NULL, &made));
    const VkSemaphoreGetFdInfoKHR get = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                         .semaphore = made,
                                         .handleType =
                                             VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VK(vkGetSemaphoreFdKHR(device, &get, &fd));
    CU(import_semaphore(&binary, fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD));
    return made;
}

void binary_waits(void)
{
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p;
    memset(&p, 0, sizeof p);
    CU(cu.cuWaitExternalSemaphoresAsync(&binary, &p, 1, streams[0]));
}

void all_done(void)
{
    VK(vkDeviceWaitIdle(device));
    (void)cu.cuCtxSynchronize();
}
