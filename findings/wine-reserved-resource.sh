#!/bin/sh
# Wine's Direct3D 12 says that it has no tiled resources and creates them all the same.
# Version: wine64 8.0~repack-4 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: with TiledResourcesTier 0 CreateReservedResource fails, "not even for buffers" as
#   Microsoft's documentation of that tier says; so a program may try it and fall back on an
#   error.
# Behaviour: a reserved buffer and a reserved texture are created with S_OK, and the buffer has a
#   GPU address. lavapipe of that version has no sparse memory to put there. Ask
#   CheckFeatureSupport; an attempt tells nothing.
# Seen: tier 0; reserved buffer S_OK, it has an address; reserved texture S_OK
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'END'
#define COBJMACROS
#define INITGUID
#include <windows.h>

#include <d3d12.h>
#include <stdio.h>

int main(void)
{
    ID3D12Device *device;
    ID3D12Resource *buffer = NULL, *texture = NULL;
    D3D12_FEATURE_DATA_D3D12_OPTIONS options = {.TiledResourcesTier = D3D12_TILED_RESOURCES_TIER_3};
    D3D12_RESOURCE_DESC of_buffer = {.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                     .Width = 131072,
                                     .Height = 1,
                                     .DepthOrArraySize = 1,
                                     .MipLevels = 1,
                                     .SampleDesc = {1, 0},
                                     .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR};
    D3D12_RESOURCE_DESC of_texture = {.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                                      .Width = 256,
                                      .Height = 256,
                                      .DepthOrArraySize = 1,
                                      .MipLevels = 1,
                                      .Format = DXGI_FORMAT_R8G8B8A8_UNORM,
                                      .SampleDesc = {1, 0},
                                      .Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE};
    if (FAILED(
            D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &IID_ID3D12Device, (void **)&device)))
        return 3;
    ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options);
    HRESULT first =
        ID3D12Device_CreateReservedResource(device, &of_buffer, D3D12_RESOURCE_STATE_COMMON, NULL,
                                            &IID_ID3D12Resource, (void **)&buffer);
    HRESULT second =
        ID3D12Device_CreateReservedResource(device, &of_texture, D3D12_RESOURCE_STATE_COMMON, NULL,
                                            &IID_ID3D12Resource, (void **)&texture);
    printf("tier %d; reserved buffer %s, ", options.TiledResourcesTier,
           first == S_OK ? "S_OK" : "failed");
    printf("it has %s address; reserved texture %s\n",
           buffer && ID3D12Resource_GetGPUVirtualAddress(buffer) ? "an" : "no",
           second == S_OK ? "S_OK" : "failed");
    return 0;
}
END
same "tier 0; reserved buffer S_OK, it has an address; reserved texture S_OK" "$(cat "$work/seen")"
