/* SPDX-License-Identifier: MIT */
/* hello_d3d11: CUDA writes a strip of colours into a texture, Direct3D 11 makes a picture from it,
 * and CUDA reads the picture. Each texture has a keyed mutex: key 0 is CUDA's turn, key 1 is
 * Direct3D's. No window.
 *
 *   x86_64-w64-mingw32-gcc hello_d3d11.c -lculvert -ld3d11 -lm
 *   cl hello_d3d11.c culvert.lib d3d11.lib
 *
 * It prints "hello_d3d11: 0 of 32131 pixels are wrong". */
#define CULV_EXPERIMENTAL 1
#define COBJMACROS
#define INITGUID
#include <windows.h>
/* after it */
#include <d3d11.h>

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/d3d.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH, CUDA = 0, DIRECT3D = 1 };

#define OK(call) check((int)(call), #call) /* 0 is success of Culvert, of CUDA and of Direct3D */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d. Culvert: %s\n", call, result, culv_last_error_message());
    exit(1);
}

/* A texture of both sides, with its mutex on each. */
typedef struct shared {
    culv_shared_image *image;
    ID3D11Resource *resource;
    IDXGIKeyedMutex *mutex;
    culv_keyed_mutex *cuda;
} shared;

static shared make(culv_d3d_device *d3d11, UINT width, UINT height, const char *label)
{
    const D3D11_TEXTURE2D_DESC what = {.Width = width,
                                       .Height = height,
                                       .MipLevels = 1,
                                       .ArraySize = 1,
                                       .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                       .SampleDesc = {.Count = 1},
                                       .BindFlags =
                                           D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET};
    culv_d3d_image_create_desc desc = culv_d3d_image_create_desc_init();
    shared s;
    desc.texture_desc = &what;
    desc.keyed_mutex = 1;
    desc.label = label;
    OK(culv_d3d_image_create(d3d11, &desc, &s.image));
    s.resource = (ID3D11Resource *)culv_d3d_image_resource(s.image);
    OK(ID3D11Resource_QueryInterface(s.resource, &IID_IDXGIKeyedMutex, (void **)&s.mutex));
    OK(culv_d3d11_keyed_mutex_import(d3d11, s.resource, label, &s.cuda));
    return s;
}

static void destroy(shared *s)
{
    culv_keyed_mutex_destroy(&s->cuda, NULL);
    IDXGIKeyedMutex_Release(s->mutex);
    culv_shared_image_destroy(&s->image, NULL);
}

/* CUDA copies rows between the host and the texture, in its turn. */
static void copy(culv_device *device, CUstream stream, const shared *s, UINT32 *host, UINT width,
                 UINT height, int to_texture)
{
    CUarray array;
    OK(culv_image_get_array(culv_shared_image_cuda(s->image), 0, 0, &array));
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = host,
                       .srcPitch = 4 * (size_t)width,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = array,
                       .WidthInBytes = 4 * (size_t)width,
                       .Height = height};
    if (!to_texture) {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = host;
        c.dstPitch = c.srcPitch;
    }
    OK(culv_keyed_mutex_acquire(s->cuda, stream, CUDA, CULV_KEYED_MUTEX_INFINITE));
    OK(CULV_CUDA(device)->cuMemcpy2DAsync(&c, stream));
    OK(culv_keyed_mutex_release(s->cuda, stream, DIRECT3D));
}

int main(void)
{
    const D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    ID3D11Device *d3d;
    ID3D11DeviceContext *context;
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                         &d3d, NULL, &context));
    culv_device *device;
    culv_d3d_device *d3d11;
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    desc.device = (IUnknown *)d3d;
    OK(culv_device_open_for_d3d((IUnknown *)d3d, NULL, &device));
    OK(culv_d3d_attach(device, &desc, &d3d11));
    CUstream stream;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    shared strip_texture = make(d3d11, STRIP, 1, "strip");
    shared picture_texture = make(d3d11, WIDTH, HEIGHT, "picture");

    static UINT32 strip[STRIP], picture[HEIGHT][WIDTH], first[HEIGHT];
    for (UINT32 i = 0; i < STRIP; i++) {
        const UINT32 red = (UINT32)(128 + 127 * cos(i * 0.0207));
        const UINT32 green = (UINT32)(120 + 80 * cos(i * 0.0414 + 1));
        const UINT32 blue = (UINT32)(150 + 105 * cos(i * 0.0207 + 2.5));
        strip[i] = red | green << 8 | blue << 16;
    }
    copy(device, stream, &strip_texture, strip, STRIP, 1, 1);
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));

    /* Direct3D's turn. AcquireSync() may answer WAIT_TIMEOUT, which is no failure of COM's. */
    OK(IDXGIKeyedMutex_AcquireSync(strip_texture.mutex, DIRECT3D, INFINITE));
    OK(IDXGIKeyedMutex_AcquireSync(picture_texture.mutex, CUDA, INFINITE)); /* nobody's yet */
    for (UINT32 row = 0; row < HEIGHT; row++) {
        first[row] =
            (UINT32)(WIDTH + 0.55 * WIDTH * sin(row * 0.035) + 0.25 * WIDTH * sin(row * 0.11 + 1));
        const D3D11_BOX box = {first[row], 0, 0, first[row] + WIDTH, 1, 1};
        ID3D11DeviceContext_CopySubresourceRegion(context, picture_texture.resource, 0, 0, row, 0,
                                                  strip_texture.resource, 0, &box);
    }
    OK(IDXGIKeyedMutex_ReleaseSync(strip_texture.mutex, CUDA));
    OK(IDXGIKeyedMutex_ReleaseSync(picture_texture.mutex, CUDA));

    copy(device, stream, &picture_texture, picture[0], WIDTH, HEIGHT, 0);
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    int wrong = 0;
    for (UINT32 i = 0; i < WIDTH * HEIGHT; i++)
        wrong += picture[i / WIDTH][i % WIDTH] != strip[first[i / WIDTH] + i % WIDTH];
    printf("hello_d3d11: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    destroy(&picture_texture);
    destroy(&strip_texture);
    culv_d3d_detach(&d3d11);
    culv_device_close(&device);
    ID3D11DeviceContext_Release(context);
    return ID3D11Device_Release(d3d) != 0 || wrong != 0;
}
