// The renderer as compute, for queues without graphics: the same work, into a buffer. SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64) in;
#include "load.glsl"
layout(set = 0, binding = 2) writeonly buffer Image { uint texels[]; } image_;

void main() {
    uint pixel = gl_GlobalInvocationID.x;
    if (pixel < job.pixels) image_.texels[pixel] = work(pixel);
}
