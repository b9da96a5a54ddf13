/* SPDX-License-Identifier: MIT */
/* Calls that host code makes and the library does not: libraries and their kernels, variables of
 * modules, occupancy, linkers, cooperative launches. What is not the twin's own is in the contract
 * suite (host_calls.c there). */
#define TEST_GROUP "host_calls."
#include "twin.h"

#include <pthread.h>
#include <time.h>

/* The whole file; freed by the caller. */
static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    void *bytes = malloc(*size);
    REQUIRE(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

/* One kernel from a library in two contexts: each has a function of its own, both do the work, and
 * what is set for the device is there for both. */
TWIN_CASE(library_in_two_contexts, CU_STREAM_NON_BLOCKING)
{
    const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    char path[TEST_PATH_MAX];
    size_t size;
    CUlibrary library;
    CUkernel kernel;
    CUfunction functions[2];
    CUmodule modules[2];
    CUcontext other;
    CUstream stream;
    CUdeviceptr memory[2];
    int value, found[2] = {0, 0};
    void *code = read_file(test_path(path, "share/culvert/twin_kernels.soft.so"), &size);
    CU_OK(t->cu->LibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
    memset(code, 0, size); /* it was copied */
    free(code);
    REQUIRE_EQ(twin_counts(t->cu).modules, 1);
    CU_OK(t->cu->LibraryGetKernel(&kernel, library, "twin_poke"));
    CU_OK(t->cu->KernelSetAttribute(shared, 60000, kernel, 0)); /* before there is a module */
    CU_OK(t->cu->KernelGetFunction(&functions[0], kernel));
    CU_OK(t->cu->FuncGetModule(&modules[0], functions[0]));
    CU_OK(t->cu->MemAlloc(&memory[0], 256));
    CU_OK(t->cu->CtxCreate(&other, 0, 0));
    CU_OK(t->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(t->cu->MemAlloc(&memory[1], 256));
    /* The stream decides in which context a kernel runs, not what is current. */
    for (int i = 0; i < 2; i++) {
        int number = 40 + i;
        void *params[] = {&memory[i], &number};
        CU_OK(t->cu->LaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 60000,
                                  i == 0 ? t->stream : stream, params, NULL));
        CU_OK(t->cu->StreamSynchronize(i == 0 ? t->stream : stream));
        CU_OK(t->cu->MemcpyDtoH(&found[i], memory[i], sizeof found[i]));
        REQUIRE_EQ(found[i], 40 + i);
    }
    CU_OK(t->cu->KernelGetFunction(&functions[1], kernel));
    CU_OK(t->cu->FuncGetModule(&modules[1], functions[1]));
    REQUIRE(functions[0] != functions[1] && modules[0] != modules[1]);
    /* The function's own setting counts, whenever the kernel's is made. */
    CU_OK(t->cu->FuncSetAttribute(functions[1], shared, 1000));
    CU_OK(t->cu->KernelSetAttribute(shared, 2000, kernel, 0));
    CU_OK(t->cu->FuncGetAttribute(&value, shared, functions[1]));
    REQUIRE_EQ(value, 1000);
    CU_OK(t->cu->FuncGetAttribute(&value, shared, functions[0]));
    REQUIRE_EQ(value, 2000);
    CU_IS(t->cu->ModuleUnload(modules[1]), CUDA_ERROR_NOT_PERMITTED);
    CU_OK(t->cu->MemFree(memory[1]));
    CU_OK(t->cu->CtxDestroy(other)); /* the library outlives it */
    CU_OK(t->cu->CtxSetCurrent(t->context));
    CU_OK(t->cu->KernelGetFunction(&functions[1], kernel));
    REQUIRE(functions[0] == functions[1]);
    CU_OK(t->cu->LibraryUnload(library));
    CU_IS(t->cu->LibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(t->cu->KernelGetFunction(&functions[1], kernel), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->MemFree(memory[0]));
    REQUIRE_EQ(twin_counts(t->cu).modules, 0);
}

/* The host writes a module's variables, a kernel reads and writes them, and the host reads them. */
TWIN_CASE(variables, CU_STREAM_NON_BLOCKING)
{
    CUmodule module = raw_cuda_load(t->cu, "twin_kernels");
    CUfunction function = raw_cuda_function(t->cu, module, "twin_sum_constants");
    CUdeviceptr constants, total, fixed;
    size_t size;
    const float written[4] = {1, 10, 100, 1000};
    const float other = 0.5f;
    float sum = 0;
    CU_OK(t->cu->ModuleGetGlobal(&constants, &size, module, "twin_constants"));
    REQUIRE_EQ(size, sizeof written);
    CU_OK(t->cu->ModuleGetGlobal(&fixed, NULL, module, "_ZL10twin_fixed"));
    CU_OK(t->cu->ModuleGetGlobal(&total, &size, module, "twin_total"));
    REQUIRE_EQ(size, sizeof sum);
    CU_OK(raw_cuda_upload(t->cu, constants, written, sizeof written));
    CU_OK(raw_cuda_upload(t->cu, fixed, &other, sizeof other));
    float factor = 2.0f;
    void *params[] = {&factor};
    CU_OK(t->cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, t->stream, params, NULL));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    CU_OK(t->cu->MemcpyDtoH(&sum, total, sizeof sum));
    REQUIRE(sum == 2223.0f);
    CU_IS(t->cu->ModuleGetGlobal(&total, &size, module, "twin_nobody"), CUDA_ERROR_NOT_FOUND);
    CU_IS(t->cu->ModuleGetGlobal(NULL, NULL, module, "twin_total"), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemFree(constants), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->ModuleUnload(module));
    /* The module has gone, and what it had: no copy goes there. */
    CU_IS(t->cu->MemcpyDtoH(&sum, constants, sizeof sum), CUDA_ERROR_INVALID_VALUE);
}

/* Two contexts load one file, so they have one copy of its variables: it outlives the context that
 * asked for it first. */
TWIN_CASE(variables_of_two_contexts, CU_STREAM_NON_BLOCKING)
{
    CUcontext other;
    CUdeviceptr here, there;
    size_t size;
    float sum = 0;
    const float written = 12.5f;
    CU_OK(t->cu->CtxCreate(&other, 0, 0));
    CUmodule first = raw_cuda_load(t->cu, "twin_kernels");
    CU_OK(t->cu->ModuleGetGlobal(&there, &size, first, "twin_total"));
    CU_OK(t->cu->CtxSetCurrent(t->context));
    CUmodule second = raw_cuda_load(t->cu, "twin_kernels");
    CU_OK(t->cu->ModuleGetGlobal(&here, &size, second, "twin_total"));
    REQUIRE(here == there);
    CU_OK(t->cu->CtxDestroy(other));
    CU_OK(t->cu->CtxSetCurrent(t->context));
    CU_OK(raw_cuda_upload(t->cu, here, &written, sizeof written));
    CU_OK(t->cu->MemcpyDtoH(&sum, here, sizeof sum));
    REQUIRE(sum == written);
    CU_OK(t->cu->ModuleUnload(second));
    CU_IS(t->cu->MemcpyDtoH(&sum, here, sizeof sum), CUDA_ERROR_INVALID_VALUE);
}

struct unloading {
    PFN_cuLibraryUnload_v12000 unload;
    CUlibrary library;
    CUresult result;
};

static void *unload(void *arg)
{
    struct unloading *u = arg;
    u->result = u->unload(u->library);
    return NULL;
}

/* A library is unloaded while its kernel is queued, and another thread destroys the context. */
TWIN_CASE(library_and_context_end_at_once, CU_STREAM_NON_BLOCKING)
{
    char path[TEST_PATH_MAX];
    size_t size;
    CUkernel kernel;
    CUcontext other;
    CUstream stream;
    CUdeviceptr memory;
    pthread_t thread;
    int number = 5;
    void *params[] = {&memory, &number};
    struct unloading u = {.unload = t->cu->LibraryUnload, .result = CUDA_ERROR_UNKNOWN};
    twin_gate *gate = twin_gate_new();
    void *code = read_file(test_path(path, "share/culvert/twin_kernels.soft.so"), &size);
    CU_OK(t->cu->LibraryLoadData(&u.library, code, NULL, NULL, 0, NULL, NULL, 0));
    free(code);
    CU_OK(t->cu->LibraryGetKernel(&kernel, u.library, "twin_poke"));
    CU_OK(t->cu->CtxCreate(&other, 0, 0));
    CU_OK(t->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(t->cu->MemAlloc(&memory, 256));
    CU_OK(t->cu->LaunchHostFunc(stream, twin_gate_wait, gate));
    CU_OK(
        t->cu->LaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    REQUIRE(pthread_create(&thread, NULL, unload, &u) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* it waits by then, or need not */
    twin_gate_open(gate);
    CU_OK(t->cu->CtxDestroy(other));
    pthread_join(thread, NULL);
    REQUIRE_EQ(u.result, CUDA_SUCCESS);
    CU_OK(t->cu->CtxSetCurrent(t->context));
    REQUIRE_EQ(twin_counts(t->cu).modules, 0);
    twin_gate_free(gate);
}

/* What is a GPU's code is refused by an error that a GPU's driver has too, and the program's log
 * says why. */
TWIN_CASE(code_for_gpus, CU_STREAM_NON_BLOCKING)
{
    static const char ptx[] = "// a comment\n/* and\n another */\n\n.version 8.0\n.target sm_75\n";
    static const unsigned char fatbin[64] = {0x50, 0xed, 0x55, 0xba, 1},
                               wrapped[64] = {0xb1, 0x43, 0x62, 0x46, 1},
                               cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, [18] = 190};
    static const struct {
        const void *code;
        size_t size;
        CUresult result;
        const char *says;
    } rows[] = {{ptx, sizeof ptx, CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "this is PTX"},
                {fatbin, sizeof fatbin, CUDA_ERROR_NO_BINARY_FOR_GPU, "this is a fatbin"},
                {wrapped, sizeof wrapped, CUDA_ERROR_NO_BINARY_FOR_GPU, "this is a fatbin"},
                {cubin, sizeof cubin, CUDA_ERROR_NO_BINARY_FOR_GPU, "this is a cubin"},
                {"nothing of the kind, whatever", 30, CUDA_ERROR_INVALID_IMAGE, ""}};
    CUlinkState linker;
    char own_log[80] = "";
    CUjit_option own_options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
    void *own_values[] = {(void *)sizeof own_log, own_log};
    CU_OK(t->cu->LinkCreate(2, own_options, own_values, &linker));
    REQUIRE_EQ(twin_counts(t->cu).modules, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUmodule module;
        CUlibrary library;
        char log[80] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
        void *values[] = {(void *)sizeof log, log};
        CU_IS(t->cu->ModuleLoadDataEx(&module, rows[i].code, 2, options, values), rows[i].result);
        REQUIRE(strncmp(log, rows[i].says, strlen(rows[i].says)) == 0);
        if (rows[i].says[0] != '\0') REQUIRE_EQ((size_t)values[0], strlen(log) + 1);
        CU_IS(t->cu->LibraryLoadData(&library, rows[i].code, NULL, NULL, 0, NULL, NULL, 0),
              rows[i].result);
        CU_IS(t->cu->LinkAddData(linker, CU_JIT_INPUT_PTX, (void *)(uintptr_t)rows[i].code,
                                 rows[i].size, NULL, 0, NULL, NULL),
              rows[i].result);
        REQUIRE(strncmp(own_log, rows[i].says, strlen(rows[i].says)) == 0);
        own_values[0] = (void *)sizeof own_log; /* it was the length */
    }
    void *cubin_out;
    size_t size;
    CU_IS(t->cu->LinkComplete(linker, &cubin_out, &size), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->LinkDestroy(linker));
    CU_IS(t->cu->LinkDestroy(linker), CUDA_ERROR_INVALID_HANDLE);
}

static size_t CUDA_CB much_for_large_blocks(int block)
{
    return block > 256 ? 200000 : 1000;
}

/* A played device: the answers are those of its attributes. */
TWIN_CASE(occupancy_of_a_played_device, CU_STREAM_NON_BLOCKING)
{
    static const int device[][2] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472}};
    static const struct {
        int size;
        size_t shared;
        int blocks;
    } rows[] = {{1024, 0, 2},     {1, 0, 32},      {33, 0, 32},     {65, 0, 21},
                {1025, 0, 0},     {256, 0, 8},     {256, 40000, 5}, {256, 113 * 1024, 2},
                {256, 232448, 1}, {256, 232449, 0}};
    CUmodule module = raw_cuda_module(t->cu, "twin_kernels");
    CUfunction function = raw_cuda_function(t->cu, module, "twin_poke");
    int blocks = -1, grid = -1;
    size_t shared;
    for (size_t i = 0; i < sizeof device / sizeof device[0]; i++)
        t->cu->SoftPlayAttribute(device[i][0], device[i][1]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_OK(t->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, rows[i].size,
                                                               rows[i].shared));
        REQUIRE_EQ(blocks, rows[i].blocks);
    }
    CU_IS(t->cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->OccupancyMaxPotentialBlockSize(&grid, &blocks, function, NULL, 0, 0));
    REQUIRE(blocks == 1024 && grid == 2 * 132);
    CU_OK(t->cu->OccupancyMaxPotentialBlockSize(&grid, &blocks, function, NULL, 0, 100));
    REQUIRE(blocks == 64 && grid == 32 * 132); /* 100 fit 16 times, 96 fit 21 times */
    CU_OK(t->cu->OccupancyMaxPotentialBlockSize(&grid, &blocks, function, much_for_large_blocks, 0,
                                                0));
    REQUIRE(blocks == 256 && grid == 8 * 132);
    CU_OK(t->cu->OccupancyAvailableDynamicSMemPerBlock(&shared, function, 2, 1024));
    REQUIRE_EQ(shared, 233472 / 2 - 1024);
    CU_IS(t->cu->OccupancyAvailableDynamicSMemPerBlock(&shared, function, 3, 1024),
          CUDA_ERROR_INVALID_VALUE);
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    cluster.value.clusterDim.x = 8;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .numAttrs = 1,
                             .attrs = &cluster};
    CU_OK(t->cu->OccupancyMaxActiveClusters(&blocks, function, &config));
    REQUIRE_EQ(blocks, 264 / 8);
    /* What a cooperative launch keeps of its promise: all blocks at once, or an error. */
    int number = 77, found[264];
    CUdeviceptr memory = raw_cuda_memory(t->cu, sizeof found);
    void *params[] = {&memory, &number};
    CU_OK(t->cu->LaunchCooperativeKernel(function, 264, 1, 1, 1024, 1, 1, 0, t->stream, params));
    CU_IS(t->cu->LaunchCooperativeKernel(function, 265, 1, 1, 1024, 1, 1, 0, t->stream, params),
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    CU_OK(t->cu->MemcpyDtoH(found, memory, sizeof found));
    for (size_t i = 0; i < 264; i++)
        REQUIRE_EQ(found[i], 77);
    t->cu->SoftPlayAttribute(0, 0);
}

/* Programs that look for a call by its first name get the form of that name, and it works. */
TWIN_CASE(first_forms, CU_STREAM_NON_BLOCKING)
{
    PFN_cuStreamDestroy_v4000 stream_destroy;
    PFN_cuEventDestroy_v4000 event_destroy;
    PFN_cuDevicePrimaryCtxRelease_v11000 release;
    CUstream stream;
    CUevent event;
    CUcontext context;
    twin_proc(t->cu, "cuStreamDestroy", 2000, &stream_destroy);
    twin_proc(t->cu, "cuEventDestroy", 2000, &event_destroy);
    twin_proc(t->cu, "cuDevicePrimaryCtxRelease", 7000, &release);
    CU_OK(t->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU_OK(t->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(stream_destroy(stream));
    CU_OK(event_destroy(event));
    CU_OK(t->cu->DevicePrimaryCtxRetain(&context, 0));
    CU_OK(release(0));
}
