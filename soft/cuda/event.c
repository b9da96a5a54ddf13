/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: events. Recording makes a record: the point in the stream that completes
 * it, and the time when it did. Waits take the record as it is at the call, so recording again does
 * not move them. */
#include "graph.h"
#include "semaphore_page.h"

#include <stdlib.h>

struct record {
    unsigned refs;
    struct soft_point point;
    uint64_t time_ns;
};

struct event {
    struct soft_object object;
    unsigned flags;
    struct record *record;      /* NULL = never recorded, which counts as complete */
    struct soft_ipc_event *ipc; /* of several processes: then there is never a record */
    /* In the capture that it was recorded in last; then there is no record */
    struct soft_capture_place place;
};

struct record_op {
    struct soft_op op;
    struct record *record;
};

static void unref(struct record *record)
{
    if (record == NULL || --record->refs > 0) return;
    if (record->point.stream != NULL) soft_stream_unref(record->point.stream);
    free(record);
}

static void retire_record(struct soft_op *op)
{
    struct record *record = ((struct record_op *)(void *)op)->record;
    record->time_ns = soft_now_ns();
    unref(record);
}

void soft_event_free(void *handle)
{
    struct event *event = handle;
    unref(event->record);
    soft_ipc_event_unref(event->ipc);
    soft_place_clear(&event->place);
    soft_object_remove(&event->object);
    free(event);
}

/* Puts a record of `event` into the stream; after `context`'s other streams too, if asked. */
static CUresult record(struct event *event, struct soft_stream *stream,
                       const struct soft_context *context)
{
    struct record *made = calloc(1, sizeof(*made));
    struct record_op *op = soft_op_new(sizeof(*op), NULL, retire_record);
    if (made == NULL || op == NULL) {
        free(made);
        free(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->refs = 2; /* the operation's and the event's */
    op->record = made;
    CUresult result = context == NULL ? CUDA_SUCCESS : soft_op_after_context(op, context, false);
    /* Set before the worker can see the operation; a failed submission is undone below. */
    made->point = (struct soft_point){.stream = soft_stream_ref(stream),
                                      .seq = soft_stream_submitted(stream) + 1};
    if (result == CUDA_SUCCESS) {
        result = soft_submit(stream, op);
    } else {
        soft_op_drop(op);
    }
    if (result != CUDA_SUCCESS) {
        unref(made);
        return result;
    }
    unref(event->record);
    soft_place_clear(&event->place);
    event->record = made;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct soft_context *context;
    SOFT_TRY(soft_begin(__func__, SOFT_NEED_CONTEXT, &context));
    if (phEvent == NULL || (Flags & ~known)) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if ((Flags & CU_EVENT_INTERPROCESS) && !(Flags & CU_EVENT_DISABLE_TIMING))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct event *event = calloc(1, sizeof(*event));
    if (event == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    if (Flags & CU_EVENT_INTERPROCESS) event->ipc = soft_ipc_event_new();
    if ((Flags & CU_EVENT_INTERPROCESS) && event->ipc == NULL) {
        free(event);
        return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    event->flags = Flags;
    soft_object_add(&event->object, SOFT_EVENT, context);
    *phEvent = (CUevent)(void *)event;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent hEvent)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    const struct event *event = soft_object_find(hEvent, SOFT_EVENT);
    if (pHandle == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (event == NULL || event->ipc == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_ipc_event_describe(event->ipc, pHandle);
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (phEvent == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct event *event = calloc(1, sizeof(*event));
    if (event == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    result = soft_ipc_event_open(&handle, &event->ipc);
    if (result != CUDA_SUCCESS) {
        free(event);
        return soft_end(result);
    }
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    soft_object_add(&event->object, SOFT_EVENT, context);
    *phEvent = (CUevent)(void *)event;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct event *event = soft_object_find(hEvent, SOFT_EVENT);
    if (event == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    int error = event->object.context->error; /* told, and freed all the same */
    soft_event_free(event);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    struct soft_context *context;
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_stream(__func__, hStream, &context));
    struct event *event = soft_object_find(hEvent, SOFT_EVENT);
    if (event == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    SOFT_STEP(soft_stream_get(context, hStream, &stream));
    /* R6: an event is recorded in streams of its own context only. */
    if (soft_context_family(soft_stream_context(stream)) !=
        soft_context_family(event->object.context))
        return soft_end(CUDA_ERROR_INVALID_HANDLE);
    const struct soft_capture_place *place = soft_stream_place(stream);
    if (event->ipc != NULL)
        return soft_end(place->capture == NULL ? soft_ipc_event_record(event->ipc, stream)
                                               : CUDA_ERROR_NOT_SUPPORTED);
    if (place->capture == NULL) return soft_end(record(event, stream, NULL));
    result = soft_capture_record(stream, &event->place);
    if (result == CUDA_SUCCESS) {
        unref(event->record);
        event->record = NULL;
    }
    return soft_end(result);
}

CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    struct soft_context *context =
        hCtx == NULL ? soft_context_current() : soft_object_find(hCtx, SOFT_CONTEXT);
    if (context == NULL || soft_object_find(context, SOFT_CONTEXT) == NULL)
        return soft_end(CUDA_ERROR_INVALID_CONTEXT);
    if (!context->active) return soft_end(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (context->error != 0) return soft_end((CUresult)context->error);
    struct event *event = soft_object_find(hEvent, SOFT_EVENT);
    if (event == NULL || soft_context_family(event->object.context) != soft_context_family(context))
        return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (event->ipc != NULL) return soft_end(CUDA_ERROR_NOT_SUPPORTED);
    struct soft_stream *marker;
    result = soft_capture_allows_context(context);
    if (result == CUDA_SUCCESS) result = soft_stream_marker(context, &marker);
    if (result == CUDA_SUCCESS) result = record(event, marker, context);
    return soft_end(result);
}

/* The event for a call on it, whatever context is current (measured); locked on success. */
static CUresult begin_with(const char *call, CUevent hEvent, struct event **event)
{
    SOFT_TRY(soft_begin(call, SOFT_NEED_INIT, NULL));
    *event = soft_object_find(hEvent, SOFT_EVENT);
    if (*event != NULL) {
        soft_context_enter((*event)->object.context);
        *event = soft_object_find(hEvent, SOFT_EVENT);
    }
    if (*event == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if ((*event)->object.context->error != 0)
        return soft_end((CUresult)(*event)->object.context->error);
    if ((*event)->place.capture != NULL)
        return soft_end(soft_capture_of_event((*event)->place.capture));
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    struct event *event;
    SOFT_TRY(begin_with(__func__, hEvent, &event));
    bool done = event->ipc != NULL
                    ? soft_ipc_event_reached(event->ipc, soft_ipc_event_recorded(event->ipc))
                    : event->record == NULL || soft_point_reached(&event->record->point);
    return soft_end(done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

/* Unlocks meanwhile: the event and its context may go. */
static CUresult wait_for_ipc(struct soft_ipc_event *event, const struct soft_context *context)
{
    const uint64_t value = soft_ipc_event_recorded(event);
    bool alive = true;
    soft_ipc_event_ref(event);
    while (!soft_ipc_event_reached(event, value) && alive && context->error == 0) {
        pthread_mutex_unlock(&soft.lock);
        soft_ipc_event_sleep(event, value);
        pthread_mutex_lock(&soft.lock);
        alive = soft_object_find(context, SOFT_CONTEXT) != NULL;
    }
    soft_ipc_event_unref(event);
    return alive ? (CUresult)context->error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    struct event *event;
    SOFT_TRY(begin_with(__func__, hEvent, &event));
    if (event->ipc != NULL) return soft_end(wait_for_ipc(event->ipc, event->object.context));
    struct record *record = event->record;
    if (record == NULL) return soft_end(CUDA_SUCCESS);
    /* The event may be destroyed or recorded again meanwhile. */
    struct soft_context *context = event->object.context;
    record->refs++;
    soft_point_wait(&record->point);
    unref(record);
    return soft_end((CUresult)context->error);
}

static CUresult elapsed(const char *call, float *milliseconds, CUevent hStart, CUevent hEnd)
{
    struct event *start;
    SOFT_TRY(begin_with(call, hStart, &start));
    struct event *end = soft_object_find(hEnd, SOFT_EVENT);
    if (milliseconds == NULL || end == NULL ||
        ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) || start->record == NULL ||
        end->record == NULL)
        return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (!soft_point_reached(&start->record->point) || !soft_point_reached(&end->record->point))
        return soft_end(CUDA_ERROR_NOT_READY);
    *milliseconds = (float)((double)end->record->time_ns - (double)start->record->time_ns) * 1e-6f;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return elapsed(__func__, pMilliseconds, hStart, hEnd);
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    return elapsed(__func__, pMilliseconds, hStart, hEnd);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct soft_context *context;
    struct soft_stream *stream;
    SOFT_TRY(soft_begin_stream(__func__, hStream, &context));
    if (Flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct event *event = soft_object_find(hEvent, SOFT_EVENT);
    if (event == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    SOFT_STEP(soft_stream_get(context, hStream, &stream));
    if (event->ipc != NULL)
        return soft_end(soft_stream_place(stream)->capture == NULL
                            ? soft_ipc_event_wait(event->ipc, stream)
                            : CUDA_ERROR_NOT_SUPPORTED);
    if (event->record == NULL && event->place.capture == NULL) return soft_end(CUDA_SUCCESS);
    if (event->place.capture != NULL || soft_stream_place(stream)->capture != NULL) {
        return soft_end(
            soft_capture_wait(stream, event->place.capture == NULL ? NULL : &event->place));
    }
    /* Its worker starts either way: a process's threads must not depend on who was quicker. */
    if (soft_point_reached(&event->record->point))
        return soft_end(soft_stream_start(stream) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    struct soft_op *op = soft_op_new(sizeof(*op), NULL, NULL);
    if (op == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    result = soft_op_add_point(op, event->record->point.stream, event->record->point.seq);
    if (result != CUDA_SUCCESS) {
        soft_op_drop(op);
        return soft_end(result);
    }
    return soft_end(soft_submit(stream, op));
}
