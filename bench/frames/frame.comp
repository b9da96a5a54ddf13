// Writes a whole frame, as the solver does: for frames that go from Vulkan to CUDA. SPDX-License-Identifier: MIT
#version 450
#extension GL_GOOGLE_include_directive : require
#include "frame_words.h"
layout(local_size_x = 64) in;
layout(push_constant) uniform Job {
    uint number;
    uint words;
    uint iterations;
    uint pixels;
} job;
layout(set = 0, binding = 0) writeonly buffer Frame { uint words[]; } frame;

void main() {
    uint threads = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint at = gl_GlobalInvocationID.x; at < job.words; at += threads) frame.words[at] = FRAME_WORD(job.number, at);
}
