/* SPDX-License-Identifier: MIT */
/* What is refused of a graph, with the node's index and kind, before anything is recorded. */
#define TEST_GROUP "vk_graphs.refused."
#include "vk_graphs_stage.h"

static void no_function(void *nothing)
{
    (void)nothing;
}

/* A graph whose first node is fine, to see that it is not recorded. */
static void begin(vk_graph_scene *g)
{
    if (g->graph != NULL) CU_OK(g->s.w.cu->GraphDestroy(g->graph));
    CU_OK(g->s.w.cu->GraphCreate(&g->graph, 0));
    vk_graph_add_node(g, NULL, 0, g->a, GRAPH_WORDS, 1);
}

static void refused(vk_graph_scene *g, culv_result class, culv_reason reason, const char *says)
{
    vk_graph_fill(g);
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_ACQUIRE);
    LIB_FAILS(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0), class,
              reason, says);
    vk_kernels_hand_over(commands, g->memory[0].buffer, CULV_VK_RELEASE);
    raw_vk_submit(&g->s.w.vk, commands, NULL);
    vk_graph_read(g);
    REQUIRE_WORDS(g->words[0], GRAPH_WORDS, 3);
}

TEST(kinds)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    CUgraphNode node = NULL;
    begin(g);
    const CUDA_HOST_NODE_PARAMS host = {no_function, NULL};
    CU_OK(cu->GraphAddHostNode(&node, g->graph, NULL, 0, &host));
    refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, "node 1 of the graph's 2 is a function");

    begin(g);
    VkSemaphore timeline = raw_vk_timeline(&g->s.w.vk, 0, true);
    culv_semaphore *semaphore = lib_import_timeline(&g->s.w, timeline);
    LIB_OK(culv_graph_add_node(g->graph, NULL, 0, CULV_GRAPH_SIGNAL,
                               &(culv_semaphore_point){semaphore, 1}, 1, &node));
    refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, "a signal of an external semaphore");
    CU_OK(cu->GraphDestroy(g->graph));
    g->graph = NULL;
    culv_semaphore_destroy(&semaphore, NULL);
    raw_vk_semaphore_destroy(&g->s.w.vk, timeline);

    /* Nothing at all is nothing to record. */
    CU_OK(cu->GraphCreate(&g->graph, 0));
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
    CU_OK(cu->GraphAddEmptyNode(&node, g->graph, NULL, 0));
    LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
    raw_vk_submit(&g->s.w.vk, commands, NULL);
    vk_graph_close(g);
}

TEST(copies)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    CUgraphNode node = NULL;
    static uint32_t host[64];
    CUdeviceptr elsewhere = 0;
    CUcontext before = lib_enter(&g->s.w);
    CU_OK(cu->MemAlloc(&elsewhere, 4096));
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = g->b,
                          .WidthInBytes = sizeof host,
                          .Height = 1,
                          .Depth = 1};
    begin(g);
    CU_OK(cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, &copy, g->s.w.context));
    refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH,
            "node 1 of the graph copies from the host");

    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcHost = NULL;
    copy.srcDevice = g->a;
    begin(g);
    CU_OK(cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, &copy, g->s.w.context));
    const VkBufferUsageFlags both = g->memory[0].usage;
    REQUIRE((both & VK_BUFFER_USAGE_TRANSFER_SRC_BIT) && both == g->memory[1].usage);
    g->memory[0].usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_USAGE, "lacks VK_BUFFER_USAGE_TRANSFER_SRC_BIT");
    g->memory[0].usage = both;
    g->memory[1].usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_USAGE, "lacks VK_BUFFER_USAGE_TRANSFER_DST_BIT");
    g->memory[1].usage = both;

    copy.srcDevice = elsewhere;
    begin(g);
    CU_OK(cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, &copy, g->s.w.context));
    refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE, "node 1 of the graph reads 256 bytes");
    LIB_SAYS("is in no element");

    /* Memory of the list that has no buffer. */
    g->memory[1].buffer = VK_NULL_HANDLE;
    copy.srcDevice = g->a;
    begin(g);
    CU_OK(cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, &copy, g->s.w.context));
    refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE, "writes 256 bytes");
    LIB_SAYS("has no VkBuffer");
    g->memory[1] = culv_vk_buffer_graph_memory(g->buffers[1]);

    const CUDA_MEMSET_NODE_PARAMS odd = {
        .dst = g->b + 2, .value = 1, .elementSize = 1, .width = 8, .height = 1};
    begin(g);
    CU_OK(cu->GraphAddMemsetNode(&node, g->graph, NULL, 0, &odd, g->s.w.context));
    refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, "vkCmdFillBuffer takes multiples of 4");
    const CUDA_MEMSET_NODE_PARAMS three = {
        .dst = g->b, .value = 1, .elementSize = 1, .width = 3, .height = 1};
    begin(g);
    CU_OK(cu->GraphAddMemsetNode(&node, g->graph, NULL, 0, &three, g->s.w.context));
    refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, "sets rows of 3 bytes");
    /* Beyond the end by a row. */
    g->memory[1].size = 1000;
    const CUDA_MEMSET_NODE_PARAMS rows = {
        .dst = g->b, .pitch = 100, .value = 1, .elementSize = 4, .width = 4, .height = 11};
    begin(g);
    CU_OK(cu->GraphAddMemsetNode(&node, g->graph, NULL, 0, &rows, g->s.w.context));
    refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE, "sets 1016 bytes");
    CU_OK(cu->MemFree(elsewhere));
    lib_leave(&g->s.w, before);
    vk_graph_close(g);
}

TEST(kernels)
{
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    CUdeviceptr elsewhere = 0;
    unsigned number = 4;
    begin(g);
    g->desc.num_kernels = 0;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_KERNEL,
            "node 0 of the graph launches the kernel 'queue_add', and none of the 0");
    g->desc.num_kernels = 1;

    /* Memory of CUDA's alone, and memory that is not in the list. */
    LIB_CU_OK(&g->s.w, cu->MemAlloc(&elsewhere, GRAPH_BYTES));
    begin(g);
    vk_graph_add_node(g, NULL, 0, elsewhere + 64, 100, 1);
    refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE,
            "argument 0 (0 is the first) of node 1 of the graph");
    LIB_CU_OK(&g->s.w, cu->MemFree(elsewhere));
    begin(g);
    vk_graph_add_node(g, NULL, 0, g->b, 100, 1);
    g->desc.num_memory = 1;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE, "a launch of the kernel 'queue_add'");
    g->desc.num_memory = 2;

    /* More shared memory than a command buffer has: CUDA's check is at the launch. */
    unsigned words = 64;
    void *params[] = {&g->a, &words};
    const CUDA_KERNEL_NODE_PARAMS how = {
        .func = culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_turn")),
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 64,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = 48 * 1024,
        .kernelParams = params};
    CUgraphNode node = NULL;
    begin(g);
    CUcontext before = lib_enter(&g->s.w);
    if (cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how) == CUDA_SUCCESS)
        refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE, "of dynamic shared memory");
    lib_leave(&g->s.w, before);

    culv_vk_graph_param param = {
        .kernel = "queue_add", .index = 3, .value = &number, .size = sizeof number};
    begin(g);
    g->desc.params = &param;
    g->desc.num_params = 1;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE, "takes 3 arguments");
    param.index = 0;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_SIZE, "has 8 bytes");
    param.kernel = "queue_poke";
    refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "queue_poke, which the graph does not launch");
    param.kernel = NULL;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
            "params[0] has no node and no kernel");
    param.kernel = "queue_add";
    param.value = NULL;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "params[0] has no value");
    vk_graph_close(g);
}

/* Launches with more than a grid and a block: by the kernel, and by the launch. */
TEST(attributes)
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
    vk_graph_scene *g = vk_graph_open(false);
    const raw_cuda *cu = g->s.w.cu;
    const PFN_cuGraphKernelNodeSetAttribute_v11000 set =
        (PFN_cuGraphKernelNodeSetAttribute_v11000)culv_device_cuda_proc(
            g->s.w.device, "cuGraphKernelNodeSetAttribute", 11000);
    REQUIRE(set != NULL);
    culv_kernel *fixed = vk_kernels_clusters(&g->s);
    void *params[] = {&g->a};
    CUDA_KERNEL_NODE_PARAMS how = {.func = culv_kernel_native_handle(fixed),
                                   .gridDimX = 2,
                                   .gridDimY = 1,
                                   .gridDimZ = 2,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .kernelParams = params};
    CUgraphNode node = NULL;
    begin(g);
    LIB_CU_OK(&g->s.w, cu->GraphAddKernelNode(&node, g->graph, NULL, 0, &how));
    refused(
        g, CULV_ERROR_UNSUPPORTED, CULV_REASON_KERNEL,
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
            refused(g, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, rows[i].says);
            LIB_SAYS("node 1 of the graph launches the kernel 'queue_constant'");
            continue;
        }
        VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
        LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
        raw_vk_submit(&g->s.w.vk, commands, NULL);
    }
    vk_graph_close(g);
}

/* The kernel of node 1 is given an address. */
static void begin_at(vk_graph_scene *g, CUdeviceptr address)
{
    begin(g);
    vk_graph_add_node(g, NULL, 0, address, 0, 1);
}

/* What lies directly before and behind the memory of the list, which CUDA knows too: it is the rest
 * of the same buffer. */
TEST(neighbours)
{
    static const struct {
        bool end; /* from there; else from the start */
        int offset;
        bool taken;
    } rows[] = {{false, -8, false}, {false, -1, false}, {false, 0, true},
                {false, 1, true},   {true, -8, true},   {true, -1, true},
                {true, 0, false},   {true, 1, false},   {true, 8, false}};
    vk_graph_scene *g = vk_graph_open(false);
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
            refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                    "argument 0 (0 is the first) of node 1 of the graph");
            LIB_SAYS("is in no element of culv_vk_graph_desc.memory");
            if (at == end) LIB_SAYS("element 1 ends there: add the memory behind it");
        } else {
            VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
            LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
            raw_vk_submit(&g->s.w.vk, commands, NULL);
        }
    }

    /* The end, as what the kernel is to have for it. */
    const CUdeviceptr last = part->address + part->size;
    const culv_vk_graph_param param = {
        .kernel = "queue_add", .index = 0, .value = &last, .size = sizeof last};
    CU_OK(cu->GraphDestroy(g->graph));
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
    CU_OK(cu->GraphDestroy(g->graph));
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
            CUgraphNode node = NULL;
            const CUdeviceptr at = start + (CUdeviceptr)ranges[i].offset;
            const CUDA_MEMSET_NODE_PARAMS set = {
                .dst = at, .elementSize = 4, .width = ranges[i].bytes / 4, .height = 1};
            const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .srcDevice = g->a,
                                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .dstDevice = at,
                                        .WidthInBytes = ranges[i].bytes,
                                        .Height = 1,
                                        .Depth = 1};
            begin(g);
            CUcontext before = lib_enter(&g->s.w);
            if (copies)
                CU_OK(cu->GraphAddMemcpyNode(&node, g->graph, NULL, 0, &copy, g->s.w.context));
            else
                CU_OK(cu->GraphAddMemsetNode(&node, g->graph, NULL, 0, &set, g->s.w.context));
            lib_leave(&g->s.w, before);
            if (!ranges[i].taken) {
                refused(g, CULV_ERROR_INVALID, CULV_REASON_RANGE, copies ? "writes" : "sets");
                continue;
            }
            VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
            LIB_OK(culv_vk_record_graph(g->s.w.attachment, g->graph, &g->desc, commands, 0));
            raw_vk_submit(&g->s.w.vk, commands, NULL);
        }
    vk_graph_close(g);
}

TEST(descriptors)
{
    vk_graph_scene *g = vk_graph_open(false);
    culv_vk_device *vk = g->s.w.attachment, *plain = NULL, *other = NULL;
    culv_vk_kernels *const none = NULL;
    begin(g);
    VkCommandBuffer commands = raw_vk_begin(&g->s.w.vk, 0);
    LIB_INVALID(culv_vk_record_graph(vk, g->graph, &g->desc, VK_NULL_HANDLE, 0), NULL_ARGUMENT);
    LIB_INVALID(culv_vk_record_graph(vk, g->graph, &g->desc, commands, 63), QUEUE);
    raw_vk_submit(&g->s.w.vk, commands, NULL);

    culv_vk_graph_desc kept = g->desc;
    g->desc.struct_size = 0;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE, "culv_vk_graph_desc");
    g->desc = kept;
    g->desc.kernels = NULL;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "desc->kernels");
    g->desc.kernels = &none;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "kernels[0] is NULL");
    g->desc = kept;
    g->desc.memory = NULL;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "desc->memory");
    g->desc = kept;
    g->desc.num_params = 1;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "desc->params");
    g->desc = kept;
    const culv_vk_graph_memory memory = g->memory[0];
    g->memory[0].address = 0;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE, "memory[0] has no address");
    g->memory[0] = memory;
    g->memory[0].size = 0;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE, "memory[0] has no size");
    g->memory[0].size = UINT64_MAX;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_VALUE, "goes beyond the last address");
    g->memory[0] = memory;

    /* Another attachment, and one without kernels. */
    culv_vk_device_desc d = lib_vk_desc(&g->s.w);
    LIB_OK(culv_vk_attach(g->s.w.device, &d, &other));
    d.kernels = 0;
    LIB_OK(culv_vk_attach(g->s.w.device, &d, &plain));
    g->s.w.attachment = other;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH, "another attachment");
    g->s.w.attachment = plain;
    refused(g, CULV_ERROR_INVALID, CULV_REASON_EXTENSION_MISSING, "kernels");
    g->s.w.attachment = vk;
    culv_vk_detach(&plain);
    culv_vk_detach(&other);

    const culv_vk_graph_memory nothing = culv_vk_buffer_graph_memory(NULL);
    REQUIRE(nothing.pointer == 0 && nothing.size == 0 && nothing.address == 0);
    vk_graph_close(g);
}
