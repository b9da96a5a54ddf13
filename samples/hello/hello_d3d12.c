/* SPDX-License-Identifier: MIT */
/* hello_d3d12: CUDA writes a strip of colours into a buffer, a queue of Direct3D 12 makes a picture
 * from it, and CUDA reads the picture. Each side waits for the other, by one fence. No window.
 *
 *   x86_64-w64-mingw32-gcc hello_d3d12.c -lculvert -ld3d12 -lm
 *   cl hello_d3d12.c culvert.lib d3d12.lib
 *
 * It writes hello_d3d12.ppm, the picture of hello_vulkan.c, and prints "hello_d3d12.ppm: 0 of 32131
 * pixels are wrong". */
#define CULV_EXPERIMENTAL 1
#define COBJMACROS
#define INITGUID
#include <windows.h>
/* after it */
#include <d3d12.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/d3d.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH };

static UINT32 strip[STRIP];
static UINT32 picture[HEIGHT][WIDTH];

/* 0 is success of Culvert, of CUDA and of Direct3D. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* The device ----------------------------------------------------------------------------------- */

static ID3D12Device *d3d;
static ID3D12CommandQueue *queue;
static ID3D12CommandAllocator *allocator;
static ID3D12GraphicsCommandList *list;
static culv_device *device;    /* CUDA's device, which is the same GPU */
static culv_d3d_device *d3d12; /* Culvert between the two */
static CUstream stream;

/* On the adapter that is Windows' first. */
static void create_device(void)
{
    const D3D12_COMMAND_QUEUE_DESC desc = {.Type = D3D12_COMMAND_LIST_TYPE_COPY};
    OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&d3d));
    OK(ID3D12Device_CreateCommandQueue(d3d, &desc, &IID_ID3D12CommandQueue, (void **)&queue));
    OK(ID3D12Device_CreateCommandAllocator(d3d, desc.Type, &IID_ID3D12CommandAllocator,
                                           (void **)&allocator));
    OK(ID3D12Device_CreateCommandList(d3d, 0, desc.Type, allocator, NULL,
                                      &IID_ID3D12GraphicsCommandList, (void **)&list));
}

static void open_device(void)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    create_device();
    desc.device = (IUnknown *)d3d;
    OK(culv_device_open_for_d3d((IUnknown *)d3d, NULL, &device));
    OK(culv_d3d_attach(device, &desc, &d3d12));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void close_device(void)
{
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_d3d_detach(&d3d12);
    culv_device_close(&device);
    ID3D12GraphicsCommandList_Release(list);
    ID3D12CommandAllocator_Release(allocator);
    ID3D12CommandQueue_Release(queue);
    ID3D12Device_Release(d3d);
}

/* Memory and fence ----------------------------------------------------------------------------- */

/* The two are not one, because Direct3D 12 copies nothing within a buffer. */
static culv_shared_buffer *strip_buffer, *picture_buffer;
static culv_shared_semaphore *fence; /* 1: the strip is there; 2: the picture is */

static void share(void)
{
    culv_d3d_buffer_create_desc desc = culv_d3d_buffer_create_desc_init();
    desc.size = 4 * STRIP;
    OK(culv_d3d_buffer_create(d3d12, &desc, &strip_buffer));
    desc.size = 4 * WIDTH * HEIGHT;
    OK(culv_d3d_buffer_create(d3d12, &desc, &picture_buffer));
    OK(culv_d3d_semaphore_create(d3d12, NULL, &fence));
}

/* Work ----------------------------------------------------------------------------------------- */

static void cuda_writes_strip(void)
{
    for (UINT32 i = 0; i < STRIP; i++) {
        const UINT32 red = (UINT32)(128 + 127 * cos(i * 0.0207));
        const UINT32 green = (UINT32)(120 + 80 * cos(i * 0.0414 + 1));
        const UINT32 blue = (UINT32)(150 + 105 * cos(i * 0.0207 + 2.5));
        strip[i] = red | green << 8 | blue << 16;
    }
    const CUdeviceptr pointer = culv_shared_buffer_pointer(strip_buffer);
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(pointer, strip, sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(fence), stream, 1));
}

/* Which pixel of the strip a row begins with. */
static UINT32 first_of_row(UINT32 row)
{
    return (UINT32)(WIDTH + 0.55 * WIDTH * sin(row * 0.035) + 0.25 * WIDTH * sin(row * 0.11 + 1));
}

/* Each row of the picture is a piece of the strip. The queue waits for 1, and signals 2. */
static void d3d12_draws(void)
{
    ID3D12Resource *to = (ID3D12Resource *)culv_d3d_buffer_resource(picture_buffer);
    ID3D12Resource *from = (ID3D12Resource *)culv_d3d_buffer_resource(strip_buffer);
    ID3D12Fence *turns = (ID3D12Fence *)culv_d3d_semaphore_fence(fence);
    for (UINT32 row = 0; row < HEIGHT; row++)
        ID3D12GraphicsCommandList_CopyBufferRegion(list, to, (UINT64)4 * row * WIDTH, from,
                                                   (UINT64)4 * first_of_row(row), 4 * WIDTH);
    OK(ID3D12GraphicsCommandList_Close(list));
    ID3D12CommandList *lists[] = {(ID3D12CommandList *)list};
    OK(ID3D12CommandQueue_Wait(queue, turns, 1));
    ID3D12CommandQueue_ExecuteCommandLists(queue, 1, lists);
    OK(ID3D12CommandQueue_Signal(queue, turns, 2));
}

/* The host waits only here. */
static void cuda_reads_picture(void)
{
    const CUdeviceptr pointer = culv_shared_buffer_pointer(picture_buffer);
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(fence), stream, 2));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, pointer, sizeof picture, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
}

/* Check and picture ---------------------------------------------------------------------------- */

static int count_wrong(void)
{
    int wrong = 0;
    for (UINT32 row = 0; row < HEIGHT; row++) {
        for (UINT32 x = 0; x < WIDTH; x++)
            wrong += picture[row][x] != strip[first_of_row(row) + x];
    }
    return wrong;
}

static void write_picture(void)
{
    FILE *file = fopen("hello_d3d12.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (UINT32 i = 0; i < WIDTH * HEIGHT; i++)
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    OK(fclose(file));
}

int main(void)
{
    open_device();
    share();
    cuda_writes_strip();
    d3d12_draws();
    cuda_reads_picture();

    const int wrong = count_wrong();
    write_picture();
    printf("hello_d3d12.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    culv_shared_semaphore_destroy(&fence, NULL);
    culv_shared_buffer_destroy(&picture_buffer, NULL);
    culv_shared_buffer_destroy(&strip_buffer, NULL);
    close_device();
    return wrong != 0;
}
