/* SPDX-License-Identifier: MIT */
/* Programs with CUDA graphs, and with other calls of which only their parameters say what they
 * touch. */
#include "seeds.h"

static void capture(void)
{
    CU(cu.cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
}

static CUgraphExec captured(CUgraph *graph)
{
    CUgraph own;
    CUgraphExec exec;
    if (graph == NULL) graph = &own;
    CU(cu.cuStreamEndCapture(streams[0], graph));
    CU(cu.cuGraphInstantiate(&exec, *graph, 0));
    return exec;
}

static void launch(CUgraphExec exec)
{
    CU(cu.cuGraphLaunch(exec, streams[0]));
}

/* The wait is in the graph, too. */
static void graph_waits(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    capture();
    if (!wrong) cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    const CUgraphExec exec = captured(NULL);
    vulkan_writes(&s, &t, 0, 1);
    launch(exec);
    all_done();
}

/* The way back: what the graph signals is after what it reads. */
static void graph_signals(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    capture();
    if (wrong) CU(cuda_signals(&t, 1, 0));
    cuda_reads(&s);
    if (!wrong) CU(cuda_signals(&t, 1, 0));
    launch(captured(NULL));
    vulkan_writes(&s, &t, 1, 0);
    all_done();
}

static CUgraphNode node_of(CUgraph graph, CUgraphNodeType type)
{
    CUgraphNode nodes[8], found = NULL;
    size_t count = 8;
    CU(cu.cuGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType is;
        CU(cu.cuGraphNodeGetType(nodes[i], &is));
        if (is == type) found = nodes[i];
    }
    MUST(found != NULL);
    return found;
}

/* Each frame has its own values. The wrong one forgets that of its wait. */
static void graph_values(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUgraph graph;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&t.cuda, &wait, 1};
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {&t.cuda, &signal, 1};
    memset(&wait, 0, sizeof wait);
    memset(&signal, 0, sizeof signal);
    capture();
    cuda_waits(&t, 1, 0);
    cuda_reads(&s);
    CU(cuda_signals(&t, 2, 0));
    const CUgraphExec exec = captured(&graph);
    const CUgraphNode at_wait = node_of(graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT),
                      at_signal = node_of(graph, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    for (uint64_t frame = 0; frame < 3; frame++) {
        if (!wrong || frame == 0) wait.params.fence.value = 2 * frame + 1;
        signal.params.fence.value = 2 * frame + 2;
        CU(cu.cuGraphExecExternalSemaphoresWaitNodeSetParams(exec, at_wait, &waits));
        CU(cu.cuGraphExecExternalSemaphoresSignalNodeSetParams(exec, at_signal, &signals));
        vulkan_writes(&s, &t, 2 * frame, 2 * frame + 1);
        launch(exec);
        /* Without the wait the values would not rise by luck alone. */
        if (wrong) all_done();
    }
    all_done();
}

static void fork_at(CUevent event)
{
    CU(cu.cuEventRecord(event, streams[0]));
    CU(cu.cuStreamWaitEvent(streams[1], event, 0));
}

static void join_at(CUevent event)
{
    CU(cu.cuEventRecord(event, streams[1]));
    CU(cu.cuStreamWaitEvent(streams[0], event, 0));
}

/* A branch of the graph that begins before the wait. */
static void graph_fork(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    CUevent fork, join;
    CU(cu.cuEventCreate(&fork, 0));
    CU(cu.cuEventCreate(&join, 0));
    capture();
    if (wrong) fork_at(fork);
    cuda_waits(&t, 1, 0);
    if (!wrong) fork_at(fork);
    CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, SIZE, streams[1]));
    join_at(join);
    const CUgraphExec exec = captured(NULL);
    vulkan_writes(&s, &t, 0, 1);
    launch(exec);
    all_done();
}

/* One branch waits for what Vulkan does after the other one; in the wrong one they are no branches,
 * and each waits for the other. */
static void graph_cycle(bool wrong)
{
    timeline t = share_timeline();
    CUevent fork, join;
    CU(cu.cuEventCreate(&fork, 0));
    CU(cu.cuEventCreate(&join, 0));
    capture();
    if (!wrong) fork_at(fork);
    cuda_waits(&t, 2, 0);
    if (wrong) fork_at(fork);
    CU(cuda_signals(&t, 1, 1));
    join_at(join);
    const CUgraphExec exec = captured(NULL);
    vulkan_writes(NULL, &t, 1, 2);
    launch(exec);
    if (!wrong) all_done();
}

/* A kernel that works on memory of its own after its parameters were changed, or not. */
static void graph_kernel(bool wrong)
{
    shared s = share_buffer();
    CUdeviceptr own;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    unsigned count = SIZE / 4;
    void *arguments[] = {wrong ? &own : &s.pointer, &count};
    CUDA_KERNEL_NODE_PARAMS p;
    CU(cu.cuMemAlloc(&own, SIZE));
    memset(&p, 0, sizeof p);
    p.func = function_of("seeds_add");
    p.gridDimX = (count + 127) / 128;
    p.gridDimY = p.gridDimZ = p.blockDimY = p.blockDimZ = 1;
    p.blockDimX = 128;
    p.kernelParams = arguments;
    CU(cu.cuGraphCreate(&graph, 0));
    CU(cu.cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
    CU(cu.cuGraphInstantiate(&exec, graph, 0));
    arguments[0] = wrong ? &s.pointer : &own;
    CU(cu.cuGraphExecKernelNodeSetParams(exec, node, &p));
    vulkan_writes(&s, NULL, 0, 0);
    launch(exec);
    all_done();
}

/* An update by a graph that was changed. */
static void graph_update(bool wrong)
{
    shared s = share_buffer();
    CUgraph graph;
    CUgraphExecUpdateResultInfo info;
    CUDA_MEMSET_NODE_PARAMS p;
    CUdeviceptr own;
    CU(cu.cuMemAlloc(&own, SIZE));
    memset(&p, 0, sizeof p);
    p.elementSize = 1;
    p.width = SIZE;
    p.height = 1;
    capture();
    CU(cu.cuMemsetD8Async(wrong ? own : s.pointer, 7, SIZE, streams[0]));
    const CUgraphExec exec = captured(&graph);
    p.dst = wrong ? s.pointer : own;
    CU(cu.cuGraphMemsetNodeSetParams(node_of(graph, CU_GRAPH_NODE_TYPE_MEMSET), &p));
    CU(cu.cuGraphExecUpdate(exec, graph, &info));
    vulkan_writes(&s, NULL, 0, 0);
    launch(exec);
    all_done();
}

static void graph_after_end(bool wrong)
{
    shared s = share_buffer();
    capture();
    cuda_writes(&s);
    const CUgraphExec exec = captured(NULL);
    if (!wrong) launch(exec);
    all_done();
    CU(cu.cuMemFree(s.pointer));
    if (wrong) (void)cu.cuGraphLaunch(exec, streams[0]);
    all_done();
}

/* ---- others ---- */

static void memset_of_box(bool wrong)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuMemsetD2D8Async(s.pointer + 5, 300, 9, 200, 300, streams[0]));
    all_done();
}

/* The kernel is told the surface of the image. */
static void surface_early(bool wrong)
{
    shared s = share_image();
    timeline t = share_timeline();
    CUsurfObject surface;
    CUDA_RESOURCE_DESC desc;
    unsigned width = WIDTH, height = HEIGHT;
    void *arguments[] = {&surface, &width, &height};
    memset(&desc, 0, sizeof desc);
    desc.resType = CU_RESOURCE_TYPE_ARRAY;
    desc.res.array.hArray = s.array;
    CU(cu.cuSurfObjectCreate(&surface, &desc));
    vulkan_writes(&s, &t, 0, 1);
    if (!wrong) cuda_waits(&t, 1, 0);
    CU(cu.cuLaunchKernel(function_of("seeds_paint"), (WIDTH + 7) / 8, (HEIGHT + 7) / 8, 1, 8, 8, 1,
                         0, streams[0], arguments, NULL));
    all_done();
}

/* A kernel of CUDA's in a command buffer. CUDA writes what it uses, in a stream. */
static void queue_kernel(bool wrong)
{
    static unsigned char image[1 << 20];
    char path[4096];
    shared s = share_buffer();
    timeline t = share_timeline();
    VkCuModuleNVX module;
    VkCuFunctionNVX function;
    kernels_file(path, sizeof path);
    FILE *file = fopen(path, "rb");
    MUST(file != NULL);
    const VkCuModuleCreateInfoNVX m = {.sType = VK_STRUCTURE_TYPE_CU_MODULE_CREATE_INFO_NVX,
                                       .dataSize = fread(image, 1, sizeof image, file),
                                       .pData = image};
    (void)fclose(file);
    VK(vkCreateCuModuleNVX(device, &m, NULL, &module));
    const VkCuFunctionCreateInfoNVX f = {.sType = VK_STRUCTURE_TYPE_CU_FUNCTION_CREATE_INFO_NVX,
                                         .module = module,
                                         .pName = "seeds_add"};
    VK(vkCreateCuFunctionNVX(device, &f, NULL, &function));
    const VkBufferDeviceAddressInfo of = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                          .buffer = s.buffer};
    const VkDeviceAddress address = vkGetBufferDeviceAddress(device, &of);
    const unsigned count = SIZE / 4;
    const void *params[] = {&address, &count};
    const VkCuLaunchInfoNVX launches = {.sType = VK_STRUCTURE_TYPE_CU_LAUNCH_INFO_NVX,
                                        .function = function,
                                        .gridDimX = (count + 127) / 128,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = 128,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .paramCount = 2,
                                        .pParams = params};
    cuda_writes(&s);
    CU(cuda_signals(&t, 1, 0));
    also.launches = &launches;
    vulkan_writes(&s, &t, wrong ? 0 : 1, 0);
    all_done();
}

const seed seeds_graphs[] = {
    {"graph_waits", "read-after-write", graph_waits},
    {"graph_signals", "write-after-read", graph_signals},
    {"graph_values", "read-after-write", graph_values},
    {"graph_fork", "read-after-write", graph_fork},
    {"graph_cycle", "endless-wait", graph_cycle},
    {"graph_kernel", "read-after-write", graph_kernel},
    {"graph_update", "write-after-write", graph_update},
    {"graph_after_end", "used-after-import", graph_after_end},
    {"memset_of_box", "write-after-write", memset_of_box},
    {"surface_early", "read-after-write", surface_early},
    {"queue_kernel", "read-after-write", queue_kernel},
};
const size_t num_seeds_graphs = sizeof seeds_graphs / sizeof *seeds_graphs;
