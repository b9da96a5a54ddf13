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

/* Programs with one mistake each: a dispatch has a shared buffer by each way in which a descriptor
 * comes into a set, and nothing orders it before CUDA's write. */

typedef enum way { WRITTEN, COPIED, BY_TEMPLATE, PUSHED, PUSHED_BY_TEMPLATE, DYNAMIC } way;

/* layout(binding = 3) buffer B { uint a; }; void main() {}: what a shader does with what is bound,
 * the checker does not ask. At MEMBER and VARIABLE are decorations. */
enum { MEMBER = 24, VARIABLE = 43, RESTRICT = 19, NON_WRITABLE = 24 };
static uint32_t shader[] = {
    0x07230203, 0x00010000, 0,          9,        0,          0x00020011, 1,          0x0003000e,
    0,          1,          0x0005000f, 5,        1,          0x6e69616d, 0,          0x00060010,
    1,          17,         1,          1,        1,          0x00040048, 2,          0,
    RESTRICT,   0x00050048, 2,          0,        35,         0,          0x00030047, 2,
    3,          0x00040047, 3,          34,       0,          0x00040047, 3,          33,
    3,          0x00030047, 3,          RESTRICT, 0x00020013, 4,          0x00030021, 5,
    4,          0x00040015, 6,          32,       0,          0x0003001e, 2,          6,
    0x00040020, 7,          2,          2,        0x0004003b, 7,          3,          2,
    0x00050036, 4,          1,          0,        5,          0x000200f8, 8,          0x000100fd,
    0x00010038};

static VkDescriptorSet make_set(VkDescriptorSetLayout layout, VkDescriptorType type)
{
    VkDescriptorPool sets;
    VkDescriptorSet set;
    const VkDescriptorPoolSize size = {type, 1};
    const VkDescriptorPoolCreateInfo p = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .maxSets = 1,
                                          .poolSizeCount = 1,
                                          .pPoolSizes = &size};
    VK(vkCreateDescriptorPool(device, &p, NULL, &sets));
    const VkDescriptorSetAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = sets,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &layout};
    VK(vkAllocateDescriptorSets(device, &a, &set));
    return set;
}

static bool reads;

static void dispatch_by(way w, uint32_t offset, bool waits)
{
    shared s = share_buffer();
    timeline t = share_timeline();
    VkDescriptorSetLayout layout;
    VkPipelineLayout pipelines;
    VkShaderModule module;
    VkPipeline pipeline;
    const bool pushes = w == PUSHED || w == PUSHED_BY_TEMPLATE;
    const VkDescriptorType type = w == DYNAMIC ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
                                               : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    const VkDescriptorSetLayoutBinding binding = {3, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo l = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = pushes ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR : 0,
        .bindingCount = 1,
        .pBindings = &binding};
    VK(vkCreateDescriptorSetLayout(device, &l, NULL, &layout));
    const VkPipelineLayoutCreateInfo pl = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                           .setLayoutCount = 1,
                                           .pSetLayouts = &layout};
    VK(vkCreatePipelineLayout(device, &pl, NULL, &pipelines));
    const VkShaderModuleCreateInfo sm = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                         .codeSize = sizeof shader,
                                         .pCode = shader};
    VK(vkCreateShaderModule(device, &sm, NULL, &module));
    const VkComputePipelineCreateInfo cp = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = pipelines};
    VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &cp, NULL, &pipeline));
    const VkDescriptorUpdateTemplateEntry entry = {3, 0, 1, type, 8, 0};
    const VkDescriptorUpdateTemplateCreateInfo u = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 1,
        .pDescriptorUpdateEntries = &entry,
        .templateType = pushes ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                               : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
        .descriptorSetLayout = layout,
        .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
        .pipelineLayout = pipelines};
    VkDescriptorUpdateTemplate update = VK_NULL_HANDLE;
    if (w == BY_TEMPLATE || w == PUSHED_BY_TEMPLATE)
        VK(vkCreateDescriptorUpdateTemplate(device, &u, NULL, &update));

    VkDescriptorSet set = pushes ? VK_NULL_HANDLE : make_set(layout, type);
    VkDescriptorSet first = w == COPIED ? make_set(layout, type) : set;
    const struct {
        uint64_t other;
        VkDescriptorBufferInfo buffer;
    } data = {0, {s.buffer, 0, 4096}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = first,
                                        .dstBinding = 3,
                                        .descriptorCount = 1,
                                        .descriptorType = type,
                                        .pBufferInfo = &data.buffer};
    const VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                      .srcSet = first,
                                      .srcBinding = 3,
                                      .dstSet = set,
                                      .dstBinding = 3,
                                      .descriptorCount = 1};
    if (w == BY_TEMPLATE) vkUpdateDescriptorSetWithTemplate(device, set, update, &data);
    if (w == WRITTEN || w == COPIED || w == DYNAMIC)
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    if (w == COPIED) vkUpdateDescriptorSets(device, 0, NULL, 1, &copy);

    VkCommandBuffer commands = begin();
    const VkPipelineBindPoint point = VK_PIPELINE_BIND_POINT_COMPUTE;
    vkCmdBindPipeline(commands, point, pipeline);
    if (w == PUSHED) vkCmdPushDescriptorSetKHR(commands, point, pipelines, 0, 1, &write);
    if (w == PUSHED_BY_TEMPLATE)
        vkCmdPushDescriptorSetWithTemplateKHR(commands, update, pipelines, 0, &data);
    if (!pushes)
        vkCmdBindDescriptorSets(commands, point, pipelines, 0, 1, &set, w == DYNAMIC, &offset);
    vkCmdDispatch(commands, 1, 1, 1);
    if (also.waits_at != 0) { /* CUDA's turn comes first, and the dispatch waits for it */
        CU(cu.cuMemsetD8Async(s.pointer, 1, 4096, streams[0]));
        CU(cuda_signals(&t, 1, 0));
        end_and_submit(commands, &t, 1, 0);
        all_done();
        return;
    }
    if (reads) { /* and nothing is ordered */
        CU(cu.cuMemcpyDtoHAsync(bytes, s.pointer, 4096, streams[0]));
        end_and_submit(commands, &t, 0, 0);
        all_done();
        return;
    }
    end_and_submit(commands, &t, 0, 1);
    if (waits) cuda_waits(&t, 1, 0);
    CU(cu.cuMemsetD8Async(s.pointer, 1, 4096, streams[0]));
    all_done();
}

/* CUDA reads, and so does the shader, by each way to say so; the wrong one might write, and is not
 * judged. */
static void read_only(uint32_t at, bool wrong)
{
    if (!wrong) shader[at] = NON_WRITABLE;
    reads = true;
    dispatch_by(WRITTEN, 0, false);
}

static void set_read_only(bool wrong)
{
    read_only(MEMBER, wrong);
}

static void set_read_only_variable(bool wrong)
{
    read_only(VARIABLE, wrong);
}

/* The stage of the wait is another command's. */
static void set_wait_stage(bool wrong)
{
    also.waits_at = wrong ? VK_PIPELINE_STAGE_TRANSFER_BIT : VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    dispatch_by(WRITTEN, 0, true);
}

static void set_written(bool wrong)
{
    dispatch_by(WRITTEN, 0, !wrong);
}

static void set_copied(bool wrong)
{
    dispatch_by(COPIED, 0, !wrong);
}

static void set_by_template(bool wrong)
{
    dispatch_by(BY_TEMPLATE, 0, !wrong);
}

static void set_pushed(bool wrong)
{
    dispatch_by(PUSHED, 0, !wrong);
}

static void set_pushed_by_template(bool wrong)
{
    dispatch_by(PUSHED_BY_TEMPLATE, 0, !wrong);
}

/* The right one uses what is behind CUDA's bytes. */
static void set_dynamic(bool wrong)
{
    dispatch_by(DYNAMIC, wrong ? 0 : 4096, false);
}

const seed seeds_sets[] = {
    {"set_written", "write-after-read", set_written},
    {"set_copied", "write-after-read", set_copied},
    {"set_by_template", "write-after-read", set_by_template},
    {"set_pushed", "write-after-read", set_pushed},
    {"set_pushed_by_template", "write-after-read", set_pushed_by_template},
    {"set_dynamic", "write-after-read", set_dynamic},
    {"set_read_only", "missed/read-after-write", set_read_only},
    {"set_read_only_variable", "missed/read-after-write", set_read_only_variable},
    {"set_wait_stage", "read-after-write", set_wait_stage},
};
const size_t num_seeds_sets = sizeof seeds_sets / sizeof *seeds_sets;
