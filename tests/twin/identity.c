/* SPDX-License-Identifier: MIT */
/* Entry points by version, devices, contexts, and the posing build. */
#define TEST_GROUP "identity."
#include "raw_cuda_image.h"
#include "twin.h"

#include <dlfcn.h>
#include <unistd.h>

static CUresult find(const raw_cuda *cu, const char *name, int version, void **address, int *status)
{
    CUdriverProcAddressQueryResult found = (CUdriverProcAddressQueryResult)-1;
    CUresult result =
        cu->GetProcAddress(name, address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    *status = (int)found;
    return result;
}

TEST(proc_versions)
{
    const raw_cuda *cu = raw_cuda_open();
    void *address = NULL, *exported, *older, *newer;
    int status;

    CU_OK(find(cu, "cuMemAlloc", 12000, &address, &status));
    exported = dlsym(cu->library, "cuMemAlloc_v2");
    REQUIRE(exported != NULL && address == exported);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    /* Two forms of one name. */
    CU_OK(find(cu, "cuStreamGetCtx", 12000, &older, &status));
    CU_OK(find(cu, "cuStreamGetCtx", 12050, &newer, &status));
    REQUIRE(older != newer);
    /* Too old, and unknown: no error, but no address. */
    address = &address;
    CU_OK(find(cu, "cuMemAlloc", 2000, &address, &status));
    REQUIRE(address == NULL);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    address = &address;
    CU_OK(find(cu, "cuTensorMapEncodeTiled", 13000, &address, &status));
    REQUIRE(address == NULL);
    REQUIRE_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    /* The form without a status says it by an error. */
    PFN_cuGetProcAddress_v11030 old_form;
    CU_OK(find(cu, "cuGetProcAddress", 11030, &older, &status));
    memcpy(&old_form, &older, sizeof old_form);
    CU_IS(old_form("cuTensorMapEncodeTiled", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
    /* Newer than the driver, also where an older one is played: refused, and nothing is written. */
    address = &address;
    CU_IS(find(cu, "cuMemAlloc", 13010, &address, &status), CUDA_ERROR_INVALID_VALUE);
    cu->SoftPlayVersion(12020);
    CU_IS(find(cu, "cuStreamGetCtx", 12050, &address, &status), CUDA_ERROR_INVALID_VALUE);
    cu->SoftPlayVersion(0);
    REQUIRE(address == &address);
    CU_OK(find(cu, "culvSoftCounts", 13000, &address, &status));
    REQUIRE(address == dlsym(cu->library, "culvSoftCounts"));
}

TWIN_CASE(contexts, 0, .own = true)
{
    CUcontext own, current, popped;
    CUdevice device = -1;

    CU_OK(t->cu->CtxCreate(&own, 0, 0));
    CU_OK(t->cu->CtxGetCurrent(&current));
    REQUIRE(current == own);
    CU_OK(t->cu->CtxGetDevice(&device));
    REQUIRE_EQ(device, 0);
    /* A stream of another context is no handle for events of this one (R6). */
    CUevent event;
    CU_OK(t->cu->EventCreate(&event, 0));
    CU_IS(t->cu->EventRecord(event, t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->CtxPushCurrent(t->context));
    CU_OK(t->cu->CtxPopCurrent(&popped));
    REQUIRE(popped == t->context);
    /* With what is in it. */
    CU_OK(t->cu->CtxDestroy(own));
    CU_OK(t->cu->CtxGetCurrent(&current));
    REQUIRE(current == t->context);
    CU_IS(t->cu->CtxDestroy(own), CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(t->cu->EventDestroy(event), CUDA_ERROR_INVALID_HANDLE);

    /* Released and retained again: the handle stays, what was in it does not. */
    CU_OK(t->cu->DevicePrimaryCtxRelease(0));
    CU_IS(t->cu->StreamQuery(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(raw_cuda_context(t->cu, 0) == t->context);
    CU_IS(t->cu->StreamQuery(t->stream), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(t->cu->StreamCreate(&t->stream, 0));
}

TEST(posing, .own = true)
{
    char path[TEST_PATH_MAX], name[256];
    void *library = dlopen(test_path(path, "lib/pose/libcuda.so.1"), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) FAIL("%s", dlerror());
    raw_cuda cu = {.library = library};
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&cu.GetProcAddress, &symbol, sizeof symbol);
    PROC(&cu, Init, 2000);
    PROC(&cu, DeviceGetCount, 2000);
    PROC(&cu, DeviceGetName, 2000);
    PROC(&cu, DeviceGetUuid, 11040);
    int count = 0;
    CUuuid first, second;
    CU_IS(DeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    CU_OK(Init(0));
    CU_OK(DeviceGetCount(&count));
    REQUIRE_EQ(count, 2);
    CU_OK(DeviceGetUuid(&first, 0));
    CU_OK(DeviceGetUuid(&second, 1));
    REQUIRE_EQ_BYTES(first.bytes, "culvert\0posing\0\xa0", 16);
    REQUIRE_EQ_BYTES(second.bytes, "culvert\0posing\0\xa1", 16);
    CU_OK(DeviceGetName(name, sizeof name, 1));
    REQUIRE_EQ_STR(name, "Culvert posing device 1");
}

/* The layer's manifest is found beside the library, and its directory added to the variable that
 * the Vulkan loader reads, once. */
TEST(layer_path, .own = true)
{
    const raw_cuda *cu = raw_cuda_open();
    char manifest[TEST_PATH_MAX], expected[TEST_PATH_MAX * 4];
    const char *(*add_layer_path)(void), *(*get_layer_path)(void);
    test_path(manifest, "lib/culvert/explicit_layer.d/VkLayer_culvert_soft.json");
    twin_proc(cu, "culvSoftAddLayerPath", 13000, &add_layer_path);
    twin_proc(cu, "culvSoftLayerPath", 13000, &get_layer_path);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", "/before", 1), 0);
    REQUIRE_EQ(unsetenv("VK_LAYER_PATH"), 0);
    if (access(manifest, R_OK) != 0) SKIP("no manifest in this build");
    const char *directory = get_layer_path();
    REQUIRE(directory != NULL);
    REQUIRE(strstr(directory, "culvert/explicit_layer.d") != NULL);
    REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), "/before");
    snprintf(expected, sizeof expected, "/before:%s", directory);
    for (int i = 0; i < 2; i++) {
        REQUIRE(add_layer_path() == directory);
        REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), expected);
    }
    /* A part of an entry is not the entry. */
    snprintf(expected, sizeof expected, "%s/more::/x%s", directory, directory);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", expected, 1), 0);
    REQUIRE(add_layer_path() == directory);
    snprintf(expected, sizeof expected, "%s/more::/x%s:%s", directory, directory, directory);
    REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), expected);
    /* The loader ignores that variable while this one is set. */
    REQUIRE_EQ(setenv("VK_LAYER_PATH", "/mine", 1), 0);
    REQUIRE_EQ(setenv("VK_ADD_LAYER_PATH", "/before", 1), 0);
    snprintf(expected, sizeof expected, "/mine:%s", directory);
    for (int i = 0; i < 2; i++) {
        REQUIRE(add_layer_path() == directory);
        REQUIRE_EQ_STR(getenv("VK_LAYER_PATH"), expected);
        REQUIRE_EQ_STR(getenv("VK_ADD_LAYER_PATH"), "/before");
    }
}

/* Calls that host code of long standing makes, and the library does not: sets of rows, copies of
 * one-dimensional arrays, callbacks, and what is a preference only. */
#undef TEST_GROUP
#define TEST_GROUP "older."

enum { WIDTH = 13, HEIGHT = 7, PITCH = 64 };

TWIN_CASE(sets_of_rows, CU_STREAM_NON_BLOCKING)
{
    unsigned char back[PITCH * HEIGHT];
    CUdeviceptr memory = raw_cuda_memory(t->cu, sizeof back);
    for (unsigned way = 0; way < 6; way++) {
        const unsigned element = 1u << way % 3;
        CU_OK(t->cu->MemsetD2D8(memory, PITCH, 0xee, PITCH, HEIGHT));
        CU_OK(t->cu->CtxSynchronize());
        switch (way) {
        case 0: CU_OK(t->cu->MemsetD2D8(memory, PITCH, 0x42, WIDTH, HEIGHT)); break;
        case 1: CU_OK(t->cu->MemsetD2D16(memory, PITCH, 0x4242, WIDTH, HEIGHT)); break;
        case 2: CU_OK(t->cu->MemsetD2D32(memory, PITCH, 0x42424242, WIDTH, HEIGHT)); break;
        case 3: CU_OK(t->cu->MemsetD2D8Async(memory, PITCH, 0x42, WIDTH, HEIGHT, t->stream)); break;
        case 4:
            CU_OK(t->cu->MemsetD2D16Async(memory, PITCH, 0x4242, WIDTH, HEIGHT, t->stream));
            break;
        default:
            CU_OK(t->cu->MemsetD2D32Async(memory, PITCH, 0x42424242, WIDTH, HEIGHT, t->stream));
            break;
        }
        CU_OK(t->cu->CtxSynchronize());
        CU_OK(t->cu->MemcpyDtoH(back, memory, sizeof back));
        for (unsigned i = 0; i < sizeof back; i++)
            REQUIRE_EQ(back[i], i % PITCH < WIDTH * element ? 0x42 : 0xee);
    }
    CU_OK(t->cu->MemsetD2D8(memory, PITCH, 1, 0, HEIGHT));
    CU_OK(t->cu->MemsetD2D8(memory, PITCH, 1, WIDTH, 0));
    CU_IS(t->cu->MemsetD2D8(memory, PITCH, 1, PITCH + 1, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemsetD2D8(memory, PITCH, 1, WIDTH, HEIGHT + 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemsetD2D32(memory, PITCH + 2, 1, WIDTH, 2), CUDA_ERROR_INVALID_VALUE);
}

TWIN_CASE(copies_of_rows, CU_STREAM_NON_BLOCKING)
{
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

    CU_OK(t->cu->MemcpyHtoA(a, 0, bytes, SIZE));
    CU_OK(t->cu->MemcpyAtoA(b, 1, a, 0, SIZE - 1)); /* one further */
    CU_OK(t->cu->MemcpyAtoD(memory, b, 1, SIZE - 1));
    CU_OK(t->cu->CtxSynchronize());
    CU_OK(t->cu->MemcpyDtoH(back, memory, SIZE - 1));
    REQUIRE(memcmp(back, bytes, SIZE - 1) == 0);
    CU_OK(t->cu->MemcpyDtoA(a, 5, memory, 20)); /* the first 20, five further */
    memset(back, 0, sizeof back);
    CU_OK(t->cu->MemcpyAtoH(back, a, 0, SIZE));
    REQUIRE(memcmp(back, bytes, 5) == 0 && memcmp(back + 5, bytes, 20) == 0 &&
            memcmp(back + 25, bytes + 25, SIZE - 25) == 0);

    CU_IS(t->cu->MemcpyHtoA(a, 1, bytes, SIZE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemcpyAtoH(back, a, SIZE, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemcpyAtoD(memory + 1, a, 0, SIZE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemcpyHtoA(NULL, 0, bytes, 1), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemcpyAtoH(NULL, a, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->MemcpyAtoH(back, a, 0, 0));
    CU_OK(t->cu->ArrayDestroy(b));
    CU_IS(t->cu->MemcpyAtoH(back, b, 0, 1), CUDA_ERROR_INVALID_HANDLE);
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

static void CUDA_CB call_cuda(void *arg)
{
    struct heard *h = arg;
    CUcontext current;
    h->inside = h->cu->CtxGetCurrent(&current);
}

TWIN_CASE(callbacks, CU_STREAM_NON_BLOCKING)
{
    struct heard h = {.cu = t->cu, .status = CUDA_ERROR_UNKNOWN};
    twin_gate *gate = twin_gate_new();
    CU_OK(t->cu->LaunchHostFunc(t->stream, twin_gate_wait, gate));
    CU_OK(t->cu->StreamAddCallback(t->stream, hear, &h, 0));
    REQUIRE_EQ(h.count, 0);
    twin_gate_open(gate);
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(h.count, 1);
    REQUIRE(h.stream == t->stream && h.status == CUDA_SUCCESS);
    REQUIRE_EQ(h.inside, CUDA_ERROR_NOT_PERMITTED);
    h.inside = CUDA_SUCCESS;
    CU_OK(t->cu->LaunchHostFunc(t->stream, call_cuda, &h)); /* nor may a host function call */
    CU_OK(t->cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(h.inside, CUDA_ERROR_NOT_PERMITTED);
    CU_OK(t->cu->StreamAddCallback(NULL, hear, &h, 0)); /* the default one */
    CU_OK(t->cu->CtxSynchronize());
    REQUIRE(h.count == 2 && h.stream == NULL);
    CU_IS(t->cu->StreamAddCallback(t->stream, NULL, &h, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->StreamAddCallback(t->stream, hear, &h, 1), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(h.count, 2);
    twin_gate_free(gate);
}

TWIN_CASE(preferences, 0)
{
    CUresult(CUDAAPI * profiler)(void);
    int major = 0, minor = 0, asked = 0;
    CUfunc_cache config = CU_FUNC_CACHE_PREFER_L1;
    CUmodule module = NULL;
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = NULL;
    CU_OK(t->cu->DeviceComputeCapability(&major, &minor, 0));
    CU_OK(t->cu->DeviceGetAttribute(&asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    REQUIRE_EQ(major, asked);
    CU_OK(t->cu->DeviceGetAttribute(&asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    REQUIRE_EQ(minor, asked);
    CU_IS(t->cu->DeviceComputeCapability(&major, &minor, 99), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(t->cu->DeviceComputeCapability(&major, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CU_OK(t->cu->CtxSetCacheConfig(CU_FUNC_CACHE_PREFER_SHARED));
    CU_OK(t->cu->CtxGetCacheConfig(&config));
    REQUIRE_EQ(config, CU_FUNC_CACHE_PREFER_NONE);
    CU_IS(t->cu->CtxSetCacheConfig((CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->CtxGetCacheConfig(NULL), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->FuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
    CU_IS(t->cu->ModuleLoadDataEx(&module, "no module", 1, &option, &value),
          CUDA_ERROR_INVALID_IMAGE);
    CU_IS(t->cu->ModuleLoadDataEx(&module, "no module", 1, NULL, &value), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        twin_proc(t->cu, i == 0 ? "cuProfilerStart" : "cuProfilerStop", 4000, &profiler);
        CU_OK(profiler());
    }
}

/* Two devices: peers, copies between their contexts, events across them; host memory; dma-bufs. */
#undef TEST_GROUP
#define TEST_GROUP "peers."

#define SIZE 65536u

typedef struct two {
    const raw_cuda *cu;
    CUcontext context[2];
    CUstream stream[2];
    CUdeviceptr memory[2];
} two;

static two two_begin(void)
{
    two w = {0};
    REQUIRE_EQ(setenv("CULVERT_SOFT_DEVICES", "2", 1), 0);
    w.cu = raw_cuda_open();
    if (!w.cu->software) SKIP("not the software twin");
    REQUIRE_EQ(w.cu->device_count, 2);
    for (int i = 0; i < 2; i++) {
        w.context[i] = raw_cuda_context(w.cu, i);
        CU_OK(w.cu->StreamCreate(&w.stream[i], CU_STREAM_NON_BLOCKING));
        CU_OK(w.cu->MemAlloc(&w.memory[i], SIZE));
    }
    CU_OK(w.cu->CtxSetCurrent(w.context[0]));
    return w;
}

static void two_finish(two *w)
{
    for (int i = 0; i < 2; i++) {
        CU_OK(w->cu->CtxSetCurrent(w->context[i]));
        CU_OK(w->cu->MemFree(w->memory[i]));
        CU_OK(w->cu->StreamDestroy(w->stream[i]));
        CU_OK(w->cu->CtxSetCurrent(NULL));
        CU_OK(w->cu->DevicePrimaryCtxRelease(i));
    }
    raw_cuda_require_empty(w->cu);
}

#define TWO_CASE(...) TEST_ON(two, w, *w = two_begin(), two_finish(w), __VA_ARGS__)

TWO_CASE(access_between, .title = "peers.access", .own = true)
{
    const raw_cuda *cu = w->cu;
    CUuuid uuids[2];
    int value = -1;
    for (int i = 0; i < 2; i++)
        CU_OK(cu->DeviceGetUuid(&uuids[i], i));
    REQUIRE_EQ_BYTES(uuids[0].bytes, uuids[1].bytes, 15);
    REQUIRE_EQ((unsigned char)uuids[1].bytes[15], (unsigned char)(uuids[0].bytes[15] + 1));
    CU_OK(cu->DeviceCanAccessPeer(&value, 0, 1));
    REQUIRE_EQ(value, 1);
    CU_IS(cu->DeviceCanAccessPeer(&value, 0, 2), CUDA_ERROR_INVALID_DEVICE);
    CU_OK(cu->DeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 0,
                                    1));
    REQUIRE_EQ(value, 1);
    CU_OK(cu->DeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 1));
    CU_IS(cu->DeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)6, 0, 1),
          CUDA_ERROR_INVALID_VALUE);

    CU_IS(cu->CtxDisablePeerAccess(w->context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CU_OK(cu->CtxEnablePeerAccess(w->context[1], 0));
    CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    REQUIRE_EQ(twin_counts(cu).peers, 1);
    CU_OK(cu->CtxDisablePeerAccess(w->context[1]));
    REQUIRE_EQ(twin_counts(cu).peers, 0);

    /* Eight of them; a context of the same device is none. */
    CUcontext made[9];
    for (int i = 0; i < 9; i++) {
        CU_OK(cu->CtxCreate(&made[i], 0, 1));
        CU_OK(cu->CtxSetCurrent(w->context[0]));
        CU_IS(cu->CtxEnablePeerAccess(made[i], 0),
              i < 8 ? CUDA_SUCCESS : CUDA_ERROR_TOO_MANY_PEERS);
    }
    REQUIRE_EQ(twin_counts(cu).peers, 8);
    CU_OK(cu->CtxSetCurrent(made[0]));
    CU_IS(cu->CtxEnablePeerAccess(made[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    for (int i = 0; i < 9; i++)
        CU_OK(cu->CtxDestroy(made[i])); /* which are then nobody's peers */
    REQUIRE_EQ(twin_counts(cu).peers, 0);

    cu->SoftBarPeers(1);
    CU_OK(cu->DeviceCanAccessPeer(&value, 0, 1));
    REQUIRE_EQ(value, 0);
    CU_OK(cu->DeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    REQUIRE_EQ(value, 0);
    CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    cu->SoftBarPeers(0);
}

TWO_CASE(copies, .own = true)
{
    const raw_cuda *cu = w->cu;
    static unsigned char found[SIZE];
    /* The synchronous form waits for work of both contexts, streams that are not blocking too. */
    twin_gate *gate = twin_gate_new();
    CU_OK(cu->LaunchHostFunc(w->stream[0], twin_gate_wait, gate));
    CU_OK(cu->MemsetD32Async(w->memory[0], 0x01010101u, SIZE / 4, w->stream[0]));
    twin_gate_open(gate);
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], w->context[0], SIZE));
    CU_OK(cu->MemcpyDtoH(found, w->memory[1], SIZE));
    for (size_t i = 0; i < SIZE; i++)
        REQUIRE_EQ(found[i], 1);
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->StreamSynchronize(w->stream[0]));
    twin_gate_free(gate);

    /* What is no device's. */
    CU_IS(cu->MemcpyPeer(w->memory[1], NULL, w->memory[0], w->context[0], SIZE),
          CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], (CUcontext)(void *)found, SIZE),
          CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cu->MemcpyPeer((CUdeviceptr)(uintptr_t)found, w->context[1], w->memory[0], w->context[0],
                         SIZE),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0], SIZE,
                              (CUstream)(void *)found),
          CUDA_ERROR_INVALID_HANDLE);
    CU_OK(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], w->context[0], 0));
    CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = w->memory[0],
                            .srcContext = w->context[0],
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = w->memory[1],
                            .dstContext = w->context[1],
                            .WidthInBytes = SIZE,
                            .Height = 1,
                            .Depth = 1};
    CU_OK(cu->Memcpy3DPeer(&c));
    c.dstContext = w->context[0];
    CU_IS(cu->Memcpy3DPeer(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstContext = NULL;
    CU_IS(cu->Memcpy3DPeer(&c), CUDA_ERROR_INVALID_CONTEXT);
    CU_IS(cu->Memcpy3DPeer(NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Beside bad.host_memory and bad.pointers of the contract suite. */
TWIN_CASE(host_memory, 0)
{
    const CUmemRangeHandleType dma_buf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    const CUdeviceptr memory = raw_cuda_memory(t->cu, 16384);
    int fd = -1;
    CU_IS(t->cu->MemGetHandleForAddressRange(&fd, memory, 16384, dma_buf, 2),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemGetHandleForAddressRange(&fd, memory + 4, 4096, dma_buf, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemGetHandleForAddressRange(&fd, memory, 20480, dma_buf, 0),
          CUDA_ERROR_INVALID_VALUE);
    static _Alignas(4096) unsigned char pages[4096];
    const unsigned asked = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    void *pinned;
    unsigned flags = 0;
    CU_OK(t->cu->MemHostAlloc(&pinned, 4096, asked));
    CU_OK(t->cu->MemHostGetFlags(&flags, (char *)pinned + 100));
    REQUIRE_EQ(flags, asked);
    CU_OK(t->cu->MemFreeHost(pinned));
    CU_IS(t->cu->MemHostGetFlags(&flags, pinned), CUDA_ERROR_INVALID_VALUE);
    CU_IS(t->cu->MemHostRegister(pages, sizeof pages, CU_MEMHOSTREGISTER_IOMEMORY),
          CUDA_ERROR_NOT_SUPPORTED);
}
