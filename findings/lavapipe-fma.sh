#!/bin/sh
# fma() of lavapipe is a product that is rounded and a sum, also where it is precise.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2 (25.0.7 of backports does the same).
# Guess: fma(a, a, -(1 + 2^-11)) with a = 1 + 2^-12 is 2^-24, as with C's fmaf, CUDA's fmaf, and
#   what nvcc makes of a * a + c; at the least in a variable that is precise, where GLSL says that
#   it is one operation.
# Behaviour: it is 0 in both (Vulkan allows it: its fma has the precision of a product and a sum).
#   What a CUDA kernel and a shader compute by the same formula differs on this driver where
#   digits cancel.
# Seen: C 5.96046448e-08, shader 0, precise 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
shader fused <<'END'
#version 450
layout(binding = 0) buffer In { float a; float c; };
layout(binding = 1) buffer Out { float plain; float exact; };
void main()
{
    precise float one = fma(a, a, c);
    plain = fma(a, a, c);
    exact = one;
}
END
compile fma -lm -lvulkan <<'END'
#include "fused.h"
#include "vk.h"
#include <math.h>

int main(void)
{
    start(NULL, 0, NULL);
    struct bytes values[2] = {bytes(8, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                              bytes(8, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    float *in = values[0].host, *out = values[1].host;
    in[0] = 1 + 0x1p-12F;
    in[1] = -(1 + 0x1p-11F);
    compute(fused, sizeof fused, values, 2);
    printf("C %.9g, shader %.9g, precise %.9g\n", (double)fmaf(in[0], in[0], in[1]), (double)out[0],
           (double)out[1]);
    return 0;
}
END
same "C 5.96046448e-08, shader 0, precise 0" "$("$work/fma")"
