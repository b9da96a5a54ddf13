/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: streams. Each is a queue with a worker thread of its own, started with
 * its first work.
 *
 * The worker takes the head of its queue, waits until all points that it depends on are reached,
 * runs it unlocked, retires it and counts it as complete. Points always lie in work submitted
 * earlier, so there is no cycle. The legacy default stream is a stream whose every operation
 * depends on all blocking streams, and they on it. */
#include "graph.h"

#include <stdlib.h>

struct soft_stream {
    struct soft_object object; /* registered only if a program created it */
    struct soft_stream *next;  /* in the context */
    unsigned refs;             /* one for the context's list, one for each point */
    bool registered, started, closing;
    bool abandoned; /* a wait was given up: what follows it must not run */
    unsigned flags;
    int priority;
    uint64_t id;
    uint64_t thread; /* whose per-thread default stream this is, 0 = nobody's */
    pthread_cond_t work;
    struct soft_op *head, **tail;
    uint64_t submitted, completed;
    struct soft_capture_place place; /* what its next node depends on while it is being captured */
};

static _Thread_local uint64_t thread_id;

void *soft_op_new(size_t size, CUresult (*run)(struct soft_op *), void (*retire)(struct soft_op *))
{
    struct soft_op *op = calloc(1, size);
    if (op == NULL) return NULL;
    op->run = run;
    op->retire = retire;
    op->type = SOFT_NO_NODE;
    return op;
}

static void release_points(struct soft_op *op)
{
    for (size_t i = 0; i < op->num_points; i++)
        soft_stream_unref(op->points[i].stream);
    free(op->points);
    op->points = NULL;
    op->num_points = 0;
}

void soft_op_drop(void *operation)
{
    struct soft_op *op = operation;
    if (op->more_owners > 0) {
        op->more_owners--;
        return;
    }
    if (op->retire != NULL) op->retire(op);
    release_points(op);
    free(op);
}

CUresult soft_op_admit(struct soft_op *op, const struct soft_context *context)
{
    return op->admit == NULL ? CUDA_SUCCESS : op->admit(op, context);
}

void soft_op_recall(struct soft_op *op)
{
    if (op->recall != NULL) op->recall(op);
}

bool soft_point_reached(const struct soft_point *point)
{
    return point->stream->completed >= point->seq;
}

void soft_point_wait(const struct soft_point *point)
{
    while (!soft_point_reached(point))
        pthread_cond_wait(&soft.progress, &soft.lock);
}

CUresult soft_op_add_point(void *operation, struct soft_stream *stream, uint64_t seq)
{
    struct soft_op *op = operation;
    if (stream->completed >= seq) return CUDA_SUCCESS;
    struct soft_point *points = realloc(op->points, (op->num_points + 1) * sizeof(*points));
    if (points == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    op->points = points;
    points[op->num_points++] = (struct soft_point){.stream = soft_stream_ref(stream), .seq = seq};
    return CUDA_SUCCESS;
}

CUresult soft_op_after_context(void *operation, const struct soft_context *context,
                               bool blocking_only)
{
    for (struct soft_stream *stream = context->streams; stream != NULL; stream = stream->next) {
        if (blocking_only && (stream->flags & CU_STREAM_NON_BLOCKING)) continue;
        CUresult result = soft_op_add_point(operation, stream, stream->submitted);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}

struct soft_stream *soft_stream_ref(struct soft_stream *stream)
{
    stream->refs++;
    return stream;
}

void soft_stream_unref(struct soft_stream *stream)
{
    if (--stream->refs > 0) return;
    pthread_cond_destroy(&stream->work);
    free(stream);
}

struct soft_context *soft_stream_context(const struct soft_stream *stream)
{
    return stream->object.context;
}

uint64_t soft_stream_submitted(const struct soft_stream *stream)
{
    return stream->submitted;
}

unsigned soft_stream_flags(const struct soft_stream *stream)
{
    return stream->flags;
}

bool soft_stream_captured(const struct soft_stream *stream)
{
    return stream->place.capture != NULL;
}

struct soft_capture_place *soft_stream_place(struct soft_stream *stream)
{
    return &stream->place;
}

uint64_t soft_thread_id(void)
{
    if (thread_id == 0) thread_id = ++soft.next_id;
    return thread_id;
}

static void unlink_stream(struct soft_stream *stream)
{
    struct soft_stream **link = &stream->object.context->streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    soft_stream_unref(stream);
    pthread_cond_broadcast(&soft.progress);
}

/* A dying context does not wait for other contexts' work: nobody may be left to submit what that
 * waits for. */
static bool ready(struct soft_stream *stream, const struct soft_op *op)
{
    const struct soft_context *context = stream->object.context;
    for (size_t i = 0; i < op->num_points; i++) {
        if (soft_point_reached(&op->points[i])) continue;
        if (!context->dying || op->points[i].stream->object.context == context) return false;
        stream->abandoned = true;
    }
    return true;
}

static void *worker(void *arg)
{
    struct soft_stream *stream = arg;
    void *token = soft_fault_thread_begin();

    pthread_mutex_lock(&soft.lock);
    struct soft_context *context = stream->object.context;
    for (;;) {
        while (stream->head == NULL && !stream->closing)
            pthread_cond_wait(&stream->work, &soft.lock);
        struct soft_op *op = stream->head;
        if (op == NULL) break;
        while (!ready(stream, op))
            pthread_cond_wait(&soft.progress, &soft.lock);
        if (op->run != NULL && !stream->abandoned && context->error == 0) {
            pthread_mutex_unlock(&soft.lock);
            CUresult result = op->run(op);
            pthread_mutex_lock(&soft.lock);
            if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
                stream->abandoned = true;
            else if (result != CUDA_SUCCESS)
                soft_context_fail(context, result);
        }
        stream->head = op->next;
        if (stream->head == NULL) stream->tail = &stream->head;
        stream->completed = op->seq;
        soft_op_drop(op);
        pthread_cond_broadcast(&soft.progress);
    }
    unlink_stream(stream);
    pthread_mutex_unlock(&soft.lock);

    soft_fault_thread_end(token);
    return NULL;
}

bool soft_stream_start(struct soft_stream *stream)
{
    if (!stream->started) stream->started = soft_thread_start(worker, stream);
    return stream->started;
}

CUresult soft_submit(struct soft_stream *stream, void *operation)
{
    struct soft_op *op = operation;
    struct soft_context *context = stream->object.context;

    if (stream->place.capture != NULL) return soft_capture_op(stream, op);
    CUresult result = soft_capture_allows_legacy(stream);
    if (result == CUDA_SUCCESS) result = soft_op_admit(op, context);
    if (result != CUDA_SUCCESS) {
        soft_op_drop(op);
        return result;
    }
    op->stream = stream;
    if (stream == context->legacy)
        result = soft_op_after_context(op, context, true);
    else if (!(stream->flags & CU_STREAM_NON_BLOCKING) && context->legacy != NULL)
        result = soft_op_add_point(op, context->legacy, context->legacy->submitted);
    if (result == CUDA_SUCCESS && !soft_stream_start(stream)) result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        soft_op_recall(op);
        soft_op_drop(op);
        return result;
    }
    op->seq = ++stream->submitted;
    *stream->tail = op;
    stream->tail = &op->next;
    pthread_cond_signal(&stream->work);
    return CUDA_SUCCESS;
}

CUresult soft_submit_and_wait(struct soft_stream *stream, void *op)
{
    struct soft_context *context = stream->object.context;
    SOFT_TRY(soft_submit(stream, op));
    struct soft_point end = {.stream = soft_stream_ref(stream), .seq = stream->submitted};
    soft_point_wait(&end);
    soft_stream_unref(stream);
    return (CUresult)context->error;
}

/* Waits for what `bag` (never submitted) was made to depend on. */
static CUresult wait_for(struct soft_op *bag, const struct soft_context *context, CUresult result)
{
    for (size_t i = 0; i < bag->num_points && result == CUDA_SUCCESS; i++)
        soft_point_wait(&bag->points[i]);
    release_points(bag);
    return result != CUDA_SUCCESS ? result : (CUresult)context->error;
}

CUresult soft_context_wait(struct soft_context *context)
{
    struct soft_op bag = {0};
    return wait_for(&bag, context, soft_op_after_context(&bag, context, false));
}

void soft_context_enter(const struct soft_context *context)
{
    while (soft_object_find(context, SOFT_CONTEXT) != NULL && context->holder != 0 &&
           context->holder != soft_thread_id())
        pthread_cond_wait(&soft.progress, &soft.lock);
}

CUresult soft_context_wait_holding(struct soft_context *context)
{
    soft_context_enter(context);
    if (soft_object_find(context, SOFT_CONTEXT) == NULL) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    context->holder = soft_thread_id();
    CUresult result = soft_context_wait(context);
    context->holder = 0;
    pthread_cond_broadcast(&soft.progress);
    return result;
}

static CUresult make_stream(struct soft_context *context, unsigned flags, int priority,
                            struct soft_stream **out)
{
    struct soft_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    stream->object.context = context;
    stream->refs = 1;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = ++soft.next_id;
    stream->tail = &stream->head;
    pthread_cond_init(&stream->work, NULL);
    stream->next = context->streams;
    context->streams = stream;
    *out = stream;
    return CUDA_SUCCESS;
}

static CUresult per_thread_stream(struct soft_context *context, struct soft_stream **out)
{
    const uint64_t thread = soft_thread_id();
    for (struct soft_stream *stream = context->streams; stream != NULL; stream = stream->next) {
        if (stream->thread != thread) continue;
        *out = stream;
        return CUDA_SUCCESS;
    }
    CUresult result = make_stream(context, CU_STREAM_DEFAULT, 0, out);
    if (result == CUDA_SUCCESS) (*out)->thread = thread;
    return result;
}

CUresult soft_stream_get(struct soft_context *context, CUstream handle, struct soft_stream **out)
{
    if (handle == NULL && soft_null_is_per_thread) handle = CU_STREAM_PER_THREAD;
    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        if (context->legacy == NULL) {
            CUresult result = make_stream(context, CU_STREAM_DEFAULT, 0, &context->legacy);
            if (result != CUDA_SUCCESS) return result;
        }
        *out = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) return per_thread_stream(context, out);
    struct soft_stream *stream = soft_object_find(handle, SOFT_STREAM);
    if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->object.context->error != 0) return (CUresult)stream->object.context->error;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult soft_stream_marker(struct soft_context *context, struct soft_stream **out)
{
    CUresult result = CUDA_SUCCESS;
    if (context->marker == NULL)
        result = make_stream(context, CU_STREAM_NON_BLOCKING, 0, &context->marker);
    *out = context->marker;
    return result;
}

static void close_stream(struct soft_stream *stream)
{
    soft_capture_forget(stream);
    if (stream->registered) soft_object_remove(&stream->object);
    stream->registered = false;
    stream->closing = true;
    if (stream->started)
        pthread_cond_signal(&stream->work); /* the worker unlinks the stream after its last work */
    else
        unlink_stream(stream);
}

CUresult soft_stream_private(struct soft_context *context, struct soft_stream **out)
{
    CUresult result = make_stream(context, CU_STREAM_NON_BLOCKING, 0, out);
    if (result == CUDA_SUCCESS) soft_stream_ref(*out);
    return result;
}

void soft_stream_release(struct soft_stream *stream)
{
    if (!stream->closing) close_stream(stream); /* else the context has ended */
    soft_stream_unref(stream);
}

void soft_streams_end(struct soft_context *context)
{
    for (struct soft_stream *stream = context->streams, *next; stream != NULL; stream = next) {
        next = stream->next;
        close_stream(stream);
    }
    pthread_cond_broadcast(&soft.progress);
    while (context->streams != NULL)
        pthread_cond_wait(&soft.progress, &soft.lock);
    context->legacy = NULL;
    context->marker = NULL;
}

CUresult soft_stream_create(struct soft_context *context, unsigned flags, int priority,
                            CUstream *handle)
{
    struct soft_stream *stream;
    /* cuda.h: clamped to the range that cuCtxGetStreamPriorityRange gives. */
    if (priority > 0) priority = 0;
    if (priority < SOFT_GREATEST_PRIORITY) priority = SOFT_GREATEST_PRIORITY;
    SOFT_TRY(make_stream(context, flags, priority, &stream));
    soft_object_add(&stream->object, SOFT_STREAM, context);
    stream->registered = true;
    *handle = (CUstream)(void *)stream;
    return CUDA_SUCCESS;
}

static CUresult create(const char *call, CUstream *handle, unsigned flags, int priority)
{
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    if (handle == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    return soft_end(soft_stream_create(context, flags, priority, handle));
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return create(__func__, phStream, Flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    return create(__func__, phStream, flags, priority);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_stream *stream = soft_object_find(hStream, SOFT_STREAM);
    if (stream == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = stream->object.context->error; /* told, and freed all the same */
    close_stream(stream);
    return soft_end((CUresult)error);
}

/* What a program means by "this stream's work": the legacy stream's includes the blocking
 * streams'. */
static CUresult work_of(struct soft_op *bag, struct soft_stream *stream)
{
    struct soft_context *context = stream->object.context;
    if (stream == context->legacy) return soft_op_after_context(bag, context, true);
    return soft_op_add_point(bag, stream, stream->submitted);
}

CUresult soft_stream_wait(struct soft_stream *stream)
{
    struct soft_op bag = {0};
    return wait_for(&bag, stream->object.context, work_of(&bag, stream));
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_on(__func__, hStream, &stream));
    struct soft_op bag = {0};
    result = soft_capture_allows_wait(stream);
    if (result == CUDA_SUCCESS) result = work_of(&bag, stream);
    if (result == CUDA_SUCCESS && bag.num_points > 0) result = CUDA_ERROR_NOT_READY;
    release_points(&bag);
    return soft_end(result);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_on(__func__, hStream, &stream));
    struct soft_op bag = {0};
    const struct soft_context *context = stream->object.context;
    SOFT_STEP(soft_capture_allows_wait(stream));
    return soft_end(wait_for(&bag, context, work_of(&bag, stream)));
}

/* Finds the stream for one of the queries below; locked on success. */
static CUresult begin_query(const char *call, CUstream handle, const void *out,
                            struct soft_stream **stream)
{
    SOFT_TRY(soft_begin_on(call, handle, stream));
    return out == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE) : result;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, pctx, &stream));
    *pctx = (CUcontext)(void *)stream->object.context;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, pCtx, &stream));
    struct soft_context *context = stream->object.context;
    *pCtx = (CUcontext)(void *)context;
    if (pGreenCtx != NULL)
        *pGreenCtx = context->green_count != 0 ? (CUgreenCtx)(void *)context : NULL;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, flags, &stream));
    *flags = stream->flags;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, priority, &stream));
    *priority = stream->priority;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct soft_stream *stream;
    SOFT_TRY(begin_query(__func__, hStream, streamId, &stream));
    *streamId = stream->id;
    return soft_end(CUDA_SUCCESS);
}
