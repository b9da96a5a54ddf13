// frames_count of bench_frames.cu as a shader: the same words by address, the same threads in a group.
// SPDX-License-Identifier: MIT
#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 256) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Counts { uint at[]; };
layout(push_constant) uniform Job {
    Counts counts;
    uint words;
    uint add;
} job;

void main() {
    uint thread = gl_GlobalInvocationID.x;
    if (thread < job.words) job.counts.at[thread] += job.add;
}
