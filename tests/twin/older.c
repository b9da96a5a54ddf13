/* SPDX-License-Identifier: MIT */
/* Calls that host code of long standing makes, and the library does not: sets of rows, copies of
 * one-dimensional arrays, callbacks, and what is a preference only. */
#define TEST_GROUP "older."
#include "twin.h"

#include "raw_cuda_image.h"

enum { WIDTH = 13, HEIGHT = 7, PITCH = 64 };

TWIN_CASE(sets_of_rows, CU_STREAM_NON_BLOCKING)
{
    PROC(t->cu, MemsetD2D8, 3020);
    PROC(t->cu, MemsetD2D16, 3020);
    PROC(t->cu, MemsetD2D32, 3020);
    PROC(t->cu, MemsetD2D8Async, 3020);
    PROC(t->cu, MemsetD2D16Async, 3020);
    PROC(t->cu, MemsetD2D32Async, 3020);
    unsigned char back[PITCH * HEIGHT];
    CUdeviceptr memory = raw_cuda_memory(t->cu, sizeof back);
    for (unsigned way = 0; way < 6; way++) {
        const unsigned element = 1u << way % 3;
        CU_OK(MemsetD2D8(memory, PITCH, 0xee, PITCH, HEIGHT));
        CU_OK(t->cu->CtxSynchronize());
        switch (way) {
        case 0: CU_OK(MemsetD2D8(memory, PITCH, 0x42, WIDTH, HEIGHT)); break;
        case 1: CU_OK(MemsetD2D16(memory, PITCH, 0x4242, WIDTH, HEIGHT)); break;
        case 2: CU_OK(MemsetD2D32(memory, PITCH, 0x42424242, WIDTH, HEIGHT)); break;
        case 3: CU_OK(MemsetD2D8Async(memory, PITCH, 0x42, WIDTH, HEIGHT, t->stream)); break;
        case 4: CU_OK(MemsetD2D16Async(memory, PITCH, 0x4242, WIDTH, HEIGHT, t->stream)); break;
        default:
            CU_OK(MemsetD2D32Async(memory, PITCH, 0x42424242, WIDTH, HEIGHT, t->stream));
            break;
        }
        CU_OK(t->cu->CtxSynchronize());
        CU_OK(t->cu->MemcpyDtoH(back, memory, sizeof back));
        for (unsigned i = 0; i < sizeof back; i++)
            REQUIRE_EQ(back[i], i % PITCH < WIDTH * element ? 0x42 : 0xee);
    }
    CU_OK(MemsetD2D8(memory, PITCH, 1, 0, HEIGHT));
    CU_OK(MemsetD2D8(memory, PITCH, 1, WIDTH, 0));
    CU_IS(MemsetD2D8(memory, PITCH, 1, PITCH + 1, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemsetD2D8(memory, PITCH, 1, WIDTH, HEIGHT + 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemsetD2D32(memory, PITCH + 2, 1, WIDTH, 2), CUDA_ERROR_INVALID_VALUE);
}

TWIN_CASE(copies_of_rows, CU_STREAM_NON_BLOCKING)
{
    PROC(t->cu, MemcpyHtoA, 3020);
    PROC(t->cu, MemcpyHtoAAsync, 3020);
    PROC(t->cu, MemcpyAtoH, 3020);
    PROC(t->cu, MemcpyAtoHAsync, 3020);
    PROC(t->cu, MemcpyDtoA, 3020);
    PROC(t->cu, MemcpyAtoD, 3020);
    PROC(t->cu, MemcpyAtoA, 3020);
    enum { SIZE = 101 };
    unsigned char bytes[SIZE], back[SIZE];
    CUarray b;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 1, SIZE, 0);
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(7 * i + 3);
    desc.Flags = 0;
    CUarray a = raw_cuda_array(t->cu, &desc);
    CU_OK(t->cu->Array3DCreate(&b, &desc));
    CUdeviceptr memory = raw_cuda_memory(t->cu, SIZE);

    CU_OK(MemcpyHtoA(a, 0, bytes, SIZE));
    CU_OK(MemcpyAtoA(b, 1, a, 0, SIZE - 1)); /* one further */
    CU_OK(MemcpyAtoD(memory, b, 1, SIZE - 1));
    CU_OK(t->cu->CtxSynchronize());
    CU_OK(t->cu->MemcpyDtoH(back, memory, SIZE - 1));
    REQUIRE(memcmp(back, bytes, SIZE - 1) == 0);
    CU_OK(MemcpyDtoA(a, 5, memory, 20)); /* the first 20, five further */
    memset(back, 0, sizeof back);
    CU_OK(MemcpyAtoH(back, a, 0, SIZE));
    REQUIRE(memcmp(back, bytes, 5) == 0 && memcmp(back + 5, bytes, 20) == 0 &&
            memcmp(back + 25, bytes + 25, SIZE - 25) == 0);
    /* In the order of a stream; host memory that is not pinned is read at once, and is waited for
     * when it is written. */
    twin_gate *gate = twin_gate_new();
    CU_OK(t->cu->LaunchHostFunc(t->stream, twin_gate_wait, gate));
    CU_OK(MemcpyHtoAAsync(a, 50, bytes, 51, t->stream));
    memset(back, 0, sizeof back);
    twin_gate_open(gate);
    CU_OK(MemcpyAtoHAsync(back, a, 50, 51, t->stream));
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE(memcmp(back, bytes, 51) == 0);
    twin_gate_free(gate);

    CU_IS(MemcpyHtoA(a, 1, bytes, SIZE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemcpyAtoH(back, a, SIZE, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemcpyAtoD(memory + 1, a, 0, SIZE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemcpyHtoA(NULL, 0, bytes, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(MemcpyAtoH(NULL, a, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CU_OK(MemcpyAtoH(back, a, 0, 0));
    CU_OK(t->cu->ArrayDestroy(b));
    CU_IS(MemcpyAtoH(back, b, 0, 1), CUDA_ERROR_INVALID_HANDLE);
}

struct heard {
    const raw_cuda *cu;
    CUstream stream;
    CUresult status, inside;
    int count;
};

static void CUDA_CB hear(CUstream stream, CUresult status, void *arg)
{
    struct heard *h = arg;
    h->stream = stream;
    h->status = status;
    h->inside = h->cu->CtxSynchronize();
    h->count++;
}

TWIN_CASE(callbacks, CU_STREAM_NON_BLOCKING)
{
    PROC(t->cu, StreamAddCallback, 5000);
    struct heard h = {.cu = t->cu, .status = CUDA_ERROR_UNKNOWN};
    twin_gate *gate = twin_gate_new();
    CU_OK(t->cu->LaunchHostFunc(t->stream, twin_gate_wait, gate));
    CU_OK(StreamAddCallback(t->stream, hear, &h, 0));
    REQUIRE_EQ(h.count, 0);
    twin_gate_open(gate);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(h.count, 1);
    REQUIRE(h.stream == t->stream && h.status == CUDA_SUCCESS);
    REQUIRE_EQ(h.inside, CUDA_ERROR_NOT_PERMITTED);
    CU_OK(StreamAddCallback(NULL, hear, &h, 0)); /* the default one */
    CU_OK(t->cu->CtxSynchronize());
    REQUIRE(h.count == 2 && h.stream == NULL);
    CU_IS(StreamAddCallback(t->stream, NULL, &h, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(StreamAddCallback(t->stream, hear, &h, 1), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(h.count, 2);
    twin_gate_free(gate);
}

TWIN_CASE(preferences, 0)
{
    PROC(t->cu, DeviceGetAttribute, 2000);
    PROC(t->cu, DeviceComputeCapability, 2000);
    PROC(t->cu, CtxGetCacheConfig, 3020);
    PROC(t->cu, CtxSetCacheConfig, 3020);
    PROC(t->cu, FuncSetCacheConfig, 3000);
    PROC(t->cu, ModuleLoadDataEx, 2010);
    CUresult(CUDAAPI * profiler)(void);
    int major = 0, minor = 0, asked = 0;
    CUfunc_cache config = CU_FUNC_CACHE_PREFER_L1;
    CUmodule module = NULL;
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = NULL;
    CU_OK(DeviceComputeCapability(&major, &minor, 0));
    CU_OK(DeviceGetAttribute(&asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    REQUIRE_EQ(major, asked);
    CU_OK(DeviceGetAttribute(&asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    REQUIRE_EQ(minor, asked);
    CU_IS(DeviceComputeCapability(&major, &minor, 99), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(DeviceComputeCapability(&major, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU_OK(CtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
    CU_OK(CtxGetCacheConfig(&config));
    REQUIRE_EQ(config, CU_FUNC_CACHE_PREFER_NONE);
    CU_IS(CtxSetCacheConfig((CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
    CU_IS(CtxGetCacheConfig(NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(FuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(ModuleLoadDataEx(&module, "no module", 1, &option, &value), CUDA_ERROR_INVALID_IMAGE);
    CU_IS(ModuleLoadDataEx(&module, "no module", 1, NULL, &value), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        twin_proc(t->cu, i == 0 ? "cuProfilerStart" : "cuProfilerStop", 4000, &profiler);
        CU_OK(profiler());
    }
}
