/* SPDX-License-Identifier: MIT */
/* What NVIDIA's simpleD3D11Texture shows, without its window: CUDA writes a 2D texture, a volume
 * and a cube of Direct3D 11's, which were created without any flag of sharing, by registration. */
#include "program.h"

#include <culvert/d3d.h>
#include <culvert/d3d_register.h>

#include <stdbool.h>

enum { WIDTH = 61, HEIGHT = 33, DEPTH = 5, SIDE = 24, FRAMES = 3 };

/* interop */
enum { PLANE, VOLUME, CUBE, ALL };

static culv_result start(culv_device **device, ID3D11Device *d3d, ID3D11Resource *const textures[],
                         culv_registration *out[])
{
    culv_result e = culv_device_open_for_d3d((IUnknown *)d3d, NULL, device);
    for (int i = 0; i < ALL && e == CULV_OK; i++)
        e = culv_d3d_register(*device, (IUnknown *)textures[i], NULL, &out[i]);
    return e;
}

static culv_result begin(culv_registration *const r[], CUstream stream, CUsurfObject out[])
{
    culv_result e = culv_registration_map(r, ALL, stream);
    for (int i = 0; i < ALL && e == CULV_OK; i++)
        e = culv_image_get_surface(culv_registration_image(r[i]), 0, 0, &out[i]);
    return e;
}

static void finish(culv_device **device, culv_registration *r[])
{
    for (int i = 0; i < ALL; i++)
        culv_registration_destroy(&r[i]);
    culv_device_close(device);
}
/* interop ends */

static ID3D11Texture2D *texture2d(ID3D11Device *d3d, const D3D11_TEXTURE2D_DESC *like, bool back)
{
    D3D11_TEXTURE2D_DESC desc = *like;
    ID3D11Texture2D *made = NULL;
    if (back) {
        desc.Usage = D3D11_USAGE_STAGING;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        desc.BindFlags = desc.MiscFlags = 0;
    }
    OK(ID3D11Device_CreateTexture2D(d3d, &desc, NULL, &made));
    return made;
}

static ID3D11Texture3D *texture3d(ID3D11Device *d3d, const D3D11_TEXTURE3D_DESC *like, bool back)
{
    D3D11_TEXTURE3D_DESC desc = *like;
    ID3D11Texture3D *made = NULL;
    if (back) {
        desc.Usage = D3D11_USAGE_STAGING;
        desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
        desc.BindFlags = 0;
    }
    OK(ID3D11Device_CreateTexture3D(d3d, &desc, NULL, &made));
    return made;
}

static D3D11_MAPPED_SUBRESOURCE map(ID3D11DeviceContext *context, ID3D11Resource *back, UINT which)
{
    D3D11_MAPPED_SUBRESOURCE m;
    OK(ID3D11DeviceContext_Map(context, back, which, D3D11_MAP_READ, 0, &m));
    return m;
}

static unsigned plane_faults(const D3D11_MAPPED_SUBRESOURCE *m, int frame)
{
    unsigned wrong = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const float *p = (const float *)(const void *)((const char *)m->pData +
                                                           (size_t)y * m->RowPitch + x * 16);
            wrong += p[0] != (float)x || p[1] != (float)y || p[2] != (float)frame || p[3] != 1.0f;
        }
    return wrong;
}

static unsigned byte_faults(const D3D11_MAPPED_SUBRESOURCE *m, const int extent[3],
                            const int times[3], const int offset[3])
{
    unsigned wrong = 0;
    for (int z = 0; z < extent[2]; z++)
        for (int y = 0; y < extent[1]; y++)
            for (int x = 0; x < extent[0]; x++) {
                const unsigned char *p = (const unsigned char *)m->pData +
                                         (size_t)z * m->DepthPitch + (size_t)y * m->RowPitch +
                                         x * 4;
                wrong += p[0] != (unsigned char)(times[0] * x + offset[0]) ||
                         p[1] != (unsigned char)(times[1] * y + offset[1]) ||
                         p[2] != (unsigned char)(times[2] * z + offset[2]) || p[3] != 255;
            }
    return wrong;
}

int main(void)
{
    const D3D11_TEXTURE2D_DESC flat = {.Width = WIDTH,
                                       .Height = HEIGHT,
                                       .MipLevels = 1,
                                       .ArraySize = 1,
                                       .Format = DXGI_FORMAT_R32G32B32A32_FLOAT,
                                       .SampleDesc = {1, 0},
                                       .BindFlags = D3D11_BIND_SHADER_RESOURCE};
    const D3D11_TEXTURE2D_DESC sides = {.Width = SIDE,
                                        .Height = SIDE,
                                        .MipLevels = 1,
                                        .ArraySize = 6,
                                        .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                        .SampleDesc = {1, 0},
                                        .BindFlags = D3D11_BIND_SHADER_RESOURCE,
                                        .MiscFlags = D3D11_RESOURCE_MISC_TEXTURECUBE};
    const D3D11_TEXTURE3D_DESC deep = {.Width = WIDTH,
                                       .Height = HEIGHT,
                                       .Depth = DEPTH,
                                       .MipLevels = 1,
                                       .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                       .BindFlags = D3D11_BIND_SHADER_RESOURCE};
    ID3D11Device *d3d;
    ID3D11DeviceContext *context;
    culv_device *device;
    culv_registration *registrations[ALL] = {NULL};
    culv_kernels *kernels = NULL;
    setvbuf(stdout, NULL, _IONBF, 0);
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION, &d3d,
                         NULL, &context));
    ID3D11Resource *const textures[ALL] = {(ID3D11Resource *)(void *)texture2d(d3d, &flat, false),
                                           (ID3D11Resource *)(void *)texture3d(d3d, &deep, false),
                                           (ID3D11Resource *)(void *)texture2d(d3d, &sides, false)};
    ID3D11Resource *const backs[ALL] = {(ID3D11Resource *)(void *)texture2d(d3d, &flat, true),
                                        (ID3D11Resource *)(void *)texture3d(d3d, &deep, true),
                                        (ID3D11Resource *)(void *)texture2d(d3d, &sides, true)};
    OK(start(&device, d3d, textures, registrations));
    CUstream stream = stream_of(device);
    culv_kernel *plane = kernel_of(device, &kernels, "plane");
    culv_kernel *volume = kernel_of(device, &kernels, "volume");
    culv_kernel *cube = kernel_of(device, &kernels, "cube");
    const int width = WIDTH, height = HEIGHT, depth = DEPTH, size = SIDE;
    for (int frame = 0; frame < FRAMES; frame++) {
        const culv_launch_desc wide = culv_launch_2d(WIDTH, HEIGHT, 16, 16, stream);
        const culv_launch_desc square = culv_launch_2d(SIDE, SIDE, 8, 8, stream);
        CUsurfObject out[ALL];
        OK(begin(registrations, stream, out));
        OK(CULV_LAUNCH(plane, &wide, CULV_ARG(out[PLANE]), CULV_ARG(width), CULV_ARG(height),
                       CULV_ARG(frame)));
        OK(CULV_LAUNCH(volume, &wide, CULV_ARG(out[VOLUME]), CULV_ARG(width), CULV_ARG(height),
                       CULV_ARG(depth), CULV_ARG(frame)));
        OK(CULV_LAUNCH(cube, &square, CULV_ARG(out[CUBE]), CULV_ARG(size), CULV_ARG(frame)));
        OK(culv_registration_unmap(registrations, ALL, stream));

        for (int i = 0; i < ALL; i++)
            ID3D11DeviceContext_CopyResource(context, backs[i], textures[i]);
        D3D11_MAPPED_SUBRESOURCE m = map(context, backs[PLANE], 0);
        REQUIRE(plane_faults(&m, frame) == 0);
        ID3D11DeviceContext_Unmap(context, backs[PLANE], 0);
        m = map(context, backs[VOLUME], 0);
        REQUIRE(byte_faults(&m, (const int[]){WIDTH, HEIGHT, DEPTH}, (const int[]){3, 5, 7},
                            (const int[]){frame, 0, 0}) == 0);
        ID3D11DeviceContext_Unmap(context, backs[VOLUME], 0);
        for (int face = 0; face < 6; face++) {
            m = map(context, backs[CUBE], (UINT)face);
            REQUIRE(byte_faults(&m, (const int[]){SIDE, SIDE, 1}, (const int[]){1, 1, 0},
                                (const int[]){frame, 0, 40 * face}) == 0);
            ID3D11DeviceContext_Unmap(context, backs[CUBE], (UINT)face);
        }
    }
    culv_kernels_unload(&kernels);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    finish(&device, registrations);
    for (int i = 0; i < ALL; i++)
        REQUIRE(ID3D11Resource_Release(textures[i]) == 0);
    return done("simple_d3d11_texture");
}
