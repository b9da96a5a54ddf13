#version 460
// SPDX-License-Identifier: MIT
// library_link() and library_chase() of library_kernels.cu: a list through two places, with raw pointers, and one who
// follows it.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
    uvec2 next;
    uint word, index;
};
layout(buffer_reference, std430, buffer_reference_align = 8) writeonly buffer Found {
    uint count, mixed;
};

layout(push_constant) uniform Constants {
    uvec2 here, there;
    uint count, seed; // no count: what is found from here on goes there
};

uvec2 add(uvec2 address, uint bytes)
{
    uint carry;
    uint low = uaddCarry(address.x, bytes, carry);
    return uvec2(low, address.y + carry);
}

uvec2 place(uint i)
{
    return add(i % 2u == 0u ? here : there, i / 2u * 16u);
}

void link(uint i)
{
    Node node = Node(place(i));
    node.next = i + 1u < count ? place(i + 1u) : uvec2(0);
    node.word = i * 2654435761u + seed;
    node.index = i;
}

void chase()
{
    uint found = 0u, mixed = 0u;
    uvec2 at = here;
    while (at != uvec2(0) && found < 1000000u) {
        Node node = Node(at);
        mixed = mixed * 31u + node.word;
        found++;
        at = node.next;
    }
    Found to = Found(there);
    to.count = found;
    to.mixed = mixed;
}

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i < count) link(i);
    if (i == 0u && count == 0u) chase();
}
