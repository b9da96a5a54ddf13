#!/bin/sh
# mix(a, b, 1) is b in Vulkan by Mesa's lavapipe, and not in OpenGL by llvmpipe, its own half.
# Version: libgl1-mesa-dri and mesa-vulkan-drivers 22.3.6-1+deb12u2 (SwiftShader of npm's
#   @sparticuz/chromium 147.0.0 is like llvmpipe).
# Guess: one shader has one result on both: they are one compiler. And mix() ends at b, because GLSL and SPIR-V
#   define it as a * (1 - t) + b * t: the last of a row of key frames is the key frame.
# Behaviour: lavapipe does so. llvmpipe computes a + t * (b - a), where b - a is rounded to the digits of the larger one:
#   mix(1e8, 1, 1) is 0 and mix(4096, 0.1, 1) is 0.1001, so a morph from far away ends beside its target.
# Seen: OpenGL 0 0.100098 0.6875 0.1, Vulkan 1 0.1 0.7 0.1
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
moderngl57
shader ends <<'GLSL'
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer In { vec4 by[4]; };
layout(binding = 1) buffer Out { float mixed[4]; };
void main() { for (int i = 0; i < 4; i++) mixed[i] = mix(by[i].x, by[i].y, by[i].z); }
GLSL
compile ends -lvulkan <<'C'
#include "ends.h"
#include "vk.h"

int main(void)
{
    const float values[4][4] = {{1e8F, 1, 1}, {4096, 0.1F, 1}, {-3e5F, 0.7F, 1}, {0.1F, 7e6F, 0}};
    start(NULL, 0, NULL);
    struct bytes buffers[2] = {bytes(sizeof values, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT),
                               bytes(16, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)};
    memcpy(buffers[0].host, values, sizeof values);
    compute(ends, sizeof ends, buffers, 2);
    float *mixed = buffers[1].host;
    for (int i = 0; i < 4; i++)
        printf(" %.6g", (double)mixed[i]);
    return 0;
}
C
cat >"$work/ends.py" <<'PY'
import sys
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl", require=430)
values = numpy.array([[1e8, 1, 1, 0], [4096, 0.1, 1, 0], [-3e5, 0.7, 1, 0], [0.1, 7e6, 0, 0]], dtype="f4")
mixed = context.buffer(reserve=16)
context.buffer(values.tobytes()).bind_to_storage_buffer(0)
mixed.bind_to_storage_buffer(1)
context.compute_shader(open(sys.argv[1]).read()).run()
print(*(f"{value:.6g}" for value in numpy.frombuffer(mixed.read(), "f4")))
PY
same "OpenGL 0 0.100098 0.6875 0.1, Vulkan 1 0.1 0.7 0.1" "OpenGL $(/usr/bin/python3 "$work/ends.py" "$work/ends.comp"), Vulkan$("$work/ends")"
