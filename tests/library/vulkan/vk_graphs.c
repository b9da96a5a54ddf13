/* SPDX-License-Identifier: MIT */
/* culvert/vulkan_kernel.h: what CUDA does with a graph, and what its commands do in Vulkan's queue,
 * are the same words. */
#define TEST_GROUP "vk_graphs."
#include "vk_kernels_stage.h"

enum { GRAPH_WORDS = 20000, GRAPH_BYTES = GRAPH_WORDS * 4, GRAPH_BLOCK = 128 };

/* A launch of blocks in a row, and a copy of bytes. */
static CUDA_KERNEL_NODE_PARAMS launch_of(CUfunction function, unsigned blocks, unsigned threads,
                                         void **params)
{
    CUDA_KERNEL_NODE_PARAMS how = {.func = function, .kernelParams = params};
    how.gridDimX = blocks;
    how.blockDimX = threads;
    how.gridDimY = how.gridDimZ = how.blockDimY = how.blockDimZ = 1;
    return how;
}

static CUDA_MEMCPY3D row_of(CUdeviceptr from, CUdeviceptr to, size_t bytes)
{
    CUDA_MEMCPY3D copy = {.srcDevice = from, .dstDevice = to, .WidthInBytes = bytes};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.Height = copy.Depth = 1;
    return copy;
}

typedef struct vk_graph_scene {
    vk_kernels_stage s;
    culv_vk_space *space; /* NULL: two buffers, with two addresses each */
    culv_shared_buffer *buffers[2];
    CUdeviceptr a, b; /* GRAPH_WORDS words each */
    culv_vk_graph_memory memory[2];
    culv_vk_graph_desc desc; /* with the kernels and the memory */
    CUgraph graph;           /* the scene's, if one was made */
    uint32_t words[2][GRAPH_WORDS];
} vk_graph_scene;

static void vk_graph_fill(vk_graph_scene *g);

static void make_space(vk_graph_scene *g)
{
    const raw_vk *vk = &g->s.w.vk;
    culv_vk_space_desc d = culv_vk_space_desc_init();
    uint32_t i = 0;
    while (i < vk->queue_count && !(vk->queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        i++;
    REQUIRE(i < vk->queue_count);
    d.size = 64 << 20;
    d.queue = vk->queues[i].queue;
    if (culv_vk_space_create(g->s.w.attachment, &d, &g->space) != CULV_OK) {
        if (g->s.w.cu->software) FAIL("%s", culv_last_error_message());
        SKIP("%s", culv_last_error_message());
    }
    LIB_OK(culv_vk_space_commit(g->space, 0, 4 << 20, NULL, NULL));
    g->a = culv_vk_space_pointer(g->space) + 4096;
    g->b = g->a + GRAPH_BYTES + 4096;
    culv_vk_space_info info = culv_vk_space_info_init();
    LIB_OK(culv_vk_space_get_info(g->space, &info));
    g->memory[0] = (culv_vk_graph_memory){info.address, info.size, info.address, info.buffer, 0, 0};
    g->desc.num_memory = 1;
}

static void make_buffers(vk_graph_scene *g)
{
    CUdeviceptr *const pointers[] = {&g->a, &g->b};
    for (int i = 0; i < 2; i++) {
        g->buffers[i] = vk_kernels_buffer(&g->s, GRAPH_BYTES);
        *pointers[i] = culv_shared_buffer_pointer(g->buffers[i]);
        g->memory[i] = culv_vk_buffer_graph_memory(g->buffers[i]);
        REQUIRE_EQ(g->memory[i].size, GRAPH_BYTES);
        REQUIRE(g->memory[i].buffer == culv_vk_buffer_handle(g->buffers[i]));
    }
    g->desc.num_memory = 2;
}

static void vk_graph_open(vk_graph_scene *g, bool one_address)
{
    memset(g, 0, sizeof *g);
    (one_address ? vk_kernels_open_for_one_address : vk_kernels_open)(&g->s);
    g->desc = culv_vk_graph_desc_init();
    (one_address ? make_space : make_buffers)(g);
    g->desc.kernels = &g->s.queue;
    g->desc.num_kernels = 1;
    g->desc.memory = g->memory;
    g->desc.label = "solver";
    vk_graph_fill(g);
}

static void drop_graph(vk_graph_scene *g)
{
    if (g->graph != NULL) CU_OK(g->s.w.cu->GraphDestroy(g->graph));
    g->graph = NULL;
}

static void vk_graph_close(vk_graph_scene *g)
{
    drop_graph(g);
    culv_vk_space_destroy(&g->space);
    culv_shared_buffer_destroy(&g->buffers[0], NULL);
    culv_shared_buffer_destroy(&g->buffers[1], NULL);
    vk_kernels_close(&g->s);
}
#define GRAPH_CASE(...)                                                                            \
    TEST_ON(vk_graph_scene, g, vk_graph_open(g, false), vk_graph_close(g), __VA_ARGS__)

/* Both fields get a pattern; `words` are what they have. */
static void vk_graph_fill(vk_graph_scene *g)
{
    const raw_cuda *cu = g->s.w.cu;
    for (uint32_t i = 0; i < GRAPH_WORDS; i++) {
        g->words[0][i] = lib_word(i, 3);
        g->words[1][i] = lib_word(i, 4);
    }
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->MemcpyHtoD(g->a, g->words[0], GRAPH_BYTES));
    CU_OK(cu->MemcpyHtoD(g->b, g->words[1], GRAPH_BYTES));
    CU_OK(cu->CtxSynchronize()); /* the calls return when the bytes are staged */
    lib_leave(&g->s.w, before);
}

static void vk_graph_read(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w, g->s.w.cu->MemcpyDtoH(g->words[0], g->a, GRAPH_BYTES));
    LIB_CU_OK(&g->s.w, g->s.w.cu->MemcpyDtoH(g->words[1], g->b, GRAPH_BYTES));
}

/* Between them g->s.stream is captured into g->graph. */
static void vk_graph_capture(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w,
              g->s.w.cu->StreamBeginCapture(g->s.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

static void vk_graph_captured(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w, g->s.w.cu->StreamEndCapture(g->s.stream, &g->graph));
    REQUIRE(g->graph != NULL);
}

/* Launches queue_add, or queue_mix where `addend` is 0, on `count` words. */
static void vk_graph_add(vk_graph_scene *g, CUstream stream, CUdeviceptr words, unsigned count,
                         unsigned addend)
{
    unsigned char salt = 9;
    double by = 77;
    culv_kernel_call call =
        culv_kernel_call_init(vk_kernels_get(&g->s, addend != 0 ? "queue_add" : "queue_mix"));
    const culv_kernel_call_arg adds[] = {CULV_CALL_ARG(words), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)},
                               mixes[] = {CULV_CALL_ARG(words), CULV_CALL_ARG(count),
                                          CULV_CALL_ARG(salt), CULV_CALL_ARG(by)};
    call.grid[0] = (count + GRAPH_BLOCK - 1) / GRAPH_BLOCK;
    call.block[0] = GRAPH_BLOCK;
    call.args = addend != 0 ? adds : mixes;
    call.num_args = addend != 0 ? 3 : 4;
    LIB_OK(culv_kernel_call_launch(&call, stream));
}

/* A kernel node of queue_add. One of 0 words looks at none. */
static CUgraphNode vk_graph_add_node(vk_graph_scene *g, const CUgraphNode *before,
                                     size_t num_before, CUdeviceptr words, unsigned count,
                                     unsigned addend)
{
    void *params[] = {&words, &count, &addend};
    const CUDA_KERNEL_NODE_PARAMS how =
        launch_of(culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")),
                  count == 0 ? 1 : (count + GRAPH_BLOCK - 1) / GRAPH_BLOCK, GRAPH_BLOCK, params);
    CUgraphNode node = NULL;
    CUcontext was = lib_enter(&g->s.w);
    CU_OK(g->s.w.cu->GraphAddKernelNode(&node, g->graph, before, num_before, &how));
    lib_leave(&g->s.w, was);
    return node;
}

/* By CUDA, and by Vulkan; both wait. */
static void vk_graph_launch(vk_graph_scene *g)
{
    const raw_cuda *cu = g->s.w.cu;
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = 0};
    CUgraphExec exec = NULL;
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->GraphInstantiateWithParams(&exec, g->graph, &how));
    CU_OK(cu->GraphLaunch(exec, g->s.stream));
    CU_OK(cu->StreamSynchronize(g->s.stream));
    CU_OK(cu->GraphExecDestroy(exec));
    lib_leave(&g->s.w, before);
}

static void vk_graph_record(vk_graph_scene *g)
{
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    for (int i = 0; i < 2 && g->space == NULL; i++)
        vk_kernels_hand_over(commands, g->memory[i].buffer, CULV_VK_ACQUIRE);
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
    vk_kernels_between(commands);
    for (int i = 0; i < 2 && g->space == NULL; i++)
        vk_kernels_hand_over(commands, g->memory[i].buffer, CULV_VK_RELEASE);
    raw_vk_submit(&g->s.w.vk, commands, NULL);
}

/* Both ways give the same words, which are not those that were filled in. */
static void vk_graph_compare(vk_graph_scene *g)
{
    uint32_t(*expected)[GRAPH_WORDS] = malloc(sizeof g->words);
    REQUIRE(expected != NULL);
    vk_graph_fill(g);
    memcpy(expected, g->words, sizeof g->words);
    vk_graph_launch(g);
    vk_graph_read(g);
    REQUIRE(memcmp(expected, g->words, sizeof g->words) != 0);
    memcpy(expected, g->words, sizeof g->words);
    vk_graph_fill(g);
    vk_graph_record(g);
    vk_graph_read(g);
    for (int f = 0; f < 2; f++)
        for (uint32_t i = 0; i < GRAPH_WORDS; i++)
            REQUIRE_EQ(g->words[f][i], expected[f][i]);
    free(expected);
}

/* A solver on two streams: kernels, memsets and copies, of whole fields and of rows. */
static void captured(vk_graph_scene *g)
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
    vk_graph_compare(g);
}

GRAPH_CASE(captured_buffers, .title = "vk_graphs.captured", .smoke = true)
{
    captured(g);
}

TEST_ON(vk_graph_scene, g, vk_graph_open(g, true), vk_graph_close(g), one_address)
{
    captured(g);
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
GRAPH_CASE(memsets_and_copies)
{
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
}

/* Barriers are where the graph has edges: as many as its longest chain has. */
GRAPH_CASE(barriers)
{
    const raw_cuda *cu = g->s.w.cu;
    culv_vk_kernels *kernels = NULL;
    CUgraphNode n[8];
    memset(&lib_lying, 0, sizeof lib_lying);
    culv_vk_device *heard = lib_attach(&g->s.w, lib_lying_loader);
    LIB_OK(culv_vk_kernels_create(heard, g->s.kernels, &kernels));
    culv_vk_graph_desc desc = g->desc;
    desc.kernels = &kernels;
    CU_OK(cu->GraphCreate(&g->graph, 0));
    /* The last one comes first in the list; the edges say otherwise. */
    n[0] = vk_graph_add_node(g, NULL, 0, g->a, GRAPH_WORDS, 1);
    CUcontext before = lib_enter(&g->s.w);
    add_memset(g, NULL, g->a + 4096, 3, 4, 100, 1, 0, &n[1]);
    lib_leave(&g->s.w, before);
    for (unsigned i = 2; i < 4; i++)
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
}

/* The arguments of the graph's nodes change, and so do those that are recorded in their place. */
GRAPH_CASE(arguments)
{
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
    CUDA_KERNEL_NODE_PARAMS how =
        launch_of(culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")),
                  (count / 2 + 31) / 32, 32, cu->software ? single : NULL);
    how.extra = cu->software ? NULL : extra;
    LIB_CU_OK(&g->s.w, cu->GraphKernelNodeSetParams(first, &how));
    vk_graph_compare(g);
    vk_graph_fill(g);
    vk_graph_record(g);
    vk_graph_read(g);
    for (uint32_t i = 0; i < GRAPH_WORDS; i++) {
        REQUIRE_EQ(g->words[0][i], lib_word(i, 3));
        REQUIRE_EQ(g->words[1][i], lib_word(i, 4) + (i < GRAPH_WORDS / 2 ? 902 : 2));
    }
}

/* Kernels of a module that Culvert did not load are found by their names. */
GRAPH_CASE(own_module)
{
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
    const CUDA_KERNEL_NODE_PARAMS how =
        launch_of(function, (count + GRAPH_BLOCK - 1) / GRAPH_BLOCK, GRAPH_BLOCK, params);
    CUgraphNode node = NULL;
    CU_OK(cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how));
    lib_leave(&g->s.w, before);
    REQUIRE(function != culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")));
    vk_graph_compare(g);
    drop_graph(g);
    LIB_CU_OK(&g->s.w, cu->ModuleUnload(module));
}

/* Recorded once into a secondary command buffer, after which the graph is gone, and run twice. */
GRAPH_CASE(again)
{
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
    drop_graph(g);
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
}

#undef TEST_GROUP
#define TEST_GROUP "vk_graphs.refused."
/* What is refused of a graph, with the node's index and kind, before anything is recorded. */

static void no_function(void *nothing) {}

/* A graph whose first node is fine, to see that it is not recorded. */
static void begin(vk_graph_scene *g)
{
    drop_graph(g);
    CU_OK(g->s.w.cu->GraphCreate(&g->graph, 0));
    vk_graph_add_node(g, NULL, 0, g->a, GRAPH_WORDS, 1);
}

static VkCommandBuffer refused_begin(vk_graph_scene *g)
{
    vk_graph_fill(g);
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_ACQUIRE);
    return commands;
}

static void refused_end(vk_graph_scene *g, VkCommandBuffer commands)
{
    vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_RELEASE);
    raw_vk_submit(&g->s.w.vk, commands, NULL);
    vk_graph_read(g);
    REQUIRE_WORDS(g->words[0], GRAPH_WORDS, 3);
}

#define REFUSED(...)                                                                               \
    do {                                                                                           \
        VkCommandBuffer commands_ = refused_begin(g);                                              \
        LIB_ERROR(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands_, 0),       \
                  __VA_ARGS__);                                                                    \
        refused_end(g, commands_);                                                                 \
    } while (0)

static void taken(vk_graph_scene *g)
{
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
    raw_vk_submit(&g->s.w.vk, commands, NULL);
}

/* The graph's first node, and a copy. */
static void begin_copy(vk_graph_scene *g, const CUDA_MEMCPY3D *copy)
{
    CUgraphNode node = NULL;
    begin(g);
    LIB_CU_OK(&g->s.w,
              g->s.w.cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, copy, g->s.w.context));
}

static void begin_memset(vk_graph_scene *g, CUdeviceptr to, unsigned element, size_t width,
                         size_t height, size_t pitch)
{
    CUgraphNode node = NULL;
    begin(g);
    CUcontext before = lib_enter(&g->s.w);
    add_memset(g, NULL, to, 1, element, width, height, pitch, &node);
    lib_leave(&g->s.w, before);
}

GRAPH_CASE(kinds)
{
    const raw_cuda *cu = g->s.w.cu;
    CUgraphNode node = NULL;
    begin(g);
    const CUDA_HOST_NODE_PARAMS host = {no_function, NULL};
    CU_OK(cu->GraphAddHostNode(&node, g->graph, NULL, 0, &host));
    REFUSED(UNSUPPORTED, GRAPH, "node 1 of the graph's 2 is a function");

    begin(g);
    VkSemaphore timeline = raw_vk_timeline(&g->s.w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&g->s.w, timeline);
    LIB_OK(culv_graph_add_node(g->graph, NULL, 0, CULV_GRAPH_SIGNAL,
                               &(culv_semaphore_point){semaphore, 1}, 1, &node));
    REFUSED(UNSUPPORTED, GRAPH, "a signal of an external semaphore");
    drop_graph(g);
    culv_semaphore_destroy(&semaphore, NULL);
    raw_vk_semaphore_destroy(&g->s.w.vk, timeline);

    /* Nothing at all is nothing to record. */
    CU_OK(cu->GraphCreate(&g->graph, 0));
    taken(g);
    CU_OK(cu->GraphAddEmptyNode(&node, g->graph, NULL, 0));
    taken(g);
}

GRAPH_CASE(copies)
{
    const raw_cuda *cu = g->s.w.cu;
    static uint32_t host[64];
    CUdeviceptr elsewhere = 0;
    LIB_CU_OK(&g->s.w, cu->MemAlloc(&elsewhere, 4096));
    CUDA_MEMCPY3D copy = row_of(0, g->b, sizeof host);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    begin_copy(g, &copy);
    REFUSED(UNSUPPORTED, GRAPH, "node 1 of the graph copies from the host");

    copy = row_of(g->a, g->b, sizeof host);
    begin_copy(g, &copy);
    const VkBufferUsageFlags both = g->memory[0].usage;
    REQUIRE((both & VK_BUFFER_USAGE_TRANSFER_SRC_BIT) && both == g->memory[1].usage);
    g->memory[0].usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    REFUSED(INVALID, USAGE, "lacks VK_BUFFER_USAGE_TRANSFER_SRC_BIT");
    g->memory[0].usage = both;
    g->memory[1].usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    REFUSED(INVALID, USAGE, "lacks VK_BUFFER_USAGE_TRANSFER_DST_BIT");
    g->memory[1].usage = both;

    copy.srcDevice = elsewhere;
    begin_copy(g, &copy);
    REFUSED(INVALID, RANGE, "node 1 of the graph reads 256 bytes", "is in no element");

    /* Memory of the list that has no buffer. */
    g->memory[1].buffer = VK_NULL_HANDLE;
    copy.srcDevice = g->a;
    begin_copy(g, &copy);
    REFUSED(INVALID, RANGE, "writes 256 bytes", "has no VkBuffer");
    g->memory[1] = culv_vk_buffer_graph_memory(g->buffers[1]);

    begin_memset(g, g->b + 2, 1, 8, 1, 0);
    REFUSED(UNSUPPORTED, GRAPH, "vkCmdFillBuffer takes multiples of 4");
    begin_memset(g, g->b, 1, 3, 1, 0);
    REFUSED(UNSUPPORTED, GRAPH, "sets rows of 3 bytes");
    /* Beyond the end by a row. */
    g->memory[1].size = 1000;
    begin_memset(g, g->b, 4, 4, 11, 100);
    REFUSED(INVALID, RANGE, "sets 1016 bytes");
    LIB_CU_OK(&g->s.w, cu->MemFree(elsewhere));
}

GRAPH_CASE(kernels)
{
    const raw_cuda *cu = g->s.w.cu;
    CUdeviceptr elsewhere = 0;
    unsigned number = 4;
    begin(g);
    g->desc.num_kernels = 0;
    REFUSED(INVALID, KERNEL,
            "node 0 of the graph launches the kernel 'queue_add', and none of the 0");
    g->desc.num_kernels = 1;

    /* Memory of CUDA's alone, and memory that is not in the list. */
    LIB_CU_OK(&g->s.w, cu->MemAlloc(&elsewhere, GRAPH_BYTES));
    begin(g);
    vk_graph_add_node(g, NULL, 0, elsewhere + 64, 100, 1);
    REFUSED(INVALID, RANGE, "argument 0 (0 is the first) of node 1 of the graph");
    LIB_CU_OK(&g->s.w, cu->MemFree(elsewhere));
    begin(g);
    vk_graph_add_node(g, NULL, 0, g->b, 100, 1);
    g->desc.num_memory = 1;
    REFUSED(INVALID, RANGE, "a launch of the kernel 'queue_add'");
    g->desc.num_memory = 2;

    /* More shared memory than a command buffer has: CUDA's check is at the launch. */
    unsigned words = 64;
    void *params[] = {&g->a, &words};
    CUDA_KERNEL_NODE_PARAMS how =
        launch_of(culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_turn")), 1, 64, params);
    how.sharedMemBytes = 48 * 1024;
    CUgraphNode node = NULL;
    begin(g);
    CUcontext before = lib_enter(&g->s.w);
    if (cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how) == CUDA_SUCCESS)
        REFUSED(INVALID, VALUE, "of dynamic shared memory");
    lib_leave(&g->s.w, before);

    culv_vk_graph_param param = {
        .kernel = "queue_add", .index = 3, .value = &number, .size = sizeof number};
    begin(g);
    g->desc.params = &param;
    g->desc.num_params = 1;
    REFUSED(INVALID, VALUE, "takes 3 arguments");
    param.index = 0;
    REFUSED(INVALID, SIZE, "has 8 bytes");
    param.kernel = "queue_poke";
    REFUSED(INVALID, VALUE, "queue_poke, which the graph does not launch");
    param.kernel = NULL;
    REFUSED(INVALID, NULL_ARGUMENT, "params[0] has no node and no kernel");
    param.kernel = "queue_add";
    param.value = NULL;
    REFUSED(INVALID, NULL_ARGUMENT, "params[0] has no value");
}

/* Launches with more than a grid and a block: by the kernel, and by the launch. */
GRAPH_CASE(attributes)
{
    static const struct {
        CUlaunchAttributeID id;
        CUlaunchAttributeValue value;
        const char *says; /* NULL: it is recorded */
    } rows[] = {
        {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {.cooperative = 1}, "is cooperative"},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {.clusterDim = {2, 1, 1}}, "has clusters"},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {.clusterDim = {1, 1, 2}}, "has clusters"},
        {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {.clusterDim = {1, 1, 1}}, NULL},
        {CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
         {.deviceUpdatableKernelNode = {1, NULL}},
         "can be changed by kernels"},
        {CU_LAUNCH_ATTRIBUTE_PRIORITY, {.priority = 0}, NULL},
    };
    const raw_cuda *cu = g->s.w.cu;
    const PFN_cuGraphKernelNodeSetAttribute_v11000 set =
        (PFN_cuGraphKernelNodeSetAttribute_v11000)culv_device_cuda_proc(
            g->s.w.device, "cuGraphKernelNodeSetAttribute", 11000);
    REQUIRE(set != NULL);
    culv_kernel *fixed = vk_kernels_clusters(&g->s);
    void *params[] = {&g->a};
    CUDA_KERNEL_NODE_PARAMS how = launch_of(culv_kernel_native_handle(fixed), 2, 32, params);
    how.gridDimZ = 2;
    CUgraphNode node = NULL;
    begin(g);
    LIB_CU_OK(&g->s.w, cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how));
    REFUSED(
        UNSUPPORTED, KERNEL,
        "node 1 of the graph: the kernel 'queue_clusters' runs in clusters of 2 x 1 x 1 blocks");

    how.func = culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_constant"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(g);
        CUcontext before = lib_enter(&g->s.w);
        CU_OK(cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how));
        CUlaunchAttributeValue value =
            rows[i].value; /* the driver writes the node's handle there */
        const CUresult r = set(node, rows[i].id, &value);
        lib_leave(&g->s.w, before);
        if (r != CUDA_SUCCESS) {
            REQUIRE(!cu->software);
            printf("attribute %d of a node: %s\n", (int)rows[i].id, raw_cuda_result_name(r));
            continue;
        }
        if (rows[i].says != NULL) {
            REFUSED(UNSUPPORTED, GRAPH, rows[i].says,
                    "node 1 of the graph launches the kernel 'queue_constant'");
            continue;
        }
        taken(g);
    }
}

/* The kernel of node 1 is given an address. */
static void begin_at(vk_graph_scene *g, CUdeviceptr address)
{
    begin(g);
    vk_graph_add_node(g, NULL, 0, address, 0, 1);
}

/* What lies directly before and behind the memory of the list, which CUDA knows too: it is the rest
 * of the same buffer. */
GRAPH_CASE(neighbours)
{
    static const struct {
        bool end; /* from there; else from the start */
        int offset;
        bool taken;
    } rows[] = {{false, -8, false}, {false, -1, false}, {false, 0, true},
                {false, 1, true},   {true, -8, true},   {true, -1, true},
                {true, 0, false},   {true, 1, false},   {true, 8, false}};
    const raw_cuda *cu = g->s.w.cu;
    const culv_vk_graph_memory all = g->memory[1];
    culv_vk_graph_memory *part = &g->memory[1];
    part->pointer += 4096;
    part->address += 4096;
    part->offset += 4096;
    part->size = 8204;
    const CUdeviceptr start = part->pointer, end = start + part->size;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const CUdeviceptr at = (rows[i].end ? end : start) + (CUdeviceptr)(int64_t)rows[i].offset;
        begin_at(g, at);
        if (!rows[i].taken) {
            REFUSED(INVALID, RANGE, "argument 0 (0 is the first) of node 1 of the graph",
                    "is in no element of culv_vk_graph_desc.memory");
            if (at == end) LIB_SAYS("element 1 ends there: add the memory behind it");
        } else {
            taken(g);
        }
    }

    /* The end, as what the kernel is to have for it. */
    const CUdeviceptr last = part->address + part->size;
    const culv_vk_graph_param param = {
        .kernel = "queue_add", .index = 0, .value = &last, .size = sizeof last};
    drop_graph(g);
    CU_OK(cu->GraphCreate(&g->graph, 0));
    vk_graph_add_node(g, NULL, 0, end, 0, 1);
    g->desc.params = &param;
    g->desc.num_params = 1;
    vk_graph_record(g);
    g->desc.num_params = 0;

    /* The end of one is the start of another one, with an address of its own. */
    culv_vk_graph_memory three[3] = {g->memory[0], *part, all};
    three[2].pointer = end;
    three[2].address = all.address; /* not where the part ends in Vulkan */
    three[2].size = 4096;
    g->desc.memory = three;
    g->desc.num_memory = 3;
    drop_graph(g);
    CU_OK(cu->GraphCreate(&g->graph, 0));
    vk_graph_add_node(g, NULL, 0, end, 1024, 5);
    vk_graph_fill(g);
    vk_graph_record(g);
    vk_graph_read(g);
    for (uint32_t i = 0; i < GRAPH_WORDS; i++)
        REQUIRE_EQ(g->words[1][i], lib_word(i, 4) + (i < 1024 ? 5u : 0u));
    g->desc.memory = g->memory;
    g->desc.num_memory = 2;

    /* Memsets and copies: from where on, and how many bytes. */
    static const struct {
        int64_t offset;
        size_t bytes;
        bool taken;
    } ranges[] = {{-4, 4, false},   {-4, 8, false},   {0, 4, true},     {0, 8204, true},
                  {0, 8208, false}, {8200, 4, true},  {8200, 8, false}, {8204, 4, false},
                  {8208, 4, false}, {-4, 8208, false}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        for (int copies = 0; copies < 2; copies++) {
            const CUdeviceptr at = start + (CUdeviceptr)ranges[i].offset;
            const CUDA_MEMCPY3D copy = row_of(g->a, at, ranges[i].bytes);
            if (copies)
                begin_copy(g, &copy);
            else
                begin_memset(g, at, 4, ranges[i].bytes / 4, 1, 0);
            if (ranges[i].taken)
                taken(g);
            else
                REFUSED(INVALID, RANGE, copies ? "writes" : "sets");
        }
}

GRAPH_CASE(descriptors)
{
    culv_vk_device *vk = g->s.w.attachment;
    culv_vk_kernels *const none = NULL;
    begin(g);
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    LIB_INVALID(culv_vk_record_graph(vk, g->graph, &g->desc, commands, 63), QUEUE);
    raw_vk_submit(&g->s.w.vk, commands, NULL);

#define ROW(change, ...) SPOILT(g->desc, g->desc.change, REFUSED(INVALID, __VA_ARGS__))
    ROW(struct_size = 0, STRUCT_SIZE, "culv_vk_graph_desc");
    ROW(kernels = NULL, NULL_ARGUMENT, "desc->kernels");
    ROW(kernels = &none, NULL_ARGUMENT, "kernels[0] is NULL");
    ROW(memory = NULL, NULL_ARGUMENT, "desc->memory");
    ROW(num_params = 1, NULL_ARGUMENT, "desc->params");
#undef ROW
#define ROW(change, says) SPOILT(g->memory[0], g->memory[0].change, REFUSED(INVALID, VALUE, says))
    ROW(address = 0, "memory[0] has no address");
    ROW(size = 0, "memory[0] has no size");
    ROW(size = UINT64_MAX, "goes beyond the last address");
#undef ROW

    /* Another attachment, and one without kernels. */
    culv_vk_device_desc d = lib_vk_desc(&g->s.w);
    NEW(culv_vk_device, other, culv_vk_attach, g->s.w.device, &d);
    d.kernels = 0;
    NEW(culv_vk_device, plain, culv_vk_attach, g->s.w.device, &d);
    g->s.w.attachment = other;
    REFUSED(INVALID, DEVICE_MISMATCH, "another attachment");
    g->s.w.attachment = plain;
    REFUSED(INVALID, EXTENSION_MISSING, "kernels");
    g->s.w.attachment = vk;
    culv_vk_detach(&plain);
    culv_vk_detach(&other);

    const culv_vk_graph_memory nothing = culv_vk_buffer_graph_memory(NULL);
    REQUIRE(nothing.pointer == 0 && nothing.size == 0 && nothing.address == 0);
}
