// Every texel of a level as a shader reads it, into a buffer. Compiled with SAMPLER, VALUE and AT (the texel's place in
// terms of `at`) defined. SPDX-License-Identifier: MIT
#version 450

layout(local_size_x = 64) in;
layout(binding = 0) uniform SAMPLER image;
layout(binding = 1, std430) writeonly buffer Values
{
    VALUE values[];
};
layout(push_constant) uniform Push
{
    int width, height, slices, level, first;
};

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    if (i >= width * height * slices) return;
    ivec3 at = ivec3(i % width, i / width % height, i / (width * height));
    values[first + i] = texelFetch(image, AT, level);
}
