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

#include "pages.h"

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

static void CUDA_CB count_call(void *data)
{
    atomic_fetch_add((atomic_int *)data, 1);
}

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
