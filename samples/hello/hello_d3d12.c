/* SPDX-License-Identifier: MIT */
/* hello_d3d12: CUDA writes a strip of colours into a buffer, a queue of Direct3D 12 makes a picture
 * from it, and CUDA reads the picture. Each side waits for the other, by one fence. No window.
 *
 *   x86_64-w64-mingw32-gcc hello_d3d12.c -lculvert -ld3d12 -lm
 *   cl hello_d3d12.c culvert.lib d3d12.lib */
#define CULV_EXPERIMENTAL 1
#define COBJMACROS
#define INITGUID
#include <windows.h>
/* after it */
#include <d3d12.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/d3d12.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH };

#define OK(call) check((int)(call), #call) /* 0 is success of Culvert, of CUDA and of Direct3D */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

int main(void)
{
    /* A device with a queue, on the adapter that is Windows' first; the CUDA device that it is. */
    const D3D12_COMMAND_QUEUE_DESC queue_desc = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    ID3D12Device *d3d;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&d3d));
    OK(ID3D12Device_CreateCommandQueue(d3d, &queue_desc, &IID_ID3D12CommandQueue, (void **)&queue));
    OK(ID3D12Device_CreateCommandAllocator(d3d, queue_desc.Type, &IID_ID3D12CommandAllocator,
                                           (void **)&allocator));
    OK(ID3D12Device_CreateCommandList(d3d, 0, queue_desc.Type, allocator, NULL,
                                      &IID_ID3D12GraphicsCommandList, (void **)&list));
    culv_device *device;
    culv_d3d12_device *d3d12;
    culv_d3d12_device_desc desc = culv_d3d12_device_desc_init();
    desc.device = d3d;
    OK(culv_device_open_for_d3d12(d3d, NULL, &device));
    OK(culv_d3d12_attach(device, &desc, &d3d12));
    CUstream stream;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    /* What both share: a buffer with the strip, one with the picture, and a fence. The two are not
     * one, because Direct3D 12 copies nothing within a buffer. */
    culv_d3d12_buffer_create_desc buffer_desc = culv_d3d12_buffer_create_desc_init();
    culv_shared_buffer *strip_buffer, *picture_buffer;
    culv_shared_semaphore *fence;
    buffer_desc.size = 4 * STRIP;
    OK(culv_d3d12_buffer_create(d3d12, &buffer_desc, &strip_buffer));
    buffer_desc.size = 4 * WIDTH * HEIGHT;
    OK(culv_d3d12_buffer_create(d3d12, &buffer_desc, &picture_buffer));
    OK(culv_d3d12_semaphore_create(d3d12, NULL, &fence));

    /* CUDA writes the strip and signals 1. */
    static UINT32 strip[STRIP], picture[HEIGHT][WIDTH], first[HEIGHT];
    for (UINT32 i = 0; i < STRIP; i++)
        strip[i] = (UINT32)(128 + 127 * cos(i * 0.0207)) |
                   (UINT32)(120 + 80 * cos(i * 0.0414 + 1)) << 8 |
                   (UINT32)(150 + 105 * cos(i * 0.0207 + 2.5)) << 16;
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(culv_shared_buffer_pointer(strip_buffer), strip,
                                            sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(fence), stream, 1));

    /* The queue waits for 1, makes row after row, and signals 2. */
    for (UINT32 row = 0; row < HEIGHT; row++) {
        first[row] =
            (UINT32)(WIDTH + 0.55 * WIDTH * sin(row * 0.035) + 0.25 * WIDTH * sin(row * 0.11 + 1));
        ID3D12GraphicsCommandList_CopyBufferRegion(
            list, culv_d3d12_buffer_resource(picture_buffer), (UINT64)4 * row * WIDTH,
            culv_d3d12_buffer_resource(strip_buffer), (UINT64)4 * first[row], 4 * WIDTH);
    }
    OK(ID3D12GraphicsCommandList_Close(list));
    ID3D12CommandList *lists[] = {(ID3D12CommandList *)list};
    OK(ID3D12CommandQueue_Wait(queue, culv_d3d12_semaphore_fence(fence), 1));
    ID3D12CommandQueue_ExecuteCommandLists(queue, 1, lists);
    OK(ID3D12CommandQueue_Signal(queue, culv_d3d12_semaphore_fence(fence), 2));

    /* CUDA waits for 2 and reads the picture; only here the host waits. */
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(fence), stream, 2));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, culv_shared_buffer_pointer(picture_buffer),
                                            sizeof picture, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    int wrong = 0;
    FILE *file = fopen("hello_d3d12.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (UINT32 i = 0; i < WIDTH * HEIGHT; i++) {
        wrong += picture[i / WIDTH][i % WIDTH] != strip[first[i / WIDTH] + i % WIDTH];
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    }
    OK(fclose(file));
    printf("hello_d3d12.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_shared_semaphore_destroy(&fence);
    culv_shared_buffer_destroy(&picture_buffer);
    culv_shared_buffer_destroy(&strip_buffer);
    culv_d3d12_detach(&d3d12);
    culv_device_close(&device);
    ID3D12GraphicsCommandList_Release(list);
    ID3D12CommandAllocator_Release(allocator);
    ID3D12CommandQueue_Release(queue);
    ID3D12Device_Release(d3d);
    return wrong != 0;
}
