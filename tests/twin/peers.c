/* SPDX-License-Identifier: MIT */
/* Two devices: peers, copies between their contexts, events across them; host memory; dma-bufs. */
#define TEST_GROUP "peers."
#include "twin.h"

#include "raw_cuda_image.h"

#include <sys/mman.h>
#include <unistd.h>

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
    int value = -1;
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
}

/* Arrays of two devices, and boxes between an array here and memory there. */
TWO_CASE(boxes, .own = true)
{
    enum { W = 20, H = 9, D = 3, BYTES = W * 4 * H * D };
    const raw_cuda *cu = w->cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array[2];
    unsigned char bytes[BYTES], found[BYTES];
    desc.Depth = D;
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 31);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->Array3DCreate(&array[i], &desc));
    }
    CU_OK(raw_cuda_write_box(cu, array[0], bytes, W * 4, H, D));
    CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array[0],
                            .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                            .dstArray = array[1],
                            .WidthInBytes = W * 4,
                            .Height = H,
                            .Depth = D};
    CU_OK(cu->Memcpy3DPeer(&c));
    CU_OK(raw_cuda_read_box(cu, array[1], found, W * 4, H, D));
    REQUIRE_EQ_BYTES(found, bytes, BYTES);
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = w->memory[1];
    c.dstContext = w->context[1];
    c.dstPitch = W * 4;
    c.dstHeight = H;
    CU_OK(cu->Memcpy3DPeerAsync(&c, w->stream[1]));
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(cu->MemcpyDtoH(found, w->memory[1], BYTES));
    REQUIRE_EQ_BYTES(found, bytes, BYTES);
    c.dstContext = w->context[0];
    CU_IS(cu->Memcpy3DPeer(&c), CUDA_ERROR_INVALID_VALUE);
    c.dstContext = NULL;
    CU_IS(cu->Memcpy3DPeer(&c), CUDA_ERROR_INVALID_CONTEXT);
    c.dstMemoryType = CU_MEMORYTYPE_HOST; /* whose context nobody asks for */
    c.dstHost = found;
    memset(found, 0, BYTES);
    CU_OK(cu->Memcpy3DPeer(&c));
    REQUIRE_EQ_BYTES(found, bytes, BYTES);
    c.srcZ = 1;
    CU_IS(cu->Memcpy3DPeerAsync(&c, w->stream[1]), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->Memcpy3DPeer(NULL), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}

/* A stream of one device waits for an event of the other. */
TWO_CASE(events, .own = true)
{
    const raw_cuda *cu = w->cu;
    CUevent event;
    uint32_t word = 0;
    twin_gate *gate = twin_gate_new();
    CU_OK(cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->LaunchHostFunc(w->stream[0], twin_gate_wait, gate));
    CU_OK(cu->MemsetD32Async(w->memory[0], 0x5a5a5a5au, SIZE / 4, w->stream[0]));
    CU_OK(cu->EventRecord(event, w->stream[0]));
    CU_IS(cu->EventRecord(event, w->stream[1]), CUDA_ERROR_INVALID_HANDLE);
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], event, 0));
    CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0], SIZE,
                              w->stream[1]));
    usleep(20000);
    CU_IS(cu->StreamQuery(w->stream[1]), CUDA_ERROR_NOT_READY);
    twin_gate_open(gate);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(cu->MemcpyDtoH(&word, w->memory[1] + SIZE - 4, 4));
    REQUIRE_EQ(word, 0x5a5a5a5au);
    CU_OK(cu->EventDestroy(event));
    twin_gate_free(gate);
}

TWIN_CASE(host_memory, CU_STREAM_NON_BLOCKING)
{
    const raw_cuda *cu = t->cu;
    PROC(cu, MemHostGetFlags, 2030);
    void *pinned;
    unsigned flags = 0;
    CUdeviceptr pointer;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CU_OK(cu->MemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    CU_OK(MemHostGetFlags(&flags, (char *)pinned + 100));
    REQUIRE_EQ(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    CU_OK(cu->MemHostGetDevicePointer(&pointer, (char *)pinned + 8, 0));
    REQUIRE_EQ(pointer, (uintptr_t)pinned + 8);
    CU_OK(cu->MemsetD32Async(pointer, 7, 4, t->stream));
    CU_OK(cu->StreamSynchronize(t->stream));
    REQUIRE_EQ(((uint32_t *)pinned)[2], 7);
    CU_OK(cu->MemFreeHost(pinned));
    CU_IS(MemHostGetFlags(&flags, pinned), CUDA_ERROR_INVALID_VALUE);

    unsigned char *pages =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    CU_OK(cu->MemHostRegister(pages, 2 * page, CU_MEMHOSTREGISTER_DEVICEMAP));
    CU_OK(cu->MemHostGetDevicePointer(&pointer, pages + page, 0));
    REQUIRE_EQ(pointer, (uintptr_t)pages + page);
    CU_OK(MemHostGetFlags(&flags, pages));
    REQUIRE_EQ(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    CU_IS(cu->MemHostUnregister(pages + 2 * page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CU_OK(cu->MemHostUnregister(pages));
    CU_IS(cu->MemHostRegister(pages, page, CU_MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE_EQ(munmap(pages, 4 * page), 0);
}

TWIN_CASE(dma_bufs, 0)
{
    const raw_cuda *cu = t->cu;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *payload;
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer;
    int fd = -1;
    CU_OK(cu->MemAlloc(&pointer, 4 * page));
    const CUmemRangeHandleType type = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    CU_IS(cu->MemGetHandleForAddressRange(&fd, pointer, 4 * page, type, 2),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->MemGetHandleForAddressRange(&fd, pointer + 4, page, type, 0),
          CUDA_ERROR_INVALID_VALUE);
    CU_IS(cu->MemGetHandleForAddressRange(&fd, pointer, 5 * page, type, 0),
          CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(fd, -1);
    CU_OK(cu->MemFree(pointer));

    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    memset(&desc, 0, sizeof desc);
    desc.type = (CUexternalMemoryHandleType)(CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 2);
    desc.handle.fd = twin_memory_fd(65536, &payload);
    desc.size = 65536;
    CU_IS(cu->ImportExternalMemory(&memory, &desc), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(memory == NULL && twin_fd_open(desc.handle.fd));
    close(desc.handle.fd);
}
