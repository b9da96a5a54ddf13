/* SPDX-License-Identifier: MIT */
/* What NVIDIA's simpleD3D11Texture shows, without its window: textures that were created without
 * any flag of sharing, by registration. */
#include "program.h"

#include <culvert/d3d.h>
#include <culvert/d3d_register.h>

#include <stdbool.h>

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

enum { PLANE, VOLUME, CUBE, ALL, FRAMES = 5 };
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
    one_driver();
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
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &d3d,
                         NULL, &context));
    simple_d3d11_texture(d3d, context);
    return done();
}
