#!/bin/sh
# glslang computes with constants of type float in double.
# Version: glslang-tools 12.0.0-2, spirv-tools 2023.1-2, gcc 4:12.2.0-3.
# Guess: (16777216.0 + 1.0) - 16777216.0 of floats is 0, as C folds it and as a driver computes it
#   from a buffer: 2^24 + 1 is no float. 0.1 * 3.0 - 0.3 is what C has.
# Behaviour: the module holds 1 and 5.55e-17: only the last result is rounded to a float. So one
#   formula gives different results with a literal and with a uniform of the same value, and a
#   constant of a shader is not the one of a CUDA kernel or of the host.
# Seen: GLSL 1 5.55111512e-17; C 0 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 glslang-tools=12.0.0-2 spirv-tools=2023.1-2
cat >"$work/fold.comp" <<'GLSL'
#version 450
layout(binding = 0) buffer Out { float a, b; };
const float big = 16777216.0;
void main() {
    a = (big + 1.0) - big;
    b = 0.1 * 3.0 - 0.3;
}
GLSL
glslangValidator -V -o "$work/fold.spv" "$work/fold.comp" >"$work/log" || unknown "glslangValidator"
glsl=$(spirv-dis --raw-id "$work/fold.spv" | awk '$3 == "OpConstant" { value[$1] = $5 } $1 == "OpStore" { print value[$3] }' | paste -s -d ' ')
compile fold <<'C'
#include <stdio.h>

int main(void)
{
    const float big = 16777216.0F;
    float a = (big + 1.0F) - big, b = 0.1F * 3.0F - 0.3F;
    printf("%.9g %.9g\n", (double)a, (double)b);
    return 0;
}
C
same "GLSL 1 5.55111512e-17; C 0 0" "GLSL $glsl; C $("$work/fold")"
