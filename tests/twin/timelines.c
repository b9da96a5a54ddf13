/* SPDX-License-Identifier: MIT */
/* Timeline semaphores over pages that the tests make themselves. */
#define TEST_GROUP "timelines."
#include "twin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Each import knows its own signals alone: what another one signaled is not refused, and never
 * lowered. */
TWIN_CASE(never_lowered, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    CUexternalSemaphore first, second;
    int fd = twin_timeline_fd(t->cu, &page), again = dup(fd);
    REQUIRE(again >= 0);
    CU_OK(raw_cuda_import_timeline(t->cu, fd, &first));
    CU_OK(raw_cuda_import_timeline(t->cu, again, &second));
    CU_OK(raw_cuda_signal(t->cu, first, 9, t->stream));
    for (uint64_t value = 7; value <= 9; value++) {
        CU_OK(raw_cuda_signal(t->cu, second, value, t->stream));
        CU_OK(t->cu->StreamSynchronize(t->stream));
        REQUIRE_EQ(atomic_load(&page->value), 9);
    }
    CU_OK(raw_cuda_signal(t->cu, second, 10, t->stream));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(atomic_load(&page->value), 10);
    CU_OK(t->cu->DestroyExternalSemaphore(first));
    CU_OK(t->cu->DestroyExternalSemaphore(second));
}

TWIN_CASE(errors, CU_STREAM_NON_BLOCKING)
{
    culv_soft_timeline *page;
    CUexternalSemaphore semaphore;
    CU_OK(raw_cuda_import_timeline(t->cu, twin_timeline_fd(t->cu, &page), &semaphore));
    CU_OK(t->cu->DestroyExternalSemaphore(semaphore));
    CU_IS(t->cu->DestroyExternalSemaphore(semaphore), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(raw_cuda_signal(t->cu, semaphore, 5, t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(raw_cuda_wait(t->cu, semaphore, 5, t->stream), CUDA_ERROR_INVALID_HANDLE);
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
