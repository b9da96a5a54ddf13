/* SPDX-License-Identifier: MIT */
/* Every driver call of a small program fails once in turn, and nothing is left. */
#include "twin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a small program holds; zero = not made. */
typedef struct held {
    CUcontext context;
    CUstream stream;
    CUevent event;
    CUdeviceptr memory, mapped;
    CUmodule module;
    CUexternalMemory external;
    CUexternalSemaphore semaphore;
    int memory_fd, timeline_fd; /* -1 = consumed */
} held;

static CUresult run(const raw_cuda *cu, held *h, const char *module_path)
{
    CUfunction function;
    int value = 42;
    CUresult r;
#define TRY(call)                                                                                  \
    if ((r = (call)) != CUDA_SUCCESS) return r
    TRY(cu->DevicePrimaryCtxRetain(&h->context, 0));
    TRY(cu->CtxPushCurrent(h->context));
    TRY(cu->StreamCreate(&h->stream, CU_STREAM_NON_BLOCKING));
    TRY(cu->EventCreate(&h->event, 0));
    TRY(cu->MemAlloc(&h->memory, 4096));
    TRY(raw_cuda_import_memory(cu, h->memory_fd, 4096, false, &h->external));
    h->memory_fd = -1;
    TRY(raw_cuda_map_buffer(cu, h->external, 0, 4096, &h->mapped));
    TRY(raw_cuda_import_timeline(cu, h->timeline_fd, &h->semaphore));
    h->timeline_fd = -1;
    TRY(cu->ModuleLoad(&h->module, module_path));
    TRY(cu->ModuleGetFunction(&function, h->module, "twin_poke"));
    void *params[] = {&h->memory, &value};
    TRY(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, h->stream, params, NULL));
    TRY(cu->MemcpyDtoDAsync(h->mapped, h->memory, 4, h->stream));
    TRY(raw_cuda_signal(cu, h->semaphore, 1, h->stream));
    TRY(raw_cuda_wait(cu, h->semaphore, 1, h->stream));
    TRY(cu->EventRecord(h->event, h->stream));
    TRY(cu->EventSynchronize(h->event));
    value = 0;
    TRY(cu->MemcpyDtoH(&value, h->mapped, 4));
    REQUIRE_EQ(value, 42);
    TRY(cu->StreamSynchronize(h->stream));
#undef TRY
    return CUDA_SUCCESS;
}

static void clean(const raw_cuda *cu, held *h)
{
    if (h->mapped != 0) CU_OK(cu->MemFree(h->mapped));
    if (h->external != NULL) CU_OK(cu->DestroyExternalMemory(h->external));
    if (h->semaphore != NULL) CU_OK(cu->DestroyExternalSemaphore(h->semaphore));
    if (h->module != NULL) CU_OK(cu->ModuleUnload(h->module));
    if (h->memory != 0) CU_OK(cu->MemFree(h->memory));
    if (h->event != NULL) CU_OK(cu->EventDestroy(h->event));
    if (h->stream != NULL) CU_OK(cu->StreamDestroy(h->stream));
    CUcontext current = NULL;
    CU_OK(cu->CtxGetCurrent(&current));
    if (current != NULL) CU_OK(cu->CtxPopCurrent(&current));
    if (h->context != NULL) CU_OK(cu->DevicePrimaryCtxRelease(0));
    if (h->memory_fd >= 0) close(h->memory_fd);
    if (h->timeline_fd >= 0) close(h->timeline_fd);
}

static void every_call_fails_once(void)
{
    const raw_cuda *cu = raw_cuda_open();
    char path[TEST_PATH_MAX];
    test_path(path, "share/culvert/twin_kernels.soft.so");
    size_t fds = 0;
    unsigned n = 1, failures = 0;
    for (;; n++) {
        held h = {0};
        unsigned char *payload;
        culv_soft_timeline *page;
        h.memory_fd = twin_memory_fd(4096, &payload);
        h.timeline_fd = twin_timeline_fd(cu, false, &page);
        cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        CUresult result = run(cu, &h, path);
        const char *failed = cu->SoftFailedCall();
        cu->SoftFailAt(0, 0);
        clean(cu, &h);
        raw_cuda_require_empty(cu);
        if (n == 2) fds = test_open_fds();
        if (n > 2) REQUIRE_EQ(test_open_fds(), fds);
        if (failed == NULL) {
            CU_OK(result);
            break;
        }
        CU_IS(result, CUDA_ERROR_OUT_OF_MEMORY);
        failures++;
    }
    REQUIRE_EQ(failures, 18); /* the calls of run() */
    MEASURED("failed_calls", "%u", failures);
}

static void calls_are_counted(void)
{
    const raw_cuda *cu = raw_cuda_open();
    const char *name;
    int count;
    uint64_t before = twin_counts(cu).calls;
    CU_OK(cu->DeviceGetCount(&count));
    CU_IS(cu->DeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE);
    CU_OK(cu->GetErrorName(CUDA_SUCCESS, &name)); /* not counted, as cuGetProcAddress */
    REQUIRE_EQ(twin_counts(cu).calls, before + 2);
    cu->SoftFailAt(2, CUDA_ERROR_UNKNOWN);
    CU_OK(cu->DeviceGetCount(&count));
    REQUIRE(cu->SoftFailedCall() == NULL);
    CU_IS(cu->DeviceGetCount(&count), CUDA_ERROR_UNKNOWN);
    REQUIRE_EQ_STR(cu->SoftFailedCall(), "cuDeviceGetCount");
    CU_OK(cu->DeviceGetCount(&count));
}

/* Fails in the child: cuInit is the first call. */
static void environment_child(void)
{
    if (getenv("CULVERT_SOFT_FAIL_AT") == NULL) SKIP("only as a child");
    raw_cuda_open();
}

static void environment(void)
{
    REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", "cuda:1:CUDA_ERROR_OUT_OF_MEMORY", 1), 0);
    REQUIRE(test_run_child("torture.environment_child") != 0);
    REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", "cuda:cuInit:1", 1), 0);
    REQUIRE(test_run_child("torture.environment_child") != 0);
    /* Another half's call, one that the child does not make, and texts that mean nothing. */
    static const char *const harmless[] = {
        "vulkan:1", "cuda:cuMemCreate:1", "cuda:cuInit:9", "cuda:cuInit", "cuda::1",
        "cuda:1:",  "cuda:1:NOTHING"};
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", harmless[i], 1), 0);
        REQUIRE_EQ(test_run_child("torture.environment_child"), 0);
    }
}

const test_case twin_torture_cases[] = {
    {.name = "torture.every_call_fails_once", .run = every_call_fails_once},
    {.name = "torture.calls_are_counted", .run = calls_are_counted},
    {.name = "torture.environment", .run = environment, .own = true},
    {.name = "torture.environment_child", .run = environment_child},
    {.name = NULL},
};
