/* SPDX-License-Identifier: MIT */
/* culvert/vulkan_graph.h: what CUDA does with a graph, and what its commands do in Vulkan's queue,
 * are the same words. */
#define TEST_GROUP "vk_graphs."
#include "vk_graphs_stage.h"

/* A solver on two streams: kernels, memsets and copies, of whole fields and of rows. */
static void solve(vk_graph_scene *g)
{
    const raw_cuda *cu = g->s.w.cu;
    CUstream stream = g->s.stream, other = lib_stream(&g->s.w);
    CUevent fork = NULL, join = NULL;
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->EventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->EventCreate(&join, CU_EVENT_DISABLE_TIMING));
    vk_graph_capture(g);
    vk_graph_add(g, stream, g->a, GRAPH_WORDS, 5);
    CU_OK(cu->MemcpyDtoDAsync(g->b + 400, g->a + 80, 4000, stream));
    CU_OK(cu->EventRecord(fork, stream));
    CU_OK(cu->StreamWaitEvent(other, fork, 0));
    vk_graph_add(g, other, g->b, GRAPH_WORDS / 2, 0);
    vk_graph_add(g, stream, g->a, GRAPH_WORDS / 2, 0);
    CU_OK(cu->MemsetD32Async(g->a + 64, 0x1234567, 100, stream));
    CU_OK(cu->EventRecord(join, other));
    CU_OK(cu->StreamWaitEvent(stream, join, 0));
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = g->b,
                                .srcPitch = 256,
                                .srcXInBytes = 16,
                                .srcY = 2,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = g->a,
                                .dstPitch = 512,
                                .dstXInBytes = 8,
                                .dstY = 1,
                                .WidthInBytes = 100,
                                .Height = 20};
    CU_OK(cu->Memcpy2DAsync(&rows, stream));
    vk_graph_add(g, stream, g->a, GRAPH_WORDS, 1000);
    vk_graph_captured(g);
    CU_OK(cu->EventDestroy(fork));
    CU_OK(cu->EventDestroy(join));
    lib_leave(&g->s.w, before);
    lib_stream_destroy(&g->s.w, other);
}

TEST(captured, .smoke = true)
{
    vk_graph_scene *g = vk_graph_open(false);
    solve(g);
    vk_graph_compare(g);
    vk_graph_close(g);
}

TEST(one_address)
{
    vk_graph_scene *g = vk_graph_open(true);
    solve(g);
    vk_graph_compare(g);
    vk_graph_close(g);
}

static void add_memset(vk_graph_scene *g, CUgraphNode after, CUdeviceptr to, unsigned value,
                       unsigned element, size_t width, size_t height, size_t pitch,
                       CUgraphNode *out)
{
    const CUDA_MEMSET_NODE_PARAMS how = {.dst = to,
                                         .pitch = pitch,
                                         .value = value,
                                         .elementSize = element,
                                         .width = width,
                                         .height = height};
    CU_OK(g->s.w.cu->GraphAddMemsetNode(out, g->graph, after != NULL ? &after : NULL, after != NULL,
                                        &how, g->s.w.context));
}

/* Memsets of elements of 1, 2 and 4 bytes, in rows with and without gaps; copies of slices. */
TEST(memsets_and_copies)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    CUgraphNode n[6];
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->GraphCreate(&g->graph, 0));
    add_memset(g, NULL, g->a, 0xc3, 1, 64, 1, 0, &n[0]);
    add_memset(g, n[0], g->a + 32, 0xbeef, 2, 30, 5, 100, &n[1]);
    add_memset(g, n[1], g->a + 4000, 0xdeadbeef, 4, 16, 8, 64, &n[2]);
    add_memset(g, n[2], g->b, 0x7f, 1, 12, 3, 16, &n[3]);
    const CUDA_MEMCPY3D slices = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcDevice = g->a,
                                  .srcPitch = 128,
                                  .srcHeight = 6,
                                  .srcXInBytes = 4,
                                  .srcY = 1,
                                  .srcZ = 1,
                                  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .dstDevice = g->b,
                                  .dstPitch = 96,
                                  .dstHeight = 5,
                                  .dstXInBytes = 1,
                                  .dstY = 1,
                                  .WidthInBytes = 83,
                                  .Height = 4,
                                  .Depth = 3};
    CU_OK(cu->GraphAddMemcpyNode(&n[4], g->graph, &n[3], 1, &slices, g->s.w.context));
    const CUDA_MEMCPY3D dense = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = g->a + 8192,
                                 .srcPitch = 64,
                                 .srcHeight = 4,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = g->b + 16384,
                                 .dstPitch = 64,
                                 .dstHeight = 4,
                                 .WidthInBytes = 64,
                                 .Height = 4,
                                 .Depth = 2};
    CU_OK(cu->GraphAddMemcpyNode(&n[5], g->graph, &n[4], 1, &dense, g->s.w.context));
    lib_leave(&g->s.w, before);
    vk_graph_compare(g);
    vk_graph_close(g);
}

/* Barriers are where the graph has edges: as many as its longest chain has. */
TEST(barriers)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    culv_vk_device_desc d = lib_vk_desc(&g->s.w);
    culv_vk_device *heard = NULL;
    culv_vk_kernels *kernels = NULL;
    CUgraphNode n[8];
    memset(&lib_lying, 0, sizeof lib_lying);
    d.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(g->s.w.device, &d, &heard));
    LIB_OK(culv_vk_kernels_create(heard, g->s.kernels, &kernels));
    culv_vk_graph_desc desc = g->desc;
    desc.kernels = &kernels;
    CU_OK(cu->GraphCreate(&g->graph, 0));
    /* The last one comes first in the list; the edges say otherwise. */
    n[0] = vk_graph_add_node(g, NULL, 0, g->a, GRAPH_WORDS, 1);
    for (unsigned i = 1; i < 4; i++)
        n[i] = vk_graph_add_node(g, NULL, 0, g->a + 4096 * i, 100, 10 * i);
    CU_OK(cu->GraphAddEmptyNode(&n[4], g->graph, &n[1], 3));
    CU_OK(cu->GraphAddDependencies(g->graph, &n[4], &n[0], 1));
    n[5] = vk_graph_add_node(g, NULL, 0, g->b, GRAPH_WORDS, 7);
    const struct {
        uint32_t barriers;
        CUgraphNode from, to;
    } steps[] = {{1, NULL, NULL}, {2, n[0], n[5]}};
    for (int i = 0; i < 2; i++) {
        if (steps[i].from != NULL)
            CU_OK(cu->GraphAddDependencies(g->graph, &steps[i].from, &steps[i].to, 1));
        VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
        memset(&lib_saw, 0, sizeof lib_saw);
        LIB_OK(culv_vk_record_graph(heard, g->graph, &desc, commands, 0));
        REQUIRE_EQ(lib_saw.barriers, steps[i].barriers);
        for (uint32_t b = 0; b < lib_saw.barriers; b++) {
            REQUIRE_EQ(lib_saw.src[b], VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
            REQUIRE_EQ(lib_saw.dst[b], VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
            REQUIRE(lib_saw.memory[b].srcAccessMask & VK_ACCESS_MEMORY_WRITE_BIT);
            REQUIRE(lib_saw.memory[b].dstAccessMask & VK_ACCESS_MEMORY_READ_BIT);
        }
        raw_vk_submit(&g->s.w.vk, commands, NULL);
        vk_graph_compare(g);
    }
    culv_vk_kernels_destroy(&kernels);
    culv_vk_detach(&heard);
    vk_graph_close(g);
}

/* A long chain whose nodes were added in another order, between which words must not be read too
 * early: each step reads what the one before wrote. */
TEST(chain)
{
    enum { LINKS = 60 };
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    CUgraphNode nodes[LINKS];
    CU_OK(cu->GraphCreate(&g->graph, 0));
    CUcontext before = lib_enter(&g->s.w);
    for (unsigned i = 0; i < LINKS; i++) {
        const unsigned at = (i * 7) % LINKS; /* in the chain */
        const bool forth = at % 2 == 0;
        const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .srcDevice = (forth ? g->a : g->b) + 4 * at,
                                    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .dstDevice = (forth ? g->b : g->a) + 4 * at + 4,
                                    .WidthInBytes = GRAPH_BYTES / 2,
                                    .Height = 1,
                                    .Depth = 1};
        CU_OK(cu->GraphAddMemcpyNode(&nodes[at], g->graph, NULL, 0, &copy, g->s.w.context));
    }
    CU_OK(cu->GraphAddDependencies(g->graph, nodes, nodes + 1, LINKS - 1));
    lib_leave(&g->s.w, before);
    vk_graph_compare(g);
    vk_graph_close(g);
}

/* The arguments of the graph's nodes change, and so do those that are recorded in their place. */
TEST(arguments)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    unsigned three = 3, count = GRAPH_WORDS, addend = 50;
    CU_OK(cu->GraphCreate(&g->graph, 0));
    CUgraphNode first = vk_graph_add_node(g, NULL, 0, g->a, GRAPH_WORDS, 1);
    vk_graph_add_node(g, &first, 1, g->b, GRAPH_WORDS, 2);
    culv_vk_graph_param params[] = {
        {.kernel = "queue_add", .index = 2, .value = &three, .size = sizeof three},
        {.node = first, .index = 2, .value = &addend, .size = sizeof addend}};
    for (size_t given = 0; given < 3; given++) {
        g->desc.params = params;
        g->desc.num_params = given;
        vk_graph_fill(g);
        vk_graph_record(g);
        vk_graph_read(g);
        for (uint32_t i = 0; i < GRAPH_WORDS; i++) {
            REQUIRE_EQ(g->words[0][i], lib_word(i, 3) + (given == 0 ? 1 : given == 1 ? 3 : 50));
            REQUIRE_EQ(g->words[1][i], lib_word(i, 4) + (given == 0 ? 2 : 3));
        }
    }
    g->desc.num_params = 0;
    /* The node gets other arguments, as one block where the driver takes that, and another grid. */
    struct {
        CUdeviceptr words;
        unsigned count, addend;
    } block = {g->b, count / 2, 900};
    size_t size = sizeof block;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    void *single[] = {&block.words, &block.count, &block.addend};
    const CUDA_KERNEL_NODE_PARAMS how = {
        .func = culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")),
        .gridDimX = (count / 2 + 31) / 32,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 32,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = cu->software ? single : NULL,
        .extra = cu->software ? NULL : extra};
    LIB_CU_OK(&g->s.w, cu->GraphKernelNodeSetParams(first, &how));
    vk_graph_compare(g);
    vk_graph_fill(g);
    vk_graph_record(g);
    vk_graph_read(g);
    for (uint32_t i = 0; i < GRAPH_WORDS; i++) {
        REQUIRE_EQ(g->words[0][i], lib_word(i, 3));
        REQUIRE_EQ(g->words[1][i], lib_word(i, 4) + (i < GRAPH_WORDS / 2 ? 902 : 2));
    }
    vk_graph_close(g);
}

/* Kernels of a module that Culvert did not load are found by their names. */
TEST(own_module)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    char path[TEST_PATH_MAX + 32];
    CUmodule module = NULL;
    CUfunction function = NULL;
    unsigned count = GRAPH_WORDS, addend = 31;
    void *params[] = {&g->a, &count, &addend};
    snprintf(path, sizeof path, "%s/queue_kernels.%s", g->s.share,
             cu->software ? "soft.so" : "fatbin");
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->ModuleLoad(&module, path));
    CU_OK(cu->ModuleGetFunction(&function, module, "queue_add"));
    CU_OK(cu->GraphCreate(&g->graph, 0));
    const CUDA_KERNEL_NODE_PARAMS how = {.func = function,
                                         .gridDimX = (count + GRAPH_BLOCK - 1) / GRAPH_BLOCK,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = GRAPH_BLOCK,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = params};
    CUgraphNode node = NULL;
    CU_OK(cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how));
    lib_leave(&g->s.w, before);
    REQUIRE(function != culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")));
    vk_graph_compare(g);
    CU_OK(cu->GraphDestroy(g->graph));
    g->graph = NULL;
    LIB_CU_OK(&g->s.w, cu->ModuleUnload(module));
    vk_graph_close(g);
}

/* An image: CUDA's handle in the graph, and Vulkan's in its place. */
TEST(images)
{
    enum { WIDTH = 90, HEIGHT = 50 };
    vk_graph_scene *g = vk_graph_open(false);
    raw_vk *vk = &g->s.w.vk;
    raw_vk_buffer copy;
    uint64_t none = 0, surface = 0;
    int width = WIDTH, height = HEIGHT;
    raw_vk_buffer_create(vk, 4 * WIDTH * HEIGHT, RAW_VK_HOST, &copy);
    culv_shared_image *image = vk_kernels_image(&g->s, WIDTH, HEIGHT);
    const VkImageView view = vk_kernels_view(&g->s, culv_vk_image_handle(image));
    LIB_OK(culv_vk_get_view_handle(g->s.w.attachment, view, VK_NULL_HANDLE, &surface));
    culv_kernel_call call = culv_kernel_call_init(vk_kernels_get(&g->s, "queue_paint"));
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(none), CULV_CALL_ARG(width),
                                         CULV_CALL_ARG(height)};
    call.grid[0] = (WIDTH + 7) / 8;
    call.grid[1] = (HEIGHT + 7) / 8;
    call.block[0] = call.block[1] = 8;
    call.args = args;
    call.num_args = 3;
    vk_graph_capture(g);
    LIB_OK(culv_kernel_call_launch(&call, g->s.stream));
    vk_graph_captured(g);
    const culv_vk_graph_param handle = {
        .kernel = "queue_paint", .index = 0, .value = &surface, .size = sizeof surface};
    g->desc.params = &handle;
    g->desc.num_params = 1;
    VkCommandBuffer commands = raw_vk_begin(vk, 0);
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    culv_vk_image_barrier b;
    t.image = culv_vk_image_handle(image);
    t.queue_family = CULV_VK_QUEUE_FAMILY_KERNEL;
    t.discard = 1;
    LIB_OK(culv_vk_image_get_barrier(&t, CULV_VK_RELEASE, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1, &b.barrier);
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
    t.discard = 0;
    t.use = CULV_VK_USE_TRANSFER_SRC;
    LIB_OK(culv_vk_image_get_barrier(&t, CULV_VK_ACQUIRE, &b));
    vkCmdPipelineBarrier(commands, b.src_stage, b.dst_stage, 0, 0, NULL, 0, NULL, 1, &b.barrier);
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {WIDTH, HEIGHT, 1}};
    vkCmdCopyImageToBuffer(commands, t.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, copy.buffer, 1,
                           &region);
    raw_vk_submit(vk, commands, NULL);
    const uint32_t *texels = copy.mapped;
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        const uint32_t x = i % WIDTH, y = i / WIDTH;
        REQUIRE_EQ(texels[i], x | y << 8 | (x + y) << 16 | 0xff000000u);
    }
    vkDestroyImageView(vk->device, view, NULL);
    raw_vk_buffer_destroy(vk, &copy);
    culv_shared_image_destroy(&image, NULL);
    vk_graph_close(g);
}

/* Recorded once into a secondary command buffer, after which the graph is gone, and run twice. */
TEST(again)
{
    vk_graph_scene *g = vk_graph_open(false);
    raw_vk *vk = &g->s.w.vk;
    vk_graph_capture(g);
    vk_graph_add(g, g->s.stream, g->a, GRAPH_WORDS, 17);
    vk_graph_captured(g);
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer secondary = VK_NULL_HANDLE;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = 0};
    VK_OK(vkCreateCommandPool(vk->device, &pool_info, NULL, &pool));
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                              .commandBufferCount = 1};
    VK_OK(vkAllocateCommandBuffers(vk->device, &info, &secondary));
    const VkCommandBufferInheritanceInfo inherits = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .pInheritanceInfo = &inherits};
    VK_OK(vkBeginCommandBuffer(secondary, &begin));
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, secondary, 0));
    VK_OK(vkEndCommandBuffer(secondary));
    CU_OK(g->s.w.cu->GraphDestroy(g->graph));
    g->graph = NULL;
    for (int i = 0; i < 2; i++) {
        VkCommandBuffer commands = raw_vk_begin(vk, 0);
        vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_ACQUIRE);
        vkCmdExecuteCommands(commands, 1, &secondary);
        vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_RELEASE);
        raw_vk_submit(vk, commands, NULL);
    }
    vkDestroyCommandPool(vk->device, pool, NULL);
    vk_graph_read(g);
    for (uint32_t i = 0; i < GRAPH_WORDS; i++)
        REQUIRE_EQ(g->words[0][i], lib_word(i, 3) + 34);
    vk_graph_close(g);
}
