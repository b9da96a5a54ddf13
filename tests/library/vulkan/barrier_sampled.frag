// Reads a sampled image. SPDX-License-Identifier: MIT
#version 450

layout(binding = 0) uniform sampler2D sampled;

void main()
{
    if (texelFetch(sampled, ivec2(0), 0).x == 12345.0) discard;
}
