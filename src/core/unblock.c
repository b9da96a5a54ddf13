/* SPDX-License-Identifier: MIT */
/* Streams that wait for a signal which nobody will make, because the device that was to make it is
 * lost or the submission never was: CUDA signals in its place. */
#include "core/semaphore.h"

#include "core/relay.h"

#include <stdio.h>

/* One that shares its hardware queue with no stream that waits, as far as CUDA lets choose: streams
 * of another priority have queues of their own. */
static CUresult make_stream(const culv_device *device, CUstream *out)
{
    int least = 0, greatest = 0;
    if (device->cuda->cuStreamCreateWithPriority != NULL &&
        device->cuda->cuCtxGetStreamPriorityRange != NULL &&
        CULVI_CU(device, cuCtxGetStreamPriorityRange, (&least, &greatest)) == CUDA_SUCCESS)
        return CULVI_CU(device, cuStreamCreateWithPriority,
                        (out, CU_STREAM_NON_BLOCKING, greatest));
    return CULVI_CU(device, cuStreamCreate, (out, CU_STREAM_NON_BLOCKING));
}

static culv_result signal_apart(culv_semaphore *semaphore, uint64_t value)
{
    culv_device *device = semaphore->device;
    const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params = {
        .params.fence.value = semaphore->type == CULV_SEMAPHORE_TIMELINE ? value : 0};
    culvi_scope scope;
    CUstream stream = NULL;
    culv_result result = culvi_enter(device, &scope, semaphore->label);
    if (result != CULV_OK) return result;
    const char *call = "cuStreamCreate";
    CUresult r = make_stream(device, &stream);
    if (r == CUDA_SUCCESS)
        r = CULVI_CU_AS(call, device, cuSignalExternalSemaphoresAsync,
                        (&semaphore->external, &params, 1, stream));
    if (r != CUDA_SUCCESS)
        result =
            culvi_fail_cuda(device, semaphore->label, r, call, CULV_REASON_DRIVER_REFUSED,
                            "CUDA could not signal %" PRIu64 " in place of another side", value);
    /* What was submitted still runs. */
    if (stream != NULL) (void)CULVI_CU(device, cuStreamDestroy, (stream));
    culvi_leave(device, &scope);
    return result;
}

/* How far CUDA has signaled it. */
static _Atomic uint64_t *reached(culv_semaphore *semaphore)
{
    return semaphore->type == CULV_SEMAPHORE_TIMELINE ? &semaphore->signaled : &semaphore->released;
}

culv_result culvi_semaphore_unblock(culv_semaphore *semaphore, uint64_t value)
{
    const culvi_relay *relay = semaphore->relay;
    if (relay != NULL && relay->path == CULV_SHARING_PEER)
        return culvi_semaphore_unblock(relay->peer, value);
    if (relay != NULL)
        return culvi_fail(&semaphore->device->voice, semaphore->label, CULV_ERROR_UNSUPPORTED,
                          CULV_REASON_NO_FORCE,
                          "CUDA cannot signal the semaphore in place of another side: it goes "
                          "through the host");
    uint64_t before = atomic_load_explicit(reached(semaphore), memory_order_relaxed);
    do {
        if (before >= value) return CULV_OK;
    } while (!atomic_compare_exchange_weak_explicit(reached(semaphore), &before, value,
                                                    memory_order_relaxed, memory_order_relaxed));
    culv_result result = signal_apart(semaphore, value);
    if (result != CULV_OK) (void)atomic_compare_exchange_strong(reached(semaphore), &value, before);
    return result;
}

uint64_t culvi_semaphore_owed(culv_semaphore *semaphore)
{
    const uint64_t waited = atomic_load_explicit(&semaphore->waits.value, memory_order_relaxed);
    const uint64_t signaled = atomic_load_explicit(reached(semaphore), memory_order_relaxed);
    return waited > signaled ? waited : 0;
}

typedef struct loss {
    uint64_t exporter;
    bool again;
} loss;

static void unblock(culvi_wait_note *note, void *context)
{
    culv_semaphore *semaphore = CULVI_CONTAINER(note, culv_semaphore, waits);
    const loss *lost = context;
    uint64_t counter = 0;
    if (semaphore->exporter != lost->exporter) return;
    if (lost->again) atomic_store_explicit(&semaphore->released, 0, memory_order_relaxed);
    const uint64_t value = culvi_semaphore_owed(semaphore);
    if (value == 0) return;
    if (note->counter != NULL && note->counter(note->context, &counter) && counter >= value) return;
    char number[32] = "";
    if (note->timeline) snprintf(number, sizeof number, " with %" PRIu64, value);
    culvi_log(&semaphore->device->voice, CULV_LOG_WARNING,
              "CUDA signals %s%s in place of a device that is lost, because a stream was told to "
              "wait for that",
              culvi_named("semaphore", semaphore->label).text, number);
    (void)culvi_semaphore_unblock(semaphore, value);
}

void culvi_semaphores_unblock(culv_device *device, uint64_t exporter, bool again)
{
    loss lost = {exporter, again};
    culvi_thread_state()->attempts++; /* the device is lost: nobody can do more */
    culvi_wait_note_each(device, unblock, &lost);
    culvi_thread_state()->attempts--;
}
