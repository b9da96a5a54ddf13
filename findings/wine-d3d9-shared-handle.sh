#!/bin/sh
# Wine's Direct3D 9Ex creates shared textures with success and without a handle.
# Version: wine64 8.0~repack-4 on libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: CreateTexture of a 9Ex device with pSharedHandle pointing to NULL writes a handle, which
#   another device or CUDA opens, or fails, as IDXGIResource::GetSharedHandle of Direct3D 11 does
#   there (E_NOTIMPL).
# Behaviour: CreateTexture, CreateRenderTarget and CreateVertexBuffer say D3D_OK and leave NULL. A
#   device that opens that NULL creates a picture of its own, with success again, so both sides
#   believe that they share. Look at the handle, not at the result.
# Seen: texture D3D_OK, handle NULL; render target D3D_OK, handle NULL; vertex buffer D3D_OK, handle NULL
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#define COBJMACROS
#define INITGUID
#include <windows.h>

#include <d3d9.h>
#include <stdio.h>

static void tell(const char *name, HRESULT result, HANDLE handle)
{
    printf("%s %s, handle %s", name, result == D3D_OK ? "D3D_OK" : "failed",
           handle ? "written" : "NULL");
}

int main(void)
{
    HWND window = CreateWindowA("STATIC", "", WS_OVERLAPPEDWINDOW, 0, 0, 64, 64, 0, 0, 0, 0);
    D3DPRESENT_PARAMETERS present = {.BackBufferWidth = 64,
                                     .BackBufferHeight = 64,
                                     .BackBufferFormat = D3DFMT_X8R8G8B8,
                                     .BackBufferCount = 1,
                                     .SwapEffect = D3DSWAPEFFECT_DISCARD,
                                     .hDeviceWindow = window,
                                     .Windowed = TRUE};
    IDirect3D9Ex *api;
    IDirect3DDevice9Ex *device;
    IDirect3DTexture9 *texture;
    IDirect3DSurface9 *target;
    IDirect3DVertexBuffer9 *buffer;
    HANDLE handle[3] = {0};
    if (FAILED(Direct3DCreate9Ex(D3D_SDK_VERSION, &api)) ||
        FAILED(IDirect3D9Ex_CreateDeviceEx(api, 0, D3DDEVTYPE_HAL, window,
                                           D3DCREATE_HARDWARE_VERTEXPROCESSING, &present, NULL,
                                           &device)))
        return 3;
    HRESULT result =
        IDirect3DDevice9Ex_CreateTexture(device, 64, 64, 1, D3DUSAGE_RENDERTARGET, D3DFMT_A8R8G8B8,
                                         D3DPOOL_DEFAULT, &texture, &handle[0]);
    tell("texture", result, handle[0]);
    result = IDirect3DDevice9Ex_CreateRenderTarget(device, 64, 64, D3DFMT_A8R8G8B8, 0, 0, FALSE,
                                                   &target, &handle[1]);
    tell("; render target", result, handle[1]);
    result = IDirect3DDevice9Ex_CreateVertexBuffer(device, 256, 0, 0, D3DPOOL_DEFAULT, &buffer,
                                                   &handle[2]);
    tell("; vertex buffer", result, handle[2]);
    puts("");
    return 0;
}
C
same "texture D3D_OK, handle NULL; render target D3D_OK, handle NULL; vertex buffer D3D_OK, handle NULL" "$(cat "$work/seen")"
