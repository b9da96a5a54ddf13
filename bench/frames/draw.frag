// The renderer as graphics: a pixel of an image for each. SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "load.glsl"

layout(constant_id = 0) const uint SIDE = 1u; // of the image
layout(location = 0) out vec4 color;

void main() {
    color = unpackUnorm4x8(work(uint(gl_FragCoord.y) * SIDE + uint(gl_FragCoord.x)));
}
