/* SPDX-License-Identifier: MIT */
#include "vk_graphs_stage.h"

static void make_space(vk_graph_scene *g)
{
    const raw_vk *vk = &g->s.w.vk;
    culv_vk_space_desc d = culv_vk_space_desc_init();
    if (culv_vk_check_space(g->s.w.attachment, NULL, NULL) != CULV_OK) {
        if (g->s.w.cu->software) FAIL("%s", culv_last_error_message());
        SKIP("%s", culv_last_error_message());
    }
    uint32_t i = 0;
    while (i < vk->queue_count && !(vk->queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT))
        i++;
    REQUIRE(i < vk->queue_count);
    d.size = 64 << 20;
    d.queue = vk->queues[i].queue;
    LIB_OK(culv_vk_space_create(g->s.w.attachment, &d, &g->space));
    LIB_OK(culv_vk_space_commit(g->space, 0, 4 << 20, NULL));
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

vk_graph_scene *vk_graph_open(bool one_address)
{
    vk_graph_scene *g = calloc(1, sizeof *g);
    REQUIRE(g != NULL);
    if (one_address)
        vk_kernels_open_for_one_address(&g->s);
    else
        vk_kernels_open(&g->s);
    g->desc = culv_vk_graph_desc_init();
    if (one_address)
        make_space(g);
    else
        make_buffers(g);
    g->desc.kernels = &g->s.queue;
    g->desc.num_kernels = 1;
    g->desc.memory = g->memory;
    g->desc.label = "solver";
    vk_graph_fill(g);
    return g;
}

void vk_graph_close(vk_graph_scene *g)
{
    if (g->graph != NULL) CU_OK(g->s.w.cu->GraphDestroy(g->graph));
    culv_vk_space_destroy(&g->space);
    culv_shared_buffer_destroy(&g->buffers[0], NULL);
    culv_shared_buffer_destroy(&g->buffers[1], NULL);
    vk_kernels_close(&g->s);
    free(g);
}

void vk_graph_fill(vk_graph_scene *g)
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

void vk_graph_read(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w, g->s.w.cu->MemcpyDtoH(g->words[0], g->a, GRAPH_BYTES));
    LIB_CU_OK(&g->s.w, g->s.w.cu->MemcpyDtoH(g->words[1], g->b, GRAPH_BYTES));
}

void vk_graph_capture(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w,
              g->s.w.cu->StreamBeginCapture(g->s.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

void vk_graph_captured(vk_graph_scene *g)
{
    LIB_CU_OK(&g->s.w, g->s.w.cu->StreamEndCapture(g->s.stream, &g->graph));
    REQUIRE(g->graph != NULL);
}

void vk_graph_add(vk_graph_scene *g, CUstream stream, CUdeviceptr words, unsigned count,
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

CUgraphNode vk_graph_add_node(vk_graph_scene *g, const CUgraphNode *before, size_t num_before,
                              CUdeviceptr words, unsigned count, unsigned addend)
{
    void *params[] = {&words, &count, &addend};
    const CUDA_KERNEL_NODE_PARAMS how = {
        .func = culv_kernel_native_handle(vk_kernels_get(&g->s, "queue_add")),
        .gridDimX = count == 0 ? 1 : (count + GRAPH_BLOCK - 1) / GRAPH_BLOCK,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = GRAPH_BLOCK,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = params};
    CUgraphNode node = NULL;
    CUcontext was = lib_enter(&g->s.w);
    CU_OK(g->s.w.cu->GraphAddKernelNode(&node, g->graph, before, num_before, &how));
    lib_leave(&g->s.w, was);
    return node;
}

void vk_graph_launch(vk_graph_scene *g)
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

void vk_graph_record(vk_graph_scene *g)
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

void vk_graph_compare(vk_graph_scene *g)
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
