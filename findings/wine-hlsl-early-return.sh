#!/bin/sh
# Wine's Direct3D compiler passes over a return inside of an if.
# Version: libwine 8.0~repack-4 (its d3dcompiler_47), drawn by wined3d on libgl1-mesa-dri 22.3.6-1+deb12u2.
# Guess: `if (x > 0.5) return red; return blue;` is red for 1; what the compiler cannot do yet it refuses with
#   E_NOTIMPL and a message, as it does for `?:`.
# Behaviour: D3DCompile() succeeds, and the shader goes on behind the return, so the last one wins: blue. The same for
#   two returns without an if. With if and else that both assign, or both return, the result is right.
# Seen: if (x > 0.5) return 1; return 2; with x 1: 2; return 1; return 2; gives 2; if/else with a return each 1; by assignment 1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
wine8 <<'C'
#include "draw11.h"

static float shade(const char *body)
{
    char source[512];
    float out = 0;
    ID3D11RenderTargetView *view = target(DXGI_FORMAT_R32_FLOAT);
    snprintf(source, sizeof source,
             "float x;\nfloat4 main(float4 p : SV_Position) : SV_Target {\n%s\n}\n", body);
    draw(view, source, (const float[]){1, 0, 0, 0});
    read_pixel(view, &out, sizeof out);
    return out;
}

#define ONE "float4(1, 1, 1, 1);"
#define TWO "float4(2, 2, 2, 2);"

int main(void)
{
    start();
    printf("if (x > 0.5) return 1; return 2; with x 1: %g; ",
           (double)shade("if (x > 0.5) return " ONE " return " TWO));
    printf("return 1; return 2; gives %g; ", (double)shade("return " ONE " return " TWO));
    printf("if/else with a return each %g; ",
           (double)shade("if (x > 0.5) return " ONE " else return " TWO));
    printf("by assignment %g\n",
           (double)shade("float4 c = " TWO " if (x > 0.5) c = " ONE " return c;"));
    return 0;
}
C
same "if (x > 0.5) return 1; return 2; with x 1: 2; return 1; return 2; gives 2; if/else with a return each 1; by assignment 1" \
    "$(cat "$work/seen")"
