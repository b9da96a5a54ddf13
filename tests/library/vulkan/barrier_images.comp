// What shaders do with images: sampled, read, read and written. SPDX-License-Identifier: MIT
#version 450

layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler2D sampled;
layout(binding = 1, r32f) uniform readonly image2D source;
layout(binding = 2, r32f) uniform image2D target;

void main()
{
    const ivec2 at = ivec2(0);
    imageStore(target, at, imageLoad(target, at) + imageLoad(source, at) + texelFetch(sampled, at, 0));
}
