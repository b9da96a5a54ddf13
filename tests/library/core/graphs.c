/* SPDX-License-Identifier: MIT */
/* Timelines in CUDA graphs: nodes by hand and from captures, values that change from launch to
 * launch, rings that graphs drive, what is refused. */
#define TEST_GROUP "graphs."
#include "raw_binary.h"
#include "vulkan_ring_stage.h"

#define POINT(...) (&(culv_semaphore_point){__VA_ARGS__})

typedef struct scene {
    lib_world w;
    CUstream stream;
    culv_shared_semaphore *made[3];
    /* CUDA's halves: the host signals the first, CUDA the others */
    culv_semaphore *in, *out, *more;
    VkSemaphore in_vk, out_vk, more_vk;
    CUgraph graph;
    CUcontext before;
} scene;

static void scene_open(scene *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    const raw_cuda *cu = s->w.cu;
    s->stream = lib_stream(&s->w);
    for (int i = 0; i < 3; i++)
        LIB_OK(culv_vk_semaphore_create(s->w.attachment, NULL, &s->made[i]));
    s->in = culv_shared_semaphore_cuda(s->made[0]);
    s->out = culv_shared_semaphore_cuda(s->made[1]);
    s->more = culv_shared_semaphore_cuda(s->made[2]);
    s->in_vk = culv_vk_semaphore_handle(s->made[0]);
    s->out_vk = culv_vk_semaphore_handle(s->made[1]);
    s->more_vk = culv_vk_semaphore_handle(s->made[2]);
    s->before = lib_enter(&s->w);
    CU_OK(cu->GraphCreate(&s->graph, 0));
}

static void scene_close(scene *s)
{
    const raw_cuda *cu = s->w.cu;
    CU_OK(cu->GraphDestroy(s->graph));
    lib_leave(&s->w, s->before);
    lib_finish(&s->w, s->stream);
    for (int i = 0; i < 3; i++)
        culv_shared_semaphore_destroy(&s->made[i], NULL);
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

#define SCENE_CASE(...) TEST_ON(scene, s, scene_open(s), scene_close(s), __VA_ARGS__)

static CUgraphExec instantiate(const raw_cuda *cu, CUgraph graph)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
    return exec;
}

/* The launch has not gone on, or has. */
static void require_at(const scene *s, uint64_t value)
{
    if (value == 0 || raw_vk_timeline_wait((raw_vk *)&s->w.vk, s->out_vk, value, TEST_FAR_MS)) {
        lib_sleep_ms(1);
        REQUIRE_EQ(raw_vk_timeline_value((raw_vk *)&s->w.vk, s->out_vk), value);
        return;
    }
    FAIL("the timeline has not reached %llu", (unsigned long long)value);
}

/* Nodes by hand -------------------------------------------------------------------------------- */

/* in >= n, then out = n: each launch has its own n, also of those that are queued. */
SCENE_CASE(launches, .smoke = true)
{
    const raw_cuda *cu = s->w.cu;
    CUgraphNode wait = NULL, signal = NULL;
    LIB_OK(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, POINT(s->in, 1), 1, &wait));
    LIB_OK(
        culv_graph_add_node(s->graph, &wait, 1, CULV_GRAPH_SIGNAL, POINT(s->out, 1), 1, &signal));
    REQUIRE(wait != NULL && signal != NULL && wait != signal);
    REQUIRE_EQ(culv_semaphore_last_value(s->out), 1); /* promised */
    REQUIRE_EQ(culv_semaphore_last_value(s->in), 0);
    CUgraphExec exec = instantiate(cu, s->graph);
    CU_OK(cu->GraphLaunch(exec, s->stream));
    for (uint64_t n = 2; n <= 6; n++) {
        LIB_OK(culv_graph_exec_set_node(exec, wait, CULV_GRAPH_WAIT, POINT(s->in, n), 1));
        LIB_OK(culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, POINT(s->out, n), 1));
        CU_OK(cu->GraphLaunch(exec, s->stream));
        REQUIRE_EQ(culv_semaphore_last_value(s->out), n);
    }
    require_at(s, 0);
    for (uint64_t n = 1; n <= 6; n++) {
        raw_vk_timeline_signal(&s->w.vk, s->in_vk, n);
        require_at(s, n);
    }
    /* A second launch of the same value would leave the timeline where it is; Culvert knows. */
    LIB_INVALID(culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, POINT(s->out, 6), 1),
                TIMELINE_BACKWARDS);
    LIB_INVALID(culv_semaphore_signal(s->out, s->stream, 6), TIMELINE_BACKWARDS);
    LIB_OK(culv_semaphore_signal(s->out, s->stream, 7)); /* and streams go on from there */
    require_at(s, 7);
    lib_finish(&s->w, s->stream);
    CU_OK(cu->GraphExecDestroy(exec));
}

/* The other semaphore of a node that signals two: they come one after the other. */
static void require_more_at(scene *s, uint64_t value)
{
    REQUIRE(raw_vk_timeline_wait(&s->w.vk, s->more_vk, value, TEST_FAR_MS));
    REQUIRE_EQ(raw_vk_timeline_value(&s->w.vk, s->more_vk), value);
}

SCENE_CASE(several_semaphores)
{
    const raw_cuda *cu = s->w.cu;
    CUgraphNode wait = NULL, signal = NULL;
    culv_semaphore_point waits[] = {{s->in, 1}, {s->more, 0}},
                         signals[] = {{s->out, 1}, {s->more, 10}};
    LIB_OK(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, waits, 2, &wait));
    LIB_OK(culv_graph_add_node(s->graph, &wait, 1, CULV_GRAPH_SIGNAL, signals, 2, &signal));
    CUgraphExec exec = instantiate(cu, s->graph);
    for (uint64_t n = 1; n <= 3; n++) {
        if (n > 1) {
            waits[0].value = n;
            waits[1].value = 10 * (n - 1);
            signals[0].value = n;
            signals[1].value = 10 * n;
            LIB_OK(culv_graph_exec_set_node(exec, wait, CULV_GRAPH_WAIT, waits, 2));
            LIB_OK(culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, signals, 2));
        }
        CU_OK(cu->GraphLaunch(exec, s->stream));
        raw_vk_timeline_signal(&s->w.vk, s->in_vk, n);
        require_at(s, n);
        require_more_at(s, 10 * n);
    }
    /* All or nothing: the first point's value would do. */
    signals[0].value = 100;
    LIB_INVALID(culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, signals, 2),
                TIMELINE_BACKWARDS, "30");
    REQUIRE_EQ(culv_semaphore_last_value(s->out), 3);
    lib_finish(&s->w, s->stream);
    CU_OK(cu->GraphExecDestroy(exec));
}

/* Captures ------------------------------------------------------------------------------------- */

SCENE_CASE(captured)
{
    const raw_cuda *cu = s->w.cu;
    CUgraph graph = NULL;
    CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    LIB_OK(culv_semaphore_wait(s->in, s->stream, 1));
    LIB_OK(culv_semaphore_signal(s->out, s->stream, 1));
    const culv_semaphore_point batch[] = {{s->out, 2}, {s->more, 1}};
    LIB_OK(culv_semaphore_signal_batch(batch, 2, s->stream));
    CU_OK(cu->StreamEndCapture(s->stream, &graph));
    CUgraphNode signals[4] = {NULL}, waits[4] = {NULL};
    size_t num_signals = 4, num_waits = 4;
    LIB_OK(culv_graph_get_semaphore_nodes(s->w.device, graph, signals, &num_signals, waits,
                                          &num_waits));
    REQUIRE(num_signals == 2 && num_waits == 1);
    REQUIRE(signals[0] != NULL && signals[1] != NULL && signals[2] == NULL && waits[0] != NULL);
    CUgraphExec exec = instantiate(cu, graph);
    CU_OK(cu->GraphLaunch(exec, s->stream));
    require_at(s, 0);
    raw_vk_timeline_signal(&s->w.vk, s->in_vk, 1);
    require_at(s, 2);
    for (uint64_t n = 2; n <= 4; n++) {
        const culv_semaphore_point next[] = {{s->out, 2 * n}, {s->more, n}};
        LIB_OK(culv_graph_exec_set_node(exec, waits[0], CULV_GRAPH_WAIT, POINT(s->in, n), 1));
        LIB_OK(culv_graph_exec_set_node(exec, signals[0], CULV_GRAPH_SIGNAL,
                                        POINT(s->out, 2 * n - 1), 1));
        LIB_OK(culv_graph_exec_set_node(exec, signals[1], CULV_GRAPH_SIGNAL, next, 2));
        CU_OK(cu->GraphLaunch(exec, s->stream));
        raw_vk_timeline_signal(&s->w.vk, s->in_vk, n);
        require_at(s, 2 * n);
        require_more_at(s, n);
    }
    lib_finish(&s->w, s->stream);
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));
}

SCENE_CASE(found)
{
    const raw_cuda *cu = s->w.cu;
    size_t num_signals = 7, num_waits = 7;
    /* An empty graph */
    LIB_OK(culv_graph_get_semaphore_nodes(s->w.device, s->graph, NULL, &num_signals, NULL,
                                          &num_waits));
    REQUIRE(num_signals == 0 && num_waits == 0);
    CUgraphNode signals[3], waits[2], other = NULL;
    for (uint64_t i = 0; i < 3; i++)
        LIB_OK(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, POINT(s->out, i + 1), 1,
                                   &signals[i]));
    CU_OK(cu->GraphAddEmptyNode(&other, s->graph, signals, 3));
    for (uint64_t i = 0; i < 2; i++)
        LIB_OK(culv_graph_add_node(s->graph, &other, 1, CULV_GRAPH_WAIT, POINT(s->in, i), 1,
                                   &waits[i]));
    for (size_t room = 0; room < 5; room++) {
        CUgraphNode got[5] = {NULL}, all[5] = {NULL};
        num_signals = room;
        num_waits = 5;
        LIB_OK(culv_graph_get_semaphore_nodes(s->w.device, s->graph, room > 0 ? got : NULL,
                                              &num_signals, all, &num_waits));
        REQUIRE(num_signals == 3 && num_waits == 2);
        for (size_t i = 0; i < 5; i++)
            REQUIRE_EQ(got[i] != NULL, i < room && i < 3);
        REQUIRE((all[0] == waits[0] && all[1] == waits[1]) ||
                (all[0] == waits[1] && all[1] == waits[0]));
    }
}

/* Refusals ------------------------------------------------------------------------------------- */

#define NO_NODE(call, ...) LIB_REFUSES(node, call, INVALID, __VA_ARGS__)

/* Only the driver knows the node. */
static void misused(const scene *s, const char *how, culv_result result)
{
    const culv_error e = lib_last_error();
    MEASURED("graphs.misused", "%s: %s, native code %d", how, culv_result_name(result),
             (int)e.native_code);
    if (!s->w.cu->software) return;
    REQUIRE_EQ(result, CULV_ERROR_INVALID);
    REQUIRE_EQ(e.reason, CULV_REASON_VALUE);
}

SCENE_CASE(refused)
{
    const raw_cuda *cu = s->w.cu;
    CUgraphNode node = NULL;
    culv_semaphore_point one = {s->out, 5}, many[CULV_SEMAPHORE_BATCH_MAX + 1],
                         twice[] = {{s->out, 1}, {s->out, 2}};
    for (int i = 0; i <= CULV_SEMAPHORE_BATCH_MAX; i++)
        many[i] = one;
    NO_NODE(culv_graph_add_node(s->graph, NULL, 1, CULV_GRAPH_SIGNAL, &one, 1, &node),
            NULL_ARGUMENT);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, POINT(NULL, 1), 1, &node),
            NULL_ARGUMENT);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, &one, 0, &node), VALUE);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, (culv_graph_use)2, &one, 1, &node), VALUE);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, many,
                                CULV_SEMAPHORE_BATCH_MAX + 1, &node),
            VALUE);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, twice, 2, &node), VALUE);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, twice, 2, &node), VALUE);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, &one, 0, &node), VALUE);
    LIB_OK(culv_semaphore_signal(s->more, s->stream, 9));
    for (uint64_t value = 0; value <= 9; value += 9)
        NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, POINT(s->more, value), 1,
                                    &node),
                TIMELINE_BACKWARDS);
    size_t nodes = 77;
    CU_OK(cu->GraphGetNodes(s->graph, NULL, &nodes));
    REQUIRE_EQ(nodes, 0);
    REQUIRE_EQ(culv_semaphore_last_value(s->out), 0);

    CUgraphNode signal = NULL, wait = NULL;
    LIB_OK(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, &one, 1, &signal));
    LIB_OK(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, POINT(s->in, 0), 1, &wait));
    CUgraphExec exec = instantiate(cu, s->graph);
    one.value = 6;
    const culv_semaphore_point two[] = {{s->out, 6}, {s->more, 10}};
    LIB_INVALID(culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, &one, 0), VALUE);
    misused(s, "signal of a wait node",
            culv_graph_exec_set_node(exec, wait, CULV_GRAPH_SIGNAL, &one, 1));
    misused(s, "another count", culv_graph_exec_set_node(exec, signal, CULV_GRAPH_SIGNAL, two, 2));
    misused(s, "wait of a signal node",
            culv_graph_exec_set_node(exec, signal, CULV_GRAPH_WAIT, &one, 1));
    /* No value of those was noted */
    if (cu->software) REQUIRE_EQ(culv_semaphore_last_value(s->out), 5);
    CU_OK(cu->GraphExecDestroy(exec));
    lib_finish(&s->w, s->stream);
}

/* Another culv_device's, a binary one, one that is relayed. */
SCENE_CASE(refused_kinds)
{
    CUgraphNode node = NULL;
    culv_vk_device_desc vd = lib_vk_desc(&s->w);
    NEW(culv_device, other, lib_open_for_vk, &s->w, vkGetInstanceProcAddr, NULL);
    NEW(culv_vk_device, attached, culv_vk_attach, other, &vd);
    NEW(culv_shared_semaphore, theirs, culv_vk_semaphore_create, attached, NULL);
    const culv_semaphore_point mixed[] = {{s->out, 1}, {culv_shared_semaphore_cuda(theirs), 1}};
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, mixed, 2, &node),
            DEVICE_MISMATCH);
    culv_shared_semaphore_destroy(&theirs, NULL);
    culv_vk_detach(&attached);

    lib_lying = (lib_lies){.exports_no_semaphores = true};
    vd.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(s->w.device, &vd, &attached));
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.fallback = CULV_FALLBACK_HOST;
    NEW(culv_shared_semaphore, relayed, culv_vk_semaphore_create, attached, &d);
    REQUIRE_EQ(culv_semaphore_sharing(culv_shared_semaphore_cuda(relayed)), CULV_SHARING_HOST);
    LIB_REFUSES(node,
                culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL,
                                    POINT(culv_shared_semaphore_cuda(relayed), 1), 1, &node),
                UNSUPPORTED, CAPTURE);
    culv_shared_semaphore_destroy(&relayed, NULL);
    culv_vk_detach(&attached);
    culv_device_close(&other);

    raw_binary partner;
    culv_semaphore *binary = NULL;
    raw_binary_create(&s->w.vk, s->w.cu, &partner);
    culv_semaphore_desc bd = culv_semaphore_desc_init();
    bd.type = CULV_SEMAPHORE_BINARY;
    bd.handle = culv_handle_opaque_fd(raw_binary_fd(&s->w.vk, &partner));
    LIB_TAKE(culv_semaphore_import(s->w.device, &bd, &binary), &bd.handle);
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_SIGNAL, POINT(binary, 0), 1, &node),
            VALUE, "binary");
    NO_NODE(culv_graph_add_node(s->graph, NULL, 0, CULV_GRAPH_WAIT, POINT(binary, 0), 1, &node),
            VALUE);
    culv_semaphore_destroy(&binary, NULL);
    raw_binary_destroy(&s->w.vk, &partner);
}

/* A conditional's body is refused before the driver takes the node, whatever it holds already; the
 * graph around it runs with its signal. */
SCENE_CASE(bodies)
{
    const raw_cuda *cu = s->w.cu;
    CUgraphNode condition = NULL, node = NULL, host = NULL;
    size_t nodes = 0;
    if (cu->GraphConditionalHandleCreate == NULL) SKIP("the driver has no conditional nodes");
    CUgraph body = raw_cuda_conditional(cu, culv_device_context(s->w.device), s->graph, &condition);
    const culv_semaphore_point out = {s->out, 1}, in = {s->in, 1};
    for (size_t filled = 0; filled <= 1; filled++) {
        LIB_REFUSES(node, culv_graph_add_node(body, NULL, 0, CULV_GRAPH_SIGNAL, &out, 1, &node),
                    UNSUPPORTED, CAPTURE,
                    "culv_graph_add_node: the graph is the body of a conditional node");
        LIB_REFUSES(node, culv_graph_add_node(body, NULL, 0, CULV_GRAPH_WAIT, &in, 1, &node),
                    UNSUPPORTED, CAPTURE, "culv_graph_add_node");
        CU_OK(cu->GraphGetNodes(body, NULL, &nodes));
        REQUIRE_EQ(nodes, filled);
        REQUIRE_EQ(culv_semaphore_last_value(s->out), 0);
        if (filled == 0) {
            CU_OK(cu->GraphAddEmptyNode(&host, body, NULL, 0));
        }
    }
    CU_OK(cu->GraphDestroyNode(host));
    LIB_OK(culv_graph_add_node(s->graph, &condition, 1, CULV_GRAPH_SIGNAL, &out, 1, &node));
    CUgraphExec exec = instantiate(cu, s->graph);
    CU_OK(cu->GraphLaunch(exec, s->stream));
    require_at(s, 1);
    lib_finish(&s->w, s->stream);
    CU_OK(cu->GraphExecDestroy(exec));
}

/* Rings ---------------------------------------------------------------------------------------- */

/* A producer: one graph for all slots, whose kernel is told slot and frame anew. */
typedef struct produced {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, kernel, signal;
} produced;

static void produce(ring_stage *s, produced *g)
{
    const raw_cuda *cu = s->w.cu;
    culv_semaphore *ready = culv_ring_semaphore(s->ring, CULV_RING_PRODUCER);
    culv_semaphore *done = culv_ring_semaphore(s->ring, CULV_RING_CONSUMER);
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_PRODUCER, RING_LIMIT, &frame));
    ring_begin_frame(s, &s->cuda, &frame);
    LIB_OK(culv_ring_release(s->ring, CULV_RING_PRODUCER, &frame));
    const culv_semaphore_point wait = {done, frame.wait_value},
                               signal = {ready, frame.signal_value};
    CUdeviceptr pointer = culv_buffer_pointer(culv_ring_buffer(s->ring, frame.slot, 0));
    uint32_t count = RING_WORDS, seed = ring_seed(frame.number);
    void *arguments[] = {&pointer, &count, &seed};
    const CUDA_KERNEL_NODE_PARAMS kernel = {.func = s->write,
                                            .gridDimX = RING_WORDS / 256,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 256,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = arguments};
    if (g->exec == NULL) {
        CU_OK(cu->GraphCreate(&g->graph, 0));
        LIB_OK(culv_graph_add_node(g->graph, NULL, 0, CULV_GRAPH_WAIT, &wait, 1, &g->wait));
        CU_OK(cu->GraphAddKernelNode(&g->kernel, g->graph, &g->wait, 1, &kernel));
        LIB_OK(culv_graph_add_node(g->graph, &g->kernel, 1, CULV_GRAPH_SIGNAL, &signal, 1,
                                   &g->signal));
        g->exec = instantiate(cu, g->graph);
    } else {
        LIB_OK(culv_graph_exec_set_node(g->exec, g->wait, CULV_GRAPH_WAIT, &wait, 1));
        CU_OK(cu->GraphExecKernelNodeSetParams(g->exec, g->kernel, &kernel));
        LIB_OK(culv_graph_exec_set_node(g->exec, g->signal, CULV_GRAPH_SIGNAL, &signal, 1));
    }
    CU_OK(cu->GraphLaunch(g->exec, s->stream));
    ring_released(&s->cuda, &frame);
}

/* A consumer: a graph for each slot, captured at its first frame. */
static void consume(ring_stage *s, produced *all)
{
    const raw_cuda *cu = s->w.cu;
    culv_semaphore *ready = culv_ring_semaphore(s->ring, CULV_RING_PRODUCER);
    culv_semaphore *done = culv_ring_semaphore(s->ring, CULV_RING_CONSUMER);
    culv_ring_frame frame;
    LIB_OK(culv_ring_acquire(s->ring, CULV_RING_CONSUMER, RING_LIMIT, &frame));
    ring_begin_frame(s, &s->cuda, &frame);
    LIB_OK(culv_ring_release(s->ring, CULV_RING_CONSUMER, &frame));
    produced *g = &all[frame.slot];
    if (g->exec == NULL) {
        CUdeviceptr from = culv_buffer_pointer(culv_ring_buffer(s->ring, frame.slot, 0));
        CU_OK(cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        LIB_OK(culv_semaphore_wait(ready, s->stream, frame.wait_value));
        CU_OK(cu->MemcpyDtoHAsync(ring_copy(s, &s->cuda, frame.slot), from, RING_BYTES, s->stream));
        LIB_OK(culv_semaphore_signal(done, s->stream, frame.signal_value));
        CU_OK(cu->StreamEndCapture(s->stream, &g->graph));
        size_t signals = 1, waits = 1;
        LIB_OK(culv_graph_get_semaphore_nodes(s->w.device, g->graph, &g->signal, &signals, &g->wait,
                                              &waits));
        REQUIRE(signals == 1 && waits == 1);
        g->exec = instantiate(cu, g->graph);
    } else {
        LIB_OK(culv_graph_exec_set_node(g->exec, g->wait, CULV_GRAPH_WAIT,
                                        POINT(ready, frame.wait_value), 1));
        LIB_OK(culv_graph_exec_set_node(g->exec, g->signal, CULV_GRAPH_SIGNAL,
                                        POINT(done, frame.signal_value), 1));
    }
    CU_OK(cu->GraphLaunch(g->exec, s->stream));
    ring_released(&s->cuda, &frame);
}

static void ring_by_graphs(culv_ring_side vulkan)
{
    enum { DEPTH = 4, FRAMES = 200 };
    ring_stage s;
    produced graphs[DEPTH];
    memset(graphs, 0, sizeof graphs);
    ring_options o = {.side = vulkan, .depth = DEPTH};
    ring_world_open(&s);
    ring_open(&s, &o);
    REQUIRE(culv_ring_semaphore(s.ring, (culv_ring_side)2) == NULL);
    REQUIRE(culv_ring_semaphore(NULL, CULV_RING_PRODUCER) == NULL);
    const raw_cuda *cu = s.w.cu;
    CUcontext before = lib_enter(&s.w);
    for (int i = 0; i < FRAMES; i++) {
        if (vulkan == CULV_RING_CONSUMER) produce(&s, graphs);
        LIB_OK(ring_vulkan_turn(&s, RING_LIMIT));
        if (vulkan == CULV_RING_PRODUCER) consume(&s, graphs);
    }
    LIB_OK(culv_ring_drain(s.ring, RING_LIMIT, 0));
    lib_finish(&s.w, s.stream);
    for (int i = 0; i < DEPTH; i++) {
        if (graphs[i].exec == NULL) continue;
        CU_OK(cu->GraphExecDestroy(graphs[i].exec));
        CU_OK(cu->GraphDestroy(graphs[i].graph));
    }
    lib_leave(&s.w, before);
    ring_close(&s);
    REQUIRE_EQ(vulkan == CULV_RING_CONSUMER ? s.vulkan.verified : s.cuda.verified, FRAMES);
    ring_world_close(&s);
}

TEST_AS(ring_produced, ring_by_graphs(CULV_RING_CONSUMER))
TEST_AS(ring_consumed, ring_by_graphs(CULV_RING_PRODUCER))
