// SPDX-License-Identifier: MIT
// Vulkan's side of a buffer: the work of bench_kinds.cu, by addresses.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "words.glsl"
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint WORK = 0; // kinds_work

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint w[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Wrong { uint count; };
layout(push_constant) uniform Job {
    Vectors vectors;
    Words words;
    Wrong wrong;
    uint num_vectors, mask, noise, addend, seed, reads;
} job;

void main() {
    uint thread = gl_GlobalInvocationID.x, threads = gl_NumWorkGroups.x * 256;
    if (WORK == 0) {
        for (uint v = thread; v < job.num_vectors; v += threads) {
            uint at = 4 * v;
            job.vectors.v[v] = uvec4(word_of(at, job.noise), word_of(at + 1, job.noise), word_of(at + 2, job.noise),
                                     word_of(at + 3, job.noise));
        }
    } else if (WORK == 1) {
        for (uint v = thread; v < job.num_vectors; v += threads)
            job.vectors.v[v] = job.vectors.v[v] + 1;
    } else {
        uint state = mixed(thread ^ job.seed), wrong = 0;
        for (uint i = 0; i < job.reads; i += 8) { // so many on their way at the same time, of each thread
            uint at[8], was[8];
            [[unroll]] for (int j = 0; j < 8; j++) {
                state = next_random(state);
                at[j] = mixed(state) & job.mask;
            }
            [[unroll]] for (int j = 0; j < 8; j++) was[j] = job.words.w[at[j]];
            [[unroll]] for (int j = 0; j < 8; j++) wrong += was[j] != word_of(at[j], job.noise) + job.addend ? 1 : 0;
        }
        if (wrong != 0) atomicAdd(job.wrong.count, wrong);
    }
}
