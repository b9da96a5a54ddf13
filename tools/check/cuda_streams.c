/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: streams, events, and what the host knows of them. */
#include "cuda_inside.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- streams ---- */

typedef struct stream {
    int agent;
    bool blocking;
} stream;

static uint64_t blocking_agents, cuda_agents;
static _Atomic int captures;
static int context_agent, waiting_agent; /* of cuCtxRecordEvent() and cuCtxWaitEvent() */
/* What all work of CUDA's waits for since cuCtxWaitEvent(), or NULL. Under the lock. */
static check_mark *context_waits;

/* The model is another one, after fork(), and its parent's agents and marks are not in it. */
void cuda_forget_streams(void)
{
    blocking_agents = cuda_agents = 0;
    captures = context_agent = waiting_agent = 0;
    context_waits = NULL;
}

#define LEGACY_KEY UINT64_C(1)

static uint64_t stream_key(CUstream handle, bool per_thread)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t thread;
    if (handle == CU_STREAM_PER_THREAD || (handle == NULL && per_thread)) {
        if (thread == 0) thread = (UINT64_C(1) << 63) + ++threads;
        return thread;
    }
    return handle == NULL || handle == CU_STREAM_LEGACY ? LEGACY_KEY : (uint64_t)(uintptr_t)handle;
}

static stream *stream_add(check_model *m, uint64_t key, bool blocking)
{
    char name[48];
    stream *s = check_get(CHECK_OF_CU_STREAM, key);
    if (s != NULL) return s;
    s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    if (key == LEGACY_KEY)
        (void)snprintf(name, sizeof name, "the legacy stream");
    else if (key >> 63 != 0)
        (void)snprintf(name, sizeof name, "a per-thread stream");
    else
        (void)snprintf(name, sizeof name, "CUstream 0x%llx", (unsigned long long)key);
    s->agent = check_agent_make(m, CHECK_CUDA, name);
    s->blocking = blocking && key != LEGACY_KEY;
    if (s->agent > 0) cuda_agents |= UINT64_C(1) << s->agent;
    if (s->blocking && s->agent > 0) blocking_agents |= UINT64_C(1) << s->agent;
    (void)check_put(CHECK_OF_CU_STREAM, key, s);
    if (context_waits != NULL && s->agent > 0) {
        const check_site site = {.call = "cuCtxWaitEvent"};
        const check_work told = {.after = context_waits};
        check_submit(m, s->agent, &told, &site);
    }
    return s;
}
void cuda_work_begin(work *w, const char *call, CUstream handle, bool per_thread)
{
    memset(w, 0, offsetof(work, accesses));
    w->num_accesses = w->num_turns = 0;
    w->signals = w->joins_all = w->runs_code = w->blocks = w->tells_hosts = false;
    w->records = w->follows = NULL;
    w->mark = NULL;
    w->agent = 0;
    w->site = check_here(call);
    w->handle = handle;
    w->per_thread = per_thread;
    check_inside++;
    if (captures > 0 && stream_key(handle, per_thread) != LEGACY_KEY) {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CUresult(CUDAAPI * ask)(CUstream, CUstreamCaptureStatus *);
        void *found =
            cuda_ask_driver(per_thread ? "cuStreamIsCapturing_ptsz" : "cuStreamIsCapturing");
        memcpy(&ask, &found, sizeof ask);
        if (found != NULL && ask(handle, &status) == CUDA_SUCCESS)
            w->capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
    }
}
int cuda_agent_of(CUstream handle, bool per_thread)
{
    const uint64_t key = stream_key(handle, per_thread);
    unsigned flags = 0;
    check_model *m = check_open();
    if (m == NULL) return 0;
    const stream *s = check_get(CHECK_OF_CU_STREAM, key);
    const int known = s != NULL ? s->agent : -1;
    check_close();
    if (known >= 0) return known;
    if (key != LEGACY_KEY && key >> 63 == 0) {
        CUresult(CUDAAPI * ask)(CUstream, unsigned *);
        void *found = cuda_ask_driver("cuStreamGetFlags");
        memcpy(&ask, &found, sizeof ask);
        if (found == NULL || ask(handle, &flags) != CUDA_SUCCESS) return 0; /* no stream at all */
    }
    m = check_open();
    if (m == NULL) return 0;
    s = stream_add(m, key, (flags & CU_STREAM_NON_BLOCKING) == 0);
    const int agent = s != NULL ? s->agent : 0;
    check_close();
    return agent;
}

uint64_t cuda_before(CUstream handle, bool per_thread)
{
    const stream *s = check_get(CHECK_OF_CU_STREAM, stream_key(handle, per_thread));
    const stream *legacy = check_get(CHECK_OF_CU_STREAM, LEGACY_KEY);
    if (s != NULL && s == legacy) return blocking_agents;
    if (s != NULL && s->blocking && legacy != NULL && legacy->agent > 0)
        return UINT64_C(1) << legacy->agent;
    return 0;
}

/* Tells the model, before the driver may begin. */
void cuda_work_submit(work *w)
{
    if (w->capturing) {
        return; /* a graph does it later, as often as it is launched */
    }
    w->agent = cuda_agent_of(w->handle, w->per_thread);
    check_model *m = check_open();
    if (m == NULL) return;
    check_work told = {.accesses = w->accesses,
                       .num_accesses = w->num_accesses,
                       .joins_all = w->joins_all,
                       .runs_code = w->runs_code,
                       .host_may_know = w->tells_hosts,
                       .after_agents = cuda_before(w->handle, w->per_thread)};
    if (w->signals) {
        told.signals = w->turns;
        told.num_signals = w->num_turns;
    } else {
        told.waits = w->turns;
        told.num_waits = w->num_turns;
    }
    if (w->follows != NULL) {
        told.after = check_get(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)w->follows);
        if (told.after == NULL) told.joins_all = true; /* another process's, or never recorded */
    }
    if (w->records != NULL) {
        told.mark = check_mark_make();
        if (told.mark != NULL)
            check_mark_drop(
                check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)w->records, told.mark));
    }
    if (w->mark != NULL) told.mark = w->mark;
    check_submit(m, w->agent, &told, &w->site);
    check_close();
}

void cuda_work_failed(const work *w)
{
    check_model *m = check_open();
    if (m == NULL) return;
    const check_work told = {.waits = w->turns,
                             .num_waits = w->num_turns,
                             .accesses = w->accesses,
                             .num_accesses = w->num_accesses};
    check_submit_failed(m, &told);
    check_close();
}

void cuda_host_saw_stream(CUstream handle, bool per_thread)
{
    const uint64_t key = stream_key(handle, per_thread);
    check_model *m = check_open();
    if (m == NULL) return;
    const stream *s = check_get(CHECK_OF_CU_STREAM, key);
    if (s != NULL) check_host_saw_agent(m, s->agent);
    if (s != NULL && key == LEGACY_KEY) check_host_saw_agents(m, blocking_agents);
    check_close();
}
// clang-format off
ON_STREAM(cuStreamWaitValue32_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint32_t v, unsigned f), (s, at, v, f), s, w.joins_all = true, NOTHING)
ON_STREAM(cuStreamWaitValue64_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint64_t v, unsigned f), (s, at, v, f), s, w.joins_all = true, NOTHING)
ON_STREAM(cuStreamWriteValue32_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint32_t v, unsigned f), (s, at, v, f), s, w.tells_hosts = true, NOTHING)
ON_STREAM(cuStreamWriteValue64_v2, ptsz, (CUstream s, CUdeviceptr at, cuuint64_t v, unsigned f), (s, at, v, f), s, w.tells_hosts = true, NOTHING)
ON_STREAM(cuEventRecord, ptsz, (CUevent e, CUstream s), (e, s), s, w.records = e, NOTHING)
ON_STREAM(cuEventRecordWithFlags, ptsz, (CUevent e, CUstream s, unsigned f), (e, s, f), s, w.records = e, NOTHING)
ON_STREAM(cuStreamWaitEvent, ptsz, (CUstream s, CUevent e, unsigned f), (s, e, f), s, w.follows = e, NOTHING)
// clang-format on

static void stream_made(CUstream handle, unsigned flags)
{
    check_model *m = check_open();
    if (m == NULL) return;
    (void)stream_add(m, (uint64_t)(uintptr_t)handle, (flags & CU_STREAM_NON_BLOCKING) == 0);
    check_close();
}

CHECK_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned flags)
{
    REAL(cuStreamCreate, (CUstream *, unsigned), (out, flags))
    check_inside++;
    const CUresult result = real(out, flags);
    if (result == CUDA_SUCCESS) stream_made(*out, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *out, unsigned flags,
                                                         int priority)
{
    REAL(cuStreamCreateWithPriority, (CUstream *, unsigned, int), (out, flags, priority))
    check_inside++;
    const CUresult result = real(out, flags, priority);
    if (result == CUDA_SUCCESS) stream_made(*out, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle)
{
    REAL(cuStreamDestroy_v2, (CUstream), (handle))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        stream *s = check_put(CHECK_OF_CU_STREAM, (uint64_t)(uintptr_t)handle, NULL);
        if (s != NULL) {
            if (s->agent > 0) {
                blocking_agents &= ~(UINT64_C(1) << s->agent);
                cuda_agents &= ~(UINT64_C(1) << s->agent);
            }
            check_agent_end(m, s->agent);
            free(s);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

static CUresult saw_stream(CUresult(CUDAAPI *real)(CUstream), CUstream s, bool per_thread,
                           const char *call)
{
    check_inside++;
    const int slot = call != NULL ? check_wait_begin(call, NULL, 0) : -1;
    const CUresult result = real(s);
    check_wait_end(slot);
    if (result == CUDA_SUCCESS) cuda_host_saw_stream(s, per_thread);
    check_inside--;
    return result;
}

#define SAW_STREAM(symbol, per_thread, call)                                                       \
    CHECK_EXPORT CUresult CUDAAPI symbol(CUstream s)                                               \
    {                                                                                              \
        REAL(symbol, (CUstream), (s))                                                              \
        return saw_stream(real, s, per_thread, call);                                              \
    }
SAW_STREAM(cuStreamSynchronize, false, "cuStreamSynchronize")
SAW_STREAM(cuStreamSynchronize_ptsz, true, "cuStreamSynchronize")
SAW_STREAM(cuStreamQuery, false, NULL)
SAW_STREAM(cuStreamQuery_ptsz, true, NULL)

static CUresult saw_event(CUresult(CUDAAPI *real)(CUevent), CUevent e, const char *call)
{
    /* The mark of now: the event may be recorded again meanwhile. */
    check_mark *mark = NULL;
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        mark = check_get(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e);
        check_mark_keep(mark);
        check_close();
    }
    const int slot = call != NULL ? check_wait_begin(call, NULL, 0) : -1;
    const CUresult result = real(e);
    check_wait_end(slot);
    m = mark != NULL ? check_open() : NULL;
    if (m != NULL) {
        if (result == CUDA_SUCCESS) check_host_saw_mark(m, mark);
        check_mark_drop(mark);
        check_close();
    } else if (result == CUDA_SUCCESS && (m = check_open()) != NULL) {
        check_host_may_know(m, CHECK_CUDA); /* it was recorded unseen */
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent e)
{
    REAL(cuEventSynchronize, (CUevent), (e))
    return saw_event(real, e, "cuEventSynchronize");
}

CHECK_EXPORT CUresult CUDAAPI cuEventQuery(CUevent e)
{
    REAL(cuEventQuery, (CUevent), (e))
    return saw_event(real, e, NULL);
}

CHECK_EXPORT CUresult CUDAAPI cuEventDestroy_v2(CUevent e)
{
    REAL(cuEventDestroy_v2, (CUevent), (e))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        check_mark_drop(check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e, NULL));
        check_close();
    }
    const CUresult result = real(e);
    check_inside--;
    return result;
}

static CUresult saw_all(CUresult result)
{
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        check_host_saw_api(m, CHECK_CUDA);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    REAL(cuCtxSynchronize, (void), ())
    check_inside++;
    const int slot = check_wait_begin("cuCtxSynchronize", NULL, 0);
    const CUresult result = real();
    check_wait_end(slot);
    return saw_all(result);
}

CHECK_EXPORT CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context)
{
    REAL(cuCtxSynchronize_v2, (CUcontext), (context))
    check_inside++;
    const int slot = check_wait_begin("cuCtxSynchronize", NULL, 0);
    const CUresult result = real(context);
    check_wait_end(slot);
    return saw_all(result);
}

/* An event of the context: all streams' work is before it. */
CHECK_EXPORT CUresult CUDAAPI cuCtxRecordEvent(CUcontext context, CUevent e)
{
    REAL(cuCtxRecordEvent, (CUcontext, CUevent), (context, e))
    const check_site site = check_here("cuCtxRecordEvent");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        if (context_agent == 0) context_agent = check_agent_make(m, CHECK_CUDA, "a context");
        check_work told = {.after_agents = cuda_agents, .mark = check_mark_make()};
        if (told.mark != NULL)
            check_mark_drop(check_put(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e, told.mark));
        check_submit(m, context_agent, &told, &site);
        check_close();
    }
    const CUresult result = real(context, e);
    check_inside--;
    return result;
}

/* All work that the context's streams get from now on is after the event, that of new streams too.
 * Which streams are the context's is not looked at: every stream of CUDA's waits. */
CHECK_EXPORT CUresult CUDAAPI cuCtxWaitEvent(CUcontext context, CUevent e)
{
    REAL(cuCtxWaitEvent, (CUcontext, CUevent), (context, e))
    const check_site site = check_here("cuCtxWaitEvent");
    check_inside++;
    const CUresult result = real(context, e);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        /* Its works come one after another, so that the last mark stands for all events. */
        if (waiting_agent == 0)
            waiting_agent = check_agent_make(m, CHECK_CUDA, "a context's waits");
        check_work told = {.after = check_get(CHECK_OF_CU_EVENT, (uint64_t)(uintptr_t)e),
                           .mark = check_mark_make()};
        told.joins_all = told.after == NULL;
        check_submit(m, waiting_agent, &told, &site);
        check_mark_drop(context_waits);
        context_waits = told.mark;
        told = (check_work){.after = context_waits};
        for (int i = 1; i < CHECK_AGENTS; i++)
            if ((cuda_agents >> i & 1) != 0) check_submit(m, i, &told, &site);
        check_close();
    }
    check_inside--;
    return result;
}

#define BEGIN_CAPTURE(symbol, parameters, types, arguments)                                        \
    CHECK_EXPORT CUresult CUDAAPI symbol parameters                                                \
    {                                                                                              \
        REAL(symbol, types, arguments)                                                             \
        check_inside++;                                                                            \
        const CUresult result = real arguments;                                                    \
        if (result == CUDA_SUCCESS) captures++;                                                    \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
// clang-format off
#define OF_MODE (CUstream s, CUstreamCaptureMode mode), (CUstream, CUstreamCaptureMode), (s, mode)
#define TO_GRAPH (CUstream s, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode), \
                 (CUstream, CUgraph, const CUgraphNode *, const CUgraphEdgeData *, size_t, CUstreamCaptureMode), (s, graph, after, edges, count, mode)
#define BEGIN(...) BEGIN_CAPTURE(__VA_ARGS__)
BEGIN_CAPTURE(cuStreamBeginCapture, (CUstream s), (CUstream), (s))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (CUstream s), (CUstream), (s))
BEGIN(cuStreamBeginCapture_v2, OF_MODE)
BEGIN(cuStreamBeginCapture_v2_ptsz, OF_MODE)
BEGIN(cuStreamBeginCaptureToGraph, TO_GRAPH)
BEGIN(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH)
// clang-format on

#define END_CAPTURE(symbol)                                                                        \
    CHECK_EXPORT CUresult CUDAAPI symbol(CUstream s, CUgraph *graph)                               \
    {                                                                                              \
        REAL(symbol, (CUstream, CUgraph *), (s, graph))                                            \
        check_inside++;                                                                            \
        const CUresult result = real(s, graph);                                                    \
        if (result == CUDA_SUCCESS && captures > 0) captures--;                                    \
        check_inside--;                                                                            \
        return result;                                                                             \
    }
END_CAPTURE(cuStreamEndCapture)
END_CAPTURE(cuStreamEndCapture_ptsz)
