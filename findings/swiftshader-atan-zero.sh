#!/bin/sh
# atan(y, x) of SwiftShader points to the other side if y is -0.
# Version: SwiftShader of npm's @sparticuz/chromium 147.0.0.
# Guess: atan(-0.0, 1.0) is 0 and atan(-0.0, -1.0) is pi or -pi: Vulkan lets a driver forget the sign of a
#   zero, and then it is atan(0.0, x). C, CUDA and lavapipe keep it: -0 and -pi.
# Behaviour: they are pi and 0, each the opposite of the direction, while 0 and -1e-20 are right. A -0
#   comes by itself from -y, from 0 * -1, from a mirrored or rotated direction; so a lookup in a panorama
#   has the picture of the other side along a line of pixels.
# Seen: SwiftShader: atan(0, 1) 0, atan(-0, 1) 3.1416, atan(-1e-20, 1) -0; atan(0, -1) 3.1416, atan(-0, -1) 0, atan(-1e-20, -1) -3.1416
#       C: atan(0, 1) 0, atan(-0, 1) -0, atan(-1e-20, 1) -0; atan(0, -1) 3.1416, atan(-0, -1) -3.1416, atan(-1e-20, -1) -3.1416
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
swiftshader147
shader angles <<'GLSL'
#version 450
layout(binding = 0) buffer In { float y[3]; float x[2]; };
layout(binding = 1) buffer Out { float angle[6]; };
void main() {
    for (int i = 0; i < 6; i++) angle[i] = atan(y[i % 3], x[i / 3]);
}
GLSL
compile angles -lm -lvulkan <<'C'
#include "angles.h"
#include "vk.h"
#include <math.h>

static void print(const char *who, const float *angles)
{
    const char *const names[] = {"0", "-0", "-1e-20"};
    printf("%s:", who);
    for (int i = 0; i < 6; i++) {
        double rounded = round((double)angles[i] * 1e4) / 1e4;
        printf(" atan(%s, %s) %.5g%s", names[i % 3], i < 3 ? "1" : "-1", rounded,
               i == 5 ? "\n" : i == 2 ? ";" : ",");
    }
}

int main(void)
{
    const float values[] = {0, -0.0F, -1e-20F, 1, -1};
    float expected[6];
    start(NULL, 0, NULL);
    struct bytes buffers[2] = {bytes(sizeof values, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                               bytes(sizeof expected, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    memcpy(buffers[0].host, values, sizeof values);
    compute(angles, sizeof angles, buffers, 2);
    for (int i = 0; i < 6; i++)
        expected[i] = atan2f(values[i % 3], values[3 + i / 3]);
    print("SwiftShader", buffers[1].host);
    print("C", expected);
    return 0;
}
C
same "SwiftShader: atan(0, 1) 0, atan(-0, 1) 3.1416, atan(-1e-20, 1) -0; atan(0, -1) 3.1416, atan(-0, -1) 0, atan(-1e-20, -1) -3.1416
C: atan(0, 1) 0, atan(-0, 1) -0, atan(-1e-20, 1) -0; atan(0, -1) 3.1416, atan(-0, -1) -3.1416, atan(-1e-20, -1) -3.1416" "$("$work/angles")"
