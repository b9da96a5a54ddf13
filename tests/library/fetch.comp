// Every texel of a level as a shader sees it, into a buffer. SPDX-License-Identifier: MIT
#version 450

layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1, std430) writeonly buffer Texels
{
    vec4 texels[];
};
layout(push_constant) uniform Push
{
    ivec2 size;
    int level;
};

void main()
{
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (at.x < size.x && at.y < size.y) texels[at.y * size.x + at.x] = texelFetch(image, at, level);
}
