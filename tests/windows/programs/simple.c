/* SPDX-License-Identifier: MIT */
/* What NVIDIA's simpleD3D12 and simpleD3D11Texture show, without their windows. */
#include "program.h"

#include <culvert/d3d.h>
#include <culvert/d3d_register.h>

#include <stdbool.h>

enum { WIDTH = 161, HEIGHT = 120, FRAMES = 5 };
static const UINT size = 7 * sizeof(float) * WIDTH * HEIGHT;

/* Vertices of Direct3D's, which CUDA animates -------------------------------------------------- */

typedef struct interop {
    culv_device *device;
    culv_d3d_device *d3d;
    culv_memory *memory;
    culv_buffer *vertices;
    culv_kernels *kernels;
    culv_kernel *wave;
    CUstream stream;
} interop;

static interop start(void *d3d, void *buffer)
{
    interop i = {.kernels = NULL};
    culv_d3d_device_desc a = culv_d3d_device_desc_init();
    culv_d3d_memory_desc m = culv_d3d_memory_desc_init();
    culv_buffer_desc b = culv_buffer_desc_init();
    a.device = d3d;
    m.object = buffer;
    b.size = size;
    OK(culv_device_open_for_d3d(d3d, NULL, &i.device));
    OK(culv_d3d_attach(i.device, &a, &i.d3d));
    OK(culv_d3d_memory_import(i.d3d, &m, &i.memory));
    OK(culv_buffer_map(i.memory, &b, &i.vertices));
    i.stream = stream_of(i.device);
    i.wave = kernel_of(i.device, &i.kernels, "wave");
    return i;
}

static float animate(const interop *i, int frame)
{
    const unsigned width = WIDTH, height = HEIGHT;
    const float time = 1.0f + 0.1f * (float)frame;
    const culv_launch_desc launch = culv_launch_2d(WIDTH, HEIGHT, 16, 16, i->stream);
    CUdeviceptr at = culv_buffer_pointer(i->vertices);
    OK(CULV_LAUNCH(i->wave, &launch, CULV_ARG(at), CULV_ARG(width), CULV_ARG(height),
                   CULV_ARG(time)));
    return time;
}

static void finish(interop *i)
{
    culv_kernels_unload(&i->kernels);
    OK(CULV_CUDA(i->device)->cuStreamDestroy(i->stream));
    culv_buffer_unmap(&i->vertices, NULL);
    culv_memory_destroy(&i->memory);
    culv_d3d_detach(&i->d3d);
    culv_device_close(&i->device);
}

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

static ID3D12Resource *buffer12(ID3D12Device *d3d, bool back)
{
    const D3D12_HEAP_PROPERTIES heap = {.Type = back ? D3D12_HEAP_TYPE_READBACK
                                                     : D3D12_HEAP_TYPE_DEFAULT};
    const D3D12_RESOURCE_DESC desc = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                      .Width = size,
                                      .Height = 1,
                                      .DepthOrArraySize = 1,
                                      .MipLevels = 1,
                                      .SampleDesc = {1, 0},
                                      .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
    ID3D12Resource *made;
    OK(ID3D12Device_CreateCommittedResource(
        d3d, &heap, back ? D3D12_HEAP_FLAG_NONE : D3D12_HEAP_FLAG_SHARED, &desc,
        back ? D3D12_RESOURCE_STATE_COPY_DEST : D3D12_RESOURCE_STATE_COMMON, NULL,
        &IID_ID3D12Resource, (void **)&made));
    return made;
}

/* One fence has both take turns. */
static void simple_d3d12(void)
{
    const D3D12_COMMAND_QUEUE_DESC queue_desc = {.Type = D3D12_COMMAND_LIST_TYPE_DIRECT};
    ID3D12Device *d3d;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *mine;
    culv_semaphore *fence = NULL;
    culv_device_caps caps = culv_device_caps_init();
    uint64_t value = 0;
    OK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&d3d));
    OK(ID3D12Device_CreateCommandQueue(d3d, &queue_desc, &IID_ID3D12CommandQueue, (void **)&queue));
    OK(ID3D12Device_CreateCommandAllocator(d3d, queue_desc.Type, &IID_ID3D12CommandAllocator,
                                           (void **)&allocator));
    OK(ID3D12Device_CreateCommandList(d3d, 0, queue_desc.Type, allocator, NULL,
                                      &IID_ID3D12GraphicsCommandList, (void **)&list));
    OK(ID3D12GraphicsCommandList_Close(list));
    ID3D12Resource *vertices = buffer12(d3d, false), *readback = buffer12(d3d, true);
    OK(ID3D12Device_CreateFence(d3d, 0, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence, (void **)&mine));
    interop i = start(d3d, vertices);
    OK(culv_d3d_semaphore_import(i.d3d, (IUnknown *)mine, "turns", &fence));
    OK(culv_device_get_caps(i.device, &caps));
    printf("'%s' is_software %u\n", caps.name, (unsigned)caps.is_software);
    REQUIRE(caps.is_software == 1);
    one_driver();
    for (int frame = 0; frame < FRAMES; frame++) {
        OK(culv_semaphore_wait(fence, i.stream, value)); /* Direct3D has read the last frame */
        const float time = animate(&i, frame);
        OK(culv_semaphore_signal(fence, i.stream, ++value));

        ID3D12CommandList *lists[] = {(ID3D12CommandList *)list};
        OK(ID3D12CommandAllocator_Reset(allocator));
        OK(ID3D12GraphicsCommandList_Reset(list, allocator, NULL));
        ID3D12GraphicsCommandList_CopyBufferRegion(list, readback, 0, vertices, 0, size);
        OK(ID3D12GraphicsCommandList_Close(list));
        OK(ID3D12CommandQueue_Wait(queue, mine, value));
        ID3D12CommandQueue_ExecuteCommandLists(queue, 1, lists);
        OK(ID3D12CommandQueue_Signal(queue, mine, ++value));
        culv_semaphore_mark_value(fence, value);
        OK(ID3D12Fence_SetEventOnCompletion(mine, value, NULL)); /* NULL: it returns then */
        float *got = NULL;
        OK(ID3D12Resource_Map(readback, 0, NULL, (void **)&got));
        REQUIRE(wave_faults(got, WIDTH, HEIGHT, time) == 0);
        memset(got, 0, size);
        ID3D12Resource_Unmap(readback, 0, NULL);
    }
    culv_semaphore_destroy(&fence, NULL);
    finish(&i);
    ID3D12Fence_Release(mine);
    REQUIRE(ID3D12Resource_Release(vertices) == 0);
    passed("simple_d3d12");
}

/* Textures that were created without any flag of sharing, by registration ---------------------- */

enum { PLANE, VOLUME, CUBE, ALL };
static const int extents[ALL][3] = {{61, 33, 1}, {61, 33, 5}, {24, 24, 1}};

static ID3D11Resource *texture(ID3D11Device *d3d, int kind, bool back)
{
    const D3D11_USAGE usage = back ? D3D11_USAGE_STAGING : D3D11_USAGE_DEFAULT;
    const UINT access = back ? D3D11_CPU_ACCESS_READ : 0, width = (UINT)extents[kind][0];
    const UINT bind = back ? 0 : D3D11_BIND_SHADER_RESOURCE, height = (UINT)extents[kind][1];
    const D3D11_TEXTURE3D_DESC deep = {
        width,  height, (UINT)extents[kind][2], 1, DXGI_FORMAT_R8G8B8A8_UNORM, usage, bind,
        access, 0};
    const D3D11_TEXTURE2D_DESC flat = {width,
                                       height,
                                       1,
                                       kind == CUBE ? 6 : 1,
                                       kind == CUBE ? DXGI_FORMAT_R8G8B8A8_UNORM
                                                    : DXGI_FORMAT_R32G32B32A32_FLOAT,
                                       {1, 0},
                                       usage,
                                       bind,
                                       access,
                                       kind == CUBE && !back ? D3D11_RESOURCE_MISC_TEXTURECUBE : 0};
    void *made = NULL;
    OK(kind == VOLUME ? ID3D11Device_CreateTexture3D(d3d, &deep, NULL, (ID3D11Texture3D **)&made)
                      : ID3D11Device_CreateTexture2D(d3d, &flat, NULL, (ID3D11Texture2D **)&made));
    return made;
}

/* What the kernels write into a texel. */
static unsigned faults(const D3D11_MAPPED_SUBRESOURCE *m, int kind, int face, int frame)
{
    unsigned wrong = 0;
    for (int z = 0; z < extents[kind][2]; z++)
        for (int y = 0; y < extents[kind][1]; y++)
            for (int x = 0; x < extents[kind][0]; x++) {
                const unsigned char *p = (const unsigned char *)m->pData +
                                         (size_t)z * m->DepthPitch + (size_t)y * m->RowPitch +
                                         x * (kind == PLANE ? 16 : 4);
                const float plane[4] = {(float)x, (float)y, (float)frame, 1.0f};
                const int volume[4] = {3 * x + frame, 5 * y, 7 * z, 255};
                const int cube[4] = {x + frame, y, 40 * face, 255};
                for (int c = 0; c < 4; c++)
                    wrong += kind == PLANE
                                 ? ((const float *)(const void *)p)[c] != plane[c]
                                 : p[c] != (unsigned char)(kind == CUBE ? cube : volume)[c];
            }
    return wrong;
}

static void simple_d3d11_texture(ID3D11Device *d3d, ID3D11DeviceContext *context)
{
    static const char *const names[ALL] = {"plane", "volume", "cube"};
    ID3D11Resource *textures[ALL], *backs[ALL];
    culv_device *device;
    culv_registration *registrations[ALL] = {NULL};
    culv_kernels *kernels = NULL;
    culv_kernel *kernel[ALL];
    OK(culv_device_open_for_d3d((IUnknown *)d3d, NULL, &device));
    CUstream stream = stream_of(device);
    for (int i = 0; i < ALL; i++) {
        textures[i] = texture(d3d, i, false);
        backs[i] = texture(d3d, i, true);
        kernel[i] = kernel_of(device, &kernels, names[i]);
        OK(culv_d3d_register(device, (IUnknown *)textures[i], NULL, &registrations[i]));
    }
    for (int frame = 0; frame < FRAMES; frame++) {
        OK(culv_registration_map(registrations, ALL, stream));
        for (int i = 0; i < ALL; i++) {
            const int width = extents[i][0], height = extents[i][1], depth = extents[i][2];
            const culv_launch_desc launch =
                culv_launch_2d((unsigned)width, (unsigned)height, 16, 16, stream);
            CUsurfObject out;
            OK(culv_image_get_surface(culv_registration_image(registrations[i]), 0, 0, &out));
            OK(CULV_LAUNCH(kernel[i], &launch, CULV_ARG(out), CULV_ARG(width), CULV_ARG(height),
                           CULV_ARG(depth), CULV_ARG(frame)));
        }
        OK(culv_registration_unmap(registrations, ALL, stream));
        for (int i = 0; i < ALL; i++) {
            ID3D11DeviceContext_CopyResource(context, backs[i], textures[i]);
            for (int face = 0; face < (i == CUBE ? 6 : 1); face++) {
                D3D11_MAPPED_SUBRESOURCE m;
                OK(ID3D11DeviceContext_Map(context, backs[i], (UINT)face, D3D11_MAP_READ, 0, &m));
                REQUIRE(faults(&m, i, face, frame) == 0);
                ID3D11DeviceContext_Unmap(context, backs[i], (UINT)face);
            }
        }
    }
    culv_kernels_unload(&kernels);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    for (int i = 0; i < ALL; i++) {
        culv_registration_destroy(&registrations[i]);
        ID3D11Resource_Release(backs[i]);
        REQUIRE(ID3D11Resource_Release(textures[i]) == 0);
    }
    culv_device_close(&device);
    passed("simple_d3d11_texture");
}

int main(void)
{
    ID3D11Device *d3d;
    ID3D11DeviceContext *context;
    setvbuf(stdout, NULL, _IONBF, 0);
    simple_d3d12();
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &d3d,
                         NULL, &context));
    simple_d3d11_texture(d3d, context);
    return done();
}
