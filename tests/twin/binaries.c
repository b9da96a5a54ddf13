/* SPDX-License-Identifier: MIT */
/* Binary semaphores whose other side these tests play (soft/shared/control.h). */
#define TEST_GROUP "binaries."
#include "twin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binary_page.h"

#define FAR_MS 20000u

/* The test's fd, and an import of it. */
typedef struct binary {
    int fd;
    CUexternalSemaphore cu;
} binary;

static int make(const raw_cuda *cu)
{
    CUuuid uuid;
    int fd = -1;
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    REQUIRE_EQ(cu->SoftBinaryCreate((const uint8_t *)uuid.bytes, &fd), 0);
    return fd;
}

static int duplicate(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    REQUIRE(copy >= 0);
    return copy;
}

static binary binary_open(const raw_cuda *cu)
{
    binary b = {.fd = make(cu)};
    int given = duplicate(b.fd);
    CU_OK(raw_cuda_import_binary(cu, given, &b.cu));
    REQUIRE(!twin_fd_open(given));
    return b;
}

static void binary_close(const raw_cuda *cu, binary *b)
{
    CU_OK(cu->DestroyExternalSemaphore(b->cu));
    close(b->fd);
}

TWIN_CASE(both_ways, CU_STREAM_NON_BLOCKING)
{
    binary b = binary_open(t->cu);
    REQUIRE_EQ(twin_counts(t->cu).external_semaphores, 1);
    for (int turn = 0; turn < 100; turn++) {
        CU_OK(raw_cuda_signal(t->cu, b.cu, 0, t->stream));
        REQUIRE_EQ(t->cu->SoftBinaryWait(b.fd, FAR_MS), 0);
        REQUIRE_EQ(t->cu->SoftBinaryWait(b.fd, turn == 0 ? 20 : 0), ETIMEDOUT); /* it was reset */
        REQUIRE_EQ(t->cu->SoftBinarySignal(b.fd), 0);
        REQUIRE_EQ(t->cu->SoftBinarySignal(b.fd), EBUSY);
        CU_OK(raw_cuda_wait(t->cu, b.cu, 0, t->stream));
        CU_OK(t->cu->StreamSynchronize(t->stream));
        REQUIRE_EQ(t->cu->SoftBinaryWait(b.fd, 0), ETIMEDOUT);
    }
    binary_close(t->cu, &b);
}

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
        REQUIRE_EQ(t->cu->SoftBinaryLose(wrong[i]), EINVAL);
    }
    REQUIRE_EQ(twin_counts(t->cu).calls, calls);
    t->cu->SoftFailAt(1, CUDA_ERROR_UNKNOWN);
    REQUIRE_EQ(t->cu->SoftBinaryCreate(uuid, &fd), 0);
    REQUIRE_EQ(t->cu->SoftBinarySignal(fd), 0);
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

static void refused(const raw_cuda *cu, int fd)
{
    CUexternalSemaphore semaphore = NULL;
    CU_IS(raw_cuda_import_binary(cu, fd, &semaphore), CUDA_ERROR_UNKNOWN);
    REQUIRE(semaphore == NULL && twin_fd_open(fd));
    close(fd);
}

static int page_file(const char *magic, size_t size)
{
    int fd = memfd_create("page", MFD_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)size) == 0 && pwrite(fd, magic, 8, 0) == 8);
    return fd;
}

TWIN_CASE(import_errors, CU_STREAM_NON_BLOCKING)
{
    refused(t->cu, page_file(CULV_SOFT_BINARY_MAGIC, CULV_SOFT_BINARY_SIZE - 1));
    refused(t->cu, page_file("CULVBIN0", CULV_SOFT_BINARY_SIZE));
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
    CUexternalSemaphore semaphore = NULL;
    memset(&desc, 0, sizeof desc);
    desc.handle.fd = make(t->cu);
    for (int type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32;
         type <= CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT; type++) {
        desc.type = (CUexternalSemaphoreHandleType)type;
        CU_IS(t->cu->ImportExternalSemaphore(&semaphore, &desc), CUDA_ERROR_NOT_SUPPORTED);
    }
    REQUIRE(twin_fd_open(desc.handle.fd) && semaphore == NULL);
    close(desc.handle.fd);
}

/* A batch is checked whole before any of it is queued. */
TWIN_CASE(batches_are_whole, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    binary first = binary_open(t->cu), gone = binary_open(t->cu);
    CUexternalSemaphore timeline;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[3];
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[3];
    memset(signals, 0, sizeof signals);
    memset(waits, 0, sizeof waits);
    CU_OK(raw_cuda_import_timeline(t->cu, twin_timeline_fd(t->cu, &page), &timeline));
    CUexternalSemaphore handles[] = {first.cu, timeline, gone.cu};
    signals[1].params.fence.value = 5;
    waits[1].params.fence.value = 6;
    binary_close(t->cu, &gone);
    CU_IS(t->cu->SignalExternalSemaphoresAsync(handles, signals, 3, t->stream),
          CUDA_ERROR_INVALID_HANDLE);
    CU_IS(t->cu->WaitExternalSemaphoresAsync(handles, waits, 3, t->stream),
          CUDA_ERROR_INVALID_HANDLE);
    handles[2] = first.cu; /* twice */
    CU_IS(t->cu->SignalExternalSemaphoresAsync(handles, signals, 3, t->stream),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->WaitExternalSemaphoresAsync(handles, waits, 3, t->stream),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->SignalExternalSemaphoresAsync(handles, signals, 0, t->stream),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->SignalExternalSemaphoresAsync(NULL, signals, 2, t->stream),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->WaitExternalSemaphoresAsync(handles, NULL, 2, t->stream),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->StreamQuery(t->stream)); /* nothing waits */
    REQUIRE_EQ(t->cu->SoftBinaryWait(first.fd, 0), ETIMEDOUT);
    REQUIRE_EQ(atomic_load(&page->value), 0);

    /* 5 was not used up */
    CU_OK(t->cu->SignalExternalSemaphoresAsync(handles, signals, 2, t->stream));
    REQUIRE_EQ(t->cu->SoftBinaryWait(first.fd, FAR_MS), 0);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(atomic_load(&page->value), 5);
    CU_OK(t->cu->WaitExternalSemaphoresAsync(handles, waits, 2, t->stream));
    REQUIRE_EQ(t->cu->SoftBinarySignal(first.fd), 0);
    usleep(20000);
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_NOT_READY); /* for the timeline */
    twin_timeline_set(page, 6);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    binary_close(t->cu, &first);
    CU_OK(t->cu->DestroyExternalSemaphore(timeline));
    REQUIRE_EQ(munmap(page, CULV_SOFT_TIMELINE_SIZE), 0);
}

/* Of two waits each takes one signal. */
TWIN_CASE(one_wait_a_signal, CU_STREAM_NON_BLOCKING)
{
    binary b = binary_open(t->cu);
    CUstream other = raw_cuda_stream(t->cu);
    CU_OK(raw_cuda_wait(t->cu, b.cu, 0, t->stream));
    CU_OK(raw_cuda_wait(t->cu, b.cu, 0, other));
    REQUIRE_EQ(t->cu->SoftBinarySignal(b.fd), 0);
    usleep(50000);
    int ready = (t->cu->StreamQuery(t->stream) == CUDA_SUCCESS) +
                (t->cu->StreamQuery(other) == CUDA_SUCCESS);
    REQUIRE(ready <= 1);
    while (t->cu->SoftBinarySignal(b.fd) == EBUSY) /* until the first is taken */
        usleep(1000);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    CU_OK(t->cu->StreamSynchronize(other));
    REQUIRE_EQ(t->cu->SoftBinaryWait(b.fd, 0), ETIMEDOUT);
    binary_close(t->cu, &b);
}

static void CUDA_CB count_call(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

/* What follows the faulty operation does not run, the rest of a batch included; all can still be
 * freed. */
static void illegal(bool signal_twice)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    binary b = binary_open(t.cu), rest = binary_open(t.cu);
    CUexternalSemaphore handles[] = {b.cu, rest.cu};
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signals[2];
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS waits[2];
    atomic_int calls = 0;
    memset(signals, 0, sizeof signals);
    memset(waits, 0, sizeof waits);
    CU_OK(raw_cuda_signal(t.cu, b.cu, 0, t.stream));
    if (signal_twice)
        CU_OK(t.cu->SignalExternalSemaphoresAsync(handles, signals, 2, t.stream));
    else /* CUDA's own signal */
        CU_OK(t.cu->WaitExternalSemaphoresAsync(handles, waits, 2, t.stream));
    CUresult queued =
        t.cu->LaunchHostFunc(t.stream, count_call, &calls); /* unless it is known already */
    REQUIRE(queued == CUDA_SUCCESS || queued == CUDA_ERROR_ILLEGAL_STATE);
    CU_IS(t.cu->StreamSynchronize(t.stream), CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE_EQ(atomic_load(&calls), 0);
    REQUIRE_EQ(t.cu->SoftBinaryWait(rest.fd, 0), ETIMEDOUT);
    REQUIRE_EQ(t.cu->SoftBinaryWait(b.fd, 0), 0); /* the first signal is still there */
    binary_close(t.cu, &b);
    binary_close(t.cu, &rest);
    CU_IS(t.cu->StreamDestroy(t.stream), CUDA_ERROR_ILLEGAL_STATE);
    raw_cuda_leave(t.cu, 0);
}

TEST_AS(double_signal, illegal(true))
TEST_AS(cuda_to_cuda, illegal(false), .own = true)

/* A wait that nobody will end does not keep a context from ending, and takes no signal that comes
 * too late. */
/* The partner's device is lost, and CUDA signals in its place. */
TWIN_CASE(lost, CU_STREAM_NON_BLOCKING)
{
    binary b = binary_open(t->cu);
    CUstream other = raw_cuda_stream(t->cu);
    CU_OK(raw_cuda_wait(t->cu, b.cu, 0, t->stream));
    REQUIRE_EQ(t->cu->SoftBinaryLose(b.fd), 0);
    CU_OK(raw_cuda_signal(t->cu, b.cu, 0, other));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    for (int i = 0; i < 2; i++) /* the second one is lost */
        CU_OK(raw_cuda_signal(t->cu, b.cu, 0, other));
    CU_OK(raw_cuda_wait(t->cu, b.cu, 0, other));
    CU_OK(t->cu->StreamSynchronize(other));
    REQUIRE_EQ(t->cu->SoftBinaryWait(b.fd, 0), ETIMEDOUT);
    binary_close(t->cu, &b);
}

TEST(context_ends_while_waiting, .own = true)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    binary b = binary_open(t.cu);
    atomic_int calls = 0;
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(raw_cuda_wait(t.cu, b.cu, 0, t.stream));
    CU_OK(t.cu->LaunchHostFunc(t.stream, count_call, &calls));
    CU_OK(raw_cuda_signal(t.cu, b.cu, 0, t.stream));
    CU_OK(t.cu->DevicePrimaryCtxRelease(0));
    REQUIRE_EQ(atomic_load(&calls), 1);
    raw_cuda_require_empty(t.cu);
    REQUIRE_EQ(t.cu->SoftBinaryWait(b.fd, 0), ETIMEDOUT);
    REQUIRE_EQ(t.cu->SoftBinarySignal(b.fd), 0); /* the page lives with its fds */
    REQUIRE_EQ(t.cu->SoftBinaryWait(b.fd, 0), 0);
    close(b.fd);
}

typedef struct late {
    const raw_cuda *cu;
    int fd;
} late;

static void *signal_late(void *argument)
{
    const late *l = argument;
    usleep(30000);
    REQUIRE_EQ(l->cu->SoftBinarySignal(l->fd), 0);
    return NULL;
}

TWIN_CASE(destroyed_while_waiting, CU_STREAM_NON_BLOCKING)
{
    binary b = binary_open(t->cu);
    late l = {t->cu, b.fd};
    pthread_t thread;
    CU_OK(raw_cuda_wait(t->cu, b.cu, 0, t->stream));
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_NOT_READY);
    REQUIRE(pthread_create(&thread, NULL, signal_late, &l) == 0);
    CU_OK(t->cu->DestroyExternalSemaphore(b.cu));
    CU_OK(t->cu->StreamQuery(t->stream));
    REQUIRE(pthread_join(thread, NULL) == 0);
    close(b.fd);
}

/* Plain memory goes back and forth under the two semaphores' protection. */
enum { ROUNDS = 2000 };

typedef struct game {
    const raw_cuda *cu;
    binary there, back;
    unsigned ball;
} game;

static void CUDA_CB hit(void *data)
{
    ((game *)data)->ball++;
}

static void *answer(void *argument)
{
    game *g = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        REQUIRE_EQ(g->cu->SoftBinaryWait(g->there.fd, FAR_MS), 0);
        REQUIRE_EQ(g->ball, 2 * i + 1);
        g->ball++;
        REQUIRE_EQ(g->cu->SoftBinarySignal(g->back.fd), 0);
    }
    return NULL;
}

TWIN_CASE(ping_pong, CU_STREAM_NON_BLOCKING)
{
    game g = {.cu = t->cu, .there = binary_open(t->cu), .back = binary_open(t->cu)};
    pthread_t thread;
    REQUIRE_EQ(pthread_create(&thread, NULL, answer, &g), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        CU_OK(t->cu->LaunchHostFunc(t->stream, hit, &g));
        CU_OK(raw_cuda_signal(t->cu, g.there.cu, 0, t->stream));
        CU_OK(raw_cuda_wait(t->cu, g.back.cu, 0, t->stream));
    }
    CU_OK(t->cu->StreamSynchronize(t->stream));
    pthread_join(thread, NULL);
    REQUIRE_EQ(g.ball, 2 * ROUNDS);
    binary_close(t->cu, &g.there);
    binary_close(t->cu, &g.back);
}

/* Every call of a turn fails once; the fd is the caller's until the import succeeds. */
static CUresult one_turn(const raw_cuda *cu, CUstream stream, int *fd, int peer,
                         CUexternalSemaphore *out)
{
    CUresult r = raw_cuda_import_binary(cu, *fd, out);
    if (r != CUDA_SUCCESS) return r;
    *fd = -1;
    r = raw_cuda_signal(cu, *out, 0, stream);
    if (r != CUDA_SUCCESS) return r;
    REQUIRE_EQ(cu->SoftBinaryWait(peer, FAR_MS), 0);
    REQUIRE_EQ(cu->SoftBinarySignal(peer), 0);
    r = raw_cuda_wait(cu, *out, 0, stream);
    if (r != CUDA_SUCCESS) return r;
    return cu->StreamSynchronize(stream);
}

TWIN_CASE(every_call_fails_once, CU_STREAM_NON_BLOCKING)
{
    const size_t fds = test_open_fds();
    unsigned failures = 0;
    for (;; failures++) {
        CUexternalSemaphore semaphore = NULL;
        int peer = make(t->cu), fd = duplicate(peer);
        t->cu->SoftFailAt(failures + 1, CUDA_ERROR_OUT_OF_MEMORY);
        CUresult result = one_turn(t->cu, t->stream, &fd, peer, &semaphore);
        const char *failed = t->cu->SoftFailedCall();
        t->cu->SoftFailAt(0, 0);
        REQUIRE_EQ(twin_counts(t->cu).external_semaphores, semaphore != NULL);
        if (fd >= 0) REQUIRE(twin_fd_open(fd));
        if (fd >= 0) close(fd);
        if (semaphore != NULL) CU_OK(t->cu->DestroyExternalSemaphore(semaphore));
        close(peer);
        REQUIRE_EQ(test_open_fds(), fds);
        CU_IS(result, failed == NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
        if (failed == NULL) break;
    }
    REQUIRE_EQ(failures, 4);
}
