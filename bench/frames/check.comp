// Checks every word of a frame, as it lies on the GPU that draws. SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "load.glsl"
layout(local_size_x = 64) in;

void main() {
    uint threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x, wrong = 0u;
    for (uint at = gl_GlobalInvocationID.x; at < job.words; at += threads) check(at, wrong);
    if (wrong != 0u) atomicAdd(verdict.wrong, wrong);
    if (gl_GlobalInvocationID.x == 0u) atomicAdd(verdict.frames, 1u);
}
