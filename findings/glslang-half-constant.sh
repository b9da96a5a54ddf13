#!/bin/sh
# glslang cuts constants of half precision off, where C, CUDA and the shader itself round them.
# Version: glslang-tools 12.0.0-2, spirv-tools 2023.1-2, gcc 4:12.2.0-3.
# Guess: float16_t(0.7) and 0.7hf are 399a, the nearest half, as (_Float16)0.7f of C, __float2half
#   of CUDA, and packHalf2x16 of lavapipe say.
# Behaviour: both are 3999, and of 1/3, 1/4, ... 1/514 201 are the last bit too small: the compiler
#   truncates. So a literal does not equal the same number that comes from a buffer of halves.
# Seen: float16_t(0.7) 3999, C 399a; 0.7hf 3999, C 399a; of 512 reciprocals 201 are a bit smaller than C's, 0 differ otherwise
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 glslang-tools=12.0.0-2 spirv-tools=2023.1-2
{
    echo '#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(binding = 0) buffer Out { float16_t h[514]; };
void main() {
    h[0] = float16_t(0.7);
    h[1] = 0.7hf;'
    for i in $(seq 3 514); do echo "h[$((i - 1))] = float16_t(1.0 / $i.0);"; done
    echo '}'
} >"$work/half.comp"
glslangValidator -V --target-env vulkan1.2 -o "$work/half.spv" "$work/half.comp" >"$work/log" || unknown "glslangValidator"
spirv-dis --raw-id "$work/half.spv" | awk '$3 == "OpTypeFloat" && $4 == 16 { type = $1 }
    $3 == "OpConstant" && $4 == type { value[$1] = $5 } $1 == "OpStore" { print value[$3] }' >"$work/glsl"
compile half <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned bits(_Float16 half)
{
    union {
        _Float16 half;
        uint16_t bits;
    } both = {.half = half};
    return both.bits;
}

int main(void)
{
    char line[64];
    unsigned fewer = 0, other = 0;
    for (int i = 1; fgets(line, sizeof line, stdin); i++) {
        unsigned c = bits((_Float16)(i < 3 ? 0.7F : 1.0F / (float)i)),
                 glsl = bits((_Float16)strtod(line, NULL));
        if (i < 3)
            printf("%s %x, C %x; ", i == 1 ? "float16_t(0.7)" : "0.7hf", glsl, c);
        else
            fewer += glsl + 1 == c, other += glsl != c && glsl + 1 != c;
    }
    printf("of 512 reciprocals %u are a bit smaller than C's, %u differ otherwise\n", fewer, other);
    return 0;
}
C
same "float16_t(0.7) 3999, C 399a; 0.7hf 3999, C 399a; of 512 reciprocals 201 are a bit smaller than C's, 0 differ otherwise" "$("$work/half" <"$work/glsl")"
