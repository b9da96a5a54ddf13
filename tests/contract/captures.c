/* SPDX-License-Identifier: MIT */
/* Contract rows: stream capture, what joins it, and what breaks it. Calls beside a capture:
 * measured_capture.c. */
#define TEST_GROUP "capture."
#include "graphs.h"

#include <pthread.h>

static CUstreamCaptureStatus status_of(const graph_bench *b, CUstream stream)
{
    CUstreamCaptureStatus status;
    CU_OK(b->p.cu->StreamIsCapturing(stream, &status));
    return status;
}

static void answer_status(const char *key, CUstreamCaptureStatus status,
                          CUstreamCaptureStatus expected)
{
    ANSWER(key, "%s",
           status == CU_STREAM_CAPTURE_STATUS_NONE     ? "none"
           : status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? "active"
                                                       : "invalidated");
    REQUIRE_EQ(status, expected);
}

/* The capture ends with this error, without a graph, and the stream works again. */
static void require_broken(graph_bench *b, const char *key, CUstream stream, CUresult error)
{
    CUgraph graph = (CUgraph)(void *)b;
    CUresult end = b->p.cu->StreamEndCapture(stream, &graph);
    ANSWER(key, "%s, %s", raw_cuda_result_name(end), graph == NULL ? "no graph" : "a graph");
    CU_IS(end, error);
    REQUIRE(graph == NULL);
    REQUIRE_EQ(status_of(b, stream), CU_STREAM_CAPTURE_STATUS_NONE);
    CU_OK(graph_kernel(b, b->write, 77, stream));
    CU_OK(b->p.cu->StreamSynchronize(stream));
    graph_require_words(b, 77, 0);
}

GRAPH_CASE(nothing_runs, .mark = TEST_BOTH)
{
    answer_status("before", status_of(b, b->p.stream), CU_STREAM_CAPTURE_STATUS_NONE);
    graph_begin(b, b->p.stream);
    answer_status("in it", status_of(b, b->p.stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    answer_status("in it, another stream", status_of(b, b->other), CU_STREAM_CAPTURE_STATUS_NONE);
    CU_OK(graph_kernel(b, b->write, 1, b->p.stream));
    CU_OK(raw_cuda_signal(b->p.cu, b->out.cu, 1, b->p.stream));
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    CUgraph graph = NULL, captured = NULL;
    const CUgraphNode *next = NULL;
    size_t num_next = 0;
    CU_OK(b->p.cu->StreamGetCaptureInfo(b->p.stream, &status, &id, &captured, &next, &num_next));
    REQUIRE_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    REQUIRE(id != 0);
    REQUIRE_EQ(num_next, 1);
    CUgraphNodeType type;
    CU_OK(b->p.cu->GraphNodeGetType(next[0], &type));
    ANSWER("the last node after a kernel and a signal", "one, of type %d", (int)type);
    REQUIRE_EQ(type, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL);
    graph = graph_end(b, b->p.stream);
    answer_so("the graph", graph == captured, "the one it told of", "another one");
    answer_status("after it", status_of(b, b->p.stream), CU_STREAM_CAPTURE_STATUS_NONE);
    CU_OK(b->p.cu->StreamSynchronize(b->p.stream));
    const unsigned long long counter = raw_vk_timeline_value(&b->p.vk, b->out.vk);
    uint32_t word = 1;
    cuda_read(&b->p, b->words + 4, &word, 4);
    ANSWER("what has run", "counter %llu, word %u", counter, (unsigned)word);
    REQUIRE_EQ(counter, 0);
    REQUIRE_EQ(word, 0);
}

/* Events carry a capture into another stream and back. */
GRAPH_CASE(forks_and_joins, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    CUevent fork = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING),
            join = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->p.stream);
    CU_OK(graph_kernel(b, b->write, 1, b->p.stream));
    CU_OK(cu->EventRecord(fork, b->p.stream));
    CU_OK(cu->StreamWaitEvent(b->other, fork, 0));
    answer_status("the forked stream", status_of(b, b->other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU_OK(raw_cuda_wait(cu, b->in.cu, 1, b->other));
    CU_OK(graph_kernel(b, b->add, 10, b->other));
    CU_OK(cu->EventRecord(join, b->other));
    CU_OK(raw_cuda_signal(cu, b->out.cu, 1, b->p.stream));
    CU_OK(cu->StreamWaitEvent(b->p.stream, join, 0));
    CU_OK(graph_kernel(b, b->add, 100, b->p.stream));
    CUgraph graph = graph_end(b, b->p.stream);
    answer_status("the forked stream after it", status_of(b, b->other),
                  CU_STREAM_CAPTURE_STATUS_NONE);
    size_t edges = 0;
    CU_OK(cu->GraphGetEdges(graph, NULL, NULL, &edges));
    ANSWER("the graph", "%zu nodes, %zu edges", graph_count(b, graph), edges);
    REQUIRE_EQ(graph_count(b, graph), 5);
    REQUIRE_EQ(edges, 5);
    CUgraphExec exec = graph_instantiate(b, graph);
    CU_OK(cu->GraphLaunch(exec, b->p.stream));
    graph_require_pending(b, b->p.stream);
    /* the launch is none of its work */
    answer_is("the forked stream while the launch waits", cu->StreamSynchronize(b->other),
              CUDA_SUCCESS);
    raw_vk_timeline_signal(&b->p.vk, b->in.vk, 1);
    CU_OK(cu->StreamSynchronize(b->p.stream));
    graph_answer_words(b, "words after a launch", 1, 110);
    REQUIRE_EQ(raw_vk_timeline_value(&b->p.vk, b->out.vk), 1);
}

GRAPH_CASE(unjoined, .mark = TEST_BOTH)
{
    CUevent fork = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->p.stream);
    CU_OK(b->p.cu->EventRecord(fork, b->p.stream));
    CU_OK(b->p.cu->StreamWaitEvent(b->other, fork, 0));
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    require_broken(b, "its end", b->p.stream, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    answer_status("the forked stream after it", status_of(b, b->other),
                  CU_STREAM_CAPTURE_STATUS_NONE);
}

/* A captured stream cannot be asked for its work, nor waited for; the capture is lost. */
GRAPH_CASE(asked_for_its_work, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    for (int waits = 0; waits < 2; waits++) {
        CU_OK(cu->StreamBeginCapture(b->p.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        CU_OK(graph_kernel(b, b->write, 1, b->p.stream));
        const char *call = waits ? "cuStreamSynchronize" : "cuStreamQuery";
        answer_is(call, waits ? cu->StreamSynchronize(b->p.stream) : cu->StreamQuery(b->p.stream),
                  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        answer_status(answer_key("the capture after %s", call), status_of(b, b->p.stream),
                      CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        answer_is(answer_key("a launch after %s", call), graph_kernel(b, b->write, 1, b->p.stream),
                  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        answer_is(answer_key("a signal after %s", call),
                  raw_cuda_signal(cu, b->out.cu, 1, b->p.stream),
                  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        require_broken(b, answer_key("the end after %s", call), b->p.stream,
                       CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

/* An event that was recorded in a capture is nobody else's. */
GRAPH_CASE(captured_events, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    CUevent event = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(cu->StreamBeginCapture(b->p.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_OK(cu->EventRecord(event, b->p.stream));
    answer_is("queried in its capture", cu->EventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    CUgraph graph = NULL;
    CUresult end = cu->StreamEndCapture(b->p.stream, &graph);
    answer_call("the capture's end", end);
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    CUresult query = cu->EventQuery(event), wait = cu->StreamWaitEvent(b->other, event, 0);
    answer_call("queried after it", query);
    answer_call("waited for after it", wait);
    CU_IS(end, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CU_IS(query, CUDA_ERROR_INVALID_VALUE);
    CU_IS(wait, CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->EventRecord(event, b->p.stream)); /* and is everybody's again */
    answer_is("recorded anew", cu->EventSynchronize(event), CUDA_SUCCESS);
}

/* Work outside the capture cannot come before work inside it, unless its event was never
 * recorded. */
GRAPH_CASE(waits_for_uncaptured_work, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    CUevent event = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->p.stream);
    CUresult never = cu->StreamWaitEvent(b->p.stream, event, 0);
    CUgraph graph = NULL;
    CUresult end = cu->StreamEndCapture(b->p.stream, &graph);
    answer_call("a wait for an event that was never recorded", never);
    answer_call("and its end", end);
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    CU_OK(cu->EventRecord(event, b->other));
    CU_OK(cu->StreamSynchronize(b->other));
    graph_begin(b, b->p.stream);
    answer_is("a wait for work outside", cu->StreamWaitEvent(b->p.stream, event, 0),
              CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    require_broken(b, "and the end of that", b->p.stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

GRAPH_CASE(two_captures_do_not_merge, .title = "capture.two_do_not_merge", .mark = TEST_BOTH)
{
    CUevent event = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->p.stream);
    graph_begin(b, b->other);
    CU_OK(graph_kernel(b, b->write, 1, b->other));
    CU_OK(b->p.cu->EventRecord(event, b->other));
    answer_is("a wait for the other one's event", b->p.cu->StreamWaitEvent(b->p.stream, event, 0),
              CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CUgraph graphs[2] = {NULL, NULL};
    CUresult ends[2] = {b->p.cu->StreamEndCapture(b->p.stream, &graphs[0]),
                        b->p.cu->StreamEndCapture(b->other, &graphs[1])};
    answer_call("the one that waited ends", ends[0]);
    answer_call("the other one ends", ends[1]);
    CU_IS(ends[0], CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (graphs[1] != NULL) CU_OK(b->p.cu->GraphDestroy(graphs[1]));
}

typedef struct elsewhere {
    const graph_bench *b;
    CUresult result;
} elsewhere;

static void *end_elsewhere(void *argument)
{
    elsewhere *e = argument;
    CUgraph graph = NULL;
    CU_OK(e->b->p.cu->CtxSetCurrent(e->b->p.context));
    e->result = e->b->p.cu->StreamEndCapture(e->b->p.stream, &graph);
    return NULL;
}

/* A capture ends in the thread where it began, unless it is a relaxed one; and in the stream. */
GRAPH_CASE(ends_where_it_began, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    elsewhere e = {.b = b};
    pthread_t thread;
    CUgraph graph = NULL;
    CUevent fork = raw_cuda_event(b->p.cu, CU_EVENT_DISABLE_TIMING);
    graph_begin(b, b->p.stream);
    REQUIRE(pthread_create(&thread, NULL, end_elsewhere, &e) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    answer_is("in the wrong thread", e.result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CUresult end = cu->StreamEndCapture(b->p.stream, &graph);
    answer_call("after a try in the wrong thread", end);
    CU_IS(end, CUDA_ERROR_ILLEGAL_STATE); /* the wrong thread has ended it */
    REQUIRE(graph == NULL);

    graph_begin(b, b->p.stream);
    CU_OK(cu->EventRecord(fork, b->p.stream));
    CU_OK(cu->StreamWaitEvent(b->other, fork, 0));
    answer_is("in the wrong stream", cu->StreamEndCapture(b->other, &graph),
              CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    graph = NULL;
    answer_is("after a try in the wrong stream", cu->StreamEndCapture(b->p.stream, &graph),
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));

    CU_OK(cu->StreamBeginCapture(b->p.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    graph_refused("a capture begun twice",
                  cu->StreamBeginCapture(b->p.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    graph = NULL;
    CU_OK(cu->StreamEndCapture(b->p.stream, &graph));
    REQUIRE_EQ(graph_count(b, graph), 0);
    CU_OK(cu->GraphDestroy(graph));
    graph_refused("a capture ended twice", cu->StreamEndCapture(b->p.stream, &graph));
    graph_refused("the legacy stream's capture",
                  cu->StreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
}

/* While a blocking stream is captured, the legacy stream is of no use. */
GRAPH_CASE(legacy_beside_a_blocking_stream, .mark = TEST_BOTH)
{
    const raw_cuda *cu = b->p.cu;
    CUstream blocking = NULL;
    CUstreamCaptureStatus status;
    CU_OK(cu->StreamCreate(&blocking, CU_STREAM_DEFAULT));
    CU_OK(cu->StreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer_is("cuStreamIsCapturing of the legacy stream", cu->StreamIsCapturing(NULL, &status),
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    answer_status("the capture then", status_of(b, blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    answer_is("a launch in the legacy stream", graph_kernel(b, b->write, 1, NULL),
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CUgraph graph = NULL;
    CUresult end = cu->StreamEndCapture(blocking, &graph);
    answer_call("the capture's end", end);
    if (graph != NULL) CU_OK(cu->GraphDestroy(graph));
    CU_OK(graph_kernel(b, b->write, 1, NULL));
    CU_OK(cu->StreamSynchronize(NULL));
    CU_OK(cu->StreamDestroy(blocking));
}
