/* SPDX-License-Identifier: MIT */
/* The solver's side driven by CUDA graphs: one launch a burst waits, runs the kernels and signals.
 * The values and the kernels' parameters of each launch are set before it; by the driver's calls,
 * and by culv_graph on a culv_ring. */
#include "schemes.h"

#include <culvert/graph.h>
#include <string.h>

/* Name without cu, version for cuGetProcAddress. */
#define GRAPH_CALLS(X)                                                                             \
    X(GraphCreate, 10000)                                                                          \
    X(GraphAddKernelNode, 12000)                                                                   \
    X(GraphAddExternalSemaphoresSignalNode, 11020)                                                 \
    X(GraphAddExternalSemaphoresWaitNode, 11020)                                                   \
    X(GraphInstantiateWithParams, 12000)                                                           \
    X(GraphExecKernelNodeSetParams, 12000)                                                         \
    X(GraphExecExternalSemaphoresSignalNodeSetParams, 11020)                                       \
    X(GraphExecExternalSemaphoresWaitNodeSetParams, 11020)                                         \
    X(GraphLaunch, 10000)                                                                          \
    X(GraphExecDestroy, 10000)                                                                     \
    X(GraphDestroy, 10000)

typedef struct graph_calls {
#define GRAPH_FIELD(name, version) PFN_cu##name##_v##version name;
    GRAPH_CALLS(GRAPH_FIELD)
#undef GRAPH_FIELD
} graph_calls;

/* One at a time. */
typedef struct burst_graph {
    graph_calls cu;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, signal, kernels[CULV_RING_MAX_DEPTH];
    /* The timelines in CUDA, with a culv_ring. */
    culv_semaphore *ready, *done;
} burst_graph;

static burst_graph current;

static bool find(const raw_cuda *cu, const char *name, int version, void *out)
{
    CUdriverProcAddressQueryResult ignored;
    void *found = NULL;
    bool there =
        cu->GetProcAddress(name, &found, version, 0, &ignored) == CUDA_SUCCESS && found != NULL;
    memcpy(out, &found, sizeof found);
    return there;
}

static bool find_calls(const raw_cuda *cu, graph_calls *out)
{
    bool all = true;
#define GRAPH_FIND(name, version) all &= find(cu, "cu" #name, version, &out->name);
    GRAPH_CALLS(GRAPH_FIND)
#undef GRAPH_FIND
    return all;
}

static const char *obstacle(const run *r)
{
    graph_calls calls;
    return find_calls(r->b->bench.rig.cu, &calls) ? NULL : "the driver lacks graph calls";
}

static CUDA_KERNEL_NODE_PARAMS_v2 kernel(const run *r, void *params[SOLVER_PARAMS])
{
    const solver *s = &r->b->solver;
    return (CUDA_KERNEL_NODE_PARAMS_v2){.func = s->kernels[s->kernel],
                                        .gridDimX = s->blocks,
                                        .gridDimY = 1,
                                        .gridDimZ = 1,
                                        .blockDimX = SOLVER_THREADS,
                                        .blockDimY = 1,
                                        .blockDimZ = 1,
                                        .kernelParams = params};
}

static void kernel_params(const run *r, uint32_t slot, uint32_t frame, solver_job *job,
                          void *params[SOLVER_PARAMS])
{
    *job = solver_job_of(&r->b->solver, r->b->pointers[slot], r->w->bytes, r->base + frame,
                         r->w->solver_iterations, frame);
    solver_params(job, params);
}

static void add_kernels(const run *r)
{
    for (uint32_t i = 0; i < r->c->burst; i++) {
        solver_job job;
        void *params[SOLVER_PARAMS];
        kernel_params(r, 0, 0, &job, params);
        const CUDA_KERNEL_NODE_PARAMS_v2 node = kernel(r, params);
        RIG_CU(current.cu.GraphAddKernelNode(&current.kernels[i], current.graph,
                                             i == 0 ? &current.wait : &current.kernels[i - 1], 1,
                                             &node));
    }
}

static void set_kernel(const run *r, uint32_t index, uint32_t slot, uint32_t frame)
{
    solver_job job;
    void *params[SOLVER_PARAMS];
    kernel_params(r, slot, frame, &job, params);
    const CUDA_KERNEL_NODE_PARAMS_v2 node = kernel(r, params);
    RIG_CU(current.cu.GraphExecKernelNodeSetParams(current.exec, current.kernels[index], &node));
}

static void open_graph(const run *r)
{
    memset(&current, 0, sizeof current);
    REQUIRE(find_calls(r->b->bench.rig.cu, &current.cu));
    REQUIRE(r->c->frames % r->c->burst == 0);
    RIG_CU(current.cu.GraphCreate(&current.graph, 0));
}

static void instantiate(void)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    RIG_CU(current.cu.GraphInstantiateWithParams(&current.exec, current.graph, &params));
}

static void close_graph(void)
{
    RIG_CU(current.cu.GraphExecDestroy(current.exec));
    RIG_CU(current.cu.GraphDestroy(current.graph));
}

/* By hand -------------------------------------------------------------------------------------- */

static void raw_launch(run *r, uint32_t first, uint32_t count)
{
    const raw_ring *ring = r->own;
    uint32_t end = first + count;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {0};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {0};
    wait.params.fence.value = end > r->c->depth ? raw_drawn(r, end - r->c->depth) : ring->done;
    signal.params.fence.value = ++r->b->ready.value;
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&r->b->done.raw[0], &wait, 1};
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {&r->b->ready.raw[0], &signal, 1};
    RIG_CU(current.cu.GraphExecExternalSemaphoresWaitNodeSetParams(current.exec, current.wait,
                                                                   &waits));
    for (uint32_t i = 0; i < count; i++)
        set_kernel(r, i, (first + i) % r->c->depth, first + i);
    RIG_CU(current.cu.GraphExecExternalSemaphoresSignalNodeSetParams(current.exec, current.signal,
                                                                     &signals));
    RIG_CU(current.cu.GraphLaunch(current.exec, ring->stream));
}

static void prepare_raw(run *r)
{
    raw_prepare(r);
    raw_ring *ring = r->own;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait = {0};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal = {0};
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS waits = {&r->b->done.raw[0], &wait, 1};
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signals = {&r->b->ready.raw[0], &signal, 1};
    open_graph(r);
    wait.params.fence.value = ring->done;
    signal.params.fence.value = ring->ready + 1;
    RIG_CU(current.cu.GraphAddExternalSemaphoresWaitNode(&current.wait, current.graph, NULL, 0,
                                                         &waits));
    add_kernels(r);
    RIG_CU(current.cu.GraphAddExternalSemaphoresSignalNode(
        &current.signal, current.graph, &current.kernels[r->c->burst - 1], 1, &signals));
    instantiate();
    ring->launch = raw_launch;
}

static void finish_raw(run *r)
{
    close_graph();
    raw_finish(r);
}

const scheme scheme_raw_graphs = {.name = "raw ring, graphs",
                                  .obstacle = obstacle,
                                  .prepare = prepare_raw,
                                  .go = raw_go,
                                  .finish = finish_raw};

/* By culv_ring and culv_graph ------------------------------------------------------------------ */

/* A whole burst: its slots are acquired, its values set, and its graph launched. */
static bool produce_burst(run *r, uint32_t *produced)
{
    const ring_run *own = r->own;
    culv_ring *ring = culv_vk_ring_core(own->ring);
    culv_ring_frame frame;
    uint64_t wait = 0;
    for (uint32_t i = 0; i < r->c->burst; i++, ++*produced) {
        CULV_OK_OR_EXIT(culv_ring_acquire(ring, CULV_RING_PRODUCER, CULV_RING_FOREVER, &frame));
        if (frame.burst_begins) wait = frame.wait_value;
        set_kernel(r, i, frame.slot, *produced);
        CULV_OK_OR_EXIT(culv_ring_release(ring, CULV_RING_PRODUCER, &frame));
    }
    REQUIRE(frame.burst_ends != 0);
    const culv_semaphore_point waits = {current.done, wait},
                               signals = {current.ready, frame.signal_value};
    CULV_OK_OR_EXIT(culv_graph_exec_set_wait(current.exec, current.wait, &waits, 1));
    /* The first launch has the value that the node was made with. */
    if (frame.signal_value != culv_semaphore_last_value(current.ready))
        CULV_OK_OR_EXIT(culv_graph_exec_set_signal(current.exec, current.signal, &signals, 1));
    RIG_CU(current.cu.GraphLaunch(current.exec, r->b->bench.rig.stream));
    return true;
}

static void import(const run *r, culv_ring_side side, culv_semaphore **out)
{
    const ring_run *own = r->own;
    culv_vk_semaphore_desc desc = culv_vk_semaphore_desc_init();
    desc.semaphore = culv_vk_ring_semaphore(own->ring, side);
    desc.type = CULV_SEMAPHORE_TIMELINE;
    CULV_OK_OR_EXIT(culv_vk_semaphore_import(r->b->bench.rig.attached, &desc, out));
}

static void prepare_ring(run *r)
{
    ring_prepare(r);
    ring_run *own = r->own;
    open_graph(r);
    import(r, CULV_RING_PRODUCER, &current.ready);
    import(r, CULV_RING_CONSUMER, &current.done);
    const culv_semaphore_point waits = {current.done, culv_semaphore_last_value(current.done)};
    const culv_semaphore_point signals = {current.ready,
                                          culv_semaphore_last_value(current.ready) + 1};
    CULV_OK_OR_EXIT(culv_graph_add_wait(current.graph, NULL, 0, &waits, 1, &current.wait));
    add_kernels(r);
    CULV_OK_OR_EXIT(culv_graph_add_signal(current.graph, &current.kernels[r->c->burst - 1], 1,
                                          &signals, 1, &current.signal));
    instantiate();
    own->produce = produce_burst;
}

static void finish_ring(run *r)
{
    close_graph();
    culv_semaphore_destroy(&current.ready);
    culv_semaphore_destroy(&current.done);
    ring_finish(r);
}

const scheme scheme_ring_graphs = {.name = "culv_ring, graphs",
                                   .obstacle = obstacle,
                                   .prepare = prepare_ring,
                                   .go = ring_go,
                                   .finish = finish_ring};
