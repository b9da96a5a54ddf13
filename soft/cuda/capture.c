/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: stream capture. */
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct soft_capture *soft_captures;
static void unref(struct soft_capture *capture)
{
    if (--capture->refs == 0) free(capture);
}

void soft_place_clear(struct soft_capture_place *place)
{
    if (place->capture != NULL) unref(place->capture);
    free(place->nodes);
    free(place->edges);
    *place = (struct soft_capture_place){0};
}

/* `to` is then in the capture, at those nodes and no others; as it was on failure. */
static CUresult put(struct soft_capture_place *to, struct soft_capture *capture,
                    const CUgraphNode *nodes, size_t num_nodes)
{
    CUgraphNode *copy = malloc((num_nodes + 1) * sizeof(*copy));
    if (copy == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    if (num_nodes > 0) memcpy(copy, nodes, num_nodes * sizeof(*copy));
    capture->refs++;
    soft_place_clear(to);
    *to = (struct soft_capture_place){.capture = capture, .num_nodes = num_nodes, .nodes = copy};
    return CUDA_SUCCESS;
}

CUresult soft_capture_record(struct soft_stream *stream, struct soft_capture_place *event)
{
    const struct soft_capture_place *place = soft_stream_place(stream);
    return place->capture->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                  : put(event, place->capture, place->nodes, place->num_nodes);
}

static CUresult add(struct soft_capture_place *to, const CUgraphNode *nodes, size_t num_nodes)
{
    CUgraphNode *grown = realloc(to->nodes, (to->num_nodes + num_nodes + 1) * sizeof(*grown));
    if (grown == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    to->nodes = grown;
    for (size_t i = 0; i < num_nodes; i++) {
        size_t j = 0;
        while (j < to->num_nodes && grown[j] != nodes[i])
            j++;
        if (j == to->num_nodes) grown[to->num_nodes++] = nodes[i];
    }
    return CUDA_SUCCESS;
}

CUresult soft_capture_op(struct soft_stream *stream, struct soft_op *op)
{
    struct soft_capture_place *place = soft_stream_place(stream);
    struct soft_capture *capture = place->capture;
    struct soft_node *node;
    CUresult result;
    if (capture->broken) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (op->type == SOFT_NO_NODE) {
        soft_capture_break(capture);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    } else {
        result =
            soft_graph_add(capture->graph, op->type, op, place->nodes, place->num_nodes, &node);
    }
    if (result != CUDA_SUCCESS) {
        soft_op_drop(op);
        return result;
    }
    place->nodes[0] =
        (CUgraphNode)(void *)node; /* there is always room for one more than there are */
    place->num_nodes = 1;
    return CUDA_SUCCESS;
}

static CUresult join(struct soft_capture *capture, struct soft_stream *stream,
                     const CUgraphNode *nodes, size_t num_nodes)
{
    struct soft_stream **grown =
        realloc(capture->streams, (capture->num_streams + 1) * sizeof(struct soft_stream *));
    if (grown == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    capture->streams = grown;
    CUresult result = put(soft_stream_place(stream), capture, nodes, num_nodes);
    if (result == CUDA_SUCCESS) grown[capture->num_streams++] = soft_stream_ref(stream);
    return result;
}

CUresult soft_capture_of_event(struct soft_capture *capture)
{
    /* What was recorded in a capture that came to nothing (measured). */
    if (capture->graph == NULL && capture->broken) return CUDA_ERROR_INVALID_VALUE;
    if (capture->graph != NULL) soft_capture_break(capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult soft_capture_wait(struct soft_stream *stream, const struct soft_capture_place *event)
{
    struct soft_capture_place *place = soft_stream_place(stream);
    struct soft_capture *own = place->capture, *other = event == NULL ? NULL : event->capture;
    if (own != NULL && own->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (own != NULL && other == NULL) {
        soft_capture_break(own);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (other->graph == NULL) return soft_capture_of_event(other);
    if (own != NULL && own != other) {
        soft_capture_break(own);
        soft_capture_break(other);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (other->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (own == other) return add(place, event->nodes, event->num_nodes);
    if (stream == soft_stream_context(stream)->legacy) {
        soft_capture_break(other);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return join(other, stream, event->nodes, event->num_nodes);
}

/* All its streams leave it; the graph is the caller's. */
static struct soft_graph *end(struct soft_capture *capture)
{
    struct soft_graph *graph = capture->graph;
    struct soft_capture **link = &soft_captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    capture->graph = NULL;
    graph->capturing = false;
    for (size_t i = 0; i < capture->num_streams; i++) {
        soft_place_clear(soft_stream_place(capture->streams[i]));
        soft_stream_unref(capture->streams[i]);
    }
    free(capture->streams);
    capture->streams = NULL;
    capture->num_streams = 0;
    unref(capture);
    return graph;
}

void soft_capture_forget(struct soft_stream *stream)
{
    struct soft_capture_place *place = soft_stream_place(stream);
    struct soft_capture *capture = place->capture;
    if (capture == NULL) return;
    soft_capture_break(capture);
    if (stream == capture->origin) {
        soft_graph_free(end(capture));
        return;
    }
    size_t i = 0;
    while (capture->streams[i] != stream)
        i++;
    capture->streams[i] = capture->streams[--capture->num_streams];
    soft_place_clear(place);
    soft_stream_unref(stream);
}

/* Whether all that the capture's streams ended with comes before what its origin ended with. Nodes
 * that a capture adds come after those that they depend on, but the program may have added
 * dependencies. */
static bool joined(const struct soft_capture *capture)
{
    struct soft_graph *graph = capture->graph;
    const struct soft_capture_place *place = soft_stream_place(capture->origin);
    for (size_t i = 0; i < graph->num_nodes; i++)
        graph->nodes[i]->mark = 0;
    for (size_t i = 0; i < place->num_nodes; i++)
        ((struct soft_node *)(void *)place->nodes[i])->mark = 1;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = graph->num_nodes; i-- > 0;) {
            if (graph->nodes[i]->mark != 1) continue;
            graph->nodes[i]->mark = 2;
            for (size_t j = 0; j < graph->nodes[i]->num_before; j++) {
                struct soft_node *before = (struct soft_node *)(void *)graph->nodes[i]->before[j];
                if (before->mark == 0) before->mark = 1;
            }
            again = true;
        }
    }
    for (size_t i = 0; i < capture->num_streams; i++) {
        place = soft_stream_place(capture->streams[i]);
        for (size_t j = 0; j < place->num_nodes; j++)
            if (((struct soft_node *)(void *)place->nodes[j])->mark == 0) return false;
    }
    return true;
}

/* Locked on success. */
static CUresult begin_with(const char *call, CUstream handle, struct soft_stream **stream)
{
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    result = soft_stream_get(context, handle, stream);
    return result == CUDA_SUCCESS ? result : soft_end(result);
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_with(__func__, hStream, &stream));
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (stream == soft_stream_context(stream)->legacy)
        return soft_end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (soft_stream_place(stream)->capture != NULL) return soft_end(CUDA_ERROR_ILLEGAL_STATE);
    struct soft_capture *capture = calloc(1, sizeof(*capture));
    if (capture == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    capture->refs = 1;
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = soft_thread_id();
    capture->id = ++soft.next_id;
    result = soft_graph_make(&capture->graph);
    if (result != CUDA_SUCCESS) goto free_capture;
    result = join(capture, stream, NULL, 0);
    if (result != CUDA_SUCCESS) goto free_graph;
    capture->graph->capturing = true;
    capture->next = soft_captures;
    soft_captures = capture;
    return soft_end(CUDA_SUCCESS);

free_graph:
    soft_graph_free(capture->graph);
free_capture:
    free(capture->streams);
    free(capture);
    return soft_end(result);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_with(__func__, hStream, &stream));
    struct soft_capture *capture = soft_stream_place(stream)->capture;
    if (capture == NULL) return soft_end(CUDA_ERROR_ILLEGAL_STATE);
    if (phGraph != NULL) *phGraph = NULL;
    if (capture->origin != stream) {
        soft_capture_break(capture);
        return soft_end(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    /* The wrong thread ends it all the same (measured). */
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != soft_thread_id())
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (capture->broken)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (result != CUDA_SUCCESS) soft_capture_break(capture);
    struct soft_graph *graph = end(capture);
    if (result == CUDA_SUCCESS && phGraph != NULL) /* nowhere to put it: no error (measured) */
        *phGraph = (CUgraph)(void *)graph;
    else
        soft_graph_free(graph);
    return soft_end(result);
}

/* The legacy stream has no state of its own while a blocking stream is captured; asking breaks
 * nothing. */
static CUresult begin_query(const char *call, CUstream handle, const void *out,
                            struct soft_stream **stream)
{
    SOFT_TRY(begin_with(call, handle, stream));
    if (out == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_context *context = soft_stream_context(*stream);
    if (*stream == context->legacy && soft_capture_in_context(soft_captures, context, true) != NULL)
        return soft_end(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const struct soft_capture *capture)
{
    return capture == NULL   ? CU_STREAM_CAPTURE_STATUS_NONE
           : capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, captureStatus, &stream));
    *captureStatus = status_of(soft_stream_place(stream)->capture);
    return soft_end(CUDA_SUCCESS);
}

static CUresult capture_info(const char *call, CUstream handle, CUstreamCaptureStatus *status,
                             cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
                             const CUgraphEdgeData **edges, size_t *num_nodes)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(call, handle, status, &stream));
    if (edges != NULL && nodes == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_capture_place *place = soft_stream_place(stream);
    *status = status_of(place->capture);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return soft_end(CUDA_SUCCESS);
    if (edges != NULL) { /* no edge has data */
        free(place->edges);
        place->edges = calloc(place->num_nodes + 1, sizeof(*place->edges));
        if (place->edges == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
        *edges = place->edges;
    }
    if (id != NULL) *id = place->capture->id;
    if (graph != NULL) *graph = (CUgraph)(void *)place->capture->graph;
    if (nodes != NULL) *nodes = place->nodes;
    if (num_nodes != NULL) *num_nodes = place->num_nodes;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           size_t *numDependencies_out)
{
    return capture_info(__func__, hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                        NULL, numDependencies_out);
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream hStream,
                                           CUstreamCaptureStatus *captureStatus_out,
                                           cuuint64_t *id_out, CUgraph *graph_out,
                                           const CUgraphNode **dependencies_out,
                                           const CUgraphEdgeData **edgeData_out,
                                           size_t *numDependencies_out)
{
    return capture_info(__func__, hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                        edgeData_out, numDependencies_out);
}

/* What a stream capture forbids. As measured on NVIDIA's driver 580
 * (docs/measured/nvidia-measured.md) where it was measured; else what cuda.h and the CUDA
 * Programming Guide say. */

#ifdef __GLIBC__
#    include <dlfcn.h>
#    include <execinfo.h>
#endif

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* Calls that are not put into a stream, and that a capture therefore would not see. cuMemcpyHtoD is
 * none of them, nor is cuGraphLaunch into another stream. */
// clang-format off
static const char *const unsafe_calls[] = {
    "cuEventQuery", "cuEventSynchronize", "cuStreamQuery", "cuStreamSynchronize", "cuMemAlloc_v2",
    "cuMemAllocPitch_v2", "cuMemFree_v2", "cuMemAllocHost_v2", "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemcpy", "cuMemcpyDtoH_v2",
    "cuMemcpyDtoD_v2", "cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy3D_v2", "cuMemcpyPeer",
    "cuMemcpy3DPeer", "cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemsetD32_v2", "cuArrayCreate_v2",
    "cuArray3DCreate_v2", "cuArrayDestroy", "cuMipmappedArrayCreate", "cuMipmappedArrayDestroy",
    "cuSurfObjectCreate", "cuSurfObjectDestroy", "cuTexObjectCreate", "cuTexObjectDestroy",
    "cuImportExternalMemory", "cuDestroyExternalMemory", "cuImportExternalSemaphore",
    "cuDestroyExternalSemaphore", "cuModuleLoad", "cuModuleLoadData", "cuModuleUnload",
    "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams"
};
// clang-format on

void soft_capture_break(struct soft_capture *capture)
{
    capture->broken = true;
}

#ifdef __GLIBC__
static const char *swept; /* CULVERT_SOFT_CAPTURE_SWEEP; NULL: nothing is looked at */

static void read_swept(void)
{
    swept = secure_getenv("CULVERT_SOFT_CAPTURE_SWEEP");
}

/* Whether the first frame that is not the twin's own is of a module with that text in its name. */
static bool is_swept(void *const *frames, int count)
{
    Dl_info own, info;
    if (dladdr((void *)&swept, &own) == 0) return false;
    for (int i = 0; i < count; i++) {
        if (dladdr(frames[i], &info) == 0) return false;
        if (info.dli_fbase == own.dli_fbase) continue;
        return strcmp(swept, "1") == 0 || strstr(info.dli_fname, swept) != NULL;
    }
    return false;
}

/* Ends the process at a call that would end somebody's capture if there were one: a test sees it in
 * every call that it makes anyway. */
static void sweep(const char *call)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *frames[24];
    pthread_once(&once, read_swept);
    if (swept == NULL) return;
    const int count = backtrace(frames, 24);
    if (!is_swept(frames, count)) return;
    fprintf(stderr, "culvert: CULVERT_SOFT_CAPTURE_SWEEP: %s would end captures of other threads\n",
            call);
    fflush(stderr);
    backtrace_symbols_fd(frames, count, 2);
    abort();
}
#else
static void sweep(const char *call)
{
    (void)call;
}
#endif

bool soft_capture_forbids(const char *call)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
    size_t i = 0;
    while (i < sizeof(unsafe_calls) / sizeof(unsafe_calls[0]) && strcmp(unsafe_calls[i], call) != 0)
        i++;
    if (i == sizeof(unsafe_calls) / sizeof(unsafe_calls[0])) return false;
    sweep(call);
    bool forbidden = false;
    for (struct soft_capture *capture = soft_captures; capture != NULL; capture = capture->next) {
        const bool own =
            capture->thread == soft_thread_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        if (!own && (thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
                     capture->mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
            continue;
        soft_capture_break(capture);
        forbidden = true;
    }
    return forbidden;
}

struct soft_capture *soft_capture_in_context(struct soft_capture *capture,
                                             const struct soft_context *context, bool blocking_only)
{
    for (; capture != NULL; capture = capture->next)
        for (size_t i = 0; i < capture->num_streams; i++)
            if (soft_stream_context(capture->streams[i]) == context &&
                !(blocking_only &&
                  (soft_stream_flags(capture->streams[i]) & CU_STREAM_NON_BLOCKING)))
                return capture;
    return NULL;
}

CUresult soft_capture_allows_context(const struct soft_context *context)
{
    CUresult result = CUDA_SUCCESS;
    struct soft_capture *capture = soft_captures;
    sweep("a call for all of the context");
    while ((capture = soft_capture_in_context(capture, context, false)) != NULL) {
        soft_capture_break(capture);
        capture = capture->next;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult soft_capture_allows_legacy(const struct soft_stream *stream)
{
    const struct soft_context *context = soft_stream_context(stream);
    CUresult result = CUDA_SUCCESS;
    struct soft_capture *capture = stream == context->legacy ? soft_captures : NULL;
    while ((capture = soft_capture_in_context(capture, context, true)) != NULL) {
        soft_capture_break(capture);
        capture = capture->next;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

CUresult soft_capture_allows_wait(struct soft_stream *stream)
{
    const struct soft_capture_place *place = soft_stream_place(stream);
    if (place->capture == NULL) return soft_capture_allows_legacy(stream);
    soft_capture_break(place->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return soft_end(CUDA_SUCCESS);
}
