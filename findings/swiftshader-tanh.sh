#!/bin/sh
# tanh(100) of SwiftShader is not a number, and asinh(-10000) is -88.
# Version: SwiftShader of npm's @sparticuz/chromium 147.0.0 (Debian's chromium-common
#   150.0.7871.100 does the same).
# Guess: tanh saturates: 1 for 100, -1 for -100, as in C, in CUDA and on lavapipe. asinh is odd:
#   9.903 for 10000, -9.903 for -10000. Errors are in the last digits.
# Behaviour: tanh is a quotient of two sums of exponentials, which are infinite from 89 on, so it
#   is NaN on both sides. asinh is log(x + sqrt(x * x + 1)), which cancels for a negative x. A
#   tone curve or an activation function that saturates leaves NaN in the picture.
# Seen: tanh(100) nan, tanh(-100) nan, tanh(2) 0.964; asinh(10000) 9.903, asinh(-10000) -88.030
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
swiftshader147
shader hyperbolic <<'GLSL'
#version 450
layout(binding = 0) buffer In { float x[5]; };
layout(binding = 1) buffer Out { float y[5]; };
void main() {
    for (int i = 0; i < 3; i++) y[i] = tanh(x[i]);
    for (int i = 3; i < 5; i++) y[i] = asinh(x[i]);
}
GLSL
compile hyperbolic -lm -lvulkan <<'C'
#include "hyperbolic.h"
#include "vk.h"
#include <math.h>

static const char *text(char *room, float value)
{
    snprintf(room, 16, "%.3f", (double)value);
    return isnan(value) ? "nan" : room;
}

int main(void)
{
    const float values[] = {100, -100, 2, 1e4F, -1e4F};
    char room[5][16];
    start(NULL, 0, NULL);
    struct bytes buffers[2] = {bytes(sizeof values, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                               bytes(sizeof values, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    memcpy(buffers[0].host, values, sizeof values);
    compute(hyperbolic, sizeof hyperbolic, buffers, 2);
    float *y = buffers[1].host;
    printf("tanh(100) %s, tanh(-100) %s, tanh(2) %s; asinh(10000) %s, asinh(-10000) %s\n",
           text(room[0], y[0]), text(room[1], y[1]), text(room[2], y[2]), text(room[3], y[3]),
           text(room[4], y[4]));
    return 0;
}
C
same "tanh(100) nan, tanh(-100) nan, tanh(2) 0.964; asinh(10000) 9.903, asinh(-10000) -88.030" "$("$work/hyperbolic")"
