/* SPDX-License-Identifier: MIT */
/* What NVIDIA's simpleD3D11 shows, without its window: CUDA animates a vertex buffer of Direct3D
 * 11's, and its keyed mutex has both take turns. */
#include "program.h"

#include <culvert/d3d.h>

enum { WIDTH = 97, HEIGHT = 64, FRAMES = 5 };

/* interop */
typedef struct interop {
    culv_device *device;
    culv_d3d_device *d3d11;
    culv_memory *memory;
    culv_buffer *vertices;
    culv_keyed_mutex *mutex;
} interop;

static culv_result start(interop *i, ID3D11Device *d3d, ID3D11Resource *buffer, uint64_t size)
{
    culv_d3d_device_desc a = culv_d3d_device_desc_init();
    culv_d3d_memory_desc m = culv_d3d_memory_desc_init();
    culv_buffer_desc b = culv_buffer_desc_init();
    a.device = (IUnknown *)d3d;
    m.object = (IUnknown *)buffer;
    b.size = size;
    culv_result e = culv_device_open_for_d3d((IUnknown *)d3d, NULL, &i->device);
    if (e == CULV_OK) e = culv_d3d_attach(i->device, &a, &i->d3d11);
    if (e == CULV_OK) e = culv_d3d_memory_import(i->d3d11, &m, &i->memory);
    if (e == CULV_OK) e = culv_buffer_map(i->memory, &b, &i->vertices);
    return e == CULV_OK ? culv_d3d11_keyed_mutex_import(i->d3d11, buffer, "turns", &i->mutex) : e;
}

static void finish(interop *i)
{
    culv_keyed_mutex_destroy(&i->mutex, NULL);
    culv_buffer_unmap(&i->vertices, NULL);
    culv_memory_destroy(&i->memory);
    culv_d3d_detach(&i->d3d11);
    culv_device_close(&i->device);
}
/* interop ends */

int main(void)
{
    const UINT size = 7 * sizeof(float) * WIDTH * HEIGHT;
    const D3D11_BUFFER_DESC desc = {.ByteWidth = size,
                                    .BindFlags = D3D11_BIND_VERTEX_BUFFER,
                                    .MiscFlags = D3D11_RESOURCE_MISC_SHARED_NTHANDLE |
                                                 D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX};
    const D3D11_BUFFER_DESC back = {
        .ByteWidth = size, .Usage = D3D11_USAGE_STAGING, .CPUAccessFlags = D3D11_CPU_ACCESS_READ};
    ID3D11Device *d3d;
    ID3D11DeviceContext *context;
    ID3D11Buffer *vertices, *readback;
    IDXGIKeyedMutex *mutex;
    interop i;
    culv_kernels *kernels = NULL;
    setvbuf(stdout, NULL, _IONBF, 0);
    memset(&i, 0, sizeof i);
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &d3d,
                         NULL, &context));
    OK(ID3D11Device_CreateBuffer(d3d, &desc, NULL, &vertices));
    OK(ID3D11Device_CreateBuffer(d3d, &back, NULL, &readback));
    OK(ID3D11Buffer_QueryInterface(vertices, &IID_IDXGIKeyedMutex, (void **)&mutex));
    OK(start(&i, d3d, (ID3D11Resource *)(void *)vertices, size));

    CUstream stream = stream_of(i.device);
    culv_kernel *wave = kernel_of(i.device, &kernels, "wave");
    CUdeviceptr at = culv_buffer_pointer(i.vertices);
    const unsigned width = WIDTH, height = HEIGHT;
    for (int frame = 0; frame < FRAMES; frame++) { /* keys: 0 is CUDA's turn, 1 is Direct3D's */
        const float time = 1.0f + 0.1f * (float)frame;
        const culv_launch_desc launch = culv_launch_2d(WIDTH, HEIGHT, 16, 16, stream);
        D3D11_MAPPED_SUBRESOURCE map;
        OK(culv_keyed_mutex_acquire(i.mutex, stream, 0, CULV_KEYED_MUTEX_INFINITE));
        OK(CULV_LAUNCH(wave, &launch, CULV_ARG(at), CULV_ARG(width), CULV_ARG(height),
                       CULV_ARG(time)));
        OK(culv_keyed_mutex_release(i.mutex, stream, 1));
        OK(IDXGIKeyedMutex_AcquireSync(mutex, 1, INFINITE));
        ID3D11DeviceContext_CopyResource(context, (ID3D11Resource *)(void *)readback,
                                         (ID3D11Resource *)(void *)vertices);
        OK(IDXGIKeyedMutex_ReleaseSync(mutex, 0));
        OK(ID3D11DeviceContext_Map(context, (ID3D11Resource *)(void *)readback, 0, D3D11_MAP_READ,
                                   0, &map));
        REQUIRE(wave_faults(map.pData, WIDTH, HEIGHT, time) == 0);
        ID3D11DeviceContext_Unmap(context, (ID3D11Resource *)(void *)readback, 0);
    }
    culv_kernels_unload(&kernels);
    OK(CULV_CUDA(i.device)->cuStreamDestroy(stream));
    finish(&i);
    IDXGIKeyedMutex_Release(mutex);
    REQUIRE(ID3D11Buffer_Release(vertices) == 0);
    return done("simple_d3d11");
}
