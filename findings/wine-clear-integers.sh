#!/bin/sh
# Wine's Direct3D 11 clears a picture of integers to 1 and leaves 1065353216.
# Version: libwine 8.0~repack-4 on libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: ClearRenderTargetView() converts its four floats to the picture's format, as Direct3D says also for UINT and
#   SINT: 1 is 1, -1 is -1, 3.7 is 3. A picture of object numbers is cleared to "no object" that way.
# Behaviour: the floats' bits are taken for integers: 0x3f800000 for 1, and 255 in each channel of 8 bits. Only 0 is
#   right, so it passes until someone clears to -1 or 1. A UNORM picture is right, and so is one drawn by a shader.
# Seen: R32_UINT 1: 1065353216; R32_SINT -1: -1082130432; R8_UINT 7: 255; R32_UINT 0: 0; R8_UNORM 0.5: 128; a shader's 1: 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#include "draw11.h"

static int cleared(DXGI_FORMAT format, float value, size_t bytes)
{
    int out = 0;
    const float values[] = {value, value, value, value};
    ID3D11RenderTargetView *view = target(format);
    ID3D11DeviceContext_ClearRenderTargetView(context, view, values);
    read_pixel(view, &out, bytes);
    return out;
}

int main(void)
{
    int drawn = 0;
    start();
    printf("R32_UINT 1: %d; ", cleared(DXGI_FORMAT_R32_UINT, 1, 4));
    printf("R32_SINT -1: %d; ", cleared(DXGI_FORMAT_R32_SINT, -1, 4));
    printf("R8_UINT 7: %d; ", cleared(DXGI_FORMAT_R8_UINT, 7, 1));
    printf("R32_UINT 0: %d; ", cleared(DXGI_FORMAT_R32_UINT, 0, 4));
    printf("R8_UNORM 0.5: %d; ", cleared(DXGI_FORMAT_R8_UNORM, 0.5f, 1));
    ID3D11RenderTargetView *view = target(DXGI_FORMAT_R32_UINT);
    draw(view, "float x;\nuint4 main(float4 p : SV_Position) : SV_Target { return uint4(x, x, x, x); }",
         (const float[]){1, 0, 0, 0});
    read_pixel(view, &drawn, sizeof drawn);
    printf("a shader's 1: %d\n", drawn);
    return 0;
}
C
same "R32_UINT 1: 1065353216; R32_SINT -1: -1082130432; R8_UINT 7: 255; R32_UINT 0: 0; R8_UNORM 0.5: 128; a shader's 1: 1" \
    "$(cat "$work/seen")"
