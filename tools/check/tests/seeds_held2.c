/* SPDX-License-Identifier: MIT */
/* More programs with one mistake each, by somebody who has not read the checker: after what its
 * page says that it cannot see, and after public threads, which the comments name. */
#include "seeds.h"

#include <sys/socket.h>
#include <sys/wait.h>

#define MORE(X)                                                                                    \
    X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode)                                                  \
    X(cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresSignalNode)              \
    X(cuLaunchHostFunc, cuLaunchHostFunc)                                                          \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                   \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                     \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync)                                                        \
    X(cuStreamQuery, cuStreamQuery)
static struct {
    MORE(MEMBER)
} more;

static void find_more(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    MUST(library != NULL);
#define FIND(name, symbol)                                                                         \
    {                                                                                              \
        void *found = dlsym(library, #symbol);                                                     \
        MUST(found != NULL);                                                                       \
        memcpy(&more.name, &found, sizeof found);                                                  \
    }
    MORE(FIND)
}

/* ---- what they share ---- */

static VkCommandBuffer begin_at(VkCommandBufferLevel level)
{
    VkCommandBuffer commands;
    const VkCommandBufferAllocateInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool,
                                           .level = level,
                                           .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo inherits = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .pInheritanceInfo = &inherits};
    VK(vkAllocateCommandBuffers(device, &c, &commands));
    VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

static void host_tells(const timeline *t, uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = t->vulkan, .value = value};
    VK(vkSignalSemaphore(device, &info));
}

/* An image of some levels that may be copied from and to, with memory of its own, and the arrays
 * of its levels. It is in the layout GENERAL, and handed over to CUDA. */
typedef struct picture {
    VkImage image;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    CUexternalMemory import;
    CUarray levels[2];
} picture;

static VkImageSubresourceRange level_range(uint32_t first, uint32_t count)
{
    return (VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, first, count, 0, 1};
}

/* The first levels, from a layout and a queue family to others. */
static void transition(VkCommandBuffer commands, VkImage image, uint32_t levels, VkImageLayout from,
                       uint32_t owner, VkImageLayout to, uint32_t next)
{
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                          .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT |
                                                           VK_ACCESS_MEMORY_WRITE_BIT,
                                          .oldLayout = from,
                                          .newLayout = to,
                                          .srcQueueFamilyIndex = owner,
                                          .dstQueueFamilyIndex = next,
                                          .image = image,
                                          .subresourceRange = level_range(0, levels)};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static picture make_picture(uint32_t levels)
{
    picture p = {.image = make_image(levels, VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                                                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT)};
    VkMemoryRequirements needs;
    vkGetImageMemoryRequirements(device, p.image, &needs);
    uint32_t type = 0;
    while ((needs.memoryTypeBits >> type & 1) == 0)
        type++;
    /* What says that it is dedicated is not the last one of the chain, and not the first one. */
    const VkMemoryAllocateFlagsInfo none = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .pNext = &none,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkMemoryDedicatedAllocateInfo only = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .pNext = &exported,
        .image = p.image};
    const VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .pNext = &only,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = type};
    p.allocated = needs.size;
    VK(vkAllocateMemory(device, &a, NULL, &p.memory));
    VK(vkBindImageMemory(device, p.image, p.memory, 0));
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    transition(commands, p.image, levels, VK_IMAGE_LAYOUT_UNDEFINED, 0, VK_IMAGE_LAYOUT_GENERAL, 0);
    transition(commands, p.image, levels, VK_IMAGE_LAYOUT_GENERAL, 0, VK_IMAGE_LAYOUT_GENERAL,
               VK_QUEUE_FAMILY_EXTERNAL);
    end_and_submit(commands, NULL, 0, 0);
    VK(vkQueueWaitIdle(queue));
    return p;
}

static picture share_picture(uint32_t levels)
{
    picture p = make_picture(levels);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc;
    CUmipmappedArray mipmaps = NULL;
    const shared memory = {.memory = p.memory};
    CU(import_memory(&p.import, memory_fd(&memory), p.allocated, CUDA_EXTERNAL_MEMORY_DEDICATED));
    memset(&desc, 0, sizeof desc);
    desc.arrayDesc.Width = WIDTH;
    desc.arrayDesc.Height = HEIGHT;
    desc.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.arrayDesc.NumChannels = 4;
    desc.numLevels = levels;
    CU(cu.cuExternalMemoryGetMappedMipmappedArray(&mipmaps, p.import, &desc));
    for (uint32_t i = 0; i < levels && i < 2; i++)
        CU(cu.cuMipmappedArrayGetLevel(&p.levels[i], mipmaps, i));
    return p;
}

static CUDA_MEMCPY2D copy_of_level(const picture *p, uint32_t level, bool from)
{
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = from ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    copy.dstMemoryType = from ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    copy.srcArray = copy.dstArray = p->levels[level];
    copy.srcHost = copy.dstHost = bytes;
    copy.srcPitch = copy.dstPitch = (size_t)WIDTH * 4;
    copy.WidthInBytes = (size_t)(WIDTH >> level) * 4;
    copy.Height = HEIGHT >> level;
    return copy;
}

/* ---- graphs ---- */

/* The node that signals does not depend on the node that copies (eyalroz/cuda-api-wrappers #445
 * asks for such nodes). */
static void held2_graph_unlinked(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphNode copies, signals;
    CUgraphExec exec;
    CUDA_MEMCPY3D copy;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS value;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS p = {&t.cuda, &value, 1};
    memset(&copy, 0, sizeof copy);
    memset(&value, 0, sizeof value);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = s.pointer;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = bytes;
    copy.WidthInBytes = SIZE;
    copy.Height = copy.Depth = 1;
    value.params.fence.value = 1;
    find_more();
    CU(cu.cuGraphCreate(&graph, 0));
    CU(more.cuGraphAddMemcpyNode(&copies, graph, NULL, 0, &copy, contexts[0]));
    CU(more.cuGraphAddExternalSemaphoresSignalNode(&signals, graph, &copies, !wrong, &p));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    CU(cu.cuGraphLaunch(exec, streams[0]));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

/* What was captured waits for the value of the frame in which it was captured. */
static void held2_graph_stale_wait(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphExec exec;
    CU(cu.cuStreamBeginCapture(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    if (wrong) cuda_waits(&t, 1, 1);
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, streams[1]));
    CU(cu.cuStreamEndCapture(streams[1], &graph));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    for (uint64_t frame = 1; frame <= 2; frame++) {
        vulkan_writes(&s, &t, 0, frame);
        if (!wrong) cuda_waits(&t, frame, 0);
        CU(cu.cuGraphLaunch(exec, streams[0]));
        if (frame == 1) CU(cu.cuStreamSynchronize(streams[0]));
    }
    all_done();
}

/* The same of a signal: it comes again with its old value. */
static void held2_graph_signals_again(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphExec exec;
    CU(cu.cuStreamBeginCapture(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cu.cuMemsetD8Async(s.pointer, 7, SIZE, streams[1]));
    if (wrong) CU(cuda_signals(&t, 1, 1));
    CU(cu.cuStreamEndCapture(streams[1], &graph));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    for (uint64_t frame = 1; frame <= 2; frame++) {
        (void)cu.cuGraphLaunch(exec, streams[0]);
        if (!wrong) CU(cuda_signals(&t, frame, 0));
    }
    all_done();
}

/* The import goes while the graph still runs. */
static void held2_graph_outlives(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUgraphExec exec;
    CU(cu.cuStreamBeginCapture(streams[1], CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cu.cuMemsetD8Async(s.pointer, 7, SIZE, streams[1]));
    CU(cu.cuStreamEndCapture(streams[1], &graph));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    CU(cu.cuGraphLaunch(exec, streams[0]));
    CU(cuda_signals(&t, 1, 0));
    CU(cu.cuStreamSynchronize(streams[wrong])); /* the other one has nothing to do */
    CU(cu.cuDestroyExternalMemory(s.import));
    all_done();
}

/* ---- two processes ---- */

enum peer_does { PEER_WAITS, PEER_READS, PEER_CLOSES };

static void send_fds(int to, const int *fds, VkDeviceSize size)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = &size, .iov_len = sizeof size};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    memset(&control, 0, sizeof control);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
    MUST(sendmsg(to, &message, 0) == (ssize_t)sizeof size);
}

static VkDeviceSize receive_fds(int from, int *fds)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    VkDeviceSize size = 0;
    struct iovec data = {.iov_base = &size, .iov_len = sizeof size};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    MUST(recvmsg(from, &message, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof size);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    MUST(c != NULL && c->cmsg_type == SCM_RIGHTS);
    memcpy(fds, CMSG_DATA(c), 2 * sizeof(int));
    return size;
}

/* The other process: CUDA reads what Vulkan writes in the first one. */
void held2_peer(const char *does, const char *socket)
{
    const int from = atoi(socket);
    int fds[2];
    char submitted;
    shared s = {.buffer = VK_NULL_HANDLE};
    timeline t = {.vulkan = VK_NULL_HANDLE};
    open_all();
    s.allocated = receive_fds(from, fds);
    CU(import_memory(&s.import, fds[0], s.allocated, 0));
    CU(map(&s.pointer, s.import, 0, SIZE));
    CU(import_semaphore(&t.cuda, fds[1], TIMELINE));
    if (atoi(does) == PEER_CLOSES) (void)close(fds[0]);
    MUST(read(from, &submitted, 1) == 1);
    if (atoi(does) != PEER_READS) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    CU(cu.cuStreamSynchronize(streams[0]));
    CU(cu.cuDestroyExternalSemaphore(t.cuda));
    CU(cu.cuMemFree(s.pointer));
    CU(cu.cuDestroyExternalMemory(s.import));
}

static void with_peer(enum peer_does does, bool closes)
{
    shared s = make_buffer(false);
    int pair[2], fds[2], status = -1;
    timeline t = make_timeline(&fds[1]);
    char socket[16], what[16];
    fds[0] = memory_fd(&s);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    (void)snprintf(socket, sizeof socket, "%d", pair[1]);
    (void)snprintf(what, sizeof what, "%d", (int)does);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        (void)execl("/proc/self/exe", "check-seeds", "--peer", what, socket, (char *)NULL);
        _exit(127);
    }
    send_fds(pair[0], fds, s.allocated);
    if (closes) (void)close(fds[0]);
    (void)close(fds[1]);
    vulkan_writes(&s, &t, 0, 1);
    MUST(write(pair[0], "s", 1) == 1);
    MUST(waitpid(child, &status, 0) == child && status == 0);
    all_done();
}

/* The other process knows that it was submitted, and not that it is done. */
static void held2_process_reads_early(bool wrong)
{
    with_peer(wrong ? PEER_READS : PEER_WAITS, true);
}

/* What a message carries is a duplicate: the sender's own stays open (yhs0602/CraftGround #83 has
 * such a handle without an owner). */
static void held2_process_keeps(bool wrong)
{
    with_peer(PEER_WAITS, !wrong);
}

/* The other process closes what it has imported (Genesis-Embodied-AI/gs-madrona #67 in two). */
static void held2_process_closes(bool wrong)
{
    with_peer(wrong ? PEER_CLOSES : PEER_WAITS, true);
}

/* ---- images ---- */

/* Its memory is dedicated, and CUDA is not told (shader-slang/slang-rhi #777). */
static void held2_dedicated_image(bool wrong)
{
    picture p = make_picture(1);
    const shared memory = {.memory = p.memory};
    (void)import_memory(&p.import, memory_fd(&memory), p.allocated,
                        wrong ? 0 : CUDA_EXTERNAL_MEMORY_DEDICATED);
}

/* CUDA is told all levels that such an image can have, and it has one (intel/llvm #12736 is about
 * levels of shared images). */
static void held2_too_many_levels(bool wrong)
{
    picture p = share_picture(1);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc;
    CUmipmappedArray mipmaps;
    memset(&desc, 0, sizeof desc);
    desc.arrayDesc.Width = WIDTH;
    desc.arrayDesc.Height = HEIGHT;
    desc.arrayDesc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.arrayDesc.NumChannels = 4;
    desc.numLevels = wrong ? 6 : 1;
    (void)cu.cuExternalMemoryGetMappedMipmappedArray(&mipmaps, p.import, &desc);
}

/* Vulkan has level 0, and CUDA may have level 1 at the same time. */
static void held2_other_level(bool wrong)
{
    picture p = share_picture(2);
    const CUDA_MEMCPY2D copy = copy_of_level(&p, !wrong, true);
    const VkClearColorValue color = {.float32 = {1, 0, 0, 1}};
    const VkImageSubresourceRange first = level_range(0, 1);
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    transition(commands, p.image, 1, VK_IMAGE_LAYOUT_GENERAL, VK_QUEUE_FAMILY_EXTERNAL,
               VK_IMAGE_LAYOUT_GENERAL, 0);
    vkCmdClearColorImage(commands, p.image, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &first);
    end_and_submit(commands, NULL, 0, 0);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    all_done();
}

/* A transition from UNDEFINED may throw away what CUDA wrote (Devsh-Graphics-Programming
 * Nabla-Examples-and-Tests #90 does so before it copies). */
static void held2_undefined(bool wrong)
{
    picture p = share_picture(1);
    timeline t = share_timeline();
    const CUDA_MEMCPY2D copy = copy_of_level(&p, 0, false);
    const VkBuffer to = make_buffer(false).buffer;
    const VkBufferImageCopy whole = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                     .imageExtent = {WIDTH, HEIGHT, 1}};
    memset(bytes, 0x5a, SIZE);
    CU(cu.cuMemcpy2DAsync(&copy, streams[0]));
    CU(cuda_signals(&t, 1, 0));
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    transition(commands, p.image, 1, wrong ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_GENERAL,
               VK_QUEUE_FAMILY_EXTERNAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 0);
    vkCmdCopyImageToBuffer(commands, p.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, 1, &whole);
    end_and_submit(commands, &t, 1, 0);
    all_done();
}

/* ---- order ---- */

/* a[i] = 7 for each group i of one invocation */
static const uint32_t sevens[] = {
    0x7230203,  0x10000,    0x8000b,    0x19,    0x0,     0x20011, 0x1,     0x6000b, 0x1,
    0x4c534c47, 0x6474732e, 0x3035342e, 0x0,     0x3000e, 0x0,     0x1,     0x6000f, 0x5,
    0x4,        0x6e69616d, 0x0,        0xf,     0x60010, 0x4,     0x11,    0x1,     0x1,
    0x1,        0x40047,    0x7,        0x6,     0x4,     0x50048, 0x8,     0x0,     0x23,
    0x0,        0x30047,    0x8,        0x3,     0x40047, 0xa,     0x22,    0x0,     0x40047,
    0xa,        0x21,       0x0,        0x40047, 0xf,     0xb,     0x1a,    0x40047, 0x18,
    0xb,        0x19,       0x20013,    0x2,     0x30021, 0x3,     0x2,     0x40015, 0x6,
    0x20,       0x0,        0x3001d,    0x7,     0x6,     0x3001e, 0x8,     0x7,     0x40020,
    0x9,        0x2,        0x8,        0x4003b, 0x9,     0xa,     0x2,     0x40015, 0xb,
    0x20,       0x1,        0x4002b,    0xb,     0xc,     0x0,     0x40017, 0xd,     0x6,
    0x3,        0x40020,    0xe,        0x1,     0xd,     0x4003b, 0xe,     0xf,     0x1,
    0x4002b,    0x6,        0x10,       0x0,     0x40020, 0x11,    0x1,     0x6,     0x4002b,
    0x6,        0x14,       0x7,        0x40020, 0x15,    0x2,     0x6,     0x4002b, 0x6,
    0x17,       0x1,        0x6002c,    0xd,     0x18,    0x17,    0x17,    0x17,    0x50036,
    0x2,        0x4,        0x0,        0x3,     0x200f8, 0x5,     0x50041, 0x11,    0x12,
    0xf,        0x10,       0x4003d,    0x6,     0x13,    0x12,    0x60041, 0x15,    0x16,
    0xa,        0xc,        0x13,       0x3003e, 0x16,    0x14,    0x100fd, 0x10038,
};

/* Vulkan's descriptors may never have been in a set. */
static void held2_push_descriptor(bool wrong)
{
    static const char *const extensions[] = {
        "VK_KHR_external_memory_fd", "VK_KHR_external_semaphore_fd", "VK_KHR_push_descriptor"};
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
                                  .enabledExtensionCount = 3,
                                  .ppEnabledExtensionNames = extensions};
    const VkCommandPoolCreateInfo cp = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    vkDestroyCommandPool(device, pool, NULL);
    vkDestroyDevice(device, NULL);
    VK(vkCreateDevice(physical, &d, NULL, &device));
    volkLoadDevice(device);
    vkGetDeviceQueue(device, 0, 0, &queue);
    VK(vkCreateCommandPool(device, &cp, NULL, &pool));

    shared s = share_buffer();
    timeline t = share_timeline();
    VkDescriptorSetLayout set;
    VkPipelineLayout layout;
    VkShaderModule shader;
    VkPipeline pipeline;
    VkBuffer words;
    const VkDescriptorSetLayoutBinding binding = {.descriptorType =
                                                      VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo sl = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
        .bindingCount = 1,
        .pBindings = &binding};
    VK(vkCreateDescriptorSetLayout(device, &sl, NULL, &set));
    const VkPipelineLayoutCreateInfo pl = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &set};
    VK(vkCreatePipelineLayout(device, &pl, NULL, &layout));
    const VkShaderModuleCreateInfo sm = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = sizeof sevens,
                                         .pCode = sevens};
    VK(vkCreateShaderModule(device, &sm, NULL, &shader));
    const VkComputePipelineCreateInfo c = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = layout};
    VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &c, NULL, &pipeline));
    /* Another buffer of the same memory, which a shader may write. */
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = 65536,
                                  .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VK(vkCreateBuffer(device, &b, NULL, &words));
    VK(vkBindBufferMemory(device, words, s.memory, 0));

    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    const VkDescriptorBufferInfo whole = {words, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = &whole};
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    vkCmdDispatch(commands, 100, 1, 1);
    end_and_submit(commands, &t, wrong ? 0 : 1, 0);
    all_done();
}

/* Another stream signals what the submission waits for, and does not know the one that writes. */
static void held2_later_value(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_writes(&s);
    (void)cuda_signals(&t, 1, 0);
    if (!wrong) cuda_waits(&t, 1, 1);
    (void)cuda_signals(&t, 2, 1);
    vulkan_writes(&s, &t, 2, 0);
    all_done();
}

/* A copy to another GPU's memory reads this one's. */
static void held2_peer_copy(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUdeviceptr there;
    find_more();
    CU(cu.cuCtxPushCurrent(contexts[1]));
    CU(more.cuMemAlloc(&there, SIZE));
    CU(cu.cuCtxPopCurrent(NULL));
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(more.cuMemcpyPeerAsync(there, contexts[1], s.pointer, contexts[0], SIZE, streams[0]));
    all_done();
}

/* It waits for what it copies from, and not for who still reads what it copies to. */
static void held2_slot_copy(bool wrong)
{
    shared from = share_buffer(), slot = share_buffer();
    timeline drawn = share_timeline(), shown = share_timeline();
    find_more();
    vulkan_writes(&from, &drawn, 0, 1);
    also.copies_to = make_buffer(false).buffer;
    vulkan_writes(&slot, &shown, 0, 1);
    also.copies_to = VK_NULL_HANDLE;
    /* The first one's signal covers all that was submitted before it, and not what comes later. */
    cuda_waits(&drawn, 1, 0);
    if (!wrong) cuda_waits(&shown, 1, 0);
    CU(more.cuMemcpyDtoDAsync(slot.pointer, from.pointer, SIZE, streams[0]));
    all_done();
}

/* Who writes is in a secondary command buffer. */
static void held2_secondary(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCommandBuffer second = begin_at(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    vkCmdFillBuffer(second, s.buffer, 0, VK_WHOLE_SIZE, 5);
    VK(vkEndCommandBuffer(second));
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    vkCmdExecuteCommands(commands, 1, &second);
    end_and_submit(commands, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    all_done();
}

/* The wait is for the shaders, and the fill is none of them (AdaptiveCpp/AdaptiveCpp #2217). */
static void held2_wait_stage(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    cuda_reads(&s);
    CU(cuda_signals(&t, 1, 0));
    VkCommandBuffer commands = begin_at(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    vkCmdFillBuffer(commands, s.buffer, 0, VK_WHOLE_SIZE, 5);
    also.waits_at = wrong ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT;
    end_and_submit(commands, &t, 1, 0);
    all_done();
}

/* A function of the host's in the stream passes the order on (as the same example of Nabla's has
 * its read-back). */
static void CUDA_CB signals_from_stream(void *argument)
{
    host_tells(argument, 1);
}

static void held2_host_function(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    find_more();
    if (!wrong) cuda_writes(&s);
    CU(more.cuLaunchHostFunc(streams[0], signals_from_stream, &t));
    if (wrong) cuda_writes(&s);
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

/* The host waits a while, and goes on whether it came or not. */
static void held2_timeout(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    const uint64_t value = 2;
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &t.vulkan,
                                      .pValues = &value};
    vulkan_writes(&s, &t, 1, 2);
    if (!wrong) host_tells(&t, 1);
    while (vkWaitSemaphores(device, &info, 1000) == VK_TIMEOUT && !wrong)
        continue;
    cuda_reads(&s);
    if (wrong) host_tells(&t, 1);
    all_done();
}

/* It asks whether the stream is done, until it is, or once. */
static void held2_asks(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    find_more();
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    if (!wrong) host_tells(&t, 1);
    while (more.cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY && !wrong)
        continue;
    vulkan_writes(&s, NULL, 0, 0);
    if (wrong) host_tells(&t, 1);
    all_done();
}

/* The same with a fence of Vulkan's. */
static void held2_asks_fence(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkFence fence;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK(vkCreateFence(device, &info, NULL, &fence));
    vulkan_writes(&s, &t, 1, 0);
    VK(vkQueueSubmit(queue, 0, NULL, fence));
    if (!wrong) host_tells(&t, 1);
    while (vkGetFenceStatus(device, fence) == VK_NOT_READY && !wrong)
        continue;
    cuda_reads(&s);
    if (wrong) host_tells(&t, 1);
    all_done();
}

/* A timeline need not begin with 0. */
static void held2_begins_later(bool wrong)
{
    int fd = -1;
    timeline t = make_timeline_at(5, &fd);
    CU(import_semaphore(&t.cuda, fd, TIMELINE));
    cuda_waits(&t, 4, 0);
    (void)cuda_signals(&t, wrong ? 5 : 6, 0);
    all_done();
}

/* ---- ownership ---- */

/* CUDA reads what Vulkan did not release, or overwrites all of it: without a transfer only what is
 * read afterwards is undefined (Vulkan, "Queue Family Ownership Transfer"). NVIDIA's simpleVulkan
 * overwrites so. */
static void held2_overwrites(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    cuda_waits(&t, 1, 0);
    if (wrong)
        cuda_reads(&s);
    else
        cuda_writes(&s);
    all_done();
}

const seed seeds_held2[] = {
    {"held2_graph_unlinked", "write-after-read", held2_graph_unlinked},
    {"held2_graph_stale_wait", "read-after-write", held2_graph_stale_wait},
    {"held2_graph_signals_again", "no-rise", held2_graph_signals_again},
    {"held2_graph_outlives", "memory-in-use", held2_graph_outlives},
    {"held2_process_reads_early", "read-after-write", held2_process_reads_early},
    {"held2_process_keeps", "fd-leaked", held2_process_keeps},
    {"held2_process_closes", "fd-closed-after-import", held2_process_closes},
    {"held2_dedicated_image", "dedicated", held2_dedicated_image},
    {"held2_too_many_levels", "range", held2_too_many_levels},
    {"held2_other_level", "read-after-write", held2_other_level},
    {"held2_undefined", "layout-discards", held2_undefined},
    {"held2_push_descriptor", "read-after-write", held2_push_descriptor},
    {"held2_later_value", "write-after-write", held2_later_value},
    {"held2_peer_copy", "read-after-write", held2_peer_copy},
    {"held2_slot_copy", "write-after-read", held2_slot_copy},
    {"held2_secondary", "read-after-write", held2_secondary},
    {"held2_wait_stage", "write-after-read", held2_wait_stage},
    {"held2_host_function", "write-after-write", held2_host_function},
    {"held2_timeout", "write-after-read", held2_timeout},
    {"held2_asks", "read-after-write", held2_asks},
    {"held2_asks_fence", "write-after-read", held2_asks_fence},
    {"held2_begins_later", "no-rise", held2_begins_later},
    {"held2_overwrites", "no-release", held2_overwrites},
};
const size_t num_seeds_held2 = sizeof seeds_held2 / sizeof *seeds_held2;
