#version 460
// SPDX-License-Identifier: MIT
// library_chase() of library_kernels.cu: follows a list of raw pointers.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 1) in;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Node {
    uvec2 next;
    uint word, index;
};
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Found {
    uint count, mixed;
};

layout(push_constant) uniform Constants {
    uvec2 first, found;
};

void main()
{
    uint count = 0u, mixed = 0u;
    uvec2 at = first;
    while (at != uvec2(0) && count < 1000000u) {
        Node node = Node(at);
        mixed = mixed * 31u + node.word;
        count++;
        at = node.next;
    }
    Found to = Found(found);
    to.count = count;
    to.mixed = mixed;
}
