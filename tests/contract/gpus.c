/* SPDX-License-Identifier: MIT */
/* Contract rows: several GPUs, where the drivers do silent damage. On the twin the second device is
 * an invented copy of the first one: all Vulkan memory is another device's to it. */
#define TEST_GROUP "gpus."
#include "contract.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE (2u << 20)

/* Vulkan on device 0, the current context on device 1. */
static void open_crossed(pair *p)
{
    raw_cuda_two_devices();
    if (raw_cuda_open()->device_count < 2) SKIP("one CUDA device only");
    pair_open_on(p, 1);
}

#define PAIR_CROSSED_CASE(...) TEST_ON(pair, p, open_crossed(p), pair_close(p), __VA_ARGS__)

PAIR_CROSSED_CASE(memory_of_another_gpu, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk);
    const int given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, false, &memory);
    answer_with("import", result, "fd %s", fd_state(given, fd)); /* the failed import closed it */
    REQUIRE(memory == NULL && fd_open(fd));
    close(fd);
}

/* One word by CUDA, seen by Vulkan, and the reverse, at the end of the buffer. */
static void carry_words(pair *p, const char *key, raw_vk_buffer *vk, CUdeviceptr pointer)
{
    uint32_t found = 0;
    const uint32_t vulkans = 0x600df00du;
    const VkDeviceSize last = vk->size / 4 * 4 - 4;
    set_words(p, pointer + last, 0x1badb002u, 1);
    raw_vk_read(&p->vk, vk, last, &found, sizeof found);
    raw_vk_write(&p->vk, vk, 0, &vulkans, sizeof vulkans);
    answer_so(key, found == 0x1badb002u && cuda_word(p, pointer) == vulkans, "right", "wrong");
}

/* Memory that is dedicated to a buffer can be imported in the other context. */
PAIR_CROSSED_CASE(dedicated_memory_of_another_gpu, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    CUdeviceptr pointer = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE / 2 + 4097, RAW_VK_EXPORT | RAW_VK_DEDICATED);
    const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const CUresult result = raw_cuda_import_memory(p->cu, given, vk.allocation_size, true, &memory);
    answer_with("import", result, "fd %s", fd_state(given, fd));
    CU_OK(result);
    CU_OK(raw_cuda_map_buffer(p->cu, memory, 0, vk.allocation_size, &pointer));
    carry_words(p, "words", &vk, pointer);
    CU_OK(p->cu->MemFree(pointer));
    CU_OK(p->cu->DestroyExternalMemory(memory));
    close(fd);
}

/* Vulkan's own file descriptor as a handle of VMM: mapped whole, for the other GPU alone. */
PAIR_CROSSED_CASE(vulkans_fd_as_a_vmm_handle, .mark = TEST_BOTH)
{
    static const struct {
        const char *name;
        VkDeviceSize size;
        unsigned flags;
        bool maps;
    } rows[] = {{"4 MiB", 2 * SIZE, 0, true},
                {"dedicated, 2 MiB and 64 KiB", SIZE + 65536, RAW_VK_DEDICATED, true},
                {"2 MiB and 64 KiB", SIZE + 65536, 0, false},
                {"dedicated, 64 KiB", 65536, RAW_VK_DEDICATED, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        raw_vk_buffer vk;
        CUmemGenericAllocationHandle handle = 0;
        CUdeviceptr pointer = 0;
        raw_vk_buffer_create(&p->vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &vk);
        const size_t size = (size_t)((vk.allocation_size + SIZE - 1) / SIZE * SIZE);
        const int fd = raw_vk_buffer_fd(&p->vk, &vk), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        CUresult result = vmm_import(p, given, &handle);
        answer_with(answer_key("%s: import", rows[i].name), result, "fd %s", fd_state(given, fd));
        if (fd_open(given)) close(given);
        close(fd);
        if (rows[i].maps) CU_OK(result);
        if (result == CUDA_SUCCESS) {
            pointer = vmm_reserve(p, size);
            result = p->cu->MemMap(pointer, size, 0, handle, 0);
            answer_call(answer_key("%s: map", rows[i].name), result);
            REQUIRE_EQ(result == CUDA_SUCCESS, rows[i].maps);
            if (rows[i].maps) {
                CU_OK(vmm_allow(p, pointer, size));
                carry_words(p, answer_key("%s: words", rows[i].name), &vk, pointer);
                CU_OK(p->cu->MemUnmap(pointer, size));
            }
            CU_OK(p->cu->MemAddressFree(pointer, size));
            CU_OK(p->cu->MemRelease(handle));
        }
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
}

#define HEARD "of NVIDIA's driver reported: two H200 hear of it, and nothing promises it"

PAIR_CROSSED_CASE(timeline_of_another_gpu, .mark = TEST_TWIN_STRICTER, .reason = HEARD)
{
    shared_timeline t = pair_timeline(p, 0); /* imports */
    answer_ok("signal", raw_cuda_signal(p->cu, t.cu, 5, p->stream));
    answer_ok("the stream then", p->cu->StreamSynchronize(p->stream));
    bool heard = raw_vk_timeline_wait(&p->vk, t.vk, 1, patience(p, 200));
    MEASURED("timeline_of_another_gpu", "signaled 5, Vulkan %s; its counter is %llu",
             heard ? "heard of it" : "never heard of it",
             (unsigned long long)raw_vk_timeline_value(&p->vk, t.vk));
    if (p->cu->software) REQUIRE(heard);
}

PAIR_CROSSED_CASE(binary_of_another_gpu, .mark = TEST_BOTH, .reason = HEARD, .own = true)
{
    raw_binary binary;
    CUexternalSemaphore semaphore = NULL;
    raw_binary_create(&p->vk, p->cu, &binary);
    int fd = raw_binary_fd(&p->vk, &binary), given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    CUresult result = raw_cuda_import_binary(p->cu, given, &semaphore);
    answer_with("import", result, "fd %s", fd_state(given, fd));
    close(fd);
    if (result != CUDA_SUCCESS) test_pass();
    result = raw_cuda_signal(p->cu, semaphore, 0, p->stream);
    CUresult after = stream_result(p, patience(p, 3000));
    bool came = raw_binary_wait(&p->vk, p->cu, &binary, patience(p, 500));
    answer_with("signal", result, "the stream %s", raw_cuda_result_name(after));
    MEASURED("binary_of_another_gpu", "Vulkan's wait: %s", came ? "taken" : "not there");
    if (!p->cu->software) test_pass(); /* Vulkan may wait for ever */
    CU_OK(after);
    REQUIRE(came);
    CU_OK(p->cu->DestroyExternalSemaphore(semaphore));
    raw_binary_destroy(&p->vk, &binary);
}

/* A VMM allocation of a device's, mapped for it, and exported; `peer` (or -1) gets access too. */
typedef struct peer_memory {
    vmm_block b;
    int fd;
} peer_memory;

static peer_memory peer_memory_open(const pair *p, CUdevice device, CUdevice peer)
{
    peer_memory m = {.b = {.pointer = vmm_reserve(p, SIZE), .size = SIZE}};
    const CUmemAllocationProp prop = device_prop(device, POSIX_FD);
    const CUmemAccessDesc access[] = {device_access(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
                                      device_access(peer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
    CU_OK(p->cu->MemCreate(&m.b.handle, SIZE, &prop, 0));
    CU_OK(p->cu->MemMap(m.b.pointer, SIZE, 0, m.b.handle, 0));
    CU_OK(p->cu->MemSetAccess(m.b.pointer, SIZE, access, peer >= 0 ? 2 : 1));
    m.fd = vmm_export(p, m.b.handle);
    return m;
}

static void peer_memory_close(const pair *p, peer_memory *m)
{
    vmm_close(p, &m->b);
    close(m->fd);
}

/* Reported: whether Vulkan on GPU 0 takes it, and how many words it then sees right. It is nothing
 * to rely on. */
PAIR_CROSSED_CASE(vmm_memory_of_another_gpu, .mark = TEST_BOTH, .reason = "silently wrong on both")
{
    peer_memory m = peer_memory_open(p, p->device, -1);
    set_words(p, m.b.pointer, 0x13572468u, SIZE / 4);
    raw_vk_buffer like = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT), vk;
    VkDeviceMemory imported = VK_NULL_HANDLE;
    const VkResult result =
        vk_import(p, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), SIZE, like.memory_type, NULL, &imported);
    ANSWER("Vulkan's import", "VkResult %d", (int)result);
    if (result == VK_SUCCESS) {
        uint32_t *found = test_memory(SIZE);
        vkFreeMemory(p->vk.device, imported, NULL);
        like.allocation_size = SIZE;
        like.offset = 0;
        raw_vk_buffer_import(&p->vk, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), &like, &vk);
        raw_vk_read(&p->vk, &vk, 0, found, SIZE);
        answer_so("what Vulkan then sees", words_not(found, 0x13572468u, SIZE / 4) > 0,
                  "wrong words", "the memory");
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
    peer_memory_close(p, &m);
}

PAIR_CROSSED_CASE(vmm_access_for_peers, .mark = TEST_BOTH)
{
    int can = 0;
    CU_OK(p->cu->DeviceCanAccessPeer(&can, 0, p->device));
    if (!can) SKIP("devices 0 and 1 are no peers");
    peer_memory m = peer_memory_open(p, p->device, 0);
    set_words(p, m.b.pointer, 0x24681357u, SIZE / 4);
    REQUIRE(raw_cuda_context(p->cu, 0) != NULL);
    answer_so("a word read by the peer", cuda_word(p, m.b.pointer + SIZE - 4) == 0x24681357u,
              "right", "wrong");
    CU_OK(p->cu->CtxSetCurrent(p->context));
    CU_OK(p->cu->DevicePrimaryCtxRelease(0));
    peer_memory_close(p, &m);
}

/* What a kernel of device 1 writes to memory that it reaches, and what becomes of it where it does
 * not: the context is lost. */
typedef enum reach { OF_PEER, OF_VMM, OF_VULKAN } reach;

static void kernels_reach(pair *p, reach what)
{
    CUdeviceptr near = 0, far = 0;
    CUexternalMemory memory[2];
    raw_vk_buffer vk;
    int can = 0;
    const raw_cuda *cu = p->cu;
    CU_OK(cu->DeviceCanAccessPeer(&can, p->device, 0));
    if (!can) SKIP("devices 0 and 1 are no peers");
    CUcontext first = raw_cuda_context(cu, 0);
    if (what == OF_PEER) CU_OK(cu->MemAlloc(&near, SIZE));
    if (what == OF_VULKAN) {
        raw_vk_buffer_create(&p->vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &vk);
        for (int i = 0; i < 2; i++) {
            CU_OK(cu->CtxSetCurrent(i == 0 ? first : p->context));
            CU_OK(raw_cuda_import_memory(cu, raw_vk_buffer_fd(&p->vk, &vk), vk.allocation_size,
                                         true, &memory[i]));
            CU_OK(raw_cuda_map_buffer(cu, memory[i], 0, SIZE, i == 0 ? &far : &near));
        }
    }
    CU_OK(cu->CtxSetCurrent(p->context));
    if (what == OF_VMM) near = peer_memory_open(p, 0, p->device).b.pointer;
    if (what != OF_VMM) CU_OK(cu->CtxEnablePeerAccess(first, 0));
    answer_ok(what == OF_VULKAN ? "imported in its own context" : "with access",
              words_run(p, "pattern_write", near, 256, 7));
    if (what == OF_PEER) CU_OK(cu->CtxDisablePeerAccess(first));
    const CUmemAccessDesc none = device_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    if (what == OF_VMM) CU_OK(cu->MemSetAccess(near, SIZE, &none, 1));
    answer_call(what == OF_VULKAN ? "imported in the other, with peer access" : "taken away",
                words_run(p, "pattern_write", far != 0 ? far : near, 256, 7));
    test_pass(); /* the context is lost */
}

#define REACH_CASE(name, what)                                                                     \
    PAIR_CROSSED_CASE(name, .mark = TEST_BOTH, .faults = true)                                     \
    {                                                                                              \
        kernels_reach(p, what);                                                                    \
    }
REACH_CASE(kernels_reach_peers, OF_PEER)
REACH_CASE(kernels_reach_vmm, OF_VMM)
REACH_CASE(kernels_reach_vulkans, OF_VULKAN)

#define COPIED (4u << 20)

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
    CU_OK(w->cu->DeviceCanAccessPeer(&w->peers, 0, 1));
    for (int i = 0; i < 2; i++) {
        w->context[i] = raw_cuda_context(w->cu, i);
        CU_OK(w->cu->StreamCreate(&w->stream[i], CU_STREAM_NON_BLOCKING));
        CU_OK(w->cu->MemAlloc(&w->memory[i], COPIED));
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

/* The words of memory[1], which were copied there. */
static size_t copied_wrong(const two *w, const uint32_t *expected)
{
    uint32_t *found = test_memory(COPIED);
    CU_OK(w->cu->MemcpyDtoH(found, w->memory[1], COPIED));
    return bytes_wrong(found, expected, COPIED);
}

TWO_CASE(copies, .mark = TEST_BOTH)
{
    const raw_cuda *cu = w->cu;
    static const char *const ways[] = {"cuMemcpyPeerAsync in the source's stream",
                                       "cuMemcpyPeerAsync in the destination's stream",
                                       "cuMemcpyPeer"};
    /* Neither needs access to be enabled; each in a stream of either device, then synchronous. */
    for (int way = 0; way < 3; way++) {
        uint32_t *words = pattern_words(COPIED, (uint32_t)way * 77);
        CU_OK(cu->CtxSetCurrent(w->context[0]));
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, COPIED));
        if (way < 2) {
            CU_OK(cu->CtxSetCurrent(w->context[way]));
            CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0],
                                      COPIED, w->stream[way]));
            CU_OK(cu->StreamSynchronize(w->stream[way]));
        } else {
            CU_OK(cu->MemcpyPeer(w->memory[1], w->context[1], w->memory[0], w->context[0], COPIED));
            CU_OK(cu->CtxSetCurrent(w->context[1]));
            CU_OK(cu->CtxSynchronize());
        }
        CU_OK(cu->CtxSetCurrent(w->context[1]));
        answer_wrong(ways[way], copied_wrong(w, words), COPIED);
    }
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    if (w->peers) {
        CU_OK(cu->CtxEnablePeerAccess(w->context[1], 0));
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        uint32_t *words = pattern_words(COPIED, 5);
        CU_OK(raw_cuda_upload(cu, w->memory[0], words, COPIED));
        CU_OK(cu->MemcpyPeerAsync(w->memory[1], w->context[1], w->memory[0], w->context[0], COPIED,
                                  w->stream[0]));
        CU_OK(cu->StreamSynchronize(w->stream[0]));
        REQUIRE_EQ(copied_wrong(w, words), 0);
        CU_OK(cu->CtxDisablePeerAccess(w->context[1]));
        CU_IS(cu->CtxDisablePeerAccess(w->context[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    } else {
        CU_IS(cu->CtxEnablePeerAccess(w->context[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    answer_call("peer access with an unknown flag", cu->CtxEnablePeerAccess(w->context[1], 1));
}

/* Arrays of two devices, by boxes; and an event of one that the other waits for. */
TWO_CASE(copies_of_arrays, .mark = TEST_BOTH)
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
    const CUDA_MEMCPY3D in =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = words, .srcPitch = W * 4,
                 .srcHeight = H, .dstArray = array[0], .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                 .WidthInBytes = W * 4, .Height = H, .Depth = D);
    CU_OK(cu->Memcpy3DAsync(&in, w->stream[0]));
    CU_OK(cu->EventRecord(written, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], written, 0));
    CUDA_MEMCPY3D_PEER c =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array[0],
                 .srcContext = w->context[0], .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                 .dstArray = array[1], .dstContext = w->context[1], .WidthInBytes = W * 4,
                 .Height = H, .Depth = D);
    CUresult result = cu->Memcpy3DPeerAsync(&c, w->stream[1]);
    answer_call("array to array", result);
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    if (result == CUDA_SUCCESS) {
        CU_OK(raw_cuda_read_box(cu, array[1], found, W * 4, H, D));
        answer_wrong("bytes of it", bytes_wrong(found, words, BYTES), BYTES);
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
        answer_wrong("bytes of that", bytes_wrong(found, words, BYTES), BYTES);
    }
    CU_OK(cu->EventDestroy(written));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}

/* Memory that is said to be another device's than it is. */
TWO_CASE(copies_in_wrong_contexts, .mark = TEST_TWIN_STRICTER, .reason = REPORTED, .own = true)
{
    const raw_cuda *cu = w->cu;
    CUcontext *of = w->context;
    image_answer("peer_copy_wrong", "the other context for the destination",
                 cu->MemcpyPeer(w->memory[1], of[0], w->memory[0], of[0], COPIED));
    image_answer("peer_copy_wrong", "the other context for the source",
                 cu->MemcpyPeer(w->memory[1], of[1], w->memory[0], of[1], COPIED));
    image_answer("peer_copy_wrong", "one byte too many",
                 cu->MemcpyPeer(w->memory[1], of[1], w->memory[0], of[0], COPIED + 1));
    if (!cu->software) test_pass(); /* NVIDIA's driver may have copied past an end */
}

/* What a fallback by host memory does: an array to pinned memory and from there to another, in
 * streams of two devices that an event holds together. */
TWO_CASE(copies_through_host_memory, .mark = TEST_BOTH)
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
    CUDA_MEMCPY3D c =
        TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array[0],
                 .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned, .dstPitch = W * 4,
                 .dstHeight = H, .WidthInBytes = W * 4, .Height = H, .Depth = 1);
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[0]));
    CU_OK(cu->EventRecord(copied, w->stream[0]));
    CU_OK(cu->CtxSetCurrent(w->context[1]));
    CU_OK(cu->StreamWaitEvent(w->stream[1], copied, 0));
    c = (CUDA_MEMCPY3D)TEST_ROW(.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned,
                                .srcPitch = W * 4, .srcHeight = H, .dstArray = array[1],
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY, .WidthInBytes = W * 4,
                                .Height = H, .Depth = 1);
    CU_OK(cu->Memcpy3DAsync(&c, w->stream[1]));
    CU_OK(cu->StreamSynchronize(w->stream[1]));
    CU_OK(raw_cuda_read_array(cu, array[1], found, W * 4, H));
    answer_wrong("bytes of an array through pinned memory", bytes_wrong(found, words, BYTES),
                 BYTES);
    CU_OK(cu->CtxSetCurrent(w->context[0]));
    CU_OK(cu->EventDestroy(copied));
    CU_OK(cu->MemFreeHost(pinned));
    for (int i = 0; i < 2; i++) {
        CU_OK(cu->CtxSetCurrent(w->context[i]));
        CU_OK(cu->ArrayDestroy(array[i]));
    }
}
