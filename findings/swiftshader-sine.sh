#!/bin/sh
# A vector that SwiftShader turns by one degree ten times around loses a seventh of its length.
# Version: SwiftShader of npm's @sparticuz/chromium 147.0.0.
# Guess: sin and cos are right to float's last digits on a CPU (C's and lavapipe's are, to 1e-7), so 3,600
#   turns by one degree in a float keep the length to four digits.
# Behaviour: they are off by up to 0.0002, and sin^2 + cos^2 by 0.0004 (Vulkan allows 0.0005 between -pi
#   and pi). After ten rounds the vector is 0.855 long. A rotation, a Fourier transform or a hash by
#   sin() of a shader differs from the CUDA kernel of the same formula in the fourth digit.
# Seen: sin 0.0002, sin^2 + cos^2 0.0004 off; after 3600 turns by 1 degree the length is 0.855
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
swiftshader147
shader turns <<'GLSL'
#version 450
layout(binding = 0) buffer In { float x[1001]; };
layout(binding = 1) buffer Out { float sine[1001], cosine[1001], len; };
void main() {
    for (int i = 0; i < 1001; i++) {
        sine[i] = sin(x[i]);
        cosine[i] = cos(x[i]);
    }
    float c = cos(radians(x[320])), s = sin(radians(x[320]));
    vec2 v = vec2(1.0, 0.0);
    for (int i = 0; i < 3600; i++) v = vec2(c * v.x - s * v.y, s * v.x + c * v.y);
    len = length(v);
}
GLSL
compile turns -lm -lvulkan <<'C'
#include "turns.h"
#include "vk.h"
#include <math.h>

int main(void)
{
    struct results {
        float sine[1001], cosine[1001], length;
    };
    double off = 0, off_circle = 0;
    start(NULL, 0, NULL);
    struct bytes buffers[2] = {bytes(sizeof(float[1001]), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                               bytes(sizeof(struct results), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    float *x = buffers[0].host;
    for (int i = 0; i < 1001; i++)
        x[i] = (float)i / 320;
    compute(turns, sizeof turns, buffers, 2);
    const struct results *out = buffers[1].host;
    for (int i = 0; i < 1001; i++) {
        double s = (double)out->sine[i], c = (double)out->cosine[i];
        off = fmax(off, fabs(s - sin((double)x[i])));
        off_circle = fmax(off_circle, fabs(s * s + c * c - 1));
    }
    printf("sin %.4f, sin^2 + cos^2 %.4f off; after 3600 turns by 1 degree the length is %.3f\n", off,
           off_circle, (double)out->length);
    return 0;
}
C
same "sin 0.0002, sin^2 + cos^2 0.0004 off; after 3600 turns by 1 degree the length is 0.855" "$("$work/turns")"
