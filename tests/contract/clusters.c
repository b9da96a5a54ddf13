/* SPDX-License-Identifier: MIT */
/* Contract rows: clusters of blocks, fixed by a kernel or asked for by a launch. */
#define TEST_GROUP "clusters."
#include "contract.h"

typedef struct stage {
    const raw_cuda *cu;
    CUdevice device;
    CUstream stream;
    CUmodule module;
    CUdeviceptr out; /* WORDS words */
} stage;

enum { WORDS = 4096, THREADS = 37 };

static void stage_open(stage *s)
{
    int clusters = 0, width = 0;
    memset(s, 0, sizeof *s);
    s->cu = raw_cuda_open();
    CU_OK(s->cu->DeviceGet(&s->device, 0));
    (void)s->cu->DeviceGetAttribute(&clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, s->device);
    if (clusters == 0) SKIP("the device has no clusters");
    (void)raw_cuda_context(s->cu, s->device);
    s->module = raw_cuda_module(s->cu, "cluster_kernels");
    (void)s->cu->FuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                  raw_cuda_function(s->cu, s->module, "cluster_fixed"));
    if (width == 0 && !s->cu->software) SKIP("the kernels were not built for sm_90");
    s->stream = raw_cuda_stream(s->cu);
    s->out = raw_cuda_memory(s->cu, WORDS * 4);
}

static void stage_close(stage *s)
{
    test_settle();
    raw_cuda_leave(s->cu, s->device);
}

#define STAGE_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)

static CUfunction get(const stage *s, const char *name)
{
    return raw_cuda_function(s->cu, s->module, name);
}

static void clear(const stage *s)
{
    CU_OK(s->cu->MemsetD32Async(s->out, 0, WORDS, s->stream));
    CU_OK(s->cu->CtxSynchronize());
}

static void take(const stage *s, uint32_t words[WORDS])
{
    CU_OK(s->cu->CtxSynchronize());
    CU_OK(s->cu->MemcpyDtoH(words, s->out, WORDS * 4));
}

/* Clusters of {0, 0, 0}: the launch says none. */
static CUresult launch(const stage *s, CUfunction function, const unsigned grid[3],
                       const unsigned cluster[3], unsigned shared, void **params)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = cluster[0];
    attribute.value.clusterDim.y = cluster[1];
    attribute.value.clusterDim.z = cluster[2];
    const CUlaunchConfig config =
        TEST_ROW(.gridDimX = grid[0], .gridDimY = grid[1], .gridDimZ = grid[2],
                 .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1, .sharedMemBytes = shared,
                 .hStream = s->stream, .attrs = &attribute, .numAttrs = cluster[0] != 0);
    return s->cu->LaunchKernelEx(&config, function, params, NULL);
}

static void answer_attribute(const stage *s, const char *kernel, CUfunction_attribute which,
                             const char *name)
{
    int value = -77;
    const CUresult r = s->cu->FuncGetAttribute(&value, which, get(s, kernel));
    answer_with(answer_key("%s: %s", kernel, name), r, "%d", value);
}

/* What the library asks for must tell the two apart. */
STAGE_CASE(attributes, .mark = TEST_BOTH)
{
#define BOTH(name)                                                                                 \
    answer_attribute(s, "cluster_fixed", CU_FUNC_ATTRIBUTE_##name, #name);                         \
    answer_attribute(s, "cluster_places", CU_FUNC_ATTRIBUTE_##name, #name)
    BOTH(CLUSTER_SIZE_MUST_BE_SET);
    BOTH(REQUIRED_CLUSTER_WIDTH);
    BOTH(REQUIRED_CLUSTER_HEIGHT);
    BOTH(REQUIRED_CLUSTER_DEPTH);
#undef BOTH
    answer_call("a fixed width is set",
                s->cu->FuncSetAttribute(get(s, "cluster_fixed"),
                                        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
}

static size_t wrong_places(const uint32_t *words, const unsigned grid[3], const unsigned c[3])
{
    size_t wrong = 0;
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++, words += 8) {
                const unsigned at[3] = {x % c[0], y % c[1], z % c[2]};
                const uint32_t expected[8] =
                    TEST_ROW(1, c[0] * c[1] * c[2], (at[2] * c[1] + at[1]) * c[0] + at[0],
                             c[0] | c[1] << 8 | c[2] << 16, at[0] | at[1] << 8 | at[2] << 16,
                             x / c[0] | y / c[1] << 8 | z / c[2] << 16,
                             grid[0] / c[0] | grid[1] / c[1] << 8 | grid[2] / c[2] << 16, 7);
                wrong += memcmp(words, expected, sizeof expected) != 0;
            }
    return wrong;
}

STAGE_CASE(launched, .mark = TEST_BOTH)
{
    static const unsigned none[3] = {0}, rows[][2][3] = {{{6, 1, 1}, {2, 1, 1}},
                                                         {{3, 4, 1}, {1, 2, 1}},
                                                         {{4, 2, 6}, {2, 2, 2}},
                                                         {{8, 3, 1}, {8, 1, 1}},
                                                         {{9, 1, 5}, {3, 1, 1}}};
    static uint32_t words[WORDS];
    void *params[] = {&s->out};
    const unsigned four[3] = {4, 1, 1};
    clear(s);
    CU_OK(launch(s, get(s, "cluster_fixed"), four, none, 0, params));
    take(s, words);
    ANSWER("what four blocks of a fixed kernel say", "%u %u %u %u", words[0], words[1], words[2],
           words[3]);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const unsigned *grid = rows[i][0], *cluster = rows[i][1];
        clear(s);
        CU_OK(launch(s, get(s, "cluster_places"), grid, cluster, 0, params));
        take(s, words);
        answer_wrong(answer_key("blocks of %u x %u x %u in clusters of %u x %u x %u", grid[0],
                                grid[1], grid[2], cluster[0], cluster[1], cluster[2]),
                     wrong_places(words, grid, cluster), grid[0] * grid[1] * grid[2]);
    }
}

/* Blocks of a cluster wait for one another, and read each other's shared memory. */
STAGE_CASE(shared, .mark = TEST_BOTH)
{
    static const unsigned sizes[] = {1, 2, 3, 8};
    static uint32_t words[WORDS];
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const unsigned size = sizes[i], grid[3] = {3 * size, 1, 1}, cluster[3] = {size, 1, 1};
        int rounds = 5;
        size_t wrong = 0;
        void *params[] = {&s->out, &rounds};
        clear(s);
        CU_OK(launch(s, get(s, "cluster_turn"), grid, cluster, THREADS * 4, params));
        take(s, words);
        for (unsigned b = 0; b < grid[0]; b++)
            for (unsigned t = 0; t < THREADS; t++)
                wrong += words[b * THREADS + t] !=
                         (b / size * size + (b + (unsigned)rounds) % size) * 1000 + t;
        answer_wrong(answer_key("words handed around in clusters of %u", size), wrong,
                     grid[0] * THREADS);
    }
}

STAGE_CASE(refused, .mark = TEST_BOTH, .reason = "the codes are reported")
{
    static const struct {
        const char *what, *kernel;
        unsigned grid, cluster[3];
        bool large;
    } rows[] = {{"fixed, 3 blocks", "cluster_fixed", 3, {0, 0, 0}, false},
                {"fixed at 2, asked for 1", "cluster_fixed", 4, {1, 1, 1}, false},
                {"fixed at 2, asked for 2", "cluster_fixed", 4, {2, 1, 1}, false},
                {"fixed at 2, asked for 4", "cluster_fixed", 4, {4, 1, 1}, false},
                {"2 of 3 blocks", "cluster_places", 3, {2, 1, 1}, false},
                {"2 in y of 1 block", "cluster_places", 4, {1, 2, 1}, false},
                {"2 x 0 x 0", "cluster_places", 4, {2, 0, 0}, false},
                {"1 x 1 x 1", "cluster_places", 3, {1, 1, 1}, false},
                {"9", "cluster_places", 9, {9, 1, 1}, false},
                {"16", "cluster_places", 16, {16, 1, 1}, false},
                {"16, NON_PORTABLE_CLUSTER_SIZE_ALLOWED", "cluster_places", 16, {16, 1, 1}, true},
                {"32, NON_PORTABLE_CLUSTER_SIZE_ALLOWED", "cluster_places", 32, {32, 1, 1}, true}};
    void *params[] = {&s->out};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const unsigned grid[3] = {rows[i].grid, 1, 1};
        CUfunction function = get(s, rows[i].kernel);
        if (rows[i].large)
            (void)s->cu->FuncSetAttribute(function,
                                          CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        const CUresult r = launch(s, function, grid, rows[i].cluster, 0, params);
        answer_with(rows[i].what, r, "the stream %s",
                    raw_cuda_result_name(s->cu->StreamSynchronize(s->stream)));
    }
}

static void answer_node(const stage *s, const char *key, CUgraphNode node)
{
    CUlaunchAttributeValue value;
    memset(&value, 0xee, sizeof value);
    const CUresult r =
        s->cu->GraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
    if (r == CUDA_SUCCESS)
        ANSWER(key, "%u x %u x %u", value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
    else
        answer_call(key, r);
}

static CUgraphNode only_node(const stage *s, CUgraph graph)
{
    CUgraphNode node = NULL;
    size_t count = 1;
    CU_OK(s->cu->GraphGetNodes(graph, &node, &count));
    REQUIRE_EQ(count, 1);
    return node;
}

static void run_graph(const stage *s, CUgraph graph)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {.flags = 0};
    CUgraphExec exec = NULL;
    clear(s);
    CU_OK(s->cu->GraphInstantiateWithParams(&exec, graph, &how));
    CU_OK(s->cu->GraphLaunch(exec, s->stream));
    CU_OK(s->cu->StreamSynchronize(s->stream));
    CU_OK(s->cu->GraphExecDestroy(exec));
}

/* What the library asks a graph's node; and that a graph runs with clusters. */
STAGE_CASE(graphs, .mark = TEST_BOTH)
{
    static const CUlaunchAttributeID ids[] =
        TEST_ROW(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                 CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
                 CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                 CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                 CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    static const unsigned grid[3] = {4, 1, 1}, two[3] = {2, 1, 1};
    static uint32_t words[WORDS];
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUlaunchAttributeValue value;
    void *params[] = {&s->out};
    const CUDA_KERNEL_NODE_PARAMS how =
        TEST_ROW(.func = get(s, "cluster_fixed"), .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1,
                 .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params);
    CU_OK(s->cu->GraphCreate(&graph, 0));
    CU_OK(s->cu->GraphAddKernelNode(&node, graph, NULL, 0, &how));
    answer_node(s, "of a fixed kernel's node", node);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        answer_call(answer_key("attribute %d of a node", (int)ids[i]),
                    s->cu->GraphKernelNodeGetAttribute(node, ids[i], &value));
    run_graph(s, graph);
    take(s, words);
    ANSWER("what a graph's blocks say", "%u %u %u %u", words[0], words[1], words[2], words[3]);
    CU_OK(s->cu->GraphDestroy(graph));

    CU_OK(s->cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_OK(launch(s, get(s, "cluster_places"), grid, two, 0, params));
    CU_OK(s->cu->StreamEndCapture(s->stream, &graph));
    answer_node(s, "of a captured launch in clusters", only_node(s, graph));
    run_graph(s, graph);
    take(s, words);
    answer_wrong("blocks of a captured launch", wrong_places(words, grid, two), 4);
    memset(&value, 0, sizeof value);
    value.clusterDim.x = 4;
    value.clusterDim.y = value.clusterDim.z = 1;
    answer_ok("a node's clusters change",
              s->cu->GraphKernelNodeSetAttribute(only_node(s, graph),
                                                 CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
    answer_node(s, "and then", only_node(s, graph));
    run_graph(s, graph);
    take(s, words);
    const unsigned all[3] = {4, 1, 1};
    answer_wrong("blocks of the changed node", wrong_places(words, grid, all), 4);
    CU_OK(s->cu->GraphDestroy(graph));
}
