/* SPDX-License-Identifier: MIT */
/* A Direct3D 11 device with its context, and the twin's CUDA. */
#define D3D 11
#include "d3d.h"

const scene11_row scene11_rows[SCENE11_ROWS] = {
    {"an NT handle and a mutex",
     D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, true, true},
    {"an NT handle alone", D3D11_RESOURCE_MISC_SHARED_NTHANDLE | D3D11_RESOURCE_MISC_SHARED, true,
     false},
    {"a mutex alone", D3D11_RESOURCE_MISC_SHARED_KEYEDMUTEX, false, true},
    {"neither", D3D11_RESOURCE_MISC_SHARED, false, false},
};

void scene11_open_device(scene11 *s)
{
    D3D_FEATURE_LEVEL level = D3D_FEATURE_LEVEL_11_0;
    memset(s, 0, sizeof *s);
    scene_find_controls();
    HR_OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, &level, 1, D3D11_SDK_VERSION,
                            &s->device, NULL, &s->context));
    overlay11_install(s->device, s->context);
    HR_OK(ID3D11DeviceContext_QueryInterface(s->context, &IID_ID3D11DeviceContext4,
                                             (void **)&s->context4));
}

void scene11_close(scene11 *s)
{
    scene11_close_culvert(s);
    overlay11_clear();
    ID3D11DeviceContext4_Release(s->context4);
    ID3D11DeviceContext_Release(s->context);
    REQUIRE(ID3D11Device_Release(s->device) == 0);
}

/* Direct3D's work ------------------------------------------------------------------------------ */

ID3D11Buffer *scene11_buffer(const scene11 *s, UINT size, UINT misc)
{
    D3D11_BUFFER_DESC desc = {.ByteWidth = size};
    ID3D11Buffer *made = NULL;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE;
    desc.MiscFlags = misc;
    HR_OK(ID3D11Device_CreateBuffer(s->device, &desc, NULL, &made));
    return made;
}

D3D11_TEXTURE2D_DESC scene11_texture_desc(DXGI_FORMAT format, UINT width, UINT height, UINT layers,
                                          UINT levels, UINT misc)
{
    D3D11_TEXTURE2D_DESC desc = {.Width = width};
    desc.Height = height;
    desc.MipLevels = levels;
    desc.ArraySize = layers;
    desc.Format = format;
    desc.SampleDesc.Count = 1;
    desc.BindFlags = D3D11_BIND_SHADER_RESOURCE | D3D11_BIND_RENDER_TARGET;
    desc.MiscFlags = misc;
    return desc;
}

ID3D11Texture2D *scene11_texture(const scene11 *s, DXGI_FORMAT format, UINT width, UINT height,
                                 UINT layers, UINT misc)
{
    const D3D11_TEXTURE2D_DESC desc = scene11_texture_desc(format, width, height, layers, 1, misc);
    ID3D11Texture2D *made = NULL;
    HR_OK(ID3D11Device_CreateTexture2D(s->device, &desc, NULL, &made));
    return made;
}

IDXGIKeyedMutex *scene11_mutex(ID3D11Resource *resource)
{
    IDXGIKeyedMutex *mutex = NULL;
    HR_OK(ID3D11Resource_QueryInterface(resource, &IID_IDXGIKeyedMutex, (void **)&mutex));
    return mutex;
}

void scene11_write(const scene11 *s, ID3D11Resource *resource, UINT layer, const void *data,
                   UINT row)
{
    ID3D11DeviceContext_UpdateSubresource(s->context, resource, layer, NULL, data, row, 0);
}

void scene11_read(const scene11 *s, ID3D11Resource *resource, UINT layer, void *data)
{
    D3D11_RESOURCE_DIMENSION dimension;
    D3D11_BUFFER_DESC buffer = {.ByteWidth = 0};
    D3D11_TEXTURE2D_DESC texture = {.Height = 1};
    ID3D11Resource_GetType(resource, &dimension);
    const bool is_buffer = dimension == D3D11_RESOURCE_DIMENSION_BUFFER;
    if (is_buffer)
        ID3D11Buffer_GetDesc((ID3D11Buffer *)(void *)resource, &buffer);
    else
        ID3D11Texture2D_GetDesc((ID3D11Texture2D *)(void *)resource, &texture);
    const size_t texel = texture.Format == DXGI_FORMAT_R32G32B32A32_TYPELESS ? 16 : 4;
    scene_read11(s->device, s->context, resource, layer, data,
                 is_buffer ? buffer.ByteWidth : texture.Width * texel, texture.Height, 1);
}

ID3D11Fence *scene11_fence(const scene11 *s, uint64_t value, bool shared)
{
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HR_OK(ID3D11Device_QueryInterface(s->device, &IID_ID3D11Device5, (void **)&device));
    HR_OK(ID3D11Device5_CreateFence(device, value,
                                    shared ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                    &IID_ID3D11Fence, (void **)&fence));
    ID3D11Device5_Release(device);
    return fence;
}

void *scene11_memory(scene11 *s, uint64_t size, bool shared)
{
    return scene11_buffer(s, (UINT)size, shared ? scene11_rows[1].misc : 0);
}

void scene11_put(scene11 *s, void *buffer, const void *data, size_t size)
{
    const D3D11_BOX box = {0, 0, 0, (UINT)size, 1, 1};
    overlay11_turn(s->device);
    ID3D11DeviceContext_UpdateSubresource(s->context, buffer, 0, &box, data, (UINT)size, 0);
    overlay11_turn(s->device);
}

void scene11_get(scene11 *s, void *buffer, void *data, size_t size)
{
    D3D11_BUFFER_DESC desc;
    ID3D11Buffer_GetDesc((ID3D11Buffer *)buffer, &desc);
    void *all = malloc(desc.ByteWidth);
    REQUIRE(all != NULL);
    overlay11_turn(s->device);
    scene11_read(s, buffer, 0, all);
    memcpy(data, all, size);
    free(all);
}

HRESULT scene11_signal(scene11 *s, ID3D11Fence *fence, uint64_t value)
{
    return ID3D11DeviceContext4_Signal(s->context4, fence, value);
}

HRESULT scene11_wait(scene11 *s, ID3D11Fence *fence, uint64_t value)
{
    return ID3D11DeviceContext4_Wait(s->context4, fence, value);
}

#include "scene_both.h"
