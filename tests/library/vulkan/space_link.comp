#version 460
// SPDX-License-Identifier: MIT
// library_link() of library_kernels.cu: a list through two places, with raw pointers.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
    uvec2 next;
    uint word, index;
};

layout(push_constant) uniform Constants {
    uvec2 here, there;
    uint count, seed;
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

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    Node node = Node(place(i));
    node.next = i + 1u < count ? place(i + 1u) : uvec2(0);
    node.word = i * 2654435761u + seed;
    node.index = i;
}
