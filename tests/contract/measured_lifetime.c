/* SPDX-License-Identifier: MIT */
/* What destroying does while work is pending, and after a sticky error: answered, asserted only
 * where the library needs it. */
#define TEST_GROUP "measured."
#include "contract.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DELAY_US LATE_SIGNAL_US

static void CUDA_CB sleep_on_stream(void *data)
{
    (void)data;
    usleep(DELAY_US);
}

/* Memory of CUDA's own that the pending work never touches, of the smallest size too: its end waits
 * for all work of the context. */
PAIR_CASE(free_with_pending_work, .mark = TEST_BOTH)
{
    static const size_t sizes[] = {1, 65536, (size_t)4 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        CUdeviceptr kept = 0, freed = 0;
        CU_OK(p->cu->MemAlloc(&kept, sizes[i])); /* so that it is not the last one of its block */
        CU_OK(p->cu->MemAlloc(&freed, sizes[i]));
        CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        CU_OK(p->cu->MemFree(freed));
        answer_ok(answer_key("work after cuMemFree of %zu bytes", sizes[i]),
                  p->cu->StreamQuery(p->stream));
        CU_OK(p->cu->StreamSynchronize(p->stream));
        CU_OK(p->cu->MemFree(kept));
    }
}

/* The pair's stream waits for `t`, which the host signals a little later. */
static void wait_for_late(pair *p, const shared_timeline *t, late_signal *late)
{
    CU_OK(raw_cuda_wait(p->cu, t->cu, 1, p->stream));
    late_signal_start(late, &p->vk, t->vk, 1);
}

/* The pending work never touches the buffer that is freed. */
PAIR_CASE(free_of_a_mapping_with_pending_work, .own = true)
{
    shared_timeline t = pair_timeline(p, 0);
    for (int by_host_function = 0; by_host_function < 2; by_host_function++) {
        const char *work = by_host_function ? "a host function" : "a timeline wait";
        shared_buffer b;
        late_signal late;
        shared_buffer_open(p, 1u << 20, 0, false, &b);
        if (by_host_function)
            CU_OK(p->cu->LaunchHostFunc(p->stream, sleep_on_stream, NULL));
        else
            wait_for_late(p, &t, &late);
        answer_ok(answer_key("cuMemFree beside %s", work), p->cu->MemFree(b.pointer));
        CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS); /* it waited for all of it */
        answer_call(answer_key("cuDestroyExternalMemory beside %s", work),
                    p->cu->DestroyExternalMemory(b.memory));
        if (!by_host_function) late_signal_join(&late);
        CU_OK(p->cu->StreamSynchronize(p->stream));
        raw_vk_buffer_destroy(&p->vk, &b.vk);
    }
}

PAIR_CASE(destroy_memory_with_pending_work, .own = true)
{
    CUexternalMemory memory;
    shared_timeline t = pair_timeline(p, 0);
    raw_vk_buffer vk = pair_vk_buffer(p, 1u << 20, RAW_VK_EXPORT);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size, false,
                                 &memory));
    late_signal late;
    wait_for_late(p, &t, &late);
    answer_ok("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(memory));
    late_signal_join(&late);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* The guide forbids it (R1). What happens is for the library's documentation; nothing rests on
 * it. */
PAIR_CASE(destroy_semaphore_with_a_pending_wait, .own = true)
{
    shared_timeline t;
    shared_timeline_open(p, 0, &t);
    late_signal late;
    wait_for_late(p, &t, &late);
    answer_call("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(t.cu));
    late_signal_join(&late);
    answer_call("the stream then", stream_result(p, patience(p, 3000)));
    test_pass(); /* the stream may never end */
}

/* Destroying waits for work that has nothing to do with what is destroyed. */
PAIR_CASE(destroy_idle_semaphore_beside_pending_work, .own = true)
{
    shared_timeline idle, busy = pair_timeline(p, 0);
    shared_timeline_open(p, 0, &idle);
    late_signal late;
    wait_for_late(p, &busy, &late);
    answer_ok("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(idle.cu));
    CU_IS(p->cu->StreamQuery(p->stream), CUDA_SUCCESS);
    late_signal_join(&late);
    raw_vk_timeline_destroy(&p->vk, idle.vk);
}

typedef struct cuda_signal {
    pair *p;
    CUexternalSemaphore semaphore;
    VkSemaphore timeline;
    CUstream stream;
    atomic_bool entered, done, rescued;
    int waiter; /* the thread that gives back */
    CUresult result;
} cuda_signal;

static void *signal_late_by_cuda(void *argument)
{
    cuda_signal *s = argument;
    CU_OK(s->p->cu->CtxSetCurrent(s->p->context));
    while (!atomic_load(&s->entered)) /* on a busy machine the other thread may be late */
        usleep(1000);
    usleep(DELAY_US);
    if (s->p->cu->software) (void)test_asleep(0, s->waiter, 0); /* a real driver may spin */
    s->result = raw_cuda_signal(s->p->cu, s->semaphore, 2, s->stream);
    atomic_store(&s->done, true);
    return NULL;
}

/* Ends the wait from Vulkan's side where CUDA's own signal does not get through. */
static void *rescue(void *argument)
{
    cuda_signal *s = argument;
    while (!atomic_load(&s->entered))
        usleep(1000);
    usleep(20 * DELAY_US);
    if (!atomic_load(&s->done)) {
        atomic_store(&s->rescued, true);
        raw_vk_timeline_signal(&s->p->vk, s->timeline, 1);
    }
    return NULL;
}

/* A thread that waits inside cuMemFree keeps another thread from submitting what it waits for.
 * Whether cuDestroyExternalSemaphore does too was not measured; the twin does so. */
static void give_back_while_another_thread_signals(pair *p, bool a_semaphore)
{
    shared_buffer b;
    shared_timeline t = pair_timeline(p, 0), idle;
    pthread_t thread, rescuer;
    shared_timeline_open(p, 0, &idle);
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    cuda_signal s = TEST_ROW(.p = p, .semaphore = t.cu, .timeline = t.vk,
                             .stream = raw_cuda_stream(p->cu), .waiter = (int)syscall(SYS_gettid));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    REQUIRE(pthread_create(&thread, NULL, signal_late_by_cuda, &s) == 0);
    REQUIRE(pthread_create(&rescuer, NULL, rescue, &s) == 0);
    atomic_store(&s.entered, true);
    const CUresult result =
        a_semaphore ? p->cu->DestroyExternalSemaphore(idle.cu) : p->cu->MemFree(b.pointer);
    REQUIRE(pthread_join(thread, NULL) == 0 && pthread_join(rescuer, NULL) == 0);
    answer_ok(a_semaphore ? "cuDestroyExternalSemaphore" : "cuMemFree", result);
    answer_ok("the other thread's signal", s.result);
    /* Not its own signal ended the wait. */
    if (!a_semaphore || p->cu->software) REQUIRE(atomic_load(&s.rescued));
    if (a_semaphore) {
        CU_OK(p->cu->MemFree(b.pointer));
        raw_vk_timeline_destroy(&p->vk, idle.vk);
    } else {
        shared_timeline_close(p, &idle);
    }
    CU_OK(p->cu->DestroyExternalMemory(b.memory));
    raw_vk_buffer_destroy(&p->vk, &b.vk);
}

PAIR_AS(free_while_another_thread_signals, give_back_while_another_thread_signals(p, false),
        .own = true)
PAIR_AS(destroy_semaphore_while_another_thread_signals,
        give_back_while_another_thread_signals(p, true), .mark = TEST_TWIN_STRICTER,
        .reason = "of NVIDIA's driver presumed, as cuMemFree holds the context, and reported",
        .own = true)

PAIR_CASE(destroy_event_and_stream_with_a_pending_wait, .own = true)
{
    late_signal late;
    CUevent event = NULL;
    CUstream stream = NULL; /* the pair's is destroyed with it */
    shared_timeline t = pair_timeline(p, 0);
    CU_OK(p->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, stream));
    CU_OK(p->cu->EventRecord(event, stream));
    CU_IS(p->cu->EventQuery(event), CUDA_ERROR_NOT_READY);
    late_signal_start(&late, &p->vk, t.vk, 1);
    answer_ok("cuEventDestroy", p->cu->EventDestroy(event));
    answer_ok("cuStreamDestroy", p->cu->StreamDestroy(stream));
    late_signal_join(&late);
    answer_ok("cuCtxSynchronize, once the wait is over", p->cu->CtxSynchronize());
}

PAIR_CASE(ctx_record_event)
{
    if (p->cu->CtxRecordEvent == NULL) SKIP("this driver has no cuCtxRecordEvent");
    shared_timeline t = pair_timeline(p, 0);
    CUevent event = raw_cuda_event(p->cu, CU_EVENT_DISABLE_TIMING);
    CU_OK(raw_cuda_wait(p->cu, t.cu, 1, p->stream));
    answer_call("on the primary context", p->cu->CtxRecordEvent(p->context, event));
    answer_call("while a stream waits", p->cu->EventQuery(event));
    raw_vk_timeline_signal(&p->vk, t.vk, 1);
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_call("after it", p->cu->EventSynchronize(event));
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_buffer b;
    shared_timeline t;
    CUevent event = NULL;
    /* A first import, so that what a driver keeps is counted. */
    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_buffer_close(p, &b);
    shared_timeline_open(p, 0, &t);
    shared_timeline_close(p, &t);
    const size_t before = test_open_fds();

    shared_buffer_open(p, 1u << 20, 0, false, &b);
    shared_timeline_open(p, 0, &t);
    CU_OK(p->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUmodule module = raw_cuda_load(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    /* No program has a mapping there. */
    CU_OK(words_launch(p->cu, write, 0x1000, 64, 0, p->stream));
    const CUresult recorded =
        p->cu->EventRecord(event, p->stream); /* fails if the fault is known */
    REQUIRE(recorded == CUDA_SUCCESS || recorded == CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("cuStreamSynchronize after the kernel", p->cu->StreamSynchronize(p->stream));
    uint32_t word = 0; /* it stays */
    answer_call("cuMemcpyDtoH of the mapping", p->cu->MemcpyDtoH(&word, b.pointer, sizeof word));
    answer_call("cuEventQuery", p->cu->EventQuery(event));
    answer_call("cuSignalExternalSemaphoresAsync", raw_cuda_signal(p->cu, t.cu, 1, p->stream));
    answer_call("cuEventDestroy", p->cu->EventDestroy(event));
    answer_call("cuMemFree of the mapping", p->cu->MemFree(b.pointer));
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(b.memory));
    answer_call("cuDestroyExternalSemaphore", p->cu->DestroyExternalSemaphore(t.cu));
    answer_call("cuModuleUnload", p->cu->ModuleUnload(module));
    answer_call("cuStreamDestroy", p->cu->StreamDestroy(p->stream));
    answer_call("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    answer_call("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
    CUcontext again = NULL;
    answer_call("cuDevicePrimaryCtxRetain again", p->cu->DevicePrimaryCtxRetain(&again, p->device));
    raw_vk_timeline_destroy(&p->vk, t.vk);
    raw_vk_buffer_destroy(&p->vk, &b.vk);
    ANSWER("fds more than before the objects", "%s", test_open_fds() > before ? "some" : "none");
    if (p->cu->software) {
        REQUIRE_EQ(test_open_fds(), before);
        raw_cuda_require_empty(p->cu);
        raw_vk_close(&p->vk);
    }
    test_pass(); /* NVIDIA's driver is not to be used any further in this process */
}
