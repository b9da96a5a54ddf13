/* SPDX-License-Identifier: MIT */
/* Contract rows: copies between the contexts of two GPUs, on which a fallback may rest. */
#include "images.h"

#include <unistd.h>

#define SIZE (4u << 20)

typedef struct two {
    const raw_cuda *cu;
    CUcontext context[2];
    CUstream stream[2];
    CUdeviceptr memory[2];
    int peers;
} two;

static void two_open(two *w)
{
    memset(w, 0, sizeof *w);
    raw_cuda_two_devices();
    w->cu = raw_cuda_open();
    if (w->cu->device_count < 2) SKIP("one CUDA device only");
    if (w->cu->DeviceCanAccessPeer != NULL) CU_OK(w->cu->DeviceCanAccessPeer(&w->peers, 0, 1));
    for (int i = 0; i < 2; i++) {
        w->context[i] = raw_cuda_context(w->cu, i);
        CU_OK(w->cu->StreamCreate(&w->stream[i], CU_STREAM_NON_BLOCKING));
        CU_OK(w->cu->MemAlloc(&w->memory[i], SIZE));
    }
    CU_OK(w->cu->CtxSetCurrent(w->context[0]));
}

static void two_close(two *w)
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

#define TWO_CASE(...) TEST_ON(two, w, two_open(w), two_close(w), __VA_ARGS__)

static size_t wrong_of(const uint32_t *found, const uint32_t *expected, size_t size)
{
    return image_wrong_bytes((const unsigned char *)found, (const unsigned char *)expected, size);
}

/* The words of memory[1], which were copied there. */
static size_t wrong_bytes(const two *w, const uint32_t *expected)
{
    uint32_t *found = test_memory(SIZE);
    CU_OK(w->cu->MemcpyDtoH(found, w->memory[1], SIZE));
    const size_t wrong = wrong_of(found, expected, SIZE);
    return wrong;
}

TWO_CASE(between_devices, .title = "gpus.copies", .mark = TEST_BOTH)
{
    const raw_cuda *cu = w->cu;
    MEASURED("peers", "device 0 %s device 1's memory", w->peers ? "can access" : "cannot access");
    for (int value, attribute = 1; cu->DeviceGetP2PAttribute != NULL && attribute <= 4;
         attribute++) {
        CU_OK(cu->DeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)attribute, 0, 1));
        MEASURED("peers", "P2P attribute %d: %d", attribute, value);
    }
    static const char *const ways[] = {"cuMemcpyPeerAsync in the source's stream",
                                       "cuMemcpyPeerAsync in the destination's stream",
                                       "cuMemcpyPeer"};
    /* Neither needs access to be enabled; each in a stream of either device, then synchronous. */
    for (int way = 0; way < 3; way++) {
        uint32_t *words = pattern_words(SIZE, (uint32_t)way * 77);
        CU_OK(cu->CtxSetCurrent(w->context[0]));
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, SIZE));
        if (way < 2) {
            CU_OK(cu->CtxSetCurrent(w->context[way]));
            CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0],
                                      SIZE, w->stream[way]));
            CU_OK(cu->StreamSynchronize(w->stream[way]));
        } else {
            CU_OK(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], w->context[0], SIZE));
            CU_OK(cu->CtxSetCurrent(w->context[1]));
            CU_OK(cu->CtxSynchronize());
        }
        CU_OK(cu->CtxSetCurrent(w->context[1]));
        answer_wrong(ways[way], wrong_bytes(w, words), SIZE);
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    if (w->peers) {
        CU_OK(cu->CtxEnablePeerAccess(w->context[1], 0));
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        uint32_t *words = pattern_words(SIZE, 5);
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, SIZE));
        CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0], SIZE,
                                  w->stream[0]));
        CU_OK(cu->StreamSynchronize(w->stream[0]));
        REQUIRE_EQ(wrong_bytes(w, words), 0);
        CU_OK(cu->CtxDisablePeerAccess(w->context[1]));
        CU_IS(cu->CtxDisablePeerAccess(w->context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    } else {
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    answer_is("peer access with an unknown flag", cu->CtxEnablePeerAccess(w->context[1], 1),
              CUDA_ERROR_INVALID_VALUE);
}

/* Arrays of two devices, by boxes; and an event of one that the other waits for. */
TWO_CASE(arrays_between_devices, .title = "gpus.copies_of_arrays", .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, D = 5, BYTES = W * 4 * H * D };
    const raw_cuda *cu = w->cu;
    CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array[2];
    CUevent written;
    uint32_t *words = pattern_words(BYTES, 3), *found = test_memory(BYTES);
    desc.Depth = D;
    desc.Flags |= CUDA_ARRAY3D_LAYERED;
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->Array3DCreate(&array[i], &desc));
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventCreate(&written, CU_EVENT_DISABLE_TIMING));
    CUDA_MEMCPY3D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = words,
                        .srcPitch = W * 4,
                        .srcHeight = H,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array[0],
                        .WidthInBytes = W * 4,
                        .Height = H,
                        .Depth = D};
    CU_OK(cu->Memcpy3DAsync(&in, w->stream[0]));
    CU_OK(cu->EventRecord(written, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], written, 0));
    CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array[0],
                            .srcContext = w->context[0],
                            .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                            .dstArray = array[1],
                            .dstContext = w->context[1],
                            .WidthInBytes = W * 4,
                            .Height = H,
                            .Depth = D};
    CUresult result = cu->Memcpy3DPeerAsync(&c, w->stream[1]);
    answer_call("array to array", result);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    if (result == CUDA_SUCCESS) {
        CU_OK(raw_cuda_read_box(cu, array[1], found, W * 4, H, D));
        answer_wrong("bytes of it", wrong_of(found, words, BYTES), BYTES);
    }
    /* An array here from memory there, which needs no array access over the link. */
    for (size_t i = 0; i < BYTES / 4; i++)
        words[i] = ~words[i];
    CU_OK(raw_cuda_upload(cu, w->memory[1], words, BYTES));
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = w->memory[1];
    c.srcContext = w->context[1];
    c.srcPitch = W * 4;
    c.srcHeight = H;
    c.dstArray = array[0];
    c.dstContext = w->context[0];
    result = cu->Memcpy3DPeerAsync(&c, w->stream[1]);
    answer_call("memory to array", result);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    if (result == CUDA_SUCCESS) {
        CU_OK(raw_cuda_read_box(cu, array[0], found, W * 4, H, D));
        answer_wrong("bytes of that", wrong_of(found, words, BYTES), BYTES);
    }
    CU_OK(cu->EventDestroy(written));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}

/* Memory that is said to be another device's than it is. */
TEST(wrong_contexts, .title = "gpus.copies_in_wrong_contexts", .mark = TEST_TWIN_STRICTER,
     .reason = "the twin's answers are required, NVIDIA's reported", .own = true)
{
    two w;
    two_open(&w);
    const raw_cuda *cu = w.cu;
    image_answer("peer_copy_wrong", "the other context for the destination",
                 cu->MemcpyPeer(w.memory[1], w.context[0], w.memory[0], w.context[0], SIZE));
    image_answer("peer_copy_wrong", "the other context for the source",
                 cu->MemcpyPeer(w.memory[1], w.context[1], w.memory[0], w.context[1], SIZE));
    image_answer("peer_copy_wrong", "one byte too many",
                 cu->MemcpyPeer(w.memory[1], w.context[1], w.memory[0], w.context[0], SIZE + 1));
    if (cu->software) two_close(&w);
    test_pass(); /* NVIDIA's driver may have copied past an end */
}

/* What a fallback by host memory does: an array to pinned memory and from there to another, in
 * streams of two devices that an event holds together. */
TWO_CASE(through_host_memory, .title = "gpus.copies_through_host_memory", .mark = TEST_BOTH)
{
    enum { W = 61, H = 29, BYTES = W * 4 * H };
    const raw_cuda *cu = w->cu;
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_UNSIGNED_INT8, 4, W, H);
    CUarray array[2];
    CUevent copied;
    void *pinned;
    uint32_t *words = pattern_words(BYTES, 13), *found = test_memory(BYTES);
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->Array3DCreate(&array[i], &desc));
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventCreate(&copied, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu->MemHostAlloc(&pinned, BYTES, CU_MEMHOSTALLOC_PORTABLE));
    CU_OK(raw_cuda_write_array(cu, array[0], words, W * 4, H));
    CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                       .srcArray = array[0],
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = pinned,
                       .dstPitch = W * 4,
                       .dstHeight = H,
                       .WidthInBytes = W * 4,
                       .Height = H,
                       .Depth = 1};
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[0]));
    CU_OK(cu->EventRecord(copied, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], copied, 0));
    c = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = pinned,
                        .srcPitch = W * 4,
                        .srcHeight = H,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array[1],
                        .WidthInBytes = W * 4,
                        .Height = H,
                        .Depth = 1};
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[1]));
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(raw_cuda_read_array(cu, array[1], found, W * 4, H));
    answer_wrong("bytes of an array through pinned memory", wrong_of(found, words, BYTES), BYTES);
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventDestroy(copied));
    CU_OK(cu->MemFreeHost(pinned));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}
