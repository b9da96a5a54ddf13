// What shaders do with images of one, two and three dimensions: sampled, read, read and written.
// SPDX-License-Identifier: MIT
#version 450

layout(local_size_x = 1) in;
layout(binding = 0) uniform sampler1D sampled_1d;
layout(binding = 1, r32f) uniform readonly image1D source_1d;
layout(binding = 2, r32f) uniform image1D target_1d;
layout(binding = 3) uniform sampler2D sampled_2d;
layout(binding = 4, r32f) uniform readonly image2D source_2d;
layout(binding = 5, r32f) uniform image2D target_2d;
layout(binding = 6) uniform sampler3D sampled_3d;
layout(binding = 7, r32f) uniform readonly image3D source_3d;
layout(binding = 8, r32f) uniform image3D target_3d;

void main()
{
    const ivec3 at = ivec3(0);
    imageStore(target_1d, at.x, imageLoad(target_1d, at.x) + imageLoad(source_1d, at.x) + texelFetch(sampled_1d, at.x, 0));
    imageStore(target_2d, at.xy, imageLoad(target_2d, at.xy) + imageLoad(source_2d, at.xy) + texelFetch(sampled_2d, at.xy, 0));
    imageStore(target_3d, at, imageLoad(target_3d, at) + imageLoad(source_3d, at) + texelFetch(sampled_3d, at, 0));
}
