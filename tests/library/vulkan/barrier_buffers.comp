// What shaders do with buffers. SPDX-License-Identifier: MIT
#version 450

layout(local_size_x = 1) in;
layout(binding = 0) uniform Uniform
{
    uint uniform_word;
};
layout(binding = 1, std430) readonly buffer Source
{
    uint source_word;
};
layout(binding = 2, std430) buffer Target
{
    uint target_word;
};
layout(binding = 3) uniform usamplerBuffer texels;
layout(binding = 4, r32ui) uniform uimageBuffer storage_texels;

void main()
{
    uint word = uniform_word + source_word + texelFetch(texels, 0).x;
    target_word += word;
    imageStore(storage_texels, 0, imageLoad(storage_texels, 0) + uvec4(word));
}
