/* SPDX-License-Identifier: MIT */
/* Torture of kernels in command buffers: asked for, loaded from memory, made for the VkDevice,
 * recorded, destroyed; and of a graph that is recorded. */
#include "torture.h"
#include "vk_kernels_stage.h"

static vk_kernels_stage files; /* its share alone */
static unsigned char *bytes;
static size_t size;
static raw_vk_buffer field;

static void begin(void)
{
    files.w.cu = torture.w.cu;
    test_path(files.share, "share/culvert");
    bytes = vk_kernels_bytes(&files, &size);
    raw_vk_buffer_create(&torture.w.vk, 4096, RAW_VK_ADDRESS, &field);
}

static void end(void)
{
    raw_vk_buffer_destroy(&torture.w.vk, &field);
    free(bytes);
}

static void use(bool from_file)
{
    lib_world *w = &torture.w;
    culv_kernels *kernels = POISON(culv_kernels);
    culv_vk_kernels *queue = POISON(culv_vk_kernels);
    culv_kernel *add = POISON(culv_kernel);
    VkDeviceAddress address = 0;
    unsigned count = 1024, addend = 1;
    if (from_file)
        TRY_AGAIN(culv_kernels_load(w->device, files.share, "queue_kernels", &kernels),
                  kernels == POISON(culv_kernels));
    else
        TRY_AGAIN(culv_kernels_load_data(w->device, bytes, size, "memory", &kernels),
                  kernels == POISON(culv_kernels));
    TRY_AGAIN(culv_vk_kernels_create(w->attachment, kernels, &queue),
              queue == POISON(culv_vk_kernels));
    TRY_AGAIN(culv_kernels_get(kernels, "queue_add", &add), add == POISON(culv_kernel));
    TRY_AGAIN(culv_vk_get_buffer_address(w->attachment, field.buffer, &address), address == 0);
    const culv_kernel_call_arg args[] = {CULV_CALL_ARG(address), CULV_CALL_ARG(count),
                                         CULV_CALL_ARG(addend)};
    culv_kernel_call call = culv_kernel_call_init(add);
    call.grid[0] = 4;
    call.block[0] = 256;
    call.args = args;
    call.num_args = 3;
    if (from_file) TRY_AGAIN(culv_vk_kernels_prepare(queue, add), true);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_kernel_call_record(queue, &call, commands, 0), true);
    raw_vk_submit(&w->vk, commands, NULL);
    DO(culv_vk_kernels_destroy(&queue));
    REQUIRE(queue == NULL);
    DO(culv_kernels_unload(&kernels));
}

static void run(void)
{
    lib_world *w = &torture.w;
    CUstream stream = torture_open();
    const culv_vk_device_desc d = lib_vk_desc(w);
    TRY_AGAIN(culv_vk_check_kernels(&d), true);
    use(false);
    use(true);
    torture_close(stream);
}

static const torture_path path = {
    .kernels = true, .begin = begin, .run = run, .end = end, .least = {16, 4, 6}};
TORTURE_CASES("vk_kernels", path)

/* Graphs -------------------------------------------------------------------------------------- */

/* Two kernels, a memset and a copy in the field's bytes, which CUDA is told another address of. */
static CUgraph make_graph(CUdeviceptr words, culv_kernel *add, culv_kernel *mix)
{
    const raw_cuda *cu = torture.w.cu;
    unsigned count = 256, addend = 1;
    unsigned char salt = 2;
    double by = 3;
    CUgraph graph = NULL;
    CUgraphNode nodes[4];
    void *adds[] = {&words, &count, &addend}, *mixes[] = {&words, &count, &salt, &by};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = culv_kernel_native_handle(add),
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 256,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = adds};
    const CUDA_MEMSET_NODE_PARAMS set = {
        .dst = words + 1024, .value = 5, .elementSize = 4, .width = 100, .height = 1};
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = words,
                                .srcPitch = 32,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = words + 2048,
                                .dstPitch = 64,
                                .WidthInBytes = 16,
                                .Height = 4,
                                .Depth = 1};
    CUcontext before = lib_enter(&torture.w);
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddKernelNode(&nodes[0], graph, NULL, 0, &kernel));
    kernel.func = culv_kernel_native_handle(mix);
    kernel.kernelParams = mixes;
    CU_OK(cu->GraphAddKernelNode(&nodes[1], graph, nodes, 1, &kernel));
    CU_OK(cu->GraphAddMemsetNode(&nodes[2], graph, nodes, 1, &set, torture.w.context));
    CU_OK(cu->GraphAddMemcpyNode(&nodes[3], graph, nodes + 1, 2, &copy, torture.w.context));
    lib_leave(&torture.w, before);
    return graph;
}

static void run_graph(void)
{
    lib_world *w = &torture.w;
    culv_kernels *kernels = NULL;
    culv_vk_kernels *queue = NULL;
    culv_kernel *add = NULL, *mix = NULL;
    uint32_t zero[1024] = {0}, words[1024];
    CUstream stream = torture_open();
    LIB_OK(culv_kernels_load(w->device, files.share, "queue_kernels", &kernels));
    LIB_OK(culv_vk_kernels_create(w->attachment, kernels, &queue));
    LIB_OK(culv_kernels_get(kernels, "queue_add", &add));
    LIB_OK(culv_kernels_get(kernels, "queue_mix", &mix));
    culv_vk_graph_memory memory = {.size = sizeof words, .buffer = field.buffer};
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemAlloc(&memory.pointer, sizeof words)); /* for its address alone */
    lib_leave(w, before);
    LIB_OK(culv_vk_get_buffer_address(w->attachment, field.buffer, &memory.address));
    culv_vk_graph_desc d = culv_vk_graph_desc_init();
    d.kernels = &queue;
    d.num_kernels = 1;
    d.memory = &memory;
    d.num_memory = 1;
    CUgraph graph = make_graph(memory.pointer, add, mix);
    raw_vk_write(&w->vk, &field, 0, zero, sizeof zero);
    VkCommandBuffer commands = raw_vk_begin(&w->vk, 0);
    TRY_AGAIN(culv_vk_record_graph(w->attachment, graph, &d, commands, 0), true);
    raw_vk_submit(&w->vk, commands, NULL);
    CU_OK(w->cu->GraphDestroy(graph));
    LIB_CU_OK(w, w->cu->MemFree(memory.pointer));
    DO(culv_vk_kernels_destroy(&queue));
    DO(culv_kernels_unload(&kernels));
    /* Once, whatever failed before. */
    raw_vk_read(&w->vk, &field, 0, words, sizeof words);
    if (words[0] != 8 || words[255] != 8 || words[256] != 5 || words[355] != 5 || words[512] != 8 ||
        words[516] != 0 || words[528] != 8)
        torture_complain("recorded another graph, or parts of it");
    torture_close(stream);
}

static const torture_path graph_path = {
    .kernels = true, .begin = begin, .run = run_graph, .end = end, .least = {10, 0, 8}};
TORTURE_CASES("vk_graphs", graph_path)
