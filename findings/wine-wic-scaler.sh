#!/bin/sh
# Each interpolation mode of Wine's WIC scaler takes one pixel and drops the others.
# Version: wine64 8.0~repack-4.
# Guess: WICBitmapInterpolationModeFant, the mode for making pictures smaller, averages: 0 200 0 200 becomes 100 100.
#   If Wine lacked a mode, Initialize() would fail, as its converter does for formats that it lacks.
# Behaviour: all five modes give NearestNeighbor's result with S_OK, and the pixel is the first of its block, not the
#   one in the middle: 0 1 2 3 4 becomes 0 1 3. So stripes one pixel wide vanish, and thumbnails lie half a pixel to
#   the left. Enlarged by Linear and Cubic, pictures have blocks.
# Seen: 0 200 0 200 to 2: nearest 0 0, linear 0 0, cubic 0 0, fant 0 0, high quality 0 0; 0 200 to 4: linear 0 0 200 200; 0 1 2 3 4 to 3: 0 1 3
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#define COBJMACROS
#include <windows.h>

#include <stdio.h>
#include <wincodec.h>

static IWICImagingFactory *factory;

static void scale(const BYTE *pixels, UINT from, UINT to, WICBitmapInterpolationMode mode)
{
    BYTE out[16] = {0};
    IWICBitmap *bitmap;
    IWICBitmapScaler *scaler;
    HRESULT result = IWICImagingFactory_CreateBitmapFromMemory(
        factory, from, 1, &GUID_WICPixelFormat8bppGray, from, from, (BYTE *)pixels, &bitmap);
    if (SUCCEEDED(result))
        result = IWICImagingFactory_CreateBitmapScaler(factory, &scaler);
    if (SUCCEEDED(result))
        result = IWICBitmapScaler_Initialize(scaler, (IWICBitmapSource *)bitmap, to, 1, mode);
    if (SUCCEEDED(result))
        result = IWICBitmapScaler_CopyPixels(scaler, NULL, to, sizeof out, out);
    if (FAILED(result))
        printf(" failed");
    for (UINT i = 0; i < to && SUCCEEDED(result); i++)
        printf(" %d", out[i]);
}

int main(void)
{
    static const char *const names[] = {"nearest", "linear", "cubic", "fant", "high quality"};
    CoInitialize(NULL);
    if (FAILED(CoCreateInstance(&CLSID_WICImagingFactory, NULL, CLSCTX_INPROC_SERVER,
                                &IID_IWICImagingFactory, (void **)&factory)))
        return 3;
    printf("0 200 0 200 to 2:");
    for (int mode = 0; mode < 5; mode++) {
        printf("%s %s", mode ? "," : "", names[mode]);
        scale((const BYTE[]){0, 200, 0, 200}, 4, 2, mode);
    }
    printf("; 0 200 to 4: linear");
    scale((const BYTE[]){0, 200}, 2, 4, WICBitmapInterpolationModeLinear);
    printf("; 0 1 2 3 4 to 3:");
    scale((const BYTE[]){0, 1, 2, 3, 4}, 5, 3, WICBitmapInterpolationModeNearestNeighbor);
    puts("");
    return 0;
}
C
same "0 200 0 200 to 2: nearest 0 0, linear 0 0, cubic 0 0, fant 0 0, high quality 0 0; 0 200 to 4: linear 0 0 200 200; 0 1 2 3 4 to 3: 0 1 3" \
    "$(cat "$work/seen")"
