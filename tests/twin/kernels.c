/* SPDX-License-Identifier: MIT */
/* Modules, launches, and faults in kernels. */
#define TEST_GROUP "kernels."
#include "twin.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

TWIN_CASE(launch_errors, CU_STREAM_NON_BLOCKING)
{
    const raw_cuda *cu = t->cu;
    CUmodule module = raw_cuda_load(cu, "twin_kernels"), other;
    CUfunction function = raw_cuda_function(cu, module, "twin_poke"), none;
    CUdeviceptr address = 0;
    int value = 1;
    void *params[] = {&address, &value};
    CU_IS(cu->LaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, t->stream, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->LaunchKernel(function, 1, 1, 1, 32, 33, 1, 0, t->stream, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 1 << 20, t->stream, params, NULL),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, t->stream, NULL, NULL),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(
        cu->LaunchKernel((CUfunction)(void *)&value, 1, 1, 1, 1, 1, 1, 0, t->stream, params, NULL),
        CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, (CUstream)(void *)&value, params, NULL),
          CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cu->ModuleGetFunction(&none, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CU_IS(cu->ModuleLoad(&other, "/nonexistent.soft.so"), CUDA_ERROR_FILE_NOT_FOUND);
    CU_IS(cu->ModuleLoad(&other, "/proc/self/exe"), CUDA_ERROR_INVALID_IMAGE);
    CU_OK(cu->ModuleUnload(module));
    CU_IS(cu->ModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

/* A fault sticks to the context; everything can still be destroyed, and a new life of the context
 * is clean. */
static void check_fault(ptrdiff_t offset)
{
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    const raw_cuda *cu = t.cu;
    CUmodule module = raw_cuda_load(cu, "twin_kernels");
    CUfunction function = raw_cuda_function(cu, module, "twin_poke");
    CUdeviceptr memory, target, more;
    CUevent event;
    int value = 1;
    CU_OK(cu->MemAlloc(&memory, 4096));
    CU_OK(cu->EventCreate(&event, 0));
    target = (CUdeviceptr)((ptrdiff_t)memory + offset);
    void *params[] = {&target, &value};
    CU_OK(cu->LaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, t.stream, params, NULL));
    (void)cu->EventRecord(event, t.stream); /* before the fault or after it */
    CU_IS(cu->StreamSynchronize(t.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(cu->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(cu->MemAlloc(&more, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(cu->EventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    CU_IS(cu->StreamQuery(t.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    (void)cu->EventDestroy(event);
    (void)cu->MemFree(memory);
    (void)cu->ModuleUnload(module);
    (void)cu->StreamDestroy(t.stream);
    culv_soft_counts counts = twin_counts(cu);
    REQUIRE_EQ(counts.streams + counts.events + counts.device_allocations + counts.modules, 0);
    CU_OK(cu->DevicePrimaryCtxRelease(0));
    raw_cuda_require_empty(cu);

    /* Broken until it is reset, as an H200's is. */
    CUcontext again = NULL;
    CU_IS(cu->DevicePrimaryCtxRetain(&again, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE(again == NULL);
    CU_OK(cu->DevicePrimaryCtxReset(0));
    REQUIRE(raw_cuda_context(cu, 0) == t.context);
    CU_OK(cu->StreamCreate(&t.stream, 0));
    CU_OK(cu->MemAlloc(&more, 16));
    CU_OK(cu->MemFree(more));
    twin_finish(&t);
}

TEST(fault_far_away, .faults = true)
{
    check_fault(0x7ffffffffffc); /* no address at all, whatever the base */
}

TEST_AS(fault_past_the_end, check_fault(4096), .faults = true)
TEST_AS(fault_before_the_start, check_fault(-4), .faults = true)

/* Nothing was loaded, mapped or allocated before: registered pages that the program has taken
 * away. */
TWIN_CASE(fault_of_the_first_work, CU_STREAM_NON_BLOCKING, .faults = true)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *pages = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr there;
    REQUIRE(pages != MAP_FAILED);
    CU_OK(t->cu->MemHostRegister(pages, page, CU_MEMHOSTREGISTER_DEVICEMAP));
    CU_OK(t->cu->MemHostGetDevicePointer(&there, pages, 0));
    /* Not unmapped: something else may be there at once. */
    REQUIRE_EQ(mprotect(pages, page, PROT_NONE), 0);
    CU_OK(t->cu->MemsetD32Async(there, 7, page / 4, t->stream));
    CU_IS(t->cu->StreamSynchronize(t->stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_EQ(munmap(pages, page), 0);
    CU_OK(t->cu->DevicePrimaryCtxRelease(0));
    CU_OK(t->cu->DevicePrimaryCtxReset(0));
    REQUIRE(raw_cuda_context(t->cu, 0) == t->context);
    CU_OK(t->cu->StreamCreate(&t->stream, 0));
}

/* A case in which a kernel faults and that does not say so fails, whatever else it does. */
TEST(fault_child)
{
    if (getenv("TWIN_FAULT_CHILD") == NULL) SKIP("only as a child");
    check_fault(4096);
    printf("it came to its end\n");
}

TEST(fault_must_be_marked, .own = true)
{
    REQUIRE_EQ(setenv("TWIN_FAULT_CHILD", "1", 1), 0);
    REQUIRE_EQ(test_run_child("kernels.fault_child"), 1);
}

/* A fault of the program's own goes to whoever was there before the twin's handler. */
static sigjmp_buf own_handler_target;

static void own_handler(int number)
{
    siglongjmp(own_handler_target, number);
}

TEST(fault_of_the_program, .own = true)
{
    struct sigaction action = {.sa_handler = own_handler};
    REQUIRE_EQ(sigaction(SIGSEGV, &action, NULL), 0);
    twin t = twin_begin(CU_STREAM_NON_BLOCKING);
    (void)raw_cuda_module(t.cu, "twin_kernels");
    CUdeviceptr memory = raw_cuda_memory(t.cu, 4);
    CU_OK(t.cu->MemsetD32Async(memory, 1, 1, t.stream));
    CU_OK(t.cu->StreamSynchronize(t.stream)); /* from here on the twin's handler is in place */
    volatile int arrived = sigsetjmp(own_handler_target, 1);
    if (arrived == 0) raise(SIGSEGV);
    REQUIRE_EQ(arrived, SIGSEGV);
    twin_finish(&t);
}
