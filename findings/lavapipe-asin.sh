#!/bin/sh
# asin(0.5) of lavapipe is 30 degrees less 43 seconds of arc.
# Version: mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: asin and acos are right to float's last digits, as lavapipe's sin and cos are (1e-7), and as C's and
#   CUDA's: sin(asin(x)) is x.
# Behaviour: a short polynomial is off by up to 0.00039 for asin and 0.00016 for acos, which are not the
#   same polynomial: asin(x) + acos(x) is not pi / 2. (Vulkan allows it.) In a panorama of 16,384 x
#   8,192 texels the row, asin(y), is a texel off, so what a CUDA kernel puts there the shader reads
#   from the neighbor.
# Seen: asin(0.5) 0.523389 instead of 0.523599; largest error asin 0.00039, acos 0.00016, asin + acos 0.00037, sin 0.00000; row of 8192 off by up to 1.02
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
shader arcs <<'GLSL'
#version 450
layout(binding = 0) buffer In { float x[2001]; };
layout(binding = 1) buffer Out { float y[3][2001]; };
void main() {
    for (int i = 0; i < 2001; i++) {
        y[0][i] = asin(x[i]);
        y[1][i] = acos(x[i]);
        y[2][i] = sin(x[i]);
    }
}
GLSL
compile arcs -lm -lvulkan <<'C'
#include "arcs.h"
#include "vk.h"
#include <math.h>

int main(void)
{
    const double pi = acos(-1);
    double off[4] = {0};
    start(NULL, 0, NULL);
    struct bytes buffers[2] = {bytes(sizeof(float[2001]), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                               bytes(sizeof(float[3][2001]), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    float *x = buffers[0].host, *y = buffers[1].host;
    for (int i = 0; i < 2001; i++)
        x[i] = (float)(i - 1000) / 1000;
    compute(arcs, sizeof arcs, buffers, 2);
    for (int i = 0; i < 2001; i++) {
        double at = (double)x[i], s = (double)y[i], c = (double)y[2001 + i];
        off[0] = fmax(off[0], fabs(s - asin(at)));
        off[1] = fmax(off[1], fabs(c - acos(at)));
        off[2] = fmax(off[2], fabs(s + c - pi / 2));
        off[3] = fmax(off[3], fabs((double)y[4002 + i] - sin(at)));
    }
    printf("asin(0.5) %.6f instead of %.6f; ", (double)y[1500], asin(0.5));
    printf("largest error asin %.5f, acos %.5f, asin + acos %.5f, sin %.5f; ", off[0], off[1], off[2],
           off[3]);
    printf("row of 8192 off by up to %.2f\n", off[0] / pi * 8192);
    return 0;
}
C
same "asin(0.5) 0.523389 instead of 0.523599; largest error asin 0.00039, acos 0.00016, asin + acos 0.00037, sin 0.00000; row of 8192 off by up to 1.02" "$("$work/arcs")"
