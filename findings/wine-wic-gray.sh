#!/bin/sh
# Wine's WIC turns a gray picture brighter when it drops the colors.
# Version: wine64 8.0~repack-4.
# Guess: converting 24bppBGR to 8bppGray leaves a gray pixel as it is: the weights of red, green and blue sum to 1, in
#   whatever light they are applied.
# Behaviour: the bytes are weighted as if they were linear light, and the sum is encoded as sRGB: 128 128 128 becomes
#   188, and 10 10 10 becomes 56. Only black and white stay. 32bppGrayFloat in between holds 0.502 for 128 128 128,
#   the byte itself, though its values are linear.
# Seen: 0 becomes 0, 10 56, 64 137, 128 188, 200 229, 255 255; as float 128 is 0.502; red 127, green 220, blue 76
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#define COBJMACROS
#include <windows.h>

#include <stdio.h>
#include <wincodec.h>

static IWICImagingFactory *factory;

static void convert(BYTE red, BYTE green, BYTE blue, REFWICPixelFormatGUID to, void *out, UINT size)
{
    BYTE pixel[3] = {blue, green, red};
    IWICBitmap *bitmap;
    IWICFormatConverter *converter;
    if (FAILED(IWICImagingFactory_CreateBitmapFromMemory(
            factory, 1, 1, &GUID_WICPixelFormat24bppBGR, 3, 3, pixel, &bitmap)) ||
        FAILED(IWICImagingFactory_CreateFormatConverter(factory, &converter)) ||
        FAILED(IWICFormatConverter_Initialize(converter, (IWICBitmapSource *)bitmap, to,
                                              WICBitmapDitherTypeNone, NULL, 0,
                                              WICBitmapPaletteTypeCustom)) ||
        FAILED(IWICFormatConverter_CopyPixels(converter, NULL, size, size, out)))
        printf("failed ");
}

static int gray(BYTE red, BYTE green, BYTE blue)
{
    BYTE out = 0;
    convert(red, green, blue, &GUID_WICPixelFormat8bppGray, &out, 1);
    return out;
}

int main(void)
{
    float linear = 0;
    CoInitialize(NULL);
    if (FAILED(CoCreateInstance(&CLSID_WICImagingFactory, NULL, CLSCTX_INPROC_SERVER,
                                &IID_IWICImagingFactory, (void **)&factory)))
        return 3;
    printf("0 becomes %d", gray(0, 0, 0));
    for (int i = 0; i < 5; i++) {
        BYTE value = ((const BYTE[]){10, 64, 128, 200, 255})[i];
        printf(", %d %d", value, gray(value, value, value));
    }
    convert(128, 128, 128, &GUID_WICPixelFormat32bppGrayFloat, &linear, sizeof linear);
    printf("; as float 128 is %.3f; red %d, green %d, blue %d\n", (double)linear, gray(255, 0, 0),
           gray(0, 255, 0), gray(0, 0, 255));
    return 0;
}
C
same "0 becomes 0, 10 56, 64 137, 128 188, 200 229, 255 255; as float 128 is 0.502; red 127, green 220, blue 76" "$(cat "$work/seen")"
