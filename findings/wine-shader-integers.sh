#!/bin/sh
# In Wine's Direct3D 11 shaders int(3e9) is the smallest integer and uint(-1.5) the largest.
# Version: libwine 8.0~repack-4 on libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: ftoi and ftou of shader model 4 go to the nearest end and take NaN for 0, as Direct3D's rules say and CUDA's
#   __float2int_rz() does: 2147483647, 0, 0. So a bin's or a cell's index that is far out clamps to the last.
# Behaviour: the conversion is left to GLSL's int() and uint(), which promise nothing there, and to the CPU below:
#   values too large and NaN become -2147483648, negative ones 4294967295, and 1e10 as uint 4294967295 by luck.
# Seen: int of 3e9 -2147483648, of -3e9 -2147483648, of NaN -2147483648; uint of -1.5 4294967295, of NaN 4294967295, of 1e10 4294967295
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#include "draw11.h"
#include <math.h>

static UINT converted(const char *type, float value)
{
    char source[256];
    UINT out = 7;
    int is_signed = type[0] == 'i';
    ID3D11RenderTargetView *view = target(is_signed ? DXGI_FORMAT_R32_SINT : DXGI_FORMAT_R32_UINT);
    snprintf(source, sizeof source,
             "float x;\n%s4 main(float4 p : SV_Position) : SV_Target { return %s4(x, x, x, x); }", type,
             type);
    draw(view, source, (const float[]){value, 0, 0, 0});
    read_pixel(view, &out, sizeof out);
    return out;
}

int main(void)
{
    start();
    printf("int of 3e9 %d, of -3e9 %d, of NaN %d; ", (int)converted("int", 3e9f),
           (int)converted("int", -3e9f), (int)converted("int", NAN));
    printf("uint of -1.5 %u, of NaN %u, of 1e10 %u\n", converted("uint", -1.5f),
           converted("uint", NAN), converted("uint", 1e10f));
    return 0;
}
C
same "int of 3e9 -2147483648, of -3e9 -2147483648, of NaN -2147483648; uint of -1.5 4294967295, of NaN 4294967295, of 1e10 4294967295" \
    "$(cat "$work/seen")"
