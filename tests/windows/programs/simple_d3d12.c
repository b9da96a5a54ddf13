/* SPDX-License-Identifier: MIT */
/* What NVIDIA's simpleD3D12 shows, without its window: CUDA animates a vertex buffer of Direct3D
 * 12's, and one fence has both take turns. */
#include "program.h"

#include <culvert/d3d.h>

enum { WIDTH = 161, HEIGHT = 120, FRAMES = 5 };

/* interop */
typedef struct interop {
    culv_device *device;
    culv_d3d_device *d3d12;
    culv_memory *memory;
    culv_buffer *vertices;
    culv_semaphore *fence;
} interop;

static culv_result start(interop *i, ID3D12Device *d3d, ID3D12Resource *buffer, uint64_t size,
                         ID3D12Fence *fence)
{
    culv_d3d_device_desc a = culv_d3d_device_desc_init();
    culv_d3d_memory_desc m = culv_d3d_memory_desc_init();
    culv_buffer_desc b = culv_buffer_desc_init();
    a.device = (IUnknown *)d3d;
    m.object = (IUnknown *)buffer;
    b.size = size;
    culv_result e = culv_device_open_for_d3d((IUnknown *)d3d, NULL, &i->device);
    if (e == CULV_OK) e = culv_d3d_attach(i->device, &a, &i->d3d12);
    if (e == CULV_OK) e = culv_d3d_memory_import(i->d3d12, &m, &i->memory);
    if (e == CULV_OK) e = culv_buffer_map(i->memory, &b, &i->vertices);
    return e == CULV_OK ? culv_d3d_semaphore_import(i->d3d12, (IUnknown *)fence, "turns", &i->fence)
                        : e;
}

static void finish(interop *i)
{
    culv_semaphore_destroy(&i->fence, NULL);
    culv_buffer_unmap(&i->vertices, NULL);
    culv_memory_destroy(&i->memory);
    culv_d3d_detach(&i->d3d12);
    culv_device_close(&i->device);
}
/* interop ends */

/* Whoever loads CUDA's driver by its own name has the same driver, with the same contexts. */
static void one_driver(void)
{
    typedef CUresult(__stdcall * get_fn)(CUcontext *);
    const HMODULE module = LoadLibraryA("nvcuda.dll");
    const FARPROC found = module != NULL ? GetProcAddress(module, "cuCtxGetCurrent") : NULL;
    get_fn get = NULL;
    CUcontext context = NULL;
    memcpy(&get, &found, sizeof found);
    REQUIRE(get != NULL && get(&context) == CUDA_SUCCESS && context != NULL);
}

static D3D12_RESOURCE_DESC buffer_desc(uint64_t size)
{
    const D3D12_RESOURCE_DESC desc = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                      .Width = size,
                                      .Height = 1,
                                      .DepthOrArraySize = 1,
                                      .MipLevels = 1,
                                      .SampleDesc = {1, 0},
                                      .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
    return desc;
}

int main(void)
{
    const D3D12_COMMAND_QUEUE_DESC queue_desc = {.Type = D3D12_COMMAND_LIST_TYPE_DIRECT};
    const D3D12_HEAP_PROPERTIES own = {.Type = D3D12_HEAP_TYPE_DEFAULT};
    const D3D12_HEAP_PROPERTIES back = {.Type = D3D12_HEAP_TYPE_READBACK};
    const uint64_t size = (uint64_t)7 * sizeof(float) * WIDTH * HEIGHT;
    const D3D12_RESOURCE_DESC desc = buffer_desc(size);
    ID3D12Device *d3d;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Resource *vertices, *readback;
    ID3D12Fence *fence;
    interop i;
    culv_kernels *kernels = NULL;
    culv_device_caps caps = culv_device_caps_init();
    setvbuf(stdout, NULL, _IONBF, 0);
    memset(&i, 0, sizeof i);
    OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&d3d));
    OK(ID3D12Device_CreateCommandQueue(d3d, &queue_desc, &IID_ID3D12CommandQueue, (void **)&queue));
    OK(ID3D12Device_CreateCommandAllocator(d3d, queue_desc.Type, &IID_ID3D12CommandAllocator,
                                           (void **)&allocator));
    OK(ID3D12Device_CreateCommandList(d3d, 0, queue_desc.Type, allocator, NULL,
                                      &IID_ID3D12GraphicsCommandList, (void **)&list));
    OK(ID3D12GraphicsCommandList_Close(list));
    OK(ID3D12Device_CreateCommittedResource(d3d, &own, D3D12_HEAP_FLAG_SHARED, &desc,
                                            D3D12_RESOURCE_STATE_COMMON, NULL, &IID_ID3D12Resource,
                                            (void **)&vertices));
    OK(ID3D12Device_CreateCommittedResource(d3d, &back, D3D12_HEAP_FLAG_NONE, &desc,
                                            D3D12_RESOURCE_STATE_COPY_DEST, NULL,
                                            &IID_ID3D12Resource, (void **)&readback));
    OK(ID3D12Device_CreateFence(d3d, 0, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence,
                                (void **)&fence));
    OK(start(&i, d3d, vertices, size, fence));
    OK(culv_device_get_caps(i.device, &caps));
    printf("'%s' is_software %u\n", caps.name, (unsigned)caps.is_software);
    REQUIRE(caps.is_software == 1);

    CUstream stream = stream_of(i.device);
    one_driver();
    culv_kernel *wave = kernel_of(i.device, &kernels, "wave");
    CUdeviceptr at = culv_buffer_pointer(i.vertices);
    const unsigned width = WIDTH, height = HEIGHT;
    uint64_t value = 0;
    for (int frame = 0; frame < FRAMES; frame++) {
        const float time = 1.0f + 0.1f * (float)frame;
        const culv_launch_desc launch = culv_launch_2d(WIDTH, HEIGHT, 16, 16, stream);
        OK(culv_semaphore_wait(i.fence, stream, value)); /* Direct3D has read the last frame */
        OK(CULV_LAUNCH(wave, &launch, CULV_ARG(at), CULV_ARG(width), CULV_ARG(height),
                       CULV_ARG(time)));
        OK(culv_semaphore_signal(i.fence, stream, ++value));

        ID3D12CommandList *lists[] = {(ID3D12CommandList *)list};
        OK(ID3D12CommandAllocator_Reset(allocator));
        OK(ID3D12GraphicsCommandList_Reset(list, allocator, NULL));
        ID3D12GraphicsCommandList_CopyBufferRegion(list, readback, 0, vertices, 0, size);
        OK(ID3D12GraphicsCommandList_Close(list));
        OK(ID3D12CommandQueue_Wait(queue, fence, value));
        ID3D12CommandQueue_ExecuteCommandLists(queue, 1, lists);
        OK(ID3D12CommandQueue_Signal(queue, fence, ++value));
        culv_semaphore_mark_value(i.fence, value);
        OK(ID3D12Fence_SetEventOnCompletion(fence, value, NULL)); /* NULL: it returns then */
        float *got = NULL;
        OK(ID3D12Resource_Map(readback, 0, NULL, (void **)&got));
        REQUIRE(wave_faults(got, WIDTH, HEIGHT, time) == 0);
        memset(got, 0, (size_t)size);
        ID3D12Resource_Unmap(readback, 0, NULL);
    }
    culv_kernels_unload(&kernels);
    OK(CULV_CUDA(i.device)->cuStreamDestroy(stream));
    finish(&i);
    ID3D12Fence_Release(fence);
    REQUIRE(ID3D12Resource_Release(vertices) == 0);
    return done("simple_d3d12");
}
