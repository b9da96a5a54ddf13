/* SPDX-License-Identifier: MIT */
/* Direct3D 12 on the rig: what Windows refuses, values that nobody reported, a removed device. */
#include "scene12.h"

#include <culvert/d3d12_ring.h>

static const uint64_t far_ns = (uint64_t)SCENE_FAR_MS * 1000000u;

/* soft/wine/overlay.c has each rule's source. */
D12_CASE(rules)
{
    static const struct {
        const char *what;
        bool flag;
        DWORD access;
        const wchar_t *name;
        HRESULT answer;
    } rows[] = {
        {"a fence without its flag", false, GENERIC_ALL, NULL, E_INVALIDARG},
        {"another access", true, GENERIC_READ, NULL, (HRESULT)0x887a0001},
        {"a backslash in a name", true, GENERIC_ALL, L"culvert\\rules", (HRESULT)0x887a0001},
        {"a name", true, GENERIC_ALL, L"Local\\culvert rules", S_OK},
    };
    static const D3D12_HEAP_TYPE types[] = {D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK};
    ID3D12Fence *same = NULL;
    HANDLE handle = NULL, opened = NULL;
    culv_handle made = {.type = CULV_HANDLE_NONE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ID3D12Fence *fence = NULL;
        HR_OK(ID3D12Device_CreateFence(
            s->device, 0, rows[i].flag ? D3D12_FENCE_FLAG_SHARED : D3D12_FENCE_FLAG_NONE,
            &IID_ID3D12Fence, (void **)&fence));
        const HRESULT hr = ID3D12Device_CreateSharedHandle(
            s->device, (ID3D12DeviceChild *)fence, NULL, rows[i].access, rows[i].name, &handle);
        if (hr != rows[i].answer) FAIL("%s: %#lx", rows[i].what, (unsigned long)hr);
        if (hr != S_OK) {
            ID3D12Fence_Release(fence);
            continue;
        }
        HR_OK(ID3D12Device_OpenSharedHandleByName(s->device, rows[i].name, GENERIC_ALL, &opened));
        HR_OK(ID3D12Device_OpenSharedHandle(s->device, opened, &IID_ID3D12Fence, (void **)&same));
        REQUIRE(same == fence);
        REFUSES(culv_d3d_export_dup(s->d3d12, (IUnknown *)fence, L"a\\b", &made),
                CULV_ERROR_INVALID, CULV_REASON_VALUE);
        REQUIRE_SAYS("backslash");
        REQUIRE(CloseHandle(opened) && CloseHandle(handle));
        ID3D12Fence_Release(same);
        REQUIRE(ID3D12Fence_Release(fence) == 0);
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const D3D12_RESOURCE_DESC desc = scene_buffer_desc(4096);
        D3D12_HEAP_PROPERTIES heap;
        ID3D12Resource *none = NULL;
        memset(&heap, 0, sizeof heap);
        heap.Type = types[i];
        REQUIRE(FAILED(ID3D12Device_CreateCommittedResource(
            s->device, &heap, D3D12_HEAP_FLAG_SHARED, &desc,
            i == 0 ? D3D12_RESOURCE_STATE_GENERIC_READ : D3D12_RESOURCE_STATE_COPY_DEST, NULL,
            &IID_ID3D12Resource, (void **)&none)));
    }
}

/* A removed device ----------------------------------------------------------------------------- */

enum { BYTES = 4096, FRAMES = 3, DEPTH = 2 };

/* A program: CUDA, which stays, and Direct3D with what is made of it. */
typedef struct program {
    culv_device *cuda;
    const culv_cuda_api *cu;
    CUstream stream;
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *done;
    ID3D12Resource *back;
    culv_d3d_device *d3d12;
    culv_ring *ring;
    culv_shared_semaphore *fence;
    uint64_t acquired; /* frames of CUDA's that the host knows to be done (SIGNAL_FIRST) */
} program;

/* Each call that finds the device removed ends the work; any other error ends the test. */
#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        const HRESULT try_ = (call);                                                               \
        if (try_ == DXGI_REMOVED) return false;                                                    \
        HR_OK(try_);                                                                               \
    } while (0)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const culv_result try_ = (call);                                                           \
        if (try_ == CULV_ERROR_ASYNC && (scene_reason_is(CULV_REASON_DEVICE_LOST) ||               \
                                         scene_reason_is(CULV_REASON_RING_STOPPED)))               \
            return false;                                                                          \
        OK(try_);                                                                                  \
    } while (0)

static bool begin(program *p)
{
    const D3D12_COMMAND_QUEUE_DESC queue = {.Type = D3D12_COMMAND_LIST_TYPE_DIRECT};
    const D3D12_RESOURCE_DESC back = scene_buffer_desc((uint64_t)BYTES * FRAMES);
    D3D12_HEAP_PROPERTIES heap;
    culv_d3d_device_desc attach = culv_d3d_device_desc_init();
    culv_d3d_buffer_create_desc buffer = culv_d3d_buffer_create_desc_init();
    const culv_d3d12_ring_resource resource = {.buffer = &buffer};
    culv_d3d12_ring_desc ring = culv_d3d12_ring_desc_init();
    memset(&heap, 0, sizeof heap);
    heap.Type = D3D12_HEAP_TYPE_READBACK;
    HR_OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&p->device));
    attach.device = (IUnknown *)p->device;
    OK(culv_d3d_attach(p->cuda, &attach, &p->d3d12));
    HR_TRY(ID3D12Device_CreateCommandQueue(p->device, &queue, &IID_ID3D12CommandQueue,
                                           (void **)&p->queue));
    HR_TRY(ID3D12Device_CreateCommandAllocator(p->device, queue.Type, &IID_ID3D12CommandAllocator,
                                               (void **)&p->allocator));
    HR_TRY(ID3D12Device_CreateCommandList(p->device, 0, queue.Type, p->allocator, NULL,
                                          &IID_ID3D12GraphicsCommandList, (void **)&p->list));
    HR_TRY(ID3D12GraphicsCommandList_Close(p->list));
    HR_TRY(ID3D12Device_CreateFence(p->device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence,
                                    (void **)&p->done));
    HR_TRY(ID3D12Device_CreateCommittedResource(p->device, &heap, D3D12_HEAP_FLAG_NONE, &back,
                                                D3D12_RESOURCE_STATE_COPY_DEST, NULL,
                                                &IID_ID3D12Resource, (void **)&p->back));
    buffer.size = BYTES;
    ring.max_depth = DEPTH;
    ring.resources = &resource;
    ring.num_resources = 1;
    TRY(culv_d3d12_ring_create(p->d3d12, &ring, &p->ring));
    TRY(culv_d3d_semaphore_create(p->d3d12, NULL, &p->fence));
    return true;
}

/* CUDA writes each frame, Direct3D copies it, and CUDA waits for a signal of Direct3D's beside. */
static bool work(program *p, const unsigned char *data)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        culv_ring_frame f, g;
        CUdeviceptr to;
        OK(culv_semaphore_wait(culv_shared_semaphore_cuda(p->fence), p->stream, i));
        TRY(culv_ring_acquire_on(p->ring, CULV_RING_PRODUCER, p->stream, far_ns, &f));
        to = culv_ring_pointer(p->ring, f.slot, 0);
        CU_OK(p->cu->cuMemcpyHtoDAsync(to, data + (size_t)i * BYTES, BYTES, p->stream));
        TRY(culv_ring_release_on(p->ring, CULV_RING_PRODUCER, p->stream, &f));
        OK(culv_semaphore_wait(culv_shared_semaphore_cuda(p->fence), p->stream, i + 1));
        TRY(culv_ring_acquire(p->ring, CULV_RING_CONSUMER, far_ns, &g));
        p->acquired++;
        HR_TRY(ID3D12CommandAllocator_Reset(p->allocator));
        HR_TRY(ID3D12GraphicsCommandList_Reset(p->list, p->allocator, NULL));
        ID3D12GraphicsCommandList_CopyBufferRegion(
            p->list, p->back, (uint64_t)i * BYTES,
            (ID3D12Resource *)culv_d3d_buffer_resource(culv_ring_shared_buffer(p->ring, g.slot, 0)),
            0, BYTES);
        HR_TRY(ID3D12GraphicsCommandList_Close(p->list));
        TRY(culv_d3d12_ring_submit(p->ring, p->queue, (ID3D12CommandList *)p->list, &g));
        HR_TRY(ID3D12CommandQueue_Signal(p->queue,
                                         (ID3D12Fence *)culv_d3d_semaphore_fence(p->fence), i + 1));
        culv_semaphore_mark_value(culv_shared_semaphore_cuda(p->fence), i + 1);
        HR_TRY(ID3D12CommandQueue_Signal(p->queue, p->done, i + 1));
        scene_wait(p->done, i + 1);
        if (ID3D12Fence_GetCompletedValue(p->done) == UINT64_MAX) return false;
    }
    return true;
}

/* As docs/direct3d.md says, in this order. */
static void end(program *p, bool lost)
{
    if (lost) {
        REQUIRE(ID3D12Device_GetDeviceRemovedReason(p->device) == DXGI_HUNG);
        if (p->fence != NULL) /* OK says that somebody signaled it */
            REFUSES(culv_shared_semaphore_wait_on_host(p->fence, FRAMES + 1, 0), CULV_ERROR_ASYNC,
                    CULV_REASON_DEVICE_LOST);
        if (p->ring != NULL) {
            const culv_result drained = culv_ring_drain(p->ring, far_ns, 0);
            culv_ring_stats stats = culv_ring_stats_init();
            OK(culv_ring_get_stats(p->ring, &stats));
            REQUIRE(drained != CULV_OK || stats.produced == 0 ||
                    (stats.produced == p->acquired && stats.consumed < p->acquired));
        }
        OK(culv_d3d_device_lost(p->d3d12));
        CU_OK(p->cu->cuStreamSynchronize(p->stream));
    } else {
        CU_OK(p->cu->cuStreamSynchronize(p->stream));
        OK(culv_ring_drain(p->ring, far_ns, 0));
    }
    culv_ring_destroy(&p->ring, NULL);
    culv_shared_semaphore_destroy(&p->fence, NULL);
    culv_d3d_detach(&p->d3d12);
    (void)culv_device_collect(p->cuda);
    if (p->back != NULL) ID3D12Resource_Release(p->back);
    if (p->done != NULL) ID3D12Fence_Release(p->done);
    if (p->list != NULL) ID3D12GraphicsCommandList_Release(p->list);
    if (p->allocator != NULL) ID3D12CommandAllocator_Release(p->allocator);
    if (p->queue != NULL) ID3D12CommandQueue_Release(p->queue);
    REQUIRE(overlay_references() == 0);
    overlay12_clear();
    /* A thread of Direct3D's has a fence a little longer than the signal takes. */
    ULONG left = 2;
    for (int i = 0; i < SCENE_FAR_MS && left > 1; i++) {
        ID3D12Device_AddRef(p->device);
        left = ID3D12Device_Release(p->device);
        if (left > 1) Sleep(1);
    }
    REQUIRE(ID3D12Device_Release(p->device) == 0);
    *p = (program){.cuda = p->cuda, .cu = p->cu, .stream = p->stream};
}

/* Some call finds the device removed, each third one in turn. CUDA's device, its context and its
 * stream go on, with a new ID3D12Device; the last run has all frames. */
TEST(removed)
{
    static unsigned char data[FRAMES * BYTES];
    program p = {0};
    unsigned times = 0, all;
    culv_device_counts left = culv_device_counts_init();
    {
        scene s; /* which CUDA device it is */
        scene_open_device(&s);
        OK(culv_device_open_for_d3d((IUnknown *)s.device, NULL, &p.cuda));
        scene_close(&s);
    }
    p.cu = CULV_CUDA(p.cuda);
    CU_OK(p.cu->cuCtxSetCurrent(culv_device_context(p.cuda)));
    CU_OK(p.cu->cuStreamCreate(&p.stream, CU_STREAM_NON_BLOCKING));
    for (unsigned n = 1;; n += 3) {
        scene_pattern(data, sizeof data, n);
        overlay_remove_at(n);
        const bool made = begin(&p);
        const bool done = made && work(&p, data);
        all = overlay_counted();
        overlay_remove_at(0);
        unsigned char *got = NULL;
        if (done) {
            HR_OK(ID3D12Resource_Map(p.back, 0, NULL, (void **)&got));
            REQUIRE(memcmp(got, data, sizeof data) == 0);
            ID3D12Resource_Unmap(p.back, 0, NULL);
        }
        end(&p, !done);
        if (done) break;
        times++;
    }
    printf("  removed %u times; %u calls are counted\n", times, all);
    REQUIRE(times >= 8 && times == (all + 2) / 3);
    OK(culv_device_get_counts(p.cuda, &left));
    REQUIRE(left.memories == 0 && left.mappings == 0 && left.buffers == 0 && left.semaphores == 0);
    REQUIRE(left.created == 0 && left.deferred == 0 && left.attached_devices == 0);
    CU_OK(p.cu->cuStreamDestroy(p.stream));
    culv_device_close(&p.cuda);
}

static DWORD WINAPI remove_it(void *fence)
{
    Sleep(50); /* the wait has begun; if not, its answer is the same */
    overlay_remove_at(1);
    return ID3D12Fence_Signal((ID3D12Fence *)fence, 1) != DXGI_REMOVED;
}

/* Short waits leave one event at the fence. A wait whose device goes meanwhile has failed. */
D12_CASE(removed_within)
{
    culv_shared_semaphore *made = NULL;
    DWORD before = 0, after = 0, code = 1;
    OK(culv_d3d_semaphore_create(s->d3d12, NULL, &made));
    for (int i = 0; i < 40; i++) {
        if (i == 8) REQUIRE(GetProcessHandleCount(GetCurrentProcess(), &before));
        REFUSES(culv_shared_semaphore_wait_on_host(made, 7, 1000000), CULV_ERROR_TIMEOUT,
                CULV_REASON_NOT_READY);
    }
    REQUIRE(GetProcessHandleCount(GetCurrentProcess(), &after) && after < before + 8);
    const HANDLE thread =
        CreateThread(NULL, 0, remove_it, (ID3D12Fence *)culv_d3d_semaphore_fence(made), 0, NULL);
    REQUIRE(thread != NULL);
    REFUSES(culv_shared_semaphore_wait_on_host(made, 1000, UINT64_MAX), CULV_ERROR_ASYNC,
            CULV_REASON_DEVICE_LOST);
    REQUIRE(WaitForSingleObject(thread, SCENE_FAR_MS) == WAIT_OBJECT_0);
    REQUIRE(GetExitCodeThread(thread, &code) && code == 0 && CloseHandle(thread));
    overlay_remove_at(0);
    culv_shared_semaphore_destroy(&made, NULL);
}
