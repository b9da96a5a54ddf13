/* SPDX-License-Identifier: MIT */
/* The order of work: streams, the legacy stream, events, host functions. */
#define TEST_GROUP "streams."
#include "pages.h"
#include "twin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct step {
    atomic_int *counter;
    int seen; /* the counter's value when this step ran */
} step;

static void CUDA_CB take_number(void *data)
{
    step *s = data;
    s->seen = atomic_fetch_add(s->counter, 1);
}

/* Blocking streams and the legacy stream wait for each other; a non-blocking stream waits for
 * neither. */
TWIN_CASE(legacy_order, CU_STREAM_DEFAULT)
{
    CUstream other, free_one;
    atomic_int counter = 0;
    step in_legacy = {.counter = &counter}, after = {.counter = &counter},
         beside = {.counter = &counter};
    twin_gate *gate = twin_gate_new();
    CU_OK(t->cu->StreamCreate(&other, CU_STREAM_DEFAULT));
    CU_OK(t->cu->StreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
    CU_OK(t->cu->LaunchHostFunc(t->stream, twin_gate_wait, gate));
    CU_OK(t->cu->LaunchHostFunc(NULL, take_number, &in_legacy));
    CU_OK(t->cu->LaunchHostFunc(other, take_number, &after));
    CU_OK(t->cu->LaunchHostFunc(free_one, take_number, &beside));
    CU_OK(t->cu->StreamSynchronize(free_one));
    REQUIRE_EQ(beside.seen, 0);
    CU_IS(t->cu->StreamQuery(NULL), CUDA_ERROR_NOT_READY);
    CU_IS(t->cu->StreamQuery(other), CUDA_ERROR_NOT_READY);
    twin_gate_open(gate);
    CU_OK(t->cu->StreamSynchronize(other));
    REQUIRE_EQ(in_legacy.seen, 1);
    REQUIRE_EQ(after.seen, 2);
    CU_OK(t->cu->StreamQuery(NULL));
    CU_OK(t->cu->StreamDestroy(other));
    CU_OK(t->cu->StreamDestroy(free_one));
    twin_gate_free(gate);
}

static void CUDA_CB sleep_20ms(void *data)
{
    usleep(20000);
}

TWIN_CASE(event_times, CU_STREAM_NON_BLOCKING)
{
    CUevent start, end, untimed;
    float ms = -1.0f;
    CU_OK(t->cu->EventCreate(&start, 0));
    CU_OK(t->cu->EventCreate(&end, 0));
    CU_OK(t->cu->EventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    const double before = test_now_us();
    CU_OK(t->cu->EventRecord(start, t->stream));
    CU_OK(t->cu->LaunchHostFunc(t->stream, sleep_20ms, NULL));
    CU_OK(t->cu->EventRecord(end, t->stream));
    CU_OK(t->cu->EventRecord(untimed, t->stream));
    CU_IS(t->cu->EventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
    CU_OK(t->cu->EventSynchronize(end));
    CU_OK(t->cu->EventElapsedTime(&ms, start, end));
    REQUIRE(ms >= 19.0f && ms <= (float)(1e-3 * (test_now_us() - before)) + 1.0f);
    CU_OK(t->cu->EventDestroy(start));
    CU_OK(t->cu->EventDestroy(end));
    CU_OK(t->cu->EventDestroy(untimed));
    CU_IS(t->cu->EventDestroy(untimed), CUDA_ERROR_INVALID_HANDLE);
}

/* The per-thread stream by its handle: one a thread, ordered against the legacy stream. */
TWIN_CASE(per_thread, CU_STREAM_NON_BLOCKING)
{
    unsigned long long first = 0, again = 1, legacy = 0;
    atomic_int counter = 0;
    step one = {.counter = &counter}, two = {.counter = &counter};
    CU_OK(t->cu->StreamGetId(CU_STREAM_PER_THREAD, &first));
    CU_OK(t->cu->StreamGetId(CU_STREAM_PER_THREAD, &again));
    CU_OK(t->cu->StreamGetId(CU_STREAM_LEGACY, &legacy));
    REQUIRE(first == again && first != legacy);
    CU_OK(t->cu->LaunchHostFunc(CU_STREAM_PER_THREAD, take_number, &one));
    CU_OK(t->cu->LaunchHostFunc(CU_STREAM_LEGACY, take_number, &two));
    CU_OK(t->cu->StreamSynchronize(CU_STREAM_LEGACY));
    REQUIRE_EQ(one.seen, 0);
    REQUIRE_EQ(two.seen, 1);
    REQUIRE_EQ(twin_counts(t->cu).streams, 1); /* default streams are not the program's */
}

/* The functions whose stream 0 is the thread's own. */
typedef struct own_functions {
    twin t;
    PFN_cuStreamGetId_v12000 StreamGetId;
    PFN_cuLaunchHostFunc_v10000 LaunchHostFunc;
    PFN_cuMemsetD8_v3020 MemsetD8;
    PFN_cuMemcpyDtoH_v3020 MemcpyDtoH;
    PFN_cuStreamQuery_v2000 StreamQuery;
    PFN_cuMemAlloc_v3020 MemAlloc;
    CUdeviceptr memory;
    unsigned char back[4097];
    unsigned long long id;
} own_functions;

static void ask_own(const raw_cuda *cu, const char *name, int version, void *out)
{
    CUdriverProcAddressQueryResult status;
    void *address = NULL;
    CU_OK(cu->GetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                             &status));
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    memcpy(out, &address, sizeof address);
}

/* In the legacy stream this would wait for the other thread's gate. */
static void *work_beside(void *arg)
{
    own_functions *own = arg;
    CU_OK(own->t.cu->CtxSetCurrent(own->t.context));
    CU_OK(own->MemsetD8(own->memory, 0x5a, sizeof own->back));
    CU_OK(own->MemcpyDtoH(own->back, own->memory, sizeof own->back));
    CU_OK(own->StreamGetId(NULL, &own->id));
    return NULL;
}

TEST(per_thread_functions, .time_limit = 120)
{
    static own_functions own;
    pthread_t thread;
    own.t = twin_begin(CU_STREAM_NON_BLOCKING);
    const raw_cuda *cu = own.t.cu;
    ask_own(cu, "cuStreamGetId", 12000, &own.StreamGetId);
    ask_own(cu, "cuLaunchHostFunc", 10000, &own.LaunchHostFunc);
    ask_own(cu, "cuMemsetD8", 7000, &own.MemsetD8);
    ask_own(cu, "cuMemcpyDtoH", 7000, &own.MemcpyDtoH);
    ask_own(cu, "cuStreamQuery", 7000, &own.StreamQuery);
    ask_own(cu, "cuMemAlloc", 3020, &own.MemAlloc); /* it has one form */
    REQUIRE(own.MemAlloc == cu->MemAlloc);
    unsigned long long mine = 0, by_handle = 0, legacy = 0;
    CU_OK(own.StreamGetId(NULL, &mine));
    CU_OK(own.StreamGetId(CU_STREAM_LEGACY, &legacy));
    CU_OK(cu->StreamGetId(CU_STREAM_PER_THREAD, &by_handle));
    REQUIRE(mine == by_handle && mine != legacy);
    CU_OK(cu->StreamGetId(NULL, &by_handle));
    REQUIRE_EQ(by_handle, legacy);

    twin_gate *gate = twin_gate_new();
    CU_OK(cu->MemAlloc(&own.memory, sizeof own.back));
    CU_OK(own.LaunchHostFunc(NULL, twin_gate_wait, gate));
    REQUIRE_EQ(pthread_create(&thread, NULL, work_beside, &own), 0);
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    CU_IS(own.StreamQuery(NULL), CUDA_ERROR_NOT_READY);
    twin_gate_open(gate);
    for (size_t i = 0; i < sizeof own.back; i++)
        REQUIRE_EQ(own.back[i], 0x5a);
    REQUIRE(own.id != mine && own.id != legacy);
    CU_OK(cu->StreamSynchronize(CU_STREAM_PER_THREAD));
    CU_OK(own.StreamQuery(NULL));
    twin_gate_free(gate);
    CU_OK(cu->MemFree(own.memory));
    twin_finish(&own.t);
}

enum { THREADS = 4, TURNS = 300 };

typedef struct crowd {
    const raw_cuda *cu;
    CUcontext context;
} crowd;

/* Streams and events of its own, work in all kinds of streams, and everybody synchronizing. */
static void *one_of_the_crowd(void *arg)
{
    const crowd *c = arg;
    const raw_cuda *cu = c->cu;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    unsigned back[64];
    CU_OK(cu->CtxSetCurrent(c->context));
    for (unsigned i = 0; i < TURNS; i++) {
        CU_OK(cu->StreamCreate(&stream, i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
        CU_OK(cu->EventCreate(&event, 0));
        CU_OK(cu->MemAlloc(&memory, sizeof back));
        CU_OK(cu->MemsetD32Async(memory, i, 64, stream));
        CU_OK(cu->EventRecord(event, stream));
        CU_OK(cu->StreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        CU_OK(cu->MemcpyDtoDAsync(memory + 4, memory, 4, CU_STREAM_PER_THREAD));
        if (i % 3 == 0) CU_OK(cu->StreamDestroy(stream));
        /* The legacy stream waits for the blocking ones */
        CU_OK(cu->MemcpyDtoH(back, memory, sizeof back));
        REQUIRE_EQ(back[1], i);
        CU_OK(cu->EventSynchronize(event));
        CU_OK(cu->EventDestroy(event));
        CU_OK(cu->MemFree(memory));
        if (i % 3 != 0) CU_OK(cu->StreamDestroy(stream));
    }
    CU_OK(cu->CtxSynchronize());
    return NULL;
}

TWIN_CASE(crowded, CU_STREAM_NON_BLOCKING)
{
    crowd c = {.cu = t->cu, .context = t->context};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_create(&threads[i], NULL, one_of_the_crowd, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Timeline semaphores over pages that the tests make themselves. */
#undef TEST_GROUP
#define TEST_GROUP "timelines."

/* Each import knows its own signals alone: what another one signaled is not refused, and never
 * lowered. Destroyed, it is none. */
TWIN_CASE(never_lowered, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    CUexternalSemaphore imports[2];
    const int fd = twin_timeline_fd(t->cu, &page), fds[2] = {fd, dup(fd)};
    for (int i = 0; i < 2; i++)
        CU_OK(raw_cuda_import_timeline(t->cu, fds[i], &imports[i]));
    CU_OK(raw_cuda_signal(t->cu, imports[0], 9, t->stream));
    for (uint64_t value = 7; value <= 10; value++) {
        CU_OK(raw_cuda_signal(t->cu, imports[1], value, t->stream));
        CU_OK(t->cu->StreamSynchronize(t->stream));
        REQUIRE_EQ(atomic_load(&page->value), value < 10 ? 9 : 10);
    }
    for (int i = 0; i < 2; i++) {
        CU_OK(t->cu->DestroyExternalSemaphore(imports[i]));
        CU_IS(t->cu->DestroyExternalSemaphore(imports[i]), CUDA_ERROR_INVALID_HANDLE);
        CU_IS(raw_cuda_signal(t->cu, imports[i], 15, t->stream), CUDA_ERROR_INVALID_HANDLE);
        CU_IS(raw_cuda_wait(t->cu, imports[i], 5, t->stream), CUDA_ERROR_INVALID_HANDLE);
    }
}

static void *raise_later(void *page)
{
    usleep(30000);
    twin_timeline_set(page, 1);
    return NULL;
}

/* What frees memory, of any kind, waits: no work of the context is under way any more then. */
TEST(freed_while_waiting)
{
    static _Alignas(4096) unsigned char pages[8192];
    for (int kind = 0; kind < 3; kind++) {
        twin t = twin_begin(CU_STREAM_NON_BLOCKING);
        culv_soft_timeline *page;
        CUexternalSemaphore semaphore;
        pthread_t thread;
        CUdeviceptr device = 0;
        void *host = NULL;
        if (kind == 0) CU_OK(t.cu->MemAlloc(&device, 4097));
        if (kind == 1) CU_OK(t.cu->MemHostAlloc(&host, 4097, 0));
        if (kind == 2) CU_OK(t.cu->MemHostRegister(pages, sizeof pages, 0));
        CU_OK(raw_cuda_import_timeline(t.cu, twin_timeline_fd(t.cu, &page), &semaphore));
        CU_OK(raw_cuda_wait(t.cu, semaphore, 1, t.stream));
        CU_IS(t.cu->StreamQuery(t.stream), CUDA_ERROR_NOT_READY);
        REQUIRE(pthread_create(&thread, NULL, raise_later, page) == 0);
        if (kind == 0) CU_OK(t.cu->MemFree(device));
        if (kind == 1) CU_OK(t.cu->MemFreeHost(host));
        if (kind == 2) CU_OK(t.cu->MemHostUnregister(pages));
        CU_OK(t.cu->StreamQuery(t.stream));
        REQUIRE(pthread_join(thread, NULL) == 0);
        CU_OK(t.cu->DestroyExternalSemaphore(semaphore));
        twin_finish(&t);
    }
}

static void CUDA_CB count_call(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

/* A wait that nobody will end does not keep a context from ending; what follows the wait does not
 * run. */
TEST(context_ends_while_waiting, .own = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    culv_soft_timeline *page;
    CUexternalSemaphore semaphore;
    atomic_int calls = 0;
    CU_OK(raw_cuda_import_timeline(t.cu, twin_timeline_fd(t.cu, &page), &semaphore));
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(raw_cuda_wait(t.cu, semaphore, 1, t.stream));
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(t.cu->DevicePrimaryCtxRelease(0));
    REQUIRE_EQ(atomic_load(&calls), 1);
    raw_cuda_require_empty(t.cu);
}

/* Binary semaphores whose other side these tests play (soft/shared/control.h). */
#undef TEST_GROUP
#define TEST_GROUP "binaries."

TWIN_CASE(control_errors, CU_STREAM_NON_BLOCKING)
{
    static const uint8_t uuid[16] = {1};
    culv_soft_timeline *page;
    int ends[2], fd = -1, timeline = twin_timeline_fd(t->cu, &page);
    uint64_t calls = twin_counts(t->cu).calls;
    REQUIRE_EQ(pipe(ends), 0);
    REQUIRE_EQ(t->cu->SoftBinaryCreate(NULL, &fd), EINVAL);
    REQUIRE_EQ(t->cu->SoftBinaryCreate(uuid, NULL), EINVAL);
    REQUIRE_EQ(fd, -1);
    const int wrong[] = {-1, ends[0], ends[1], timeline};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REQUIRE_EQ(t->cu->SoftBinarySignal(wrong[i]), EINVAL);
        REQUIRE_EQ(t->cu->SoftBinaryWait(wrong[i], 1000), EINVAL);
    }
    REQUIRE_EQ(twin_counts(t->cu).calls, calls);
    t->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
    REQUIRE_EQ(t->cu->SoftBinaryCreate(uuid, &fd), 0);
    REQUIRE_EQ(t->cu->SoftBinarySignal(fd), 0);
    REQUIRE_EQ(t->cu->SoftBinarySignal(fd), EBUSY);
    REQUIRE_EQ(t->cu->SoftBinaryWait(fd, 0), 0);
    REQUIRE(t->cu->SoftFailedCall() == NULL);
    t->cu->SoftFailAt(0, 0);
    REQUIRE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    REQUIRE(ftruncate(fd, 0) != 0); /* nobody takes the page away under the others */
    const int ours[] = {fd, timeline, ends[0], ends[1]};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        close(ours[i]);
    REQUIRE_EQ(munmap(page, CULV_SOFT_TIMELINE_SIZE), 0);
}

/* A wait that nobody will end does not keep a context from ending, and takes no signal that comes
 * too late. */
TEST(binary_context_ends, .title = "binaries.context_ends_while_waiting", .own = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    CUexternalSemaphore semaphore;
    atomic_int calls = 0;
    CUuuid uuid;
    int fd = -1;
    CU_OK(t.cu->DeviceGetUuid(&uuid, 0));
    REQUIRE_EQ(t.cu->SoftBinaryCreate((const uint8_t *)uuid.bytes, &fd), 0);
    CU_OK(raw_cuda_import_binary(t.cu, fcntl(fd, F_DUPFD_CLOEXEC, 0), &semaphore));
    REQUIRE_EQ(twin_counts(t.cu).external_semaphores, 1);
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(raw_cuda_wait(t.cu, semaphore, 0, t.stream));
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(raw_cuda_signal(t.cu, semaphore, 0, t.stream));
    CU_OK(t.cu->DevicePrimaryCtxRelease(0));
    REQUIRE_EQ(atomic_load(&calls), 1);
    raw_cuda_require_empty(t.cu);
    REQUIRE_EQ(t.cu->SoftBinaryWait(fd, 0), ETIMEDOUT);
    REQUIRE_EQ(t.cu->SoftBinarySignal(fd), 0); /* the page lives with its fds */
    REQUIRE_EQ(t.cu->SoftBinaryWait(fd, 0), 0);
    close(fd);
}
