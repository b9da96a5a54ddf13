// SPDX-License-Identifier: MIT
// Vulkan's side of an image: the work of bench_kinds.cu, by a sampler and as a storage image.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "words.glsl"
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint WORK = 0; // kinds_image_work
layout(set = 0, binding = 0) uniform usampler2D sampled;
layout(set = 0, binding = 1, r32ui) uniform uimage2D stored;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Wrong { uint count; };
layout(push_constant) uniform Job {
    Wrong wrong;
    uint side, seed, reads;
} job;

uint read_texel(ivec2 at) {
    return WORK == 1 || WORK == 3 ? texelFetch(sampled, at, 0).x : imageLoad(stored, at).x;
}

void main() {
    uint thread = gl_GlobalInvocationID.x, wrong = 0;
    if (WORK < 3) { // tiles of 16 x 16, a group each
        uint across = job.side / 16;
        for (uint tile = gl_WorkGroupID.x; tile < across * across; tile += gl_NumWorkGroups.x) {
            uint x = tile % across * 16 + gl_LocalInvocationID.x % 16;
            uint y = tile / across * 16 + gl_LocalInvocationID.x / 16;
            uint is = word_of(y * job.side + x, 1);
            if (WORK == 0)
                imageStore(stored, ivec2(x, y), uvec4(is, 0, 0, 0));
            else
                wrong += read_texel(ivec2(x, y)) != is ? 1 : 0;
        }
    } else {
        uint state = mixed(thread ^ job.seed);
        for (uint i = 0; i < job.reads; i += 8) {
            uint at[8], was[8];
            [[unroll]] for (int j = 0; j < 8; j++) {
                state = next_random(state);
                at[j] = mixed(state) & (job.side * job.side - 1);
            }
            [[unroll]] for (int j = 0; j < 8; j++) was[j] = read_texel(ivec2(at[j] % job.side, at[j] / job.side));
            [[unroll]] for (int j = 0; j < 8; j++) wrong += was[j] != word_of(at[j], 1) ? 1 : 0;
        }
    }
    if (wrong != 0) atomicAdd(job.wrong.count, wrong);
}
