/* SPDX-License-Identifier: MIT */
/* Graphs and captures: what only the twin refuses, and many at once. What both drivers do is in the
 * contract suite. */
#define TEST_GROUP "graphs."
#include "twin.h"

#include <pthread.h>

enum { WORDS = 256 };

static CUgraphExec instantiate(const raw_cuda *cu, CUgraph graph)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how;
    CUgraphExec exec = NULL;
    memset(&how, 0, sizeof how);
    CU_OK(cu->GraphInstantiateWithParams(&exec, graph, &how));
    return exec;
}

static CUexternalSemaphore timeline(const raw_cuda *cu, culv_soft_timeline **page)
{
    CUexternalSemaphore semaphore = NULL;
    CU_OK(raw_cuda_import_timeline(cu, twin_timeline_fd(cu, page), &semaphore));
    return semaphore;
}

static CUresult poke(const raw_cuda *cu, CUfunction function, CUdeviceptr address, int value,
                     CUstream stream)
{
    void *params[] = {&address, &value};
    return cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static CUfunction poker(const raw_cuda *cu, CUmodule *module)
{
    *module = raw_cuda_load(cu, "twin_kernels");
    return raw_cuda_function(cu, *module, "twin_poke");
}

TWIN_CASE(stale_handles, CU_STREAM_NON_BLOCKING)
{
    const raw_cuda *cu = t->cu;
    CUgraph graph = NULL, copy = NULL;
    CUgraphNode node = NULL, other = NULL;
    size_t count = 0;
    CU_OK(cu->GraphCreate(&graph, 0));
    CU_OK(cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    CU_IS(cu->GraphAddEmptyNode(&other, graph, (CUgraphNode[]){node, node}, 2),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->GraphClone(&copy, graph));
    CU_IS(cu->GraphAddEmptyNode(&other, copy, &node, 1), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->GraphGetNodes(copy, NULL, &count));
    REQUIRE_EQ(count, 1);
    CUgraphExec exec = instantiate(cu, graph);
    culv_soft_counts counts = twin_counts(cu);
    REQUIRE_EQ(counts.graphs, 2);
    REQUIRE_EQ(counts.graph_execs, 1);
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->GraphDestroy(copy));
    CU_IS(cu->GraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->GraphGetNodes(graph, NULL, &count), CUDA_ERROR_INVALID_VALUE);
    CUgraphNodeType type;
    CU_IS(cu->GraphNodeGetType(node, &type), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->GraphLaunch(exec, t->stream));
    CU_OK(cu->GraphExecDestroy(exec));
    CU_IS(cu->GraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->GraphLaunch(exec, t->stream), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->StreamSynchronize(t->stream));
}

/* A launch is refused whose semaphores or kernels are gone, and leaves nothing done. */
TWIN_CASE(used_after_destruction, CU_STREAM_NON_BLOCKING)
{
    const raw_cuda *cu = t->cu;
    culv_soft_timeline *first_page, *second_page;
    CUexternalSemaphore first = timeline(cu, &first_page), second = timeline(cu, &second_page);
    CUmodule module;
    CUgraph graphs[2];
    CUdeviceptr words = raw_cuda_memory(cu, WORDS * 4);
    CUfunction function = poker(cu, &module);
    CU_OK(cu->StreamBeginCapture(t->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(raw_cuda_signal(cu, first, 5, t->stream));
    CU_OK(raw_cuda_signal(cu, second, 5, t->stream));
    CU_OK(cu->StreamEndCapture(t->stream, &graphs[0]));
    CU_OK(cu->StreamBeginCapture(t->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(poke(cu, function, words, 1, t->stream));
    CU_OK(cu->StreamEndCapture(t->stream, &graphs[1]));
    CUgraphExec execs[2] = {instantiate(cu, graphs[0]), instantiate(cu, graphs[1])};
    CU_OK(cu->DestroyExternalSemaphore(second)); /* a graph that names it is no work to wait for */
    CU_OK(cu->ModuleUnload(module));
    CU_IS(cu->GraphLaunch(execs[0], t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu->GraphLaunch(execs[1], t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(atomic_load(&first_page->value), 0);
    CU_OK(raw_cuda_signal(cu, first, 2, t->stream)); /* 5 was not signaled */
    CU_OK(cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(atomic_load(&first_page->value), 2);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->GraphExecDestroy(execs[i]));
        CU_OK(cu->GraphDestroy(graphs[i]));
    }
    CU_OK(cu->DestroyExternalSemaphore(first));
}

/* A context that ends takes executable graphs, their launches and captures along; graphs stay. */
TEST(context_ends, .own = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    const raw_cuda *cu = t.cu;
    culv_soft_timeline *page;
    CUexternalSemaphore semaphore = timeline(cu, &page);
    CUgraph graph = NULL;
    CUevent fork = NULL, join = NULL;
    CUstream other = NULL;
    CU_OK(cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->EventCreate(&fork, 0));
    CU_OK(cu->EventCreate(&join, 0));
    CU_OK(cu->StreamBeginCapture(t.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(cu->EventRecord(fork, t.stream));
    CU_OK(cu->StreamWaitEvent(other, fork, 0));
    CU_OK(raw_cuda_wait(cu, semaphore, 1, t.stream));
    CU_OK(raw_cuda_wait(cu, semaphore, 1, other));
    CU_OK(cu->EventRecord(join, other));
    CU_OK(cu->StreamWaitEvent(t.stream, join, 0));
    CU_OK(cu->StreamEndCapture(t.stream, &graph));
    CU_OK(cu->GraphLaunch(instantiate(cu, graph), t.stream));
    CU_OK(cu->StreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(raw_cuda_wait(cu, semaphore, 1, other));
    CU_OK(cu->CtxSetCurrent(NULL));
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    CU_OK(cu->GraphDestroy(graph));
    raw_cuda_require_empty(cu);
}

/* Forks and joins again and again, of which no more than WIDTH branches are under way at once. */
TWIN_CASE(many_forks, CU_STREAM_NON_BLOCKING)
{
    enum { WIDTH = 4, TURNS = 40, LAUNCHES = 5 };
    const raw_cuda *cu = t->cu;
    CUstream streams[WIDTH] = {t->stream};
    CUevent joins[WIDTH];
    CUmodule module;
    CUgraph graph = NULL;
    int found[WIDTH];
    CUdeviceptr words = raw_cuda_memory(cu, WIDTH * 4);
    CU_OK(cu->MemsetD32Async(words, 0, WIDTH, t->stream));
    CU_OK(cu->StreamSynchronize(t->stream));
    CUfunction function = poker(cu, &module);
    CUevent fork = raw_cuda_event(cu, 0);
    for (int i = 0; i < WIDTH; i++) {
        if (i > 0) CU_OK(cu->StreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        CU_OK(cu->EventCreate(&joins[i], 0));
    }
    CU_OK(cu->StreamBeginCapture(t->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int turn = 0; turn < TURNS; turn++) {
        CU_OK(cu->EventRecord(fork, t->stream));
        for (int i = 1; i < WIDTH; i++)
            CU_OK(cu->StreamWaitEvent(streams[i], fork, 0));
        for (int i = 0; i < WIDTH; i++)
            CU_OK(poke(cu, function, words + 4 * (CUdeviceptr)((i + turn) % WIDTH), turn,
                       streams[i]));
        for (int i = 1; i < WIDTH; i++) {
            CU_OK(cu->EventRecord(joins[i], streams[i]));
            CU_OK(cu->StreamWaitEvent(t->stream, joins[i], 0));
        }
    }
    CU_OK(cu->StreamEndCapture(t->stream, &graph));
    CUgraphExec exec = instantiate(cu, graph);
    size_t before = twin_threads();
    for (int i = 0; i < LAUNCHES; i++)
        CU_OK(cu->GraphLaunch(exec, t->stream));
    CU_OK(cu->StreamSynchronize(t->stream));
    /* The workers of streams and kernels are among them */
    REQUIRE(twin_threads() < before + 2 * WIDTH + 8);
    CU_OK(cu->MemcpyDtoH(found, words, sizeof found));
    for (int i = 0; i < WIDTH; i++)
        REQUIRE_EQ(found[i], TURNS - 1);
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->GraphDestroy(graph));
    for (int i = 0; i < WIDTH; i++) {
        if (i > 0) CU_OK(cu->StreamDestroy(streams[i]));
        CU_OK(cu->EventDestroy(joins[i]));
    }
    CU_OK(cu->ModuleUnload(module));
}

typedef struct player {
    const twin *t;
    CUfunction function;
    CUdeviceptr word;
} player;

/* A capture of its own, launched with other values each time, while other threads do the same. */
static void *play(void *arg)
{
    enum { LAUNCHES = 30 };
    const player *p = arg;
    const raw_cuda *cu = p->t->cu;
    culv_soft_timeline *page;
    CUstream stream = NULL, other = NULL;
    CUevent fork = NULL, join = NULL;
    CUgraph graph = NULL;
    CUgraphNode nodes[4];
    size_t count = 4;
    CU_OK(cu->CtxSetCurrent(p->t->context));
    CUexternalSemaphore semaphore = timeline(cu, &page);
    CU_OK(cu->StreamCreate(&stream, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CU_OK(cu->EventCreate(&fork, 0));
    CU_OK(cu->EventCreate(&join, 0));
    CU_OK(cu->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_OK(cu->EventRecord(fork, stream));
    CU_OK(cu->StreamWaitEvent(other, fork, 0));
    CU_OK(raw_cuda_wait(cu, semaphore, 1, stream));
    CU_OK(poke(cu, p->function, p->word, 1, other));
    CU_OK(cu->EventRecord(join, other));
    CU_OK(cu->StreamWaitEvent(stream, join, 0));
    CU_OK(cu->MemcpyDtoDAsync(p->word + 4, p->word, 4, stream));
    CU_OK(raw_cuda_signal(cu, semaphore, 2, stream));
    CU_OK(cu->StreamEndCapture(stream, &graph));
    CU_OK(cu->GraphGetNodes(graph, nodes, &count));
    REQUIRE_EQ(count, 4);
    CUgraphExec exec = instantiate(cu, graph);
    for (uint64_t k = 0; k < LAUNCHES; k++) {
        CU_OK(raw_cuda_set_wait(cu, exec, nodes[0], semaphore, 2 * k + 1));
        CU_OK(raw_cuda_set_signal(cu, exec, nodes[3], semaphore, 2 * k + 2));
        CU_OK(cu->GraphLaunch(exec, k % 2 == 0 ? stream : other));
        twin_timeline_set(page, 2 * k + 1);
        REQUIRE(twin_timeline_reaches(page, 2 * k + 2, TEST_FAR_MS));
    }
    CU_OK(cu->GraphExecDestroy(exec));
    CU_OK(cu->StreamSynchronize(stream));
    CU_OK(cu->StreamSynchronize(other));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->EventDestroy(fork));
    CU_OK(cu->EventDestroy(join));
    CU_OK(cu->StreamDestroy(stream));
    CU_OK(cu->StreamDestroy(other));
    CU_OK(cu->DestroyExternalSemaphore(semaphore));
    return NULL;
}

TWIN_CASE(crowded, CU_STREAM_NON_BLOCKING)
{
    enum { PLAYERS = 6 };
    CUmodule module;
    player players[PLAYERS];
    pthread_t threads[PLAYERS];
    int found[2 * PLAYERS];
    CUfunction function = poker(t->cu, &module);
    CUdeviceptr words = raw_cuda_memory(t->cu, sizeof found);
    for (size_t i = 0; i < PLAYERS; i++) {
        players[i] = (player){.t = t, .function = function, .word = words + 8 * i};
        REQUIRE_EQ(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    }
    for (size_t i = 0; i < PLAYERS; i++)
        pthread_join(threads[i], NULL);
    CU_OK(t->cu->MemcpyDtoH(found, words, sizeof found));
    for (size_t i = 0; i < 2 * PLAYERS; i++)
        REQUIRE_EQ(found[i], 1);
    CU_OK(t->cu->ModuleUnload(module));
}
